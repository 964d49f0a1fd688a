"""Case files are loaded as they were written, whatever a text holds, and an update changes nothing else."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.case_files import case_text, cases_of, fields_text, load, update

_TEXTS = st.one_of(
    st.text(),
    st.text(alphabet=st.sampled_from(" \n\t'\"\\:#-|>[]{}!&*%@`a0.\r\x00\x85\u2028\ufeff\ud83d😀~yesno")),
    st.sampled_from(
        ("", "null", "true", "yes", "12:30", "1_000", "0x1f", "2026-01-01", "- a", "a: b", "a #b", "1e5", ".5")
    ),
)
_VALUES = st.recursive(
    st.one_of(_TEXTS, st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False, allow_infinity=False)),
    lambda values: st.one_of(st.lists(values, max_size=3), st.dictionaries(_TEXTS, values, max_size=3)),
    max_leaves=8,
)
_FILE = """tools:
  f: [{"name": "f"}]

cases:
# Comments stay.
- id: one
  tools: f
  # Why this text.
  text: "a"   # as it was typed
  spans: |
    old

# Of the next case.
- id: two
  text: |+
    spans: no key

  spans: old
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cases")


_CASE = st.fixed_dictionaries({"id": _TEXTS, "text": _TEXTS, "more": _VALUES, "content": _TEXTS})


@given(st.lists(_CASE, min_size=1, max_size=3))
def test_what_is_written_is_loaded(folder: Path, cases: list[dict[str, object]]) -> None:
    path = folder / "written.yaml"
    path.write_text("cases:\n" + "\n".join(map(case_text, cases)), encoding="utf-8", newline="\n")
    load.cache_clear()
    assert load(path) == {"cases": tuple(cases)}


@given(_TEXTS, _TEXTS)
def test_an_update_changes_one_case_and_keeps_the_rest_as_text(folder: Path, spans: str, content: str) -> None:
    path = folder / "updated.yaml"
    path.write_text(_FILE, encoding="utf-8")
    update(path, 0, ("content", "spans", "calls"), {"spans": spans, "content": content})
    load.cache_clear()
    first, second = cases_of(path)
    assert first == {"id": "one", "tools": [{"name": "f"}], "text": "a", "spans": spans, "content": content}
    assert second == {"id": "two", "text": "spans: no key\n\n", "spans": "old"}
    before, _, after = _FILE.partition("  spans: |\n    old\n")
    changed = path.read_text(encoding="utf-8")
    assert changed.startswith(before)
    assert changed.endswith(after)
    update(path, 1, ("content", "spans"), {"spans": spans})
    load.cache_clear()
    assert cases_of(path) == (first, second | {"spans": spans})
    assert path.read_text(encoding="utf-8").startswith(changed.removesuffix("  spans: old\n"))


def test_updates_at_the_same_time_are_all_written(tmp_path: Path) -> None:
    path = tmp_path / "shared.yaml"
    path.write_text("cases:\n" + "\n".join(case_text({"id": f"case {n}", "text": "a"}) for n in range(40)), "utf-8")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: update(path, n, ("spans",), {"spans": f"line\n{n}\n" * (n + 1)}), range(40)))
    assert [case["spans"] for case in cases_of(path)] == [f"line\n{n}\n" * (n + 1) for n in range(40)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("cases:\n- {id: a, text: b}\n- {id: a, text: c}\n", "an id comes twice"),
        ("cases:\n- {id: a, text: 12}\n", "is not a string"),
        ("cases:\n- {id: a, text: b, text: c}\n", "a key comes twice"),
    ],
)
def test_a_file_that_says_two_things_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(AssertionError, match=message):
        cases_of(path)


def test_long_values_are_written_over_lines() -> None:
    tools = {"f": [{"name": "f", "parameters": {"properties": {"a": {"type": "string"}}}, "description": "x" * 60}]}
    assert fields_text({"tools": tools}) == (
        "tools:\n"
        "  f:\n"
        "    - name: f\n"
        '      parameters: {"properties": {"a": {"type": "string"}}}\n'
        f"      description: {'x' * 60}\n"
    )
