"""The verdict on a trace: how it ended, where it broke, what was expected, and how the agent took it."""

from collections.abc import Iterator

from inspector.chain.steps import Status
from inspector.diagnostics import Location
from inspector.inspection import Inspection
from inspector.rules.rule import Severity
from ui.views.break_story import break_lines
from ui.views.chain import ending
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.side import SideLine, SideLines
from ui.views.minimap import minimap
from ui.views.palette import Style
from ui.views.run import Run
from ui.views.status import RUNNING, status_run
from ui.views.trace import fault_counts
from ui.views.wording import counted

_MARGIN = 8


def verdict(dissection: Dissection, width: int, *, is_running: bool = False) -> SideLines:
    """Status and counts in a line, the break in a few more, and the chain as a map; the break's lines lead to it.

    A trace that `is_running` has not ended in any way yet.
    """
    return SideLines(_lines(dissection, width, is_running=is_running))


def _lines(dissection: Dissection, width: int, *, is_running: bool) -> Iterator[SideLine]:
    inspection = dissection.inspection
    chain = inspection.chain
    status = status_run(chain.status, chain.broken.outcome if chain.broken else None)
    ended, yet = ("so far", " yet") if is_running else (ending(chain), "")
    steps = "" if f"of {len(chain.steps)}" in ended or not chain.steps else counted(len(chain.steps), "step")
    facts = [ended, steps, fault_counts(inspection) or f"no faults{yet}"]
    said = " · ".join(fact for fact in facts if fact)
    said = f"· {said}" if chain.status is Status.OK and not is_running else said
    place = landing(inspection)
    yield SideLine((RUNNING if is_running else status, Run(f" {said}")), place)
    for line in break_lines(dissection.trace, inspection, width):
        yield SideLine(line, place)
    if chain.steps:
        drawn = minimap(dissection.trace, inspection, max(width - _MARGIN, 8), steps=dissection.steps)
        yield SideLine((Run(f"{'map':{_MARGIN}}", Style.DIM), *drawn))


def landing(inspection: Inspection) -> Location | None:
    """Where to begin to look: the fault that broke the chain, else the broken step, else the gravest first fault."""
    broken = inspection.chain.broken
    if broken is not None:
        causes = (
            one.location
            for one in inspection.diagnostics
            if one.location.turn == broken.turn and one.rule.code == broken.code
        )
        step = inspection.chain.steps[broken.step - 1]
        at_step = step.result_location or step.location
        return next(causes, at_step if broken.code is None else step.location)
    errors = (one.location for one in inspection.diagnostics if one.rule.severity is Severity.ERROR)
    return next(errors, inspection.diagnostics[0].location if inspection.diagnostics else None)
