"""A list of traces that follows its store, actions on the trace under the cursor, and callbacks to other screens."""

import shlex
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol

from msgspec import Struct, structs

from weaklink.inspector.chain.steps import Status
from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.model import Liveness
from weaklink.storage.listing import Order, StoreVersion
from weaklink.storage.marks import Mark
from weaklink.storage.schema import DatabaseGoneError, NoDatabaseYetError
from weaklink.storage.store import Store
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.tui.chains.chain_list import ChainList, TracePages
from weaklink.ui.tui.dialogs import DialogChoice, StoreScreen, copy_choice
from weaklink.ui.tui.line_bar import ClickTarget
from weaklink.ui.tui.store_access import StoreAccess, error_sentence, start_work
from weaklink.ui.views.links import Link, database_option
from weaklink.ui.views.status import LIVENESS, status_run
from weaklink.ui.views.styled_text import Line, Run, Style, counted, visible_line
from weaklink.ui.views.trace_columns import ORDER_WORDS
from weaklink.ui.views.trace_summary import trace_title

_MAX_IDS = 8
_POLL_S = 1.0  # how often to check whether the store has changed
_REFRESHED = frozenset({Order.TIME, Order.BROKEN})  # orders in which new traces appear at the top
_POLLS_PER_COUNT = 5  # polls from one count of all traces to the next
_CALLBACKS = {"diff": "diff", "reread": "reread", "live": "live", "rules": "rules", "import": "open_import"}


class TraceOpener(Protocol):
    """Opens a trace at the place of a link, else on a step, else on its break; `n` then searches for `words`."""

    def __call__(self, id: int, step: int | None = None, link: Link | None = None, words: str = "") -> None:
        """Open the trace."""
        ...


class ChainCallbacks(Struct, frozen=True):
    """Callbacks that open other screens; a command whose callback is None is not available."""

    diff: Callable[[int], None] | None = None
    reread: Callable[[int], None] | None = None
    live: Callable[[int | None], None] | None = None
    rules: Callable[[], None] | None = None
    open_import: Callable[[], None] | None = None


