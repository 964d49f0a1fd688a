"""The filter bar: checks a filter as it is typed, marks its error, completes it; and edits of filters by keys."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import ClassVar

from rich.highlighter import Highlighter
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input, Label

from weaklink.storage.filter import Filter, FilterCompletion, FilterError, PhraseTerm, parse_filter
from weaklink.storage.filter.terms import AllTerms, AnyTerm, NotTerm
from weaklink.ui.tui.commands import Command, bindings
from weaklink.ui.tui.line_bar import ClickTarget, LineBar
from weaklink.ui.tui.line_view import LineInput
from weaklink.ui.tui.store_access import start_work
from weaklink.ui.views.styled_text import Run, Style, quoted, visible_line

_STATUS_TERM = re.compile(r"(?<!\S)status:[\w*]+(?!\S)")
_OR = re.compile(r"\bor\b", re.IGNORECASE)

FILTER_COMMANDS = (
    Command("filter.accept", "Accept", "Keep the filter and go back to the list.", ("enter",), footer="Accept"),
    Command("filter.leave", "Leave", "Restore the previous filter.", ("escape",), footer="Leave"),
    Command("filter.complete", "Complete", "Select the next completion.", ("tab",), footer="Complete"),
    Command("filter.older", "Older", "Recall the previous filter.", ("up",), footer="Older"),
    Command("filter.newer", "Newer", "Recall the next filter.", ("down",)),
)

_DEBOUNCE_S = 0.25  # from the last key until the list follows
_MAX_OFFERED = 12
_NOTHING = "-"


def toggled(filter_text: str, term: str) -> str:
    """The filter with its `status:` term replaced by `term`, or removed if it is the same."""
    if _OR.search(filter_text):
        return narrowed(filter_text, term)
    terms = _STATUS_TERM.findall(filter_text)
    rest = " ".join(_STATUS_TERM.sub(" ", filter_text).split())
    return rest if term in terms else narrowed(rest, term)


def narrowed(filter_text: str, term: str) -> str:
    """The filter combined with `term` by `and`; a filter with `or` is put in parentheses."""
    return f"({filter_text}) {term}" if _OR.search(filter_text) else f"{filter_text} {term}".strip()


def has_words(filter_text: str) -> bool:
    """Whether a filter uses the text index; False for an invalid filter."""
    try:
        return _has_words(parse_filter(filter_text))
    except FilterError:
        return False


def _has_words(terms: Filter) -> bool:
    for term in terms:
        match term:
            case PhraseTerm():
                return True
            case AllTerms(inner) | AnyTerm(inner):
                if _has_words(inner):
                    return True
            case NotTerm(inner):
                if _has_words((inner,)):
                    return True
            case _:
                continue
    return False


Completer = Callable[[str, int], Awaitable[Sequence[FilterCompletion]]]
"""Returns the completions at a position of a filter."""


class _ErrorHighlighter(Highlighter):
    """Marks a filter from the position of its error on."""

    def __init__(self) -> None:
        self.position: int | None = None

    def highlight(self, text: Text) -> None:
        if self.position is not None:
            text.stylize("bold underline red", min(self.position, max(len(text) - 1, 0)))


class FilterInput(LineInput):
    """The input of the filter bar."""

    ACTIONS: ClassVar[tuple[Command, ...]] = FILTER_COMMANDS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(FILTER_COMMANDS)]

    class Requested(Message):
        """A key requested an action of the bar."""

        def __init__(self, what: str) -> None:
            super().__init__()
            self.what = what

    async def action_accept(self) -> None:
        """Keep the filter."""
        await self.action_submit()

    def action_leave(self) -> None:
        """Restore the previous filter."""
        self.post_message(self.Requested("leave"))

    def action_complete(self) -> None:
        """Insert the first completion."""
        self.post_message(self.Requested("complete"))

    def action_older(self) -> None:
        """Recall the previous filter."""
        self.post_message(self.Requested("older"))

    def action_newer(self) -> None:
        """Recall the next filter."""
        self.post_message(self.Requested("newer"))


class FilterBar(Vertical):
    """A line for a filter. Posts `FilterEdited` for each valid filter, shortly after it was typed."""

    DEFAULT_CSS = """
    FilterBar { height: auto; dock: bottom; margin-bottom: 2; display: none; background: $surface; }
    FilterBar.open { display: block; }
    FilterBar Horizontal { height: 1; }
    FilterBar Label { color: $primary; }
    FilterBar Input { border: none; width: 1fr; height: 1; background: $panel; }
    FilterBar.wrong Input { background: $surface; color: $error; }
    FilterBar LineBar { background: $surface; }
    FilterBar.wrong LineBar { height: auto; padding: 0 1; text-wrap: wrap; }
    """

    class FilterEdited(Message):
        """The filter was edited; `is_final` says that the bar is closed with it."""

        def __init__(self, text: str, *, is_final: bool) -> None:
            super().__init__()
            self.text = text
            self.is_final = is_final

    def __init__(self, complete: Completer) -> None:
        super().__init__(id="filter")
        self._complete = complete
        self._marker = _ErrorHighlighter()
        self._before = ""
        self._history: list[str] = []
        self._at = 0
        self._offered: Sequence[FilterCompletion] = ()
        self._offered_for = ""

    def compose(self) -> ComposeResult:
        """The input, and a line for its errors and completions."""
        with Horizontal():
            yield Label(" filter ", markup=False)
            yield FilterInput(
                highlighter=self._marker, placeholder="status:broken model:qwen* code:J104 words", compact=True
            )
        yield LineBar()

    def open(self, typed: str, *, before: str) -> None:
        """Show the bar with the text `typed`; leaving it restores the filter `before`."""
        self._before, self._at = before, len(self._history)
        self.add_class("open")
        line = self.query_one(FilterInput)
        line.value = typed
        line.cursor_position = len(typed)
        line.focus()
        self._check(typed)

    def close(self) -> None:
        """Hide the bar."""
        self.remove_class("open")

    def show_error(self, error: FilterError) -> None:
        """Show where and why a filter is invalid."""
        self._marker.position = error.position
        self.add_class("wrong")
        reason = str(error).partition(": ")[2] or str(error)
        self.query_one(LineBar).show_lines([(Run("✖ ", Style.ERROR), *quoted(reason))])
        self.query_one(FilterInput).refresh()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Check the typed filter; the list follows shortly after."""
        event.stop()
        self._check(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Keep the filter, if it is valid."""
        event.stop()
        if self._marker.position is None:
            if event.value.strip() and event.value not in self._history[-1:]:
                self._history.append(event.value)
            self._leave(event.value)

    def on_filter_input_requested(self, event: FilterInput.Requested) -> None:
        """Run the action that a key requested."""
        event.stop()
        match event.what:
            case "leave":
                self._leave(self._before)
            case "complete":
                start_work(self, self._insert_first, "complete")
            case "older":
                self._recall(-1)
            case _:
                self._recall(1)

    def on_line_bar_pressed(self, event: LineBar.Pressed) -> None:
        """Insert the completion that was clicked."""
        event.stop()
        if event.name != _NOTHING:
            self._insert(int(event.name))

    def _leave(self, text: str) -> None:
        self.workers.cancel_group(self, "typed")
        self.close()
        self.post_message(self.FilterEdited(text, is_final=True))

    def _check(self, text: str) -> None:
        try:
            parse_filter(text)
        except FilterError as error:
            self.show_error(error)
        else:
            self._marker.position = None
            self.remove_class("wrong")
            self.query_one(LineBar).show_lines([])
        start_work(self, partial(self._typed, text), "typed")

    async def _typed(self, text: str) -> None:
        line = self.query_one(FilterInput)
        offered = await self._complete(text, line.cursor_position)
        self._offered, self._offered_for = offered[:_MAX_OFFERED], text
        if self._offered and self._may_complete(self._offered[0]):
            self._show_offered()
        await asyncio.sleep(_DEBOUNCE_S)
        if self._marker.position is None and self.has_class("open"):
            self.post_message(self.FilterEdited(text, is_final=False))

    def _may_complete(self, offered: FilterCompletion) -> bool:
        """Whether the filter has no error before the completion; otherwise the error is shown."""
        return self._marker.position is None or offered.start <= self._marker.position

    def _show_offered(self) -> None:
        """Show the completions, and what the first one is."""
        spots = [
            ClickTarget(str(index), (Run(visible_line(completion.text), Style.KEY),))
            for index, completion in enumerate(self._offered)
        ]
        first = self._offered[0].what
        about = [ClickTarget(_NOTHING, (Run(f"tab: {visible_line(first)}", Style.DIM),))] if first else []
        self.query_one(LineBar).offer([*about, *spots])

    async def _insert_first(self) -> None:
        """Insert the first completion for the current text, after waiting for it if necessary."""
        line = self.query_one(FilterInput)
        while self._offered_for != line.value:
            text = line.value
            offered = await self._complete(text, line.cursor_position)
            self._offered, self._offered_for = offered[:_MAX_OFFERED], text
        self._insert(0)

    def _insert(self, number: int) -> None:
        """Insert one of the completions; do nothing if the text has changed since they were found."""
        line = self.query_one(FilterInput)
        if number >= len(self._offered) or self._offered_for != line.value:
            return
        completion = self._offered[number]
        typed = line.value
        line.value = typed[: completion.start] + completion.text + typed[completion.end :]
        line.cursor_position = completion.start + len(completion.text)
        line.focus()

    def _recall(self, by: int) -> None:
        index = self._at + by
        if 0 <= index <= len(self._history):
            self._at = index
            line = self.query_one(FilterInput)
            line.value = self._history[index] if index < len(self._history) else self._before
            line.cursor_position = len(line.value)
