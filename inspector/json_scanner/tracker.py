"""Tracks strict JSON text, chunk by chunk, without building values: enough to know whether a position is in a string.

Theory of operation. A `JsonTracker` reads consecutive RFC 8259 values with white space between them. The first
character that no such text can contain makes it `broken`; `feed` returns the position of that character. Its state is
a stack of open brackets, the token that may come next, and, within a string or a word (number or literal), that string
or word; so a chunk may end anywhere. A word is checked when it ends. Nothing is held back and each character is read
once.
"""

import re
from enum import Enum, auto

_STRING_REST = re.compile(r'[^"\\\x00-\x1f]*')
_SPACE = re.compile(r"[ \t\n\r]*")
_WORD = re.compile(r"[-+.0-9a-zA-Z]*")
_LITERAL = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_HEX = frozenset("0123456789abcdefABCDEF")


class _Next(Enum):
    VALUE = auto()
    VALUE_OR_END = auto()
    KEY = auto()
    KEY_OR_END = auto()
    COLON = auto()
    COMMA_OR_END = auto()


class JsonTracker:
    """Reads JSON text strictly.

    `broken`: it met a character that no JSON text can contain there. `in_string`: a string is open. `completed`: the
    last `feed` stopped right after a complete top-level value.
    """

    def __init__(self) -> None:
        self.broken = False
        self.in_string = False
        self.completed = False
        self._open: list[str] = []
        self._next = _Next.VALUE
        self._escape = ""
        self._word: list[str] = []

    def feed(self, text: str, start: int = 0, end: int | None = None) -> int:
        """Read more text; returns the index after the last character read.

        Stops early right after a complete top-level value, and at the character that breaks the text, which does not
        count as read. A top-level number is complete only when the character after it is seen.
        """
        stop = len(text) if end is None else end
        self.completed = False
        while start < stop and not self.broken and not self.completed:
            if self.in_string:
                start = self._string(text, start, stop)
            elif self._word:
                start = self._rest_of_word(text, start, stop)
            else:
                start = self._structure(text, start, stop)
        return start

    def _string(self, text: str, start: int, stop: int) -> int:
        if self._escape:
            return self._rest_of_escape(text, start)
        match = _STRING_REST.match(text, start, stop)
        start = match.end() if match else start
        if start == stop:
            return start
        if text[start] == "\\":
            self._escape = "\\"
            return start + 1
        if text[start] != '"':
            self._break()
            return start
        self.in_string = False
        if self._next in (_Next.KEY, _Next.KEY_OR_END):
            self._next = _Next.COLON
        else:
            self._value_ends()
        return start + 1

    def _rest_of_escape(self, text: str, start: int) -> int:
        character = text[start]
        allowed = character in '"\\/bfnrtu' if self._escape == "\\" else character in _HEX
        if not allowed:
            self._break()
            return start
        self._escape += character
        if self._escape[:2] != "\\u" or len(self._escape) == 6:
            self._escape = ""
        return start + 1

    def _break(self) -> None:
        self.broken, self.in_string = True, False

    def _rest_of_word(self, text: str, start: int, stop: int) -> int:
        match = _WORD.match(text, start, stop)
        end = match.end() if match else start
        if end > start:
            self._word.append(text[start:end])
        if end < stop:
            self.broken = not _LITERAL.fullmatch("".join(self._word))
            self._word = []
            if not self.broken:
                self._value_ends()
        return end

    def _structure(self, text: str, start: int, stop: int) -> int:
        match = _SPACE.match(text, start, stop)
        start = match.end() if match else start
        if start == stop:
            return start
        character = text[start]
        expects_value = self._next in (_Next.VALUE, _Next.VALUE_OR_END)
        if character == '"' and self._next not in (_Next.COLON, _Next.COMMA_OR_END):
            self.in_string = True
        elif character in "{[" and expects_value:
            self._open.append(character)
            self._next = _Next.KEY_OR_END if character == "{" else _Next.VALUE_OR_END
        elif character in "}]" and self._may_close(character):
            self._open.pop()
            self._value_ends()
        elif character == ":" and self._next is _Next.COLON:
            self._next = _Next.VALUE
        elif character == "," and self._next is _Next.COMMA_OR_END:
            self._next = _Next.KEY if self._open[-1] == "{" else _Next.VALUE
        elif expects_value and _WORD.match(text, start, start + 1).end() > start:  # type: ignore[union-attr]  # matches ""
            self._word.append("")
            return start
        else:
            self.broken = True
            return start
        return start + 1

    def _may_close(self, character: str) -> bool:
        if not self._open or self._open[-1] != ("{" if character == "}" else "["):
            return False
        return self._next in (_Next.COMMA_OR_END, _Next.KEY_OR_END, _Next.VALUE_OR_END)

    def _value_ends(self) -> None:
        if self._open:
            self._next = _Next.COMMA_OR_END
        else:
            self._next = _Next.VALUE
            self.completed = True


def ends_within_string(text: str) -> bool:
    """Whether `text` is the beginning of strict JSON text and ends within a string.

    An even number of quotes is a quick no: in a text without faults it means that no string is open.
    """
    plain = _ESCAPED.sub("", text) if "\\" in text else text
    return bool(plain.count('"') & 1) and tracked(text).in_string


def tracked(text: str) -> JsonTracker:
    """A tracker that has read `text`; a broken one is in no string."""
    tracker = JsonTracker()
    position = 0
    while position < len(text) and not tracker.broken:
        position = tracker.feed(text, position)
    return tracker