class FollowedChains(StoreScreen[None]):
    """A screen with a list of traces that follows its store, and actions on the trace under the cursor.

    The subclass loads the list, and shows its state. `callbacks` open other screens.
    """

    def __init__(self, access: StoreAccess, callbacks: ChainCallbacks) -> None:
        super().__init__()
        self.access = access
        self.callbacks = callbacks
        self.order = Order.BROKEN
        self.filter_text = ""  # the filter of the list, or of the one that is being loaded
        self.counts: dict[str, int] = {}  # traces per status that match the filter
        self.total = 0  # traces in the store
        self.store_version = StoreVersion(0, frozenset())
        self.problem: WeaklinkError | None = None
        self._follows = False
        self._paused = False
        self._waiting = 0
        self._beating = False
        self._beats = 0
        self._has_unlisted = False  # new traces belong between those in the list
        self.short_turns = 0

    @abstractmethod
    def load(self, filter_text: str, *, keep: TraceSummary | None = None) -> None:
        """Begin to load the list of a filter."""

    @abstractmethod
    def update_status(self) -> None:
        """Update all texts of the screen."""

    def watch_store(self) -> None:
        """Poll the store every second."""
        self.set_interval(_POLL_S, self.beat)

    def action_follow(self) -> None:
        """Keep the cursor on the newest trace, at the top, or stop; sorts newest first if broken traces were first."""
        self._follows = not self._follows
        if self._follows:
            self._paused = False
            self.chains.move_to(0)
            if self.order is Order.BROKEN:
                self.order = Order.TIME
                self.load(self.filter_text)
        self.update_status()

    def action_pause(self) -> None:
        """Pause the list, or continue."""
        self._paused = not self._paused
        if not self._paused:
            self._waiting = 0
            self.store_version = StoreVersion(0, frozenset())
        self.update_status()

    async def beat(self) -> None:
        """Poll the store, and apply its changes to the list."""
        if self._beating:
            return
        self._beating = True
        try:
            version = await self.access.query(lambda store: store.paging().version())
            if self.problem is not None:
                self.load(self.filter_text, keep=self.chains.current)
            elif self._paused:
                self._waiting = max(version.newest_id - self.store_version.newest_id, 0)
                self.update_status()
            elif version != self.store_version or version.open:
                await self._changed(version)
            if not self._paused and self.problem is None:
                await self._count(version)
        except WeaklinkError as error:
            self.failed(error)
        finally:
            self._beating = False

    async def _changed(self, version: StoreVersion) -> None:
        """Add the new traces at the top; reload a list by time that has more new traces than those."""
        arrived = version.newest_id - self.store_version.newest_id
        self.store_version = version
        self.short_turns = await self.access.query(lambda store: store.paging().short_turns()) if version.open else 0
        if self.order not in _REFRESHED:
            return  # a list that is sorted by a value stays as it was sorted
        new = await self.chains.refresh_head(stay_on_newest=self._follows)
        if arrived < 0:
            self.load(self.filter_text, keep=self.chains.current)
        elif arrived:
            await self.count_again()
            is_short = new < arrived and not self.filter_text
            self._has_unlisted = self._has_unlisted or (new < arrived and self.order is Order.BROKEN)
            if not self.chains.pages.count or (is_short and self.order is Order.TIME):
                self.load(self.filter_text, keep=None if self._follows else self.chains.current)
        self.update_status()

    async def _count(self, version: StoreVersion) -> None:
        """Every few polls, reload the list if traces were deleted, or have moved in a sorted or filtered list."""
        self._beats += 1
        if self._beats % _POLLS_PER_COUNT:
            return
        before, total = self.counts, self.total
        await self.count_again()
        changed, fewer = (self.counts, self.total) != (before, total), self.total < total
        moves = self._follows and (changed or version.open) and (self.filter_text or self.order is not Order.TIME)
        unlisted, self._has_unlisted = self._has_unlisted, False
        if fewer or moves or unlisted or (changed and self.order is Order.BROKEN):
            self.load(self.filter_text, keep=None if self._follows else self.chains.current)
        elif changed:
            self.update_status()

    async def count_again(self) -> None:
        """Count the traces of each status that match the filter, and all traces."""
        self.counts, self.total = await self.access.query(partial(_counted, filter_text=self.chains.filter_text))

    def failed(self, error: WeaklinkError) -> None:
        """Show a problem of the store: in the status line while it lasts, and once as a toast."""
        sentence = error_sentence(error, self.access.name)
        if self.problem is None or error_sentence(self.problem, self.access.name) != sentence:
            self.problem = error
            if self.chains.pages.count:
                self.toast(sentence, is_error=True)
        self.update_status()

    def mood(self) -> Line:
        """The state of the list: following, not following or paused, and turns that were not kept whole."""
        if self._paused:
            return (*self._lost(), Run(f"  ‖ paused, {self._waiting:,} new", Style.WARNING))
        return (*self._lost(), Run("  following", Style.OK) if self._follows else Run("  not following", Style.DIM))

    def _lost(self) -> Line:
        """The number of running turns that were not kept whole; empty if there are none."""
        short = self.short_turns
        return (Run(f"  … {counted(short, 'turn')} shown in part", Style.WARNING),) if short else ()

    @property
    def chains(self) -> ChainList:
        """The list."""
        return self.query_one(ChainList)

    def on_screen_resume(self) -> None:
        """Show marks and notes that were set on another screen."""
        if self.chains.current is not None:
            start_work(self, self._look_again, "resume")

    def action_export(self) -> None:
        """Ask for a file and write the chain to it."""
        current = self.chains.current
        if current is not None:
            self.ask_export(current)

    def action_copy(self) -> None:
        """Choose what to copy."""
        current = self.chains.current
        if current is not None:
            step = current.broken.step if current.broken else None
            self.ask_copy(f"copy of trace {current.id}", copies_of(current, self.access.where, step))

    def action_mark(self) -> None:
        """Mark the chain, or remove its mark."""
        if self.chains.current is not None:
            self.toggle_mark(self.chains.current.id)

    def action_note(self) -> None:
        """Ask for a note on the chain as a whole and save it."""
        current = self.chains.current
        if current is not None:
            self.ask_note(current.id, None, current.own_note)

    async def marks_changed(self, marks: tuple[Mark, ...]) -> None:
        """Show the marks of the chain under the cursor."""
        await self.chains.refresh_current()

    async def _look_again(self) -> None:
        with suppress(WeaklinkError):  # polling reports problems of the store
            await self.chains.refresh_current()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable commands that have no callback."""
        callback = _CALLBACKS.get(action)
        if callback is not None and getattr(self.callbacks, callback) is None:
            return False
        return super().check_action(action, parameters)

    def action_diff(self) -> None:
        """Compare the chain with the marked ones."""
        if self.callbacks.diff is not None and self.chains.current is not None:
            self.callbacks.diff(self.chains.current.id)

    def action_reread(self) -> None:
        """Read the chain's stream with other formats."""
        if self.callbacks.reread is not None and self.chains.current is not None:
            self.callbacks.reread(self.chains.current.id)

    def action_live(self) -> None:
        """Watch the chain while it is recorded; if it has ended, watch the newest running one."""
        current = self.chains.current
        if self.callbacks.live is not None:
            self.callbacks.live(current.id if current is not None and current.is_open else None)

    def action_rules(self) -> None:
        """List the rules."""
        if self.callbacks.rules is not None:
            self.callbacks.rules()

    def action_import(self) -> None:
        """Open the import dialog."""
        if self.callbacks.open_import is not None:
            self.callbacks.open_import()


