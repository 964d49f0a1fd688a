"""The report on a set: its shares, deviations and features, on samples counted by hand."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.dataset.diversity import SetReport, facts_of, packed_sequences, schema_depth, type_name
from weaklink.inspector.dataset.goals import deviations
from weaklink.inspector.dataset.samples import read_sample
from weaklink.inspector.model import ToolDefinition


def call(tool: str, **arguments: Any) -> str:
    return f"<tool_call>\n{json.dumps({'name': tool, 'arguments': arguments})}\n</tool_call>"


def conversation(*said: tuple[str, str], **row: Any) -> dict[str, Any]:
    return {"messages": [{"role": role, "content": text} for role, text in said], **row}


ASK = ("user", "Please plan my trip to the mountains next weekend.")
ROWS = [
    conversation(ASK, ("assistant", call("trains", to="Voss", seats=2))),
    conversation(ASK, ("assistant", call("trains", to="Voss") + "\n" + call("hotels", town="Voss", stars=[4, 5]))),
    conversation(
        ASK,
        ("assistant", call("trains", to=7)),
        ("tool", '{"error": "to must be a string"}'),
        ("assistant", call("trains", to="Voss")),
        ("tool", '{"departure": "08:25"}'),
        ("assistant", call("hotels", town="Voss", breakfast=True, room=None, guest={"name": "Kari"})),
        type="error_recovery",
    ),
    conversation(
        ("user", "你好，请帮我安排周末去山里的行程。"),
        ("assistant", "好的。"),
        annotation={"should_call_tool": False},
        type="no_tool_call",
    ),
]


def report_of(rows: list[dict[str, Any]]) -> SetReport:
    report = SetReport()
    for number, row in enumerate(rows, 1):
        report.add(facts_of(read_sample(DataRow("f", f"line {number}", number, row))))
    return report


def test_shares_are_fractions_of_the_samples_that_they_are_over() -> None:
    shares = report_of(ROWS).shares()
    assert shares["tools"] == pytest.approx({"1": 1 / 3, "2": 2 / 3, "3+": 0})
    assert shares["steps"] == pytest.approx({"1": 1 / 3, "2": 1 / 3, "3+": 1 / 3})
    assert shares["should_call"] == {"yes": 0.75, "no": 0.25}
    assert shares["error_recovery"] == 0.25
    assert shares["languages"] == {"en": 0.75, "zh": 0.25}
    # values: Voss, 2 | Voss | Voss, [4, 5] | 7 | Voss | Voss, true, null, {...}
    expected = {"string": 5, "number": 2, "boolean": 1, "array": 1, "object": 1, "null": 1}
    assert shares["parameter_types"] == pytest.approx({name: number / 11 for name, number in expected.items()})


def test_deviations_are_from_the_recommended_shares_and_recovery_is_a_minimum() -> None:
    changes = deviations(report_of(ROWS).shares())
    assert changes["should_call"] == pytest.approx({"yes": 0.05, "no": -0.05})
    assert changes["error_recovery"] == 0
    assert deviations(report_of(ROWS[:1]).shares())["error_recovery"] == pytest.approx(-0.15)


def test_the_json_has_every_key_and_counts_duplicates_and_faults() -> None:
    value = report_of([*ROWS, ROWS[0]]).value()
    assert {"samples", "shares", "recommended", "deviations", "faults", "lengths", "quality"} <= value.keys()
    assert (value["samples"], value["samples_with_calls"], value["duplicates"]) == (5, 4, 1)
    assert value["tools_by_frequency"] == {"trains": 4, "hotels": 2}
    assert value["recoveries"] == {"same-intent": 1} or value["recoveries"] == {"corrected-call": 1}
    assert value["argument_depth"] == {"0": 3, "1": 2}


def test_an_empty_set_has_a_report() -> None:
    assert SetReport().value()["samples"] == 0


@pytest.mark.parametrize(
    ("schema", "depth", "chain"),
    [
        (None, 0, 0),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, 1, 0),
        ({"properties": {"a": {"items": {"properties": {"b": {"type": "object", "properties": {"c": {}}}}}}}}, 3, 0),
        ({"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"$ref": "#/$defs/y"}, "y": {}}}, 1, 2),
        ({"$ref": "#"}, 0, 24),
    ],
)
def test_the_depth_of_a_schema_and_its_chain_of_references(schema: Any, depth: int, chain: int) -> None:
    assert schema_depth(ToolDefinition("f", "", schema)) == (depth, chain)


def test_integers_are_numbers_and_booleans_are_not() -> None:
    values: list[Any] = [1, 1.5, True, None, "x", [], {}]
    assert list(map(type_name, values)) == ["number", "number", "boolean", "null", "string", "array", "object"]


@given(st.lists(st.integers(0, 40), max_size=60), st.integers(1, 30))
def test_packed_sequences_hold_all_samples_and_are_not_many_more_than_needed(lengths: list[int], most: int) -> None:
    kept = [min(length, most) for length in lengths]
    sequences = packed_sequences(lengths, most)
    needed = -(-sum(kept) // most)
    assert needed <= sequences <= sum(length > 0 for length in kept)
    assert sequences <= 1.25 * needed + 1 + sum(2 * length > most for length in kept)


@pytest.mark.parametrize(
    ("lengths", "sequences"), [([], 0), ([0], 0), ([6, 4, 5, 5], 2), ([10, 10], 2), ([25], 1), ([7, 2, 1, 8, 2], 2)]
)
def test_packing_is_best_fit_decreasing(lengths: list[int], sequences: int) -> None:
    assert packed_sequences(lengths, 10) == sequences
