"""The break in one sentence: which call, what went wrong with it, and what did not happen afterwards."""

from collections.abc import Mapping, Sequence

from inspector.chain.call_faults import CallFaults
from inspector.chain.endings import cut_words
from inspector.chain.excerpt import quoted, tool_named
from inspector.chain.reaction import Aftermath
from inspector.chain.retries import run_lengths
from inspector.chain.steps import Break, Certainty, Reaction, Step, StepOutcome
from inspector.diagnostics import Diagnostic
from inspector.model import Role, Trace
from inspector.rules.conversation import CALL_WITHOUT_RESULT, ERROR_RESULT, UNKNOWN_TOOL
from inspector.rules.json_syntax import MALFORMED_JSON
from inspector.rules.schema import CONSTRAINT_VIOLATED

_PREFIX = {StepOutcome.UNKNOWN_TOOL: UNKNOWN_TOOL.code, StepOutcome.INVALID: "S2"}
OUTCOME_RULES = {
    StepOutcome.MALFORMED: MALFORMED_JSON,
    StepOutcome.UNKNOWN_TOOL: UNKNOWN_TOOL,
    StepOutcome.INVALID: CONSTRAINT_VIOLATED,
    StepOutcome.ERROR_RESULT: ERROR_RESULT,
    StepOutcome.UNANSWERED: CALL_WITHOUT_RESULT,
}
"""The rule that a failed step breaks by its outcome, where no diagnostic on its call names a more exact one."""


def broken_step(steps: Sequence[Step]) -> Step | None:
    """The first failed step that nothing made good; an error that only its words tell yields to a surer one."""
    lost = [step for step in steps if step.outcome.failed and step.recovery is None]
    sure = (step for step in lost if step.certainty is not Certainty.TEXTUAL)
    return next(sure, lost[0] if lost else None)


def verdict(step: Step, steps: Sequence[Step], trace: Trace, faults: CallFaults, aftermath: Aftermath) -> Break:
    """The break at `step`."""
    cause = _cause(step, faults)
    reaction = aftermath.reaction(step)
    said = _said(step, run_lengths(steps), trace, cause)
    invented = aftermath.invented_as_written(step) if reaction is Reaction.CONCEALED else None
    if invented is not None:
        said = f"{said.removesuffix('.')}; the agent went on with {quoted(invented)}, which was not found earlier."
    return Break(
        step.number,
        step.location.turn,
        step.call.name,
        step.outcome,
        (cause.rule if cause else OUTCOME_RULES[step.outcome]).code,
        said,
        reaction,
    )


def _cause(step: Step, faults: CallFaults) -> Diagnostic | None:
    """The diagnostic that says why a call failed; None where its result, or the lack of one, says it."""
    if step.outcome is StepOutcome.MALFORMED:
        return faults.cause_of_malformed(step.location)
    prefix = _PREFIX.get(step.outcome)
    return faults.cause(step.location, prefix) if prefix is not None else None


def _said(step: Step, runs: Mapping[int, int], trace: Trace, cause: Diagnostic | None) -> str:
    tool = tool_named(step.call.name)
    if step.outcome is StepOutcome.ERROR_RESULT:
        times = runs.get(step.number, 1)
        if times > 1:
            again = "once more" if times == 2 else f"{times - 1} times more"
            return f"{tool} answered with an error{_error_of(step)}; the same call was made {again}, to no avail."
        return f"{tool} answered with an error{_error_of(step)}, and no later call did its work."
    if step.outcome is StepOutcome.UNANSWERED:
        return f"{tool} never got a result, and the conversation went on without it."
    cut = cut_words(trace) if _is_last(step, trace) and cause is not None and _is_cut(cause) else None
    if cut is not None:
        return f"The call of {tool} was never complete: {cut} in the middle of it."
    what = {StepOutcome.UNKNOWN_TOOL: "names no tool that was offered", StepOutcome.INVALID: "breaks the tool's schema"}
    unread = "is not valid as written" if step.call.recovered else "could not be read"
    kind = what.get(step.outcome, unread)
    reason = f" ({cause.rule.name}): {_continued(cause.fault.message)}" if cause else "."
    return f"The call of {tool} {kind}{reason}"


def _is_cut(cause: Diagnostic) -> bool:
    return cause.rule.name in ("unterminated-span", "truncated-json")


def _is_last(step: Step, trace: Trace) -> bool:
    return not any(turn.role is Role.ASSISTANT for turn in trace.turns[step.location.turn :])


def _error_of(step: Step) -> str:
    return f" ({quoted(step.error)})" if step.error else ""


def _continued(sentence: str) -> str:
    """A sentence as it goes on after a colon."""
    first = sentence.split(" ", 1)[0]
    return sentence[:1].lower() + sentence[1:] if first.istitle() or first == "A" else sentence
