"""What is done with the chain under the cursor: exported, copied, marked, noted."""

from collections.abc import Callable
from functools import partial

from textual.screen import Screen

from inspector.errors import WeaklinkError
from storage import Store, TraceSummary
from ui.tui.chains.chain_list import ChainList
from ui.tui.chains.sentences import copies_of
from ui.tui.dialogs import ChoiceDialog, LineDialog
from ui.tui.exporting import FORMS, export_trace, proposed_name, wrong_with
from ui.tui.store_access import StoreAccess, sentence
from ui.tui.work import begin
from ui.views.visible import visible_line


class ChainDeeds(Screen[None]):
    """A screen with a list of chains; the base of the home screen."""

    def __init__(self, access: StoreAccess) -> None:
        super().__init__()
        self._access = access

    @property
    def chains(self) -> ChainList:
        """The list."""
        return self.query_one(ChainList)

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
        """Mark the chain, or take its marks away."""
        current = self.chains.current
        if current is not None:
            question = partial(_toggled, current)
            begin(self, partial(self._changed_mark, question), "mark", supersedes=False)

    def action_note(self) -> None:
        """Ask for a note and keep it."""
        current = self.chains.current
        if current is not None:
            about = "The note stays with the trace; an empty one takes it away."
            dialog = LineDialog(f"note on trace {current.id}", about=about, typed=current.note)
            self.app.push_screen(dialog, partial(self._note, current))

    def _note(self, summary: TraceSummary, note: str | None) -> None:
        if note is not None and note != summary.note:
            begin(self, partial(self._changed_mark, partial(_noted, summary, note)), "mark", supersedes=False)

    async def _changed_mark(self, question: Callable[[Store], str]) -> None:
        try:
            said = await self._access.ask(question)
            await self.chains.refresh_current()
            self.tell(said)
        except WeaklinkError as error:
            self.tell(sentence(error, self._access.name), is_error=True)

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


def _toggled(summary: TraceSummary, store: Store) -> str:
    if summary.marked:
        store.unmark(summary.id)
        return f"The marks of trace {summary.id} are taken away."
    store.mark(summary.id)
    return f"Trace {summary.id} is marked."


def _noted(summary: TraceSummary, note: str, store: Store) -> str:
    if note.strip():
        store.mark(summary.id, note=note.strip())
        return f"The note on trace {summary.id} is kept."
    store.unmark(summary.id)
    return f"The note on trace {summary.id} is taken away."
