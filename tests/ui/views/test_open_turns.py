"""A running trace goes on with its open turns, whether what was read of it is there or made where somebody looks."""

from msgspec.structs import replace

from tests.counted_columns import counted
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Generation, Part, Role, Trace, Turn
from weaklink.ui.views.turn import continued

_CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1,}}\n</tool_call>'


def _running() -> tuple[Trace, dict[int, Turn]]:
    ended = Turn(Role.USER, (Part("text", "Go."),)), Turn(Role.ASSISTANT, (Part("text", _CALL),))
    return Trace(ended, format="hermes"), {3: Turn(Role.ASSISTANT, (Part("text", f"Well. {_CALL} And"),))}


def test_the_open_turns_follow_those_that_have_ended() -> None:
    trace, begun = _running()
    longer, inspection = continued(trace, inspect_trace(trace), begun)
    assert longer.turns == (*trace.turns, begun[3])
    assert [part.turn for part in inspection.parts] == [1, 2, 3]
    assert [one.location.turn for one in inspection.diagnostics if one.rule.code == "J104"] == [2, 3]


def test_a_wide_trace_is_continued_without_a_look_at_all_of_it() -> None:
    trace, begun = _running()
    longer, inspection = continued(trace, inspect_trace(trace), begun)
    in_columns, found, looks = counted(trace, inspect_trace(trace))
    wider, inspected = continued(in_columns, found, begun)
    assert looks.count <= len(trace.turns) + 1
    assert (wider.turns, inspected.parts) == (longer.turns, inspection.parts)
    assert inspected.diagnostics == inspection.diagnostics
    assert [wider.turns[at] for at in (-1, 0)] == [begun[3], trace.turns[0]]


def test_of_a_wide_trace_whose_inspection_lags_the_last_turns_are_read_each_by_itself() -> None:
    asked = Turn(Role.USER, (Part("text", "Go."),))
    answered = Turn(Role.ASSISTANT, (Part("text", _CALL),), generation=Generation())
    trace = Trace((asked, answered) * 300, format="hermes")
    known = inspect_trace(replace(trace, turns=trace.turns[:100]))
    in_columns, found, looks = counted(trace, known)
    begun = {2: answered, 601: answered}  # the second has ended since
    longer, inspection = continued(in_columns, found, begun)
    assert looks.count < 210
    assert longer.turns == (*trace.turns, answered)
    late = range(401, 602)
    assert [part.turn for part in inspection.parts] == [*range(1, 101), *late]
    assert inspection.parts[:100] == known.parts
    assert {len(part.calls) for part in inspection.parts[100:]} == {0, 1}
    wrong = [one.location.turn for one in inspection.diagnostics if one.rule.code == "J104"]
    assert wrong == [*range(2, 101, 2), *range(402, 601, 2), 601]
    assert inspection.chain == known.chain


def test_what_is_there_at_once_is_inspected_already() -> None:
    trace, _ = _running()
    inspection = inspect_trace(replace(trace, turns=trace.turns[:1]))
    assert continued(trace, inspection, {}) == (trace, inspection)
