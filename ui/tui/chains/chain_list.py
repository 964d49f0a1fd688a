"""The list of traces: loads the visible pages, keeps a few in memory, and adds new traces at the top.

`edges` are the cursors of each page's last trace. They come first from the pages that are read, then from a survey that
walks to the end in the background; only then is the number of traces exact. Traces newer than the first page are
`fresh`: they come before it and move no edge.

"""

import asyncio
import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import ClassVar

from msgspec import Struct, field, structs
from textual.binding import BindingType
from textual.message import Message

from weaklink.inspector.errors import WeaklinkError
from weaklink.storage.listing import Listed, ListSection, Order, rank_of
from weaklink.storage.store import Store
from weaklink.storage.summaries import ListCursor, TraceSummary
from weaklink.ui.tui.commands import LINE_COMMANDS, Command, bindings
from weaklink.ui.tui.line_view import LineView
from weaklink.ui.tui.store_access import StoreAccess, start_work
from weaklink.ui.views.styled_text import Line
from weaklink.ui.views.trace_columns import (
    TRACE_COLUMNS,
    FittedColumns,
    ListedTrace,
    fitted,
    forks_grouped,
    missing_row,
)

PAGE = 100
"""The number of traces on a page."""

SURVEYED = 100 * PAGE
"""The number of traces that a survey reads at a time."""

_CACHE_SIZE = 60  # pages in memory beside the first, whose rows decide how wide the columns are
_now_s = time.time
_COLUMNS = tuple(key for key in TRACE_COLUMNS if key != "map")
OPEN = Command("chains.open", "Open", "Open the trace under the cursor.", ("enter", "o"), footer="Open")
_FIRST_PAUSE_S = 0.3  # until the first page is drawn, which the survey would slow down
_PAUSE_S = 0.02  # between the steps of a survey, so that keys and painting come first


class TraceListRow(Struct, frozen=True):
    """A trace in the list; `ok_calls` of its calls succeeded. `depth` is the number of a fork's ancestors above it."""

    summary: TraceSummary
    cursor: ListCursor
    ok_calls: int | None = None
    depth: int = 0

    def listed(self) -> ListedTrace:
        """The row as the columns need it."""
        return ListedTrace(self.summary, _now_s(), self.ok_calls, depth=self.depth)


def rows_of(listed: Sequence[Listed], counts: Mapping[int, tuple[int, int]]) -> list[TraceListRow]:
    """Rows of these traces; `counts` are the store's counts of their calls, by trace."""
    ok_calls = {id_: ok for id_, (ok, _) in counts.items()}
    return [TraceListRow(row.summary, row.cursor, ok_calls.get(row.summary.id)) for row in listed]


def _with_forks_grouped(rows: Sequence[TraceListRow]) -> list[TraceListRow]:
    """The rows of a page with each fork below its parent, if that is on the page."""
    by_id = {row.summary.id: row for row in rows}
    return [
        structs.replace(by_id[trace.summary.id], depth=trace.depth)
        for trace in forks_grouped([row.listed() for row in rows])
    ]


class TracePages(Struct):
    """The known part of one list: one filter in one order. On a page, forks are below their parent."""

    fresh: list[TraceListRow] = field(default_factory=list)
    edges: list[ListCursor] = field(default_factory=list)
    counted: int = 0
    is_complete: bool = False
    top: ListCursor | None = None
    _kept: OrderedDict[int, list[TraceListRow]] = field(default_factory=OrderedDict)

    @property
    def count(self) -> int:
        """The number of known traces; that of all traces once `is_complete`."""
        return len(self.fresh) + self.counted

    def begin(self, rows: list[TraceListRow], *, is_last: bool) -> None:
        """Set the first page as far as it is known; `is_last` says that no more rows will come."""
        self.counted = len(rows)
        self.is_complete = is_last
        self.edges = [rows[-1].cursor] if rows and (is_last or len(rows) == PAGE) else []
        self.top = rows[0].cursor if rows else None
        self.put(0, rows)

    def survey(self, section: ListSection) -> None:
        """Add the next section, which begins after the last edge."""
        self.edges += section.edges
        self.counted += section.count
        self.is_complete = section.is_last

    def length(self, page: int) -> int:
        """The number of known traces of a page."""
        return min(self.counted - page * PAGE, PAGE)

    def put(self, page: int, rows: list[TraceListRow]) -> None:
        """Keep a page's rows, and drop the least recently used page; the first page stays."""
        self._kept[page] = _with_forks_grouped(rows)
        self._kept.move_to_end(page)
        if len(self._kept) > _CACHE_SIZE + 1:
            del self._kept[next(kept for kept in self._kept if kept)]

    def after(self, page: int) -> ListCursor | None:
        """The cursor after which a page begins: the last trace of the page before it."""
        return self.edges[page - 1] if page else None

    def page_of(self, index: int) -> int | None:
        """The page that contains a line; None for a fresh trace."""
        offset = index - len(self.fresh)
        return None if offset < 0 else offset // PAGE

    def row(self, index: int) -> TraceListRow | None:
        """The trace of a line; None if its page is not in memory, or the trace no longer exists."""
        page = self.page_of(index)
        if page is None:
            return self.fresh[index]
        rows = self._kept.get(page)
        if rows is None:
            return None
        self._kept.move_to_end(page)
        offset = (index - len(self.fresh)) % PAGE
        return rows[offset] if offset < len(rows) else None

    @property
    def first_rows(self) -> Sequence[TraceListRow]:
        """The rows at the top."""
        return (*self.fresh[:PAGE], *self._kept.get(0, ()))

    def has(self, page: int) -> bool:
        """Whether a page is in memory."""
        return page in self._kept

    def page_at(self, cursor: ListCursor) -> int:
        """The page that contains the trace with this cursor, in the order of this list."""
        return bisect_left(self.edges, _downwards(cursor), key=_downwards)

    def known(self) -> Iterator[tuple[int, TraceListRow]]:
        """The lines whose traces are in memory, with their traces."""
        yield from enumerate(self.fresh)
        for page, rows in self._kept.items():
            for offset, row in enumerate(rows):
                yield len(self.fresh) + page * PAGE + offset, row

    def index_of(self, id: int) -> int | None:
        """The line of a trace; None if the trace is not in memory."""
        return next((index for index, row in self.known() if row.summary.id == id), None)

    def open_pages(self) -> set[int]:
        """The pages in memory that contain a trace that is being recorded."""
        return {page for page, rows in self._kept.items() if any(row.summary.is_open for row in rows)}

    def refresh_head(self, head: list[TraceListRow]) -> int:
        """Update the newest rows, add new ones to the fresh traces, and return how many are new."""
        if self.top is None:
            return 0
        newer = [row for row in head if _downwards(row.cursor) < _downwards(self.top)]
        before, seen = {row.summary.id for row in self.fresh}, {row.summary.id for row in newer}
        self.fresh = _with_forks_grouped(newer + [row for row in self.fresh if row.summary.id not in seen])
        by_id = {row.summary.id: row for row in head}
        if 0 in self._kept:
            self.put(0, [by_id.get(row.summary.id, row) for row in self._kept[0]])
        return len(seen - before)


