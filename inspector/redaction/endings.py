"""Where the value of a secret ends, for each way of writing one: quoted, bare, a line, an element, a run of characters.

An ending reads a value from any position within it and needs no memory of what came before, so that a value that
arrives in pieces is read on where it was left. `end` gives None while the value may go on after the text's end.
Every pattern here needs at most `AHEAD` code points beyond the character that it decides on.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Protocol

AHEAD = 64
"""Code points: what precedes the text's end by more is decided."""


class Ending(Protocol):
    """Finds the end of a value."""

    def end(self, text: str, at: int, limit: int, *, is_final: bool) -> int | None:
        """The end of the value that `at` lies in, looked for before `limit`; None where it is not found there.

        With `is_final` nothing follows the text.
        """
        ...


@dataclass(frozen=True, slots=True)
class PatternRun:
    """A run of what `pattern` matches; where it stops at the end of the text, it may go on.

    `soft` are characters at which the pattern stops only because of what follows them.
    """

    pattern: re.Pattern[str]
    soft: str = ""

    def end(self, text: str, at: int, limit: int, *, is_final: bool) -> int | None:
        """See `Ending`."""
        found = self.pattern.match(text, at, limit) if limit < len(text) else self.pattern.match(text, at)
        end = found.end() if found is not None else at
        if limit < len(text) and end >= limit - AHEAD:
            return None
        if is_final or (end < len(text) and (text[end] not in self.soft or end + AHEAD <= len(text))):
            return end
        return None


@dataclass(frozen=True, slots=True)
class Quoted:
    r"""A quoted text whose opening `quote` had so many `backslashes` before it: 0, 1, 3, 7 for JSON in JSON in JSON.

    A quote with fewer closes it too, since it closes a text around it; so does a line end of a text around it, which
    a quoted text of JSON cannot hold. Of n backslashes that open it, a closing quote has n, and n + 1 more for each
    pair of backslashes that is itself content.
    """

    quote: str
    backslashes: int

    def end(self, text: str, at: int, limit: int, *, is_final: bool) -> int | None:
        """See `Ending`."""
        unit = self.backslashes + 1
        for found in _stops(self.quote).finditer(text, at, min(limit, len(text))):
            stop, before = found[2], len(found[1])
            if stop in "\r\n":
                return found.end() - 1
            if stop in "nr":
                if 0 < before < unit:
                    return found.start()
            elif before < self.backslashes:
                return found.start()
            elif (before + 1) // unit % 2:
                return found.end() - 1 - self.backslashes
        return len(text) if is_final and limit >= len(text) else None


@cache
def _stops(quote: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\\)(\\*)([{quote}\n\r]|(?<=\\)[nr])")


@cache
def until(closer: str) -> PatternRun:
    """A value that the literal `closer` ends, or the line's end."""
    return PatternRun(re.compile(rf"(?:(?!{re.escape(closer)})[^\r\n<>])*"), closer[0])


BARE = PatternRun(
    re.compile(
        r"""(?:[^\s"'`\\<>&,;|)\]}]"""
        r"""|[,;|)\]}](?![\s,;|)\]}"'`\\<>]|\Z|[\w.-]{1,40}[=:])"""
        r"""|&(?!(?:amp;)?[\w.\[\]-]{1,40}=|[&\s]|\Z)"""
        r"""|\\{1,8}u0026(?![\w.\[\]-]{1,40}=)"""
        r"""|\\{1,8}(?![\\nrtubfx"'`/]|\Z))*"""
    ),
    "&,;|)]}\\",
)
"""A value without quotes: it ends at blank space and quotes, and at punctuation that more of the text's structure
follows, so that `Tr0ub4dor&3xtra` is one value and `a&user=b` are two."""

LINE = PatternRun(re.compile(r"""[^\r\n"'`\\<>]*"""))
"""The rest of a line of a header, within the quotes of a command or a JSON text."""

ELEMENT = PatternRun(
    re.compile(r"(?:[^<&\\\]]|&(?!lt;)|\\(?!\\{0,56}u003c)|\](?!(?:<|&lt;|\\{1,48}u003c)\]minimax))*", re.IGNORECASE),
    "&\\]",
)
"""The text of an XML element, also where the markup is escaped for HTML or JSON, or a marker of MiniMax M3 is before
its tags: `]<]minimax[>[</name>`."""

PEM = PatternRun(
    re.compile(r"(?:[A-Za-z0-9+/=\s:,.%;#_~]|&(?=#)|\\{1,63}(?=[nrtu/])|-(?!-))*"),
    "&\\-",
)
"""The body of a PEM block, with its headers, in one line or many, with line ends escaped at any level.

It has no underscore; where no line ends the block, a key may follow, of which no piece is to be left."""
