"""The list of traces: loads the pages in sight, keeps a few in memory, and adds new traces at the top.

`edges` are the cursors of each page's last trace. They come first with the pages that are read, then from a survey that
walks to the end in the background; only then is the number of traces exact. Traces newer than the first page are
`fresh`: they come before it and move no edge.

Where no index leads to what a filter lets through, the list is looked through in steps: what they find is shown at
once, on a page that fills up, and `scanned` says how far they came.
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

from inspector.chain.steps import Status
from inspector.errors import WeaklinkError
from storage import BY_TIME, CursorStep, ListCursor, Listed, ListSection, Order, ScanPlace, Store, TraceSummary
from ui.tui.commands import LINE_COMMANDS, Command, bindings
from ui.tui.line_view import LineView
from ui.tui.store_access import StoreAccess, start_work
from ui.views.styled_text import Line
from ui.views.trace_columns import TRACE_COLUMNS, FittedColumns, ListedTrace, fitted, forks_grouped, missing_row

PAGE = 100
"""Traces on a page."""

SURVEYED = 100 * PAGE
"""Traces that a survey walks over at a time."""

_KEPT = 60  # pages in memory
_now_s = time.time
_COLUMNS = tuple(key for key in TRACE_COLUMNS if key != "map")
OPEN = Command("chains.open", "Open", "Open the chain under the cursor.", ("enter", "o"), in_footer=True)
_FIRST_PAUSE_S = 0.3  # until the first page is drawn, which the walk would slow down
_PAUSE_S = 0.02  # between stretches of a survey: keys and paint come first


class TraceListRow(Struct, frozen=True):
    """A trace in the list; of its calls, so many went well. `depth` says how many parents of a fork are above it."""

    summary: TraceSummary
    cursor: ListCursor
    ok_calls: int | None = None
    depth: int = 0

    def listed(self) -> ListedTrace:
        """What the columns are drawn from."""
        return ListedTrace(self.summary, _now_s(), self.ok_calls, depth=self.depth)


def rows_of(found: Sequence[Listed], counts: Mapping[int, tuple[int, int]]) -> list[TraceListRow]:
    """Rows of these traces; `counts` are the store's of their calls."""
    ok_calls = {id_: ok for id_, (ok, _) in counts.items()}
    return [TraceListRow(one.summary, one.cursor, ok_calls.get(one.summary.id)) for one in found]


def _with_forks_grouped(rows: Sequence[TraceListRow]) -> list[TraceListRow]:
    """The rows of a page with each fork below its parent, where that is on the page."""
    by_id = {row.summary.id: row for row in rows}
    return [
        structs.replace(by_id[one.summary.id], depth=one.depth) for one in forks_grouped([row.listed() for row in rows])
    ]


