"""The part of a stream that is in sight, and a cursor on one of its characters: what keys and wheel do to both."""

from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from inspector.diagnostics import Location
from inspector.text import Range
from ui.views.dissect.stream import BlockRow, StreamLayout
from ui.views.dissect.stream_rows import GUTTER, MOST_MARKED_ROWS, RowKind, StreamRow

_MARGIN = 2  # rows that are kept in sight around the cursor
_BELOW = (RowKind.FAULT, RowKind.LANE)


class VisibleFault(Struct, frozen=True):
    """Where a fault begins on the screen: line `y` and `cell`, both from 0; `location` is its place in the trace."""

    y: int
    cell: int
    location: Location


class Viewport:
    """`height` rows of a layout from `top` on; the cursor is on the character at `offset` of the row at `spot`.

    Rows are known by their spots, so nothing moves on the screen when guesses above it are mended. `left` cells of
    the text are out of sight at the left, where lines are not wrapped.
    """

    def __init__(self, layout: StreamLayout, height: int) -> None:
        self.layout, self.height = layout, height
        self.top = self.spot = BlockRow(0, 0)
        self.offset, self.left = 0, 0
        self._gone_to: Location | None = None
        self._goal = GUTTER
        self._rows: list[tuple[BlockRow, StreamRow]] | None = None

    @property
    def row(self) -> StreamRow:
        """The row under the cursor."""
        return self.layout.row(self.spot)

    @property
    def place(self) -> Location | None:
        """The character under the cursor; None where the row shows no text."""
        row = self.row
        if row.part is None or row.place is None:
            return None
        return self.layout.dissection.parts[row.part].location(Range(self.offset, self.offset + 1))

    @property
    def rows(self) -> list[tuple[BlockRow, StreamRow]]:
        """The rows in sight, from the top down."""
        if self._rows is None:
            self._rows = list(islice(self.layout.below(self.top), max(self.height, 1)))
        return self._rows

    @property
    def cells(self) -> Range:
        """The cells of the character under the cursor, in its row; the one behind the row where it has none."""
        cells, place = self.layout.cells(self.row), self.row.place
        index = min(max(self.offset - place.start, 0), len(cells) - 1) if place is not None else 0
        behind = cells[min(index + 1, len(cells) - 1)]
        return Range(cells[index], max(behind, cells[index] + 1))

    def faults(self) -> list[VisibleFault]:
        """The faults that begin in the visible rows, in reading order; one for each character at which some begin."""
        found: dict[tuple[int, int], VisibleFault] = {}
        for y, (spot, row) in enumerate(self.rows):
            for location, cell in self._faults_of(spot, row):
                if cell == 0 or GUTTER <= cell < self.layout.width:
                    found.setdefault((y, cell), VisibleFault(y, cell, location))
        return [found[at] for at in sorted(found)]

    def resized(self, height: int) -> None:
        """Show so many rows from now on."""
        self.height = height
        self._settle()

    def laid_out(self, layout: StreamLayout) -> None:
        """Show another layout of the trace, or of a longer version of it: the same character at the same height."""
        place = self.place
        at = next((index for index, (spot, _) in enumerate(self.rows) if spot == self.spot), self.height // 3)
        self.layout, self.left, self._rows = layout, 0, None
        spot = layout.find(place) if place is not None else None
        self.spot = spot if spot is not None else layout.first()
        self.top = layout.moved(self.spot, -at)
        self._goal = self.cells.start
        self._settle()

    def go(self, location: Location) -> bool:
        """Put the cursor on the first character of a place; whether there is such a place."""
        spot = self.layout.find(location)
        if spot is None:
            return False
        self.spot = spot
        place = self.row.place
        self.offset = max(place.start, min(location.range.start, place.end)) if place is not None else 0
        self._goal, self._gone_to = self.cells.start, location
        self._settle(centred=True)
        return True

    def point(self, y: int, cell: int) -> bool:
        """Put the cursor on what is drawn at a cell of the screen; whether that is text."""
        if y >= len(self.rows) or self.rows[y][1].place is None:
            return False
        self.spot = self.rows[y][0]
        self._put(self.layout.offset(self.row, cell if cell < GUTTER else cell + self.left) or 0)
        return True

    def step(self, by: int) -> None:
        """To the nearest row of text below (`by` is 1) or above (-1); without one the screen scrolls."""
        walk = islice(self.layout.below(self.spot), 1, None) if by > 0 else self.layout.above(self.spot)
        found = next((spot for spot, row in walk if row.kind is RowKind.TEXT), None)
        if found is None:
            self.scroll(by)
        else:
            self._land(found)

    def jump(self, by: int) -> None:
        """So many rows down, or up where `by` is negative, the screen too."""
        self.top = self.layout.moved(self.top, by)
        self._land(self.layout.moved(self.spot, by), down=by > 0)

    def first(self) -> None:
        """To the first character of the text."""
        self._goal = GUTTER
        self._land(self.layout.first())
        self.top = self.layout.first()
        self._settle()

    def last(self) -> None:
        """To the last row of text."""
        self._land(self.layout.last(), down=False)

    def character(self, by: int) -> None:
        """To the next character (`by` is 1) or the one before (-1), in the next row where the row ends."""
        place = self.row.place
        if place is not None and place.start <= self.offset + by < place.end:
            self._put(self.offset + by)
            return
        before = self.spot
        self.step(by)
        if self.spot != before:
            self.edge(end=by < 0)

    def edge(self, *, end: bool) -> None:
        """To the first or the last character of the row."""
        place = self.row.place
        if place is not None:
            self._put(max(place.end - 1, place.start) if end else place.start)

    def scroll(self, by: int) -> None:
        """Show what lies further down, or up; the cursor stays."""
        self.top = self.layout.moved(self.top, by)
        self._rows = None
        self._keep_in_bounds()

    def show_from(self, number: int) -> None:
        """Show the rows from about that number on; the cursor stays."""
        self.top = self.layout.spot(number)
        self._rows = None
        self._keep_in_bounds()

    def _faults_of(self, spot: BlockRow, row: StreamRow) -> Iterator[tuple[Location, int]]:
        """The faults that begin in a row, each with its cell on the screen; those without a part in the heading."""
        dissection = self.layout.dissection
        if row.part is None:
            if row.turn and spot == self.layout.heading(row.turn):
                yield from ((one.location, 0) for one in dissection.without_part(row.turn))
        elif row.place is not None:
            cells = self.layout.cells(row)
            for one in dissection.parts[row.part].wrong_in(row.place):
                at = min(one.location.range.start - row.place.start, len(cells) - 1)
                yield one.location, cells[at] - self.left

    def _put(self, offset: int) -> None:
        self.offset = offset
        self._goal = self.cells.start
        self._settle()

    def _land(self, spot: BlockRow, *, down: bool = True) -> None:
        """Put the cursor on a row, or on the nearest row of text from there."""
        ways = (self.layout.below(spot), self.layout.above(spot))
        is_text = self.layout.row(spot).kind is RowKind.TEXT
        ordered = ways if down or is_text else ways[::-1]
        texts = (one for way in ordered for one, row in way if row.kind is RowKind.TEXT)
        self.spot = next(texts, spot)
        self.offset = self.layout.offset(self.row, self._goal) or 0
        self._settle()

    def _settle(self, *, centred: bool = False) -> None:
        """Bring the cursor into sight."""
        self._rows = None
        if self.height:
            self._bring(centred=centred)
            self._keep_in_bounds()
            self._bring_aside()

    def _bring(self, *, centred: bool) -> None:
        margin = min(_MARGIN, max((self.height - 1) // 2, 0))
        below = min(max(self._said_below(), margin), max(self.height - 1 - margin, 0))
        spots = [spot for spot, _ in self.rows]
        at = spots.index(self.spot) if self.spot in spots else None
        if at is None and centred:
            top = -min(self.height // 3, self.height - 1 - below)
        elif at is None and self.spot < self.top:
            top = -margin
        elif at is None or at >= self.height - below:
            top = -(self.height - 1 - below)
        elif at < margin and self.top != self.layout.first():
            top = -margin
        else:
            return
        self.top, self._rows = self.layout.moved(self.spot, top), None

    def _said_below(self) -> int:
        """How many rows say something about the cursor's row: its faults and lanes, as far as a screen shows them.

        A place of few rows that was gone to takes those in between along: what is said of it stands below its last.
        """
        gone, place = self._gone_to, self.place
        is_there = gone is not None and place is not None and _begin(place) == _begin(gone)
        reach = gone.range.end if gone is not None and is_there else 0
        said = texts = 0
        for index, (_, row) in enumerate(islice(self.layout.below(self.spot), 1, self.height), 1):
            if row.kind in _BELOW:
                said = index
                continue
            texts += 1
            if row.place is None or row.place.start >= reach or texts >= MOST_MARKED_ROWS:
                break
        return said

    def _keep_in_bounds(self) -> None:
        """No empty screen below the last row, unless there are fewer rows than the screen has."""
        if len(self.rows) < self.height:
            self.top, self._rows = self.layout.moved(self.layout.last(), -(self.height - 1)), None

    def _bring_aside(self) -> None:
        if self.layout.options.wrap:
            self.left = 0
            return
        room = max(self.layout.width - GUTTER - 1, 4)
        cell = self.cells.start - GUTTER
        if not self.left <= cell < self.left + room:
            self.left = max(cell - room // 3, 0)


def _begin(place: Location) -> tuple[int, str, int]:
    return place.turn, place.part, place.range.start
