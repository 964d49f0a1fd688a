"""The page on training data: a set's report, its samples by fault and type, and a fault injected into one."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from streamlit.testing.v1 import AppTest

from tests.ui.web.pages_walked import settled
from weaklink.ui.web.pages import data
from weaklink.ui.web.pages.data import LintedSet, read_set, selected_samples

_TOOLS = [{"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}]
_CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
_SCRIPT = """
from pathlib import Path
from weaklink.ui.web.pages.data import read_set, show_set
show_set(read_set({path!r}), "set.jsonl")
"""


def _rows() -> list[dict[str, object]]:
    turns = [("human", "Weather in Oslo?"), ("gpt", _CALL), ("tool", '{"sky": "grey"}'), ("gpt", "Grey.")]
    good = [{"from": role, "value": text} for role, text in turns]
    bad = [{**record, "value": record["value"].replace('"Oslo"}}', '"Oslo",}}')} for record in good]
    return [
        {"conversations": good, "tools": json.dumps(_TOOLS), "type": "single_tool"},
        {"conversations": bad, "tools": json.dumps(_TOOLS), "type": "single_tool"},
    ]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("data") / "set.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in _rows()) + "{broken\n", encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def linted_set(path: Path) -> LintedSet:
    return read_set(str(path))


def test_samples_are_selected_by_fault_and_type_with_the_lowest_score_first(linted_set: LintedSet) -> None:
    assert (len(linted_set.samples), linted_set.rejected, linted_set.is_whole) == (2, 1, True)
    assert [linted.sample.row.number for linted in selected_samples(linted_set.samples, "J104", "")] == [2]
    assert selected_samples(linted_set.samples, "J104", "multi_step") == []
    scores = [linted.facts.score for linted in selected_samples(linted_set.samples, "", "single_tool")]
    assert len(scores) == 2
    assert scores == sorted(scores)


def test_a_set_of_which_no_row_can_be_read_says_why(tmp_path: Path) -> None:
    (tmp_path / "set.jsonl").write_text('{"weaklink_trace_file": 3}\n{"trace": {}}\n', encoding="utf-8")
    app = AppTest.from_string(_SCRIPT.format(path=str(tmp_path / "set.jsonl")), default_timeout=60).run()
    (error,) = app.error
    assert "line 1" in error.value
    assert "this is a trace file" in error.value


def test_the_page_shows_the_report_the_samples_and_an_injected_fault(path: Path) -> None:
    app = AppTest.from_string(_SCRIPT.format(path=str(path)), default_timeout=60).run()
    assert not app.exception, [exception.value for exception in app.exception]
    shown = "".join(element.proto.body for element in app.get("html"))
    assert "2 samples" in shown
    assert "duplicates: </span>" in shown
    assert 'class="wl ' not in shown  # no terminal print: shares are a table
    assert any("2 samples, the lowest score first" in caption.value for caption in app.caption)
    app.query_params["row"] = "1"
    app.toggle(key="weaklink_inject").set_value(True).run()
    assert not app.exception, [exception.value for exception in app.exception]
    assert "injected" in "".join(element.proto.body for element in app.get("html"))


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "_MAX_ROWS", 2)


@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize(
    ("window", "rows", "first", "last"), [(1, [1, 2], 1, 2), (2, [4], 3, 4), (3, [5], 5, 5), (4, [1, 2], 1, 2)]
)
def test_a_window_has_its_rows_and_knows_how_many_there_are(
    tmp_path: Path, window: int, rows: list[int], first: int, last: int
) -> None:
    good, _ = _rows()
    lines = [json.dumps(good), json.dumps(good), "{broken", json.dumps(good), json.dumps(good)]
    file = tmp_path / "set.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    linted = read_set(str(file), window)
    assert [linted_sample.sample.row.number for linted_sample in linted.samples] == rows
    assert (linted.first, linted.last, linted.total, linted.is_whole) == (first, last, 5, False)
    assert linted.rejected == last - first + 1 - len(rows)


_WINDOWS = """
from weaklink.ui.web.navigation import number_parameter
from weaklink.ui.web.pages.data import read_set, show_set
show_set(read_set({path!r}, number_parameter("window") or 1), "set.jsonl")
"""


@pytest.mark.usefixtures("small_windows")
def test_the_page_says_which_rows_it_shows_and_leads_to_the_others(tmp_path: Path) -> None:
    file = tmp_path / "set.jsonl"
    file.write_text("".join(json.dumps(_rows()[0]) + "\n" for _ in range(5)), encoding="utf-8")
    app = AppTest.from_string(_WINDOWS.format(path=str(file)), default_timeout=60).run()
    assert "Rows 1 to 2 of 5" in app.info[0].value
    assert [button.label for button in app.button] == ["Rows 3 to 4"]
    app.button[0].click().run()
    assert "Rows 3 to 4 of 5" in app.info[0].value
    assert [button.label for button in app.button] == ["Rows 1 to 2", "Rows 5 to 5"]
    assert not app.exception, [exception.value for exception in app.exception]


@pytest.mark.slow
def test_a_set_is_drawn_in_a_browser(demo_dashboard: str, page: Page, tmp_path: Path) -> None:
    (tmp_path / "set.jsonl").write_text(
        '{"messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]}\n'
    )
    page.goto(f"{demo_dashboard}data")
    page.set_input_files("input[type=file]", tmp_path / "set.jsonl")
    expect(page.get_by_text("1 sample, the lowest score first.")).to_be_visible()
    settled(page)
    expect(page.get_by_text("Hello.").last).to_be_visible()
