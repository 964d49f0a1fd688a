"""The command line that `:` opens: completes a command with its arguments, checks it, and runs it.

`@marked` means all marked traces and `@shown` those that the list shows, in every command that takes traces.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from os.path import commonprefix
from pathlib import Path
from typing import Any, ClassVar

from msgspec import Struct
from textual import events
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Label

from weaklink.inspector.errors import WeaklinkError
from weaklink.storage.filter import FilterError, parse_filter
from weaklink.storage.listing import Order
from weaklink.storage.store import Store
from weaklink.ui.tui.chains.screen import ChainsScreen
from weaklink.ui.tui.commands import AvailableCommand, Command, available_commands, bindings
from weaklink.ui.tui.dialogs import CLOSE, ClosesOnce, show_toast
from weaklink.ui.tui.diff_screen import MAX_RUNS
from weaklink.ui.tui.dissector.actions import TraceActions
from weaklink.ui.tui.exporting import export_problem, export_traces
from weaklink.ui.tui.line_bar import LineBar
from weaklink.ui.tui.line_view import LineInput
from weaklink.ui.tui.store_access import StoreAccess, error_sentence, start_work
from weaklink.ui.views.links import VIEWS_PAGE, Link, LinkError, SavedView, read_link, save_view, saved_views
from weaklink.ui.views.styled_text import Run, Style, counted, quoted, visible_line
from weaklink.ui.views.trace_columns import ORDERS_BY_WORD

MARKED, SHOWN = "@marked", "@shown"
_TARGETS = (MARKED, SHOWN)
_SUFFIXES = ("html", "md", "json", "jsonl")
_MAX_TRACES = 100_000
_MAX_ASKED = 20
_MAX_OFFERED = 30
_VERBS = {
    "ask": "ask [TRACE]...: sends the request of the broken turn again",
    "diff": f"diff [TRACE]...: compares up to {MAX_RUNS} traces",
    "export": "export [TRACE]... FILE: writes traces; the suffix (html, md, json, jsonl) alone is enough",
    "filter": "filter [EXPR]: lists the traces that match, or all",
    "goto": "goto TRACE: opens a trace by its number, id or link",
    "mark": "mark [TRACE]...: marks traces",
    "save-view": "save-view NAME: saves the filter and the order of the list",
    "sort": f"sort ORDER: {', '.join(ORDERS_BY_WORD)}",
    "unmark": "unmark [TRACE]...: removes marks without a note",
    "view": "view NAME: shows the list of a saved view",
}
_OF_TRACES = ("ask", "diff", "export", "mark", "unmark")


class Completions(Struct, frozen=True):
    """The possible completions, each a whole line, and a sentence on the first."""

    lines: Sequence[str] = ()
    about: str = ""


Completer = Callable[[str], Awaitable[Completions]]


class CommandLine(ClosesOnce[str | None], ModalScreen[str | None]):
    """A line at the bottom of the screen that it acts on; its result is the typed line, or None.

    `wrong` returns a sentence on what is wrong with a line, or None.
    """

    ACTIONS: ClassVar[tuple[Command, ...]] = (
        Command(CLOSE.id, CLOSE.title, CLOSE.help, ("escape",)),
        Command("line.accept", "Run", "Run the command.", ("enter",)),
        Command("line.complete", "Complete", "Complete the word as far as it is unambiguous.", ("tab",)),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]
    DEFAULT_CSS = """
    CommandLine { background: transparent; align: left bottom; }
    CommandLine > Vertical { height: auto; background: $surface; }
    CommandLine Horizontal { height: 1; }
    CommandLine Label { width: 2; color: $primary; }
    CommandLine Input { border: none; width: 1fr; height: 1; padding: 0; background: $panel; }
    CommandLine LineBar { background: $surface; padding: 0 1; }
    """

    def __init__(self, complete: Completer, wrong: Callable[[str], str | None]) -> None:
        super().__init__()
        self._complete = complete
        self._wrong = wrong
        self._completed: tuple[str, Completions] | None = None

    def compose(self) -> ComposeResult:
        """The completions, and the line below them."""
        with Vertical():
            yield LineBar(classes="wrapped")
            with Horizontal():
                yield Label(" :", markup=False)
                yield LineInput(compact=True, select_on_focus=False)

    def on_mount(self) -> None:
        """Focus the line."""
        self.query_one(Input).focus()
        start_work(self, partial(self._show_completions, ""), "complete")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the completions."""
        start_work(self, partial(self._show_completions, event.value), "complete")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Run the command, if the line is valid."""
        wrong = self._wrong(event.value) if event.value.strip() else None
        if wrong is None:
            self.dismiss(event.value.strip() or None)
        else:
            self.query_one(LineBar).show_lines([(Run("✖ ", Style.ERROR), *quoted(visible_line(wrong)))])

    def on_click(self, event: events.Click) -> None:
        """Close the line on a click outside it."""
        if event.widget is self:
            self.dismiss(None)

    async def action_accept(self) -> None:
        """Run the command."""
        await self.query_one(Input).action_submit()

    def action_complete(self) -> None:
        """Complete the word."""
        start_work(self, self._complete_word, "insert")

    async def _complete_word(self) -> None:
        line = self.query_one(Input)
        known = await self._known(line.value)
        common = commonprefix(known.lines)  # noqa: RUF071  # of words, not of paths
        completed = known.lines[0] if known.lines and common == line.value else common
        if completed:
            line.value = completed
            line.cursor_position = len(completed)

    async def _known(self, typed: str) -> Completions:
        if self._completed is None or self._completed[0] != typed:
            self._completed = (typed, await self._complete(typed))
        return self._completed[1]

    async def _show_completions(self, typed: str) -> None:
        known = await self._known(typed)
        words = [line.rstrip().rpartition(" ")[2] for line in known.lines[:_MAX_OFFERED]]
        shown = tuple(run for word in words for run in (Run(visible_line(word), Style.KEY), Run("  ")))
        about = quoted(visible_line(known.about), Style.DIM)
        self.query_one(LineBar).show_lines([line for line in (shown, about) if line])


class CommandDestinations(Struct, frozen=True):
    """Callbacks that open the screens of commands."""

    trace: Callable[[Link], None]
    diff: Callable[[Sequence[int]], None]
    ask: Callable[[int], None]
    show_list: Callable[[str | None], None]


class LineCommands:
    """Completes, checks and runs the commands of the line for an application; `chains` is its list of traces."""

    def __init__(
        self, app: App[Any], access: StoreAccess, chains: ChainsScreen, destinations: CommandDestinations
    ) -> None:
        self._app = app
        self._access = access
        self._chains = chains
        self._destinations = destinations
        self._available: dict[str, AvailableCommand] = {}

    def open(self) -> None:
        """Show the line over the current screen."""
        screen = self._app.screen
        self._available = {
            available.command.id.partition(".")[2]: available for available in available_commands(screen)
        }
        self._app.push_screen(CommandLine(self.complete, self.wrong), self._run)

    async def complete(self, typed: str) -> Completions:
        """The completions of a line as typed so far, as whole lines."""
        verb, blank, rest = typed.lstrip().partition(" ")
        if not blank:
            names = sorted(name for name in {**_VERBS, **self._available} if name.startswith(verb))
            about = self._about(names[0]) if len(names) == 1 or verb in names else ""
            return Completions([f"{name} " if name in _VERBS else name for name in names], about)
        about = self._about(verb)
        if verb == "filter":
            return await self._filters(rest, about)
        begun, word = rest[: rest.rfind(" ") + 1], rest.rpartition(" ")[2]
        if verb in ("view", "save-view"):
            begun, word = "", rest
        arguments = [argument for argument in self._arguments(verb) if argument.startswith(word)]
        return Completions([f"{verb} {begun}{argument}" for argument in arguments], about)

    def wrong(self, line: str) -> str | None:
        """A sentence on what is wrong with a line; None if it is valid."""
        verb, _, rest = line.strip().partition(" ")
        rest = rest.strip()
        if verb not in _VERBS and verb not in self._available:
            return f"There is no command `{verb}`; `tab` completes commands."
        match verb:
            case "filter":
                return _filter_problem(rest)
            case "sort" if rest not in ORDERS_BY_WORD:
                return f"`sort` takes one of {', '.join(ORDERS_BY_WORD)}."
            case "goto":
                return _link_problem(rest)
            case "export":
                return export_problem(self._export_path(rest.split()))
            case "view" if rest not in {view.name for view in _views()}:
                return f"There is no view `{rest}`; `save-view NAME` saves one."
            case "save-view" if not rest:
                return "A view needs a name."
            case _:
                is_surplus = rest and verb not in _VERBS
                return f"`{verb}` takes no arguments." if is_surplus else None

    def _about(self, name: str) -> str:
        if name in _VERBS:
            return _VERBS[name]
        return self._available[name].command.help if name in self._available else ""

    def _arguments(self, verb: str) -> Sequence[str]:
        match verb:
            case "sort":
                return tuple(ORDERS_BY_WORD)
            case "view" | "save-view":
                return tuple(view.name for view in _views())
            case "export":
                return (*_TARGETS, *_SUFFIXES)
            case _:
                return _TARGETS if verb in _OF_TRACES else ()

    async def _filters(self, typed: str, about: str) -> Completions:
        try:
            completions = await self._access.query(lambda store: store.complete(typed, len(typed)))
        except WeaklinkError:
            return Completions(about=about)  # the status line shows problems of the store
        lines = [
            f"filter {typed[: completion.start]}{completion.text}{typed[completion.end :]}"
            for completion in completions
        ]
        return Completions(lines, completions[0].what if completions else about)

    def _run(self, line: str | None) -> None:
        verb, _, rest = (line or "").partition(" ")
        rest = rest.strip()
        match verb:
            case "":
                return
            case "filter":
                self._destinations.show_list(rest)
            case "sort":
                self._sort(ORDERS_BY_WORD[rest])
            case "goto":
                self._destinations.trace(read_link(rest))
            case "view":
                self._show_view(rest)
            case "save-view":
                self._save_view(rest)
            case _ if verb in _OF_TRACES:
                start_work(self._app, partial(self._run_on_traces, verb, rest.split()), "line", supersedes=False)
            case _:
                available = self._available[verb]
                start_work(self._app, partial(self._run_available, available), "line", supersedes=False)

    async def _run_available(self, available: AvailableCommand) -> None:
        await self._app.run_action(available.command.action, available.node)

    def _sort(self, order: Order) -> None:
        self._chains.order = order
        self._destinations.show_list(self._chains.filter_text)

    def _show_view(self, name: str) -> None:
        view = next((view for view in _views() if view.name == name), None)
        if view is not None:
            order = view.state.get("order", "")
            self._chains.order = Order(order) if order in tuple(Order) else Order.TIME
            self._destinations.show_list(view.state.get("filter", ""))

    def _save_view(self, name: str) -> None:
        state = {"filter": self._chains.filter_text, "order": self._chains.order.value}
        try:
            told = save_view(SavedView(name, VIEWS_PAGE, state))
        except WeaklinkError as error:
            self._toast(str(error), is_error=True)
        else:
            self._toast(told)

    async def _run_on_traces(self, verb: str, words: list[str]) -> None:
        path = self._export_path(words) if verb == "export" else ""
        targets = words[:-1] if verb == "export" else words
        try:
            ids = await self._access.query(partial(self._ids, words=targets or self._here()))
            await self._act(verb, ids, path)
        except WeaklinkError as error:
            self._toast(error_sentence(error, self._access.name), is_error=True)

    async def _act(self, verb: str, ids: Sequence[int], path: str) -> None:
        if not ids:
            self._toast("There is no such trace: none is marked, shown or selected.", is_error=True)
        elif verb == "export":
            written = await self._access.query_trace(partial(export_traces, ids=ids, path=path))
            self._toast(f"{counted(len(ids), 'trace')} written to {written}.")
        elif verb in ("mark", "unmark"):
            changed = await self._access.query(partial(_marked if verb == "mark" else _unmarked, ids=ids))
            self._toast(f"{counted(changed, 'trace')} {verb}ed.")
            self._chains.load(self._chains.filter_text, keep=self._chains.chains.current)
        elif verb == "diff" and not 1 < len(ids) <= MAX_RUNS:
            self._toast(f"`diff` compares 2 to {MAX_RUNS} traces; got {len(ids):,}.", is_error=True)
        elif verb == "diff":
            self._destinations.diff(ids)
        elif len(ids) > _MAX_ASKED:
            self._toast(f"`ask` opens at most {_MAX_ASKED} traces; got {len(ids):,}.", is_error=True)
        else:
            for id_ in reversed(ids):
                self._destinations.ask(id_)

    def _here(self) -> Sequence[str]:
        """The open trace, else the one under the list's cursor."""
        screens = (screen for screen in reversed(self._app.screen_stack) if isinstance(screen, TraceActions))
        trace_screen = next(screens, None)
        if trace_screen is not None:
            return (str(trace_screen.opened.id),) if trace_screen.opened is not None else ()
        current = self._chains.chains.current
        return (str(current.id),) if current is not None else ()

    def _ids(self, store: Store, *, words: Sequence[str]) -> list[int]:
        """The traces that words name, each once, in their order. Raises StoreError if a word names none."""
        ids: list[int] = []
        for word in words:
            if word in _TARGETS:
                filter_text = "marked:yes" if word == MARKED else self._chains.chains.filter_text
                ids += sorted(trace.id for trace in store.traces(filter_text, limit=_MAX_TRACES))
            else:
                ids.append(store.summary(word).id)
        return list(dict.fromkeys(ids))

    def _export_path(self, words: Sequence[str]) -> str:
        """The path to export to: the last word; a suffix alone stands for an unused file name with it."""
        last = words[-1] if words else ""
        if last not in _SUFFIXES:
            return last
        targets = words[:-1] or self._here()
        name = f"trace-{targets[0]}" if len(targets) == 1 and targets[0] not in _TARGETS else "traces"
        paths = (f"{name}{suffix}.{last}" for suffix in ("", *(f"-{number}" for number in range(2, 1_000))))
        return next(path for path in paths if not Path(path).exists())

    def _toast(self, message: str, *, is_error: bool = False) -> None:
        show_toast(self._app, message, is_error=is_error)


