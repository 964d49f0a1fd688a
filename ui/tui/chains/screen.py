"""The home screen: arranges list, counts, filter bar and the detail of a trace, and runs their commands."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from weaklink.inspector.errors import WeaklinkError
from weaklink.storage.filter import FilterCompletion, FilterError
from weaklink.storage.listing import Listed, Order
from weaklink.storage.schema import NoDatabaseYetError
from weaklink.storage.search_queries import SearchHit
from weaklink.storage.store import Store
from weaklink.storage.summaries import ListCursor, TraceSummary
from weaklink.ui.tui.chains import actions
from weaklink.ui.tui.chains.chain_list import ChainList
from weaklink.ui.tui.chains.filter_bar import FilterBar, has_words, narrowed, toggled
from weaklink.ui.tui.commands import Command, bindings
from weaklink.ui.tui.dialogs import ChoiceDialog, DialogChoice, LineDialog
from weaklink.ui.tui.line_bar import KeyFooter, LineBar, StatusLine, StatusText
from weaklink.ui.tui.store_access import StoreAccess, error_sentence, start_work
from weaklink.ui.views.links import VIEWS_PAGE, Link, SavedView, save_view, saved_views
from weaklink.ui.views.minimap import minimap
from weaklink.ui.views.search_hits import hit_lines
from weaklink.ui.views.styled_text import Line, Run, Style, counted, quoted, visible_line, visible_runs
from weaklink.ui.views.trace_columns import ORDER_WORDS

CHAIN_COMMANDS = (
    Command("chains.next-break", "Next break", "Open the next broken trace, on its break.", ("e",), footer="Break"),
    Command("chains.previous-break", "Previous break", "Open the previous broken trace, on its break.", ("ctrl+e",)),
    Command("chains.filter", "Filter", "Filter the list; keys and values are completed.", ("f",), footer="Filter"),
    Command("chains.search", "Search", "Find words in the texts of all traces.", ("/",), footer="Find"),
    Command("chains.next-match", "Next match", "Go to the next trace that contains the words.", ("n",)),
    Command("chains.previous-match", "Previous match", "Go to the previous trace that contains the words.", ("N",)),
    Command("chains.broken", "Broken only", "Show only broken traces, or all traces again.", ("b",), footer="Broken"),
    Command(
        "chains.sort", "Sort", "Sort by time, break, certainty, duration, tokens or errors.", ("s",), footer="Sort"
    ),
    Command("chains.newest", "Newest first", "Sort newest first, or broken first again.", ("t",), footer="Newest"),
    Command(
        "chains.views", "Views", "Apply a saved filter and order, or save the current ones.", ("V",), footer="Views"
    ),
    Command("chains.clear", "Clear filter", "Show all traces again.", ("escape", "backspace")),
    Command("chains.mark", "Mark", "Mark the trace under the cursor, or remove its mark.", ("m",), footer="Mark"),
    Command("chains.note", "Note", "Write a note on the trace under the cursor.", (";",), footer="Note"),
    Command(
        "chains.follow", "Follow", "Keep the cursor on the newest trace, or stop following it.", ("F",), footer="Follow"
    ),
    Command("chains.pause", "Pause", "Pause the list while traces arrive, or continue.", ("p",), footer="Pause"),
    Command("chains.export", "Export", "Write the trace under the cursor to a file.", ("S",), footer="Save"),
    Command("chains.copy", "Copy", "Copy the trace's id, link or command to the clipboard.", ("y",), footer="Copy"),
    Command("chains.diff", "Diff", "Compare the trace under the cursor with the marked ones.", ("d",), footer="Diff"),
    Command("chains.reread", "Read again", "Read the trace's stream with other formats.", ("r",)),
    Command("chains.live", "Live", "Watch a trace while it is recorded.", ("v",)),
    Command("chains.rules", "Rules", "List the rules, and how often each was broken.", ("R",), footer="Rules"),
    Command("chains.import", "Import", "Import files into the database.", ("i",), footer="Import"),
    Command("chains.reload", "Reload", "Reload from the database, and retry what failed.", ("ctrl+r",)),
    Command("chains.quit", "Quit", "Quit weaklink.", ("q",), footer="Quit"),
)
"""The scope `chains`: commands on the list and on the chain under its cursor."""

_OF_RUNNING = frozenset({"chains.live"})
_INDEXED = 100  # traces that are added to the text index at a time
_DEBOUNCE_S = 0.06  # a trace is read only once the cursor rests on it
_MAX_CHARS, _MAX_ITEMS = 4_000_000, 5_000  # turns and calls; a larger trace is not read for its detail
_CACHE_SIZE = 64  # details
_MAX_NOTE_CHARS = 400


class ChainsScreen(actions.FollowedChains):
    """The list of traces, the broken ones first. `open_trace` opens one of them."""

    ACTIONS: ClassVar[tuple[Command, ...]] = CHAIN_COMMANDS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(CHAIN_COMMANDS)]
    DEFAULT_CSS = """
    ChainsScreen { background: $background; }
    ChainsScreen #list { height: 1fr; }
    ChainsScreen #nothing { height: 1fr; display: none; padding: 1 2; }
    ChainsScreen.nothing #nothing { display: block; }
    ChainsScreen.nothing #list { display: none; }
    """

    def __init__(
        self,
        access: StoreAccess,
        open_trace: actions.TraceOpener,
        *,
        filter_text: str = "",
        callbacks: actions.ChainCallbacks | None = None,
    ) -> None:
        super().__init__(access, callbacks or actions.ChainCallbacks())
        self._open_trace = open_trace
        self._first_filter = filter_text
        self._last_opened: int | None = None
        self._work = 0

    def compose(self) -> ComposeResult:
        """The widgets, from top to bottom."""
        yield StatusLine()
        yield LineBar(id="statuses")
        yield LineBar(id="head")
        yield ChainList(self.access)
        yield LineBar(id="nothing", classes="wrapped")
        yield ChainDetail(self.access)
        yield FilterBar(self._complete)
        yield KeyFooter()

    def on_mount(self) -> None:
        """Load the list, and poll the store every second."""
        self.chains.focus()
        self.load(self._first_filter)
        self.watch_store()

    def on_resize(self) -> None:
        """Align the heads with their columns."""
        self.update_status()
        self._refresh_preview()

    def on_chain_list_list_updated(self) -> None:
        """Show what is known of the list now."""
        self.update_status()
        self._refresh_preview()

    def on_chain_list_failed(self, event: ChainList.Failed) -> None:
        """Show why a page could not be read."""
        self.failed(event.error)

    def on_line_view_moved(self) -> None:
        """Show the detail of the trace under the cursor."""
        self._refresh_preview()

    def on_line_view_chosen(self) -> None:
        """Open the trace under the cursor: at the words of the filter, else on its break."""
        start_work(self, self._open_current, "open")

    def on_line_bar_pressed(self, event: LineBar.Pressed) -> None:
        """Filter by the status that was clicked."""
        if event.name:
            self.load(toggled(self.filter_text, event.name), keep=self.chains.current)

    def on_filter_bar_filter_edited(self, event: FilterBar.FilterEdited) -> None:
        """Load the list of the edited filter."""
        if event.is_final:
            self.chains.focus()
        if event.text.strip() != self.filter_text or self.problem:
            self.load(event.text.strip(), keep=self.chains.current)

    async def beside(self, id: int, by: int) -> int | None:
        """The id of the trace `by` lines after this one in the list; None beyond an end of it."""
        index = self.chains.pages.index_of(id)
        if index is None or not 0 <= index + by < self.chains.pages.count:
            return None
        self.chains.move_to(index + by)
        if self.chains.current is None:
            await self.chains.refresh_current()
        return self.chains.current.id if self.chains.current else None

    async def action_next_break(self) -> None:
        """Open the next broken trace on its break: the one under the cursor first, if it was not opened yet."""
        current = self.chains.current
        if current is not None and current.broken is not None and self._last_opened != current.id:
            self._open(current)
            return
        await self._to_break(forward=True)

    async def action_previous_break(self) -> None:
        """Open the previous broken trace."""
        await self._to_break(forward=False)

    def action_filter(self) -> None:
        """Open the filter bar."""
        self.query_one(FilterBar).open(self.filter_text, before=self.filter_text)

    def action_search(self) -> None:
        """Open the filter bar, to type words after the current filter."""
        filter_text = self.filter_text
        self.query_one(FilterBar).open(f"{filter_text} " if filter_text else "", before=filter_text)

    def action_next_match(self) -> None:
        """Go to the next trace that contains the words."""
        self._to_match(1)

    def action_previous_match(self) -> None:
        """Go to the previous trace that contains the words."""
        self._to_match(-1)

    def action_broken(self) -> None:
        """Show only broken traces, or all again."""
        self.load(toggled(self.filter_text, "status:broken"), keep=self.chains.current)

    def action_clear(self) -> None:
        """Show all traces again."""
        if self.filter_text:
            self.load("", keep=self.chains.current)

    def action_sort(self) -> None:
        """Choose the order of the list."""
        choices = [DialogChoice(order.value, about, order.value) for order, about in ORDER_WORDS.items()]
        self.app.push_screen(ChoiceDialog("sort by", choices), self._sort)

    def action_newest(self) -> None:
        """Sort the newest first, or the broken first again."""
        self._sort(Order.BROKEN if self.order is Order.TIME else Order.TIME)

    def action_views(self) -> None:
        """Choose a saved view, or save the filter and the order under a name."""
        try:
            views = [view for view in saved_views() if view.page == VIEWS_PAGE]
        except WeaklinkError as error:
            self.toast(str(error), is_error=True)
            return
        choices = [DialogChoice(view.name, view.state.get("filter", ""), view.name) for view in views]
        present = DialogChoice("save …", "Saves the current filter and order under a name.", "")
        self.app.push_screen(ChoiceDialog("views", [*choices, present]), partial(self._choose_view, views))

    def _choose_view(self, views: Sequence[SavedView], name: str | None) -> None:
        chosen = next((view for view in views if view.name == name), None)
        if chosen is not None:
            order = chosen.state.get("order", "")
            self.order = Order(order) if order in tuple(Order) else Order.TIME
            self.load(chosen.state.get("filter", ""))
        elif name is not None:
            about = "The dashboard shows it too; a view of the same name is replaced."
            self.app.push_screen(LineDialog("save this view as", about=about), self._save_view)

    def _save_view(self, name: str | None) -> None:
        if not name:
            return
        try:
            told = save_view(SavedView(name, VIEWS_PAGE, {"filter": self.filter_text, "order": self.order.value}))
        except WeaklinkError as error:
            self.toast(str(error), is_error=True)
        else:
            self.toast(told)

    def action_reload(self) -> None:
        """Read the database again."""
        self.access.forget()
        self.load(self.filter_text, keep=self.chains.current)

    def action_quit(self) -> None:
        """Quit weaklink."""
        self.app.exit()

    def _sort(self, order: str | None) -> None:
        if order is not None:
            self.order = Order(order)
            self.load(self.filter_text)

    def _open(self, summary: TraceSummary | None) -> None:
        if summary is not None:
            self._last_opened = summary.id
            self._open_trace(summary.id, summary.broken.step if summary.broken else None)

    async def _open_current(self) -> None:
        try:
            await self.chains.read_current()
        except WeaklinkError as error:
            self.failed(error)
        current = self.chains.current
        if current is not None and has_words(self.chains.filter_text):
            await self._open_at_words(current)
        else:
            self._open(current)

    async def _open_at_words(self, summary: TraceSummary) -> None:
        try:
            hit = await self.access.query(partial(_first_hit, summary=summary, filter_text=self.chains.filter_text))
        except WeaklinkError:
            hit = None  # the status line shows problems of the store
        if hit is None or hit.location is None:
            self._open(summary)
        else:
            self._last_opened = summary.id
            words = hit.match.of(hit.excerpt).lower()
            self._open_trace(summary.id, link=Link(str(summary.id), location=hit.location), words=words)

    def load(self, filter_text: str, *, keep: TraceSummary | None = None) -> None:
        """Begin to load the list of a filter; cancels a load that is in progress."""
        self.problem = None
        self.filter_text = filter_text
        start_work(self, partial(self._loaded, filter_text, keep=keep), "load")

    async def _loaded(self, filter_text: str, *, keep: TraceSummary | None) -> None:
        status = self.query_one(StatusLine)
        self._work += 1
        mine = self._work
        status.working = "reading"
        try:
            if has_words(filter_text):
                await self._index()
            self.store_version = await self.access.query(lambda store: store.paging().version())
            await self.chains.load(filter_text, self.order)
            await self.count_again()
            self.update_status()
            status.working = "" if self.chains.pages.is_complete else "counting"
            await self.chains.walk(keep=keep)
        except FilterError as error:
            self.filter_text = self.chains.filter_text
            self.query_one(FilterBar).open(filter_text, before=self.chains.filter_text)
            self.query_one(FilterBar).show_error(error)
        except WeaklinkError as error:
            self.failed(error)
        finally:
            if mine == self._work:
                status.working = ""

    async def _complete(self, text: str, cursor: int) -> Sequence[FilterCompletion]:
        try:
            return await self.access.query(lambda store: store.complete(text, cursor))
        except WeaklinkError:
            return ()  # the status line shows problems of the store

    async def _index(self) -> None:
        """Add to the text index what it lacks, and show the progress."""
        status = self.query_one(StatusLine)
        done = 0
        try:
            while read := await self.access.query(lambda store: store.search.index_pending(limit=_INDEXED)):
                done += read
                status.working = f"added {counted(done, 'trace')} to the text index"
        except NoDatabaseYetError:
            return  # the list says so
        except WeaklinkError as error:
            sentence = error_sentence(error, self.access.name)
            self.toast(f"{sentence} Traces that are not yet in the text index are not searched.", is_error=True)

    def _to_match(self, by: int) -> None:
        """Go to another trace that contains the words: if the filter has words, the list contains no others."""
        index = self.chains.cursor + by
        if not has_words(self.chains.filter_text):
            self.toast("No search words; press `/` to enter some.")
        elif 0 <= index < self.chains.pages.count:
            self.chains.move_to(index)
        else:
            self.toast(f"No {'earlier' if by < 0 else 'later'} trace contains the words.")

    async def _to_break(self, *, forward: bool) -> None:
        """Open the nearest broken trace in a direction; forwards, the first one follows the last."""
        filter_text = self.chains.filter_text
        try:
            await self.chains.read_current()
            after = self.chains.list_cursor
            if forward:
                broken = await self.access.query(
                    partial(_next_broken, filter_text=filter_text, order=self.order, after=after)
                )
            elif after is not None:
                broken = await self.access.query(
                    partial(_broken_before, filter_text=filter_text, order=self.order, before=after)
                )
            else:
                broken = None
            if broken is not None:
                await self.chains.go_to(broken.summary, broken.cursor)
                self._open(broken.summary)
            else:
                self.toast("No trace of this list is broken." if forward else "No trace before this one is broken.")
        except WeaklinkError as error:
            self.failed(error)

    def _refresh_preview(self) -> None:
        current = self.chains.current
        self.query_one(ChainDetail).look_at(current, self.chains.filter_text)
        self.query_one(KeyFooter).priority_commands = (
            _OF_RUNNING if current is not None and current.is_open else frozenset()
        )

    def update_status(self) -> None:
        """Update the lines above the list."""
        pages, filter_text = self.chains.pages, self.chains.filter_text
        about: Line = (Run("f: ", Style.DIM), Run(visible_line(filter_text), Style.KEY)) if filter_text else ()
        problem = error_sentence(self.problem, self.access.name) if self.problem and pages.count else ""
        right = (*actions.shown_count(pages, filter_text, self.total, self.chains.order), *self.mood())
        self.query_one(StatusLine).status_text = StatusText(
            ("weaklink", self._database_name, "traces"), about, right, problem
        )
        spots = actions.status_cells(self.counts, filter_text)
        self.query_one("#statuses", LineBar).offer(spots)
        columns = self.chains.columns(self.size.width)
        self.query_one("#head", LineBar).show_lines([columns.head(self.order)])
        self.set_class(not pages.count, "nothing")
        if not pages.count and (self.problem or pages.is_complete):
            sentences = actions.empty_list_sentences(self.access.name, filter_text, self.problem)
            self.query_one("#nothing", LineBar).show_lines([*map(quoted, sentences)])
        elif self.focused is None:
            self.chains.focus()

    @property
    def _database_name(self) -> str:
        return self.access.name.rpartition("/")[2]


def _next_broken(store: Store, *, filter_text: str, order: Order, after: ListCursor | None) -> Listed | None:
    page = partial(store.paging().page, narrowed(filter_text, "status:broken"), order, limit=1)
    listed = page(after=after) or page()
    return listed[0] if listed else None


def _broken_before(store: Store, *, filter_text: str, order: Order, before: ListCursor) -> Listed | None:
    return store.paging().before(narrowed(filter_text, "status:broken"), order, start=before)


class ChainDetail(LineBar):
    """Shows the detail of the trace under the cursor, once the cursor rests on it."""

    DEFAULT_CSS = """
    ChainDetail { height: 3; padding: 0 1; background: $surface; text-wrap: wrap; }
    """

    def __init__(self, access: StoreAccess) -> None:
        super().__init__(id="detail")
        self._access = access
        self._known: dict[tuple[object, ...], tuple[Line, ...]] = {}

    def look_at(self, summary: TraceSummary | None, filter_text: str) -> None:
        """Show this trace, as the filter `filter_text` found it."""
        if summary is None:
            self.show_lines([])
            return
        key = (
            summary.id,
            summary.turns,
            summary.characters,
            summary.errors,
            summary.note,
            self.size.width,
            filter_text,
        )
        if key in self._known:
            self.show_lines(self._known[key])
            self.workers.cancel_group(self, "detail")
        else:
            start_work(self, partial(self._read, summary, filter_text, key), "detail")

    async def _read(self, summary: TraceSummary, filter_text: str, key: tuple[object, ...]) -> None:
        await asyncio.sleep(_DEBOUNCE_S)
        lines = _detail_lines(summary)
        try:
            query = partial(_looked_up, summary=summary, filter_text=filter_text, width=max(self.size.width, 20))
            lines = (*await self._access.query_trace(query), *lines)
        except WeaklinkError:
            pass  # the status line shows problems of the store
        if len(self._known) >= _CACHE_SIZE:
            self._known.clear()
        self._known[key] = lines
        self.show_lines(lines)


def _detail_lines(summary: TraceSummary) -> tuple[Line, ...]:
    """The note on the chain, and what broke it."""
    note = summary.note[:_MAX_NOTE_CHARS]
    noted: tuple[Line, ...] = ((Run("✎ ", Style.KEY), *visible_runs(note)),) if note else ()
    if summary.broken is not None:
        return (*noted, (Run(f"#{summary.broken.step} ", Style.ERROR), *quoted(summary.broken.message)))
    return noted


def _looked_up(store: Store, *, summary: TraceSummary, filter_text: str, width: int) -> list[Line]:
    lines: list[Line] = []
    if summary.characters <= _MAX_CHARS and summary.turns + summary.tool_calls <= _MAX_ITEMS:
        lines.append(minimap(*store.inspected(summary.id), width))
    else:
        lines.append((Run("a long trace; open it to see its map", Style.DIM),))
    hit = _first_hit(store, summary=summary, filter_text=filter_text) if has_words(filter_text) else None
    if hit is not None:
        lines += list(hit_lines([hit], width=width))[2:3]
    return lines


def _first_hit(store: Store, *, summary: TraceSummary, filter_text: str) -> SearchHit | None:
    """The first hit of a filter's words in a trace; None if the trace no longer has them."""
    just_before = ListCursor(summary.cursor.sort_at_s, summary.id + 1)
    hits = store.search.find(filter_text, limit=1, after=just_before).hits
    return next((hit for hit in hits if hit.trace.id == summary.id), None)
