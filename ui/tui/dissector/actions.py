"""A trace opened in the dissector, and actions on it: mark, note, copy, export, open another screen."""

import shlex
from collections.abc import Callable, Iterator

from msgspec import Struct

from weaklink.inspector.chain.steps import Step
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json, Role
from weaklink.inspector.text import Range
from weaklink.storage.marks import Mark
from weaklink.storage.store import Store
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.tui.dialogs import DialogChoice, StoreScreen, copy_choice, note_at
from weaklink.ui.tui.dissector.panes import Panes
from weaklink.ui.tui.exporting import edit_copy
from weaklink.ui.tui.store_access import StoreAccess
from weaklink.ui.views.dissect.dissection import Dissection
from weaklink.ui.views.dissect.navigation import call_place, fault_at, step_at
from weaklink.ui.views.dissect.side import initial_position
from weaklink.ui.views.dissect.tree_rows import TreeRow
from weaklink.ui.views.links import Link, database_option
from weaklink.ui.views.turn import continued

_LONG = 1_000_000
_OF_A_TURN = _OF_A_FAULT = 1_000  # characters that take as much memory as one turn or fault
_MAX_COPIED_CHARS = 1_000_000  # characters: terminals refuse more


class OpenedTrace(Struct, frozen=True):
    """A trace, its summary and its marks; `open_turns` of its turns have not ended."""

    summary: TraceSummary
    dissection: Dissection
    marks: tuple[Mark, ...]
    open_turns: int = 0

    @property
    def id(self) -> int:
        """The trace's number in the database."""
        return self.summary.id

    @property
    def is_long(self) -> bool:
        """Whether it takes so much memory that it is released before another trace is read."""
        summary = self.summary
        return (
            summary.characters
            + _OF_A_TURN * (summary.turns + summary.tool_calls)
            + _OF_A_FAULT * (summary.errors + summary.warnings)
            > _LONG
        )

    def landing(self, step: int | None) -> Location | None:
        """The initial position: the given step, else the break, the first fault, or the end."""
        inspection = self.dissection.inspection
        broken, steps = inspection.chain.broken, inspection.chain.steps
        if step is not None and 0 < step <= len(steps) and (broken is None or broken.step != step):
            return steps[step - 1].location
        return initial_position(inspection, self.dissection.gist) or self.end()

    def end(self) -> Location | None:
        """The last character of the trace; None if there is no text."""
        index = self.dissection.outline.blocks.last_text()
        if index is None:
            return None
        last = self.dissection.parts[index]
        return last.location(Range(len(last.text) - 1, len(last.text)))


def read_trace(store: Store, *, id: int) -> OpenedTrace:
    """Read a trace with its inspection and marks; includes the text so far of turns that have not ended."""
    summary = store.summary(id)
    trace, inspection = store.inspected(id, may_lag=True)
    marks = store.marks.of([id]).get(id, ())
    begun = store.open_turns(id) if summary.open_turns else {}
    if summary.is_open or begun:
        trace, inspection = continued(trace, inspection, begun)
    dissection = Dissection(trace, inspection).prepared()  # here, in a background thread
    return OpenedTrace(summary, dissection, marks, len(begun))


class TraceCallbacks(Struct, frozen=True):
    """Callbacks that open other screens for a trace and a place; a command whose callback is None is not available."""

    diff: Callable[[int, Location | None], None] | None = None
    reread: Callable[[int, Location | None], None] | None = None
    rule: Callable[[str], None] | None = None
    live: Callable[[int], None] | None = None
    ask: Callable[[int, int | None], None] | None = None


