"""Annotations: where each argument came from, what each result holds, and what the agent did on what it saw."""

import json
from typing import Any

import pytest
from hypothesis import given

from tests.chain.building import trace_of
from tests.examples import in_the_gate
from tests.strategies import traces
from weaklink.inspector.exporters.annotation import annotation
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Part, Role, Trace, Turn

SEARCH = ("user: Fly me to Oslo.", 'call: search_flights {"to": "Oslo"}')
FLIGHTS = 'result: {"flights": [{"id": "DY-6314", "price": 99}, {"id": "SK-1470", "price": 120}]}'


def annotated(*lines: str) -> dict[str, Any]:
    trace = trace_of(*lines)
    return annotation(trace, inspect_trace(trace, format="hermes"))


def edges(result: dict[str, Any], step: int) -> list[tuple[str, str]]:
    return [(edge["from"], edge["to"]) for edge in result["steps"][step - 1]["data_flow"]]


def decided(*lines: str) -> list[tuple[str, str | None, str | None]]:
    points = annotated(*lines)["decision_points"]
    return [(point["condition"], point["action"], point["reasoning"]) for point in points]


def test_an_edge_leads_from_the_place_in_a_result_to_the_argument() -> None:
    result = annotated(*SEARCH, FLIGHTS, 'call: book {"flight": {"id": "SK-1470"}, "seat": "12 A", "cheap": true}')
    assert edges(result, 1) == [("user", "arguments.to")]
    book = result["steps"][1]
    assert edges(result, 2) == [
        ("$search_flights_1.flights[1].id", "arguments.flight.id"),
        ("agent", "arguments.seat"),
    ]
    assert book["depends_on"] == [1]
    assert book["arguments_by_reference"] == {
        "flight": {"id": "$search_flights_1.flights[1].id"},
        "seat": "12 A",
        "cheap": True,
    }
    assert result["critical_path"] == [1, 2]
    assert result["annotations"]["data_dependencies"] == (
        "Step 1's result `flights[1].id` is passed into step 2 as `flight.id`."
    )


def test_a_part_of_a_longer_value_is_no_reference() -> None:
    result = annotated(*SEARCH, FLIGHTS, 'call: note {"text": "Take DY-6314, please."}')
    edge = result["steps"][1]["data_flow"][0]
    assert (edge["from"], edge["text"], edge["whole"], edge["exact"]) == (
        "$search_flights_1.flights[0].id",
        "DY-6314",
        False,
        False,
    )
    assert result["steps"][1]["arguments_by_reference"] is None


def test_a_value_may_be_a_key_of_a_result() -> None:
    result = annotated(
        "user: Go.", "call: list_airports", 'result: {"OSL": "Gardermoen"}', 'call: book {"from": "OSL"}'
    )
    edge = result["steps"][1]["data_flow"][0]
    assert (edge["from"], edge["from_key"], edge["exact"]) == ("$list_airports_1.OSL", True, False)


def test_an_earlier_argument_is_a_source_too() -> None:
    result = annotated("user: Go.", 'call: a {"x y": "zulu-7"}', "result: fine", 'call: b {"v": "zulu-7"}')
    assert edges(result, 2) == [('step_1.arguments["x y"]', "arguments.v")]


def test_variables_are_unique_whatever_tools_are_called() -> None:
    calls = ("a", "a", "a_1", "ns.getWeather", "get_weather", "7up", "-", "é~è")
    lines = (line for name in calls for line in (f"call: {name}", "result: 1"))
    names = [step["output_var"] for step in annotated("user: Go.", *lines)["steps"]]
    assert names[:6] == ["$a_1", "$a_2", "$a_1_1", "$get_weather_1", "$get_weather_2", "$tool_7up_1"]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("result", "kind", "produces"),
    [
        ('{"b": [{"c": 1}, {"c": 2, "d e": 3}]}', "object", ["$a_1.b[*].c", '$a_1.b[*]["d e"]']),
        ("[1, 2]", "array", ["$a_1[*]"]),
        ("sunny", "text", ["$a_1"]),
        ("[]", "empty", ["$a_1"]),
        ("", "empty", []),
        ('{"error": "no"}', "error", ["$a_1.error"]),
    ],
)
def test_a_step_produces_the_paths_of_its_result(result: str, kind: str, produces: list[str]) -> None:
    step = annotated("user: Go.", "call: a", f"result: {result}", "say: Done.")["steps"][0]
    assert (step["result_kind"], step["produces"]) == (kind, produces)


def test_paths_that_are_used_come_first_and_there_are_forty_at_most() -> None:
    wide = json.dumps({f"k{number}": f"value-{number}" for number in range(100)})
    result = annotated("user: Go.", "call: a", f"result: {wide}", 'call: b {"x": "value-77"}')
    assert result["steps"][0]["produces"][:2] == ["$a_1.k77", "$a_1.k0"]
    assert len(result["steps"][0]["produces"]) == 40


FAILED = 'result: {"error": "no such city"}'


@pytest.mark.parametrize(
    ("after", "action", "reasoning"),
    [
        (['call: search_flights {"to": "Oslo"}'], "retry_identical_call", None),
        (['call: search_flights {"to": "Oslo Gardermoen"}'], "retry_with_other_arguments", None),
        (['call: search_flights {"to": "Bergen"}'], "try_other_target", None),
        (['call: search_trains {"to": "Oslo"}'], "use_other_tool", None),
        (["say: Then by train.", 'call: search_trains {"to": "Oslo"}'], "use_other_tool", "Then by train."),
        (['call: transfer_to_human {"why": "Oslo"}'], "hand_over", None),
        (["call: submit {}"], "give_up", None),
        (["say: I could not find it."], "report_failure", "I could not find it."),
        (["say: Which airport?"], "ask_user", "Which airport?"),
        (["say: It is 99 euros."], "answer", "It is 99 euros."),
        ([], None, None),
        (["user: Hurry!", 'call: search_flights {"to": "Oslo"}'], None, None),
    ],
)
def test_what_the_agent_did_after_an_error(after: list[str], action: str | None, reasoning: str | None) -> None:
    points = decided(*SEARCH, FAILED, *after)
    assert points[0] == ('search_flights.error == "no such city"', action, reasoning)


