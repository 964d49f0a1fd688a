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

    def nearest(self, place: Location) -> int | None:
        """The first line that speaks of a place."""
        return nearest([line.location for line in self._lines], place)


class LazyLines:
    """A line for each of many things, made when it is seen; `tell` takes its index and the width.

    `near` says which line is the nearest to a place, where that is known without looking at all places.
    """

    def __init__(
        self,
        places: Sequence[Location | None],
        tell: Callable[[int, int], Line],
        near: Callable[[Location], int | None] | None = None,
    ) -> None:
        self._places, self._tell, self._near = places, tell, near

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

    def nearest(self, place: Location) -> int | None:
        """The line that speaks of just this place, else one that holds it, else the first of its part or its turn."""
        return nearest(self._places, place) if self._near is None else self._near(place)


SideSource = SideLines | LazyLines
"""What a side view gives."""


def nearest(places: Sequence[Location | None], place: Location) -> int | None:
    """Which is just this place, else the first that holds it, else the first in its part or its turn, of a few."""
    best, found = 0, None
    for index, one in enumerate(places):
        if one is None or one.turn != place.turn:
            continue
        holds = one.range.start <= place.range.start < max(one.range.end, one.range.start + 1)
        grade = 4 if one == place else 1 if one.part != place.part else 3 if holds else 2
        if grade > best:
            best, found = grade, index
    return found
