"""The verdict on a trace: how it ended, where it broke, what was expected, and how the agent took it."""

from collections.abc import Iterator

from inspector.chain.steps import Chain, Status, StepOutcome
from inspector.diagnostics import Location
from inspector.inspection import Inspection
from inspector.model import Liveness
from inspector.rules.rule import Severity
from ui.views.break_story import break_lines, cause_of
from ui.views.chain import ending
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.side import SideLine, SideLines
from ui.views.gist import Gist
from ui.views.minimap import minimap
from ui.views.palette import Style
from ui.views.run import Run
from ui.views.status import LIVENESS, status_run, task_run
from ui.views.trace import severity_counts
from ui.views.wording import counted

_MARGIN = 8


def verdict(dissection: Dissection, width: int, liveness: Liveness | None = None) -> SideLines:
    """Status and counts in a line, the break in a few more, and the chain as a map; the break's lines lead to it.

    A trace that has a `liveness` has not ended in any way yet.
    """
    return SideLines(_lines(dissection, width, liveness))


def _lines(dissection: Dissection, width: int, liveness: Liveness | None) -> Iterator[SideLine]:
    inspection = dissection.inspection
    chain = inspection.chain
    status = status_run(chain.status, chain.broken.outcome if chain.broken else None)
    gist = dissection.gist
    ended, yet = ("so far", " yet") if liveness is not None else (_ended(chain, gist), "")
    steps = "" if f"of {len(chain.steps)}" in ended or not chain.steps else counted(len(chain.steps), "step")
    task = task_run(dissection.trace.outcome)
    facts = [ended, steps, severity_counts(gist.severities) or f"no faults{yet}", f"task {task.text}" if task else ""]
    said = " · ".join(fact for fact in facts if fact)
    said = f"· {said}" if chain.status in (Status.OK, Status.UNKNOWN) and liveness is None else said
    place = landing(inspection, gist)
    yield SideLine((status if liveness is None else LIVENESS[liveness], Run(f" {said}")), place)
    for line in break_lines(dissection.trace, inspection, width, gist=gist):
        yield SideLine(line, place)
    if chain.steps:
        room = max(width - _MARGIN, 8)
        drawn = minimap(dissection.trace, inspection, room, steps=dissection.steps, focus=gist.focus)
        yield SideLine((Run(f"{'map':{_MARGIN}}", Style.DIM), *drawn))


def _ended(chain: Chain, gist: Gist) -> str:
    return ending(chain, gist.failed if chain.status is Status.RECOVERED else None)


def landing(inspection: Inspection, gist: Gist | None = None) -> Location | None:
    """Where to begin to look: the fault that broke the chain, else the broken step, else the gravest first fault.

    `gist` is that of the trace, where somebody has gathered it already.
    """
    broken, found = inspection.chain.broken, inspection.diagnostics
    if broken is not None:
        step = inspection.chain.steps[broken.step - 1]
        cause = cause_of(broken, step, inspection)
        if cause is None and broken.outcome is StepOutcome.ERROR_RESULT:
            return step.result_location or step.location
        return cause.location if cause is not None else step.location
    if gist is not None:
        first = gist.first_error
    else:
        errors = (index for index, one in enumerate(found) if one.rule.severity is Severity.ERROR)
        first = next(errors, None)
    return found[first or 0].location if found else None