@pytest.mark.parametrize(
    ("result", "condition"),
    [
        ('{"flights": []}', "search_flights.flights == []"),
        ('{"results": [], "total": 0}', "search_flights.results == []"),
        ("[]", "search_flights.result_count == 0"),
        ("{}", "search_flights.result == {}"),
        ("", 'search_flights.result == ""'),
        ('{"status": 403, "message": "forbidden"}', "search_flights.status_code == 403"),
        ("HTTP 503: service unavailable", "search_flights.status_code == 503"),
        ('{"exit_code": 2, "stderr": "boom"}', "search_flights.exit_code == 2"),
        ("Error: it broke", 'search_flights.error == "Error: it broke"'),
    ],
)
def test_a_condition_is_what_was_observed(result: str, condition: str) -> None:
    assert [points[0] for points in decided(*SEARCH, f"result: {result}", "say: Well.")] == [condition]


@pytest.mark.parametrize(
    "result", ["fine", '{"flights": [{"id": 1}]}', '{"warnings": [], "price": 3}', '{"flights": [], "hotels": [1]}']
)
def test_where_all_went_well_nothing_was_to_decide(result: str) -> None:
    assert decided(*SEARCH, f"result: {result}", "say: Well.") == []


def test_an_empty_list_of_what_was_written_is_no_search_that_found_nothing() -> None:
    assert decided("user: Go.", 'call: create_orders {"n": "x-1"}', 'result: {"orders": []}', "say: Done.") == []


def test_fewer_words_are_a_broader_query() -> None:
    lines = ("user: Go.", 'call: search {"q": "red shoes size 43", "shop": "north"}', 'result: {"results": []}')
    assert decided(*lines, 'call: search {"q": "red shoes", "shop": "north"}')[0][1] == "retry_with_broader_query"
    assert decided(*lines, 'call: search {"q": "red shoes size 43"}')[0][1] == "retry_with_broader_query"
    assert decided(*lines, 'call: search {"q": "red shoes size 44", "shop": "north"}')[0][1] == (
        "retry_with_other_arguments"
    )


def test_the_nearest_of_several_next_calls_is_the_action() -> None:
    result = annotated(
        *SEARCH, FAILED, "call: now", 'also: search_flights {"to": "OSL"}', 'also: search_flights {"to": "Oslo"}'
    )
    point = result["decision_points"][0]
    assert (point["action"], point["next_steps"]) == ("retry_identical_call", [4])


def test_faulty_calls_are_conditions_unless_they_were_answered_all_the_same() -> None:
    lines = ("user: Go.", "call: a {bad", "result: Error: no JSON", "call: a", "result: fine", "say: Done.")
    point = annotated(*lines)["decision_points"][0]
    assert (point["condition"], point["condition_kind"], point["condition_code"]) == (
        'a.call == "malformed-json"',
        "malformed-call",
        "J101",
    )
    assert decided("user: Go.", "call: a {bad", "result: fine", "say: Done.") == []


def test_a_malformed_call_that_is_written_anew_is_a_corrected_one() -> None:
    lines = (
        "user: Go.",
        "call: a {'x': 1}",
        "result: Error: no JSON",
        'call: a {"x": 1}',
        "result: fine",
        "say: Done.",
    )
    assert decided(*lines) == [('a.call == "single-quoted-json"', "retry_corrected_call", None)]


def test_reasoning_is_bounded_and_its_own() -> None:
    long = "I think. " * 200
    turns = (
        *trace_of(*SEARCH, FAILED).turns,
        Turn(Role.ASSISTANT, (Part("text", f"<think>\n{long}</think>It failed."),)),
    )
    result: Any = annotation(Trace(turns), inspect_trace(Trace(turns), format="hermes"))
    point = result["decision_points"][0]
    assert point["reasoning"] == long[:600]
    assert point["reasoning_place"] == {"turn": 4, "part": "text", "start": 8, "end": 608}


@in_the_gate(10, most=60)  # whole traces are inspected
@given(traces())
def test_every_trace_can_be_annotated_and_every_place_is_in_it(trace: Trace) -> None:
    inspection = inspect_trace(trace, format="hermes")
    result: Any = annotation(trace, inspection)
    assert json.loads(write_json(result))["steps"] is not None
    assert [step["step_id"] for step in result["steps"]] == [step.number for step in inspection.chain.steps]
    for location, words in _places(result):
        part = trace.turns[location["turn"] - 1].part(location["part"])
        assert part is not None
        assert 0 <= location["start"] <= location["end"] <= len(part.text)
        assert words is None or part.text[location["start"] : location["end"]] == words


def _places(result: Any) -> list[tuple[dict[str, Any], str | None]]:
    """All places, with the words that stand there where they are known."""
    places = [(point["reasoning_place"], point["reasoning"]) for point in result["decision_points"]]
    places += [(point["condition_place"], None) for point in result["decision_points"]]
    for step in result["steps"]:
        places += [(step["call_place"], None), (step["result_place"], None)]
        places += [(edge[key], None) for edge in step["data_flow"] for key in ("from_place", "to_place")]
    return [(location, words) for location, words in places if location is not None]
