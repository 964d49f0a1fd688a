"""Traces in a table: how each ended, what it called, and where it broke."""

from collections.abc import Iterator, Mapping, Sequence

from inspector.chain.steps import Break, Status
from inspector.errors import UnknownRuleError
from inspector.rules.catalogue import find_rule
from storage import TraceSummary
from ui.views.call import UNNAMED
from ui.views.palette import Style
from ui.views.run import Line, Run, clipped, padded, right_aligned, width_of
from ui.views.status import status_run
from ui.views.visible import visible_line

_ROOMY = 110
_SLACK = 3


def trace_table(
    summaries: Sequence[TraceSummary], *, width: int, minimaps: Mapping[int, Line] | None = None
) -> Iterator[Line]:
    """One line a trace, under a head; a trace's minimap, where there is one, on a line of its own below it."""
    shown = _columns(width)
    rows = [_cells(summary) for summary in summaries]
    heads = {name: (Run(name, Style.DIM),) for name in shown}
    widths = {name: max(width_of(cells[name]) for cells in [heads, *rows]) for name in shown}
    _narrow(widths, width)
    for cells in [heads, *rows]:
        yield clipped(tuple(run for name in shown for run in _cell(cells[name], name, widths[name])), width)
        minimap = minimaps.get(_id_of(cells)) if minimaps and cells is not heads else None
        if minimap is not None:
            yield clipped((Run(" " * (widths["status"] + 2), Style.PLAIN), *minimap), width)


def break_words(broken: Break) -> Line:
    """A break in short: `#2 J104 trailing-comma`."""
    what = broken.outcome.value
    if broken.code is not None:
        try:
            what = str(find_rule(broken.code))
        except UnknownRuleError:
            what = broken.code
    tool = visible_line(broken.tool) if broken.tool else UNNAMED
    return (Run(f"#{broken.step} "), Run(what, Style.ERROR), Run(f" {tool}", Style.DIM))


def _columns(width: int) -> tuple[str, ...]:
    if width >= _ROOMY:
        return "status", "id", "name", "model", "format", "turns", "calls", "errors", "break"
    return "status", "id", "name", "model", "calls", "errors", "break"


def _cells(summary: TraceSummary) -> dict[str, Line]:
    outcome = summary.broken.outcome if summary.broken else None
    return {
        "status": (status_run(Status(summary.status), outcome),),
        "id": (Run(str(summary.id), Style.STRONG),),
        "name": (Run(visible_line(summary.name or summary.record)),),
        "model": (Run(visible_line(summary.model or "-")),),
        "format": (Run(summary.format),),
        "turns": (Run(str(summary.turns)),),
        "calls": (Run(str(summary.tool_calls)),),
        "errors": (Run(str(summary.errors or "-"), Style.ERROR if summary.errors else Style.DIM),),
        "break": break_words(summary.broken) if summary.broken else (Run("-", Style.DIM),),
    }


def _cell(cell: Line, name: str, width: int) -> Line:
    if name in ("id", "turns", "calls", "errors"):
        return (*right_aligned(cell, width), Run("  "))
    return (*padded(cell, width), Run("  "))


def _narrow(widths: dict[str, int], width: int) -> None:
    """Take cells from the widest of the texts until the table fits, but leave each something to be known by."""
    while sum(widths.values()) + 2 * len(widths) - 2 > width:
        name = max(("model", "name", "break"), key=lambda name: widths[name] - {"break": 12, "name": _SLACK}.get(name, 0))
        if widths[name] <= 8:
            return
        widths[name] -= 1


def _id_of(cells: Mapping[str, Line]) -> int:
    return int(cells["id"][0].text)
