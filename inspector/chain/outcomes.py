"""What became of each call: its outcome, the first that holds, and the certainty of an error."""

from collections.abc import Iterator, Sequence

from inspector.chain.call_faults import CallFaults
from inspector.chain.error_patterns import ErrorPatterns
from inspector.chain.error_results import ErrorFound, find_error
from inspector.chain.pairing import Pairing, PlacedCall
from inspector.chain.quiet_commands import finds_nothing, is_text_read
from inspector.chain.steps import Certainty, Step, StepOutcome
from inspector.chain.terminal_tools import is_terminal
from inspector.model import Role, ToolCall, ToolResult, Trace

_UNKNOWN_TOOL = "T401"
_SCHEMA = "S2"
_NO_PATTERNS = ErrorPatterns()


def steps_of(
    pairing: Pairing, faults: CallFaults, went_on_after: int, patterns: ErrorPatterns = _NO_PATTERNS
) -> Iterator[Step]:
    """The steps of a trace, not yet linked with each other.

    `went_on_after` is the last turn that is no result; `patterns` are the user's own signs of an error.
    """
    for number, (placed, answer) in enumerate(pairing.pairs, 1):
        found = _error(placed.call, answer.result, patterns) if answer is not None else None
        codes = [fault.rule.code for fault in faults.on(placed.location)]
        outcome = _outcome(placed, codes, found, is_answered=answer is not None, went_on_after=went_on_after)
        yield Step(
            number,
            placed.call,
            placed.location,
            outcome,
            answer.result if answer else None,
            answer.location if answer else None,
            found.certainty if found and outcome is StepOutcome.ERROR_RESULT else None,
            error=found.words if found else None,
        )


def last_words(trace: Trace) -> int:
    """The number of the last turn that is no result, 0 where there is none: a call before it was passed over."""
    return next((number for number in range(len(trace.turns), 0, -1) if _speaks(trace, number)), 0)


def _speaks(trace: Trace, number: int) -> bool:
    return trace.turns[number - 1].role is not Role.TOOL


def _outcome(
    placed: PlacedCall, codes: Sequence[str], found: ErrorFound | None, *, is_answered: bool, went_on_after: int
) -> StepOutcome:
    if not placed.call.valid:
        return StepOutcome.MALFORMED
    if _UNKNOWN_TOOL in codes:
        return StepOutcome.UNKNOWN_TOOL
    if any(code.startswith(_SCHEMA) for code in codes):
        return StepOutcome.INVALID
    if found is not None:
        return StepOutcome.ERROR_RESULT
    if is_answered or is_terminal(placed.call.name):
        return StepOutcome.OK
    return StepOutcome.UNANSWERED if placed.location.turn < went_on_after else StepOutcome.PENDING


def _error(call: ToolCall, result: ToolResult, patterns: ErrorPatterns) -> ErrorFound | None:
    """What makes a result an error, unless it is what the call was made for."""
    found = find_error(result)
    if found is not None and (found.certainty is Certainty.FLAGGED or not _is_wanted(call, result, found)):
        return found
    line = patterns.line_in(result.content)
    return None if line is None else ErrorFound(Certainty.TEXTUAL, line)


def _is_wanted(call: ToolCall, result: ToolResult, found: ErrorFound) -> bool:
    if finds_nothing(call, found.exit_code):
        return True
    return found.certainty is Certainty.TEXTUAL and is_text_read(call, result, found.words)
