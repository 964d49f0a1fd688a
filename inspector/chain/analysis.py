"""The chain of a trace: what became of each step, which one broke it, and the trace's status."""

from collections.abc import Sequence

from inspector.chain.call_faults import CallFaults
from inspector.chain.endings import abort_reason
from inspector.chain.outcomes import last_words, steps_of
from inspector.chain.pairing import Pairing
from inspector.chain.reaction import Aftermath
from inspector.chain.recovery import with_recoveries
from inspector.chain.retries import link_retries
from inspector.chain.speech import Speech
from inspector.chain.steps import Chain, Status
from inspector.chain.verdict import broken_step, verdict
from inspector.diagnostics import Diagnostic
from inspector.model import Trace


def analyse(
    trace: Trace, pairing: Pairing, diagnostics: Sequence[Diagnostic], speeches: Sequence[Speech] = ()
) -> Chain:
    """The chain of `trace`, in time linear in it but for a logarithm.

    `diagnostics` are those found in its parts, which tell why a call is broken; `speeches` what the agent said in
    words, in order, by which it is judged whether it owned up to a failure.
    """
    faults = CallFaults(diagnostics)
    linked = tuple(link_retries(steps_of(pairing, faults, last_words(trace))))
    aftermath = Aftermath(trace, linked, speeches)
    steps = with_recoveries(linked, aftermath)
    lost = broken_step(steps)
    if lost is not None:
        return Chain(steps, Status.BROKEN, verdict(lost, steps, trace, faults, aftermath))
    reason = abort_reason(trace)
    if reason is not None:
        return Chain(steps, Status.ABORTED, abort_reason=reason)
    return Chain(steps, Status.RECOVERED if any(step.outcome.failed for step in steps) else Status.OK)
