"""The pane beside the stream: shows one view of verdict, diagnostics, steps, schema, origins, timing and others."""

import asyncio
from collections.abc import Callable, Mapping
from enum import StrEnum
from threading import Event
from types import MappingProxyType
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message

from weaklink.inspector.chain.data_flow import DataFlow
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.model import Liveness
from weaklink.storage.marks import Mark
from weaklink.ui.tui.commands import Command, bindings
from weaklink.ui.tui.dissector.commands import SIDE_COMMANDS
from weaklink.ui.tui.line_bar import ClickTarget, LineBar
from weaklink.ui.tui.line_view import LineList, LineView
from weaklink.ui.tui.store_access import start_work
from weaklink.ui.views.dissect.dissection import Dissection
from weaklink.ui.views.dissect.navigation import call_at, layered_step, step_at
from weaklink.ui.views.dissect.raw import context, raw, schema
from weaklink.ui.views.dissect.side import (
    SideLine,
    SideLines,
    SideSource,
    diagnostic_list,
    notes,
    origins,
    step_list,
    verdict,
)
from weaklink.ui.views.dissect.timing import AnswerTimes, answer_times, are_cheap_to_compute, timing
from weaklink.ui.views.styled_text import Run, Style


class SideKind(StrEnum):
    """The views, in the order of their names in the pane."""

    VERDICT = "verdict"
    DIAGNOSTICS = "diagnostics"
    STEPS = "steps"
    SCHEMA = "schema"
    ORIGINS = "origins"
    TIMING = "timing"
    RAW = "raw"
    CONTEXT = "context"
    NOTES = "notes"


_KINDS = tuple(SideKind)
_LISTS = (SideKind.VERDICT, SideKind.DIAGNOSTICS, SideKind.STEPS, SideKind.TIMING)
"""The views of the whole trace; the other panes follow their cursor."""

_TIMING = "timing"
"""The group of the worker that computes the times of a trace."""

_POINTING = (SideKind.DIAGNOSTICS, SideKind.STEPS, SideKind.TIMING, SideKind.SCHEMA)
"""The views with a line for the selected place."""


_OF_PLACE: Mapping[SideKind, Callable[[Dissection, Location, int], SideSource]] = MappingProxyType(
    {SideKind.SCHEMA: schema, SideKind.RAW: raw, SideKind.CONTEXT: context}
)
"""The views of the selected place that are built at once, without a worker."""


