"""The exact stream of a trace as the rows of a screen, laid out only where it is looked at.

The trace is cut into blocks. The number of rows of a block is estimated until it is laid out, which happens when one
of
its rows is requested; so opening a trace and moving in it cost the same whatever its size. A `BlockRow` names a row by
its block and stays valid while estimates above it are corrected; the number of a row among all does not. The most
recently laid out blocks are cached.
"""

from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict, deque
from collections.abc import Iterator
from itertools import accumulate, chain, islice
from typing import NamedTuple

from inspector.diagnostics import Diagnostic, Location
from inspector.model import CallHeader
from inspector.text import Range
from ui.views.dissect.dissection import DissectedPart, Dissection
from ui.views.dissect.lanes import StreamOptions
from ui.views.dissect.outline import TextBlock
from ui.views.dissect.stream_rows import GUTTER, BlockRows, RowKind, StreamRow, boxes_in, edges
from ui.views.places import NO_PART
from ui.views.status import UNNAMED
from ui.views.styled_text import Line, Run, Style, clipped, visible_line, width_of
from ui.views.turn import answers, error_words, turn_facts
from ui.views.wording import counted, help_line, title, wrapped

_KEPT = 48


class BlockRow(NamedTuple):
    """A row of the stream: the index of its block, and its number within that block, both from 0."""

    block: int
    row: int


class StreamLayout:
    """All parts of a trace in order, under headings, in rows of `width` cells."""

    def __init__(self, dissection: Dissection, width: int, options: StreamOptions) -> None:
        self.dissection, self.width, self.options = dissection, width, options
        self._blocks = dissection.outline.blocks
        self._guessed = self._blocks.guessed(max(width - GUTTER - 1, 8) if options.wrap else None)
        self._mended: list[int] = []  # the blocks whose rows are known to be more or fewer than was guessed
        self._more: dict[int, int] = {}  # how many more
        self._sums: list[int] | None = None  # how many more before each of these, and in all
        self._laid: OrderedDict[int, tuple[StreamRow, ...]] = OrderedDict()

    @property
    def count(self) -> int:
        """How many rows there are, as far as is known: exact where they were laid out, a guess elsewhere."""
        return self._until(len(self._blocks))

    def number(self, spot: BlockRow) -> int:
        """The number of a row among all, from 0, as far as is known."""
        return self._until(spot.block) + spot.row

    def spot(self, number: int) -> BlockRow:
        """The row with a number, or the nearest there is."""
        block = max(bisect_right(range(len(self._blocks)), number, key=self._until) - 1, 0)
        within = number - self._until(block)
        return BlockRow(block, min(max(within, 0), len(self.rows(block)) - 1))

    def row(self, spot: BlockRow) -> StreamRow:
        """What a row shows."""
        return self.rows(spot.block)[spot.row]

    def rows(self, block: int) -> tuple[StreamRow, ...]:
        """The rows of a block, at least one."""
        rows = self._laid.get(block)
        if rows is None:
            self._laid[block] = rows = tuple(self._lay_out(self._blocks.block(block)))
            self._mend(block, len(rows))
            if len(self._laid) > _KEPT:
                self._laid.popitem(last=False)
        else:
            self._laid.move_to_end(block)
        return rows

    def below(self, spot: BlockRow) -> Iterator[tuple[BlockRow, StreamRow]]:
        """The rows from `spot` on, downwards."""
        first = spot.row
        for block in range(spot.block, len(self._blocks)):
            rows = self.rows(block)
            for index in range(first, len(rows)):
                yield BlockRow(block, index), rows[index]
            first = 0

    def above(self, spot: BlockRow) -> Iterator[tuple[BlockRow, StreamRow]]:
        """The rows before `spot`, upwards."""
        rows = self.rows(spot.block)[: spot.row]
        for block in range(spot.block, -1, -1):
            if block < spot.block:
                rows = self.rows(block)
            for index in range(len(rows) - 1, -1, -1):
                yield BlockRow(block, index), rows[index]

    def moved(self, spot: BlockRow, distance: int) -> BlockRow:
        """The row so many rows further down, or up where `distance` is negative; the last or first where they end."""
        walk = islice(self.below(spot), distance + 1) if distance >= 0 else islice(self.above(spot), -distance)
        return deque(chain((spot,), (at for at, _ in walk)), maxlen=1)[0]

    def first(self) -> BlockRow:
        """The first row."""
        return BlockRow(0, 0)

    def last(self) -> BlockRow:
        """The last row."""
        block = len(self._blocks) - 1
        return BlockRow(block, len(self.rows(block)) - 1)

    def find(self, location: Location) -> BlockRow | None:
        """The row that shows the first character of a place; a turn's heading where it is in no part, or None."""
        part = self.dissection.outline.parts.number(location.turn, location.part)
        if part == NO_PART:
            return self.heading(location.turn)
        return self.find_in(part, location.range.start)

    def find_in(self, part: int, offset: int) -> BlockRow:
        """The row that shows a character of the part with this index; the end of the text is in its last row."""
        block = self._blocks.holding(self.dissection.outline.parts.turn_of(part), part, offset)
        found = 0
        for index, row in enumerate(self.rows(block)):
            if row.place is not None:
                if row.place.start > offset:
                    break
                found = index
        return BlockRow(block, found)

    def guessed(self, turn: int, part: int, offset: int) -> int:
        """About which number the row of a character has, by its part's index, without laying out anything.

        Of a turn's heading for `NO_PART`.
        """
        if part == NO_PART:
            return self._until(self._blocks.heading(turn))
        number = self._blocks.holding(turn, part, offset)
        block, before = self._blocks.block(number), self._until(number)
        rows = self._until(number + 1) - before
        return before + rows * (offset - block.start) // max(block.end - block.start, 1)

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
        if self.dissection.outline.parts.name(row.part) != location.part or start >= end:
            return None
        cells = self.cells(row)
        found = Range(cells[start - place.start], cells[end - place.start])
        return found if len(found) else Range(found.start, found.start + 1)

    def heading(self, turn: int) -> BlockRow | None:
        """The row with a turn's number and role; None where there is no such turn."""
        number = self._blocks.heading(turn)
        if number >= len(self._blocks) or self._blocks.block(number).turn != turn:
            return None
        return BlockRow(number, min(1, len(self.rows(number)) - 1))

    def _lay_out(self, block: TextBlock) -> Iterator[StreamRow]:
        if block.part is None:
            for line in turn_heading(self.dissection, block.turn, self.width):
                yield StreamRow(RowKind.HEAD, line, block.turn)
            return
        part = self.dissection.parts[block.part]
        if block.is_first:
            for line in part_heading(self.dissection, part, self.width):
                yield StreamRow(RowKind.HEAD, line, block.turn, block.part)
        yield from BlockRows(part, block, self.width, self.options)

    def _mend(self, block: int, rows: int) -> None:
        """Keep how many rows a block really has."""
        guess = self._guess_before(block + 1) - self._guess_before(block)
        if rows - guess != self._more.get(block, 0):
            if block not in self._more:
                insort(self._mended, block)
            self._more[block], self._sums = rows - guess, None

    def _until(self, block: int) -> int:
        """How many rows stand before a block, as far as is known."""
        if self._sums is None:
            self._sums = list(accumulate((self._more[one] for one in self._mended), initial=0))
        return self._guess_before(block) + self._sums[bisect_left(self._mended, block)]

    def _guess_before(self, block: int) -> int:
        return self._blocks.guessed_before(block, self._guessed)


