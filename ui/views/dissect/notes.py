"""What is known of a trace beside its turns: where it comes from, what its source did not keep, and notes on it."""

from collections.abc import Iterator, Sequence

from inspector.diagnostics import Location
from storage import Mark
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.side import SideLine, SideLines
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.trace import title_of, trace_facts
from ui.views.visible import visible_line
from ui.views.wording import wrapped

_NAME, _LONGEST = 9, 2_000


def notes(dissection: Dissection, marks: Sequence[Mark], width: int) -> SideLines:
    """The marks and notes that somebody left on a trace, each leading to its step or turn; then the trace's facts."""
    return SideLines(_lines(dissection, marks, width))


def _lines(dissection: Dissection, marks: Sequence[Mark], width: int) -> Iterator[SideLine]:
    for mark in marks:
        where = f"step {mark.step}" if mark.step else f"turn {mark.turn}" if mark.turn else "trace"
        said = (Run(f"{where}  ", Style.KEY), Run(visible_line(mark.note[:_LONGEST]) or "marked", Style.STRONG))
        for line, _ in _fact("note" if mark.note else "mark", said, width):
            yield SideLine(line, _place(dissection, mark))
    name = title_of(dissection.trace)
    if name:
        yield from _fact("name", (Run(visible_line(name[:_LONGEST])),), width)
    for key, value in trace_facts(dissection.trace, dissection.inspection, dissection.outline.model):
        yield from _fact("kept" if key == "note" else key, (Run(visible_line(value[:_LONGEST])),), width)


def _place(dissection: Dissection, mark: Mark) -> Location | None:
    steps = dissection.inspection.chain.steps
    if mark.step is not None and mark.step <= len(steps):
        return steps[mark.step - 1].location
    parts = dissection.parts_of(mark.turn) if mark.turn is not None else ()
    return parts[0].location() if parts else None


def _fact(name: str, said: Line, width: int) -> Iterator[SideLine]:
    lead = Run(f"{name:<{_NAME}} ", Style.DIM)
    for line in wrapped(said, max(width - _NAME - 1, 12)):
        yield SideLine((lead, *line))
        lead = Run(" " * (_NAME + 1))
