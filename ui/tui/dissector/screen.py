"""The screen of one trace: opens it at its break, navigates in it, keeps its panes together, runs its commands."""

import asyncio
from collections.abc import Awaitable, Mapping
from functools import partial
from threading import Event
from typing import ClassVar, Protocol

from msgspec.structs import replace
from textual.app import ComposeResult
from textual.binding import BindingType

from weaklink.inspector.diagnostics import SENT_PART, Location
from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.inspection import data_flow_of, step_flow_of
from weaklink.inspector.text import Range
from weaklink.ui.tui.commands import Command, bindings
from weaklink.ui.tui.dialogs import JumpScreen, LineDialog, jump_labels
from weaklink.ui.tui.dissector.actions import OpenedTrace, TraceActions, TraceCallbacks, read_trace
from weaklink.ui.tui.dissector.commands import DISSECTOR_COMMANDS
from weaklink.ui.tui.dissector.panes import Panes, TreeView
from weaklink.ui.tui.dissector.side_pane import SideKind, SidePane
from weaklink.ui.tui.dissector.stream_view import StreamView
from weaklink.ui.tui.line_bar import KeyFooter, LineBar, StatusLine, StatusText
from weaklink.ui.tui.line_view import LineView
from weaklink.ui.tui.store_access import StoreAccess, error_sentence, start_work
from weaklink.ui.views.dissect import navigation
from weaklink.ui.views.dissect.side import origin_of, origin_words
from weaklink.ui.views.dissect.stream import VisibleFault
from weaklink.ui.views.dissect.timing import StreamOptions, missing_lanes
from weaklink.ui.views.dissect.tree import Tree
from weaklink.ui.views.links import Link
from weaklink.ui.views.styled_text import Run, Style, visible_line
from weaklink.ui.views.trace_summary import trace_title

_NOT_TOKENS = "A chunk is what arrived at once, not a token."
_MAX_JUMPS = 100
_BEGINNING = Location(0, "", Range(0, 0))
_SEARCHING = "searching"
_MANY_STEPS = 2_000  # of longer chains, the data flow is found for one step only: that of all would take much memory
_BEAT_S = 1.0  # how often to check whether a running trace has grown
_OF_RUNNING = frozenset({"dissector.follow"})


class Siblings(Protocol):
    """A list of traces."""

    def beside(self, id: int, by: int) -> Awaitable[int | None]:
        """The id of the trace `by` lines after this one; None beyond an end."""
        ...


