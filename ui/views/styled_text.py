"""Styled text, the output of every view: semantic styles, runs, lines, widths, and visible forms of control characters.

A view returns lines of runs; each user interface (terminal, web page, HTML report) maps styles to its own colours. This
module also formats numbers, durations, diagnostic titles and tables.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, tzinfo
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from weaklink.inspector.scanning import lazy_pattern

if TYPE_CHECKING:
    from weaklink.inspector.diagnostics import Fault  # the command line help needs this module without diagnostics

LINE_FEED, TAB = "⏎", "→   "
"""The glyphs for a line feed and a tab in a text on one line."""

_INVISIBLE = ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp")

# Invisible letters and marks that Python counts as printable: variation selectors, fillers, the grapheme joiner
# (DerivedCoreProperties.txt of Unicode: Default_Ignorable_Code_Point), and the blank Braille pattern.
_UNDRAWN = lazy_pattern(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)

_SUSPECT = lazy_pattern(r"[^ -~]")

POSITION_IDS = ("line", "entry", "record", "document", "sha256")
"""External ids that identify a position in a file, not a trace."""
_GAP = "  "
_NEAR_S = 300 * 86_400  # a closer date is shown without its year
_UNITS = ("", "k", "M", "G", "T")


class Style(StrEnum):
    """The meaning of a run of text. Colour is never the only sign: a word or a glyph always has the same meaning."""

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
    """The style of a kind of span or of a severity, which has the same name."""
    return Style(meaning.value)


class Run(NamedTuple):
    """A piece of one line with its style; `text` contains no terminal control sequences."""

    text: str
    style: Style = Style.PLAIN


Line: TypeAlias = tuple[Run, ...]
"""One line of a screen, without its line feed."""


class LineKind(StrEnum):
    """What a page makes of a line; a terminal draws all kinds alike."""

    SENTENCE = "sentence"
    """Words, which a page wraps."""
    FACT = "fact"
    """A name, the first run, and what it names."""
    COLUMNS = "columns"
    """Characters whose columns mean something: code, and marks below it."""


def plain(line: Iterable[Run]) -> str:
    """A line's text without styles."""
    return "".join(run.text for run in line)


def width_of(line: Iterable[Run]) -> int:
    """The number of screen cells of a line."""
    return sum(cell_width(run.text) for run in line)


def clipped(line: Sequence[Run], width: int) -> Line:
    """A line in at most `width` cells; `…` marks truncation."""
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
    """A line in exactly `width` cells: clipped, or with spaces after it."""
    fitted = clipped(line, width)
    missing = width - width_of(fitted)
    return (*fitted, Run(" " * missing)) if missing > 0 else fitted


def right_aligned(line: Sequence[Run], width: int) -> Line:
    """A line in exactly `width` cells: clipped, or with spaces before it."""
    fitted = clipped(line, width)
    missing = width - width_of(fitted)
    return (Run(" " * missing), *fitted) if missing > 0 else fitted


class _Glyphs(dict[int, str]):
    """A cache of the visible form of each code point."""

    def __missing__(self, code_point: int) -> str:
        self[code_point] = glyph = _glyph(chr(code_point))
        return glyph


def visible(text: str) -> str:
    r"""`text` with every invisible character, and every character that controls a terminal, in a visible form.

    C0 controls become control pictures (`␛`, `␀`). Other invisible characters become escapes (`\u202e`), including
    joiners and variation selectors of emoji, and bytes that are not UTF-8 become `\xff`. Line feeds and tabs stay.
    """
    return text if _is_visible(text) else text.translate(_IN_TEXT)


def visible_line(text: str) -> str:
    """`text` on one line: like `visible`, with `⏎` for a line feed and four cells for a tab."""
    return text if _is_visible(text) else text.translate(_IN_LINE)


def visible_runs(text: str, style: Style = Style.PLAIN) -> Line:
    """`visible_line` as runs; substitutes have the style `control`."""
    if _is_visible(text):
        return (Run(text, style),) if text else ()
    runs: list[Run] = []
    start = 0
    for match in _SUSPECT.finditer(text):
        glyph = _IN_LINE[ord(match[0])]
        if glyph != match[0]:
            runs += (Run(text[start : match.start()], style), Run(glyph, Style.CONTROL))
            start = match.end()
    runs.append(Run(text[start:], style))
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
    """The number of cells of `text`, which has no control characters: wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(map(_width, text))


def fitting(text: str, room: int) -> int:
    """The number of code points of `text` that fit into `room` cells; combining characters stay with their base."""
    if text.isascii():
        return min(len(text), max(room, 0))
    taken = 0
    for index, character in enumerate(text):
        taken += _width(character)
        if taken > room:
            return index
    return len(text)


def wrapped_words(text: str, room: int) -> Iterator[str]:
    """`text` in pieces of at most `room` cells, split at spaces if possible; a longer word is split."""
    room = max(room, 2)
    start = 0
    while cell_width(piece := text[start : start + 4 * room]) > room or start + len(piece) < len(text):
        hard = max(fitting(piece, room), 1)
        soft = piece.rfind(" ", 1, hard + 1)
        cut = soft if soft > 0 else hard
        yield piece[:cut].rstrip(" ")
        start += cut
        while text.startswith(" ", start):
            start += 1
    yield text[start:]


@lru_cache(maxsize=65_536)
def _width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def table_lines(
    rows: Sequence[Sequence[Line]],
    *,
    width: int,
    heads: Sequence[str] = (),
    numbers: Sequence[int] = (),
    widest: int = 1_000,
) -> Iterator[Line]:
    """The lines of a table; the last column takes the remaining width and is wrapped.

    `numbers` are the indices of right-aligned columns; no column except the last is wider than `widest`.
    """
    titles = [(Run(head, Style.DIM),) for head in heads]
    everything = [*([titles] if titles else []), *rows]
    if not everything:
        return
    count = len(everything[0])
    widths = [min(max(width_of(row[index]) for row in everything), widest) for index in range(count - 1)]
    left = max(width - sum(widths) - len(_GAP) * (count - 1), 16)
    for row in everything:
        lead: list[Run] = []
        for index, cell in enumerate(row[:-1]):
            lead += right_aligned(cell, widths[index]) if index in numbers else padded(cell, widths[index])
            lead.append(Run(_GAP))
        for number, line in enumerate(wrapped(row[-1], left)):
            indent: Line = (Run(" " * width_of(lead)),)
            yield clipped((*(indent if number else lead), *line), width)


def title(fault: "Fault") -> Line:
    """A diagnostic's first line in the style of a compiler: severity, code, name and message."""
    rule = fault.rule
    return (
        Run(f"{rule.severity.value}[{rule.code}]", style_of(rule.severity)),
        Run(f" {rule.name}: ", Style.STRONG),
        *quoted(fault.message),
    )


