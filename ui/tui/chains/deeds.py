"""What is done with the chain under the cursor: exported, copied, marked, noted."""

from functools import partial

from textual.screen import Screen

from inspector.errors import WeaklinkError
from ui.tui.chains.chain_list import ChainList
from ui.tui.chains.sentences import copies_of
from ui.tui.dialogs import ChoiceDialog, LineDialog
from ui.tui.exporting import FORMS, export_trace, proposed_name, wrong_with
from ui.tui.store_access import StoreAccess, sentence
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

    def _export(self, id: int, path: str | None) -> None:
        if path is not None:
            self.run_worker(self._exported(id, path), group="export")

    async def _exported(self, id: int, path: str) -> None:
        try:
            written = await self._access.ask(partial(export_trace, id=id, path=path))
            self.tell(f"Trace {id} is written to {written}.")
        except WeaklinkError as error:
            self.tell(sentence(error), is_error=True)

    def _copy(self, text: str | None) -> None:
        if text is not None:
            self.app.copy_to_clipboard(text)
            self.tell(f"Copied: {text}")
