"""Places in a text: half-open ranges in code points, lines and columns, and bytes that are not UTF-8."""

import codecs
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

_NOT_ENCODABLE = re.compile("[\ud800-\udfff]+")


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


@dataclass(frozen=True, slots=True)
class LineIndex:
    """The lines of a text, counted from 1; only a line feed ends a line, as in editors and compilers."""

    text: str
    _starts: list[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        starts = [0]
        found = self.text.find("\n")
        while found >= 0:
            starts.append(found + 1)
            found = self.text.find("\n", found + 1)
        object.__setattr__(self, "_starts", starts)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both counted from 1, of the code point at `offset` (which may be the text's end)."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line(self, number: int) -> Range:
        """Where line `number` (from 1) lies, without its line feed."""
        start = self._starts[number - 1]
        end = self._starts[number] - 1 if number < len(self._starts) else len(self.text)
        return Range(start, end)

    def __len__(self) -> int:
        return len(self._starts)


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
