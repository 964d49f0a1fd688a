"""What is done with the chain under the cursor: exported, copied, marked, noted."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from textual.screen import Screen

from inspector.errors import WeaklinkError
from storage import Mark, Store
from ui.tui.chains.chain_list import ChainList
from ui.tui.chains.sentences import copies_of
from ui.tui.dialogs import ChoiceDialog, LineDialog
from ui.tui.exporting import FORMS, export_trace, proposed_name, wrong_with
from ui.tui.status_line import StatusLine
from ui.tui.store_access import StoreAccess, sentence
from ui.tui.work import begin
from ui.views.visible import visible_line
from ui.views.wording import counted

_MARKING = "writing the mark"  # another program may be writing: then that takes some seconds


class ChainDeeds(Screen[None]):
    """A screen with a list of chains; the base of the home screen."""

    def __init__(self, access: StoreAccess) -> None:
        super().__init__()
        self._access = access

    @property
    def chains(self) -> ChainList:
        """The list."""
        return self.query_one(ChainList)

    def on_screen_resume(self) -> None:
        """What was marked or noted on another screen shows in the list."""
        if self.chains.current is not None:
            begin(self, self._look_again, "resume")

    def tell(self, said: str, *, is_error: bool = False) -> None:
        """Say something for a moment."""
        self.notify(visible_line(said), severity="error" if is_error else "information", markup=False)

    def action_export(self) -> None:
        """Ask for a file and write the chain to it."""
        current = self.chains.current
        if current is not None:
            title, typed = f"export trace {current.id}", proposed_name(current)
            dialog = LineDialog(title, about=f"{FORMS}.", typed=typed, wrong=wrong_with)
            self.app.push_screen(dialog, partial(self._export, current.id))

    def action_copy(self) -> None:
        """Choose what to copy."""
        current = self.chains.current
        if current is not None:
            step = current.broken.step if current.broken else None
            choices = copies_of(current, self._access.where, step)
            self.app.push_screen(ChoiceDialog(f"copy of trace {current.id}", choices), self._copy)

    def action_mark(self) -> None:
        """Mark the chain, or take its mark away."""
        current = self.chains.current
        if current is not None:
            question = partial(_toggled, current.id)
            begin(self, partial(self._changed_mark, question), "mark", supersedes=False)

    def action_note(self) -> None:
        """Ask for a note and keep it."""
        current = self.chains.current
        if current is not None:
            begin(self, partial(self._ask_note, current.id), "note")

    async def _ask_note(self, id: int) -> None:
        """Ask for the note of the chain as a whole: its turns and steps may bear others."""
        try:
            marks = await self._access.ask(lambda store: store.marks([id]).get(id, ()))
        except WeaklinkError as error:
            self.tell(sentence(error, self._access.name), is_error=True)
            return
        own = _own(marks)
        typed = own.note if own is not None else ""
        about = "The note stays with the trace; an empty one takes it away."
        dialog = LineDialog(f"note on trace {id}", about=about, typed=typed)
        self.app.push_screen(dialog, partial(self._note, id, typed))

    def _note(self, id: int, before: str, note: str | None) -> None:
        if note is not None and note != before:
            begin(self, partial(self._changed_mark, partial(_noted, id, note)), "mark", supersedes=False)

    async def _look_again(self) -> None:
        with suppress(WeaklinkError):  # who watches the store tells
            await self.chains.refresh_current()

    async def _changed_mark(self, question: Callable[[Store], str]) -> None:
        status = self.query_one(StatusLine)
        status.working = status.working or _MARKING
        try:
            said = await self._access.ask(question)
            await self.chains.refresh_current()
            self.tell(said)
        except WeaklinkError as error:
            self.tell(sentence(error, self._access.name), is_error=True)
        finally:
            status.working = "" if status.working == _MARKING else status.working

    def _export(self, id: int, path: str | None) -> None:
        if path is not None:
            begin(self, partial(self._exported, id, path), "export", supersedes=False)

    async def _exported(self, id: int, path: str) -> None:
        try:
            written = await self._access.ask(partial(export_trace, id=id, path=path))
            self.tell(f"Trace {id} is written to {written}.")
        except WeaklinkError as error:
            self.tell(sentence(error, self._access.name), is_error=True)

    def _copy(self, text: str | None) -> None:
        if text is not None:
            self.app.copy_to_clipboard(text)
            self.tell(f"Copied: {text}")


def _toggled(id: int, store: Store) -> str:
    """Mark a trace, or take its own mark away: those of its turns and steps stay, and so does one that bears a note."""
    marks = store.marks([id]).get(id, ())
    own = _own(marks)
    if own is None:
        store.mark(id)
        return f"Trace {id} is marked."
    if own.note:
        return "There is a note here: empty it with `;` to take the mark away."
    store.unmark(id, own_only=True)
    left = len(marks) - 1
    return f"The mark of trace {id} is taken away." + (f" {counted(left, 'mark')} in it stay." if left else "")


def _noted(id: int, note: str, store: Store) -> str:
    if note.strip():
        store.mark(id, note=note.strip())
        return f"The note on trace {id} is kept."
    store.unmark(id, own_only=True)
    return f"The note on trace {id} is taken away."


def _own(marks: Sequence[Mark]) -> Mark | None:
    """The mark of the trace as a whole."""
    return next((one for one in marks if one.turn is None and one.step is None), None)
