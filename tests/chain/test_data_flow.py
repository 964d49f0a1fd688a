"""Where the values of arguments came from: the first place that gave them, and what depends on what."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chain.building import trace_of
from tests.counted_columns import counted
from tests.examples import in_the_gate
from weaklink.inspector.chain.data_flow import DataFlow, OriginKind, step_values, trace_values
from weaklink.inspector.inspection import data_flow_of, inspect_trace, step_flow_of
from weaklink.inspector.model import Trace


def flow_of(*lines: str) -> tuple[Trace, DataFlow]:
    trace = trace_of(*lines)
    return trace, trace_values(trace, inspect_trace(trace).chain.steps)


def origin(value: object, *given: str) -> tuple[str, str] | None:
    """The kind of the first place of the value of a call's only argument, and the characters that stand there."""
    trace, flow = flow_of(*given, f"call: use {json.dumps({'value': value})}")
    origins = flow.flows[-1].origins
    if not origins:
        return None
    location = origins[0].location
    part = trace.turns[location.turn - 1].part(location.part)
    assert part is not None
    return origins[0].kind.value, location.range.of(part.text)


@pytest.mark.parametrize(
    ("value", "given_as", "where"),
    [
        ("Oslo", "user: Will it rain in OSLO's harbour?", ("user", "OSLO")),
        ("New York City", "user: A table in new-york city, please.", ("user", "new-york city")),
        (1250, "user: I paid 1,250 crowns.", ("user", "1,250")),
        (1250.5, "user: I paid $1,250.50.", ("user", "1,250.50")),
        (0.15, "user: Give me 15% off.", ("user", "15")),
        ("2025-03-09", "user: On March 9th, please.", ("user", "March 9th")),
        ("2025-03-09T10:00:00Z", "user: On 9 March at ten.", ("user", "9 March")),
        ("東京", "user: 明日の東京の天気は？", ("user", "東京")),
        ("round_trip", "user: A round trip.", ("user", "round trip")),
        ("W-77 & co", "user: It is W 77, co.", ("user", "W 77, co")),
        ("Bergen", "user: Oslo, please.", None),
        ("12", "user: 12", None),  # too short to say where it came from
    ],
)
def test_a_value_is_found_however_it_was_written(value: object, given_as: str, where: tuple[str, str] | None) -> None:
    assert origin(value, given_as) == where


def test_a_result_that_repeats_its_own_call_gave_nothing() -> None:
    lines = ('call: open {"file": "notes/x1.txt"}', "result: Error: notes/x1.txt: not there")
    assert origin("notes/x1.txt", *lines) == ("argument", "notes/x1.txt")
    assert origin("notes/x1.txt", *lines, *lines) == ("argument", "notes/x1.txt")
    listed = ('call: list {"folder": "notes"}', "result: notes/x1.txt")
    assert origin("notes/x1.txt", *lines, *listed) == ("result", "notes/x1.txt")


def test_what_an_own_value_was_put_together_from_is_traced_too() -> None:
    given = ("user: Send it.", "call: whose", 'result: {"mail": "li@example.org"}')
    made = 'call: send {"to": "Dear li@example.org"}'
    _, flow = flow_of(*given, made, "result: full", made)
    assert [(value_origin.kind.value, value_origin.step) for value_origin in flow.flows[-1].origins] == [
        ("argument", 2),
        ("result", 1),
    ]


def test_names_between_commas_are_traced_one_by_one() -> None:
    assert origin("Tokyo, Japan", "user: How is Tokyo?") == ("user", "Tokyo")
    assert origin("Please send it, thanks", "user: Many thanks") is None


def test_the_first_place_counts_and_the_agents_own_words_do_not() -> None:
    lines = ("user: Find it.", "say: It may be K-4471.", 'call: find {"q": "it"}', 'result: {"id": "K-4471"}')
    assert origin("K-4471", *lines) == ("result", "K-4471")
    assert origin("K-4471", "user: It is K-4471.", *lines[1:]) == ("user", "K-4471")
    assert origin("K-4471", *lines[:2]) is None


def test_a_result_of_the_same_turn_or_a_later_one_gave_nothing() -> None:
    _, flow = flow_of("user: Go.", 'call: one {"x": "K-4471"}', 'result: {"id": "K-4471"}', "say: x")
    assert flow.flows[0].origins == ()


def test_json_in_a_result_is_told_by_its_pointer() -> None:
    answer = json.dumps({"rows": [{"a/b": 1}, {"a/b": {"id": "K-4471"}}], "n": 2}, indent=1)
    _, flow = flow_of("user: Go.", 'call: find {"q": "all"}', f"result: {answer}", 'call: get {"key": "K-4471"}')
    (value_origin,) = flow.of(2)[0].origins
    assert (value_origin.kind, value_origin.step, value_origin.pointer) == (OriginKind.RESULT, 1, "/rows/1/a~1b/id")
    assert flow.critical_path == (1, 2)


