"""Sentences of diagnostics as styled runs, and numbers and long texts as people read them."""

from collections.abc import Iterator

from inspector.diagnostics import Fault
from ui.views.cells import wrapped_words
from ui.views.palette import Style, style_of
from ui.views.run import Line, Run, plain
from ui.views.visible import visible_line


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
