"""What is known of a trace beside its turns: where it comes from, what its source did not keep, and notes on it."""

from collections.abc import Iterator, Sequence

from ui.views.dissect.dissection import Dissection
from ui.views.dissect.side import SideLine, SideLines
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.trace import title_of, trace_facts
from ui.views.visible import visible_line
from ui.views.wording import wrapped

_NAME, _LONGEST = 9, 2_000


def notes(dissection: Dissection, said: Sequence[str], width: int) -> SideLines:
    """The notes that somebody wrote on a trace, then its facts."""
    return SideLines(_lines(dissection, said, width))


def _lines(dissection: Dissection, said: Sequence[str], width: int) -> Iterator[SideLine]:
    for note in said:
        yield from _fact("note", (Run(visible_line(note[:_LONGEST]), Style.STRONG),), width)
    name = title_of(dissection.trace)
    if name:
        yield from _fact("name", (Run(visible_line(name[:_LONGEST])),), width)
    for key, value in trace_facts(dissection.trace, dissection.inspection):
        yield from _fact("kept" if key == "note" else key, (Run(visible_line(value[:_LONGEST])),), width)


def _fact(name: str, said: Line, width: int) -> Iterator[SideLine]:
    lead = Run(f"{name:<{_NAME}} ", Style.DIM)
    for line in wrapped(said, max(width - _NAME - 1, 12)):
        yield SideLine((lead, *line))
        lead = Run(" " * (_NAME + 1))