class DissectorScreen(TraceActions):
    """A trace as tree, stream and side views; opens at the place of `link`, on `step`, its break, or its first fault.

    `n` and `N` search for `words`, until the user searches for others.
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
        callbacks: TraceCallbacks | None = None,
        link: Link | None = None,
        words: str = "",
    ) -> None:
        super().__init__(access, callbacks or TraceCallbacks())
        self._follows = False
        self._words = words
        self._jumped_from: list[Location] = []
        self._trace_id = id
        self._step = step
        self._link = link
        self._siblings = siblings

    def compose(self) -> ComposeResult:
        """The widgets, from top to bottom."""
        yield StatusLine()
        yield Panes()
        yield LineBar(id="place")
        yield KeyFooter()

    def on_mount(self) -> None:
        """Read the trace, and poll a running one."""
        self.panes.focus_pane("stream")
        self._open(self._trace_id, self._step)
        self.set_interval(_BEAT_S, self._beat)

    def on_stream_view_moved(self, event: StreamView.Moved) -> None:
        """Select the tree row of the character under the cursor, and highlight the row's text."""
        row = self.panes.branches.reveal_place(event.location)
        around = row.location if row is not None and row.depth else None
        self._selected(event.location, around)

    def on_line_view_moved(self, event: LineView.Moved) -> None:
        """Highlight the characters of the selected tree row in the stream."""
        row = self.panes.branches.row if isinstance(event.view, TreeView) else None
        if row is not None and row.location is not None:
            self.panes.stream.go(row.location)
            self._selected(row.location, row.location if row.depth else None)

    def on_side_pane_link_activated(self, event: SidePane.LinkActivated) -> None:
        """Go to the place of a line in the side pane."""
        self._go(event.location)

    def on_side_pane_rule_requested(self) -> None:
        """Explain the rule of the selected diagnostic."""
        self.action_rule()

    def on_side_pane_flow_requested(self) -> None:
        """Find the origins of the values."""
        start_work(self, self._look_for_origins, "flow")

    def on_tree_view_reading(self, event: TreeView.Reading) -> None:
        """Show that the content of a row is being read."""
        self.query_one(StatusLine).working = "" if event.done else "reading the arguments"

    async def action_next_trace(self) -> None:
        """Open the next trace of the list."""
        await self._open_beside(1)

    async def action_previous_trace(self) -> None:
        """Open the previous trace of the list."""
        await self._open_beside(-1)

    def action_next_pane(self) -> None:
        """Focus the next pane."""
        self.panes.focus_beside(1)

    def action_previous_pane(self) -> None:
        """Focus the previous pane."""
        self.panes.focus_beside(-1)

    def action_tree(self) -> None:
        """Focus the tree."""
        self.panes.focus_pane("tree")

    def action_stream(self) -> None:
        """Focus the stream."""
        self.panes.focus_pane("stream")

    def action_side(self) -> None:
        """Focus the side views."""
        self.panes.focus_pane("side")

    def action_next_side(self) -> None:
        """Show the next of the side views."""
        self.panes.focus_pane("side")
        self.panes.side.turn(1)

    def action_layout(self) -> None:
        """Switch to the next layout of the panes."""
        self.panes.next_layout()

    def action_zoom(self) -> None:
        """Show the focused pane alone, or all again."""
        self.panes.zoom()

    def action_follow(self) -> None:
        """Follow the end of a running trace, or stop following it."""
        if self._opened is None or not self._opened.summary.is_open:
            self.toast("This trace has ended: there is nothing to follow.")
            return
        if self.callbacks.live is not None:
            self.callbacks.live(self._opened.id)
            return
        self._follows = not self._follows
        self._refresh_status()
        if self._follows and (end := self._opened.end()) is not None:
            self._go(end)

    def action_reload(self) -> None:
        """Read the trace again."""
        self.access.forget()
        self._open(self._trace_id, None)

    def action_back(self) -> None:
        """Show all panes again, or go back to the list."""
        if self.panes.is_zoomed:
            self.panes.zoom()
        elif self.is_active:
            self._show_nothing()  # a long trace is released before another one is opened
            self.app.pop_screen()

    def action_next_fault(self) -> None:
        """Go to the next fault."""
        self._to_fault(back=False)

    def action_previous_fault(self) -> None:
        """Go to the previous fault."""
        self._to_fault(back=True)

    def action_jump(self) -> None:
        """Label each visible fault with a letter, and go to the one that is typed."""
        faults = self.panes.stream.faults()
        if not faults:
            self.toast("No fault is visible; `e` goes to the next one.")
            return
        labels = dict(zip(jump_labels(len(faults)), faults, strict=True))
        self.panes.stream.label(labels)
        self.app.push_screen(JumpScreen(labels), partial(self._to_label, labels))

    def action_next_step(self) -> None:
        """Go to the next call."""
        self._to_step(back=False)

    def action_previous_step(self) -> None:
        """Go to the previous call."""
        self._to_step(back=True)

    def action_search(self) -> None:
        """Ask for words, and go to their next match."""
        about = "Lower-case words match upper case too; `n` and `N` go to the next and the previous match."
        self.app.push_screen(LineDialog("search in this trace", about=about, typed=self._words), self._search)

    def action_next_match(self) -> None:
        """Go to the next match of the words."""
        start_work(self, partial(self._find, back=False), "find")

    def action_previous_match(self) -> None:
        """Go to the previous match of the words."""
        start_work(self, partial(self._find, back=True), "find")

    def action_origin(self) -> None:
        """Go to the origin of the selected value; from a result, to its call."""
        start_work(self, self._to_origin, "flow")

    def action_next_layer(self) -> None:
        """Go to the next layer of the selected call or result: as the model wrote it, as a later request has it."""
        here = self._location
        locations = (
            navigation.layer_places(self._opened.dissection, here)
            if self._opened is not None and here is not None
            else []
        )
        if here is None or not locations:
            self.toast("Select a call or a result: its layers are the versions that other records have of it.")
            return
        layer = next(
            (
                index
                for index, location in enumerate(locations)
                if (location.turn, location.part) == (here.turn, here.part)
            ),
            -1,
        )
        if layer == 0 and len(locations) == 1:
            self.panes.side.turn_to(SideKind.RAW)
            self.toast("No other layer of this call is recorded.")
            return
        there = locations[(layer + 1) % len(locations)]
        self.panes.side.turn_to(SideKind.CONTEXT if there.part.startswith(SENT_PART) else SideKind.RAW)
        self._jump(there)

    def action_context(self) -> None:
        """Show what the model read in the selected turn."""
        self.panes.focus_pane("side")
        self.panes.side.turn_to(SideKind.CONTEXT)

    def action_return(self) -> None:
        """Go back to where the last jump started."""
        if self._jumped_from:
            self._go(self._jumped_from.pop())
        else:
            self.toast("No jump to return from.")

    def action_wrap(self) -> None:
        """Wrap long lines, or show them on one row."""
        options = self.panes.stream.options
        self._switch(replace(options, wrap=not options.wrap))

    def action_white_space(self) -> None:
        """Show white space as glyphs, or as it is."""
        options = self.panes.stream.options
        self._switch(replace(options, white_space=not options.white_space))

    def action_chunks(self) -> None:
        """Show or hide the beginnings of chunks."""
        options = replace(self.panes.stream.options, chunks=not self.panes.stream.options.chunks)
        self._switch(options)
        self._show_lane_hint(options, is_on=options.chunks, hint=_NOT_TOKENS)

    def action_ids(self) -> None:
        """Show or hide token ids."""
        options = replace(self.panes.stream.options, ids=not self.panes.stream.options.ids)
        self._switch(options)
        self._show_lane_hint(options, is_on=options.ids)

    def action_logprobs(self) -> None:
        """Show or hide log probabilities."""
        options = replace(self.panes.stream.options, logprobs=not self.panes.stream.options.logprobs)
        self._switch(options)
        hint = "The log probabilities are those of the chunk's tokens. A chunk is not a token."
        self._show_lane_hint(options, is_on=options.logprobs, hint=hint)

    def _open(self, id: int, step: int | None) -> None:
        self._trace_id = id
        start_work(self, partial(self._read, id, step), "trace")

    async def _read(self, id: int, step: int | None) -> None:
        status = self.query_one(StatusLine)
        status.status_text, status.working = StatusText(("traces", f"trace {id}")), "reading the trace"
        if self._opened is not None and self._opened.is_long:
            self._show_nothing()  # two long traces at once would take twice the memory
        try:
            opened = await self.access.query_trace(partial(read_trace, id=id))
        except WeaklinkError as error:
            self._show_nothing()
            self._say_problem(error)
        else:
            self._show(opened, self._led(opened) or opened.landing(step))
        finally:
            status.working = ""

    def _led(self, opened: OpenedTrace) -> Location | None:
        """The place of the link that opened this screen; None after the first call."""
        link, self._link = self._link, None
        location = link.find(opened.dissection) if link is not None else None
        if link is not None and link.leads and location is None:
            self.toast(f"The link points to {link.leads}, which this trace does not have.", is_error=True)
        return location

    def _show(self, opened: OpenedTrace, landing: Location | None) -> None:
        self._opened, self._location, self._jumped_from = opened, None, []
        self.panes.branches.show_tree(Tree(opened.dissection))
        self.panes.stream.show(opened.dissection)
        self.panes.side.marks = opened.marks
        self._show_running(opened)
        self.panes.side.show(opened.dissection)
        if landing is not None:
            self._go(landing)
        self.panes.side.refresh_view()
        self._refresh_status()

    def _show_running(self, opened: OpenedTrace) -> None:
        """Show whether the trace is running, and then offer to follow it."""
        self.panes.side.liveness = opened.summary.liveness
        self.query_one(KeyFooter).priority_commands = _OF_RUNNING if opened.summary.is_open else frozenset()

    def _show_nothing(self) -> None:
        self._opened = self._location = None
        self.panes.branches.show_nothing()
        self.panes.stream.show(None)
        self.panes.side.show(None)
        self.query_one("#place", LineBar).show_lines([])

    async def _open_beside(self, by: int) -> None:
        beside = await self._siblings.beside(self._trace_id, by)
        if beside is None:
            self.toast("No more traces in this direction.")
        else:
            self._open(beside, None)

    async def _beat(self) -> None:
        """Check whether a running trace has grown."""
        opened = self._opened
        if opened is None or not opened.summary.is_open or not self.is_current:
            return
        try:
            summary = await self.access.query(lambda store: store.summary(opened.id))
            if summary == opened.summary and not opened.open_turns:
                return
            grown = await self.access.query_trace(partial(read_trace, id=opened.id))
        except WeaklinkError as error:
            self.query_one(StatusLine).status_text = StatusText(
                ("traces", f"trace {self._trace_id}"), problem=error_sentence(error, self.access.name)
            )
            return
        if opened is self._opened:
            self._grow(grown)

    def _grow(self, grown: OpenedTrace) -> None:
        self._opened = grown
        tree = Tree(grown.dissection)
        self.panes.branches.show_tree(tree)
        self.panes.stream.grow(grown.dissection)
        self._show_running(grown)
        self.panes.side.show(grown.dissection)
        location = grown.end() if self._follows else self._location
        if location is not None:
            self._go(location)
        self._follows = self._follows and grown.summary.is_open
        self._refresh_status()

    def _say_problem(self, error: WeaklinkError) -> None:
        problem = error_sentence(error, self.access.name)
        self.query_one(StatusLine).status_text = StatusText(("traces", f"trace {self._trace_id}"), problem=problem)

    def _to_label(self, labels: Mapping[str, VisibleFault], chosen: str | None) -> None:
        self.panes.stream.label({})
        if chosen is not None:
            self._jump(labels[chosen].location)

    def _go(self, location: Location) -> None:
        """Go to a place: stream, tree and side views show it."""
        self.panes.stream.go(location)
        row = self.panes.branches.reveal_place(location)
        self._selected(location, location if len(location.range) else row.location if row is not None else None)

    def _jump(self, location: Location) -> None:
        if self._location is not None:
            self._jumped_from = [*self._jumped_from[1 - _MAX_JUMPS :], self._location]
        self._go(location)

    def _selected(self, location: Location, lit: Location | None) -> None:
        self._location = location
        self.panes.stream.light(lit)
        self.panes.side.look_at(location)
        self._refresh_status()

    def _to_fault(self, *, back: bool) -> None:
        if self._opened is not None:
            fault = navigation.next_fault(self._opened.dissection, self._location or _BEGINNING, back=back)
            self._to_found(fault.location if fault is not None else None, "fault", back=back)

    def _to_step(self, *, back: bool) -> None:
        if self._opened is not None:
            step = navigation.next_step(self._opened.dissection, self._location or _BEGINNING, back=back)
            self._to_found(step.location if step is not None else None, "call", back=back)

    def _to_found(self, location: Location | None, what: str, *, back: bool) -> None:
        if location is None:
            self.toast(f"No {'earlier' if back else 'later'} {what}.")
        else:
            self._jump(location)

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
        opened, here = self._opened, self._location or Location(1, "", Range(0, 0))
        status = self.query_one(StatusLine)
        status.working = status.working or (_SEARCHING if opened.is_long else "")
        try:
            match = await asyncio.to_thread(navigation.find, opened.dissection, self._words, here, back=back)
        finally:
            status.working = "" if status.working == _SEARCHING else status.working
        if opened is not self._opened:
            return
        if match is None:
            self.toast(f"`{self._words}` was not found in this trace.")
        else:
            self._jump(match)

    async def _look_for_origins(self) -> None:
        opened, step, side = self._opened, self.selected_step(), self.panes.side
        if opened is None or step is None or side.flow_of(step.number) is not None:
            return
        trace, inspection = opened.dissection.trace, opened.dissection.inspection
        is_wide, cancelled = len(inspection.chain.steps) > _MANY_STEPS, Event()
        try:
            if is_wide:
                flow = await asyncio.to_thread(step_flow_of, trace, inspection, step, cancelled.is_set)
            else:
                flow = await asyncio.to_thread(data_flow_of, trace, inspection)
        finally:
            cancelled.set()
        if opened is self._opened:
            side.flow, side.flow_step = flow, step.number if is_wide else None
            side.refresh_view(force=True)

    async def _to_origin(self) -> None:
        row = self.panes.branches.row
        step = self.selected_step()
        if self._opened is not None and self._location is not None and step is not None:
            call = navigation.call_place(self._opened.dissection, self._location)
            if call != self._location:
                self._jump(call)
                self.toast("This is the call that the result answers.")
                return
        if row is None or row.pointer is None or step is None:
            self.toast("Select an argument of a call: its origin is where its value first appeared.")
            return
        await self._look_for_origins()
        flow = self.panes.side.flow_of(step.number)
        origin = origin_of(flow, step.number, row.pointer) if flow is not None else None
        if origin is None:
            self.toast(f"The value of `{row.pointer or 'arguments'}` was not found earlier: the model invented it.")
            return
        self._jump(origin.location)
        self.toast(f"`{row.pointer or 'arguments'}` came from {origin_words(origin)}.")

    def _refresh_status(self) -> None:
        """Update the lines above and below the panes."""
        opened = self._opened
        if opened is None:
            return
        location, dissection = self._location, opened.dissection
        title = f"{opened.id} {visible_line(trace_title(opened.summary))}"
        about = navigation.trace_line(dissection, location, opened.summary.liveness)
        turns, steps = len(dissection.trace.turns), len(dissection.inspection.chain.steps)
        right = [Run("F following  ", Style.INFO)] if self._follows else []
        if location is not None:
            step = navigation.step_at(dissection, location)
            right.append(Run(f"turn {location.turn}/{turns}"))
            right += [Run(f"  step {step.number}/{steps}")] if step is not None else []
            line = navigation.place_line(dissection, location, self.panes.branches.row, step)
            self.query_one("#place", LineBar).show_lines([(Run(" "), *line)])
        self.query_one(StatusLine).status_text = StatusText(("traces", title), about=about, right=tuple(right))

    def _switch(self, options: StreamOptions) -> None:
        self.panes.stream.change(options)

    def _show_lane_hint(self, options: StreamOptions, *, is_on: bool, hint: str = "") -> None:
        """If a lane was switched on: show that the recording has no data for it here, else show `hint`."""
        if not is_on or self._opened is None or self._location is None:
            return
        part = self._opened.dissection.part(self._location.turn, self._location.part)
        missing = missing_lanes(part.source, options) if part is not None else ""
        if missing or hint:
            self.toast(missing or hint)
