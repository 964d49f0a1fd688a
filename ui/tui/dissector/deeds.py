"""What is done with the trace in the dissector: marked, noted, copied, exported, handed to other screens."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from textual.screen import Screen

from inspector.chain.steps import Step
from inspector.diagnostics import Location
from inspector.errors import WeaklinkError
from inspector.text import Range
from storage import Mark, Store
from ui.tui.dialogs import ChoiceDialog, LineDialog
from ui.tui.dissector.copies import copies_of
from ui.tui.dissector.opened import Opened
from ui.tui.dissector.panes import Panes
from ui.tui.exporting import FORMS, export_trace, proposed_name, wrong_with
from ui.tui.status_line import StatusLine
from ui.tui.store_access import StoreAccess, sentence
from ui.tui.work import begin
from ui.views.dissect.moving import fault_at
from ui.views.dissect.selection import step_at
from ui.views.visible import visible_line

MARKING = "writing the mark"
_ABOUT_NOTE = "The note stays with the trace; an empty one takes it away."


@dataclass(frozen=True, slots=True)
class Doors:
    """What opens other screens for a trace and the selected place in it; a command without its door is not offered."""

    diff: Callable[[int, Location | None], None] | None = None
    reread: Callable[[int, Location | None], None] | None = None
    rule: Callable[[str], None] | None = None
    live: Callable[[int], None] | None = None


class TraceDeeds(Screen[None]):
    """A screen with one opened trace; the base of the dissector."""

    def __init__(self, access: StoreAccess, doors: Doors) -> None:
        super().__init__()
        self.access = access
        self.doors = doors
        self._opened: Opened | None = None
        self._place: Location | None = None

    @property
    def found(self) -> Opened | None:
        """The opened trace; None where there is none (yet)."""
        return self._opened

    @property
    def place(self) -> Location | None:
        """What is selected."""
        return self._place

    @property
    def panes(self) -> Panes:
        """The panes."""
        return self.query_one(Panes)

    def tell(self, said: str, *, is_error: bool = False) -> None:
        """Say something for a moment."""
        self.notify(visible_line(said), severity="error" if is_error else "information", markup=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What no screen can do is not offered."""
        doors: dict[str, object] = {"diff": self.doors.diff, "reread": self.doors.reread, "rule": self.doors.rule}
        return super().check_action(action, parameters) if action not in doors else doors[action] is not None

    def selected_step(self) -> Step | None:
        """The step that the selected place belongs to."""
        if self._opened is None or self._place is None:
            return None
        return step_at(self._opened.dissection, self._place)

    def action_copy(self) -> None:
        """Choose what to copy."""
        if self._opened is None or self._place is None:
            return
        row, step = self.panes.branches.row, self.selected_step()
        id_, where = self._opened.id, self.access.where
        choices = copies_of(self._opened.dissection, self._place, row, step, id=id_, where=where)
        self.app.push_screen(ChoiceDialog("copy", choices), self._copy)

    def action_mark(self) -> None:
        """Mark the selected step, or the trace where none is selected; or take that mark away."""
        if self._opened is None:
            return
        step = self.selected_step()
        number = step.number if step is not None else None
        mark = self._mark_at(number)
        if mark is not None and mark.note:
            self.tell("There is a note here: empty it with `;` to take the mark away.")
        else:
            question = partial(_marked, self._opened.id, number, mark)
            begin(self, partial(self._changed, question), "mark", supersedes=False)

    def action_note(self) -> None:
        """Ask for a note on the selected step, or on the trace, and keep it."""
        if self._opened is None:
            return
        step = self.selected_step()
        number = step.number if step is not None else None
        mark = self._mark_at(number)
        what = f"step {number}" if number else f"trace {self._opened.id}"
        dialog = LineDialog(f"note on {what}", about=_ABOUT_NOTE, typed=mark.note if mark else "")
        self.app.push_screen(dialog, partial(self._note, self._opened.id, number))

    def action_diff(self) -> None:
        """Compare this trace with the marked one."""
        if self.doors.diff is not None and self._opened is not None:
            self.doors.diff(self._opened.id, self._place)

    def action_reread(self) -> None:
        """Read the stream with another format."""
        if self.doors.reread is not None and self._opened is not None:
            self.doors.reread(self._opened.id, self._place)

    def action_rule(self) -> None:
        """Explain the rule of the fault that is selected, or the nearest before or behind it."""
        if self._opened is None or self.doors.rule is None:
            return
        dissection, here = self._opened.dissection, self._place or Location(1, "", Range(0, 0))
        fault = fault_at(dissection, here)
        if fault is None:
            self.tell("Nothing is wrong with this trace; `R` on the list of chains shows all rules.")
        else:
            self.doors.rule(fault.rule.code)

    def action_export(self) -> None:
        """Ask for a file and write the trace to it."""
        if self._opened is not None:
            title, typed = f"export trace {self._opened.id}", proposed_name(self._opened.summary)
            dialog = LineDialog(title, about=f"{FORMS}.", typed=typed, wrong=wrong_with)
            self.app.push_screen(dialog, partial(self._export, self._opened.id))

    def _mark_at(self, step: int | None) -> Mark | None:
        marks = self.panes.side.marks
        return next((one for one in marks if one.step == step and one.turn is None), None)

    def _note(self, id: int, step: int | None, note: str | None) -> None:
        if note is not None:
            begin(self, partial(self._changed, partial(_noted, id, step, note.strip())), "mark", supersedes=False)

    async def _changed(self, question: Callable[[Store], tuple[str, tuple[Mark, ...]]]) -> None:
        """Write it; another program may be writing too: then that takes some seconds, and can be left meanwhile."""
        status = self.query_one(StatusLine)
        status.working = status.working or MARKING
        try:
            said, marks = await self.access.ask(question)
            self.panes.side.show_marks(marks)
            self.tell(said)
        except WeaklinkError as error:
            self.tell(sentence(error, self.access.name), is_error=True)
        finally:
            status.working = "" if status.working == MARKING else status.working

    def _export(self, id: int, path: str | None) -> None:
        if path is not None:
            begin(self, partial(self._exported, id, path), "export", supersedes=False)

    async def _exported(self, id: int, path: str) -> None:
        try:
            written = await self.access.ask(partial(export_trace, id=id, path=path))
        except WeaklinkError as error:
            self.tell(sentence(error, self.access.name), is_error=True)
        else:
            self.tell(f"Trace {id} is written to {written}.")

    def _copy(self, text: str | None) -> None:
        if text is not None:
            self.app.copy_to_clipboard(text)
            shown = text if len(text) <= 60 else f"{text[:59]}…"
            self.tell(f"Copied: {shown}")


def _marked(id: int, step: int | None, mark: Mark | None, store: Store) -> tuple[str, tuple[Mark, ...]]:
    what = f"Step {step}" if step else f"Trace {id}"
    if mark is None:
        store.mark(id, step=step)
        return f"{what} is marked.", store.marks([id]).get(id, ())
    store.unmark(id, step=step, own_only=True)
    return f"The mark of {what.lower()} is taken away.", store.marks([id]).get(id, ())


def _noted(id: int, step: int | None, note: str, store: Store) -> tuple[str, tuple[Mark, ...]]:
    what = f"step {step}" if step else f"trace {id}"
    if note:
        store.mark(id, step=step, note=note)
        return f"The note on {what} is kept.", store.marks([id]).get(id, ())
    store.unmark(id, step=step, own_only=True)
    return f"The note on {what} is taken away.", store.marks([id]).get(id, ())
