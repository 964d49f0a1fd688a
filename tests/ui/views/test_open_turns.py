"""A running trace goes on with its open turns, whether what was read of it is there or made where somebody looks."""

from inspector.inspection import inspect_trace
from inspector.model import Part, Role, Trace, Turn
from tests.counted_columns import counted
from ui.views.open_turns import continued

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
    assert looks.count <= len(trace.turns)
    assert (wider.turns, inspected.parts) == (longer.turns, inspection.parts)
    assert inspected.diagnostics == inspection.diagnostics
    assert [wider.turns[at] for at in (-1, 0)] == [begun[3], trace.turns[0]]
