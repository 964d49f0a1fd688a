"""What became of each call: its outcome, the first that holds, and the certainty of an error."""

from collections.abc import Iterator, Sequence

from inspector.chain.call_faults import CallFaults
from inspector.chain.error_results import ErrorFound, find_error
from inspector.chain.pairing import Pairing, PlacedCall, PlacedResult
from inspector.chain.quiet_commands import finds_nothing, is_text_read
from inspector.chain.steps import Certainty, Step, StepOutcome
from inspector.chain.terminal_tools import is_terminal
from inspector.diagnostics import Diagnostic
from inspector.model import Role, ToolCall, ToolResult, Trace

_UNKNOWN_TOOL = "T401"
_SCHEMA = "S2"


def steps_of(pairing: Pairing, faults: CallFaults, went_on_after: int) -> Iterator[Step]:
    """The steps of a trace, not yet linked with each other. `went_on_after` is the last turn that is no result."""
    for number, (placed, answer) in enumerate(pairing.pairs, 1):
        yield _step(number, placed, answer, faults.on(placed.location), went_on_after)


def last_words(trace: Trace) -> int:
    """The number of the last turn that is no result, 0 where there is none: a call before it was passed over."""
    return next((number for number in range(len(trace.turns), 0, -1) if _speaks(trace, number)), 0)


def _speaks(trace: Trace, number: int) -> bool:
    return trace.turns[number - 1].role is not Role.TOOL


def _step(
    number: int, placed: PlacedCall, answer: PlacedResult | None, faults: Sequence[Diagnostic], went_on_after: int
) -> Step:
    found = _error(placed.call, answer.result) if answer is not None else None
    codes = [fault.rule.code for fault in faults]
    if not placed.call.valid:
        outcome = StepOutcome.MALFORMED
    elif _UNKNOWN_TOOL in codes:
        outcome = StepOutcome.UNKNOWN_TOOL
    elif any(code.startswith(_SCHEMA) for code in codes):
        outcome = StepOutcome.INVALID
    elif found is not None:
        outcome = StepOutcome.ERROR_RESULT
    elif answer is not None or is_terminal(placed.call.name):
        outcome = StepOutcome.OK
    else:
        outcome = StepOutcome.UNANSWERED if placed.location.turn < went_on_after else StepOutcome.PENDING
    return Step(
        number,
        placed.call,
        placed.location,
        outcome,
        answer.result if answer else None,
        answer.location if answer else None,
        found.certainty if found and outcome is StepOutcome.ERROR_RESULT else None,
    )


def _error(call: ToolCall, result: ToolResult) -> ErrorFound | None:
    """What makes a result an error, unless it is what the call was made for."""
    found = find_error(result)
    if found is None or found.certainty is Certainty.FLAGGED:
        return found
    if finds_nothing(call, found.exit_code):
        return None
    return None if found.certainty is Certainty.TEXTUAL and is_text_read(call, result, found.words) else found