def status_cells(counts: Mapping[str, int], filter_text: str) -> list[ClickTarget]:
    """The number of traces of each status; a click filters by it, and the filter's status is in brackets."""
    signs = {status.value: status_run(status) for status in Status}
    signs |= {state.value: LIVENESS[state] for state in (Liveness.RUNNING, Liveness.IDLE)}
    spots = []
    for status, run in signs.items():
        if counts.get(status):
            line: Line = (Run(f"{run.text[0]} {counts[status]:,} {status}", run.style),)
            if f"status:{status}" in filter_text.split():
                line = (Run("[", Style.STRONG), *line, Run("]", Style.STRONG))
            spots.append(ClickTarget(f"status:{status}", line))
    return spots


def shown_count(pages: TracePages, filter_text: str, total: int, order: Order) -> Line:
    """How many traces are shown of `total`; `+` while the list is still being read."""
    if not (pages.count or pages.is_complete):
        return ()  # nothing has been read yet, or reading failed
    more = "" if pages.is_complete else "+"
    sorted_ = f", {ORDER_WORDS[order]}"
    if not (filter_text or pages.is_complete) and total > pages.count:
        return (Run(f"{total:,}", Style.STRONG), Run(f" {_traces(total)}{sorted_}"))
    of = f" of {total:,}" if filter_text and total else ""
    what = _traces(total if of else pages.count)
    return (Run(f"{pages.count:,}{more}", Style.STRONG), Run(f"{of} {what}{sorted_}"))


def _traces(count: int) -> str:
    return "trace" if count == 1 else "traces"


def empty_list_sentences(database: str, filter_text: str, problem: WeaklinkError | None) -> Sequence[str]:
    """Why the list is empty, and what to do about it."""
    if isinstance(problem, NoDatabaseYetError) and not isinstance(problem, DatabaseGoneError):
        return (
            f"There is no database at `{database}` yet.",
            "`weaklink import PATH` reads logs, `weaklink run -- COMMAND` records an agent.",
            "`weaklink demo` shows samples, in a database of their own.",
            "New traces appear here automatically. `weaklink tui --db PATH` opens another database.",
        )
    if problem is not None:
        sentence = error_sentence(problem).removesuffix(" `ctrl+r` tries again.")
        return (sentence, "`ctrl+r` tries again, `q` quits.")
    if filter_text:
        return (f"No trace matches the filter `{filter_text}`.", "`esc` clears it, `f` changes it.")
    return (
        f"The database `{database}` contains no traces yet.",
        "`weaklink import PATH` reads logs, `weaklink run -- COMMAND` records an agent.",
        "New traces appear here automatically.",
    )


def copies_of(summary: TraceSummary, database: str | None, step: int | None = None) -> Sequence[DialogChoice]:
    """The parts of a chain that can be copied."""
    ours = {
        "command": shlex.join(("weaklink", "show", str(summary.id), *database_option(database))),
        "link": str(Link(str(summary.id), step=step)),
        "id": str(summary.id),
        "name": trace_title(summary),
        "file": summary.file,
    }
    theirs = [
        copy_choice(f"source's {name}" if name in ours else name, value)
        for name, value in list(summary.external_ids.items())[:_MAX_IDS]
    ]
    *before, file = (copy_choice(name, value) for name, value in ours.items())
    about = visible_line(f"{summary.file} {summary.record}".strip())
    return [*before, *theirs, *([structs.replace(file, about=about)] if summary.file else ())]


def _counted(store: Store, *, filter_text: str) -> tuple[dict[str, int], int]:
    paging = store.paging()
    counts = paging.status_counts(filter_text)
    return counts, sum((paging.status_counts() if filter_text else counts).values())
