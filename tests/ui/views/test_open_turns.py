"""A running trace goes on with its open turns, and with the last ones that its recorder has not inspected yet."""

from msgspec.structs import replace

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
    assert [diagnostic.location.turn for diagnostic in inspection.diagnostics if diagnostic.rule.code == "J104"] == [
        2,
        3,
    ]


def test_of_a_long_trace_whose_inspection_lags_the_last_turns_are_read_each_by_itself() -> None:
    asked = Turn(Role.USER, (Part("text", "Go."),))
    answered = Turn(Role.ASSISTANT, (Part("text", _CALL),), generation=Generation())
    trace = Trace((asked, answered) * 300, format="hermes")
    known = inspect_trace(replace(trace, turns=trace.turns[:100]))
    begun = {2: answered, 601: answered}  # the second has ended since
    longer, inspection = continued(trace, known, begun)
    assert longer.turns == (*trace.turns, answered)
    late = range(401, 602)
    assert [part.turn for part in inspection.parts] == [*range(1, 101), *late]
    assert inspection.parts[:100] == known.parts
    assert {len(part.calls) for part in inspection.parts[100:]} == {0, 1}
    wrong = [diagnostic.location.turn for diagnostic in inspection.diagnostics if diagnostic.rule.code == "J104"]
    assert wrong == [*range(2, 101, 2), *range(402, 601, 2), 601]
    assert inspection.chain == known.chain


def test_a_short_trace_is_inspected_already() -> None:
    trace, _ = _running()
    inspection = inspect_trace(replace(trace, turns=trace.turns[:1]))
    assert continued(trace, inspection, {}) == (trace, inspection)
