"""Which attempted calls of a trace are none: those that repeat a call made properly, or words of the user."""

from collections.abc import Iterable, Iterator, Sequence

from inspector.checks.attempted.context import is_in_sentence
from inspector.diagnostics import AttemptedCall, Diagnostic
from inspector.model import Role, ToolCall, Turn, arguments_key

_MOST_SEARCHED = 1 << 20  # characters of earlier turns that are searched for a quoted call, the latest first


class Echoes:
    """What a trace has said so far; fed with its turns in order."""

    def __init__(self) -> None:
        self._calls: list[ToolCall] = []
        self._indexed = 0
        self._made: set[tuple[str | None, str]] = set()
        self._heard: list[str] = []

    def take(self, turn: Turn, calls: Iterable[ToolCall]) -> None:
        """A turn and the calls in it are known."""
        self._calls += calls
        if turn.role in (Role.USER, Role.TOOL):
            self._heard += (part.text for part in turn.parts if part.name == "text")

    def without(self, found: Iterable[Diagnostic], text: str, of_turn: Sequence[ToolCall]) -> Iterator[Diagnostic]:
        """The diagnostics of one text without those of echoes; `of_turn` are the calls made properly in its turn."""
        made = None
        for diagnostic in found:
            call = diagnostic.fault.call
            if call is None:
                yield diagnostic
                continue
            made = made if made is not None else {(one.name, arguments_key(one.arguments)) for one in of_turn}
            if not self._is_echo(call, text, made):
                yield diagnostic

    def _is_echo(self, attempt: AttemptedCall, text: str, made: set[tuple[str | None, str]]) -> bool:
        key = (attempt.name, arguments_key(attempt.arguments))
        if key in made or (not attempt.is_step and any(name == attempt.name for name, _ in made)):
            return True
        if not is_in_sentence(attempt.range, text):
            return False
        return self._was_made(key) or self._is_heard(attempt.range.of(text))

    def _was_made(self, key: tuple[str | None, str]) -> bool:
        """Whether an earlier turn made this very call; calls are indexed only once somebody asks."""
        new, self._indexed = self._calls[self._indexed :], len(self._calls)
        self._made.update((call.name, arguments_key(call.arguments)) for call in new)
        return key in self._made

    def _is_heard(self, written: str) -> bool:
        """Whether the user or a tool wrote these very words before."""
        room = _MOST_SEARCHED
        for text in reversed(self._heard):
            if room < len(text):
                return False
            room -= len(text)
            if written in text:
                return True
        return False
