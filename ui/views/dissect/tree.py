"""The tree of a trace as the rows of a screen: what is expanded, and which row a place belongs to."""

from collections.abc import Iterable

from inspector.diagnostics import Location
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.trace_rows import turn_rows
from ui.views.dissect.tree_row import TreeRow
from ui.views.palette import Style
from ui.views.run import Line, Run, clipped

HEAVY = 400_000
"""How many characters of JSON are read at once without being asked for: more take longer than a key should."""

Key = tuple[str | int, ...]


class Tree:
    """The visible rows of a trace, in order. Nothing is made of what lies in a row before it is expanded."""

    def __init__(self, dissection: Dissection) -> None:
        self.rows: list[TreeRow] = list(turn_rows(dissection))
        self._grown: dict[Key, list[TreeRow]] = {}
        self._open: set[Key] = set()

    @property
    def count(self) -> int:
        """How many rows are visible."""
        return len(self.rows)

    def line(self, index: int, width: int) -> Line:
        """A row as a line: its depth, whether it can be expanded, and its label."""
        row = self.rows[index]
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
        row = self.rows[index]
        if not row.expandable or self.is_open(row):
            return False
        self._open.add(row.key)
        self.rows[index + 1 : index + 1] = self._visible(self.grow(row))
        return True

    def collapse(self, index: int) -> bool:
        """Hide what lies in a row; whether that changed anything."""
        row = self.rows[index]
        if not self.is_open(row):
            return False
        self._open.discard(row.key)
        end = index + 1
        while end < len(self.rows) and self.rows[end].depth > row.depth:
            end += 1
        del self.rows[index + 1 : end]
        return True

    def parent(self, index: int) -> int | None:
        """The index of the row that a row lies in; None for a turn."""
        depth = self.rows[index].depth
        return next((at for at in range(index - 1, -1, -1) if self.rows[at].depth < depth), None)

    def reveal(self, location: Location) -> int | None:
        """Expand what is needed to see the innermost row that holds a place, and say which it is; None without one.

        What would take a while to expand stays as it is: the row that holds it is the answer then.
        """
        index = next((at for at, row in enumerate(self.rows) if row.key == (location.turn,)), None)
        while index is not None and self.rows[index].expandable and not self.is_heavy(self.rows[index]):
            inside = _holding(self.grow(self.rows[index]), location)
            if inside is None:
                break
            self.expand(index)
            index = next(at for at in range(index + 1, len(self.rows)) if self.rows[at] is inside)
        return index

    def _visible(self, rows: Iterable[TreeRow]) -> list[TreeRow]:
        """Rows with what lies in those that were open when they were last seen."""
        shown: list[TreeRow] = []
        for row in rows:
            shown.append(row)
            if self.is_open(row):
                shown += self._visible(self.grow(row))
        return shown


def _holding(rows: Iterable[TreeRow], location: Location) -> TreeRow | None:
    """The row that holds the first character of a place, the smallest where several do."""
    found: TreeRow | None = None
    at = location.range.start
    for row in rows:
        place = row.location
        if place is None or place.turn != location.turn or place.part != location.part:
            continue
        if not place.range.start <= at < max(place.range.end, place.range.start + 1):
            continue
        if found is None or found.location is None or len(place.range) < len(found.location.range):
            found = row
    return found
