"""Traces in a table: how each ended, what it called, and where it broke."""

from collections.abc import Iterator, Mapping, Sequence

from inspector.chain.steps import Break, Status
from inspector.errors import UnknownRuleError
from inspector.rules.catalogue import find_rule
from storage import TraceSummary
from ui.views.call import UNNAMED
from ui.views.external_ids import PLACES
from ui.views.palette import Style
from ui.views.run import Line, Run, clipped, padded, right_aligned, width_of
from ui.views.status import DAMAGED, LIVENESS, status_run, task_run
from ui.views.visible import visible_line

_ROOMY = 110
_NUMBERS = ("id", "turns", "calls", "errors")
_WORTH = {"break": 12, "name": 3, "model": 0}
_NARROWEST = 8


def trace_table(
    summaries: Sequence[TraceSummary], *, width: int, minimaps: Mapping[int, Line] | None = None
) -> Iterator[Line]:
    """One line a trace, under a head; with minimaps, by trace id, they take the place of counts where it is narrow."""
    shown = _columns(width, with_map=minimaps is not None)
    if any(task_run(summary.outcome) for summary in summaries):
        shown = (shown[0], "task", *shown[1:])
    heads: dict[str, Line] = {name: (Run(name, Style.DIM),) for name in shown}
    rows = [_cells(summary, (minimaps or {}).get(summary.id, ())) for summary in summaries]
    widths = {name: max(width_of(cells[name]) for cells in [heads, *rows]) for name in shown}
    _narrow(widths, width)
    for cells in [heads, *rows]:
        yield _row(cells, widths, width)


def trace_title(summary: TraceSummary) -> str:
    """What a trace is known by: its name, else the first telling id of its source, else its file and record."""
    telling = (value for name, value in summary.external_ids.items() if name not in PLACES)
    file = summary.file.replace("\\", "/").rpartition("/")[2]
    return summary.name or next(telling, "") or f"{file} {summary.record}".strip() or f"trace {summary.id}"


def listed_title(summary: TraceSummary) -> str:
    """The title with what places the trace: what it is to its parent, its project and its branch."""
    parent = f"{summary.parent.why.value}: " if summary.parent is not None else ""
    return f"{parent}{trace_title(summary)}{placed(summary.project, summary.branch)}"


def placed(project: str, branch: str) -> str:
    """Project and branch behind a title: ` · weather (main)`; empty where neither is known."""
    words = " ".join(word for word in (project, f"({branch})" if branch else "") if word)
    return f" · {words}" if words else ""


def break_words(broken: Break) -> Line:
    """A break in short: `#2 J104 trailing-comma`."""
    try:
        what = str(find_rule(broken.code))
    except UnknownRuleError:
        what = broken.code
    tool = visible_line(broken.tool) if broken.tool else UNNAMED
    return (Run(f"#{broken.step} "), Run(what, Style.ERROR), Run(f" {tool}", Style.DIM))


def _columns(width: int, *, with_map: bool) -> tuple[str, ...]:
    if width >= _ROOMY:
        counts = ("model", "format", "turns", "calls", "errors")
        return ("status", "id", "name", *counts, *(("map",) if with_map else ()), "break")
    return ("status", "id", "name", *(("map",) if with_map else ("model", "calls", "errors")), "break")


def _cells(summary: TraceSummary, minimap: Line) -> dict[str, Line]:
    return {
        "status": (listed_status(summary),),
        "task": (task_run(summary.outcome) or Run("-", Style.DIM),),
        "id": (Run(str(summary.id), Style.STRONG),),
        "name": (Run(visible_line(listed_title(summary))),),
        "model": (Run(visible_line(summary.model or "-")),),
        "format": (Run(summary.format),),
        "turns": (Run(f"{summary.turns}{f'+{summary.open_turns}' if summary.open_turns else ''}"),),
        "calls": (Run(str(summary.tool_calls)),),
        "errors": (Run(str(summary.errors or "-"), Style.ERROR if summary.errors else Style.DIM),),
        "map": minimap,
        "break": break_words(summary.broken) if summary.broken else (Run("-", Style.DIM),),
    }


def _row(cells: Mapping[str, Line], widths: Mapping[str, int], width: int) -> Line:
    line: list[Run] = []
    for name, room in widths.items():
        line += right_aligned(cells[name], room) if name in _NUMBERS else padded(cells[name], room)
        line.append(Run("  "))
    return clipped(line[:-1], width)


def _narrow(widths: dict[str, int], width: int) -> None:
    """Take cells from the widest of the texts until the table fits, but leave each something to be known by."""
    while sum(widths.values()) + 2 * len(widths) - 2 > width:
        name = max(_WORTH.keys() & widths.keys(), key=lambda name: (widths[name] - _WORTH[name], name))
        if widths[name] <= _NARROWEST:
            return
        widths[name] -= 1


def listed_status(summary: TraceSummary) -> Run:
    """What a list shows of how a trace ended, or that it has not, or that it is damaged."""
    if summary.damaged:
        return DAMAGED
    if summary.liveness is not None:
        return LIVENESS[summary.liveness]
    return status_run(Status(summary.status), summary.broken.outcome if summary.broken else None)