class SideView(LineView, inherit_bindings=False):
    """The lines of one view."""

    ACTIONS: ClassVar[tuple[Command, ...]] = SIDE_COMMANDS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(SIDE_COMMANDS)]

    class ViewChanged(Message):
        """The user requested the next view, or the previous one."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    def action_next(self) -> None:
        """Show the next view."""
        self.post_message(self.ViewChanged(1))

    def action_previous(self) -> None:
        """Show the previous view."""
        self.post_message(self.ViewChanged(-1))


class SidePane(Vertical):
    """Shows a view of the selected place; posts `LinkActivated` when a line leads to a place."""

    DEFAULT_CSS = """
    SidePane LineBar { background: $background; }
    SidePane SideView { height: 1fr; }
    """

    class LinkActivated(Message):
        """A line leads to this place."""

        def __init__(self, location: Location) -> None:
            super().__init__()
            self.location = location

    class RuleRequested(Message):
        """The user requested the rule of the diagnostic under the cursor."""

    class FlowRequested(Message):
        """The view needs the origins of values, which are not known yet."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.kind = SideKind.VERDICT
        self.flow: DataFlow | None = None
        self.flow_step: int | None = None
        self.marks: tuple[Mark, ...] = ()
        self.liveness: Liveness | None = None
        self._times: AnswerTimes | None = None
        self._dissection: Dissection | None = None
        self._location: Location | None = None
        self._source: SideSource | None = None
        self._shown: object = None

    def compose(self) -> ComposeResult:
        """The names of the views, and the lines of one."""
        yield LineBar(id="views")
        yield SideView(id="side-lines")

    @property
    def view(self) -> SideView:
        """The lines."""
        return self.query_one(SideView)

    def show(self, dissection: Dissection | None) -> None:
        """Show the views of a trace; None clears them."""
        self._dissection, self._location, self._shown, self._source = dissection, None, None, None
        self.flow = self.flow_step = self._times = None
        self.workers.cancel_group(self, _TIMING)
        if dissection is None:
            self.view.show(LineList())
        self._name_views()

    def show_marks(self, marks: tuple[Mark, ...]) -> None:
        """Set the marks on the trace."""
        self.marks = marks
        self._name_views()
        self.refresh_view()

    def look_at(self, location: Location | None) -> None:
        """Set the selected place."""
        self._location = location
        self.refresh_view()

    def turn_to(self, kind: SideKind) -> None:
        """Show another view."""
        self.kind = kind
        self.workers.cancel_group(self, _TIMING)
        self._name_views()
        self.refresh_view()

    def turn(self, by: int) -> None:
        """Show the next view, or the previous one."""
        self.turn_to(_KINDS[(_KINDS.index(self.kind) + by) % len(_KINDS)])

    def refresh_view(self, *, force: bool = False) -> None:
        """Rebuild the view if its state has changed, or with `force`, and put its cursor on the selected place."""
        if self._dissection is None or not self.view.size.width:
            return
        state = self._view_state()
        if force or state != self._shown:
            self._shown, self._source = state, self._built(self._dissection)
            with self.prevent(LineView.Moved):
                self.view.show(self._source)
        index = self._selected_line()
        if index is not None:
            with self.prevent(LineView.Moved):
                self.view.move_to(index, centred=True)

    def on_resize(self) -> None:
        """Lay the lines out for the new width."""
        self.call_after_refresh(self.refresh_view)

    def on_side_view_view_changed(self, event: SideView.ViewChanged) -> None:
        """Show the view that was requested."""
        event.stop()
        self.turn(event.by)

    def on_line_bar_pressed(self, event: LineBar.Pressed) -> None:
        """Show the view whose name was clicked."""
        event.stop()
        self.turn_to(SideKind(event.name))

    def on_line_view_moved(self, event: LineView.Moved) -> None:
        """In views of the whole trace, make the other panes follow the cursor."""
        event.stop()
        if self.kind in _LISTS:
            self._lead(event.index)

    def on_line_view_chosen(self, event: LineView.Chosen) -> None:
        """Go to the place of the line; for a diagnostic, also explain its rule."""
        event.stop()
        self._lead(event.index)
        if self.kind is SideKind.DIAGNOSTICS:
            self.post_message(self.RuleRequested())

    def _lead(self, index: int) -> None:
        location = self._source.location(index) if self._source is not None and index < self._source.count else None
        if location is not None:
            self._location = location
            self.post_message(self.LinkActivated(location))

    def _name_views(self) -> None:
        inspection = self._dissection.inspection if self._dissection is not None else None
        numbers = {
            SideKind.DIAGNOSTICS: len(inspection.diagnostics) if inspection else 0,
            SideKind.STEPS: len(inspection.chain.steps) if inspection else 0,
            SideKind.NOTES: len(self.marks),
        }
        spots = []
        for kind in _KINDS:
            label = f"{kind.value} {numbers[kind]}" if numbers.get(kind) else kind.value
            shown = Run(f"[{label}]", Style.STRONG) if kind is self.kind else Run(label, Style.DIM)
            spots.append(ClickTarget(kind.value, (shown,)))
        self.query_one("#views", LineBar).offer(spots)

    def _view_state(self) -> object:
        """The state that determines the content of the view: if it differs, so does the view."""
        dissection, location = self._dissection, self._location
        width = self._room
        if dissection is None or location is None or self.kind in (*_LISTS, SideKind.NOTES):
            return self.kind, width, id(dissection), self.marks
        if self.kind is SideKind.RAW:
            step = layered_step(dissection, location)
            return self.kind, width, id(dissection), location.turn, step.number if step else None
        if self.kind is SideKind.CONTEXT:
            return self.kind, width, id(dissection), location.turn
        call = call_at(dissection, location)
        if self.kind is SideKind.SCHEMA:
            return self.kind, width, id(dissection), location.turn, location.part, call.range if call else None
        step = step_at(dissection, location)
        return self.kind, width, id(dissection), step.number if step else None, id(self.flow)

    def _built(self, dissection: Dissection) -> SideSource:
        width = self._room
        location = self._location
        match self.kind:
            case SideKind.VERDICT:
                return verdict(dissection, width, self.liveness)
            case SideKind.DIAGNOSTICS:
                return diagnostic_list(dissection)
            case SideKind.STEPS:
                return step_list(dissection)
            case SideKind.TIMING:
                return self._timed(dissection)
            case SideKind.NOTES:
                return notes(dissection, self.marks, width)
        if location is None:
            return SideLines([SideLine((Run("Nothing is selected.", Style.DIM),))])
        if self.kind in _OF_PLACE:
            return _OF_PLACE[self.kind](dissection, location, width)
        step = step_at(dissection, location)
        flow = self.flow_of(step.number) if step is not None else DataFlow()
        if flow is None:
            self.post_message(self.FlowRequested())
            return SideLines([SideLine((Run("Searching the origins of the values …", Style.DIM),))])
        return origins(flow, step)

    def flow_of(self, step: int) -> DataFlow | None:
        """The origins of the values of a step; None if they were found neither for all steps nor for this one."""
        return self.flow if self.flow_step in (None, step) else None

    def _timed(self, dissection: Dissection) -> SideSource:
        if self._times is None and are_cheap_to_compute(dissection.trace):
            self._times = answer_times(dissection.trace)
        if self._times is not None:
            return timing(dissection, self._times)
        start_work(self, self._look_at_times, _TIMING)
        return SideLines([SideLine((Run("Computing the times of the answers …", Style.DIM),))])

    async def _look_at_times(self) -> None:
        """Compute the times in a thread; stops when another view or trace is shown."""
        if self._dissection is None:
            return
        cancelled = Event()
        try:
            self._times = await asyncio.to_thread(answer_times, self._dissection.trace, cancelled.is_set)
        finally:
            cancelled.set()
        self.refresh_view(force=True)

    @property
    def _room(self) -> int:
        """The width of a line in cells; leaves one for a scrollbar, which may appear only with the lines."""
        return max(self.view.size.width - 1, 20)

    def _selected_line(self) -> int | None:
        """The line of the selected place; None if there is none."""
        source, location = self._source, self._location
        if source is None or location is None or self.kind not in _POINTING:
            return None
        return source.nearest(location)
