"""Two traces of one session are one: what the second source has of each run is beside the first's result."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.chain.building import trace_of
from weaklink.inspector.chain.joining import JOINED, NotOneSessionError, join_traces, without_joined
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import ExternalId, Generation, RecordedRun, Role, Trace, Turn

_RESULT = "4 degrees and light rain until the evening"


def session(
    city: str = "Oslo", result: str = _RESULT, ids: tuple[str, str] = ("call_first_1", "call_second_2")
) -> Trace:
    return trace_of(
        "user: Weather?",
        f'call {ids[0]}: weather {{"city": "{city}"}}',
        f"result {ids[0]}: {result}",
        f'call {ids[1]}: weather {{"city": "Rome"}}',
        f"result {ids[1]}: 20 degrees",
        "say: 4 degrees.",
    )


def codes(trace: Trace) -> list[str]:
    return [diagnostic.rule.code for diagnostic in inspect_trace(trace).diagnostics if diagnostic.rule.layer]


def test_the_runs_of_the_second_stand_beside_the_results_of_the_first() -> None:
    other = session()
    turns = list(other.turns)
    turns[2] = replace(turns[2], run=RecordedRun("otlp", "weather", "call_first_1", '{"city": "Bergen"}', _RESULT))
    joined = join_traces(session(), replace(other, turns=tuple(turns)))
    run = joined.trace.turns[2].run
    assert run is not None
    assert (joined.runs, joined.left_out, run.source) == (2, 0, f"{JOINED}otlp")
    assert codes(joined.trace) == ["L805"]


def test_another_version_of_a_call_or_a_result_is_a_difference_between_layers() -> None:
    assert codes(join_traces(session(), session(city="Bergen")).trace) == ["L805"]
    assert codes(join_traces(session(), session(result=f"{_RESULT}, then much snow")).trace)[-1] in ("L808", "L809")


def test_the_same_session_twice_has_no_difference() -> None:
    joined = join_traces(session(), session())
    assert (joined.runs, codes(joined.trace)) == (2, [])


def test_traces_that_share_no_id_are_refused() -> None:
    with pytest.raises(NotOneSessionError, match="they share no session"):
        join_traces(session(), session(ids=("other_first", "other_second")))
    with pytest.raises(NotOneSessionError, match="they share no session"):
        join_traces(session(ids=("call_1", "call_2")), session(ids=("call_1", "call_2")))


def test_traces_with_one_response_are_joined_though_sessions_and_calls_have_other_ids() -> None:
    def answered(response_id: str, *ids: str) -> Trace:
        trace = session(ids=(ids[0], ids[1])) if ids else session()
        return replace(trace, turns=tuple(_with_response(turn, response_id) for turn in trace.turns))

    other = answered("chatcmpl-77", "other_first", "other_second")
    joined = join_traces(answered("chatcmpl-77"), other)
    assert (joined.shared, joined.runs, codes(joined.trace)) == ("chatcmpl-77", 2, [])
    assert without_joined(joined.trace) == answered("chatcmpl-77")
    for ids in (("chatcmpl-77", "chatcmpl-78"), ("c1", "c1"), ("", "")):
        with pytest.raises(NotOneSessionError, match="they share no session"):
            join_traces(answered(ids[0]), answered(ids[1], "other_first", "other_second"))


def _with_response(turn: Turn, response_id: str) -> Turn:
    if turn.role is not Role.ASSISTANT:
        return turn
    return replace(turn, generation=replace(turn.generation or Generation(), response_id=response_id))


def test_calls_without_ids_are_aligned_by_their_arguments_where_the_session_has_one_id() -> None:
    ids = (ExternalId("session", "one-session"),)
    first = replace(session(), external_ids=ids)
    other = replace(session(city="Bergen", ids=("x", "y")), external_ids=ids)
    anonymous = tuple(
        replace(
            turn,
            calls=tuple(replace(call, id=None) for call in turn.calls),
            result=replace(turn.result, call_id=None) if turn.result is not None else None,
        )
        for turn in other.turns
    )
    joined = join_traces(first, replace(other, turns=anonymous))
    runs = [turn.run.arguments for turn in joined.trace.turns if turn.run is not None]
    assert runs == ['{"city": "Bergen"}', '{"city": "Rome"}']


@given(cities=st.lists(st.sampled_from(["Oslo", "Rome", "Lima"]), max_size=5), swapped=st.booleans())
def test_joining_changes_no_text_and_can_be_undone(cities: list[str], swapped: bool) -> None:
    def made(result: str) -> Trace:
        lines = ["user: Weather?"]
        for number, city in enumerate(cities):
            lines += [
                f'call call_number_{number}: weather {{"city": "{city}"}}',
                f"result call_number_{number}: {result}",
            ]
        return replace(trace_of(*lines), external_ids=(ExternalId("session", "one"),))

    first, other = made(_RESULT), made("sun" if swapped else _RESULT)
    joined = join_traces(first, other)
    assert joined.runs == len(cities)
    assert bool(codes(joined.trace)) == (swapped and bool(cities))
    assert [turn.parts for turn in joined.trace.turns] == [turn.parts for turn in first.turns]
    assert without_joined(joined.trace) == first
    assert without_joined(first) is first
