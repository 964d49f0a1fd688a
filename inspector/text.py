r"""Places in a text: half-open ranges in code points, lines and columns, bytes that are not UTF-8; and searches.

The searches take linear time and constant memory: the closing quote of a string, the end of a repeated pattern. Why not
one regular expression: `(?:[^"\\]++|\\.)*+"` reads a string, but before Python 3.11.5 a possessive repeat of more than
one character matches wrongly (CPython issues 106052 and 100061), and one with groups within raises SystemError in later
versions too (issue 101955; 3.13.0, for example). A greedy repeat is right everywhere but keeps some 60 bytes for each
round while it matches. So a pattern repeats at most `MOST_ROUNDS` times what is longer than one character, and the
functions here go on from there. A test forbids the constructs (tests/test_patterns.py).
"""

import codecs
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import accumulate
from typing import AnyStr, cast

import msgspec
from msgspec import Struct

_PIECE = 4096  # code points in which line feeds are counted at most to know a line
_NOT_ENCODABLE = re.compile("[\ud800-\udfff]+")

MOST_ROUNDS = 1000
"""Bound on the greedy repeats of a fast path; a text beyond it is read the slow way."""
_BACKSLASHES: frozenset[str | bytes] = frozenset(("\\", b"\\"))


class Range(msgspec.Struct, frozen=True, order=True):
    """The code points from `start` up to, not including, `end` of one text; empty where both are equal.

    A msgspec structure and no dataclass: one is made for every span and call, and it costs a ninth of the time.
    """

    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start

    def of(self, text: str) -> str:
        """The text that lies in this range."""
        return text[self.start : self.end]

    def moved(self, distance: int) -> "Range":
        """The same range, `distance` code points further on."""
        return Range(self.start + distance, self.end + distance)

    def covers(self, other: "Range") -> bool:
        """Whether `other` lies wholly within this range."""
        return self.start <= other.start and other.end <= self.end


class LineIndex(Struct, frozen=True, dict=True):
    """The lines of a text, counted from 1; only a line feed ends a line, as in editors and compilers.

    The text is read when something is first asked: its line feeds are counted piece by piece, none is looked up.
    """

    text: str

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both counted from 1, of the code point at `offset` (which may be the text's end)."""
        piece = min(offset, len(self.text)) // _PIECE
        line = self._before[piece] + self.text.count("\n", piece * _PIECE, offset) + 1
        return line, offset - self.text.rfind("\n", 0, offset)

    def line(self, number: int) -> Range:
        """Where line `number` (from 1) lies, without its line feed; IndexError where there is none."""
        if not 0 < number <= len(self):
            raise IndexError(f"a text of {len(self)} lines has no line {number}")
        start = self._feed(number - 1) + 1 if number > 1 else 0
        end = self.text.find("\n", start)
        return Range(start, end if end >= 0 else len(self.text))

    def __len__(self) -> int:
        return self._before[-1] + 1

    def _feed(self, number: int) -> int:
        """Where the line feed with that number (from 1) lies."""
        piece = bisect_left(self._before, number) - 1
        found = piece * _PIECE - 1
        for _ in range(number - self._before[piece]):
            found = self.text.find("\n", found + 1)
        return found

    @cached_property
    def _before(self) -> list[int]:
        """How many line feeds lie before each piece of the text, and last how many there are."""
        starts = range(0, len(self.text) + 1, _PIECE)
        counts = (self.text.count("\n", start, start + _PIECE) for start in starts)
        return list(accumulate(counts, initial=0))


def decode(raw: bytes) -> str:
    """Bytes as text, nothing lost: a byte that is not UTF-8 becomes one lone surrogate (U+DC80 to U+DCFF, PEP 383)."""
    return raw.decode("utf-8", "surrogateescape")


def incremental_decoder() -> codecs.IncrementalDecoder:
    """A decoder like `decode` for bytes that arrive in pieces, cut anywhere."""
    return codecs.getincrementaldecoder("utf-8")("surrogateescape")


def lone_surrogates(text: str) -> Iterator[Range]:
    """Where a text holds what UTF-8 cannot: lone surrogates, among them the bytes that `decode` has kept."""
    if text.isascii():
        return
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        for match in _NOT_ENCODABLE.finditer(text):
            yield Range(*match.span())


_OPENING = 200  # code points
_LOOKED_AT = 4_000
OPENING_MESSAGES = 4
"""How many messages of a user are looked at for `opening_of`."""
_INSERTED = re.compile(r"\A(?:\s*<([a-z][\w-]*)>.*?</\1>)+", re.DOTALL)  # such as Claude Code's <system-reminder>


def opening_of(texts: Iterable[str]) -> str:
    """How a user's words begin, at most 200 characters on one line; `texts` are the first messages, in their order.

    Blocks in tags that an agent put before the words do not count, nor do messages that hold nothing else; where all
    messages are such, the first is taken as it is.
    """
    first = ""
    for text in texts:
        looked_at = text[:_LOOKED_AT]
        if words := " ".join(_INSERTED.sub("", looked_at).split()):
            return words[:_OPENING]
        first = first or looked_at
    return " ".join(first.split())[:_OPENING]


def closing_quote(text: AnyStr, quote: AnyStr, start: int, end: int) -> int:
    """Where the first `quote` from `start` to `end` stands that no backslash from `start` on escapes; -1 if none."""
    at = text.find(quote, start, end)
    while at >= 0 and trailing_backslashes(text, start, at) & 1:
        at = text.find(quote, at + 1, end)
    return at


def trailing_backslashes(text: AnyStr, start: int, end: int) -> int:
    """How many backslashes stand together at the end of what lies from `start` to `end`."""
    first = end
    while first > start and text[first - 1 : first] in _BACKSLASHES:
        first -= 1
    return end - first


class QuoteSearch:
    """Finds closing quotes in one text, and does not search again where one was missed.

    Each search must start right behind a quote: then it does not depend on the start whether a quote is escaped.
    """

    def __init__(self) -> None:
        # For each quote the last stretch of the text that holds no unescaped one.
        self._without: dict[str, tuple[int, int]] = {}

    def find(self, text: str, quote: str, start: int, end: int) -> int:
        """See `closing_quote`."""
        first, last = self._without.get(quote, (end, end))
        if first <= start and end <= last:
            return -1
        found = closing_quote(text, quote, start, end)
        if found < 0:
            self._without[quote] = start, end
        return found


def repeated(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """A pattern repeated, for `end_of_repeats`. What it matched first must be right: no round is taken back."""
    return lazy_pattern(rf"(?:{pattern}){{1,{MOST_ROUNDS}}}", flags)


class _LazyPattern:
    """Stands for a compiled pattern: compiles it at the first use of a method, and keeps that one's methods."""

    def __init__(self, pattern: str, flags: re.RegexFlag) -> None:
        self._source = pattern, flags

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(*self._source)
        self.__dict__ |= {one: getattr(compiled, one) for one in dir(compiled) if not one.startswith("__")}
        return getattr(compiled, name)


def lazy_pattern(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """The pattern, compiled when it is first used: there are hundreds, and a command uses few. Raises re.error then."""
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))


def end_of_repeats(repeats: re.Pattern[str], text: str, start: int, end: int) -> int:
    """Where the last round ends that matches from `start` on; `start` where there is none."""
    while (match := repeats.match(text, start, end)) is not None and match.end() > start:
        start = match.end()
    return start
