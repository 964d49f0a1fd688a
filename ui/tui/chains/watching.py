"""A list of chains that is kept true: new traces come to its top, and what is wrong with the store is said."""

from abc import abstractmethod

from inspector.errors import WeaklinkError
from storage import Order, Pulse, TraceSummary
from ui.tui.chains.deeds import ChainDeeds
from ui.tui.store_access import StoreAccess, sentence
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.wording import counted

_BEAT_S = 1.0  # how often the store is asked whether it has changed
_COUNTED = 5  # beats from one count of all traces to the next


class WatchedChains(ChainDeeds):
    """A screen with a list of chains that follows its store. Whoever is one loads the list, and says what it knows."""

    def __init__(self, access: StoreAccess) -> None:
        super().__init__(access)
        self.order = Order.TIME
        self.wanted = ""  # the filter of the list, or of the one that is being read to take its place
        self.counts: dict[str, int] = {}
        self.pulse = Pulse(0, frozenset())
        self.problem: WeaklinkError | None = None
        self._follows = False
        self._paused = False
        self._waiting = 0
        self._beating = False
        self._beats = 0
        self.short_turns = 0

    @abstractmethod
    def load(self, wanted: str, *, keep: TraceSummary | None = None, prefer_broken: bool = False) -> None:
        """Begin to read the list of a filter."""

    @abstractmethod
    def say_all(self) -> None:
        """Say everything that is known."""

    def watch_store(self) -> None:
        """Look every second whether the store has changed."""
        self.set_interval(_BEAT_S, self.beat)

    def action_follow(self) -> None:
        """Keep the cursor on the newest chain, or let it go."""
        self._follows = not self._follows
        if self._follows:
            self._paused = False
            self.chains.move_to(0)
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
        """Take what is new at the top; where more came than stands there, read the list anew."""
        came = pulse.newest_id - self.pulse.newest_id
        self.pulse = pulse
        self.short_turns = await self._access.ask(lambda store: store.paging().short_turns()) if pulse.open else 0
        if self.order is not Order.TIME:
            return  # a list that is not by time is as it was when it was sorted
        new = await self.chains.refresh_head(stay_on_newest=self._follows)
        if came < 0:
            self.load(self.wanted, keep=self.chains.current)
        elif came:
            self.counts = await self._access.ask(lambda store: store.paging().status_counts())
            if not self.chains.pages.count or (new < came and not self.wanted):
                self.load(self.wanted, keep=None if self._follows else self.chains.current)
        self.say_all()

    async def _count(self, pulse: Pulse) -> None:
        """Now and then see whether traces went, or stand elsewhere in a list that is sorted or filtered."""
        self._beats += 1
        if self._beats % _COUNTED:
            return
        counts = await self._access.ask(lambda store: store.paging().status_counts())
        changed, fewer = counts != self.counts, sum(counts.values()) < sum(self.counts.values())
        moves = self._follows and (changed or pulse.open) and (self.wanted or self.order is not Order.TIME)
        self.counts = counts
        if fewer or moves:
            self.load(self.wanted, keep=None if self._follows else self.chains.current)
        elif changed:
            self.say_all()

    def failed(self, error: WeaklinkError) -> None:
        """Say what is wrong with the store: in the status line as long as it is, and once beside it."""
        said = sentence(error, self._access.name)
        if self.problem is None or sentence(self.problem, self._access.name) != said:
            self.problem = error
            if self.chains.pages.count:
                self.tell(said, is_error=True)
        self.say_all()

    def mood(self) -> Line:
        """Whether the list follows or is held still."""
        if self._paused:
            return (*self._lost(), Run(f"  ‖ paused, {self._waiting:,} new", Style.WARNING))
        return (*self._lost(), Run("  ● follow", Style.OK) if self._follows else Run("  ○ follow", Style.DIM))

    def _lost(self) -> Line:
        """How much of what is being recorded could not be kept, where the store knows of any."""
        short = self.short_turns
        return (Run(f"  … {counted(short, 'turn')} not kept whole", Style.WARNING),) if short else ()
