"""Positions in a trace: a compact sorted index, and the step of a call or a result by its position.

The index needs a few bytes per position. In a trace with a hundred thousand faults or calls, the next or the nearest
one is found without creating any of them.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise, repeat

from weaklink.inspector.chain.steps import Chain, Status, Step
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.model import ToolCall
from weaklink.inspector.model.columns import LazyColumn
from weaklink.inspector.text import Range

NO_PART = -1
"""The number of a part that the turn does not have."""

_BATCH = 512  # places whose ends are compared at once
PositionKey = tuple[int, int, int, int]
"""The sort key of a place: turn, number of the part, start, end; places in no part come before the turn's parts."""


class PositionIndex:
    """The places of numbered items, as ranges of positions in the order of the trace.

    Items are added in the order of their numbers; `settle` sorts them by turn, part and start, and with `by_end` also
    by end. After that, `indices` are the numbers by position. A part is identified by a number that grows within its
    turn; `NO_PART` is a part that the turn does not have.
    """

    def __init__(self, *, by_end: bool = False) -> None:
        self.indices: Sequence[int] = range(0)
        self._by_end = by_end
        self._turns, self._parts = array("I"), array("i")
        self._starts, self._ends = array("I"), array("I")

    def __len__(self) -> int:
        return len(self._turns)

    def add(self, turn: int, part: int, start: int, end: int) -> None:
        """Add the place of the next item."""
        self._turns.append(turn)
        self._parts.append(part)
        self._starts.append(start)
        self._ends.append(end)

    def settle(self, numbers: Sequence[int] | None = None) -> None:
        """Sort all items; equal ones stay in insertion order. Without `numbers`, they are numbered from 0."""
        self.indices = range(len(self)) if numbers is None else numbers
        ends = self._ends if self._by_end else repeat(0)
        orders = zip(self._turns, self._parts, self._starts, ends, strict=False)
        if any(before > later for before, later in pairwise(orders)):
            ordered = sorted(range(len(self)), key=self.order)
            self.indices = array("I", map(self.indices.__getitem__, ordered))
            for column in (self._turns, self._parts, self._starts, self._ends):
                column[:] = array(column.typecode, map(column.__getitem__, ordered))

    def order(self, position: int) -> PositionKey:
        """The sort key of the place at a position; its end is 0 unless `by_end`."""
        end = self._ends[position] if self._by_end else 0
        return self._turns[position], self._parts[position], self._starts[position], end

    def length(self, position: int) -> int:
        """The number of characters of the place at a position."""
        return self._ends[position] - self._starts[position]

    def of_turn(self, turn: int) -> range:
        """The positions of a turn."""
        return range(bisect_left(self._turns, turn), bisect_right(self._turns, turn))

    def of_part(self, turn: int, part: int) -> range:
        """The positions of a part of a turn."""
        in_turn = self.of_turn(turn)
        first = bisect_left(self._parts, part, in_turn.start, in_turn.stop)
        return range(first, bisect_right(self._parts, part, first, in_turn.stop))

    def begun(self, within: range, start: int, end: int) -> range:
        """The positions in one part that begin in the range from `start` to before `end`."""
        first = bisect_left(self._starts, start, within.start, within.stop)
        return range(first, bisect_left(self._starts, end, first, within.stop))

    def holding(self, within: range, offset: int) -> Iterator[int]:
        """The positions in one part that contain the character at an offset; an empty place contains the next one."""
        stop = bisect_right(self._starts, offset, within.start, within.stop)
        for first in range(within.start, stop, _BATCH):
            last = min(first + _BATCH, stop)
            if max(self._ends[first:last]) >= offset:
                yield from (index for index in range(first, last) if self._reaches(index, offset))

    def starts_within(self, order: PositionKey, position: int) -> bool:
        """Whether a place begins inside the one at a position."""
        turn, part, start, _ = self.order(position)
        return order[:2] == (turn, part) and start <= order[2] and self._reaches(position, order[2])

    def first_after(self, order: PositionKey) -> int:
        """The first position after a place, or the number of positions if there is none."""
        return bisect_right(range(len(self)), order, key=self.order)

    def beside(self, order: PositionKey, *, back: bool) -> int | None:
        """The number of the nearest item after a place, or before it with `back`, or None."""
        position = bisect_left(range(len(self)), order, key=self.order) - 1 if back else self.first_after(order)
        return self.indices[position] if 0 <= position < len(self) else None

    def first(self, positions: Iterable[int]) -> int | None:
        """The smallest number at some positions; None if there are none."""
        if isinstance(positions, range) and isinstance(self.indices, range):
            return positions.start if positions else None
        return min((self.indices[position] for position in positions), default=None)

    def nearest(self, order: PositionKey) -> int | None:
        """The first item at exactly this place, or else one that contains its start, or one in its part or turn."""
        turn, part, start, end = order
        here = self.of_part(turn, part)
        same = (position for position in self.begun(here, start, start + 1) if self._ends[position] == end)
        index = self.first(same)
        if index is None:
            index = self.first(self.holding(here, start))
        return self.first(here or self.of_turn(turn)) if index is None else index

    def numbers(self, positions: range) -> Sequence[int]:
        """The numbers of the items at some positions, in the order in which they were added."""
        indices = self.indices[positions.start : positions.stop]
        return indices if isinstance(indices, range) else sorted(indices)

    def _reaches(self, position: int, offset: int) -> bool:
        return offset < max(self._ends[position], self._starts[position] + 1)


