"""The chain of a trace: what became of each step, which one broke it, and the trace's status."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inspector.chain.call_faults import CallFaults
from inspector.chain.consequences import caused_by
from inspector.chain.data_flow import DataFlow, trace_values, with_dependencies
from inspector.chain.endings import abort_reason, keeps_last_answer
from inspector.chain.error_patterns import ErrorPatterns
from inspector.chain.outcomes import last_words, steps_of
from inspector.chain.pairing import Pairing
from inspector.chain.reaction import Aftermath
from inspector.chain.recovery import with_recoveries
from inspector.chain.retries import link_retries
from inspector.chain.speech import Speech
from inspector.chain.steps import Chain, Reaction, Status, Step
from inspector.chain.verdict import broken_step, verdict
from inspector.diagnostics import Diagnostic, Location
from inspector.model import Trace


@dataclass(frozen=True, slots=True)
class Analysis:
    """The chain of a trace, where the values of its calls came from, and the place of a value made up at its break."""

    chain: Chain
    flow: DataFlow
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
    """The chain and the data flow of `trace`, in time linear in it but for a logarithm.

    `diagnostics` are those found in its parts, which tell why a call is broken; `speeches` what the agent said in
    words, in order, by which it is judged whether it owned up to a failure; `error_patterns` the user's own signs of a
    failed result, `definitions` the places that define tools. Raises InvalidPatternError for one of the patterns that
    is none.
    """
    faults = CallFaults(diagnostics)
    linked = tuple(link_retries(steps_of(pairing, faults, last_words(trace), ErrorPatterns(error_patterns))))
    flow = trace_values(trace, linked, definitions)
    linked = with_dependencies(linked, flow)
    aftermath = Aftermath(trace, linked, speeches)
    chain = _judged(trace, with_recoveries(linked, aftermath, pairing.attempts), faults, aftermath)
    broken = chain.broken
    if broken is None or broken.reaction is not Reaction.CONCEALED:
        return Analysis(chain, flow)
    return Analysis(chain, flow, aftermath.place_of_invented(chain.steps[broken.step - 1]))


def _judged(trace: Trace, steps: tuple[Step, ...], faults: CallFaults, aftermath: Aftermath) -> Chain:
    lost = broken_step(steps)
    if lost is not None:
        broken = verdict(lost, steps, trace, faults, aftermath)
        invented = aftermath.invented(lost) if broken.reaction is Reaction.CONCEALED else None
        return Chain(steps, Status.BROKEN, broken, caused=caused_by(lost, steps, invented))
    reason = abort_reason(trace)
    if reason is not None:
        return Chain(steps, Status.ABORTED, abort_reason=reason)
    if any(step.outcome.failed for step in steps):
        return Chain(steps, Status.RECOVERED)
    return Chain(steps, Status.OK if keeps_last_answer(trace) else Status.UNKNOWN)
