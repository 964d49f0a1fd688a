"""The screen of one trace: opens it where it broke, keeps its panes together, and does what its commands say."""

import asyncio
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from inspector.chain.data_flow import trace_values
from inspector.diagnostics import Location
from inspector.errors import WeaklinkError
from inspector.text import Range
from ui.tui.commands import Command, bindings
from ui.tui.dialogs import LineDialog
from ui.tui.dissector.commands import DISSECTOR_COMMANDS
from ui.tui.dissector.deeds import Doors
from ui.tui.dissector.opened import Opened, opened
from ui.tui.dissector.panes import Panes
from ui.tui.dissector.siblings import Siblings
from ui.tui.dissector.side_pane import SidePane
from ui.tui.dissector.stream_view import StreamView
from ui.tui.dissector.switches import StreamSwitches
from ui.tui.dissector.tree_view import TreeView
from ui.tui.footer import KeyFooter
from ui.tui.line_bar import LineBar
from ui.tui.line_view import LineView
from ui.tui.status_line import Said, StatusLine
from ui.tui.store_access import StoreAccess, sentence
from ui.views.dissect.moving import find, next_fault, next_step
from ui.views.dissect.origins import origin_of, origin_words
from ui.views.dissect.place_words import place_line, trace_line
from ui.views.dissect.selection import step_at
from ui.views.dissect.tree import Tree
from ui.views.palette import Style
from ui.views.run import Run
from ui.views.trace_list import trace_title
from ui.views.visible import visible_line

_BEAT_S = 1.0  # how often a running trace is asked whether it has grown


