"""Traces one to a line, in columns whose widths depend on the screen alone: a page that comes later lines up too."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from inspector.chain.steps import Status
from storage import TraceSummary
from ui.views.amounts import short_count, short_duration, short_time
from ui.views.palette import Style
from ui.views.run import Line, Run, clipped, padded, right_aligned
from ui.views.status import task_run
from ui.views.trace_list import break_words, listed_status, listed_title
from ui.views.visible import visible_runs

MARKED, NOTED = Run("●", Style.KEY), Run("✎", Style.KEY)
"""What stands beside a trace that the user marked, and beside one with a note."""
_GAP = 2
_LONGEST = 400  # code points of a name that are looked at
_NUMBERS = ("turns", "calls", "tok", "dur")
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
_BEHIND: tuple[tuple[int, Mapping[str, int | None]], ...] = (
    (110, {"break": None, "tok": 5, "dur": 5}),
    (90, {"break": None, "tok": 5}),
    (0, {"break": None}),
)
_HEADS = {"st": "", "time": "when", "dur": "time"}
_SHARES = {"name": 0.4, "break": 0.6}


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
            line += right_aligned(cells[name], room) if name in _NUMBERS else padded(cells[name], room)
            line.append(Run(" " * _GAP))
        return tuple(line[:-1])


def chain_columns(width: int) -> ChainColumns:
    """The columns for a screen of `width` cells."""
    before = next(columns for least, columns in _LAYOUTS if width >= least)
    behind = next(columns for least, columns in _BEHIND if width >= least)
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
