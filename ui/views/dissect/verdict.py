"""The verdict on a trace: how it ended, where it broke, what was expected, and how the agent took it."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace

from inspector.chain.steps import Status
from inspector.diagnostics import Location
from inspector.inspection import Inspection, PartInspection
from inspector.rules.rule import Severity
from inspector.text import Range
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
_MOST = 400  # parts, or spans of one: no line shows more


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
        drawn = minimap(dissection.trace, _near(inspection, place), max(width - _MARGIN, 8))
        yield SideLine((Run(f"{'map':{_MARGIN}}", Style.DIM), *drawn))


def _near(inspection: Inspection, place: Location | None) -> Inspection:
    """As much of a long inspection as a line can show: what stands near a place, or near the end."""
    parts = inspection.parts
    if len(parts) <= _MOST and sum(len(part.spans) for part in parts) <= _MOST:
        return inspection
    here = Location(parts[-1].turn, parts[-1].part, Range(0, 0)) if place is None else place
    at = next((index for index, part in enumerate(parts) if (part.turn, part.part) == (here.turn, here.part)), 0)
    near = parts[max(at - _MOST // 2, 0) : at + _MOST // 2]
    return replace(inspection, parts=tuple(_around(part, here.range.start) for part in near))


def _around(part: PartInspection, offset: int) -> PartInspection:
    """A part with the spans, calls and results near a character."""
    if len(part.spans) <= _MOST:
        return part
    at = bisect_right(part.spans, offset, key=lambda span: span.range.start)
    first, last = max(at - _MOST // 2, 0), at + _MOST // 2
    calls = tuple(call for call in part.calls if first <= call.span < last)
    results = tuple(result for result in part.results if first <= result.span < last)
    return replace(part, spans=part.spans[first:last], calls=calls, results=results)


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
