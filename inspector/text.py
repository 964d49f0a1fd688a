"""Positions in a text: half-open ranges in code points, lines and columns, invalid UTF-8; excerpts in quotes."""

import codecs
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property
from hashlib import sha256
from itertools import accumulate
from typing import AnyStr

import msgspec
from msgspec import Struct

from weaklink.inspector.scanning import lazy_pattern

_KNOWN_BINARIES = (
    (b"PAR1", "a Parquet file"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"%PDF", "a PDF"),
    (b"\x89PNG", "an image"),
    (b"\x7fELF", "a program"),
    (b"\xff\xfe", "text in UTF-16"),
    (b"\xfe\xff", "text in UTF-16"),
)
_QUOTING = re.compile(r"\\+[nrt]|[\s\"'\\]+")
_PYTHON_WORD = re.compile(r"\b(?:None|True|False)\b")
_JSON_WORDS = {"None": "null", "True": "true", "False": "false"}
_TERMINAL_SEQUENCE = lazy_pattern(
    r"""
    \x1b
    (?: \[ [0-?]* [\ -/]* [@-~]                                 # CSI: colours, the cursor
      | \] [^\x07\x1b]{0,500} (?: \x07 | \x1b\\ )               # OSC: a title, a link
      | [@-Z\\^_]                                               # two characters
      | [+*()] [0-9A-B] )                                       # a character set
    | \\ (?: u001[bB] | x1[bB] | 033 ) \[ [0-9;]{0,20} m        # a colour, escaped in the text
    """,
    re.VERBOSE,
)
"""An escape sequence of a terminal: CSI, OSC, two characters, a character set; or a written one for colours."""
_WRITTEN_ESCAPES = ("\\u001b[", "\\u001B[", "\\x1b[", "\\x1B[", "\\033[")
_FIRST_STEP, _LAST_STEP = 64, 1 << 16  # characters that are compared at once: first few, then twice as many each time
_PIECE = 4096  # block size in code points: the line of a position costs counting in at most one block
_NOT_ENCODABLE = re.compile("[\ud800-\udfff]+")
_MAX_QUOTE_CHARS = 40  # code points of a quotation in a message
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


class Range(msgspec.Struct, frozen=True, order=True, array_like=True):
    """The code points from `start` up to, not including, `end` of one text; empty if both are equal.

    A msgspec struct, not a dataclass: one is created for every span and call, in a ninth of the time.
    """

    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start

    def up_to(self, end: int) -> "Range":
        """The part of the range before `end`."""
        return Range(min(self.start, end), min(self.end, end))

    def of(self, text: str) -> str:
        """The text in this range."""
        return text[self.start : self.end]

    def moved(self, distance: int) -> "Range":
        """The same range, `distance` code points later."""
        return Range(self.start + distance, self.end + distance)

    def stripped(self, text: str, characters: str | None = None) -> "Range":
        """This range without the characters (else white space) at the ends of its text; its end if nothing is left."""
        piece = self.of(text)
        first = self.start + len(piece) - len(piece.lstrip(characters))
        return Range(first, max(first, self.start + len(piece.rstrip(characters))))

    def covers(self, other: "Range") -> bool:
        """Whether `other` is completely within this range."""
        return self.start <= other.start and other.end <= self.end

    def overlaps(self, other: "Range") -> bool:
        """Whether both have a code point in common; an empty range does if it is inside the other."""
        return self.start < other.end and other.start < self.end