class TraceActions(StoreScreen[None]):
    """A screen with one opened trace; the base of the dissector."""

    def __init__(self, access: StoreAccess, callbacks: TraceCallbacks) -> None:
        super().__init__()
        self.access = access
        self.callbacks = callbacks
        self._opened: OpenedTrace | None = None
        self._location: Location | None = None

    @property
    def opened(self) -> OpenedTrace | None:
        """The opened trace; None if there is none (yet)."""
        return self._opened

    @property
    def location(self) -> Location | None:
        """The selected place."""
        return self._location

    @property
    def panes(self) -> Panes:
        """The panes."""
        return self.query_one(Panes)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable commands that have no callback."""
        callbacks: dict[str, object] = {
            "diff": self.callbacks.diff,
            "reread": self.callbacks.reread,
            "rule": self.callbacks.rule,
        }
        callbacks["ask"] = self.callbacks.ask
        return super().check_action(action, parameters) if action not in callbacks else callbacks[action] is not None

    def selected_step(self) -> Step | None:
        """The step that the selected place belongs to."""
        if self._opened is None or self._location is None:
            return None
        return step_at(self._opened.dissection, self._location)

    def action_copy(self) -> None:
        """Choose what to copy."""
        if self._opened is None or self._location is None:
            return
        row, step = self.panes.branches.row, self.selected_step()
        id_, where = self._opened.id, self.access.where
        self.ask_copy("copy", copies_of(self._opened.dissection, self._location, row, step, id=id_, where=where))

    def action_mark(self) -> None:
        """Mark the selected step, or the trace if none is selected; or remove that mark."""
        if self._opened is not None:
            self.toggle_mark(self._opened.id, self._selected_number())

    def action_note(self) -> None:
        """Ask for a note on the selected step, or on the trace, and save it."""
        if self._opened is not None:
            step = self._selected_number()
            self.ask_note(self._opened.id, step, note_at(self.panes.side.marks, step))

    async def marks_changed(self, marks: tuple[Mark, ...]) -> None:
        """Show the marks beside the trace."""
        self.panes.side.show_marks(marks)

    def _selected_number(self) -> int | None:
        step = self.selected_step()
        return step.number if step is not None else None

    def action_diff(self) -> None:
        """Compare this trace with the marked one."""
        if self.callbacks.diff is not None and self._opened is not None:
            self.callbacks.diff(self._opened.id, self._location)

    def action_ask(self) -> None:
        """Ask again for the selected answer, else for the one that broke the chain, else for the last one."""
        if self.callbacks.ask is None or self._opened is None:
            return
        trace, broken = self._opened.dissection.trace, self._opened.dissection.inspection.chain.broken
        here = self._location.turn if self._location is not None else 0
        if 0 < here <= len(trace.turns) and trace.turns[here - 1].role is Role.ASSISTANT:
            self.callbacks.ask(self._opened.id, here)
        else:
            self.callbacks.ask(self._opened.id, broken.turn if broken is not None else None)

    def action_reread(self) -> None:
        """Read the stream with another format; for a result, the stream of its call."""
        if self.callbacks.reread is not None and self._opened is not None:
            location = self._location and call_place(self._opened.dissection, self._location)
            self.callbacks.reread(self._opened.id, location)

    def action_rule(self) -> None:
        """Explain the rule of the selected fault, or of the nearest one before or after the cursor."""
        if self._opened is None or self.callbacks.rule is None:
            return
        dissection, here = self._opened.dissection, self._location or Location(1, "", Range(0, 0))
        fault = fault_at(dissection, here)
        if fault is None:
            self.toast("This trace has no faults; `R` on the list of traces shows all rules.")
        else:
            self.callbacks.rule(fault.rule.code)

    def action_export(self) -> None:
        """Ask for a file and write the trace to it."""
        if self._opened is not None:
            self.ask_export(self._opened.summary)

    def action_editor(self) -> None:
        """Open the raw text of the selected part in the user's editor, at the selected line."""
        if self._opened is None or self._location is None:
            return
        location = self._location
        text = _text(self._opened.dissection, location)
        line = text.count("\n", 0, location.range.start) + 1
        name = f"trace-{self._opened.id}-turn-{location.turn}.txt"
        problem = edit_copy(self.app, text, name, line)
        if problem:
            self.toast(problem, is_error=True)


def copies_of(
    dissection: Dissection, location: Location, row: TreeRow | None, step: Step | None, *, id: int, where: str | None
) -> list[DialogChoice]:
    """The parts of a place that can be copied; `row` is the row of the tree that contains it."""
    choices: list[DialogChoice] = []
    text = dissection.text_of(location)[:_MAX_COPIED_CHARS]
    if text:
        choices.append(copy_choice("text", text))
    if row is not None and row.pointer is not None and step is not None:
        choices.append(copy_choice("path", row.pointer or "/"))
        for value in _values(step.call.arguments, row.pointer):
            choices.append(copy_choice("value", write_json(value, ascii_only=False)[:_MAX_COPIED_CHARS]))
    if step is not None:
        choices.append(copy_choice("call", step.call.range.of(_text(dissection, step.location))[:_MAX_COPIED_CHARS]))
    here = Link(str(id), location=location)
    link = Link(str(id), step=step.number) if step is not None else Link(str(id), turn=location.turn)
    choices.append(copy_choice("link", str(link)))
    choices.append(copy_choice("command", shlex.join(("weaklink", "tui", str(here), *database_option(where)))))
    choices.append(copy_choice("link to here", str(here)))
    return choices


def _text(dissection: Dissection, location: Location) -> str:
    part = dissection.part(location.turn, location.part)
    return part.text if part else ""


def _values(value: Json, pointer: str) -> Iterator[Json]:
    """The decoded value at a pointer; nothing if there is none."""
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return
    yield value
