"""The four dimensions of a call's score: each value here was computed by hand from the definitions."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weaklink.inspector.chain.expected_calls import agrees
from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.dataset.samples import read_sample
from weaklink.inspector.dataset.scoring import CallScore, score_arguments, score_sample

REQUIRED, PROPERTIES = ("from", "to"), ("from", "to", "seats", "night")
TOOL: dict[str, Any] = {
    "name": "book_train",
    "parameters": {
        "type": "object",
        "properties": {
            "from": {"type": "string"},
            "to": {"type": "string"},
            "seats": {"type": "integer"},
            "night": {"type": "boolean"},
        },
        "required": ["from", "to"],
    },
}


@pytest.mark.parametrize(
    ("arguments", "reference", "expected"),
    [
        ({"from": "Oslo", "to": "Voss"}, {"from": "Oslo", "to": "Voss"}, (1, 1, 1, 1, 1)),
        ({"from": "Oslo"}, {"from": "Oslo", "to": "Voss"}, (0.5, 0.5, 1, 1, 0.75)),
        ({"from": "Oslo", "to": "Bergen"}, {"from": "Oslo", "to": "Voss"}, (1, 0.5, 1, 1, 0.875)),
        ({"from": "Oslo", "to": "Voss", "pet": "dog"}, {"from": "Oslo", "to": "Voss"}, (1, 1, 2 / 3, 0.5, 19 / 24)),
        ({"from": 1, "to": "Voss"}, {"from": "Oslo", "to": "Voss"}, (1, 0.5, 0.5, 1, 0.75)),
        (
            {"from": "Oslo", "to": "Voss", "seats": 2.0},
            {"from": "Oslo", "to": "Voss", "seats": 2},
            (1, 1, 2 / 3, 1, 11 / 12),
        ),
        (
            {"from": "Oslo", "to": "Voss", "night": 1},
            {"from": "Oslo", "to": "Voss", "night": True},
            (1, 2 / 3, 2 / 3, 1, 5 / 6),
        ),
        ({}, {}, (0, 1, 1, 1, 0.75)),
        ({}, {"from": "Oslo"}, (0, 0, 1, 1, 0.5)),
    ],
)
def test_the_dimensions_of_one_call(arguments: Any, reference: Any, expected: tuple[float, ...]) -> None:
    allowed = {key: (value,) for key, value in reference.items()}
    score = score_arguments(arguments, allowed, required=REQUIRED, properties=PROPERTIES)
    measures = (score.completeness, score.accuracy, score.type_precision, score.no_hallucination, score.overall)
    assert measures == pytest.approx(expected)


def test_nothing_to_measure_is_one_and_without_a_reference_two_dimensions_are_not_measured() -> None:
    assert score_arguments({}, {}).overall == 1.0
    score = score_arguments({"to": "Voss"}, None, required=REQUIRED, properties=PROPERTIES)
    assert (score.accuracy, score.type_precision) == (None, None)
    assert score.overall == pytest.approx((0.5 + 1.0) / 2)


@pytest.mark.parametrize(
    ("first", "other", "equal"),
    [
        (5, 5.0, True),
        (True, 1, False),
        ([1, {"a": [True]}], [1.0, {"a": [True]}], True),
        ([1, {"a": [True]}], [1, {"a": [1]}], False),
        ([1, 2], [2, 1], False),
        ("Oslo", "oslo", False),
    ],
)
def test_values_are_compared_deeply(first: Any, other: Any, equal: bool) -> None:
    assert agrees(first, other, blurred=False) is equal


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["a", "b"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=5,
)
ARGUMENTS = st.dictionaries(st.sampled_from(["from", "to", "seats", "pet"]), VALUES, max_size=4)


@given(arguments=ARGUMENTS, reference=ARGUMENTS)
def test_every_score_is_from_0_to_1_and_a_call_equal_to_its_reference_is_accurate(
    arguments: Any, reference: Any
) -> None:
    allowed = {key: (value,) for key, value in reference.items()}
    score = score_arguments(arguments, allowed, required=REQUIRED, properties=PROPERTIES)
    assert all(
        0 <= value <= 1 for value in (score.completeness, score.accuracy or 0, score.type_precision or 0, score.overall)
    )
    same = score_arguments(reference, allowed, required=REQUIRED, properties=PROPERTIES)
    assert (same.accuracy, same.type_precision) == (1, 1)


def scored(*calls: dict[str, Any], **row: Any) -> tuple[CallScore, ...]:
    text = "\n".join(
        f"<tool_call>\n{json.dumps({'name': 'book_train', 'arguments': call})}\n</tool_call>" for call in calls
    )
    messages: list[Any] = [{"role": "user", "content": "A train."}, {"role": "assistant", "content": text or "No."}]
    return score_sample(read_sample(DataRow("f", "line 1", 1, {"messages": messages, "tools": [TOOL], **row}))).calls


OSLO, VOSS = {"from": "Oslo", "to": "Voss"}, {"from": "Voss", "to": "Oslo"}


def test_a_row_brings_its_own_reference_and_calls_match_in_order() -> None:
    expected = [{"name": "book_train", "arguments": OSLO}, {"name": "book_train", "arguments": VOSS}]
    assert [score.overall for score in scored(OSLO, VOSS, expected=expected)] == [1, 1]
    assert [score.accuracy for score in scored(VOSS, OSLO, expected=expected)] == [0, 0]


def test_missing_and_extra_calls_are_scored() -> None:
    expected = [{"name": "book_train", "arguments": OSLO}]
    score, extra = scored(OSLO, VOSS, expected=expected)
    assert (score.overall, extra.is_extra, extra.overall) == (1, True, 0)
    (missing,) = scored(expected=expected)
    assert (missing.is_missing, missing.overall) == (True, 0)
    assert scored(expected=[]) == ()


@pytest.mark.parametrize("expected", [[], [{"name": "book_train", "arguments": OSLO}]])
def test_calls_at_random_are_worth_no_more_than_none(expected: Any) -> None:
    calls = [{"role": "assistant", "content": '<tool_call>{"name": "call_taxi", "arguments": {}}</tool_call>' * 9}]
    row: dict[str, Any] = {"messages": [{"role": "user", "content": "A train."}, *calls], "expected": expected}
    tools: list[Any] = [TOOL, {"type": "function", "function": {"name": "call_taxi", "parameters": {"type": "object"}}}]
    assert score_sample(read_sample(DataRow("f", "line 1", 1, {**row, "tools": tools}))).overall == 0


@pytest.mark.parametrize("answer", [None, "", " \n", "<think>A train.</think>", "Which day?"])
@pytest.mark.parametrize("reference", [{}, {"expected": []}])
def test_a_sample_without_calls_has_1_or_0_if_its_answer_is_empty(answer: str | None, reference: Any) -> None:
    messages: list[Any] = [{"role": "user", "content": "A train."}]
    messages += [] if answer is None else [{"role": "assistant", "content": answer}]
    row: dict[str, Any] = {"messages": messages, "tools": [TOOL], **reference}
    assert score_sample(read_sample(DataRow("f", "line 1", 1, row))).overall == (answer == "Which day?")


def test_the_leaderboards_references_allow_any_order_several_values_and_missing_options() -> None:
    answers = [
        {"book_train": {"from": ["Oslo", "Oslo S"], "to": ["Voss"], "seats": [1, ""]}},
        {"book_train": {"from": ["Voss"], "to": ["Oslo"], "seats": [1, ""]}},
    ]
    calls = scored(VOSS, {"from": "Oslo S", "to": "Voss", "seats": 1}, ground_truth=answers)
    assert [call.overall for call in calls] == [1, 1]


def test_the_failed_call_of_a_recovery_is_not_scored() -> None:
    bad = f"<tool_call>\n{json.dumps({'name': 'book_train', 'arguments': {'from': 7, 'to': 'Voss'}})}\n</tool_call>"
    good = f"<tool_call>\n{json.dumps({'name': 'book_train', 'arguments': OSLO})}\n</tool_call>"
    messages = [
        {"role": "user", "content": "A train from Oslo to Voss."},
        {"role": "assistant", "content": bad},
        {"role": "tool", "content": '{"error": "from must be a string"}'},
        {"role": "assistant", "content": good},
    ]
    row: dict[str, Any] = {
        "type": "error_recovery",
        "messages": messages,
        "tools": [TOOL],
        "expected": [{"name": "book_train", "arguments": OSLO}],
    }
    (only,) = score_sample(read_sample(DataRow("f", "line 1", 1, row))).calls
    assert only.overall == 1


@pytest.mark.parametrize(("expected", "measured"), [(None, None), ([{"name": "book_train", "arguments": {}}], 0.0)])
def test_arguments_that_cannot_be_read_score_0_in_what_is_measured(expected: Any, measured: float | None) -> None:
    call = '<tool_call>\n{"name": "book_train", "arguments": "Oslo"}\n</tool_call>'
    messages = [{"role": "user", "content": "A train."}, {"role": "assistant", "content": call}]
    row: dict[str, Any] = {"messages": messages, "tools": [TOOL]} | ({"expected": expected} if expected else {})
    (score,) = score_sample(read_sample(DataRow("f", "line 1", 1, row))).calls
    assert (score.completeness, score.no_hallucination, score.overall) == (0.0, 0.0, 0.0)
    assert (score.accuracy, score.type_precision) == (measured, measured)


@pytest.mark.parametrize("expected", [None, [{"name": "book_train", "arguments": OSLO}]])
def test_a_call_that_only_a_repair_can_read_scores_0(expected: Any) -> None:
    text = "<tool_call>\n" + str({"name": "book_train", "arguments": OSLO}) + "\n</tool_call>"
    messages = [{"role": "user", "content": "A train."}, {"role": "assistant", "content": text}]
    row: dict[str, Any] = {"messages": messages, "tools": [TOOL]} | ({"expected": expected} if expected else {})
    (score,) = score_sample(read_sample(DataRow("f", "line 1", 1, row))).calls
    assert score.overall == 0


@pytest.mark.parametrize(("tools", "no_hallucination"), [([TOOL], 0.0), ([], 1.0)])
def test_a_call_of_a_tool_that_is_not_among_the_offered_ones_is_invented(tools: Any, no_hallucination: float) -> None:
    text = f"<tool_call>\n{json.dumps({'name': 'bookTrain', 'arguments': OSLO})}\n</tool_call>"
    messages = [{"role": "user", "content": "A train."}, {"role": "assistant", "content": text}]
    row: dict[str, Any] = {"messages": messages, "tools": tools}
    (score,) = score_sample(read_sample(DataRow("f", "line 1", 1, row))).calls
    assert score.no_hallucination == no_hallucination
