"""The exact stream of a trace as rows, laid out only where it is shown; and the visible rows, with a cursor.

Theory of operation. A text of a million tokens has a hundred thousand rows, and how many depends on the width. So the
trace is split into blocks of at most 4,096 characters (`outline`), and a block is laid out when one of its rows is
requested. Until then its number of rows is an estimate, made from its length and its line feeds:

    block       0    1    2    3    4        the cursor is in block 3
    estimate    2   51   51   51   20
    laid out              49   55            so rows 0 to 52 are guessed, 53 to 156 exact, and there are 177 in all

The difference of each laid-out block to its estimate is kept, so the rows before a block are the sum of estimates,
which `outline` has, and of the differences before it. Opening a trace and moving in it cost what is on the screen.

A `BlockRow` names a row by its block and its number within it. It stays valid while estimates above it are corrected;
the number of a row among all does not, and only the scroll bar needs it. The most recently laid out blocks are cached.
"""

from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict, deque
from collections.abc import Iterator
from itertools import accumulate, chain, islice
from typing import NamedTuple

from msgspec import Struct

from weaklink.inspector.diagnostics import Diagnostic, Location
from weaklink.inspector.model import CallHeader
from weaklink.inspector.text import Range
from weaklink.ui.views.dissect.dissection import DissectedPart, Dissection
from weaklink.ui.views.dissect.outline import TextBlock
from weaklink.ui.views.dissect.stream_rows import (
    GUTTER,
    BlockRows,
    RowKind,
    StreamRow,
    boxes_in,
    edges,
)
from weaklink.ui.views.dissect.timing import StreamOptions
from weaklink.ui.views.marked_text import MAX_MARKED_ROWS
from weaklink.ui.views.places import NO_PART
from weaklink.ui.views.status import UNNAMED
from weaklink.ui.views.styled_text import (
    Line,
    Run,
    Style,
    clipped,
    counted,
    help_line,
    title,
    visible_line,
    width_of,
    wrapped,
)
from weaklink.ui.views.turn import answers, error_words, turn_facts

_CACHED_BLOCKS = 48
_MARGIN = 2  # rows that stay visible around the cursor
_ANNOTATIONS = (RowKind.FAULT, RowKind.LANE)


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
        self._corrected: list[int] = []  # the blocks whose number of rows differs from the estimate
        self._more: dict[int, int] = {}  # by how many rows
        self._sums: list[int] | None = None  # the sum of differences before each of these, and in all
        self._laid: OrderedDict[int, tuple[StreamRow, ...]] = OrderedDict()

    @property
    def count(self) -> int:
        """The number of rows: exact for blocks that were laid out, estimated for others."""
        return self._until(len(self._blocks))

    def number(self, spot: BlockRow) -> int:
        """The number of a row among all, from 0; partly estimated."""
        return self._until(spot.block) + spot.row

    def spot(self, number: int) -> BlockRow:
        """The row with a number, or the nearest row."""
        block = max(bisect_right(range(len(self._blocks)), number, key=self._until) - 1, 0)
        within = number - self._until(block)
        return BlockRow(block, min(max(within, 0), len(self.rows(block)) - 1))

    def row(self, spot: BlockRow) -> StreamRow:
        """The content of a row."""
        return self.rows(spot.block)[spot.row]

    def rows(self, block: int) -> tuple[StreamRow, ...]:
        """The rows of a block, at least one."""
        rows = self._laid.get(block)
        if rows is None:
            self._laid[block] = rows = tuple(self._lay_out(self._blocks.block(block)))
            self._correct(block, len(rows))
            if len(self._laid) > _CACHED_BLOCKS:
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
        """The row at a distance, upwards if it is negative; at most the last or first row."""
        walk = islice(self.below(spot), distance + 1) if distance >= 0 else islice(self.above(spot), -distance)
        return deque(chain((spot,), (passed for passed, _ in walk)), maxlen=1)[0]

    def first(self) -> BlockRow:
        """The first row."""
        return BlockRow(0, 0)

    def last(self) -> BlockRow:
        """The last row."""
        block = len(self._blocks) - 1
        return BlockRow(block, len(self.rows(block)) - 1)

    def find(self, location: Location) -> BlockRow | None:
        """The row that shows the first character of a place; the turn's heading if it is in no part, or None."""
        part = self.dissection.outline.parts.number(location.turn, location.part)
        if part == NO_PART:
            return self.heading(location.turn)
        return self.find_in(part, location.range.start)

    def find_in(self, part: int, offset: int) -> BlockRow:
        """The row that shows a character of the part with this index; the end of the text is in its last row."""
        block = self._blocks.holding(self.dissection.outline.parts.turn_of(part), part, offset)
        last = 0
        for index, row in enumerate(self.rows(block)):
            if row.range is not None:
                if row.range.start > offset:
                    break
                last = index
        return BlockRow(block, last)

    def guessed(self, turn: int, part: int, offset: int) -> int:
        """The estimated number of a character's row, by its part's index, without any layout.

        With `NO_PART`, the number of the turn's heading.
        """
        if part == NO_PART:
            return self._until(self._blocks.heading(turn))
        number = self._blocks.holding(turn, part, offset)
        block, before = self._blocks.block(number), self._until(number)
        rows = self._until(number + 1) - before
        return before + rows * (offset - block.start) // max(block.end - block.start, 1)

    def cells(self, row: StreamRow) -> list[int]:
        """The screen cells at which the characters of a text row begin, and finally where the row ends."""
        if row.range is None or row.part is None:
            return [GUTTER]
        part = self.dissection.parts[row.part]
        boxes = boxes_in(part, row.range)
        return [GUTTER + cell for cell in edges(part.text, row.range, boxes, white_space=self.options.white_space)]

    def offset(self, row: StreamRow, cell: int) -> int | None:
        """The character at a cell of a text row, or its last character for cells after its end; None for other rows."""
        if row.range is None:
            return None
        index = bisect_right(self.cells(row), max(cell, GUTTER)) - 1
        return min(row.range.start + index, max(row.range.end - 1, row.range.start))

    def lit(self, row: StreamRow, location: Location) -> Range | None:
        """The cells of a row that show characters of a place, or None."""
        shown = row.range
        if shown is None or row.part is None or row.turn != location.turn:
            return None
        start, end = max(shown.start, location.range.start), min(shown.end, location.range.end)
        if self.dissection.outline.parts.name(row.part) != location.part or start >= end:
            return None
        cells = self.cells(row)
        range_ = Range(cells[start - shown.start], cells[end - shown.start])
        return range_ if len(range_) else Range(range_.start, range_.start + 1)

    def heading(self, turn: int) -> BlockRow | None:
        """The row with a turn's number and role; None if there is no such turn."""
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

    def _correct(self, block: int, rows: int) -> None:
        """Record the real number of rows of a block."""
        guess = self._guess_before(block + 1) - self._guess_before(block)
        if rows - guess != self._more.get(block, 0):
            if block not in self._more:
                insort(self._corrected, block)
            self._more[block], self._sums = rows - guess, None

    def _until(self, block: int) -> int:
        """The number of rows before a block, partly estimated."""
        if self._sums is None:
            self._sums = list(accumulate((self._more[index] for index in self._corrected), initial=0))
        return self._guess_before(block) + self._sums[bisect_left(self._corrected, block)]

    def _guess_before(self, block: int) -> int:
        return self._blocks.guessed_before(block, self._guessed)


