"""Dialogs (help, a choice, a typed line), and the base class of the screens above a list or a trace."""

from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import islice, product
from string import ascii_lowercase
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

from msgspec import Struct
from textual import events
from textual.app import App, ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen, Screen, ScreenResultType
from textual.widgets import Input, OptionList

from weaklink.inspector.errors import WeaklinkError
from weaklink.storage.marks import Mark
from weaklink.storage.store import Store
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.tui.commands import LINE_COMMANDS, Command, bindings, keymap_path
from weaklink.ui.tui.exporting import FORMS, export_problem, export_traces, proposed_name
from weaklink.ui.tui.line_bar import LineBar, StatusLine, StatusText
from weaklink.ui.tui.line_view import LineInput, LineList, LineView, content_of, fit_cell_width
from weaklink.ui.tui.palette import paint_of
from weaklink.ui.tui.store_access import StoreAccess, error_sentence, start_work
from weaklink.ui.views.minimap import LEGEND
from weaklink.ui.views.styled_text import Line, Run, Style, counted, padded, quoted, visible_line, visible_runs, wrapped

CLOSE = Command("dialog.close", "Close", "Close the dialog without changes.", ("escape", "q"))
"""The command that closes a dialog."""
_KEYS_CELLS = 20
_NAME_CELLS = 16
_MAX_CHARS = 400  # of what a choice is: more than a line has
_MARKING = "writing the mark"
_NOTE_HINT = "The note is saved with the trace; an empty one removes it."
_OF_A_DATABASE = frozenset({"command", "link", "link to here", "id"})
"""Choices to copy that mean nothing without the database."""
_COPIED_CHARS = 60  # that the toast quotes
_Answer = TypeVar("_Answer")


class ClosesOnce(Screen[ScreenResultType]):
    """A screen that closes only while it is on top, so that a key pressed twice does not close the screen below."""

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close the screen with a result, if it is still the active screen."""
        return super().dismiss(result) if self.is_active else AwaitComplete()

    def action_close(self) -> None:
        """Close the screen without a result."""
        self.dismiss(None)


class ShowsToasts(Screen[ScreenResultType]):
    """A screen that shows toasts."""

    def toast(self, message: str, *, is_error: bool = False) -> None:
        """Show a toast."""
        show_toast(self.app, message, is_error=is_error)


def show_toast(app: App[Any], message: str, *, is_error: bool = False) -> None:
    """Show a toast, whatever its text contains."""
    app.notify(visible_line(message), severity="error" if is_error else "information", markup=False)


_SCOPE_NAMES = MappingProxyType({"chains": "traces (`chains` in a keymap)"})
"""Scopes whose name in keymap files is older than the word of the screens."""


def help_lines(commands: Iterable[Command], keys: Mapping[str, tuple[str, ...]], width: int) -> Iterator[Line]:
    """The help of commands, scope by scope, with their keys; without a key, the name for the command line."""
    scopes: dict[str, list[Command]] = {}
    for command in commands:
        scopes.setdefault(command.scope, []).append(command)
    for scope, group in scopes.items():
        yield (Run(_SCOPE_NAMES.get(scope, scope), Style.STRONG),)
        for command in group:
            reached = "  ".join(keys.get(command.id, ())) or f": {command.id.partition('.')[2]}"
            lead: Line = (*padded((Run(f"  {reached}", Style.KEY),), _KEYS_CELLS), Run(" "))
            for line in wrapped((Run(command.help),), width - _KEYS_CELLS - 1):
                yield (*lead, *line)
                lead = (Run(" " * (_KEYS_CELLS + 1)),)
        yield ()
    yield (Run("the map of a trace", Style.STRONG),)
    for words in LEGEND:
        yield from wrapped((Run(f"  {words}"),), width, indent=2)
    yield ()
    hint = f"`:` runs commands by name, `ctrl+p` finds them. Set other keys in `{keymap_path()}`."
    yield from wrapped(quoted(hint), width)


class HelpScreen(ClosesOnce[None], ModalScreen[None]):
    """Shows the help of the screen below it."""

    ACTIONS: ClassVar[tuple[Command, ...]] = (CLOSE,)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]
    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen > Vertical {
        width: 90%; max-width: 120; height: 90%;
        background: $background; border: round $border; padding: 0 1;
    }
    """

    def __init__(self, commands: Sequence[Command], keys: Mapping[str, tuple[str, ...]]) -> None:
        super().__init__()
        self._commands = commands
        self._keys = keys

    def compose(self) -> ComposeResult:
        """The lines."""
        with Vertical() as box:
            box.border_title, box.border_subtitle = "help", "esc closes"
            yield LineView()

    def on_mount(self) -> None:
        """Focus the lines."""
        self.query_one(LineView).focus()

    def on_resize(self) -> None:
        """Wrap sentences at the box's edge."""
        view = self.query_one(LineView)
        self.call_after_refresh(
            lambda: view.show(LineList(tuple(help_lines(self._commands, self._keys, max(view.size.width - 1, 30)))))
        )