def _downwards(cursor: ListCursor) -> tuple[int, float, int]:
    return -cursor.rank, -cursor.sort_at_s, -cursor.id


class ChainList(LineView, inherit_bindings=False):
    """The traces that match a filter. `load` reads them again; pages are then read when they become visible."""

    ACTIONS: ClassVar[tuple[Command, ...]] = (
        OPEN,
        *(command for command in LINE_COMMANDS if command.id != "lines.choose"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]

    class ListUpdated(Message):
        """More is known of the list, or something in it changed."""

    class Failed(Message):
        """A query on the store failed."""

        def __init__(self, error: WeaklinkError) -> None:
            super().__init__()
            self.error = error

    def __init__(self, access: StoreAccess) -> None:
        self.pages = TracePages()
        self.filter_text = ""
        self.order = Order.BROKEN
        super().__init__(_ChainLines(self), id="list")
        self._access = access
        self._filling = False
        self._goes_to_end = False
        self._is_moved = False
        self._fitted: tuple[object, FittedColumns] | None = None

    @property
    def current(self) -> TraceSummary | None:
        """The trace under the cursor; None if there is none, or its page is not read yet."""
        row = self.pages.row(self.cursor) if self.pages.count else None
        return row.summary if row else None

    @property
    def list_cursor(self) -> ListCursor | None:
        """The position in its list of the trace under the cursor; None if there is none."""
        row = self.pages.row(self.cursor) if self.pages.count else None
        return row.cursor if row else None

    async def load(self, filter_text: str, order: Order) -> None:
        """Read the first page of the list of a filter. Raises FilterError, StoreError."""
        rows = await self._access.query(partial(_page, filter_text=filter_text, order=order, after=None))
        self.filter_text, self.order, self.pages = filter_text, order, TracePages()
        self.pages.begin(rows, is_last=len(rows) < PAGE)
        self.show(self.source)
        self._is_moved = False
        self.post_message(self.ListUpdated())

    async def walk(self, *, keep: TraceSummary | None) -> None:
        """Survey the rest of the list, so that all of it can be reached.

        Put the cursor on `keep` on the way, unless the user moves it first.
        """
        if keep is not None and await self.go_to(keep):
            keep = None
        pause_s = _FIRST_PAUSE_S
        while not self.pages.is_complete:
            await asyncio.sleep(pause_s)
            pause_s = _PAUSE_S
            await self._survey()
            self.renew()
            self.post_message(self.ListUpdated())
            if keep is not None and (self._is_moved or await self.go_to(keep)):
                keep = None
            if self._goes_to_end:
                self.action_last()

    async def _survey(self) -> None:
        """Survey the next traces, or find that there are none."""
        after = self.pages.edges[-1]
        survey = partial(_survey, filter_text=self.filter_text, order=self.order, after=after)
        self.pages.survey(await self._access.query(survey))

    async def go_to(self, summary: TraceSummary, cursor: ListCursor | None = None) -> bool:
        """Put the cursor on a trace anywhere in the list; return whether the known part of the list has it.

        `cursor` is its position in the list; it is not needed if the list is sorted by time or has broken traces first.
        """
        index = self.pages.index_of(summary.id)
        if cursor is None and self.order is Order.TIME:
            cursor = summary.cursor
        elif cursor is None and self.order is Order.BROKEN:
            cursor = structs.replace(summary.cursor, rank=rank_of(summary))
        if index is None and cursor is not None:
            page = self.pages.page_at(cursor)
            if page >= len(self.pages.edges) or self.pages.has(page):
                return False
            await self._read(page)
            index = self.pages.index_of(summary.id)
        if index is not None:
            self.move_to(index, centred=True)
        return index is not None

    async def refresh_head(self, *, stay_on_newest: bool) -> int:
        """Read the newest page and the pages with running traces again; return how many traces are new."""
        before = self.current
        new = self.pages.refresh_head(
            await self._access.query(partial(_page, filter_text=self.filter_text, order=self.order, after=None))
        )
        if new and not (stay_on_newest and self.cursor == 0):
            index = None if before is None else self.pages.index_of(before.id)
            moved = new if index is None else index - self.cursor
            self._cursor += moved
            self.renew()
            self.scroll_to(y=self.scroll_offset.y + moved, animate=False)
        for page in self.pages.open_pages() - {0}:
            await self._read(page)
        self.renew()
        self.post_message(self.ListUpdated())
        return new

    async def read_current(self) -> None:
        """Read the page of the trace under the cursor, if it is not in memory."""
        page = self.pages.page_of(self.cursor) if self.pages.count else None
        if page is not None and not self.pages.has(page):
            await self._read(page)

    async def refresh_current(self) -> None:
        """Read the page of the trace under the cursor again."""
        page = self.pages.page_of(self.cursor)
        if page:
            await self._read(page)
        else:
            await self.refresh_head(stay_on_newest=True)

    def move_to(self, index: int, *, centred: bool = False) -> None:
        """Put the cursor on a line, and cancel a jump to the end of the list."""
        self._goes_to_end = False
        self._is_moved = True
        super().move_to(index, centred=centred)

    def action_last(self) -> None:
        """Go to the end: as far as it is known, and further as more becomes known."""
        super().action_last()
        self._goes_to_end = not self.pages.is_complete

    def action_open(self) -> None:
        """Open the trace under the cursor."""
        self.action_choose()

    def columns(self, width: int) -> FittedColumns:
        """The columns for a screen `width` cells wide, as the list's first page needs them.

        One cell is left for the scrollbar, also where there is none: the heads above the list have none.
        """
        width = max(width - 1, 10)
        first = self.pages.first_rows
        key = (width, tuple(first))
        if self._fitted is None or self._fitted[0] != key:
            self._fitted = key, fitted(width, [row.listed() for row in first], _COLUMNS)
        return self._fitted[1]

    def row_line(self, index: int, width: int) -> Line:
        """The line of a trace; if its page is not in memory, begins to read it."""
        row = self.pages.row(index)
        if row is not None:
            return self.columns(self.size.width).row(row.listed())
        page = self.pages.page_of(index)
        if page is not None and self.pages.has(page):
            return missing_row(width, "this trace is no longer in the database")
        if not self._filling:
            self._filling = True
            start_work(self, self._fill, "pages", supersedes=False)
        return missing_row(width, "…")

    async def _fill(self) -> None:
        """Read the visible pages, until none is missing."""
        try:
            while (page := self._missing_page()) is not None:
                await self._read(page)
        except WeaklinkError as error:
            self.post_message(self.Failed(error))
        finally:
            self._filling = False

    async def _read(self, page: int) -> None:
        pages = self.pages
        length = pages.length(page)
        rows = await self._access.query(
            partial(_page, filter_text=self.filter_text, order=self.order, after=pages.after(page), limit=length)
        )
        if length == pages.length(page):  # else the page has grown, and is read again
            pages.put(page, rows)
        if pages is self.pages:
            self.renew()
            self.post_message(self.ListUpdated())

    def _missing_page(self) -> int | None:
        top = self.scroll_offset.y
        seen = range(top, min(top + self.size.height + 1, self.pages.count))
        pages = {page for index in seen if (page := self.pages.page_of(index)) is not None}
        return next((page for page in sorted(pages) if not self.pages.has(page)), None)


class _ChainLines:
    """The list as a source of lines."""

    def __init__(self, owner: ChainList) -> None:
        self._owner = owner

    @property
    def count(self) -> int:
        """The number of known traces."""
        return self._owner.pages.count

    def line(self, index: int, width: int) -> Line:
        """A trace."""
        return self._owner.row_line(index, width)


def _page(
    store: Store, *, filter_text: str, order: Order, after: ListCursor | None, limit: int = PAGE
) -> list[TraceListRow]:
    paging = store.paging()
    listed = paging.page(filter_text, order, limit=limit, after=after)
    return rows_of(listed, paging.call_counts([row.summary.id for row in listed]))


def _survey(store: Store, *, filter_text: str, order: Order, after: ListCursor) -> ListSection:
    return store.paging().section(filter_text, order, limit=SURVEYED, page=PAGE, after=after)
