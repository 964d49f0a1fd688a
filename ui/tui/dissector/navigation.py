"""Navigation in the dissector: to faults, steps, words and origins, all panes together, and the stream's switches."""

import asyncio
from collections.abc import Mapping
from functools import partial
from threading import Event

from msgspec.structs import replace

from inspector.diagnostics import SENT_PART, Location
from inspector.inspection import data_flow_of, step_flow_of
from inspector.text import Range
from ui.tui.dialogs import JumpScreen, LineDialog, jump_labels
from ui.tui.dissector.actions import TraceActions, TraceCallbacks
from ui.tui.dissector.side_pane import SideKind
from ui.tui.line_bar import LineBar, StatusLine, StatusText
from ui.tui.store_access import StoreAccess, start_work
from ui.views.dissect.navigation import (
    call_place,
    find,
    layer_places,
    next_fault,
    next_step,
    place_line,
    step_at,
    trace_line,
)
from ui.views.dissect.side import origin_of, origin_words
from ui.views.dissect.stream import VisibleFault
from ui.views.dissect.timing import StreamOptions, missing_lanes
from ui.views.styled_text import Run, Style, visible_line
from ui.views.trace_json import trace_title

_NOT_TOKENS = "A chunk is what arrived at once, not a token."
_MOST_JUMPS = 100
_SEARCHING = "searching"
_MANY_STEPS = 2_000  # of so many, the values of one are looked for alone: those of all would take much memory


class StreamSwitches(TraceActions):
    """A screen whose stream can be shown in several ways."""

    def action_wrap(self) -> None:
        """Cut long lines into rows, or leave them whole."""
        options = self.panes.stream.options
        self._switch(replace(options, wrap=not options.wrap))

    def action_white_space(self) -> None:
        """Show blanks as glyphs, or as blanks."""
        options = self.panes.stream.options
        self._switch(replace(options, white_space=not options.white_space))

    def action_chunks(self) -> None:
        """Show where chunks begin, or no longer."""
        options = replace(self.panes.stream.options, chunks=not self.panes.stream.options.chunks)
        self._switch(options)
        self._say_what_is_missing(options, is_on=options.chunks, said=_NOT_TOKENS)

    def action_ids(self) -> None:
        """Show token ids, or no longer."""
        options = replace(self.panes.stream.options, ids=not self.panes.stream.options.ids)
        self._switch(options)
        self._say_what_is_missing(options, is_on=options.ids)

    def action_logprobs(self) -> None:
        """Show log probabilities, or no longer."""
        options = replace(self.panes.stream.options, logprobs=not self.panes.stream.options.logprobs)
        self._switch(options)
        said = "The log probabilities are those of the chunk's tokens. A chunk is not a token."
        self._say_what_is_missing(options, is_on=options.logprobs, said=said)

    def _switch(self, options: StreamOptions) -> None:
        self.panes.stream.change(options)

    def _say_what_is_missing(self, options: StreamOptions, *, is_on: bool, said: str = "") -> None:
        """Where a lane was switched on: that the recording has none of it here, else what is to be known of it."""
        if not is_on or self._opened is None or self._place is None:
            return
        part = self._opened.dissection.part(self._place.turn, self._place.part)
        missing = missing_lanes(part.source, options) if part is not None else ""
        if missing or said:
            self.tell(missing or said)


