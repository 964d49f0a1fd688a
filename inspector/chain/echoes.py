"""Which attempted calls of a trace are none: those that repeat a call made properly, or words of the user."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from inspector.diagnostics import AttemptedCall, Diagnostic
from inspector.model import Json, Role, ToolCall, Turn

_MOST_REMEMBERED = 200  # calls of one tool that are compared with an attempt, the latest first
_MOST_SEARCHED = 1 << 20  # characters of earlier turns that are searched for a quoted call, the latest first
_WORDS = 40  # characters beside a call from which on a reply says something about it


class Echoes:
    """What a trace has said so far; fed with its turns in order."""

    def __init__(self) -> None:
        self._arguments: defaultdict[str, list[Json]] = defaultdict(list)
        self._heard: list[str] = []

    def take(self, turn: Turn, calls: Iterable[ToolCall]) -> None:
        """A turn and the calls in it are known."""
        for call in calls:
            if call.name is not None:
                self._arguments[call.name].append(call.arguments)
        if turn.role in (Role.USER, Role.TOOL):
            self._heard += (part.text for part in turn.parts if part.name == "text")

    def without(self, found: Iterable[Diagnostic], text: str, of_turn: Iterable[ToolCall]) -> Iterator[Diagnostic]:
        """The diagnostics of one text without those of echoes; `of_turn` are the calls made properly in its turn."""
        made = list(of_turn)
        for diagnostic in found:
            call = diagnostic.fault.call
            if call is None or not self._is_echo(call, text, made):
                yield diagnostic

    def _is_echo(self, attempt: AttemptedCall, text: str, made: list[ToolCall]) -> bool:
        same_tool = [call.arguments for call in made if call.name == attempt.name]
        if same_tool and (not attempt.is_step or attempt.arguments in same_tool):
            return True
        if len(text.strip()) - len(attempt.range) < _WORDS:
            return False
        earlier = self._arguments[attempt.name][-_MOST_REMEMBERED:] if attempt.name in self._arguments else ()
        return attempt.arguments in earlier or self._is_heard(attempt.range.of(text))

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