def turn_heading(dissection: Dissection, number: int, width: int) -> Iterator[Line]:
    """A rule with a turn's number, role and facts; below it the faults that are in none of its texts.

    Turn 0 means a trace without turns.
    """
    if not number:
        yield (Run("The trace has no turns.", Style.DIM),)
        return
    turn = dissection.trace.turns[number - 1]
    answered = islice(answers(turn, number, dissection.steps), width)  # no more fit
    facts = " · ".join(visible_line(fact) for fact in (*answered, *turn_facts(turn, dissection.outline.model)))
    role = (Run(f"── {number} ", Style.GUTTER), Run(turn.role.value, Style.STRONG))
    left = clipped((*role, Run(f" {facts} " if facts else " ", Style.DIM)), max(width - 2, 1))
    if number > 1:
        yield ()
    yield (*left, Run("─" * max(width - width_of(left), 0), Style.GUTTER))
    if turn.generation is not None and turn.generation.error is not None:
        yield from wrapped(error_words(turn.generation.error), width, indent=4)
    for diagnostic in dissection.without_part(number):
        yield from _fault(diagnostic, width)


def part_heading(dissection: Dissection, part: DissectedPart, width: int) -> Iterator[Line]:
    """The name of a part that is not the turn's only text; for a call, also its tool and id."""
    turn = dissection.trace.turns[part.turn - 1]
    if len(turn.parts) == 1 and part.name == "text":
        return
    header = next((call for call in turn.calls if call.part == part.name), None)
    heading = (Run(" ┄ ", Style.GUTTER), Run(visible_line(part.name), Style.KEY), *(_called(header) if header else ()))
    length = Run(f"  {counted(len(part.text), 'character')}", Style.DIM)
    yield clipped((*heading, length), width)


def _called(header: CallHeader) -> Line:
    name = Run(f"  {visible_line(header.name) if header.name else UNNAMED}", Style.STRONG)
    return (name, Run(f"  {visible_line(header.id)}", Style.DIM)) if header.id else (name,)


