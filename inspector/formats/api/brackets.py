"""Finds where a JSON value ends, in a text that comes in pieces: by its brackets, string-aware."""

import re

from inspector.scanning import closing_quote, trailing_backslashes

_OUTSIDE = re.compile(r'["{}\[\]]')


class BracketCounter:
    """Counts the open brackets of one value. It judges nothing: of whatever kind, each closer closes one."""

    __slots__ = ("_depth", "_in_string", "_is_escape", "begun")

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._is_escape = False
        self.begun = False
        """Whether a bracket was read."""

    @property
    def complete(self) -> bool:
        """Whether every bracket is closed, and there was one."""
        return self.begun and not self._depth

    @property
    def in_string(self) -> bool:
        """Whether a string is open."""
        return self._in_string

    def feed(self, text: str, at: int = 0, end: int | None = None) -> int:
        """Read `text` from `at` to `end`; the place behind the bracket that ends the value, -1 where it goes on."""
        end = len(text) if end is None else end
        if self._is_escape and at < end:
            at, self._is_escape = at + 1, False
        while at < end:
            if self._in_string:
                last = closing_quote(text, '"', at, end)
                if last >= 0:
                    self._in_string, at = False, last + 1
                    continue
                self._is_escape = bool(trailing_backslashes(text, at, end) & 1)
                return -1
            found = _OUTSIDE.search(text, at, end)
            if found is None:
                return -1
            at = found.end()
            bracket = found[0]
            if bracket == '"':
                self._in_string = True
            elif bracket in "{[":
                self._depth += 1
                self.begun = True
            elif self._depth:
                self._depth -= 1
                if not self._depth:
                    return at
        return -1
