"""The aligned steps of runs as a grid: a row a step, a column a run."""

from collections.abc import Iterator, Sequence
from itertools import groupby, islice

from inspector.chain.alignment import AlignedRow, Alignment, Sameness
from inspector.chain.alignment_asked import run_label
from inspector.chain.steps import Step
from ui.views.call import UNNAMED, call_brief
from ui.views.palette import Style
from ui.views.run import Line, Run, clipped, padded
from ui.views.run_diff_call import differing_call
from ui.views.status import step_glyph
from ui.views.visible import visible_line
from ui.views.wording import counted, wrapped

_NARROWEST = 14
_BRIEF = 40
_MOST_ROWS = 40
_FOLDED = 4  # so many same rows at either end of a longer row of them are shown
_SIGNS = {
    Sameness.SAME: ("=", Style.DIM),
    Sameness.CALL: ("≠", Style.WARNING),
    Sameness.RESULT: ("≈", Style.WARNING),
    Sameness.OUTCOME: ("≈", Style.WARNING),
}
LEGEND = "= same  ≈ same call, other result  ≠ other arguments  · no such step"
"""What the signs of a grid mean."""


def grid_lines(alignment: Alignment, runs: int, width: int, *, full: bool = False) -> Iterator[Line]:
    """The grid under a head with the runs' letters; the row where they first part is marked `▸`.

    Many same rows in a row are one line, and forty rows the most, unless `full`. Where the screen is too narrow for
    all runs, there are several grids, each with the first run.
    """
    for columns in _groups(runs, width):
        if columns[-1] != runs - 1 or columns[1:2] not in ((1,), ()):
            yield ()
        yield from _grid(alignment, columns, width, full=full)
    yield from wrapped((Run("    "), Run(LEGEND, Style.DIM)), width, indent=4)


def grid_columns(runs: int, chosen: int, width: int) -> tuple[int, ...]:
    """Which runs stand beside each other where there is one grid: all, else the first and those around the chosen."""
    most = max((width - 3) // (_NARROWEST + 2), 2) - 1
    start = max(min(chosen - 1, runs - 1 - most), 0)
    return (0, *range(1, runs)[start : start + most])


def grid_head(columns: Sequence[int], width: int, called: Sequence[str], chosen: int) -> Line:
    """The head over a grid: each run's letter and what it is `called`; brackets stand around the chosen one."""
    line: list[Run] = [Run("   ")]
    for run in columns:
        label = f" [{run_label(run)}]" if run == chosen else f"  {run_label(run)} "
        said = (Run(label, Style.STRONG), Run(f" {visible_line(called[run])}", Style.DIM))
        line += (*padded(said, _room(columns, width)), Run("  "))
    return tuple(line)


def grid_row(alignment: Alignment, index: int, columns: Sequence[int], width: int) -> Line:
    """One row of the grid; that in which the runs first part is marked `▸`."""
    is_first = alignment.divergence is not None and alignment.divergence.row == index
    return _row(alignment.rows[index], columns, _room(columns, width), is_first=is_first)


def sign_of(sameness: Sameness) -> Run:
    """The sign of how a step compares with the first run's."""
    return Run(*_SIGNS[sameness]) if sameness in _SIGNS else Run("·", Style.DIM)


def _room(columns: Sequence[int], width: int) -> int:
    return max((width - 3) // len(columns) - 2, 1)


def _groups(runs: int, width: int) -> Iterator[tuple[int, ...]]:
    """Which runs stand beside each other: as many as there is room for, always with the first."""
    most = max((width - 3) // (_NARROWEST + 2), 2)
    others = list(range(1, runs))
    for start in range(0, max(len(others), 1), most - 1):
        yield (0, *others[start : start + most - 1])


def _grid(alignment: Alignment, columns: Sequence[int], width: int, *, full: bool) -> Iterator[Line]:
    cell = _room(columns, width)
    heads = (
        piece for run in columns for piece in (*padded((Run(f"  {run_label(run)}", Style.STRONG),), cell), Run("  "))
    )
    yield (Run("   "), *heads)
    rows = [(index, row) for index, row in enumerate(alignment.rows) if any(row.steps[run] for run in columns)]
    lines = _rows(rows, alignment, columns, cell, full=full)
    yield from lines if full else islice(lines, _MOST_ROWS)
    left = sum(1 for _ in lines)
    if left:
        yield (Run(f"   … {counted(left, 'more row')}; --full shows all", Style.DIM),)


def _rows(
    rows: Sequence[tuple[int, AlignedRow]], alignment: Alignment, columns: Sequence[int], cell: int, *, full: bool
) -> Iterator[Line]:
    parted = alignment.divergence.row if alignment.divergence is not None else -1
    for is_same, group in groupby(rows, key=lambda numbered: numbered[1].is_same):
        found = list(group)
        if is_same and not full and len(found) > 2 * _FOLDED + 1:
            for _, row in found[:_FOLDED]:
                yield _row(row, columns, cell, is_first=False)
            said = counted(len(found) - 2 * _FOLDED, "step") + " the same in all runs"
            yield (Run(f"   … {said}", Style.DIM),)
            found = found[-_FOLDED:]
        for index, row in found:
            yield _row(row, columns, cell, is_first=index == parted)


def _row(row: AlignedRow, columns: Sequence[int], cell: int, *, is_first: bool) -> Line:
    line: list[Run] = [Run(" ▸ ", Style.ERROR) if is_first else Run("   ")]
    for run in columns:
        line += (*padded(_cell(row, run, cell), cell), Run("  "))
    return tuple(line)


def _cell(row: AlignedRow, run: int, room: int) -> Line:
    step = row.steps[run]
    if step is None:
        return (Run("  ·", Style.DIM),)
    sign, style = _SIGNS[row.sameness[run]]
    is_stem = step is row.first
    mark = Run("  " if is_stem else f"{sign} ", style)
    said = _said(step, row, room, is_stem=is_stem)
    shown = Style.DIM if row.is_same else Style.TOOL_CALL
    return clipped((mark, step_glyph(step), Run(f" {step.number} ", Style.DIM), Run(said, shown)), room)


def _said(step: Step, row: AlignedRow, room: int, *, is_stem: bool) -> str:
    if not is_stem and row.sameness[row.steps.index(step)] is Sameness.SAME and room < _BRIEF:
        return visible_line(step.call.name) if step.call.name else UNNAMED
    if Sameness.CALL in row.sameness:
        return visible_line(differing_call(step, row.steps, room - 6)[: 2 * room])
    return call_brief(step.call, room)
