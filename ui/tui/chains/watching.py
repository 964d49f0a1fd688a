"""A list of traces that follows its store, and the callbacks that open other screens from it."""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Protocol

from msgspec import Struct

from inspector.errors import WeaklinkError
from storage import Order, Pulse, Store, TraceSummary
from ui.tui.chains.actions import ChainActions
from ui.tui.store_access import StoreAccess, error_sentence
from ui.views.links import Link
from ui.views.styled_text import Line, Run, Style
from ui.views.wording import counted

_POLL_S = 1.0  # how often the store is asked whether it has changed
_REFRESHED = frozenset({Order.TIME, Order.BROKEN})  # lists whose newest traces are taken at the top
_POLLS_PER_COUNT = 5  # beats from one count of all traces to the next
_CALLBACKS = {"diff": "diff", "reread": "reread", "live": "live", "rules": "rules", "import": "read_in"}


class ChainsFollowingStore(ChainActions):
    """A screen with a list of chains that follows its store. Whoever is one loads the list, and says what it knows."""

    def __init__(self, access: StoreAccess) -> None:
        super().__init__(access)
        self.order = Order.BROKEN
        self.wanted = ""  # the filter of the list, or of the one that is being read to take its place
        self.counts: dict[str, int] = {}  # of what the filter lets through
        self.total = 0  # traces in the store
        self.pulse = Pulse(0, frozenset())
        self.problem: WeaklinkError | None = None
        self._follows = False
        self._paused = False
        self._waiting = 0
        self._beating = False
        self._beats = 0
        self._has_unlisted = False  # new traces belong between those that the list shows
        self.short_turns = 0

    @abstractmethod
    def load(self, wanted: str, *, keep: TraceSummary | None = None) -> None:
        """Begin to read the list of a filter."""

    @abstractmethod
    def say_all(self) -> None:
        """Say everything that is known."""

    def watch_store(self) -> None:
        """Look every second whether the store has changed."""
        self.set_interval(_POLL_S, self.beat)

    def action_follow(self) -> None:
        """Keep the cursor at the top, which is the newest chain where the broken were first; or let it go."""
        self._follows = not self._follows
        if self._follows:
            self._paused = False
            self.chains.move_to(0)
            if self.order is Order.BROKEN:
                self.order = Order.TIME
                self.load(self.wanted)
        self.say_all()

    def action_pause(self) -> None:
        """Hold the list still, or go on."""
        self._paused = not self._paused
        if not self._paused:
            self._waiting = 0
            self.pulse = Pulse(0, frozenset())
        self.say_all()

    async def beat(self) -> None:
        """See whether the store has changed, and what."""
        if self._beating:
            return
        self._beating = True
        try:
            pulse = await self._access.ask(lambda store: store.paging().pulse())
            if self.problem is not None:
                self.load(self.wanted, keep=self.chains.current)
            elif self._paused:
                self._waiting = max(pulse.newest_id - self.pulse.newest_id, 0)
                self.say_all()
            elif pulse != self.pulse or pulse.open:
                await self._changed(pulse)
            if not self._paused and self.problem is None:
                await self._count(pulse)
        except WeaklinkError as error:
            self.failed(error)
        finally:
            self._beating = False

    async def _changed(self, pulse: Pulse) -> None:
        """Take what is new at the top; where a list by time has more new traces than those, read it anew."""
        came = pulse.newest_id - self.pulse.newest_id
        self.pulse = pulse
        self.short_turns = await self._access.ask(lambda store: store.paging().short_turns()) if pulse.open else 0
        if self.order not in _REFRESHED:
            return  # a list that is sorted by a value is as it was when it was sorted
        new = await self.chains.refresh_head(stay_on_newest=self._follows)
        if came < 0:
            self.load(self.wanted, keep=self.chains.current)
        elif came:
            await self.count_again()
            is_short = new < came and not self.wanted
            self._has_unlisted = self._has_unlisted or (new < came and self.order is Order.BROKEN)
            if not self.chains.pages.count or (is_short and self.order is Order.TIME):
                self.load(self.wanted, keep=None if self._follows else self.chains.current)
        self.say_all()

    async def _count(self, pulse: Pulse) -> None:
        """Now and then see whether traces went, or stand elsewhere in a list that is sorted or filtered."""
        self._beats += 1
        if self._beats % _POLLS_PER_COUNT:
            return
        before, total = self.counts, self.total
        await self.count_again()
        changed, fewer = (self.counts, self.total) != (before, total), self.total < total
        moves = self._follows and (changed or pulse.open) and (self.wanted or self.order is not Order.TIME)
        unlisted, self._has_unlisted = self._has_unlisted, False
        if fewer or moves or unlisted or (changed and self.order is Order.BROKEN):
            self.load(self.wanted, keep=None if self._follows else self.chains.current)
        elif changed:
            self.say_all()

    async def count_again(self) -> None:
        """Count the traces of each status that the filter lets through, and all traces."""
        self.counts, self.total = await self._access.ask(partial(_counted, wanted=self.chains.wanted))

    def failed(self, error: WeaklinkError) -> None:
        """Say what is wrong with the store: in the status line as long as it is, and once beside it."""
        said = error_sentence(error, self._access.name)
        if self.problem is None or error_sentence(self.problem, self._access.name) != said:
            self.problem = error
            if self.chains.pages.count:
                self.tell(said, is_error=True)
        self.say_all()

    def mood(self) -> Line:
        """Whether the list follows or is held still."""
        if self._paused:
            return (*self._lost(), Run(f"  ‖ paused, {self._waiting:,} new", Style.WARNING))
        return (*self._lost(), Run("  following", Style.OK) if self._follows else Run("  not following", Style.DIM))

    def _lost(self) -> Line:
        """How much of what is being recorded could not be kept, where the store knows of any."""
        short = self.short_turns
        return (Run(f"  … {counted(short, 'turn')} not kept whole", Style.WARNING),) if short else ()


