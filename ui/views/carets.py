"""The carets below a place and what is said of it, as compilers do."""

from collections.abc import Iterator, Sequence

from inspector.diagnostics import Fault
from inspector.rules.rule import Severity
from ui.views.palette import style_of
from ui.views.run import Line, Run, width_of
from ui.views.wording import wrapped


def caret_lines(
    before: int, under: int, faults: Sequence[Fault], said: Sequence[list[Line]], room: int
) -> Iterator[Line]:
    """Carets under `under` cells behind `before` blanks for the faults of one place, then what is said of each.

    A single fault's first line stands beside its carets where it fits into `room` cells.
    """
    worst = min((fault.rule.severity for fault in faults), key=list(Severity).index)
    carets = (Run(" " * before), Run("^" * under, style_of(worst)))
    rest = [list(words) for words in said]
    if len(rest) == 1 and before + under + 1 + width_of(rest[0][0]) <= room:
        yield (*carets, Run(" "), *rest[0].pop(0))
    else:
        yield carets
    for line in (line for words in rest for line in words):
        yield from wrapped(line, room, indent=2 if line[0].text.strip() else 8)
