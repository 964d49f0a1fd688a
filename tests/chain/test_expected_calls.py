"""How calls agree with those that a task wanted; the cases are in `cases/statistics/expected.jsonl`."""

import json
from pathlib import Path
from typing import Any

import pytest

from weaklink.inspector.chain.expected_calls import agreement, expected_of
from weaklink.inspector.facade import make_call
from weaklink.inspector.model import Json, ToolCall
from weaklink.inspector.text import Range

_FILE = Path(__file__).parents[1] / "cases" / "statistics" / "expected.jsonl"
CASES = [json.loads(line) for line in _FILE.read_text("utf-8").splitlines()]
AGREEING = [case for case in CASES if "made" in case]
UNREADABLE = [case for case in CASES if "reason" in case]


def made(name: str | None, arguments: Json) -> ToolCall:
    if name is not None and isinstance(arguments, dict):
        return make_call(name, arguments)
    return ToolCall(name, arguments, str(arguments), valid=False, range=Range(0, 0))


@pytest.mark.parametrize("case", AGREEING, ids=[case["case"] for case in AGREEING])
def test_selections_and_parameters_are_counted(case: dict[str, Any]) -> None:
    id_, expected = expected_of(case["row"])
    counts = agreement(expected, [made(*call) for call in case["made"]])
    assert id_ == str(next(iter(case["row"].values())))
    assert [counts.right_tools, counts.expected_tools] == case["tools"]
    assert [counts.right_parameters, counts.expected_parameters] == case["parameters"]


@pytest.mark.parametrize("case", UNREADABLE, ids=[case["case"] for case in UNREADABLE])
def test_a_row_that_cannot_be_meant_is_refused_with_its_reason(case: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=case["reason"]):
        expected_of(case["row"])


def test_the_very_calls_agree_whatever_their_order_up_to_many() -> None:
    _, expected = expected_of({"id": "a", "expected": [{"name": "f", "arguments": {"x": x}} for x in range(30)]})
    counts = agreement(expected, [make_call("f", {"x": x}) for x in reversed(range(30))])
    assert (counts.right_parameters, counts.expected_parameters) == (30, 30)
