"""The live view: a growing stream, its open spans, spans that close, and faults while the model still writes."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import ClassVar, Protocol

from msgspec import Struct
from textual.app import ComposeResult
from textual.binding import BindingType

from weaklink.inspector.capture.events import ChunksArrived, RecordEvent, TraceEnded, TurnEnded
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.errors import StoreError, WeaklinkError
from weaklink.inspector.model import Span, ToolCall
from weaklink.storage.running.following import Following
from weaklink.storage.store import Store
from weaklink.ui.tui.commands import Command, bindings
from weaklink.ui.tui.dialogs import UpperScreen
from weaklink.ui.tui.line_bar import KeyFooter, LineBar, StatusLine
from weaklink.ui.tui.line_view import LineList, LineView
from weaklink.ui.tui.live_trace import MAX_TURNS, GrowingLines, GrowingTrace
from weaklink.ui.tui.store_access import StoreAccess, error_sentence, start_work
from weaklink.ui.views import live as live_lines
from weaklink.ui.views.styled_text import Line, Run, Style, counted, visible_line
from weaklink.ui.views.trace import model_of, title_of

LIVE_COMMANDS = (
    Command("live.pause", "Pause", "Pause the stream while more arrives, or continue.", ("p",), footer="Pause"),
    Command("live.follow", "Follow", "Follow the end of the stream, or stop following it.", ("F",), footer="Follow"),
    Command("live.next-pane", "Next pane", "Focus the other list.", ("tab", "shift+tab"), footer="Next pane"),
    Command("live.open", "Dissect", "Open the trace as recorded so far.", ("o",), footer="Dissect"),
    Command("live.reload", "Reload", "Start again from the beginning.", ("ctrl+r",)),
    Command("live.back", "Back", "Go back to the previous screen.", ("escape", "q"), footer="Back"),
)
"""The scope `live`."""

_POLL_S = 0.2
_RETRY_S = 1.0  # after a query that failed
_MAX_EVENTS = 2_000  # events, and lines of them, below the stream
_MAX_WAITING = 50_000  # events that wait while the view is paused; the rest stays in the database until then
_SPARKLINE_S = 30
_BARS = "▁▂▃▄▅▆▇█"


class LiveScreen(UpperScreen):
    """Shows trace `id` while it is recorded; once it has ended, closes and calls `on_ended`."""

    ACTIONS: ClassVar[tuple[Command, ...]] = LIVE_COMMANDS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(LIVE_COMMANDS)]
    DEFAULT_CSS = """
    LiveScreen { background: $background; }
    LiveScreen #stream { height: 2fr; }
    LiveScreen #heading { background: $surface; }
    LiveScreen #events { height: 1fr; }
    """

    def __init__(self, access: StoreAccess, id: int, on_ended: Callable[[int], None]) -> None:
        super().__init__(access, f"trace {id}", "live")
        self._trace_id = id
        self._on_ended = on_ended
        self._rate = ChunkRate()
        self._growing = GrowingTrace(self._span_closed, self._fault_found)
        self._lines = GrowingLines(self._growing, 80)
        self._shown_events: deque[_LiveEvent] = deque(maxlen=_MAX_EVENTS)
        self._events: list[Line] = []
        self._waiting: list[RecordEvent] = []
        self._is_paused = False
        self._follows = True
        self._problem = ""

    def compose(self) -> ComposeResult:
        """The widgets, from top to bottom."""
        yield StatusLine()
        yield LineView(id="stream")
        yield LineBar(id="heading")
        yield LineView(id="events")
        yield KeyFooter()

    @property
    def stream(self) -> LineView:
        """The stream."""
        return self.query_one("#stream", LineView)

    @property
    def events(self) -> LineView:
        """The events of the trace, as lines."""
        return self.query_one("#events", LineView)

    @property
    def growing(self) -> GrowingTrace:
        """The trace as shown so far."""
        return self._growing

    def on_mount(self) -> None:
        """Watch the trace."""
        self.stream.focus()
        self._refresh_status()
        start_work(self, self._watch, "watch")

    def on_resize(self) -> None:
        """Lay the lines out for the new width."""
        self.call_after_refresh(self._lay_out_again)

    def on_line_view_moved(self, event: LineView.Moved) -> None:
        """Stop following when the cursor goes up in the stream; follow again at its end."""
        if event.view is self.stream:
            self._follows = event.index >= self._lines.count - 1
            self._refresh_status()

    def action_pause(self) -> None:
        """Pause the stream, or continue."""
        self._is_paused = not self._is_paused
        if not self._is_paused:
            waiting, self._waiting = self._waiting, []
            self._add(waiting)
        self._refresh_status()

    def action_follow(self) -> None:
        """Follow the end of the stream, or stop following it."""
        self._follows = not self._follows
        self._show_grown()

    def action_next_pane(self) -> None:
        """Focus the other list."""
        (self.stream if self.focused is self.events else self.events).focus()

    def action_open(self) -> None:
        """Open the trace as recorded so far."""
        self._leave()

    def action_reload(self) -> None:
        """Start again from the beginning."""
        self.access.forget()
        self._restart()
        start_work(self, self._watch, "watch")

    async def _watch(self) -> None:
        """Poll the store until the trace has ended."""
        watched = TraceWatcher(self._trace_id)
        while True:
            try:
                if len(self._waiting) < _MAX_WAITING:
                    seen = await self.access.query(watched.look)
                    if seen.is_restart:
                        self._restart()
                    self._receive(seen.events, is_first=seen.is_restart)
                    self._problem = ""
                    if not seen.is_running and not self._is_paused and self.is_active:
                        self._leave()
                        return
                await asyncio.sleep(_POLL_S)
            except WeaklinkError as error:
                self._problem = error_sentence(error, self.access.name)
                self._refresh_status()
                await asyncio.sleep(_RETRY_S)

    def _receive(self, events: Sequence[RecordEvent], *, is_first: bool) -> None:
        chunks = sum(len(event.chunks) for event in events if isinstance(event, ChunksArrived))
        self._rate.count(0 if is_first else chunks, time.monotonic())
        if self._is_paused:
            self._waiting += events
            self._refresh_status()
        else:
            self._add(events)

    def _add(self, events: Sequence[RecordEvent]) -> None:
        for event in events:
            self._growing.add(event)
            if isinstance(event, TurnEnded):
                model = model_of(self._growing.trace) if self._growing.trace is not None else ""
                self._toast(partial(live_lines.turn_lines, "", event.turn, event.value, model=model))
        if events:
            self._show_grown()
        else:
            self._refresh_status()

    def _show_grown(self) -> None:
        moved, cursor = self._lines.update(), self.stream.cursor
        self.stream.renew()
        with self.prevent(LineView.Moved):
            if self._follows:
                self.stream.move_to(self._lines.count - 1)
            elif moved:
                self.stream.move_to(max(cursor - moved, 0))
            del self._events[: max(len(self._events) - _MAX_EVENTS, 0)]
            self.events.renew()
            if self.focused is not self.events:
                self.events.move_to(len(self._events) - 1)
        self.call_after_refresh(self._reveal_end)
        self._refresh_status()

    def _restart(self) -> None:
        self._growing = GrowingTrace(self._span_closed, self._fault_found)
        self._shown_events.clear()
        self._waiting = []
        self._lay_out_again()

    def _lay_out_again(self) -> None:
        self._lines = GrowingLines(self._growing, max(self.stream.size.width - 1, 40))
        self._lines.update()
        self._events = [line for toast in self._shown_events for line in toast(width=self._width)][-_MAX_EVENTS:]
        cursor = self.stream.cursor
        with self.prevent(LineView.Moved):
            self.stream.show(self._lines, cursor=self._lines.count - 1 if self._follows else cursor)
            self.events.show(LineList(self._events), cursor=len(self._events) - 1)
        self.call_after_refresh(self._reveal_end)  # the scroll range is known only then
        self._refresh_status()

    def _reveal_end(self) -> None:
        for view in self.query("#stream").results(LineView):  # none while the screen closes
            if self._follows:
                view.reveal(self._lines.count - 1)
        for view in self.query("#events").results(LineView):
            view.reveal(view.cursor)

    def _span_closed(self, turn: int, span: Span, words: str, calls: Sequence[ToolCall]) -> None:
        self._toast(partial(live_lines.span_lines, "", turn, span, words, calls))

    def _fault_found(self, diagnostic: Diagnostic) -> None:
        self._toast(partial(live_lines.fault_lines, "", diagnostic))

    def _toast(self, toast: "_LiveEvent") -> None:
        self._shown_events.append(toast)
        self._events += toast(width=self._width)

    @property
    def _width(self) -> int:
        return max(self.events.size.width - 1, 40)

    def _leave(self) -> None:
        self.dismiss(None)
        self._on_ended(self._trace_id)

    def _refresh_status(self) -> None:
        trace = self._growing.trace
        title = visible_line(title_of(trace)) if trace is not None else ""
        self.crumbs = (f"{self._trace_id} {title}".strip(), "live")
        about: Line = (Run("▸ running", Style.INFO),)
        if trace is not None and model_of(trace):
            about = (*about, Run(f"  {visible_line(model_of(trace))}", Style.DIM))
        self.update_status(about, self._facts(), self._problem)
        faults = self._growing.faults
        heading = [Run(" what happened", Style.STRONG), Run(f"  {counted(faults, 'fault')} so far", Style.ERROR)]
        self.query_one("#heading", LineBar).show_lines([tuple(heading if faults else heading[:1])])

    def _facts(self) -> Line:
        growing = self._growing
        bars = self._rate.bars(20 if self.size.width >= 100 else 8)
        facts = [Run(f"{counted(growing.chunks, 'chunk')}  {self._rate.per_second:,}/s "), Run(bars, Style.INFO)]
        dropped = growing.dropped
        facts.append(Run(f"  drop {dropped:,}", Style.ERROR if dropped else Style.DIM))
        if self._is_paused:
            waiting = sum(len(event.chunks) for event in self._waiting if isinstance(event, ChunksArrived))
            facts.append(Run(f"  ‖ paused, {counted(waiting, 'chunk')} waiting", Style.WARNING))
        else:
            facts.append(Run("  following", Style.OK) if self._follows else Run("  not following", Style.DIM))
        return tuple(facts)


class _LiveEvent(Protocol):
    """An event as lines for a width; they are made again for another width."""

    def __call__(self, *, width: int) -> Iterable[Line]: ...


def newest_running(store: Store) -> int | None:
    """The id of the newest running trace, else of the newest idle one; None if there is none."""
    version = store.paging().version()
    return max(version.running or version.idle, default=None)


class ChunkRate:
    """Counts chunks per second; the caller provides the time, in seconds of any clock."""

    def __init__(self) -> None:
        self._seconds: deque[int] = deque([0], _SPARKLINE_S)
        self._now = 0

    def count(self, chunks: int, at_s: float) -> None:
        """Count chunks that arrived at this time."""
        second = int(at_s)
        if self._now:
            self._seconds.extend([0] * min(max(second - self._now, 0), _SPARKLINE_S))
        self._now = max(second, self._now)
        self._seconds[-1] += chunks

    @property
    def per_second(self) -> int:
        """The number of chunks in the last complete second."""
        return self._seconds[-2] if len(self._seconds) > 1 else self._seconds[-1]

    def bars(self, cells: int) -> str:
        """The last seconds as bars, one per second; the highest is that with the most chunks."""
        shown = list(self._seconds)[-cells:]
        most = max(shown) or 1
        return "".join(_BARS[-(-count * (len(_BARS) - 1) // most)] for count in shown)


class TraceUpdate(Struct, frozen=True):
    """The events since the last poll; `is_restart` says that they start the trace again, from its first known turn."""

    events: tuple[RecordEvent, ...]
    is_running: bool
    is_restart: bool = False


class TraceWatcher:
    """Follows a trace from its last turns on; starts again if another store replaces the first.

    Only one thread at a time may call it.
    """

    def __init__(self, id: int) -> None:
        self._id = id
        self._store: Store | None = None
        self._following: Following | None = None

    def look(self, store: Store) -> TraceUpdate:
        """The events since the last call. Raises StoreError."""
        is_restart = store is not self._store or self._following is None
        if self._following is None or is_restart:
            self._store, self._following = store, store.follow(f"id:{self._id}", from_start=True, most=MAX_TURNS)
        events = tuple(event for event in self._following.poll() if event.key == str(self._id))
        has_ended = any(isinstance(event, TraceEnded) for event in events)
        return TraceUpdate(events, not has_ended and (bool(events) or self._is_running(store)), is_restart)

    def _is_running(self, store: Store) -> bool:
        try:
            return store.summary(self._id).is_open
        except StoreError:
            if store.is_gone():
                raise
            return False
