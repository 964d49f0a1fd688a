"""The screen of one trace: opens it where it broke, keeps its panes together, and runs their commands."""

from collections.abc import Awaitable
from functools import partial
from typing import ClassVar, Protocol

from textual.app import ComposeResult
from textual.binding import BindingType

from inspector.diagnostics import Location
from inspector.errors import WeaklinkError
from ui.tui.commands import Command, bindings
from ui.tui.dissector.actions import OpenedTrace, TraceCallbacks, read_trace
from ui.tui.dissector.commands import DISSECTOR_COMMANDS
from ui.tui.dissector.navigation import TraceNavigation
from ui.tui.dissector.panes import Panes, TreeView
from ui.tui.dissector.side_pane import SidePane
from ui.tui.dissector.stream_view import StreamView
from ui.tui.line_bar import KeyFooter, LineBar, StatusLine, StatusText
from ui.tui.line_view import LineView
from ui.tui.store_access import StoreAccess, error_sentence, start_work
from ui.views.dissect.tree import Tree
from ui.views.links import Link

_BEAT_S = 1.0  # how often a running trace is asked whether it has grown
_OF_RUNNING = frozenset({"dissector.follow"})


class Siblings(Protocol):
    """A list of traces."""

    def beside(self, id: int, by: int) -> Awaitable[int | None]:
        """The id of the trace that stands `by` places behind this one; None at an end."""
        ...