def _fault(diagnostic: Diagnostic, width: int) -> Iterator[Line]:
    yield from wrapped(title(diagnostic.fault), width, indent=2)
    if diagnostic.fault.hint:
        yield from ((Run("  "), *line) for line in wrapped(help_line(diagnostic.fault.hint), width - 2, indent=6))


class VisibleFault(Struct, frozen=True):
    """The screen position of a fault: line `y` and `cell`, both from 0; `location` is its place in the trace."""

    y: int
    cell: int
    location: Location


class Viewport:
    """`height` rows of a layout, starting at `top`; the cursor is on the character at `offset` of the row at `spot`.

    Rows are identified by their spots, so the screen does not move when estimates above it are corrected. If lines are
    not wrapped, `left` cells of the text are hidden at the left.
    """

    def __init__(self, layout: StreamLayout, height: int) -> None:
        self.layout, self.height = layout, height
        self.top = self.spot = BlockRow(0, 0)
        self.offset, self.left = 0, 0
        self._target: Location | None = None
        self._goal = GUTTER
        self._rows: list[tuple[BlockRow, StreamRow]] | None = None

    @property
    def row(self) -> StreamRow:
        """The row under the cursor."""
        return self.layout.row(self.spot)

    @property
    def location(self) -> Location | None:
        """The character under the cursor; None if the row shows no text."""
        row = self.row
        if row.part is None or row.range is None:
            return None
        return self.layout.dissection.parts[row.part].location(Range(self.offset, self.offset + 1))

    @property
    def rows(self) -> list[tuple[BlockRow, StreamRow]]:
        """The visible rows, from the top down."""
        if self._rows is None:
            self._rows = list(islice(self.layout.below(self.top), max(self.height, 1)))
        return self._rows

    @property
    def cells(self) -> Range:
        """The cells of the character under the cursor, in its row; the cell after the row if it has no character."""
        cells, shown = self.layout.cells(self.row), self.row.range
        index = min(max(self.offset - shown.start, 0), len(cells) - 1) if shown is not None else 0
        end = cells[min(index + 1, len(cells) - 1)]
        return Range(cells[index], max(end, cells[index] + 1))

    def faults(self) -> list[VisibleFault]:
        """The faults that begin in the visible rows, in reading order; at most one per character."""
        visible: dict[tuple[int, int], VisibleFault] = {}
        for y, (spot, row) in enumerate(self.rows):
            for location, cell in self._faults_of(spot, row):
                if cell == 0 or GUTTER <= cell < self.layout.width:
                    visible.setdefault((y, cell), VisibleFault(y, cell, location))
        return [visible[position] for position in sorted(visible)]

    def resized(self, height: int) -> None:
        """Change the number of visible rows."""
        self.height = height
        self._settle()

    def laid_out(self, layout: StreamLayout) -> None:
        """Show another layout of the trace, or of a longer version of it; the cursor's row stays at its height."""
        location = self.location
        y = next((index for index, (spot, _) in enumerate(self.rows) if spot == self.spot), self.height // 3)
        self.layout, self.left, self._rows = layout, 0, None
        spot = layout.find(location) if location is not None else None
        self.spot = spot if spot is not None else layout.first()
        self.top = layout.moved(self.spot, -y)
        self._goal = self.cells.start
        self._settle()

    def go(self, location: Location) -> bool:
        """Move the cursor to the first character of a place. Returns whether the place exists."""
        spot = self.layout.find(location)
        if spot is None:
            return False
        self.spot = spot
        shown = self.row.range
        self.offset = max(shown.start, min(location.range.start, shown.end)) if shown is not None else 0
        self._goal, self._target = self.cells.start, location
        self._settle(centred=True)
        return True

    def point(self, y: int, cell: int) -> bool:
        """Move the cursor to the character at a screen cell. Returns whether there is text."""
        if y >= len(self.rows) or self.rows[y][1].range is None:
            return False
        self.spot = self.rows[y][0]
        self._put(self.layout.offset(self.row, cell if cell < GUTTER else cell + self.left) or 0)
        return True

    def step(self, by: int) -> None:
        """Move to the nearest text row below (`by` is 1) or above (-1); without one, scroll."""
        walk = islice(self.layout.below(self.spot), 1, None) if by > 0 else self.layout.above(self.spot)
        text_row = next((spot for spot, row in walk if row.kind is RowKind.TEXT), None)
        if text_row is None:
            self.scroll(by)
        else:
            self._land(text_row)

    def jump(self, by: int) -> None:
        """Move the cursor and the screen `by` rows down, or up if negative."""
        self.top = self.layout.moved(self.top, by)
        self._land(self.layout.moved(self.spot, by), down=by > 0)

    def first(self) -> None:
        """Move to the first character of the text."""
        self._goal = GUTTER
        self._land(self.layout.first())
        self.top = self.layout.first()
        self._settle()

    def last(self) -> None:
        """Move to the last row of text."""
        self._land(self.layout.last(), down=False)

    def character(self, by: int) -> None:
        """Move to the next character (`by` is 1) or the previous one (-1), across rows."""
        shown = self.row.range
        if shown is not None and shown.start <= self.offset + by < shown.end:
            self._put(self.offset + by)
            return
        before = self.spot
        self.step(by)
        if self.spot != before:
            self.edge(end=by < 0)

    def edge(self, *, end: bool) -> None:
        """Move to the first or the last character of the row."""
        shown = self.row.range
        if shown is not None:
            self._put(max(shown.end - 1, shown.start) if end else shown.start)

    def scroll(self, by: int) -> None:
        """Scroll down, or up if negative; the cursor stays."""
        self.top = self.layout.moved(self.top, by)
        self._rows = None
        self._keep_in_bounds()

    def show_from(self, number: int) -> None:
        """Scroll to about the row with that number; the cursor stays."""
        self.top = self.layout.spot(number)
        self._rows = None
        self._keep_in_bounds()

    def _faults_of(self, spot: BlockRow, row: StreamRow) -> Iterator[tuple[Location, int]]:
        """The faults that begin in a row, each with its screen cell; faults without a part are in the heading."""
        dissection = self.layout.dissection
        if row.part is None:
            if row.turn and spot == self.layout.heading(row.turn):
                yield from ((diagnostic.location, 0) for diagnostic in dissection.without_part(row.turn))
        elif row.range is not None:
            cells = self.layout.cells(row)
            for diagnostic in dissection.parts[row.part].wrong_in(row.range):
                index = min(diagnostic.location.range.start - row.range.start, len(cells) - 1)
                yield diagnostic.location, cells[index] - self.left

    def _put(self, offset: int) -> None:
        self.offset = offset
        self._goal = self.cells.start
        self._settle()

    def _land(self, spot: BlockRow, *, down: bool = True) -> None:
        """Move the cursor to a row, or to the nearest text row from there."""
        directions = (self.layout.below(spot), self.layout.above(spot))
        is_text = self.layout.row(spot).kind is RowKind.TEXT
        ordered = directions if down or is_text else directions[::-1]
        texts = (passed for direction in ordered for passed, row in direction if row.kind is RowKind.TEXT)
        self.spot = next(texts, spot)
        self.offset = self.layout.offset(self.row, self._goal) or 0
        self._settle()

    def _settle(self, *, centred: bool = False) -> None:
        """Scroll so that the cursor is visible."""
        self._rows = None
        if self.height:
            self._scroll_to_cursor(centred=centred)
            self._keep_in_bounds()
            self._scroll_sideways()

    def _scroll_to_cursor(self, *, centred: bool) -> None:
        margin = min(_MARGIN, max((self.height - 1) // 2, 0))
        below = min(max(self._annotation_rows(), margin), max(self.height - 1 - margin, 0))
        spots = [spot for spot, _ in self.rows]
        y = spots.index(self.spot) if self.spot in spots else None
        if y is None and centred:
            top = -min(self.height // 3, self.height - 1 - below)
        elif y is None and self.spot < self.top:
            top = -margin
        elif y is None or y >= self.height - below:
            top = -(self.height - 1 - below)
        elif y < margin and self.top != self.layout.first():
            top = -margin
        else:
            return
        self.top, self._rows = self.layout.moved(self.spot, top), None

    def _annotation_rows(self) -> int:
        """The number of rows down to the last annotation (fault or lane) of the cursor's row, at most a screen.

        After `go` to a place of a few rows, its other rows are included, because its annotations are below the last
        one.
        """
        target, location = self._target, self.location
        is_there = target is not None and location is not None and _begin(location) == _begin(target)
        reach = target.range.end if target is not None and is_there else 0
        last = texts = 0
        for index, (_, row) in enumerate(islice(self.layout.below(self.spot), 1, self.height), 1):
            if row.kind in _ANNOTATIONS:
                last = index
                continue
            texts += 1
            if row.range is None or row.range.start >= reach or texts >= MAX_MARKED_ROWS:
                break
        return last

    def _keep_in_bounds(self) -> None:
        """Leave no empty lines below the last row, unless the rows do not fill the screen."""
        if len(self.rows) < self.height:
            self.top, self._rows = self.layout.moved(self.layout.last(), -(self.height - 1)), None

    def _scroll_sideways(self) -> None:
        if self.layout.options.wrap:
            self.left = 0
            return
        room = max(self.layout.width - GUTTER - 1, 4)
        cell = self.cells.start - GUTTER
        if not self.left <= cell < self.left + room:
            self.left = max(cell - room // 3, 0)


def _begin(location: Location) -> tuple[int, str, int]:
    return location.turn, location.part, location.range.start
