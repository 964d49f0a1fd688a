"""The chain of a trace: what became of each step, which one broke it, and the trace's status."""

from collections.abc import Iterator, Sequence

import msgspec

from inspector.chain.pairing import Pairing, PlacedCall, PlacedResult
from inspector.chain.steps import Break, Certainty, Chain, Status, Step, StepOutcome
from inspector.diagnostics import Diagnostic, Fault
from inspector.model import ErrorPhase, FinishReason, ToolResult, Trace
from inspector.rules import conversation as rules
from inspector.rules.rule import Severity

_ABORT_REASONS = {
    ErrorPhase.CONNECT: "connection",
    ErrorPhase.HTTP: "upstream",
    ErrorPhase.IN_STREAM: "upstream",
    ErrorPhase.TRANSPORT: "connection",
    ErrorPhase.CLIENT_ABORT: "client",
}


def analyse(trace: Trace, pairing: Pairing, diagnostics: Sequence[Diagnostic]) -> Chain:
    """The chain of `trace`; `diagnostics` are those found in its parts, which tell why a call is broken."""
    steps = tuple(
        _step(number, call, result, len(trace.turns)) for number, (call, result) in enumerate(pairing.pairs, 1)
    )
    failed = [step for step in steps if step.outcome.failed]
    lost = next((step for step in failed if not _is_recovered(step, steps)), None)
    reason = abort_reason(trace)
    if lost is not None:
        return Chain(steps, Status.BROKEN, _break(lost, diagnostics))
    if reason is not None:
        return Chain(steps, Status.ABORTED, abort_reason=reason)
    return Chain(steps, Status.RECOVERED if failed else Status.OK)


def pairing_diagnostics(pairing: Pairing, turns: int) -> Iterator[Diagnostic]:
    """Results without a call, and calls that never got a result although the conversation went on."""
    for orphan in pairing.orphans:
        named = f" for call `{orphan.result.call_id}`" if orphan.result.call_id else ""
        message = f"This result{named} answers no open call."
        fault = Fault(rules.RESULT_WITHOUT_CALL, orphan.location.range, message)
        yield fault.at(orphan.location.turn, orphan.location.part)
    for call, result in pairing.pairs:
        if result is None and call.location.turn < turns:
            named = f"`{call.call.name}`" if call.call.name else "a tool without a readable name"
            message = f"The call of {named} got no result, and the conversation went on."
            fault = Fault(rules.CALL_WITHOUT_RESULT, call.location.range, message)
            yield fault.at(call.location.turn, call.location.part)


def abort_reason(trace: Trace) -> str | None:
    """Why the trace's last generation ended before its time; None where it did not."""
    last = next((turn.generation for turn in reversed(trace.turns) if turn.generation is not None), None)
    if last is None:
        return None
    if last.error is not None:
        return _ABORT_REASONS[last.error.phase]
    return {FinishReason.LENGTH: "length", FinishReason.FILTER: "filter", FinishReason.ERROR: "upstream"}.get(
        last.finish or FinishReason.STOP
    )


def _step(number: int, placed: PlacedCall, answer: PlacedResult | None, turns: int) -> Step:
    certainty = _error_certainty(answer.result) if answer else None
    if not placed.call.valid:
        outcome = StepOutcome.MALFORMED
    elif certainty is not None:
        outcome = StepOutcome.ERROR_RESULT
    elif answer is None:
        outcome = StepOutcome.UNANSWERED if placed.location.turn < turns else StepOutcome.PENDING
    else:
        outcome = StepOutcome.OK
    return Step(
        number,
        placed.call,
        placed.location,
        outcome,
        answer.result if answer else None,
        answer.location if answer else None,
        certainty if outcome is StepOutcome.ERROR_RESULT else None,
    )


class _ErrorObject(msgspec.Struct):
    error: msgspec.Raw = msgspec.Raw(b"null")
    content: msgspec.Raw = msgspec.Raw(b"null")
    exit_code: msgspec.Raw = msgspec.Raw(b"null")
    isError: msgspec.Raw = msgspec.Raw(b"null")  # noqa: N815  # spelled so in the Model Context Protocol


_ERROR_OBJECTS = msgspec.json.Decoder(_ErrorObject)
_NO_ERROR = frozenset({b"null", b"false", b'""', b"0", b"{}", b"[]"})


def _error_certainty(result: ToolResult) -> Certainty | None:
    """How sure it is that a result is an error; None where nothing says so."""
    if result.is_error:
        return Certainty.FLAGGED
    text: str | bytes = result.content
    for _ in range(2):
        try:
            found = _ERROR_OBJECTS.decode(text)
        except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
            return None
        if bytes(found.isError) == b"true":
            return Certainty.FLAGGED
        if bytes(found.error) not in _NO_ERROR or bytes(found.exit_code) not in _NO_ERROR:
            return Certainty.STRUCTURED
        text = bytes(found.content)
    return None


def _is_recovered(step: Step, steps: Sequence[Step]) -> bool:
    """Whether a later step of the same tool did what this one failed to do; repeating the identical call is none."""
    return any(
        later.outcome is StepOutcome.OK
        and step.call.name in (None, later.call.name)
        and (later.call.raw_arguments != step.call.raw_arguments or not step.call.valid)
        for later in steps[step.number :]
    )


def _break(step: Step, diagnostics: Sequence[Diagnostic]) -> Break:
    tool = step.call.name
    cause = _cause(step, diagnostics)
    named = f"`{tool}`" if tool else "a call without a readable name"
    if cause is not None:
        said = f"{named} is {cause.rule.name}: {cause.fault.message}"
    elif step.outcome is StepOutcome.ERROR_RESULT:
        said = f"{named} answered with an error, and no later call did its work."
    else:
        said = f"{named} never got a result, and the conversation went on without it."
    return Break(step.number, step.location.turn, tool, step.outcome, cause.rule.code if cause else None, said)


def _cause(step: Step, diagnostics: Sequence[Diagnostic]) -> Diagnostic | None:
    """The first error within the call, else the first that touches it."""
    if step.outcome not in (StepOutcome.MALFORMED, StepOutcome.INVALID, StepOutcome.UNKNOWN_TOOL):
        return None
    place = step.location
    near = (
        diagnostic
        for diagnostic in diagnostics
        if diagnostic.rule.severity is Severity.ERROR
        and (diagnostic.location.turn, diagnostic.location.part) == (place.turn, place.part)
        and diagnostic.range.start <= place.range.end
        and diagnostic.range.end >= place.range.start
    )
    return next(near, None)