def turn_heading(dissection: Dissection, number: int, width: int) -> Iterator[Line]:
    """A rule with a turn's number, role and facts; below it what is wrong with it and lies in none of its texts.

    Turn 0 stands for a trace that has none.
    """
    if not number:
        yield (Run("The trace holds no turns.", Style.DIM),)
        return
    turn = dissection.trace.turns[number - 1]
    told = islice(answers(turn, number, dissection.steps), width)  # no more fit
    facts = " · ".join(visible_line(fact) for fact in (*told, *turn_facts(turn, dissection.outline.model)))
    role = (Run(f"── {number} ", Style.GUTTER), Run(turn.role.value, Style.STRONG))
    left = clipped((*role, Run(f" {facts} " if facts else " ", Style.DIM)), max(width - 2, 1))
    if number > 1:
        yield ()
    yield (*left, Run("─" * max(width - width_of(left), 0), Style.GUTTER))
    if turn.generation is not None and turn.generation.error is not None:
        yield from wrapped(error_words(turn.generation.error), width, indent=4)
    for one in dissection.without_part(number):
        yield from _fault(one, width)


def part_heading(dissection: Dissection, part: DissectedPart, width: int) -> Iterator[Line]:
    """The name of a part that is not the turn's only text, and of a call its tool and id."""
    turn = dissection.trace.turns[part.turn - 1]
    if len(turn.parts) == 1 and part.name == "text":
        return
    header = next((one for one in turn.calls if one.part == part.name), None)
    said = (Run(" ┄ ", Style.GUTTER), Run(visible_line(part.name), Style.KEY), *(_called(header) if header else ()))
    length = Run(f"  {counted(len(part.text), 'character')}", Style.DIM)
    yield clipped((*said, length), width)


def _called(header: CallHeader) -> Line:
    name = Run(f"  {visible_line(header.name) if header.name else UNNAMED}", Style.STRONG)
    return (name, Run(f"  {visible_line(header.id)}", Style.DIM)) if header.id else (name,)


def _fault(diagnostic: Diagnostic, width: int) -> Iterator[Line]:
    yield from wrapped(title(diagnostic.fault), width, indent=2)
    if diagnostic.fault.hint:
        yield from ((Run("  "), *line) for line in wrapped(help_line(diagnostic.fault.hint), width - 2, indent=6))
