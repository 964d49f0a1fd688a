"""Where many things stand in a trace, as numbers in order: a few bytes a thing, whatever the things are.

Of a trace with a hundred thousand faults or calls none need be made to know which is the next, or which is near.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, repeat

Order = tuple[int, int, int, int]
"""Where a place stands among all: turn, number of the part, beginning, end; before a turn's parts what lies in none."""

NO_PART = -1
"""The number of a part that the turn does not have."""

_AT_ONCE = 512  # places whose ends are looked at together


class Places:
    """The places of things that have numbers, as ranges of positions in the order of the trace.

    Things are added in the order of their numbers; `settle` puts them in order by turn, part and beginning, and by end
    too where `by_end` says so. `indices` are the numbers by position then. A part is known by a number that grows
    within its turn; `NO_PART` stands for one that the turn does not have.
    """

    def __init__(self, *, by_end: bool = False) -> None:
        self.indices: Sequence[int] = range(0)
        self._by_end = by_end
        self._turns, self._parts = array("I"), array("i")
        self._starts, self._ends = array("I"), array("I")

    def __len__(self) -> int:
        return len(self._turns)

    def add(self, turn: int, part: int, start: int, end: int) -> None:
        """The place of the next thing."""
        self._turns.append(turn)
        self._parts.append(part)
        self._starts.append(start)
        self._ends.append(end)

    def settle(self, numbers: Sequence[int] | None = None) -> None:
        """Put all in order, those that begin alike as they were added; they count from 0 where no numbers are told."""
        self.indices = range(len(self)) if numbers is None else numbers
        ends = self._ends if self._by_end else repeat(0)
        orders = zip(self._turns, self._parts, self._starts, ends, strict=False)
        if any(before > later for before, later in pairwise(orders)):
            ordered = sorted(range(len(self)), key=self.order)
            self.indices = array("I", map(self.indices.__getitem__, ordered))
            for column in (self._turns, self._parts, self._starts, self._ends):
                column[:] = array(column.typecode, map(column.__getitem__, ordered))

    def order(self, position: int) -> Order:
        """Where a place stands among all; its end is 0 where that does not count."""
        end = self._ends[position] if self._by_end else 0
        return self._turns[position], self._parts[position], self._starts[position], end

    def length(self, position: int) -> int:
        """How many characters a place has."""
        return self._ends[position] - self._starts[position]

    def of_turn(self, turn: int) -> range:
        """What stands in a turn."""
        return range(bisect_left(self._turns, turn), bisect_right(self._turns, turn))

    def of_part(self, turn: int, part: int) -> range:
        """What stands in a part of a turn."""
        held = self.of_turn(turn)
        first = bisect_left(self._parts, part, held.start, held.stop)
        return range(first, bisect_right(self._parts, part, first, held.stop))

    def begun(self, within: range, start: int, end: int) -> range:
        """What begins from `start` on and before `end`, of positions in one part."""
        first = bisect_left(self._starts, start, within.start, within.stop)
        return range(first, bisect_left(self._starts, end, first, within.stop))

    def holding(self, within: range, at: int) -> Iterator[int]:
        """What holds the character at an offset, of positions in one part; an empty place holds the one behind it."""
        stop = bisect_right(self._starts, at, within.start, within.stop)
        for first in range(within.start, stop, _AT_ONCE):
            last = min(first + _AT_ONCE, stop)
            if max(self._ends[first:last]) >= at:
                yield from (one for one in range(first, last) if self._reaches(one, at))

    def is_held(self, order: Order, position: int) -> bool:
        """Whether a place begins within the one at a position."""
        turn, part, start, _ = self.order(position)
        return order[:2] == (turn, part) and start <= order[2] and self._reaches(position, order[2])

    def first_behind(self, order: Order) -> int:
        """The first position behind a place; how many there are where none is."""
        return bisect_right(range(len(self)), order, key=self.order)

    def beside(self, order: Order, *, back: bool) -> int | None:
        """The number of the nearest thing behind a place, or before it; None where there is none."""
        at = bisect_left(range(len(self)), order, key=self.order) - 1 if back else self.first_behind(order)
        return self.indices[at] if 0 <= at < len(self) else None

    def first(self, positions: Iterable[int]) -> int | None:
        """The smallest number among some positions; None among none."""
        if isinstance(positions, range) and isinstance(self.indices, range):
            return positions.start if positions else None
        return min((self.indices[at] for at in positions), default=None)

    def nearest(self, order: Order) -> int | None:
        """The first thing at just this place, else one that holds its beginning, else one in its part or its turn."""
        turn, part, start, end = order
        here = self.of_part(turn, part)
        same = (at for at in self.begun(here, start, start + 1) if self._ends[at] == end)
        found = self.first(same)
        if found is None:
            found = self.first(self.holding(here, start))
        return self.first(here or self.of_turn(turn)) if found is None else found

    def numbers(self, positions: range) -> Sequence[int]:
        """The numbers of the things at some positions, as they were added."""
        found = self.indices[positions.start : positions.stop]
        return found if isinstance(found, range) else sorted(found)

    def _reaches(self, position: int, at: int) -> bool:
        return at < max(self._ends[position], self._starts[position] + 1)
