"""The views beside the stream: lines of words, some of which lead to a place."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from inspector.diagnostics import Location
from ui.views.run import Line, clipped


class SideLine(NamedTuple):
    """A line, and the place it speaks of; None where it speaks of none."""

    line: Line
    location: Location | None = None


class SideLines:
    """Lines that are there already."""

    def __init__(self, lines: Iterable[SideLine]) -> None:
        self._lines = list(lines)

    @property
    def count(self) -> int:
        """How many lines there are."""
        return len(self._lines)

    def line(self, index: int, width: int) -> Line:
        """A line in at most `width` cells."""
        return clipped(self._lines[index].line, width)

    def location(self, index: int) -> Location | None:
        """The place that a line speaks of."""
        return self._lines[index].location


class LazyLines:
    """A line for each of many things, made when it is seen; `tell` takes its index and the width."""

    def __init__(self, places: Sequence[Location | None], tell: Callable[[int, int], Line]) -> None:
        self._places, self._tell = places, tell

    @property
    def count(self) -> int:
        """How many lines there are."""
        return len(self._places)

    def line(self, index: int, width: int) -> Line:
        """A line in at most `width` cells."""
        return clipped(self._tell(index, width), width)

    def location(self, index: int) -> Location | None:
        """The place that a line speaks of."""
        return self._places[index]


SideSource = SideLines | LazyLines
"""What a side view gives."""