def test_a_command_is_traced_by_the_names_within_it() -> None:
    _, flow = flow_of(
        "user: Count the lines of src/app.py.",
        'call: bash {"command": "ls"}',
        "result: notes-7.txt src",
        'call: bash {"command": "wc -l src/app.py notes-7.txt"}',
    )
    assert [
        (value_origin.text, value_origin.kind.value, value_origin.step) for value_origin in flow.of(2)[0].origins
    ] == [
        ("src/app.py", "user", 0),
        ("notes-7.txt", "result", 1),
    ]


def test_what_was_only_an_argument_before_comes_from_there() -> None:
    _, flow = flow_of("user: Go.", 'call: a {"x": "Bergen"}', "result: ok", 'call: b {"y": "Bergen"}', "result: ok")
    (value_origin,) = flow.of(2)[0].origins
    assert (value_origin.kind, value_origin.step) == (OriginKind.ARGUMENT, 1)
    assert flow.critical_path == ()


@in_the_gate(20, most=300)
@given(st.lists(st.lists(st.integers(0, 11), max_size=3), min_size=1, max_size=12))
def test_a_known_graph_comes_back_with_exactly_its_edges(wanted: list[list[int]]) -> None:
    """Step n hands out the key of n, and uses keys of some earlier steps: those and no others are its edges."""
    uses = [
        sorted({number % step_number for number in numbers}) if step_number else []
        for step_number, numbers in enumerate(wanted)
    ]
    lines = ["user: Begin, please."]
    for step_number, used in enumerate(uses):
        lines.append(
            f"call: tool{step_number} " + json.dumps({"given": [f"key-{7000 + key}" for key in used], "flag": True})
        )
        lines.append("result: " + json.dumps({"made": {"id": f"key-{7000 + step_number}"}, "count": step_number}))
    chain = inspect_trace(trace_of(*lines, "say: Done.")).chain
    assert [list(step.depends_on) for step in chain.steps] == [[key + 1 for key in used] for used in uses]
    path = trace_values(trace_of(*lines), chain.steps).critical_path
    assert all(before in chain.steps[after - 1].depends_on for before, after in pairwise(path))
    assert len(path) == _longest(uses)


def _longest(uses: list[list[int]]) -> int:
    lengths: list[int] = []
    for used in uses:
        lengths.append(1 + max((lengths[step] for step in used), default=0))
    return max(lengths) if max(lengths) > 1 else 0


_WORDS = st.sampled_from(("Oslo", "new york", "1250", "key-7001", "a", "2024-05-01", "north, south"))


@in_the_gate(20, most=300)
@given(st.lists(st.tuples(st.sampled_from(("user", "call", "also", "result")), _WORDS, _WORDS), max_size=16))
def test_the_values_of_one_step_come_from_where_they_come_from_among_all(said: list[tuple[str, str, str]]) -> None:
    lines = [
        f"{who}: {'f ' if who in ('call', 'also') else ''}{json.dumps({'one': value, 'other': other})}"
        for who, value, other in [("call", "Oslo", "1250"), *said]
    ]
    trace, flow = flow_of("user: Begin in Oslo.", *lines)
    inspection = inspect_trace(trace)
    in_columns, inspected, _ = counted(trace, inspection)
    for step in inspection.chain.steps:
        assert step_values(trace, inspection.chain.steps, step) == DataFlow(flow.of(step.number))
        assert step_flow_of(in_columns, inspected, step) == DataFlow(data_flow_of(trace, inspection).of(step.number))
        assert step_flow_of(trace, inspection, step, lambda: True) is None


_PIECES = ("ab", "c1", "d", ", ", " ", "_", "/", "\u2192", "\u00e9", "\n")
_APART = st.lists(st.sampled_from(_PIECES), max_size=8).map("".join)


@in_the_gate(50, most=500)
@given(st.lists(st.tuples(st.sampled_from(("user", "call", "also", "result")), _APART, _APART), max_size=12))
def test_values_come_from_the_same_texts_whether_their_places_are_wanted_or_not(
    said: list[tuple[str, str, str]],
) -> None:
    lines = [
        f"{who}: {'f ' if who in ('call', 'also') else ''}{json.dumps({'one': value, 'other': other})}"
        for who, value, other in [("call", "ab", "c1 d"), *said]
    ]
    trace = trace_of("user: ab c1/d", *lines)
    steps = inspect_trace(trace).chain.steps
    with_places, without = (
        [
            (flow.step, flow.pointer, [(origin.kind, origin.location.turn, origin.step) for origin in flow.origins])
            for flow in trace_values(trace, steps, has_places=has_places).flows
        ]
        for has_places in (True, False)
    )
    assert with_places == without


@in_the_gate(20, most=300)
@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists, max_leaves=20))
def test_no_value_makes_it_raise(value: object) -> None:
    text = json.dumps({"value": value})
    _, flow = flow_of(f"user: {text}", f"call: f {text}", f"result: {text}", f"call: f {text}")
    assert {argument.step for argument in flow.flows} <= {1, 2}