class LineIndex(Struct, frozen=True, dict=True):
    """The lines of a text, counted from 1; only a line feed ends a line, as in editors and compilers.

    The first query reads the text: it counts the line feeds of each block, and stores no position.
    """

    text: str

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both counted from 1, of the code point at `offset` (which may be the text's end)."""
        piece = min(offset, len(self.text)) // _PIECE
        line = self._before[piece] + self.text.count("\n", piece * _PIECE, offset) + 1
        return line, offset - self.text.rfind("\n", 0, offset)

    def line(self, number: int) -> Range:
        """The range of line `number` (from 1) without its line feed. Raises IndexError if there is no such line."""
        if not 0 < number <= len(self):
            raise IndexError(f"a text of {len(self)} lines has no line {number}")
        start = self._feed(number - 1) + 1 if number > 1 else 0
        end = self.text.find("\n", start)
        return Range(start, end if end >= 0 else len(self.text))

    def __len__(self) -> int:
        return self._before[-1] + 1

    def _feed(self, number: int) -> int:
        """The position of the line feed with that number (from 1)."""
        piece = bisect_left(self._before, number) - 1
        position = piece * _PIECE - 1
        for _ in range(number - self._before[piece]):
            position = self.text.find("\n", position + 1)
        return position

    @cached_property
    def _before(self) -> list[int]:
        """The number of line feeds before each block of the text, and the total as the last element."""
        starts = range(0, len(self.text) + 1, _PIECE)
        counts = (self.text.count("\n", start, start + _PIECE) for start in starts)
        return list(accumulate(counts, initial=0))


def decode(raw: bytes) -> str:
    """Bytes as text without loss: a byte that is not UTF-8 becomes one lone surrogate (U+DC80 to U+DCFF, PEP 383)."""
    return raw.decode("utf-8", "surrogateescape")


def binary_kind(raw: bytes) -> str | None:
    """What bytes are by how they begin, such as `an image`, if they are a known kind of data that is no UTF-8."""
    return next((kind for magic, kind in _KNOWN_BINARIES if raw.startswith(magic)), None)


def incremental_decoder() -> codecs.IncrementalDecoder:
    """A decoder like `decode` for bytes that arrive in pieces, split anywhere."""
    return codecs.getincrementaldecoder("utf-8")("surrogateescape")


def lone_surrogates(text: str) -> Iterator[Range]:
    """The ranges that UTF-8 cannot encode: lone surrogates, among them the invalid bytes that `decode` has kept."""
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
"""How many of a user's messages to pass to `opening_of`."""
# Such as Claude Code's <system-reminder>; in <task> (Cline) and <user_query> (Cursor) are the user's own words.
_INSERTED = re.compile(r"\s*<(?!(?:task|user_query)>)([a-z][\w-]*)>")


def after_inserted(text: str) -> int:
    """The position after the blocks in tags at the beginning of a message, of any length; 0 if there are none."""
    start = 0
    while (tag := _INSERTED.match(text, start)) and (end := text.find(f"</{tag[1]}>", tag.end())) >= 0:
        start = end + len(f"</{tag[1]}>")
    return start


def opening_of(texts: Iterable[str]) -> str:
    """The beginning of a user's words, at most 200 characters on one line; `texts` are the first messages, in order.

    Blocks in tags that an agent inserted before the words are skipped, and so are messages without other words; if all
    messages are such, the first is used as it is.
    """
    first = ""
    for text in texts:
        start = after_inserted(text)
        if words := " ".join(text[start : start + _LOOKED_AT].split()):
            return words[:_OPENING]
        first = first or text[:_LOOKED_AT]
    return " ".join(first.split())[:_OPENING]


_TICKS = lazy_pattern(r"`+")


def shown(text: str, start: int = 0, end: int | None = None) -> str:
    """The text from `start` to `end`, quoted for a message and shortened to 40 characters."""
    stop = len(text) if end is None else end
    piece = text[start : min(stop, start + _MAX_QUOTE_CHARS)]
    if stop - start > _MAX_QUOTE_CHARS:
        piece = piece[:-1] + "…"
    # Control characters, line separators, directional overrides and lone surrogates would harm a terminal or a log.
    visible = piece if piece.isprintable() else piece.replace("\n", "\\n")
    if not visible.isprintable():
        visible = "".join(map(_glyph, piece))
    if "`" not in visible:
        return f"`{visible}`"
    fence = "`" * (max(len(ticks) for ticks in _TICKS.findall(visible)) + 1)
    return f"{fence} {visible} {fence}"


def _glyph(character: str) -> str:
    if character.isprintable():
        return character
    return _SHORT.get(character) or f"\\u{ord(character):04x}"


def counted(number: int, singular: str, plural: str = "") -> str:
    """A number with its noun: `1 string`, `3 strings`."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def digest_of(texts: Iterable[str]) -> str:
    """The SHA-256 of texts in their order, in hexadecimal digits; where one text ends counts."""
    content = sha256()
    for text in texts:
        content.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return content.hexdigest()


def without_terminal_sequences(text: str) -> str:
    r"""The text without the sequences by which programs colour and move on a terminal (ECMA-48).

    Those that set colours go also where they are written as escapes (`\u001b[31m`). It is the same object without any.
    """
    is_coloured = "\x1b" in text or ("\\" in text and any(escape in text for escape in _WRITTEN_ESCAPES))
    return _TERMINAL_SEQUENCE.sub("", text) if is_coloured else text


def terminal_range(text: str, plain: Range) -> Range:
    """The range in `text` of a range of `without_terminal_sequences(text)` that is not empty."""
    start, end, removed = plain.start, plain.end, 0
    for match in _TERMINAL_SEQUENCE.finditer(text):
        position = match.start() - removed  # where the sequence stood in the plain text
        if position >= plain.end:
            break
        removed += len(match[0])
        start += len(match[0]) if position <= plain.start else 0
        end += len(match[0])
    return Range(start, end)


def plain_tags(text: str) -> str:
    """A text without the white space around the tags of its call, and without the tag that ends the call.

    OpenHands writes `<function=f>` and `<parameter=p>` anew when it sends an answer back (fn_call_converter.py).
    """
    return _CALL_TAGS.sub(r"\1", text).removesuffix("</function>")


REFUSED_CALL = (
    r"(?:Parameter '[^'\n]{1,200}' is (?:not allowed for function|expected to be)\b|"
    r"Missing required parameters for function '|Function '[^'\n]{1,200}' not found in available tools:)"
)
"""An expression for the beginning of OpenHands' words for a call that it refuses (fn_call_converter.py)."""
_CALL_TAGS = lazy_pattern(r"\s{0,64}(</?(?:function|parameter)(?:=[^<>\n]{0,200})?>)\s{0,64}")


def unquoted(text: str) -> str:
    """A text as JSON, Python and code within a string have it alike: without quotes, escapes and white space."""
    return _QUOTING.sub("", _PYTHON_WORD.sub(lambda word: _JSON_WORDS[word[0]], text))


def shared_prefix(first: AnyStr, other: AnyStr) -> int:
    """How many code points (or bytes) two texts have in common at their start."""
    most, length, step = min(len(first), len(other)), 0, _FIRST_STEP
    while length + step <= most and first[length : length + step] == other[length : length + step]:
        length, step = length + step, min(2 * step, _LAST_STEP)
    while step := step // 2:
        if length + step <= most and first[length : length + step] == other[length : length + step]:
            length += step
    return length


def shared_suffix(first: AnyStr, other: AnyStr, most: int) -> int:
    """How many code points (or bytes) two texts have in common at their end, `most` at most."""
    length, step, end, other_end = 0, _FIRST_STEP, len(first), len(other)
    while length + step <= most and first[end - step : end] == other[other_end - step : other_end]:
        length, end, other_end = length + step, end - step, other_end - step
        step = min(2 * step, _LAST_STEP)
    while step := step // 2:
        if length + step <= most and first[end - step : end] == other[other_end - step : other_end]:
            length, end, other_end = length + step, end - step, other_end - step
    return length
