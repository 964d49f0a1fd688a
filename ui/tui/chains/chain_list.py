"""The list of traces itself: asks for the pages in sight, walks on to the end, and takes what is new at the top."""

import asyncio
import time
from functools import partial
from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message

from inspector.errors import WeaklinkError
from storage import ListCursor, ListSection, Order, Store, TraceSummary
from ui.tui.chains.pages import PAGE, SURVEYED, Pages, TraceListRow, rows_of
from ui.tui.commands import Command, bindings
from ui.tui.line_commands import LINE_COMMANDS
from ui.tui.line_view import LineView
from ui.tui.store_access import StoreAccess
from ui.tui.work import begin
from ui.views.chain_list import MARKED, NOTED, chain_columns, missing_row
from ui.views.run import Line, Run

OPEN = Command("chains.open", "Open", "Opens the chain under the cursor.", ("enter", "o"), in_footer=True)
_FIRST_BREATH_S = 0.3  # until the first page is drawn, which the walk would slow down
_BREATH_S = 0.02  # between stretches of a survey: keys and paint come first


class ChainList(LineView, inherit_bindings=False):
    """Traces that a filter lets through. `load` reads them anew; everything else follows by itself."""

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
        self.pages = Pages()
        self.wanted = ""
        self.order = Order.TIME
        super().__init__(_ChainLines(self), id="list")
        self._access = access
        self._filling = False
        self._wants_end = False

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

    async def load(self, wanted: str, order: Order, *, prefer_broken: bool = False) -> None:
        """Read the list of a filter from its top; with `prefer_broken` the cursor goes to the newest broken trace.

        FilterError, StoreError.
        """
        rows = await self._access.ask(partial(_page, wanted=wanted, order=order, after=None))
        self.wanted, self.order, self.pages = wanted, order, Pages()
        self.pages.begin(rows)
        self.show(self.source, cursor=_first_broken(rows) if prefer_broken else 0)
        self.post_message(self.Known())

    async def walk(self, *, keep: TraceSummary | None) -> None:
        """Walk on to the end of the list, so that all of it can be reached; the cursor goes to `keep` on the way."""
        if keep is not None and await self.go_to(keep):
            keep = None
        breath_s = _FIRST_BREATH_S
        while not self.pages.is_complete:
            await asyncio.sleep(breath_s)
            breath_s = _BREATH_S
            survey = partial(_survey, wanted=self.wanted, order=self.order, after=self.pages.edges[-1])
            self.pages.survey(await self._access.ask(survey))
            self.renew()
            self.post_message(self.Known())
            if keep is not None and await self.go_to(keep):
                keep = None
            if self._wants_end:
                self.action_last()

    async def go_to(self, wanted: TraceSummary, cursor: ListCursor | None = None) -> bool:
        """Put the cursor on a trace, wherever in the list it is; whether it is there, as far as that is known.

        `cursor` says where in the list that is; it need not where the list goes by time.
        """
        index = self.pages.index_of(wanted.id)
        if cursor is None and self.order is Order.TIME:
            cursor = wanted.cursor
        if index is None and cursor is not None:
            page = self.pages.page_at(cursor)
            if page >= len(self.pages.edges) or self.pages.has(page):
                return False
            await self._read(page)
            index = self.pages.index_of(wanted.id)
        if index is not None:
            self.move_to(index, centred=True)
        return index is not None

    async def refresh_head(self, *, stay_on_newest: bool) -> int:
        """Read the newest page and the pages with running traces anew; how many traces are new at the top."""
        new = self.pages.refresh_head(
            await self._access.ask(partial(_page, wanted=self.wanted, order=self.order, after=None))
        )
        if new and not (stay_on_newest and self.cursor == 0):
            self._cursor += new
            self.renew()
            self.scroll_to(y=self.scroll_offset.y + new, animate=False)
        for page in self.pages.open_pages() - {0}:
            await self._read(page)
        self.renew()
        self.post_message(self.Known())
        return new

    async def refresh_current(self) -> None:
        """Read the page of the trace under the cursor anew."""
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

    def row_line(self, index: int, width: int) -> Line:
        """The line of a trace; where its page is not there yet, that is asked for."""
        row = self.pages.row(index)
        if row is not None:
            columns = chain_columns(width)
            return columns.row(row.summary, now_s=time.time(), ok_calls=row.ok_calls, marks=_marks(row.summary))
        page = self.pages.page_of(index)
        if page is not None and self.pages.has(page):
            return missing_row(width, "this trace is no longer in the database")
        if not self._filling:
            self._filling = True
            begin(self, self._fill, "pages", supersedes=False)
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
        rows = await self._access.ask(partial(_page, wanted=self.wanted, order=self.order, after=pages.after(page)))
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


def _page(store: Store, *, wanted: str, order: Order, after: ListCursor | None) -> list[TraceListRow]:
    paging = store.paging()
    found = paging.page(wanted, order, limit=PAGE, after=after)
    return rows_of(found, paging.call_counts([one.summary.id for one in found]))


def _survey(store: Store, *, wanted: str, order: Order, after: ListCursor) -> ListSection:
    return store.paging().stretch(wanted, order, limit=SURVEYED, page=PAGE, after=after)


def _first_broken(rows: list[TraceListRow]) -> int:
    return next((at for at, row in enumerate(rows) if row.summary.broken is not None), 0)


def _marks(summary: TraceSummary) -> tuple[Run, ...]:
    if summary.note:
        return (NOTED,)
    return (MARKED,) if summary.marked else ()
