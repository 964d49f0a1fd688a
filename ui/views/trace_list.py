"""Lists of traces: the table that commands print, and the columns of the list in the terminal debugger."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from inspector.chain.steps import Break, Status
from inspector.errors import UnknownRuleError
from inspector.rules.catalogue import find_rule
from storage import TraceSummary
from ui.views.status import DAMAGED, LIVENESS, UNNAMED, status_run, task_run
from ui.views.styled_text import Line, Run, Style, clipped, padded, right_aligned, visible_line, visible_runs, width_of
from ui.views.trace import POSITION_IDS
from ui.views.wording import short_count, short_duration, short_time

_ROOMY = 110
_NUMBERS = ("id", "turns", "calls", "errors")
_PRIORITY = {"break": 12, "name": 3, "model": 0}
_NARROWEST = 8
MARKED, NOTED = Run("●", Style.KEY), Run("✎", Style.KEY)
"""What stands beside a trace that the user marked, and beside one with a note."""

_GAP = 2
_LONGEST = 400  # code points of a name that are looked at
_NUMERIC_COLUMNS = ("turns", "calls", "tok", "dur")

# Which columns there are from which width on, and how wide; those of None share what is left, by their shares.
_LAYOUTS: tuple[tuple[int, Mapping[str, int | None]], ...] = (
    (
        190,
        {"st": 2, "id": 7, "time": 12, "name": None, "model": 28, "format": 14, "source": 16, "turns": 5, "calls": 9},
    ),
    (110, {"st": 2, "time": 12, "name": None, "model": 16, "format": 8, "turns": 5, "calls": 7}),
    (90, {"st": 2, "time": 12, "name": None, "model": 14, "calls": 7}),
    (70, {"st": 2, "time": 8, "name": None, "model": 12, "calls": 7}),
    (0, {"st": 2, "name": None}),
)

_TRAILING: tuple[tuple[int, Mapping[str, int | None]], ...] = (
    (110, {"break": None, "tok": 5, "dur": 5}),
    (90, {"break": None, "tok": 5}),
    (0, {"break": None}),
)

_HEADS = {"st": "", "time": "when", "dur": "time"}
_SHARES = {"name": 0.4, "break": 0.6}


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
    telling = (value for name, value in summary.external_ids.items() if name not in POSITION_IDS)
    file = summary.file.replace("\\", "/").rpartition("/")[2]
    return summary.name or next(telling, "") or f"{file} {summary.record}".strip() or f"trace {summary.id}"


def listed_title(summary: TraceSummary) -> str:
    """The title with what places the trace: what it is to its parent, its project and its branch."""
    parent = f"{summary.parent.why.value}: " if summary.parent is not None else ""
    return f"{parent}{trace_title(summary)}{project_words(summary.project, summary.branch)}"


def project_words(project: str, branch: str) -> str:
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
        name = max(_PRIORITY.keys() & widths.keys(), key=lambda name: (widths[name] - _PRIORITY[name], name))
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


@dataclass(frozen=True, slots=True)
class ChainColumns:
    """The columns of a list of traces on a screen of so many cells."""

    widths: Mapping[str, int]

    def head(self, sorted_by: str = "") -> Line:
        """The names of the columns; an arrow stands at the one by which the list is sorted."""
        names = {name: _HEADS.get(name, name) for name in self.widths}
        said = {name: f"{head}▾" if name == sorted_by else head for name, head in names.items()}
        return self._line({name: (Run(head, Style.DIM),) for name, head in said.items()})

    def row(self, summary: TraceSummary, *, now_s: float, ok_calls: int | None = None, marks: Line = ()) -> Line:
        """One trace; of its calls, so many went well, where that is known; `marks` is what the user put beside it."""
        cells = {name: _CELLS[name](summary) for name in self.widths if name in _CELLS}
        cells["st"] = (_glyph(summary), *marks)
        if "time" in self.widths:
            at_s = summary.started_at_s
            said = "-" if at_s is None else short_time(at_s, now_s, self.widths["time"])
            cells["time"] = (Run(said, Style.DIM),)
        if "calls" in self.widths:
            cells["calls"] = _calls(summary.tool_calls, ok_calls)
        return self._line(cells)

    def _line(self, cells: Mapping[str, Line]) -> Line:
        line: list[Run] = []
        for name, room in self.widths.items():
            line += right_aligned(cells[name], room) if name in _NUMERIC_COLUMNS else padded(cells[name], room)
            line.append(Run(" " * _GAP))
        return tuple(line[:-1])


def chain_columns(width: int) -> ChainColumns:
    """The columns for a screen of `width` cells."""
    before = next(columns for least, columns in _LAYOUTS if width >= least)
    behind = next(columns for least, columns in _TRAILING if width >= least)
    columns = {**before, **behind}
    fixed = sum(room for room in columns.values() if room is not None)
    left = max(width - fixed - _GAP * (len(columns) - 1), 8)
    widths = {name: int(left * _SHARES[name]) if room is None else room for name, room in columns.items()}
    widths["name"] += left - sum(widths[name] for name in _SHARES)
    return ChainColumns(widths)


def missing_row(width: int, why: str) -> Line:
    """What stands for a trace that is not there yet, or no longer."""
    return clipped((Run("   "), Run(why, Style.DIM)), width)


def _glyph(summary: TraceSummary) -> Run:
    run = listed_status(summary)
    return Run(run.text[0], run.style)


def _calls(total: int, ok: int | None) -> Line:
    if not total:
        return (Run("-", Style.DIM),)
    if ok is None:
        return (Run(short_count(total)),)
    return (Run(f"{short_count(ok)}/{short_count(total)}", Style.PLAIN if ok >= total else Style.WARNING),)


def _turns(summary: TraceSummary) -> Line:
    return (Run(f"{short_count(summary.turns)}{f'+{summary.open_turns}' if summary.open_turns else ''}"),)


def _tokens(summary: TraceSummary) -> Line:
    known = [count for count in (summary.input_tokens, summary.output_tokens) if count is not None]
    return (Run(short_count(sum(known))),) if known else (Run("-", Style.DIM),)


def _text(text: str) -> Line:
    return visible_runs(text[:_LONGEST]) or (Run("-", Style.DIM),)


def _ending(summary: TraceSummary) -> Line:
    """What the source says of the task, where it does, and how the chain ended."""
    task = task_run(summary.outcome)
    return _verdict(summary) if task is None else (task, Run(" · ", Style.DIM), *_verdict(summary))


def _verdict(summary: TraceSummary) -> Line:
    if summary.broken is not None:
        return break_words(summary.broken)
    if summary.status is Status.ABORTED and summary.abort_reason and not summary.is_open:
        return (Run("aborted: ", Style.DIM), *_text(summary.abort_reason))
    if summary.status is Status.UNKNOWN and not summary.running:
        return (Run("the last answer was not kept", Style.DIM),)
    return (Run("-", Style.DIM),)


_CELLS: Mapping[str, Callable[[TraceSummary], Line]] = {
    "id": lambda one: (Run(str(one.id), Style.DIM),),
    "name": lambda one: _text(listed_title(one)),
    "model": lambda one: _text(one.model),
    "format": lambda one: _text(one.format),
    "source": lambda one: _text(one.source),
    "turns": _turns,
    "break": _ending,
    "tok": _tokens,
    "dur": lambda one: (Run(short_duration(one.duration_s)),) if one.duration_s is not None else (Run("-", Style.DIM),),
}
