"""Tracks Python call syntax chunk by chunk: whether a position is in a string, and where a call ends.

Theory of operation. A `PythonTracker` reads anything between matching brackets: a list of calls, one call, and JSON as
well, since it has the same strings and brackets as Python. It looks at brackets and quotes only, so it accepts any
expression. Three things break it: a bracket of the wrong kind, a line feed in a string with single quotes (which Python
forbids), and a letter or digit right after a string, as in `'it's'`, where the quotes cannot be trusted any more. A
value is complete when the last open bracket closes. Each character is read once, and a chunk may end anywhere.
"""

from weaklink.inspector.scanning import end_of_repeats, repeated
from weaklink.inspector.segmenter.events import Payload

# The text between brackets, including whole strings.
_OUTSIDE = repeated(
    r"""[^'"()\[\]{}]++|'(?!')[^'\\\n]*+(?:\\[\s\S][^'\\\n]*+){0,64}'(?!\w)"""
    r"""|"(?!")[^"\\\n]*+(?:\\[\s\S][^"\\\n]*+){0,64}"(?!\w)"""
)

_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_STRING = {quote: repeated(rf"[^{quote}\\\n]++|\\[\s\S]") for quote in "'\""}
_LONG_STRING = {quote: repeated(rf"[^{quote}\\]++|\\[\s\S]") for quote in "'\""}


class PythonTracker:
    """A Follower of Python calls; see the module docstring."""

    def __init__(self) -> None:
        self.broken = False
        self.in_string = False
        self.completed = False
        self._open: list[str] = []
        self._quote = ""
        self._quotes = 0
        """How many quotes were read at the beginning of a string, or at the possible end of a triple-quoted one."""
        self._is_long = False
        self._is_escaped = False
        self._is_after_string = False

    def feed(self, text: str, start: int = 0, end: int | None = None) -> int:
        """See Follower."""
        stop = len(text) if end is None else end
        self.completed = False
        while start < stop and not self.broken and not self.completed:
            if not self._quote:
                start = self._outside(text, start, stop)
            elif self._is_escaped:
                self._is_escaped = False
                start += 1
            elif self._is_long:
                start = self._long(text, start, stop)
            elif self._quotes:
                start = self._beginning(text, start)
            else:
                start = self._string(text, start, stop)
        return start

    def _outside(self, text: str, start: int, stop: int) -> int:
        character = text[start]
        if self._is_after_string:
            self._is_after_string = False
            if character.isalnum() or character == "_":
                self.broken = True
                return start
        first, start = start, end_of_repeats(_OUTSIDE, text, start, stop)
        if start == stop:
            self._is_after_string = start > first and text[start - 1] in "'\""
            return start
        character = text[start]
        if character in "'\"":
            self._quote, self._quotes, self.in_string = character, 1, True
        elif character in _CLOSERS:
            self._open.append(_CLOSERS[character])
        elif self._open and self._open[-1] == character:
            self._open.pop()
            self.completed = not self._open
        else:
            self.broken = True
            return start
        return start + 1

    def _beginning(self, text: str, start: int) -> int:
        """Read a character after the first one or two quotes: the string is empty, triple-quoted, or neither."""
        is_quote = text[start] == self._quote
        if self._quotes == 1:
            self._quotes = 2 if is_quote else 0
            self.in_string = not is_quote
        elif is_quote:
            self._is_long, self._quotes, self.in_string = True, 0, True
        else:
            self._end_string()
            return start
        return start + is_quote

    def _string(self, text: str, start: int, stop: int) -> int:
        start = end_of_repeats(_STRING[self._quote], text, start, stop)
        if start == stop:
            return start
        if text[start] == "\n":
            self.broken, self.in_string = True, False
            return start
        if text[start] == "\\":
            self._is_escaped = True
        else:
            self._end_string()
        return start + 1

    def _long(self, text: str, start: int, stop: int) -> int:
        if text[start] == self._quote:
            self._quotes += 1
            if self._quotes == 3:
                self._end_string()
            return start + 1
        self._quotes = 0
        start = end_of_repeats(_LONG_STRING[self._quote], text, start, stop)
        if start < stop and text[start] == "\\":
            self._is_escaped = True
            start += 1
        return start

    def _end_string(self) -> None:
        self._quote, self._quotes = "", 0
        self._is_long = self.in_string = False
        self._is_after_string = True


PYTHON = Payload(PythonTracker, ends=")]}")
"""A payload with calls in Python's syntax, or with JSON."""
