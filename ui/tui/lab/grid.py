"""The grid of the lab: a row a format, a column a way of cutting."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from inspector.formats.format import Format
from ui.tui.lab.cutting import Chunking
from ui.tui.lab.reading import Cell, Likeness
from ui.views.palette import Style
from ui.views.run import Line, Run, clipped, padded, width_of
from ui.views.wording import counted

Cells = dict[tuple[str, Chunking], Cell]
"""What readings came to, by the format's name and the way of cutting."""

_NAME, _SURE = 18, 5
_WIDEST = 42
_SIGNS = {
    Likeness.SAME: ("=", Style.OK),
    Likeness.DIFFERS: ("≠", Style.WARNING),
    Likeness.ERROR: ("✖", Style.ERROR),
    Likeness.UNCUT: ("–", Style.DIM),
}


class LabGrid:
    """The formats as a source of lines; cells that are not read yet are `…`."""

    def __init__(
        self,
        formats: Sequence[tuple[Format, float]],
        cells: Callable[[], Mapping[tuple[str, Chunking], Cell]],
    ) -> None:
        self._formats, self._cells = formats, cells

    @property
    def count(self) -> int:
        """As many as there are formats."""
        return len(self._formats)

    def line(self, index: int, width: int) -> Line:
        """A format, how sure it is of the text, and its cells."""
        format_, confidence = self._formats[index]
        lead: Line = (*padded((Run(f" {format_.name}", Style.STRONG if not index else Style.PLAIN),), _NAME),)
        line = [*lead, Run(f"{confidence:>4.0%} " if confidence else " " * _SURE, Style.DIM)]
        for cut in Chunking:
            cell = self._cells().get((format_.name, cut))
            line += (*padded(_cell(cell, _room(width)), _room(width)), Run(" "))
        return clipped(line, width)

    @staticmethod
    def head(width: int, cut: Chunking, single: int) -> Line:
        """The names of the columns; the chosen one in brackets."""
        line = [*padded((Run(" format", Style.DIM),), _NAME), Run(f"{'sure':>4} ", Style.DIM)]
        for one in Chunking:
            name = f"{single:,} characters" if one is Chunking.SINGLE and single > 1 else one.value
            said = Run(f"[{name}]", Style.STRONG) if one is cut else Run(f" {name}", Style.DIM)
            line += (*padded((said,), _room(width)), Run(" "))
        return clipped(line, width)


def _room(width: int) -> int:
    return min(max((width - _NAME - _SURE) // len(Chunking) - 1, 8), _WIDEST)


def _cell(cell: Cell | None, room: int) -> Line:
    if cell is None:
        return (Run(" …", Style.DIM),)
    sign, style = _SIGNS[cell.likeness]
    if cell.likeness is Likeness.DIFFERS:
        return (Run(f" {sign} ", style), *_fitting(cell, style, room - 4))
    return (Run(f" {sign} {cell.likeness.value}" if len(cell.likeness.value) + 4 <= room else f" {sign}", style),)


def _fitting(cell: Cell, style: Style, room: int) -> Line:
    return next((said for said in _said(cell, style) if width_of(said) <= room), ())


def _said(cell: Cell, style: Style) -> Iterator[Line]:
    """What a reading that differs came to, in fewer and fewer words."""
    word = Run(cell.likeness.value, style)
    spans, calls = counted(cell.spans, "span"), counted(cell.calls, "call")
    faults = counted(cell.diagnostics, "fault")
    yield (word, Run(f"  {spans}, {calls}, {faults}", Style.DIM))
    yield (Run(f"{calls}, {faults}", Style.DIM),)
    yield (Run(calls, Style.DIM),)
