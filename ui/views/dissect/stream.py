"""The exact stream of a trace as the rows of a screen, laid out where somebody looks.

The trace is cut into blocks. A block's rows are counted by a guess until they are laid out, which happens when one of
them is asked for; so opening a trace and moving in it cost the same whatever its size. A `Spot` names a row by its
block, hence stays true while guesses above it are mended; a row's number among all does not. Of the blocks that were
laid out the newest are kept.
"""

from bisect import bisect_left, bisect_right
from collections import OrderedDict, deque
from collections.abc import Iterator
from itertools import accumulate, chain, islice
from typing import NamedTuple

from inspector.diagnostics import Location
from inspector.text import Range
from ui.views.dissect.blocks import Block, blocks_of
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.glyphs import edges
from ui.views.dissect.headings import part_heading, turn_heading
from ui.views.dissect.markers import boxes_in
from ui.views.dissect.options import StreamOptions
from ui.views.dissect.stream_rows import GUTTER, BlockRows, RowKind, StreamRow

_KEPT = 48


class Spot(NamedTuple):
    """A row of the stream: the index of its block, and its number within that block, both from 0."""

    block: int
    row: int


class StreamLayout:
    """All parts of a trace in order, under headings, in rows of `width` cells."""

    def __init__(self, dissection: Dissection, width: int, options: StreamOptions) -> None:
        self.dissection, self.width, self.options = dissection, width, options
        self._blocks = list(blocks_of(dissection.trace))
        self._parts = [index for index, block in enumerate(self._blocks) if block.is_first]
        self._counts = [self._guess(block) for block in self._blocks]
        self._sums: list[int] | None = None
        self._laid: OrderedDict[int, tuple[StreamRow, ...]] = OrderedDict()

    @property
    def count(self) -> int:
        """How many rows there are, as far as is known: exact where they were laid out, a guess elsewhere."""
        return self._until()[-1]

    def number(self, spot: Spot) -> int:
        """The number of a row among all, from 0, as far as is known."""
        return self._until()[spot.block] + spot.row

    def spot(self, number: int) -> Spot:
        """The row with a number, or the nearest there is."""
        sums = self._until()
        block = min(max(bisect_right(sums, number) - 1, 0), len(self._blocks) - 1)
        return Spot(block, min(max(number - sums[block], 0), len(self.rows(block)) - 1))

    def row(self, spot: Spot) -> StreamRow:
        """What a row shows."""
        return self.rows(spot.block)[spot.row]

    def rows(self, block: int) -> tuple[StreamRow, ...]:
        """The rows of a block, at least one."""
        rows = self._laid.get(block)
        if rows is None:
            self._laid[block] = rows = tuple(self._lay_out(self._blocks[block]))
            if self._counts[block] != len(rows):
                self._counts[block], self._sums = len(rows), None
            if len(self._laid) > _KEPT:
                self._laid.popitem(last=False)
        else:
            self._laid.move_to_end(block)
        return rows

    def below(self, spot: Spot) -> Iterator[tuple[Spot, StreamRow]]:
        """The rows from `spot` on, downwards."""
        first = spot.row
        for block in range(spot.block, len(self._blocks)):
            rows = self.rows(block)
            for index in range(first, len(rows)):
                yield Spot(block, index), rows[index]
            first = 0

    def above(self, spot: Spot) -> Iterator[tuple[Spot, StreamRow]]:
        """The rows before `spot`, upwards."""
        rows = self.rows(spot.block)[: spot.row]
        for block in range(spot.block, -1, -1):
            if block < spot.block:
                rows = self.rows(block)
            for index in range(len(rows) - 1, -1, -1):
                yield Spot(block, index), rows[index]

    def moved(self, spot: Spot, distance: int) -> Spot:
        """The row so many rows further down, or up where `distance` is negative; the last or first where they end."""
        walk = islice(self.below(spot), distance + 1) if distance >= 0 else islice(self.above(spot), -distance)
        return deque(chain((spot,), (at for at, _ in walk)), maxlen=1)[0]

    def first(self) -> Spot:
        """The first row."""
        return Spot(0, 0)

    def last(self) -> Spot:
        """The last row."""
        block = len(self._blocks) - 1
        return Spot(block, len(self.rows(block)) - 1)

    def find(self, location: Location) -> Spot | None:
        """The row that shows the first character of a place; a turn's heading where it is in no part, or None."""
        part = self.dissection.part(location.turn, location.part)
        if part is None:
            return self._heading(location.turn)
        return self.find_in(part.index, location.range.start)

    def find_in(self, part: int, offset: int) -> Spot:
        """The row that shows a character of the part with this index; the end of the text is in its last row."""
        block = self._block_of(part, offset)
        found = 0
        for index, row in enumerate(self.rows(block)):
            if row.place is not None:
                if row.place.start > offset:
                    break
                found = index
        return Spot(block, found)

    def guessed(self, location: Location) -> int:
        """About which number the row of a place has, without laying out anything."""
        part = self.dissection.part(location.turn, location.part)
        if part is None:
            return self._until()[bisect_left(self._blocks, location.turn, key=_turn)] if self._blocks else 0
        index = self._block_of(part.index, location.range.start)
        block, until = self._blocks[index], self._until()
        within = location.range.start - block.start
        return until[index] + self._counts[index] * within // max(block.end - block.start, 1)

    def cells(self, row: StreamRow) -> list[int]:
        """The cells of the screen at which the characters of a text row begin, and last where it ends."""
        if row.place is None or row.part is None:
            return [GUTTER]
        part = self.dissection.parts[row.part]
        boxes = boxes_in(part, row.place)
        return [GUTTER + cell for cell in edges(part.text, row.place, boxes, white_space=self.options.white_space)]

    def offset(self, row: StreamRow, cell: int) -> int | None:
        """The character that is drawn at a cell of a text row, its last one behind its end; None for other rows."""
        if row.place is None:
            return None
        index = bisect_right(self.cells(row), max(cell, GUTTER)) - 1
        return min(row.place.start + index, max(row.place.end - 1, row.place.start))

    def lit(self, row: StreamRow, location: Location) -> Range | None:
        """The cells of a row in which characters of a place are drawn; None where there are none."""
        place = row.place
        if place is None or row.part is None or row.turn != location.turn:
            return None
        start, end = max(place.start, location.range.start), min(place.end, location.range.end)
        if self.dissection.parts[row.part].name != location.part or start >= end:
            return None
        cells = self.cells(row)
        found = Range(cells[start - place.start], cells[end - place.start])
        return found if len(found) else Range(found.start, found.start + 1)

    def _heading(self, turn: int) -> Spot | None:
        index = bisect_left(self._blocks, turn, key=_turn)
        if index >= len(self._blocks) or self._blocks[index].turn != turn:
            return None
        return Spot(index, min(1, len(self.rows(index)) - 1))

    def _block_of(self, part: int, offset: int) -> int:
        block = self._parts[part]
        last = self._parts[part + 1] if part + 1 < len(self._parts) else len(self._blocks)
        while self._blocks[last - 1].part != part:
            last -= 1
        return bisect_right(self._blocks, offset, block, last, key=_start) - 1

    def _lay_out(self, block: Block) -> Iterator[StreamRow]:
        if block.part is None:
            for line in turn_heading(self.dissection, block.turn, self.width):
                yield StreamRow(RowKind.HEAD, line, block.turn)
            return
        part = self.dissection.parts[block.part]
        if block.is_first:
            for line in part_heading(self.dissection, part, self.width):
                yield StreamRow(RowKind.HEAD, line, block.turn, block.part)
        yield from BlockRows(part, block, self.width, self.options)

    def _guess(self, block: Block) -> int:
        if block.part is None:
            return 2
        feeds = self.dissection.parts[block.part].text.count("\n", block.start, block.end)
        room = max(self.width - GUTTER - 1, 8)
        return max(feeds, 1) + ((block.end - block.start) // (2 * room) if self.options.wrap else 0)

    def _until(self) -> list[int]:
        if self._sums is None:
            self._sums = list(accumulate(self._counts, initial=0))
        return self._sums


def _start(block: Block) -> int:
    return block.start


def _turn(block: Block) -> int:
    return block.turn