class TracePages(Struct):
    """What is known of one list: one filter in one order. On a page, forks are below their parent."""

    fresh: list[TraceListRow] = field(default_factory=list)
    edges: list[ListCursor] = field(default_factory=list)
    counted: int = 0
    is_complete: bool = False
    top: ListCursor | None = None
    _last: ListCursor | None = None
    _kept: OrderedDict[int, list[TraceListRow]] = field(default_factory=OrderedDict)

    @property
    def count(self) -> int:
        """How many traces are known of; all of them once `is_complete`."""
        return len(self.fresh) + self.counted

    def begin(self, rows: list[TraceListRow], *, is_last: bool) -> None:
        """Take the first page as far as it is known; `is_last` says that no more rows will come."""
        self.counted = len(rows)
        self.is_complete = is_last
        self.edges = [rows[-1].cursor] if rows and (is_last or len(rows) == PAGE) else []
        self.top = rows[0].cursor if rows else None
        self.put(0, rows)

    def survey(self, found: ListSection) -> None:
        """Take the next stretch, which begins behind the last edge."""
        self.edges += found.edges
        self.counted += found.count
        self.is_complete = found.is_last

    def take(self, cursors: Sequence[ListCursor], *, is_last: bool) -> None:
        """Take the next cursors, behind all that are known; a page that grows by them is read again."""
        if cursors and self.counted % PAGE:
            self._kept.pop(self.counted // PAGE, None)
        for cursor in cursors:
            self.counted += 1
            self._last = cursor
            if self.counted % PAGE == 0:
                self.edges.append(cursor)
        self.is_complete = is_last
        if is_last and self.counted % PAGE and self._last is not None:
            self.edges.append(self._last)

    def length(self, page: int) -> int:
        """How many traces of a page are known."""
        return min(self.counted - page * PAGE, PAGE)

    def put(self, page: int, rows: list[TraceListRow]) -> None:
        """Keep a page's rows, and let go of the page that was not asked for the longest."""
        self._kept[page] = _with_forks_grouped(rows)
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

    @property
    def first_rows(self) -> Sequence[TraceListRow]:
        """The rows at the top, while they are in memory."""
        return (*self.fresh[:PAGE], *self._kept.get(0, ()))

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
        self.fresh = _with_forks_grouped(newer + [row for row in self.fresh if row.summary.id not in seen])
        by_id = {row.summary.id: row for row in head}
        if 0 in self._kept:
            self.put(0, [by_id.get(row.summary.id, row) for row in self._kept[0]])
        return len(seen - before)


def _downwards(cursor: ListCursor) -> tuple[int, float, int]:
    return -cursor.rank, -cursor.sort_at_s, -cursor.id


class ChainList(LineView, inherit_bindings=False):
    """Traces that a filter lets through. `load` reads them again; everything else follows by itself."""

    ACTIONS: ClassVar[tuple[Command, ...]] = (OPEN, *(one for one in LINE_COMMANDS if one.id != "lines.choose"))
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]

    class Known(Message):
        """More is known of the list, or something in it changed."""

    class Failed(Message):
        """The store did not answer."""

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
        self._wants_end = False
        self.scanned: ScanPlace | None = None
        self._fitted: tuple[object, FittedColumns] | None = None

    @property
    def current(self) -> TraceSummary | None:
        """The trace under the cursor; None where there is none, or its page is still to come."""
        row = self.pages.row(self.cursor) if self.pages.count else None
        return row.summary if row else None

    @property
    def place(self) -> ListCursor | None:
        """Where in its list the trace under the cursor stands; None where there is none."""
        row = self.pages.row(self.cursor) if self.pages.count else None
        return row.cursor if row else None

    async def load(self, filter_text: str, order: Order) -> None:
        """Read the list of a filter from its top, until the first page is full. FilterError, StoreError."""
        rows: list[TraceListRow] = []
        place: ScanPlace | None = None
        while len(rows) < PAGE:
            step = partial(_step, filter_text=filter_text, order=order, limit=PAGE - len(rows), place=place)
            is_first = place is None
            found, place = await self._access.ask(step)
            rows += found
            if is_first:
                self.filter_text, self.order, self.pages = filter_text, order, TracePages()
            self.scanned = place
            self.pages.begin(rows, is_last=place is None)
            if is_first:
                self.show(self.source)
            else:
                self.renew()
            self.post_message(self.Known())
            if place is None:
                return

    async def walk(self, *, keep: TraceSummary | None) -> None:
        """Walk on to the end of the list, so that all of it can be reached; the cursor goes to `keep` on the way."""
        if keep is not None and await self.go_to(keep):
            keep = None
        breath_s = _FIRST_PAUSE_S
        while not self.pages.is_complete:
            await asyncio.sleep(breath_s)
            breath_s = _PAUSE_S
            await self._survey()
            self.renew()
            self.post_message(self.Known())
            if keep is not None and await self.go_to(keep):
                keep = None
            if self._wants_end:
                self.action_last()

    async def _survey(self) -> None:
        """Learn of the next traces, or that there are none."""
        filter_text, order = self.filter_text, self.order
        if order in BY_TIME:
            step = await self._access.ask(partial(_cursors, filter_text=filter_text, order=order, place=self.scanned))
            self.scanned = step.next
            self.pages.take(step.cursors, is_last=step.next is None)
        else:
            survey = partial(_survey, filter_text=filter_text, order=order, after=self.pages.edges[-1])
            self.pages.survey(await self._access.ask(survey))

    async def go_to(self, filter_text: TraceSummary, cursor: ListCursor | None = None) -> bool:
        """Put the cursor on a trace, wherever in the list it is; whether it is there, as far as that is known.

        `cursor` says where in the list that is; it need not where the list goes by time or has the broken ones first.
        """
        index = self.pages.index_of(filter_text.id)
        if cursor is None and self.order is Order.TIME:
            cursor = filter_text.cursor
        elif cursor is None and self.order is Order.BROKEN:
            cursor = structs.replace(filter_text.cursor, rank=int(filter_text.status == Status.BROKEN))
        if index is None and cursor is not None:
            page = self.pages.page_at(cursor)
            if page >= len(self.pages.edges) or self.pages.has(page):
                return False
            await self._read(page)
            index = self.pages.index_of(filter_text.id)
        if index is not None:
            self.move_to(index, centred=True)
        return index is not None

    async def refresh_head(self, *, stay_on_newest: bool) -> int:
        """Read the newest page and the pages with running traces again; how many traces are new at the top."""
        before = self.current
        new = self.pages.refresh_head(
            await self._access.ask(partial(_page, filter_text=self.filter_text, order=self.order, after=None))
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
        self.post_message(self.Known())
        return new

    async def refresh_current(self) -> None:
        """Read the page of the trace under the cursor again."""
        page = self.pages.page_of(self.cursor)
        if page:
            await self._read(page)
        else:
            await self.refresh_head(stay_on_newest=True)

    def move_to(self, index: int, *, centred: bool = False) -> None:
        """Put the cursor on a line; whoever waited for the end of the list no longer does."""
        self._wants_end = False
        super().move_to(index, centred=centred)

    def action_last(self) -> None:
        """Go to the end: as far as it is known, and on with what becomes known."""
        super().action_last()
        self._wants_end = not self.pages.is_complete

    def action_open(self) -> None:
        """Open the chain under the cursor."""
        self.action_choose()

    def columns(self, width: int) -> FittedColumns:
        """The columns for a screen of so many cells, as the list's first page needs them."""
        first = self.pages.first_rows
        key = (width, id(self.pages), len(first), sum(row.summary.tool_calls for row in first))
        if self._fitted is None or self._fitted[0] != key:
            self._fitted = key, fitted(width, [row.listed() for row in first], _COLUMNS)
        return self._fitted[1]

    def row_line(self, index: int, width: int) -> Line:
        """The line of a trace; where its page is not there yet, that is asked for."""
        row = self.pages.row(index)
        if row is not None:
            return self.columns(width).row(row.listed())
        page = self.pages.page_of(index)
        if page is not None and self.pages.has(page):
            return missing_row(width, "this trace is no longer in the database")
        if not self._filling:
            self._filling = True
            start_work(self, self._fill, "pages", supersedes=False)
        return missing_row(width, "…")

    async def _fill(self) -> None:
        """Read the pages in sight, wherever that is by then."""
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
        rows = await self._access.ask(
            partial(_page, filter_text=self.filter_text, order=self.order, after=pages.after(page), limit=length)
        )
        if length == pages.length(page):  # else it has grown, and is read once more
            pages.put(page, rows)
        if pages is self.pages:
            self.renew()
            self.post_message(self.Known())

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
        """As many as are known of."""
        return self._owner.pages.count

    def line(self, index: int, width: int) -> Line:
        """A trace."""
        return self._owner.row_line(index, width)


def _page(
    store: Store, *, filter_text: str, order: Order, after: ListCursor | None, limit: int = PAGE
) -> list[TraceListRow]:
    paging = store.paging()
    found = paging.page(filter_text, order, limit=limit, after=after)
    return rows_of(found, paging.call_counts([one.summary.id for one in found]))


def _step(
    store: Store, *, filter_text: str, order: Order, limit: int, place: ScanPlace | None
) -> tuple[list[TraceListRow], ScanPlace | None]:
    paging = store.paging()
    step = paging.scan_step(filter_text, order, limit=limit, place=place)
    return rows_of(step.found, paging.call_counts([one.summary.id for one in step.found])), step.next


def _cursors(store: Store, *, filter_text: str, order: Order, place: ScanPlace | None) -> CursorStep:
    return store.paging().cursor_step(filter_text, order, limit=SURVEYED, place=place)


def _survey(store: Store, *, filter_text: str, order: Order, after: ListCursor) -> ListSection:
    return store.paging().stretch(filter_text, order, limit=SURVEYED, page=PAGE, after=after)
