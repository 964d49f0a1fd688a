"""The list of traces as pages: some in memory, the rest known by where they begin, so that any size costs the same.

`edges` are the cursors of each page's last trace. They come first with the pages one reads, and then from a survey
that walks on to the end in the background; only then is the number of traces exact. What is newer than the first page
is `fresh`: it stands before it and moves no edge.
"""

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from storage import ListCursor, Listed, ListSection, TraceSummary

PAGE = 100
"""Traces on a page."""
SURVEYED = 100 * PAGE
"""Traces that a survey walks over at a time."""
_KEPT = 60  # pages in memory


@dataclass(frozen=True, slots=True)
class TraceListRow:
    """A trace in the list; of its calls, so many went well."""

    summary: TraceSummary
    cursor: ListCursor
    ok_calls: int | None = None


def rows_of(found: Sequence[Listed], counts: Mapping[int, tuple[int, int]]) -> list[TraceListRow]:
    """Rows of these traces; `counts` are the store's of their calls."""
    ok_calls = {id_: ok for id_, (ok, _) in counts.items()}
    return [TraceListRow(one.summary, one.cursor, ok_calls.get(one.summary.id)) for one in found]


@dataclass(slots=True)
class Pages:
    """What is known of one list: one filter in one order."""

    fresh: list[TraceListRow] = field(default_factory=list)
    edges: list[ListCursor] = field(default_factory=list)
    counted: int = 0
    is_complete: bool = False
    top: ListCursor | None = None
    _kept: OrderedDict[int, list[TraceListRow]] = field(default_factory=OrderedDict)

    @property
    def count(self) -> int:
        """How many traces are known of; all of them once `is_complete`."""
        return len(self.fresh) + self.counted

    def begin(self, rows: list[TraceListRow]) -> None:
        """Take the first page."""
        self.counted = len(rows)
        self.is_complete = len(rows) < PAGE
        self.edges = [rows[-1].cursor] if rows else []
        self.top = rows[0].cursor if rows else None
        self.put(0, rows)

    def survey(self, found: ListSection) -> None:
        """Take the next stretch, which begins behind the last edge."""
        self.edges += found.edges
        self.counted += found.count
        self.is_complete = found.is_last

    def put(self, page: int, rows: list[TraceListRow]) -> None:
        """Keep a page's rows, and let go of the page that was not asked for the longest."""
        self._kept[page] = rows
        self._kept.move_to_end(page)
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)

    def after(self, page: int) -> ListCursor | None:
        """Where a page begins: behind the last trace of the page before."""
        return self.edges[page - 1] if page else None

    def page_of(self, index: int) -> int | None:
        """The page that holds a line; None for what is fresh."""
        at = index - len(self.fresh)
        return None if at < 0 else at // PAGE

    def row(self, index: int) -> TraceListRow | None:
        """The trace of a line; None where its page is not in memory, or it is no longer there."""
        page = self.page_of(index)
        if page is None:
            return self.fresh[index]
        rows = self._kept.get(page)
        if rows is None:
            return None
        self._kept.move_to_end(page)
        at = (index - len(self.fresh)) % PAGE
        return rows[at] if at < len(rows) else None

    def has(self, page: int) -> bool:
        """Whether a page is in memory."""
        return page in self._kept

    def page_at(self, cursor: ListCursor) -> int:
        """The page that holds the trace with this cursor, as this list sorts it."""
        return bisect_left(self.edges, _downwards(cursor), key=_downwards)

    def known(self) -> Iterator[tuple[int, TraceListRow]]:
        """The lines whose traces are in memory, and these."""
        yield from enumerate(self.fresh)
        for page, rows in self._kept.items():
            for at, row in enumerate(rows):
                yield len(self.fresh) + page * PAGE + at, row

    def index_of(self, id: int) -> int | None:
        """The line of a trace, as far as it is in memory."""
        return next((index for index, row in self.known() if row.summary.id == id), None)

    def open_pages(self) -> set[int]:
        """The pages in memory that hold a trace which is being recorded."""
        return {page for page, rows in self._kept.items() if any(row.summary.is_open for row in rows)}

    def refresh_head(self, head: list[TraceListRow]) -> int:
        """Take the newest rows as they are now; how many of them are new. Those that were fresh grow with it."""
        if self.top is None:
            return 0
        newer = [row for row in head if _downwards(row.cursor) < _downwards(self.top)]
        before, seen = {row.summary.id for row in self.fresh}, {row.summary.id for row in newer}
        self.fresh = newer + [row for row in self.fresh if row.summary.id not in seen]
        by_id = {row.summary.id: row for row in head}
        if 0 in self._kept:
            self._kept[0] = [by_id.get(row.summary.id, row) for row in self._kept[0]]
        return len(seen - before)


def _downwards(cursor: ListCursor) -> tuple[float, int]:
    return -cursor.sort_at_s, -cursor.id
