"""Styled text, the output of every view: styles by meaning, runs, lines, widths, hostile characters made visible.

A view returns lines of runs; a face (terminal, web page, HTML report) maps each style to its own colours.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from inspector.scanning import lazy_pattern

GLYPHS = MappingProxyType({"error": "✖", "warning": "▲", "info": "·"})
"""What is before a diagnostic of each severity."""

LINE_FEED, TAB = "⏎", "→   "
"""What stands for a line feed and a tab where a text is shown on one line."""

_INVISIBLE = ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp")

# Letters and marks that draw nothing, and that Python calls printable: variation selectors, fillers, the grapheme
# joiner (DerivedCoreProperties.txt of Unicode: Default_Ignorable_Code_Point), and the blank Braille pattern.
_UNDRAWN = lazy_pattern(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)

_SUSPECT = lazy_pattern(r"[^ -~]")


class Style(StrEnum):
    """What a run of text means. Colour only repeats it: a word or a glyph always says it too."""

    PLAIN = "plain"
    STRONG = "strong"
    DIM = "dim"
    KEY = "key"
    GUTTER = "gutter"
    CONTROL = "control"
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    HINT = "hint"
    OK = "ok"
    ADDED = "added"
    REMOVED = "removed"
    TEXT = "text"
    REASONING = "reasoning"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    TOOL_DEFINITIONS = "tool_definitions"
    MARKUP = "markup"


def style_of(meaning: StrEnum) -> Style:
    """The style of a kind of span or of a severity: each has one of its own name."""
    return Style(meaning.value)


class Run(NamedTuple):
    """A piece of one line and what it means; `text` holds nothing that a terminal would obey."""

    text: str
    style: Style = Style.PLAIN


Line: TypeAlias = tuple[Run, ...]
"""One line of a screen, without its line feed."""


def plain(line: Iterable[Run]) -> str:
    """A line's text alone."""
    return "".join(run.text for run in line)


def width_of(line: Iterable[Run]) -> int:
    """How many cells of a screen a line takes."""
    return sum(cell_width(run.text) for run in line)


def clipped(line: Sequence[Run], width: int) -> Line:
    """A line in at most `width` cells; `…` stands for what did not fit."""
    if width_of(line) <= width:
        return tuple(line)
    kept: list[Run] = []
    room = max(width - 1, 0)
    for run in line:
        text = run.text[: fitting(run.text, room)]
        kept.append(Run(text, run.style))
        room -= cell_width(text)
        if text != run.text:
            break
    return (*kept, Run("…", Style.DIM)) if width > 0 else ()


def padded(line: Sequence[Run], width: int) -> Line:
    """A line in exactly `width` cells: clipped, or with blanks behind it."""
    fitted = clipped(line, width)
    missing = width - width_of(fitted)
    return (*fitted, Run(" " * missing)) if missing > 0 else fitted


def right_aligned(line: Sequence[Run], width: int) -> Line:
    """A line in exactly `width` cells: clipped, or with blanks before it."""
    fitted = clipped(line, width)
    missing = width - width_of(fitted)
    return (Run(" " * missing), *fitted) if missing > 0 else fitted


class _Glyphs(dict[int, str]):
    """What stands for each code point, found out when it first comes."""

    def __missing__(self, code_point: int) -> str:
        self[code_point] = glyph = _glyph(chr(code_point))
        return glyph


def visible(text: str) -> str:
    r"""`text` with every character that a reader could not see, or a terminal would obey, as something to read.

    C0 controls become their pictures (`␛`, `␀`), other invisible characters escapes (`\u202e`), also those that join
    emoji or choose their form, and bytes that are not UTF-8 `\xff`. Line feeds and tabs stay.
    """
    return text if _is_visible(text) else text.translate(_IN_TEXT)


def visible_line(text: str) -> str:
    """`text` on one line: like `visible`, with `⏎` for a line feed and four cells for a tab."""
    return text if _is_visible(text) else text.translate(_IN_LINE)


def visible_runs(text: str, style: Style = Style.PLAIN) -> Line:
    """`visible_line` as runs: what stands for something else is styled `control`."""
    if _is_visible(text):
        return (Run(text, style),) if text else ()
    runs: list[Run] = []
    at = 0
    for match in _SUSPECT.finditer(text):
        glyph = _IN_LINE[ord(match[0])]
        if glyph != match[0]:
            runs += (Run(text[at : match.start()], style), Run(glyph, Style.CONTROL))
            at = match.end()
    runs.append(Run(text[at:], style))
    return tuple(run for run in runs if run.text)


def _is_visible(text: str) -> bool:
    return text.isprintable() and (text.isascii() or _UNDRAWN.search(text) is None)


def _glyph(character: str) -> str:
    code_point = ord(character)
    if unicodedata.category(character) not in _INVISIBLE and _UNDRAWN.match(character) is None:
        return character
    if code_point < 0x20:
        return chr(0x2400 + code_point)
    if code_point == 0x7F:
        return "␡"
    if 0xDC80 <= code_point <= 0xDCFF:
        return f"\\x{code_point - 0xDC00:02x}"
    return f"\\u{code_point:04x}" if code_point <= 0xFFFF else f"\\U{code_point:08x}"


_IN_TEXT = _Glyphs({ord("\n"): "\n", ord("\t"): "\t"})
_IN_LINE = _Glyphs({ord("\n"): LINE_FEED, ord("\t"): TAB})


def cell_width(text: str) -> int:
    """The cells that `text`, free of control characters, takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(map(_width, text))


def fitting(text: str, room: int) -> int:
    """How many code points of `text` fit into `room` cells; combining characters stay with their base."""
    if text.isascii():
        return min(len(text), max(room, 0))
    taken = 0
    for index, character in enumerate(text):
        taken += _width(character)
        if taken > room:
            return index
    return len(text)


def wrapped_words(text: str, room: int) -> Iterator[str]:
    """`text` in pieces of at most `room` cells, cut at blanks where it can be; a longer word is cut within."""
    room = max(room, 2)
    at = 0
    while cell_width(piece := text[at : at + 4 * room]) > room or at + len(piece) < len(text):
        hard = max(fitting(piece, room), 1)
        soft = piece.rfind(" ", 1, hard + 1)
        cut = soft if soft > 0 else hard
        yield piece[:cut].rstrip(" ")
        at += cut
        while text.startswith(" ", at):
            at += 1
    yield text[at:]


@lru_cache(maxsize=65_536)
def _width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