def _filter_problem(text: str) -> str | None:
    try:
        parse_filter(text)
    except FilterError as error:
        return str(error)
    return None


def _link_problem(text: str) -> str | None:
    if not text:
        return "`goto` needs a trace: its number, id or link."
    try:
        read_link(text)
    except LinkError as error:
        return str(error)
    return None


def _views() -> list[SavedView]:
    with suppress(WeaklinkError):  # `V` reports what is wrong with the file
        return [view for view in saved_views() if view.page == VIEWS_PAGE]
    return []


def _marked(store: Store, *, ids: Sequence[int]) -> int:
    """Mark the traces that have no mark as a whole; return how many."""
    before = store.marks.of(ids)
    left = [id_ for id_ in ids if not any(mark.turn is None and mark.step is None for mark in before.get(id_, ()))]
    for id_ in left:
        store.marks.put(id_)
    return len(left)


def _unmarked(store: Store, *, ids: Sequence[int]) -> int:
    """Remove the marks of traces as a whole, except those with a note; return how many."""
    before = store.marks.of(ids)
    whole_marks = {id_: mark for id_ in ids for mark in before.get(id_, ()) if mark.turn is None and mark.step is None}
    bare = [id_ for id_, mark in whole_marks.items() if not mark.note]
    for id_ in bare:
        store.marks.remove(id_, own_only=True)
    return len(bare)