class DialogChoice(Struct, frozen=True):
    """One of several choices: its name, what it is or does, and the value of choosing it."""

    name: str
    about: str
    value: str


def copy_choice(name: str, value: str) -> DialogChoice:
    """A choice to copy a text unchanged; only lone surrogates, which no terminal accepts, become question marks."""
    return DialogChoice(name, visible_line(value[:_MAX_CHARS]), value.encode("utf-8", "replace").decode("utf-8"))


class ChoiceList(OptionList, inherit_bindings=False):
    """Textual's list of options with the keys of a `LineView`; each option has one line."""

    ACTIONS: ClassVar[tuple[Command, ...]] = tuple(
        command for command in LINE_COMMANDS if command.id not in ("lines.left", "lines.right")
    )
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]
    DEFAULT_CSS = """
    ChoiceList { background: $surface; text-wrap: nowrap; text-overflow: ellipsis; }
    ChoiceList:focus { background-tint: transparent; }
    """
    action_down = OptionList.action_cursor_down
    action_up = OptionList.action_cursor_up
    action_choose = OptionList.action_select


class ChoiceDialog(ClosesOnce[str | None], ModalScreen[str | None]):
    """A dialog whose result is the value of the choice, or None."""

    ACTIONS: ClassVar[tuple[Command, ...]] = (CLOSE,)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]
    DEFAULT_CSS = """
    ChoiceDialog { align: center middle; }
    ChoiceDialog > Vertical {
        width: 90%; max-width: 100; height: auto; max-height: 80%;
        background: $surface; border: round $border; padding: 0 1;
    }
    ChoiceDialog ChoiceList { max-height: 16; }
    """

    def __init__(self, title: str, choices: Sequence[DialogChoice]) -> None:
        super().__init__()
        self._title = title
        self._choices = choices

    def compose(self) -> ComposeResult:
        """The choices."""
        with Vertical() as box:
            box.border_title = Content(fit_cell_width(visible_line(self._title)))
            box.border_subtitle = "enter chooses, esc closes"
            yield ChoiceList(*map(self._prompt, self._choices), compact=True)

    def on_option_list_option_selected(self, event: ChoiceList.OptionSelected) -> None:
        """Close with the choice."""
        self.dismiss(self._choices[event.option_index].value)

    def _prompt(self, choice: DialogChoice) -> Content:
        name = padded((Run(choice.name, Style.KEY),), _NAME_CELLS)
        return content_of((*name, Run(" "), *visible_runs(choice.about[:_MAX_CHARS])), paint_of(self.app))


def jump_labels(count: int) -> list[str]:
    """`count` labels of equal length, none a prefix of another: single letters, or more if 26 do not suffice."""
    length = next(n for n in range(1, count + 2) if len(ascii_lowercase) ** n >= count)
    return ["".join(letters) for letters in islice(product(ascii_lowercase, repeat=length), count)]


class JumpScreen(ClosesOnce[str | None], ModalScreen[str | None]):
    """A transparent screen whose result is the typed label, or None if no label begins with the typed letters."""

    ACTIONS: ClassVar[tuple[Command, ...]] = (Command(CLOSE.id, CLOSE.title, CLOSE.help, ("escape",)),)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]
    DEFAULT_CSS = """
    JumpScreen { background: transparent; }
    """

    def __init__(self, labels: Collection[str]) -> None:
        super().__init__()
        self._labels = labels
        self._typed = ""

    def compose(self) -> ComposeResult:
        """A hint, over the two lines of keys."""
        bar = LineBar()
        bar.styles.dock, bar.styles.height = "bottom", 2
        last = max(self._labels)
        keys = f"`{min(self._labels)}` to `{last}`" if len(self._labels) > 1 else f"`{last}`"
        bar.show_lines([quoted(f" {keys}: goes to the fault with that label; `esc` stays here.")])
        yield bar

    def on_key(self, event: events.Key) -> None:
        """Take a letter of a label."""
        if event.key == "escape":
            return
        event.stop()
        self._typed += event.character or " "
        if self._typed in self._labels:
            self.dismiss(self._typed)
        elif not any(label.startswith(self._typed) for label in self._labels):
            self.dismiss(None)


