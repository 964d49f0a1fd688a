"""The tree of a trace as the rows of a screen: what is expanded, and which row a place belongs to."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import TypeAlias

from inspector.diagnostics import Location
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.near import Near
from ui.views.dissect.trace_rows import turn_row
from ui.views.dissect.tree_row import TreeRow
from ui.views.palette import Style
from ui.views.run import Line, Run, clipped

HEAVY = 400_000
"""How many characters of JSON are read at once without being asked for: more take longer than a key should."""

_MOST = 256  # rows of turns that are kept near

Key = tuple[str | int, ...]
_Row: TypeAlias = TreeRow | int
"""A row, or the number of a turn, whose row is made when somebody looks."""


class Tree:
    """The visible rows of a trace, in order. None is made before it is looked at, nor what lies in it."""

    def __init__(self, dissection: Dissection) -> None:
        self._dissection = dissection
        self._rows: list[_Row] = list(range(1, len(dissection.trace.turns) + 1))
        self._near: Near[TreeRow] = Near(most=_MOST, heavy=_MOST)
        self._grown: dict[Key, list[TreeRow]] = {}
        self._open: set[Key] = set()

    @property
    def count(self) -> int:
        """How many rows are visible."""
        return len(self._rows)

    @property
    def rows(self) -> list[TreeRow]:
        """All of them, which takes a while where they are many."""
        return [self.row(index) for index in range(self.count)]

    def row(self, index: int) -> TreeRow:
        """A visible row."""
        row = self._rows[index]
        return self._turn(row) if isinstance(row, int) else row

    def find(self, key: Key) -> int | None:
        """The index of the visible row with this key."""
        first = bisect_left(self._rows, key[0], key=_turn)
        of_turn = takewhile(lambda at: _turn(self._rows[at]) == key[0], range(first, self.count))
        return next((at for at in of_turn if self._key(at) == key), None)

    def line(self, index: int, width: int) -> Line:
        """A row as a line: its depth, whether it can be expanded, and its label."""
        row = self.row(index)
        sign = " " if not row.expandable else "▾" if self.is_open(row) else "▸"
        return clipped((Run("  " * min(row.depth, 12)), Run(f"{sign} ", Style.GUTTER), *row.label), width)

    def is_open(self, row: TreeRow) -> bool:
        """Whether what lies in a row is visible."""
        return row.key in self._open

    def is_heavy(self, row: TreeRow) -> bool:
        """Whether expanding a row takes a while, and should be done where nobody waits: see `grow`."""
        return row.heavy > HEAVY and row.key not in self._grown

    def grow(self, row: TreeRow) -> list[TreeRow]:
        """What lies in a row, made once; may be called from another thread before `expand`."""
        if row.key not in self._grown:
            self._grown[row.key] = list(row.grow()) if row.grow is not None else []
        return self._grown[row.key]

    def expand(self, index: int) -> bool:
        """Show what lies in a row; whether that changed anything."""
        row = self.row(index)
        if not row.expandable or self.is_open(row):
            return False
        self._open.add(row.key)
        self._rows[index + 1 : index + 1] = self._visible(self.grow(row))
        return True

    def collapse(self, index: int) -> bool:
        """Hide what lies in a row; whether that changed anything."""
        row = self.row(index)
        if not self.is_open(row):
            return False
        self._open.discard(row.key)
        end = index + 1
        while end < self.count and _depth(self._rows[end]) > row.depth:
            end += 1
        del self._rows[index + 1 : end]
        return True

    def parent(self, index: int) -> int | None:
        """The index of the row that a row lies in; None for a turn."""
        depth = _depth(self._rows[index])
        return next((at for at in range(index - 1, -1, -1) if _depth(self._rows[at]) < depth), None)

    def reveal(self, location: Location) -> int | None:
        """Expand what is needed to see the innermost row that holds a place, and say which it is; None without one.

        What would take a while to expand stays as it is: the row that holds it is the answer then.
        """
        index = self.find((location.turn,))
        while index is not None and self.row(index).expandable and not self.is_heavy(self.row(index)):
            inside = _holding(self.grow(self.row(index)), location)
            if inside is None:
                break
            self.expand(index)
            index = next(at for at in range(index + 1, self.count) if self._rows[at] is inside)
        return index

    def _turn(self, number: int) -> TreeRow:
        row = self._near.get(number)
        if row is None:
            row = turn_row(self._dissection, number)
            self._near.keep(number, row, 1)
        return row

    def _key(self, index: int) -> Key:
        row = self._rows[index]
        return (row,) if isinstance(row, int) else row.key

    def _visible(self, rows: Iterable[TreeRow]) -> list[_Row]:
        """Rows with what lies in those that were open when they were last seen."""
        shown: list[_Row] = []
        for row in rows:
            shown.append(row)
            if self.is_open(row):
                shown += self._visible(self.grow(row))
        return shown


def _turn(row: _Row) -> str | int:
    """The turn that a row lies in: its key begins with it."""
    return row if isinstance(row, int) else row.key[0]


def _depth(row: _Row) -> int:
    return 0 if isinstance(row, int) else row.depth


def _near(rows: Sequence[TreeRow], at: int) -> Iterator[TreeRow]:
    """The rows without those bundles that lie elsewhere: their places are found out one by one."""
    bundles = [row for row in rows if row.is_bundle]
    yield from (row for row in rows if not row.is_bundle)
    yield from bundles[max(bisect_right(bundles, at, key=_start) - 1, 0) :][:1]


def _start(row: TreeRow) -> int:
    return row.location.range.start if row.location is not None else 0


def _holding(rows: Sequence[TreeRow], location: Location) -> TreeRow | None:
    """The row that holds the first character of a place, the smallest where several do."""
    found: TreeRow | None = None
    at = location.range.start
    for row in _near(rows, at):
        place = row.location
        if place is None or place.turn != location.turn or place.part != location.part:
            continue
        if not place.range.start <= at < max(place.range.end, place.range.start + 1):
            continue
        if found is None or found.location is None or len(place.range) < len(found.location.range):
            found = row
    return found
