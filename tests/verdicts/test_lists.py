"""The lists of single results, statements and short sessions: each entry is whole, and what was read stays right."""

import pytest
import yaml

from benchmarks.verdict_lists import FOLDER, LISTS, agreement_of_list, table_of

_KEYS = {
    "results": {"id", "tool", "arguments", "result", "kind"},
    "statements": {"id", "language", "request", "failure", "final", "said", "sentence"},
    "recoveries": {"id", "language", "request", "steps", "final", "broken", "became"},
}


@pytest.mark.parametrize("name", LISTS)
def test_each_entry_has_its_own_id_and_what_is_compared(name: str) -> None:
    entries = yaml.load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    assert len({entry["id"] for entry in entries}) == len(entries) >= 30
    keys = _KEYS[name.partition("/")[0]]
    assert [entry["id"] for entry in entries if not keys <= entry.keys()] == []


@pytest.mark.parametrize(
    ("name", "measure", "least"),
    [
        ("statements/first", "said", 84),
        ("statements/second", "said", 81),
        ("statements/third", "said", 85),
        ("recoveries/first", "status", 93),
        ("recoveries/first", "became", 90),
        ("recoveries/second", "status", 96),
        ("recoveries/second", "became", 88),
        ("recoveries/fourth", "broken step", 98),
        ("recoveries/fourth", "became", 98),
        ("recoveries/fourth", "said", 92),
    ],
)
def test_a_list_that_was_read_stays_as_right_as_it_was(name: str, measure: str, least: int) -> None:
    agreement = agreement_of_list(name)
    assert 100 * agreement.right[measure] / agreement.total[measure] >= least, agreement.differences
    lines = list(table_of(name, agreement))
    assert any(line.startswith(f"{name}: {measure} {agreement.right[measure]} of ") for line in lines)