class LineDialog(ClosesOnce[str | None], ModalScreen[str | None]):
    """A dialog whose result is the typed line, or None; `wrong` returns a sentence on an invalid line, else None."""

    ACTIONS: ClassVar[tuple[Command, ...]] = (
        Command(CLOSE.id, CLOSE.title, CLOSE.help, ("escape",)),
        Command("dialog.accept", "Accept", "Accept what was typed.", ("enter",)),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]
    DEFAULT_CSS = """
    LineDialog { align: center middle; }
    LineDialog > Vertical {
        width: 90%; max-width: 100; height: auto;
        background: $surface; border: round $border; padding: 0 1;
    }
    LineDialog Input { border: none; height: 1; padding: 0; background: $background; }
    LineDialog LineBar { background: $surface; }
    """

    def __init__(
        self, title: str, *, about: str = "", typed: str = "", wrong: Callable[[str], str | None] | None = None
    ) -> None:
        super().__init__()
        self._title = title
        self._typed = typed
        self._wrong = wrong
        self._about = about

    def compose(self) -> ComposeResult:
        """The line, and a sentence below it."""
        with Vertical() as box:
            box.border_title = Content(fit_cell_width(visible_line(self._title)))
            box.border_subtitle = "enter accepts, esc closes"
            yield LineInput(self._typed, compact=True)
            yield LineBar(classes="wrapped")

    def on_mount(self) -> None:
        """Focus the line."""
        self.query_one(LineBar).show_lines([quoted(self._about, Style.DIM)])
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Accept the line, if it is valid."""
        wrong = self._wrong(event.value) if self._wrong else None
        if wrong is None:
            self.dismiss(event.value)
        else:
            self.query_one(LineBar).show_lines([(Run("✖ ", Style.ERROR), *quoted(wrong))])

    async def action_accept(self) -> None:
        """Accept the line."""
        await self.query_one(Input).action_submit()


class StoreScreen(ShowsToasts[ScreenResultType]):
    """The base of screens from which a user marks, copies and exports traces; it contains a `StatusLine`."""

    access: StoreAccess

    @abstractmethod
    async def marks_changed(self, marks: tuple[Mark, ...]) -> None:
        """Show the marks of the trace whose mark or note was changed."""

    def toggle_mark(self, id: int, step: int | None = None) -> None:
        """Mark a trace, or a step of it; or remove that mark."""
        start_work(self, partial(self._changed_mark, partial(_toggled, id, step)), "mark", supersedes=False)

    def ask_note(self, id: int, step: int | None, before: str, *, typed: str = "", about: str = _NOTE_HINT) -> None:
        """Ask for a note on a trace, or on a step of it, and save it. Opens at once: the next keys are the note."""
        dialog = LineDialog(f"note on {_target(id, step)}", about=about, typed=typed or before)
        self.app.push_screen(dialog, partial(self._note, id, step, before))

    def _note(self, id: int, step: int | None, before: str, note: str | None) -> None:
        if note is not None and note != before:
            start_work(self, partial(self._save_note, id, step, before, note.strip()), "mark", supersedes=False)

    async def _save_note(self, id: int, step: int | None, before: str, note: str) -> None:
        """Save a note. If somebody changed the one that was shown, ask again, with theirs below what was typed."""
        try:
            other = note_at(await self.access.query(partial(_marks_of, id)), step)
        except WeaklinkError as error:
            self.toast(error_sentence(error, self.access.name), is_error=True)
            return
        if other in (before, note):
            await self._changed_mark(partial(_noted, id, step, note))
        else:
            theirs = f"It was changed meanwhile, to: {other}" if other else "It was removed meanwhile."
            self.ask_note(id, step, other, typed=note, about=theirs)

    async def _changed_mark(self, query: Callable[[Store], tuple[str, tuple[Mark, ...]]]) -> None:
        """Write a mark, which takes some seconds if another program is writing; report what fails."""
        status = self.query_one(StatusLine)
        status.working = status.working or _MARKING
        try:
            message, marks = await self.access.query(query)
            await self.marks_changed(marks)
            self.toast(f"{message} It is not kept: the file is not imported." if self.access.is_temporary else message)
        except WeaklinkError as error:
            self.toast(error_sentence(error, self.access.name), is_error=True)
        finally:
            status.working = "" if status.working == _MARKING else status.working

    def ask_copy(self, title: str, choices: Sequence[DialogChoice]) -> None:
        """Choose what to copy to the clipboard."""
        if self.access.is_temporary:
            choices = [choice for choice in choices if choice.name not in _OF_A_DATABASE]
        self.app.push_screen(ChoiceDialog(title, choices), self._copy)

    def _copy(self, text: str | None) -> None:
        if text is not None:
            self.app.copy_to_clipboard(text)
            self.toast(f"Copied: {text if len(text) <= _COPIED_CHARS else text[: _COPIED_CHARS - 1] + '…'}")

    def ask_export(self, summary: TraceSummary) -> None:
        """Ask for a file, and write the trace to it."""
        title, typed = f"export trace {summary.id}", proposed_name(summary)
        dialog = LineDialog(title, about=f"{FORMS}.", typed=typed, wrong=export_problem)
        self.app.push_screen(dialog, partial(self._export, summary.id))

    def _export(self, id: int, path: str | None) -> None:
        if path is not None:
            start_work(self, partial(self._exported, id, path), "export", supersedes=False)

    async def _exported(self, id: int, path: str) -> None:
        try:
            written = await self.access.query(partial(export_traces, ids=(id,), path=path))
            self.toast(f"Trace {id} is written to {written}.")
        except WeaklinkError as error:
            self.toast(error_sentence(error, self.access.name), is_error=True)


def _toggled(id: int, step: int | None, store: Store) -> tuple[str, tuple[Mark, ...]]:
    """Mark a trace or a step, or remove that mark, unless it has a note; the marks of other places stay."""
    marks = _marks_of(id, store)
    mark, target = _mark_at(marks, step), _target(id, step)
    if mark is None:
        store.marks.put(id, step=step)
        message = f"{target.capitalize()} is marked."
    elif mark.note:
        message = "This mark has a note: delete the note with `;` to remove the mark."
    else:
        store.marks.remove(id, step=step, own_only=True)
        left = f" {counted(len(marks) - 1, 'mark')} in it remain." if step is None and len(marks) > 1 else ""
        message = f"The mark of {target} is removed.{left}"
    return message, _marks_of(id, store)


def _noted(id: int, step: int | None, note: str, store: Store) -> tuple[str, tuple[Mark, ...]]:
    """Save a note on a trace or a step; an empty one removes it, and its mark."""
    if note:
        store.marks.put(id, step=step, note=note)
    else:
        store.marks.remove(id, step=step, own_only=True)
    return f"The note on {_target(id, step)} is {'saved' if note else 'removed'}.", _marks_of(id, store)


def _marks_of(id: int, store: Store) -> tuple[Mark, ...]:
    """The marks of a trace, and of its turns and steps."""
    return store.marks.of([id]).get(id, ())


def note_at(marks: tuple[Mark, ...], step: int | None) -> str:
    """The note on a step, or on the trace as a whole; "" if there is none."""
    mark = _mark_at(marks, step)
    return "" if mark is None else mark.note


def _mark_at(marks: tuple[Mark, ...], step: int | None) -> Mark | None:
    """The mark of a step, or of the trace as a whole: its turns may have others."""
    return next((mark for mark in marks if mark.turn is None and mark.step == step), None)


def _target(id: int, step: int | None) -> str:
    return f"trace {id}" if step is None else f"step {step}"


class UpperScreen(ClosesOnce[None], ShowsToasts[None]):
    """The base of screens above a list or a trace. It contains a `StatusLine`; `crumbs` are its breadcrumbs."""

    def __init__(self, access: StoreAccess, *crumbs: str) -> None:
        super().__init__()
        self.access = access
        self.crumbs = crumbs

    @property
    def status(self) -> StatusLine:
        """The status line, at the top."""
        return self.query_one(StatusLine)

    def update_status(self, about: Line = (), right: Line = (), problem: str = "") -> None:
        """Show this in the status line."""
        for line in self.query(StatusLine):  # none while the screen closes
            line.status_text = StatusText(("traces", *self.crumbs), about, right, problem)

    def action_back(self) -> None:
        """Go back to where this was opened."""
        self.stop_work()
        self.dismiss(None)

    def stop_work(self) -> None:
        """Cancel running work: the widgets that would show its results are removed."""
        self.workers.cancel_node(self)

    async def fetch(self, query: Callable[[Store], _Answer], *, of_traces: bool = False) -> _Answer | None:
        """The result of a query on the store; None if it failed, and the status line then shows why.

        A query `of_traces` reads whole traces, and waits for others of its kind.
        """
        run = self.access.query_trace if of_traces else self.access.query
        try:
            return await run(query)
        except WeaklinkError as error:
            self.update_status(problem=error_sentence(error, self.access.name))
            return None

    @asynccontextmanager
    async def working(self, what: str) -> AsyncIterator[None]:
        """Show in the status line that `what` is in progress, until the block ends."""
        self.work(what)
        try:
            yield
        finally:
            self.work("")

    def work(self, what: str) -> None:
        """Show in the status line that `what` is in progress; an empty string clears it."""
        for line in self.query(StatusLine):
            line.working = what