class StepPlaces:
    """The steps of a chain by the places of their calls and of their results; step objects are not kept.

    `number` returns the number of a part by its turn and name; without it, parts are numbered in the order of the
    steps. `failed` is the number of failed steps, and the number of the first one, 0 if none failed.
    """

    def __init__(self, chain: Chain, number: Callable[[int, str], int] | None = None) -> None:
        self._steps = chain.steps
        names: dict[str, int] = {}
        self._number = number or (lambda _, name: names.get(name, NO_PART))
        self.calls, self.results, answered = PositionIndex(), PositionIndex(), array("I")
        failed = first = 0
        for index, step in enumerate(chain.steps):
            for location in (step.location, step.result_location) if number is None else ():
                if location is not None:
                    names.setdefault(location.part, len(names))
            if step.outcome.failed:
                failed, first = failed + 1, first or step.number
            self.calls.add(*self._order(step.location))
            if step.result_location is not None:
                self.results.add(*self._order(step.result_location))
                answered.append(index)
        self.failed = failed, first
        self.calls.settle()
        self.results.settle(answered)

    def of_call(self, turn: int, part: str, call: ToolCall) -> Step | None:
        """The step of a call that is in this part of this turn."""
        steps = self._at(self.calls, turn, part, call.range)
        return next((step for step in reversed(steps) if step.location == Location(turn, part, call.range)), None)

    def of_result(self, turn: int, part: str, range_: Range) -> Step | None:
        """The step whose result is at this place of this part of this turn."""
        steps = self._at(self.results, turn, part, range_)
        return next((step for step in steps if step.result_location == Location(turn, part, range_)), None)

    def answered_in(self, turn: int) -> Sequence[Step]:
        """The steps whose results are in this turn."""
        return LazyColumn(self.results.numbers(self.results.of_turn(turn)), self._steps.__getitem__)

    def answered_at(self, turn: int, part: str, offset: int) -> Step | None:
        """The first step whose result contains a character."""
        results = self.results
        indices = sorted(results.indices[index] for index in results.holding(self._in(results, turn, part), offset))
        steps = (self._steps[index] for index in indices)
        return next((step for step in steps if step.result_location and step.result_location.part == part), None)

    def _order(self, location: Location) -> tuple[int, int, int, int]:
        return location.turn, self._number(location.turn, location.part), location.range.start, location.range.end

    def _in(self, index: PositionIndex, turn: int, part: str) -> range:
        return index.of_part(turn, self._number(turn, part))

    def _at(self, index: PositionIndex, turn: int, part: str, range_: Range) -> Sequence[Step]:
        """The steps whose call or result begins where a place begins."""
        positions = index.begun(self._in(index, turn, part), range_.start, range_.start + 1)
        return LazyColumn(index.numbers(positions), self._steps.__getitem__)


NO_STEPS = StepPlaces(Chain((), Status.OK))
"""No known chain."""