class TraceNavigation(StreamSwitches):
    """A screen in which one goes from place to place; its panes and lines follow."""

    def __init__(self, access: StoreAccess, doors: TraceCallbacks) -> None:
        super().__init__(access, doors)
        self._follows = False
        self._words = ""
        self._jumped_from: list[Location] = []

    def action_next_fault(self) -> None:
        """Go to the next fault."""
        self._to_fault(back=False)

    def action_previous_fault(self) -> None:
        """Go to the fault before."""
        self._to_fault(back=True)

    def action_jump(self) -> None:
        """Give each fault in sight a letter and go to the one that is typed."""
        faults = self.panes.stream.faults()
        if not faults:
            self.tell("No fault is in sight; `e` goes to the next one.")
            return
        labels = dict(zip(jump_labels(len(faults)), faults, strict=True))
        self.panes.stream.label(labels)
        self.app.push_screen(JumpScreen(labels), partial(self._to_label, labels))

    def _to_label(self, labels: Mapping[str, VisibleFault], chosen: str | None) -> None:
        self.panes.stream.label({})
        if chosen is not None:
            self._jump(labels[chosen].location)

    def action_next_step(self) -> None:
        """Go to the next call."""
        self._to_step(back=False)

    def action_previous_step(self) -> None:
        """Go to the call before."""
        self._to_step(back=True)

    def action_search(self) -> None:
        """Ask for words and go where they stand."""
        about = "Words without capitals are found in any spelling; `n` and `N` go on from there."
        self.app.push_screen(LineDialog("search in this trace", about=about, typed=self._words), self._search)

    def action_next_match(self) -> None:
        """Go to where the words stand next."""
        start_work(self, partial(self._find, back=False), "find")

    def action_previous_match(self) -> None:
        """Go to where the words stand before."""
        start_work(self, partial(self._find, back=True), "find")

    def action_origin(self) -> None:
        """Go to where the selected value stood first; from a result, to its call."""
        start_work(self, self._to_origin, "flow")

    def action_next_layer(self) -> None:
        """Go from one layer of what is selected to the next: as the model wrote it, as a later request has it."""
        here = self._place
        places = layer_places(self._opened.dissection, here) if self._opened is not None and here is not None else []
        if here is None or not places:
            self.tell("Select a call or a result: its layers are the versions that others have of it.")
            return
        at = next((at for at, one in enumerate(places) if (one.turn, one.part) == (here.turn, here.part)), -1)
        if at == 0 and len(places) == 1:
            self.panes.side.turn_to(SideKind.RAW)
            self.tell("No other layer of this call is recorded.")
            return
        there = places[(at + 1) % len(places)]
        self.panes.side.turn_to(SideKind.CONTEXT if there.part.startswith(SENT_PART) else SideKind.RAW)
        self._jump(there)

    def action_context(self) -> None:
        """Show what the model read in the selected turn."""
        self.panes.focus_pane("side")
        self.panes.side.turn_to(SideKind.CONTEXT)

    def action_return(self) -> None:
        """Go back to where the last jump began."""
        if self._jumped_from:
            self._go(self._jumped_from.pop())
        else:
            self.tell("There was no jump to return from.")

    def _go(self, place: Location) -> None:
        """Go to a place: stream, tree and side views show it."""
        self.panes.stream.go(place)
        row = self.panes.branches.reveal_place(place)
        self._selected(place, place if len(place.range) else row.location if row is not None else None)

    def _jump(self, place: Location) -> None:
        if self._place is not None:
            self._jumped_from = [*self._jumped_from[1 - _MOST_JUMPS :], self._place]
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
        opened, here = self._opened, self._place or Location(1, "", Range(0, 0))
        status = self.query_one(StatusLine)
        status.working = status.working or (_SEARCHING if opened.is_long else "")
        try:
            found = await asyncio.to_thread(find, opened.dissection, self._words, here, back=back)
        finally:
            status.working = "" if status.working == _SEARCHING else status.working
        if opened is not self._opened:
            return
        if found is None:
            self.tell(f"`{self._words}` stands nowhere in this trace.")
        else:
            self._jump(found)

    async def _look_for_origins(self) -> None:
        found, step, side = self._opened, self.selected_step(), self.panes.side
        if found is None or step is None or side.flow_of(step.number) is not None:
            return
        trace, inspection = found.dissection.trace, found.dissection.inspection
        is_wide, left = len(inspection.chain.steps) > _MANY_STEPS, Event()
        try:
            if is_wide:
                flow = await asyncio.to_thread(step_flow_of, trace, inspection, step, left.is_set)
            else:
                flow = await asyncio.to_thread(data_flow_of, trace, inspection)
        finally:
            left.set()
        if found is self._opened:
            side.flow, side.flow_step = flow, step.number if is_wide else None
            side.refresh_view(anew=True)

    async def _to_origin(self) -> None:
        row = self.panes.branches.row
        step = self.selected_step()
        if self._opened is not None and self._place is not None and step is not None:
            call = call_place(self._opened.dissection, self._place)
            if call != self._place:
                self._jump(call)
                self.tell("This is the call that the result answers.")
                return
        if row is None or row.pointer is None or step is None:
            self.tell("Select an argument of a call: its origin is where its value stood first.")
            return
        await self._look_for_origins()
        flow = self.panes.side.flow_of(step.number)
        origin = origin_of(flow, step.number, row.pointer) if flow is not None else None
        if origin is None:
            self.tell(f"The value of `{row.pointer or 'arguments'}` stood nowhere before: the model made it up.")
            return
        self._jump(origin.location)
        self.tell(f"`{row.pointer or 'arguments'}` came from {origin_words(origin)}.")

    def _say(self) -> None:
        """What the lines above and below the panes say."""
        found = self._opened
        if found is None:
            return
        place, dissection = self._place, found.dissection
        title = f"{found.id} {visible_line(trace_title(found.summary))}"
        about = trace_line(dissection, place, found.summary.liveness)
        turns, steps = len(dissection.trace.turns), len(dissection.inspection.chain.steps)
        right = [Run("F following  ", Style.INFO)] if self._follows else []
        if place is not None:
            step = step_at(dissection, place)
            right.append(Run(f"turn {place.turn}/{turns}"))
            right += [Run(f"  step {step.number}/{steps}")] if step is not None else []
            line = place_line(dissection, place, self.panes.branches.row, step)
            self.query_one("#place", LineBar).say([(Run(" "), *line)])
        self.query_one(StatusLine).said = StatusText(("chains", title), about=about, right=tuple(right))
