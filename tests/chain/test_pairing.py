"""Which result answers which call."""

import pytest

from tests.chain.building import chain_of, codes, inspection_of, outcomes
from weaklink.inspector.apis.openai.messages import read_messages
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Json, Trace


def answers(*lines: str) -> list[str | None]:
    return [step.result.content if step.result else None for step in chain_of(*lines).steps]


def test_by_id_in_any_order_and_over_several_turns() -> None:
    lines = ("call a: f", "also b: g", "also c: h", "result c: 3", "result a: 1", "result b: 2", "say: Done.")
    assert answers(*lines) == ["1", "2", "3"]
    assert codes(inspection_of(*lines)) == ["T405", "T405"]


def test_an_id_used_again_belongs_to_the_nearest_earlier_open_call() -> None:
    lines = ("call a: f", "result a: 1", "call a: f", "result a: 2", "say: Done.")
    assert answers(*lines) == ["1", "2"]
    assert codes(inspection_of(*lines)) == []


@pytest.mark.parametrize("second", ["also a: g", "call a: g"])
def test_two_open_calls_with_one_id_are_reported_and_answered_in_order(second: str) -> None:
    lines = ("call a: f", second, "result a: of f", "result a: of g", "say: Done.")
    assert answers(*lines) == ["of f", "of g"]
    assert "T402" in codes(inspection_of(*lines))


def test_of_open_calls_with_one_id_the_latest_turn_is_answered_first_from_its_first_call_on() -> None:
    assert answers("call a: f", "call a: g", "also a: h", "result a: of g", "say: Done.") == [None, "of g", None]


def test_results_with_one_id_and_names_go_to_the_calls_of_those_names() -> None:
    calls: list[Json] = [
        {"id": "a", "type": "function", "function": {"name": name, "arguments": "{}"}} for name in "fgh"
    ]
    results: list[Json] = [
        {"role": "tool", "tool_call_id": "a", "content": "of h", "name": "h"},
        {"role": "tool", "tool_call_id": "a", "content": "of f"},
        {"role": "tool", "tool_call_id": "a", "content": "of g", "name": "g"},
    ]
    trace = Trace(turns=read_messages([{"role": "assistant", "tool_calls": calls}, *results]))
    steps = inspect_trace(trace).chain.steps
    assert [step.result and step.result.content for step in steps] == ["of f", "of g", "of h"]


def test_an_id_whose_first_call_was_answered_by_order_is_not_answered_twice() -> None:
    assert answers("call a: f", "result: 1", "call a: f", "result a: 2", "result a: 3") == ["1", "2"]


def test_by_order_where_there_are_no_ids() -> None:
    assert answers("call: f", "also: g", "result: 1", "result: 2", "say: Done.") == ["1", "2"]


def test_by_name_before_order() -> None:
    lines = ("call: f", "also: g", 'result: {"name": "g", "content": 2}', 'result: {"name": "f", "content": 1}')
    wrapped = [f"result: <tool_response>\n{line.removeprefix('result: ')}\n</tool_response>" for line in lines[2:]]
    assert [answer and answer[-2] for answer in answers(*lines[:2], *wrapped)] == ["1", "2"]


def test_results_for_calls_two_turns_back_without_ids() -> None:
    assert answers("call: f", "call: g", "result: 1", "result: 2", "say: Done.") == ["1", "2"]


def test_a_single_result_after_two_turns_of_calls_answers_the_latter() -> None:
    assert answers("call: f", "call: g", "result: 2", "say: Done.") == [None, "2"]


def test_a_late_result_without_an_id_goes_to_the_nearest_earlier_open_call() -> None:
    lines = ("call: f", "also: h", "result: 1", "call: g", "result: 2", "result: 3", "say: Done.")
    assert answers(*lines) == ["1", "3", "2"]


def test_parallel_calls_partly_answered() -> None:
    chain = chain_of("call a: f", "also b: g", "result b: 2", "say: Done.")
    assert outcomes(chain) == ["unanswered", "ok"]
    assert outcomes(chain_of("call a: f", "also b: g", "result b: 2")) == ["pending", "ok"]


def test_where_results_are_too_few_the_broken_call_is_the_one_passed_over() -> None:
    chain = chain_of("call: f oops", 'also: g {"a": 1}', "result: 1", "say: Done.")
    assert [step.result is not None for step in chain.steps] == [False, True]


def test_where_results_suffice_the_broken_call_gets_its_own() -> None:
    chain = chain_of('call: f {"a": 1', 'also: g {"a": 1}', "result: Error: bad JSON", "result: 1", "say: Done.")
    assert [step.result and step.result.content for step in chain.steps] == ["Error: bad JSON", "1"]


@pytest.mark.parametrize(
    "lines",
    [
        ("result: 1",),
        ("call a: f", "result b: 1"),
        ("call a: f", "result a: 1", "result a: 2"),
        ("call: f", "result: 1", "result: 2"),
    ],
)
def test_a_result_without_a_call_is_a_diagnostic_and_no_step(lines: tuple[str, ...]) -> None:
    inspection = inspection_of("user: Hello", *lines, "say: Done.")
    assert "T403" in codes(inspection)
    assert len(inspection.chain.steps) == sum(line.startswith("call") for line in lines)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Observation:\n4 degrees\n5 degrees", [("ok", "4 degrees"), ("ok", "5 degrees")]),
        ("Observation:\n4 degrees", [("ok", "4 degrees")] * 2),
        ("Call id: a1\nError:\nNo such city\nNow let's retry", [("error-result", "No such city\nNow let's retry")] * 2),
        ("The observation is 4 degrees.", [("unanswered", None)] * 2),
    ],
)
def test_what_smolagents_writes_as_words_of_the_user_are_the_results(
    words: str, expected: list[tuple[str, str | None]]
) -> None:
    calls = ('call a1: f {"city": "Oslo"}', 'also a2: f {"city": "Bergen"}')
    chain = chain_of("user: How warm?", *calls, f"user: {words}", "say: Mild.")
    assert [(step.outcome.value, step.result and step.result.content) for step in chain.steps] == expected


def test_an_observation_that_follows_no_call_is_the_users() -> None:
    chain = chain_of("user: Hi", 'call a1: f {"x": 1}', "result a1: 4", "say: Four.", "user: Observation:\nit is so")
    assert [(step.outcome.value, step.result and step.result.content) for step in chain.steps] == [("ok", "4")]