def _counted(store: Store, *, wanted: str) -> tuple[dict[str, int], int]:
    paging = store.paging()
    counts = paging.status_counts(wanted)
    return counts, sum((paging.status_counts() if wanted else counts).values())


class TraceOpener(Protocol):
    """Opens a trace where a link leads, else on a step, else on its break; `words` are those that `n` finds next."""

    def __call__(self, id: int, step: int | None = None, link: Link | None = None, words: str = "") -> None:
        """Open it."""
        ...


class ChainCallbacks(Struct, frozen=True):
    """What opens other screens; a command without its door is not offered."""

    diff: Callable[[int], None] | None = None
    reread: Callable[[int], None] | None = None
    live: Callable[[int | None], None] | None = None
    rules: Callable[[], None] | None = None
    read_in: Callable[[], None] | None = None


class ChainsWithCallbacks(ChainsFollowingStore):
    """A screen with a list of chains and doors to other screens."""

    def __init__(self, access: StoreAccess, doors: ChainCallbacks) -> None:
        super().__init__(access)
        self.doors = doors

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What no screen can do is not offered."""
        door = _CALLBACKS.get(action)
        if door is not None and getattr(self.doors, door) is None:
            return False
        return super().check_action(action, parameters)

    def action_diff(self) -> None:
        """Compare the chain with the marked ones."""
        if self.doors.diff is not None and self.chains.current is not None:
            self.doors.diff(self.chains.current.id)

    def action_reread(self) -> None:
        """Read the chain's stream with other formats."""
        if self.doors.reread is not None and self.chains.current is not None:
            self.doors.reread(self.chains.current.id)

    def action_live(self) -> None:
        """Watch the chain while it is being recorded; where it has ended, the newest that is."""
        current = self.chains.current
        if self.doors.live is not None:
            self.doors.live(current.id if current is not None and current.is_open else None)

    def action_rules(self) -> None:
        """List the rules."""
        if self.doors.rules is not None:
            self.doors.rules()

    def action_import(self) -> None:
        """Ask for files to import."""
        if self.doors.read_in is not None:
            self.doors.read_in()
