"""Analyses a trace's chain: its steps' outcomes, the step that broke it, the status, the verdict in a sentence."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType

from msgspec import Struct, structs

from weaklink.inspector.chain.background_runs import with_judgements, with_originals
from weaklink.inspector.chain.data_flow import DataFlow, trace_values, with_dependencies
from weaklink.inspector.chain.endings import (
    abort_reason,
    keeps_last_answer,
    lacks_last_answer,
    stopped_by_user,
    truncation_clause,
)
from weaklink.inspector.chain.known_paths import KnownPaths
from weaklink.inspector.chain.outcomes import ErrorPatterns, as_read, goes_on_after, steps_of
from weaklink.inspector.chain.pairing import Pairing
from weaklink.inspector.chain.recovery import RecoveryAnalysis, caused_by, with_recoveries
from weaklink.inspector.chain.session_facts import changes
from weaklink.inspector.chain.similar_calls import link_retries, run_lengths
from weaklink.inspector.chain.steps import (
    OUTCOME_RULES,
    Break,
    CallFaults,
    Certainty,
    Chain,
    Reaction,
    ResultKind,
    Said,
    Speech,
    Status,
    Step,
    StepOutcome,
    VerdictCertainty,
    quoted,
    tool_named,
)
from weaklink.inspector.chain.verdict_rules import VerdictRule
from weaklink.inspector.chain.wanted_results import with_wanted_results
from weaklink.inspector.diagnostics import Diagnostic, Location
from weaklink.inspector.model import Role, Trace
from weaklink.inspector.rules.conversation import UNKNOWN_TOOL
from weaklink.inspector.rules.json_syntax import TRUNCATED_JSON
from weaklink.inspector.rules.layers import CALL_LOST_BY_SERVER
from weaklink.inspector.rules.markers import UNTERMINATED_SPAN

_REACTIONS = MappingProxyType(
    {Said.REPORTED: Reaction.REPORTED, Said.SILENT: Reaction.IGNORED, Said.CONCEALED: Reaction.CONCEALED}
)
_PREFIX = {StepOutcome.UNKNOWN_TOOL: UNKNOWN_TOOL.code, StepOutcome.INVALID: "S2"}


class Analysis(Struct, frozen=True):
    """The chain of a trace, the origins of its calls' values, and the location of a value made up at its break.

    `flow` is computed at its first call: most traces of a single call need none.
    """

    chain: Chain
    flow: Callable[[], DataFlow]
    invented_at: Location | None = None


def analyse(
    trace: Trace,
    pairing: Pairing,
    diagnostics: Sequence[Diagnostic],
    speeches: Sequence[Speech] = (),
    *,
    error_patterns: Iterable[str] = (),
    definitions: Iterable[Location] = (),
) -> Analysis:
    """The chain and the data flow of `trace`, each in n log n time.

    `diagnostics` are those found in its parts, which explain why a call is broken; `speeches` the agent's texts, in
    order, which show whether it admitted a failure; `error_patterns` the user's own patterns of failed results;
    `definitions` the locations of tool definitions. Raises InvalidPatternError for an invalid pattern.
    """
    faults = CallFaults(diagnostics)
    patterns, paths = ErrorPatterns(error_patterns), KnownPaths(lambda: others_texts(trace))
    linked = tuple(link_retries(with_wanted_results(trace, steps_of(trace, pairing, faults, patterns, paths))))
    called = linked  # before they get their dependencies

    @cache
    def flow() -> DataFlow:
        return trace_values(trace, called, definitions, has_places=False)

    if len({step.location.turn for step in linked}) > 1:  # calls of one turn use no results of each other
        linked = with_dependencies(linked, flow())
    acting = tuple(map(_in_plain_text, with_originals(linked)))
    recovery = RecoveryAnalysis(trace, acting, speeches)
    steps = tuple(with_judgements(linked, with_recoveries(acting, recovery, pairing.attempts)))
    chain = _judged(trace, steps, faults, recovery, speeches)
    broken = chain.broken
    if broken is None or broken.reaction is not Reaction.CONCEALED:
        return Analysis(chain, flow)
    return Analysis(chain, flow, recovery.invented_values.location_of(chain.steps[broken.step - 1]))


def _in_plain_text(step: Step) -> Step:
    if step.result is None:
        return step
    result = as_read(step.result, step.call)
    return step if result is step.result else structs.replace(step, result=result)


def others_texts(trace: Trace) -> Iterator[tuple[int, str]]:
    """The texts that the agent did not write, with their turns."""
    for number, turn in enumerate(trace.turns, 1):
        if turn.role is not Role.ASSISTANT:
            yield from ((number, part.text) for part in turn.parts if part.name == "text")


def _judged(
    trace: Trace, steps: tuple[Step, ...], faults: CallFaults, recovery: RecoveryAnalysis, speeches: Sequence[Speech]
) -> Chain:
    lost = broken_step(steps, lambda step: step.outcome is StepOutcome.UNANSWERED and _cause(step, faults) is None)
    if lost is not None and not _is_cut_off(trace, lost, steps, faults):
        broken = verdict(lost, steps, trace, faults, recovery)
        invented = recovery.invented_values.invented(lost) if broken.reaction is Reaction.CONCEALED else None
        caused = caused_by(lost, steps, invented)
        is_first = lost is next(step for step in steps if _is_lost(step))
        rule = VerdictRule.FIRST_UNREPAIRED if is_first else VerdictRule.SURER_FAILURE
        certainty = _certainty_of_break(lost, steps)
        return Chain(steps, Status.BROKEN, broken, caused=caused, certainty=certainty, rule=rule)
    reason = abort_reason(trace) or stopped_by_user(trace, steps)
    if reason is not None:
        return Chain(steps, Status.ABORTED, abort_reason=reason, rule=VerdictRule.STOPPED_EARLY)
    failed = [step for step in steps if step.outcome.failed and step.recovery is not None]
    if failed:
        certainty = _certainty_of_recoveries(failed)
        return Chain(steps, Status.RECOVERED, certainty=certainty, rule=VerdictRule.ALL_REPAIRED)
    is_known = keeps_last_answer(trace) and not lacks_last_answer(trace, steps, speeches)
    is_unread = any(VerdictRule.UNREAD_LANGUAGE in step.rules for step in steps if is_unfinished(step))
    certainty = VerdictCertainty.LOW if is_unread else VerdictCertainty.HIGH
    return (
        Chain(steps, Status.OK, certainty=certainty)
        if is_known
        else Chain(steps, Status.UNKNOWN, rule=VerdictRule.NO_LAST_ANSWER)
    )


def _certainty_of_break(lost: Step, steps: Sequence[Step]) -> VerdictCertainty:
    """Low if only words say that the step failed, or if the agent went on: it may not have needed it.

    That is, in silence to anything that worked, or to a change after it had told of the failure. Also low if what the
    agent said of it is in a language that is not read.
    """
    later = [step for step in steps[lost.number :] if step.is_good]
    went_on = bool(later) if lost.said is Said.SILENT else lost.said is Said.REPORTED and any(map(changes, later))
    is_low = (
        lost.certainty is Certainty.TEXTUAL
        or (went_on and lost.outcome is StepOutcome.ERROR_RESULT)
        or VerdictRule.UNREAD_LANGUAGE in lost.rules
    )
    return VerdictCertainty.LOW if is_low else VerdictCertainty.HIGH


def _certainty_of_recoveries(failed: Sequence[Step]) -> VerdictCertainty:
    """Low if no later call had the same effect as one of the failed steps."""
    is_sure = all(
        step.recovery is not None and step.recovery.is_sure and VerdictRule.SHOWN_LATER not in step.rules
        for step in failed
    )
    return VerdictCertainty.HIGH if is_sure else VerdictCertainty.LOW


def is_unfinished(step: Step) -> bool:
    """Whether a step is a finding that was never repaired, and that the agent may have reported: work left, no break.

    It may have in a language that is not read; of a fault that the user told of, it need not say that it is there.
    """
    may_be_told = (
        VerdictRule.REPRODUCED in step.rules or step.said is Said.REPORTED or VerdictRule.UNREAD_LANGUAGE in step.rules
    )
    return step.result_kind is ResultKind.FINDING and step.recovery is None and may_be_told


def _is_cut_off(trace: Trace, lost: Step, steps: Sequence[Step], faults: CallFaults) -> bool:
    """Whether a call got no result because the session ended there, with a lost connection or an error of the server.

    The log says what ended it, and no later call got a result. A call that the client itself cut off while the model
    wrote it is no break either: its user, or its own limit of time, ended the session.
    """
    reason = abort_reason(trace)
    if lost.outcome is StepOutcome.MALFORMED:
        is_last = lost is steps[-1] and lost.location.turn == len(trace.turns)
        codes = (fault.rule.code for fault in faults.of(lost.location, trace))
        return reason == "client" and is_last and _ENDS_EARLY.issuperset(codes)
    is_last = lost.outcome is StepOutcome.UNANSWERED and all(step.result is None for step in steps[lost.number :])
    return is_last and lost.said is not Said.CONCEALED and _SERVER_ENDED.issuperset([reason])


_SERVER_ENDED = frozenset(("connection", "upstream"))
_ENDS_EARLY = frozenset((TRUNCATED_JSON.code, UNTERMINATED_SPAN.code))
"""What is wrong with a call whose rest is missing; a client may also leave because it cannot read the call."""


def broken_step(steps: Sequence[Step], lacks_result: Callable[[Step], bool]) -> Step | None:
    """The first failed step without a recovery.

    One that failed only by its result's words, or of which the log has no result, yields to a surer one, unless that is
    of the same tool: then it failed before, too.
    """
    lost = [step for step in steps if _is_lost(step)]
    sure = next((step for step in lost if step.certainty is not Certainty.TEXTUAL and not lacks_result(step)), None)
    return sure if sure is not None and sure.call.name != lost[0].call.name else (lost[0] if lost else None)


def _is_lost(step: Step) -> bool:
    return step.outcome.failed and step.recovery is None and not is_unfinished(step)


def verdict(step: Step, steps: Sequence[Step], trace: Trace, faults: CallFaults, recovery: RecoveryAnalysis) -> Break:
    """The break at `step`."""
    cause = _cause(step, faults)
    reaction = _REACTIONS[step.said] if step.said is not None else None
    message = _break_message(step, run_lengths(steps), trace, cause)
    invented = recovery.invented_values.as_written(step) if reaction is Reaction.CONCEALED else None
    if invented is not None:
        message = (
            f"{message.removesuffix('.')}; the agent continued with {quoted(invented)}, which was not found earlier."
        )
    return Break(
        step.number,
        step.location.turn,
        step.call.name,
        step.outcome,
        (cause.rule if cause else OUTCOME_RULES[step.outcome]).code,
        message,
        reaction,
    )


def _cause(step: Step, faults: CallFaults) -> Diagnostic | None:
    """The diagnostic that explains why a call failed; None if its result, or the lack of one, explains it."""
    if step.outcome is StepOutcome.MALFORMED:
        return faults.cause_of_malformed(step.location)
    if step.outcome is StepOutcome.UNANSWERED:
        lost = faults.cause(step.location, CALL_LOST_BY_SERVER.code)
        if lost is not None and lost.location == step.location:
            return lost
        return faults.cause(step.location, "F") if step.location.part == "text" else None
    prefix = _PREFIX.get(step.outcome)
    return faults.cause(step.location, prefix) if prefix is not None else None


def _break_message(step: Step, runs: Mapping[int, int], trace: Trace, cause: Diagnostic | None) -> str:
    tool = tool_named(step.call.name)
    if step.outcome is StepOutcome.ERROR_RESULT:
        times = runs.get(step.number, 1)
        if times > 1:
            again = "" if times == 2 else f"{times - 1} times "
            return f"{tool} answered with an error{_error_of(step)}; the same call was repeated {again}without success."
        return f"{tool} answered with an error{_error_of(step)}, and no later call did its work."
    if step.outcome is StepOutcome.UNANSWERED:
        if cause is not None:
            return f"{cause.fault.message.removesuffix('.')}, and {tool} never ran."
        if not goes_on_after(trace, step):
            generation = trace.turns[step.location.turn - 1].generation
            is_left = step.location.part == "text" and generation is not None and bool(generation.tools)
            where = ", which the server left in the answer's text" if is_left else ""
            return f"{tool} never got a result: the session ended with this call{where}."
        return f"{tool} never got a result, and the conversation continued without it."
    is_last = all(turn.role is not Role.ASSISTANT for turn in trace.turns[step.location.turn :])
    cut = truncation_clause(trace) if is_last and cause is not None and _is_cut(cause) else None
    if cut is not None:
        return f"The call of {tool} is incomplete: {cut} in the middle of it."
    what = {
        StepOutcome.UNKNOWN_TOOL: "names a tool that was not offered",
        StepOutcome.INVALID: "violates the tool's schema",
    }
    unread = "is not valid as written" if step.call.recovered else "could not be read"
    kind = what.get(step.outcome, unread)
    reason = f" ({cause.rule.name}): {_continued(cause.fault.message)}" if cause else "."
    return f"The call of {tool} {kind}{reason}"


def _is_cut(cause: Diagnostic) -> bool:
    return cause.rule.name in ("unterminated-span", "truncated-json")


def _error_of(step: Step) -> str:
    return f" ({quoted(step.error)})" if step.error else ""


def _continued(sentence: str) -> str:
    """A sentence in the form for use after a colon."""
    first = sentence.split(" ", 1)[0]
    return sentence[:1].lower() + sentence[1:] if first.istitle() or first == "A" else sentence