def help_line(hint: str) -> Line:
    """A hint in the style of a compiler."""
    return (Run("help: ", Style.HINT), *quoted(hint))


def quoted(sentence: str, style: Style = Style.PLAIN) -> Line:
    """A message in visible form; quotes in backticks are highlighted."""
    pieces = visible_line(sentence).split("`")
    if len(pieces) % 2 == 0:
        return (Run(visible_line(sentence), style),)
    runs = [Run(f"`{piece}`", Style.KEY) if index % 2 else Run(piece, style) for index, piece in enumerate(pieces)]
    return tuple(run for run in runs if run.text)


def wrapped(line: Line, width: int, indent: int = 0) -> Iterator[Line]:
    """A line wrapped at spaces; lines after the first are indented by `indent` spaces."""
    end = 0
    text = plain(line)
    rows = list(wrapped_words(text, max(width - indent, 8)))
    for number, row in enumerate(rows):
        start = text.find(row, end)
        end = start + len(row)
        lead = (Run(" " * indent),) if number and indent else ()
        yield (*lead, *_slice(line, start, end))


def counted(number: int, singular: str, many: str = "") -> str:
    """A number and its noun: `1 call`, `1,204 calls`."""
    return f"{number:,} {singular if number == 1 else many or singular + 's'}"


def folded_middle(text: str, room: int) -> str:
    """`text` on one line in about `room` code points: its middle is replaced by a count of the omitted code points."""
    if len(text) <= room:
        return visible_line(text)
    rest = max(room - len(f" …{len(text):,} more… "), 12)
    head = rest * 2 // 3
    tail = rest - head
    left_out = len(text) - rest
    return f"{visible_line(text[:head])} …{left_out:,} more… {visible_line(text[-tail:])}"


def _slice(line: Line, start: int, end: int) -> Line:
    """The runs of a line's code points from `start` up to `end`."""
    kept: list[Run] = []
    position = 0
    for run in line:
        text = run.text[max(start - position, 0) : max(end - position, 0)]
        position += len(run.text)
        if text:
            kept.append(Run(text, run.style))
    return tuple(kept)


def short_count(number: int) -> str:
    """A count in at most five cells: `812`, `9.1k`, `22k`, `1.2M`."""
    if abs(number) < 1_000:
        return str(number)
    size, unit = float(number), 0
    while abs(size) >= 999.5 and unit < len(_UNITS) - 1:
        size, unit = size / 1_000, unit + 1
    return f"{size:.1f}{_UNITS[unit]}" if abs(size) < 99.95 else f"{size:.0f}{_UNITS[unit]}"


def short_duration(seconds: float) -> str:
    """A duration in at most five cells: `310ms`, `5.8s`, `58s`, `1m50`, `2h05`, `3d04`."""
    if seconds < 0.9995:
        return f"{seconds * 1_000:.0f}ms"
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    for unit, size, part in (("m", 60, 60), ("h", 3_600, 24), ("d", 86_400, 1_000)):
        if whole < size * part:
            return f"{whole // size}{unit}{whole % size * (60 if unit != 'd' else 24) // size:02}"
    return ">999d"


def short_age(seconds: float) -> str:
    """An age in at most four cells: `12s`, `5m`, `3h`, `388d`, `31y`."""
    for unit, size, most in (("s", 1, 60), ("m", 60, 60), ("h", 3_600, 24), ("d", 86_400, 1_000)):
        if seconds < size * most:
            return f"{seconds // size:.0f}{unit}"
    years = int(seconds / (365.25 * 86_400))
    return f"{years}y" if years < 1_000 else ">1ky"


def short_time(at_s: float, now_s: float, room: int = 12, zone: tzinfo | None = None) -> str:
    """A time in `room` cells, 8 or 12: the time of day for today, or else the day, the month or the date.

    `at_s` and `now_s` are seconds since 1970-01-01 UTC; `zone` is the reader's time zone, None for this machine's.
    """
    try:
        moment, now = (datetime.fromtimestamp(second, zone) for second in (at_s, now_s))
    except (OverflowError, ValueError, OSError):
        return "?"
    if moment.date() == now.date():
        return moment.strftime("%H:%M:%S")
    is_near = abs(now_s - at_s) < _NEAR_S
    if room < 12:
        return moment.strftime("%b %d" if is_near else "%Y-%m")
    return moment.strftime("%b %d %H:%M" if is_near else "%Y-%m-%d")
