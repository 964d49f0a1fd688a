"""Where in a text a call would be: in a code fence, a statement of its own, after a label, or in running prose."""

import re
from bisect import bisect_right
from dataclasses import dataclass
from enum import IntEnum

from inspector.text import Range

_WORDS = 8  # letters beside a call on its line from which on the line is a sentence about it
_WINDOW = 240  # characters of a line that are read before and after a call
_FENCE = re.compile(r"(?:```|~~~)[ \t]*([\w+#.-]{0,20})[^\S\n]*\n?")
_LANGUAGES = frozenset(
    [
        "python",
        "python3",
        "py",
        "json",
        "json5",
        "jsonc",
        "tool_code",
        "tool_call",
        "tool_calls",
        "tool",
        "tools",
        "function",
        "function_call",
        "functions",
        "call",
        "calls",
        "text",
        "txt",
        "plaintext",
        "plain",
        "code",
        "xml",
        "action",
        "yaml",
        "html",
        "markdown",
        "md",
        "pythonic",
        "repl",
        "shell",
        "bash",
        "sh",
    ]
)
_NO_CALL = re.compile(
    r"(?:\b(?:def|class|function|func|fn|fun|new|import|from|sub|void|int|string|interface|type|lambda[^:]{0,80}:)\s+"
    r"|[.@$\w]|->|::)\Z"
)
_QUOTED_LINE = re.compile(r"\s*(?:\||>>>|>|#|//|\*\s+@|@)")
_STATEMENT = re.compile(
    r"[\s`\"'“‘\[({\\*]*(?:[-*•+]\s+|\(?\d{1,3}[.)]\s+)?"
    r"(?:[\w\\]{1,60}(?:\s?,\s?[\w\\]{1,60}){0,8}(?:\s?:\s?[\w\[\], ]{1,40})?\s?=\s?)?(?:await\s+|return\s+)?"
    r"(?:(?:print|json\.dumps|str|repr|asyncio\.run)\s?\(\s?)?[\s`\"'“‘\[(\\*<]*\Z"
)
_LABEL = re.compile(r":[\s`\"'“‘\[({\\*]*(?:print\(\s*)?\Z")
_ENDS_LINE = re.compile(
    r"[\s`\"'”’\])}>;,.\\*]*(?:\[[^\]\n]{0,80}\]\s*)*(?:\.\w+\s*)?[\s`\"'”’\])};,.\\*]*(?:#.*|//.*)?\Z"
)
_NO_CALL_AFTER = re.compile(r"\s*(?:\{|=>|->|\.\w+\()|\s*:\s*(?:\n|\Z)")
_CHAINED = re.compile(r"[\s\]\)\[,;|&+`\"'”’“‘.\\]{0,80}(?:(?:and|or|then|und|et|y)\b)?[\s\[,;`\"'“‘\\]{0,20}\Z")


class Position(IntEnum):
    """How plainly a place in a text is one where a call is made, and not one where it is mentioned."""

    NONE = 0
    INLINE = 1
    LABELLED = 2
    STATEMENT = 3
    WHOLE = 4


@dataclass(frozen=True, slots=True)
class Fence:
    """A code fence: all of it, its content, the language it names, and whether a call may be in it."""

    range: Range
    inner: Range
    language: str

    @property
    def may_hold_calls(self) -> bool:
        """Whether models write calls in fences of this language."""
        return not self.language or self.language in _LANGUAGES


class Fences:
    """The code fences of a text, found once."""

    def __init__(self, text: str) -> None:
        self._fences = list(_fences(text)) if "```" in text or "~~~" in text else []
        self._starts = [fence.range.start for fence in self._fences]

    def at(self, place: int) -> Fence | None:
        """The fence around a place."""
        index = bisect_right(self._starts, place) - 1
        if index < 0 or self._fences[index].range.end <= place:
            return None
        return self._fences[index]


def _fences(text: str) -> list[Fence]:
    found: list[Fence] = []
    at = 0
    while (opening := _FENCE.search(text, at)) is not None:
        sign = opening[0][:3]
        inner = opening.end() if "\n" in opening[0] else opening.start() + 3
        language = opening[1].casefold() if "\n" in opening[0] or opening.end() == len(text) else ""
        end = text.find(sign, inner)
        if end < 0:
            found.append(Fence(Range(opening.start(), len(text)), Range(inner, len(text)), language))
            break
        at = end + 3
        found.append(Fence(Range(opening.start(), at), Range(inner, end), language))
    return found


def position_of(text: str, place: Range, previous_end: int, previous: Position) -> Position:
    """Where in `text` a call at `place` is.

    `previous` is the position of the last call, which ends at `previous_end`, -1 where there is none. Reads a bounded
    number of characters around the call.
    """
    first = max(place.start - _WINDOW, 0)
    before = text[first : place.start]
    line = before[before.rfind("\n") + 1 :]
    after = text[place.end : place.end + _WINDOW]
    rest = after.split("\n", 1)[0]
    if _NO_CALL.search(line[-100:]) or _NO_CALL_AFTER.match(after) or _QUOTED_LINE.match(line):
        return Position.NONE
    if previous_end >= first and _CHAINED.match(text, previous_end, place.start):
        return previous if previous is not Position.NONE else Position.INLINE
    begins = "\n" in before or first == 0
    if begins and _STATEMENT.match(line):
        return Position.STATEMENT if _ENDS_LINE.match(rest) else Position.INLINE
    if _LABEL.search(line):
        return Position.LABELLED
    return Position.INLINE


def is_in_sentence(place: Range, text: str) -> bool:
    """Whether the line of a call at `place` is a sentence about it."""
    before = text[max(place.start - _WINDOW, 0) : place.start].rsplit("\n", 1)[-1]
    behind = text[place.end : place.end + _WINDOW].split("\n", 1)[0]
    return sum(map(str.isalpha, before + behind)) >= _WORDS
