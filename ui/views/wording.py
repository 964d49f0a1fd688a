"""Numbers, durations, sentences of diagnostics and tables as people read them."""

from collections.abc import Iterator, Sequence
from datetime import datetime, tzinfo

from inspector.diagnostics import Fault
from ui.views.styled_text import (
    Line,
    Run,
    Style,
    clipped,
    padded,
    plain,
    right_aligned,
    style_of,
    visible_line,
    width_of,
    wrapped_words,
)

POSITION_IDS = ("line", "entry", "record", "document", "sha256")
"""External ids that say where a trace is in its file, not what it is."""

_GAP = "  "
_NEAR_S = 300 * 86_400  # a day needs no year
_UNITS = ("", "k", "M", "G", "T")


def table_lines(
    rows: Sequence[Sequence[Line]],
    *,
    width: int,
    heads: Sequence[str] = (),
    numbers: Sequence[int] = (),
    widest: int = 1_000,
) -> Iterator[Line]:
    """The lines of a table; the last column takes what room is left and goes on below where that is too little.

    `numbers` are the indices of columns that are set flush right; no other column but the last is wider than `widest`.
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


def title(fault: Fault) -> Line:
    """A diagnostic's first line: severity, code, name and message, as compilers write it."""
    rule = fault.rule
    return (
        Run(f"{rule.severity.value}[{rule.code}]", style_of(rule.severity)),
        Run(f" {rule.name}: ", Style.STRONG),
        *quoted(fault.message),
    )


def help_line(hint: str) -> Line:
    """A hint as compilers write it."""
    return (Run("help: ", Style.HINT), *quoted(hint))


def quoted(sentence: str, style: Style = Style.PLAIN) -> Line:
    """A sentence of ours, made visible; what it quotes in backticks stands out."""
    pieces = visible_line(sentence).split("`")
    if len(pieces) % 2 == 0:
        return (Run(visible_line(sentence), style),)
    runs = [Run(f"`{piece}`", Style.KEY) if index % 2 else Run(piece, style) for index, piece in enumerate(pieces)]
    return tuple(run for run in runs if run.text)


def wrapped(line: Line, width: int, indent: int = 0) -> Iterator[Line]:
    """A line in as many as it needs, cut at blanks; those after the first begin with `indent` blanks."""
    at = 0
    text = plain(line)
    rows = list(wrapped_words(text, max(width - indent, 8)))
    for number, row in enumerate(rows):
        start = text.find(row, at)
        at = start + len(row)
        lead = (Run(" " * indent),) if number and indent else ()
        yield (*lead, *_slice(line, start, at))


def counted(number: int, one: str, many: str = "") -> str:
    """A number and its noun: `1 call`, `1,204 calls`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def folded_middle(text: str, room: int) -> str:
    """`text` on one line in about `room` code points: its middle is left out, with a count of what is missing."""
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
    at = 0
    for run in line:
        text = run.text[max(start - at, 0) : max(end - at, 0)]
        at += len(run.text)
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
    """How long ago something was, in at most four cells: `12s`, `5m`, `3h`, `388d`, `31y`."""
    for unit, size, most in (("s", 1, 60), ("m", 60, 60), ("h", 3_600, 24), ("d", 86_400, 1_000)):
        if seconds < size * most:
            return f"{seconds // size:.0f}{unit}"
    years = int(seconds / (365.25 * 86_400))
    return f"{years}y" if years < 1_000 else ">1ky"


def short_time(at_s: float, now_s: float, room: int = 12, zone: tzinfo | None = None) -> str:
    """When something was, in `room` cells, 8 or 12: today's time of day, else the day, else the month or date.

    Both in seconds since 1970-01-01 UTC; `zone` is where the reader is, None for where this machine is.
    """
    try:
        at, now = (datetime.fromtimestamp(one, zone) for one in (at_s, now_s))
    except (OverflowError, ValueError, OSError):
        return "?"
    if at.date() == now.date():
        return at.strftime("%H:%M:%S")
    is_near = abs(now_s - at_s) < _NEAR_S
    if room < 12:
        return at.strftime("%b %d" if is_near else "%Y-%m")
    return at.strftime("%b %d %H:%M" if is_near else "%Y-%m-%d")