class DissectorScreen(TraceNavigation):
    """A trace as tree, stream and side views; it opens where `link` leads, on `step`, its break, or its first fault.

    `n` and `N` find `words`, until others are searched.
    """

    ACTIONS: ClassVar[tuple[Command, ...]] = DISSECTOR_COMMANDS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(DISSECTOR_COMMANDS)]
    DEFAULT_CSS = """
    DissectorScreen { background: $background; }
    DissectorScreen #place { height: 1; background: $surface; }
    """

    def __init__(
        self,
        access: StoreAccess,
        id: int,
        *,
        step: int | None,
        siblings: Siblings,
        doors: TraceCallbacks | None = None,
        link: Link | None = None,
        words: str = "",
    ) -> None:
        super().__init__(access, doors or TraceCallbacks())
        self._words = words
        self._trace_id = id
        self._step = step
        self._link = link
        self._siblings = siblings

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        yield StatusLine()
        yield Panes()
        yield LineBar(id="place")
        yield KeyFooter()

    def on_mount(self) -> None:
        """Read the trace, and look whether a running one grows."""
        self.panes.focus_pane("stream")
        self._open(self._trace_id, self._step)
        self.set_interval(_BEAT_S, self._beat)

    def on_stream_view_moved(self, event: StreamView.Moved) -> None:
        """Another character: the tree shows what it belongs to, and that is lit."""
        row = self.panes.branches.reveal_place(event.place)
        around = row.location if row is not None and row.depth else None
        self._selected(event.place, around)

    def on_line_view_moved(self, event: LineView.Moved) -> None:
        """Another row of the tree: its characters are lit in the stream."""
        row = self.panes.branches.row if isinstance(event.view, TreeView) else None
        if row is not None and row.location is not None:
            self.panes.stream.go(row.location)
            self._selected(row.location, row.location if row.depth else None)

    def on_side_pane_led(self, event: SidePane.Led) -> None:
        """A line beside the stream leads somewhere."""
        self._go(event.place)

    def on_side_pane_rule_wanted(self) -> None:
        """Explain the rule of the diagnostic in the list."""
        self.action_rule()

    def on_side_pane_flow_wanted(self) -> None:
        """Look where the values came from."""
        start_work(self, self._look_for_origins, "flow")

    def on_tree_view_reading(self, event: TreeView.Reading) -> None:
        """What lies in a row takes a while to be read."""
        self.query_one(StatusLine).working = "" if event.done else "reading the arguments"

    async def action_next_trace(self) -> None:
        """Open the next chain of the list."""
        await self._open_beside(1)

    async def action_previous_trace(self) -> None:
        """Open the chain before in the list."""
        await self._open_beside(-1)

    def action_next_pane(self) -> None:
        """Give the keys to the next pane."""
        self.panes.focus_beside(1)

    def action_previous_pane(self) -> None:
        """Give the keys to the pane before."""
        self.panes.focus_beside(-1)

    def action_tree(self) -> None:
        """Give the keys to the tree."""
        self.panes.focus_pane("tree")

    def action_stream(self) -> None:
        """Give the keys to the stream."""
        self.panes.focus_pane("stream")

    def action_side(self) -> None:
        """Give the keys to the views beside the stream."""
        self.panes.focus_pane("side")

    def action_next_side(self) -> None:
        """Show the next of the views beside the stream."""
        self.panes.focus_pane("side")
        self.panes.side.turn(1)

    def action_layout(self) -> None:
        """Place the panes in another way."""
        self.panes.next_placing()

    def action_zoom(self) -> None:
        """Show the focused pane alone, or all again."""
        self.panes.zoom()

    def action_follow(self) -> None:
        """Stay at the end of a running trace, or let it go."""
        if self._opened is None or not self._opened.summary.is_open:
            self.tell("This trace has ended: there is nothing to follow.")
            return
        if self.doors.live is not None:
            self.doors.live(self._opened.id)
            return
        self._follows = not self._follows
        self._say()
        if self._follows and (end := self._opened.end()) is not None:
            self._go(end)

    def action_reload(self) -> None:
        """Read the trace anew."""
        self.access.forget()
        self._open(self._trace_id, None)

    def action_back(self) -> None:
        """Show all panes again, or go back to the list."""
        if self.panes.is_zoomed:
            self.panes.zoom()
        elif self.is_active:
            self._show_nothing()  # a long trace is let go of before another one is opened
            self.app.pop_screen()

    def _open(self, id: int, step: int | None) -> None:
        self._trace_id = id
        start_work(self, partial(self._read, id, step), "trace")

    async def _read(self, id: int, step: int | None) -> None:
        status = self.query_one(StatusLine)
        status.said, status.working = StatusText(("chains", f"trace {id}")), "reading the trace"
        if self._opened is not None and self._opened.is_long:
            self._show_nothing()  # two long traces at once would take twice the memory
        try:
            found = await self.access.ask_for_trace(partial(read_trace, id=id))
        except WeaklinkError as error:
            self._show_nothing()
            self._say_problem(error)
        else:
            self._show(found, self._led(found) or found.landing(step))
        finally:
            status.working = ""

    def _led(self, found: OpenedTrace) -> Location | None:
        """Where the link leads that this was opened by, the first time."""
        link, self._link = self._link, None
        place = link.find(found.dissection) if link is not None else None
        if link is not None and link.leads and place is None:
            self.tell(f"The link leads to {link.leads}, which this trace does not have.", is_error=True)
        return place

    def _show(self, found: OpenedTrace, landing: Location | None) -> None:
        self._opened, self._place, self._jumped_from = found, None, []
        self.panes.branches.show_tree(Tree(found.dissection))
        self.panes.stream.show(found.dissection)
        self.panes.side.marks = found.marks
        self._show_running(found)
        self.panes.side.show(found.dissection)
        if landing is not None:
            self._go(landing)
        self.panes.side.refresh_view()
        self._say()

    def _show_running(self, found: OpenedTrace) -> None:
        """What a running trace offers besides: to be watched."""
        self.panes.side.liveness = found.summary.liveness
        self.query_one(KeyFooter).besides = _OF_RUNNING if found.summary.is_open else frozenset()

    def _show_nothing(self) -> None:
        self._opened = self._place = None
        self.panes.branches.show_nothing()
        self.panes.stream.show(None)
        self.panes.side.show(None)
        self.query_one("#place", LineBar).say([])

    async def _open_beside(self, by: int) -> None:
        beside = await self._siblings.beside(self._trace_id, by)
        if beside is None:
            self.tell("There is no further chain in this direction.")
        else:
            self._open(beside, None)

    async def _beat(self) -> None:
        """Look whether a running trace has grown."""
        found = self._opened
        if found is None or not found.summary.is_open or not self.is_current:
            return
        try:
            summary = await self.access.ask(lambda store: store.summary(found.id))
            if summary == found.summary and not found.open_turns:
                return
            grown = await self.access.ask_for_trace(partial(read_trace, id=found.id))
        except WeaklinkError as error:
            self.query_one(StatusLine).said = StatusText(
                ("chains", f"trace {self._trace_id}"), problem=error_sentence(error, self.access.name)
            )
            return
        if found is self._opened:
            self._grow(grown)

    def _grow(self, grown: OpenedTrace) -> None:
        self._opened = grown
        tree = Tree(grown.dissection)
        self.panes.branches.show_tree(tree)
        self.panes.stream.grow(grown.dissection)
        self._show_running(grown)
        self.panes.side.show(grown.dissection)
        place = grown.end() if self._follows else self._place
        if place is not None:
            self._go(place)
        self._follows = self._follows and grown.summary.is_open
        self._say()

    def _say_problem(self, error: WeaklinkError) -> None:
        problem = error_sentence(error, self.access.name)
        self.query_one(StatusLine).said = StatusText(("chains", f"trace {self._trace_id}"), problem=problem)