class DissectorScreen(StreamSwitches):
    """A trace as tree, stream and side views. The trace opens on `step`, on its break, or on its first fault."""

    ACTIONS: ClassVar[tuple[Command, ...]] = DISSECTOR_COMMANDS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(DISSECTOR_COMMANDS)]
    DEFAULT_CSS = """
    DissectorScreen { background: $background; }
    DissectorScreen #place { height: 1; background: $surface; }
    """

    def __init__(
        self, access: StoreAccess, id: int, *, step: int | None, siblings: Siblings, doors: Doors | None = None
    ) -> None:
        super().__init__(access, doors or Doors())
        self._trace_id = id
        self._step = step
        self._siblings = siblings
        self._follows = False
        self._words = ""
        self._jumped_from: list[Location] = []

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

    def on_side_pane_flow_wanted(self) -> None:
        """Look where the values came from."""
        self.run_worker(self._look_for_origins, group="flow", exclusive=True)

    def on_tree_view_reading(self, event: TreeView.Reading) -> None:
        """What lies in a row takes a while to be read."""
        self.query_one(StatusLine).working = "" if event.done else "reading the arguments"

    def action_next_fault(self) -> None:
        """Go to the next fault."""
        self._to_fault(back=False)

    def action_previous_fault(self) -> None:
        """Go to the fault before."""
        self._to_fault(back=True)

    def action_next_step(self) -> None:
        """Go to the next call."""
        self._to_step(back=False)

    def action_previous_step(self) -> None:
        """Go to the call before."""
        self._to_step(back=True)

    async def action_next_trace(self) -> None:
        """Open the next chain of the list."""
        await self._open_beside(1)

    async def action_previous_trace(self) -> None:
        """Open the chain before in the list."""
        await self._open_beside(-1)

    def action_search(self) -> None:
        """Ask for words and go where they stand."""
        about = "Words without capitals are found in any spelling; `n` and `N` go on from there."
        self.app.push_screen(LineDialog("search in this trace", about=about, typed=self._words), self._search)

    def action_next_match(self) -> None:
        """Go to where the words stand next."""
        self.run_worker(partial(self._find, back=False), group="find", exclusive=True)

    def action_previous_match(self) -> None:
        """Go to where the words stand before."""
        self.run_worker(partial(self._find, back=True), group="find", exclusive=True)

    def action_origin(self) -> None:
        """Go to where the selected value stood first."""
        self.run_worker(self._to_origin, group="flow", exclusive=True)

    def action_return(self) -> None:
        """Go back to where the last jump began."""
        if self._jumped_from:
            self._go(self._jumped_from.pop())
        else:
            self.tell("There was no jump to return from.")

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
        if self._opened is None or not self._opened.summary.running:
            self.tell("This trace has ended: there is nothing to follow.")
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
        else:
            self.app.pop_screen()

    def _open(self, id: int, step: int | None) -> None:
        self._trace_id = id
        self.run_worker(partial(self._read, id, step), group="trace", exclusive=True)

    async def _read(self, id: int, step: int | None) -> None:
        status = self.query_one(StatusLine)
        status.said, status.working = Said(("chains", f"trace {id}")), "reading the trace"
        try:
            found = await self.access.ask(partial(opened, id=id))
        except WeaklinkError as error:
            self._show_nothing(sentence(error))
        else:
            self._show(found, found.landing(step))
        finally:
            status.working = ""

    def _show(self, found: Opened, landing: Location | None) -> None:
        self._opened, self._place, self._jumped_from = found, None, []
        self.panes.branches.show_tree(Tree(found.dissection))
        self.panes.stream.show(found.dissection)
        self.panes.side.marks = found.marks
        self.panes.side.show(found.dissection)
        if landing is not None:
            self._go(landing)
        self.panes.side.refresh_view()
        self._say()

    def _show_nothing(self, problem: str) -> None:
        self._opened = self._place = None
        self.panes.branches.show_nothing()
        self.panes.stream.show(None)
        self.panes.side.show(None)
        self.query_one("#place", LineBar).say([])
        self.query_one(StatusLine).said = Said(("chains", f"trace {self._trace_id}"), problem=problem)

    async def _open_beside(self, by: int) -> None:
        beside = await self._siblings.beside(self._trace_id, by)
        if beside is None:
            self.tell("There is no further chain in this direction.")
        else:
            self._open(beside, None)

    def _go(self, place: Location) -> None:
        """Go to a place: stream, tree and side views show it."""
        self.panes.stream.go(place)
        row = self.panes.branches.reveal_place(place)
        self._selected(place, place if len(place.range) else row.location if row is not None else None)

    def _jump(self, place: Location) -> None:
        if self._place is not None:
            self._jumped_from = [*self._jumped_from[-99:], self._place]
        self._go(place)

    def _selected(self, place: Location, lit: Location | None) -> None:
        self._place = place
        self.panes.stream.light(lit)
        self.panes.side.look_at(place)
        self._say()

    def _to_fault(self, *, back: bool) -> None:
        if self._opened is None:
            return
        here = self._place or Location(0, "", Range(0, 0))
        found = next_fault(self._opened.dissection, here, back=back)
        if found is None:
            self.tell(f"There is no fault {'before' if back else 'behind'} this place.")
        else:
            self._jump(found.location)

    def _to_step(self, *, back: bool) -> None:
        if self._opened is None:
            return
        here = self._place or Location(0, "", Range(0, 0))
        found = next_step(self._opened.dissection, here, back=back)
        if found is None:
            self.tell(f"There is no call {'before' if back else 'behind'} this place.")
        else:
            self._jump(found.location)

    def _search(self, words: str | None) -> None:
        if words:
            self._words = words
            self.action_next_match()

    async def _find(self, *, back: bool) -> None:
        """Search in a thread: the trace may be long."""
        if self._opened is None:
            return
        if not self._words:
            self.action_search()
            return
        dissection, here = self._opened.dissection, self._place or Location(1, "", Range(0, 0))
        found = await asyncio.to_thread(find, dissection, self._words, here, back=back)
        if found is None:
            self.tell(f"`{self._words}` stands nowhere in this trace.")
        else:
            self._jump(found)

    async def _look_for_origins(self) -> None:
        found = self._opened
        if found is None or self.panes.side.flow is not None:
            return
        trace, steps = found.dissection.trace, found.dissection.inspection.chain.steps
        flow = await asyncio.to_thread(trace_values, trace, steps)
        if found is self._opened:
            self.panes.side.flow = flow
            self.panes.side.refresh_view()

    async def _to_origin(self) -> None:
        row = self.panes.branches.row
        step = self.selected_step()
        if row is None or row.pointer is None or step is None:
            self.tell("Select an argument of a call: its origin is where its value stood first.")
            return
        await self._look_for_origins()
        flow = self.panes.side.flow
        origin = origin_of(flow, step.number, row.pointer) if flow is not None else None
        if origin is None:
            self.tell(f"The value of `{row.pointer or 'arguments'}` stood nowhere before: the model made it up.")
            return
        self._jump(origin.location)
        self.tell(f"`{row.pointer or 'arguments'}` came from {origin_words(origin)}.")

    async def _beat(self) -> None:
        """Look whether a running trace has grown."""
        found = self._opened
        if found is None or not found.summary.running or not self.is_current:
            return
        try:
            summary = await self.access.ask(lambda store: store.summary(found.id))
            if summary == found.summary and not found.open_turns:
                return
            grown = await self.access.ask(partial(opened, id=found.id))
        except WeaklinkError as error:
            self.query_one(StatusLine).said = Said(("chains", f"trace {self._trace_id}"), problem=sentence(error))
            return
        if found is self._opened:
            self._grow(grown)

    def _grow(self, grown: Opened) -> None:
        self._opened = grown
        tree = Tree(grown.dissection)
        self.panes.branches.show_tree(tree)
        self.panes.stream.grow(grown.dissection)
        self.panes.side.show(grown.dissection)
        place = grown.end() if self._follows else self._place
        if place is not None:
            self._go(place)
        self._follows = self._follows and grown.summary.running
        self._say()

    def _say(self) -> None:
        """What the lines above and below the panes say."""
        found = self._opened
        if found is None:
            return
        place, dissection = self._place, found.dissection
        title = f"{found.id} {visible_line(trace_title(found.summary))}"
        about = trace_line(dissection, place, running=found.summary.running)
        turns, steps = len(dissection.trace.turns), len(dissection.inspection.chain.steps)
        right = [Run("F following  ", Style.INFO)] if self._follows else []
        if place is not None:
            step = step_at(dissection, place)
            right.append(Run(f"turn {place.turn}/{turns}"))
            right += [Run(f"  step {step.number}/{steps}")] if step is not None else []
            line = place_line(dissection, place, self.panes.branches.row, step)
            self.query_one("#place", LineBar).say([(Run(" "), *line)])
        self.query_one(StatusLine).said = Said(("chains", title), about=about, right=tuple(right))
