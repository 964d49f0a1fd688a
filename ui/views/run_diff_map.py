"""Runs as minimaps above each other, step under step: the eye sees where they part before it reads anything."""

from collections.abc import Iterator

from inspector.chain.alignment import AlignedRow, Alignment
from inspector.chain.alignment_asked import run_label
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.run_diff_grid import sign_of
from ui.views.status import step_glyph

_CELLS = 3
_LEAD = 4


def aligned_map_lines(alignment: Alignment, runs: int, at: int, width: int) -> Iterator[Line]:
    """A line of pointers, then one a run: three cells a row, its sign beside the first run and its outcome.

    `▼` points to where the runs first part, `▽` to row `at`. Where not all rows fit, those around `at` are shown,
    between `…`.
    """
    room = max((width - _LEAD - 4) // _CELLS, 1)
    rows = alignment.rows
    start = max(min(at - room // 2, len(rows) - room), 0)
    shown = range(start, min(start + room, len(rows)))
    behind = Run(" …", Style.DIM) if shown.stop < len(rows) else Run("")
    parted = alignment.divergence.row if alignment.divergence is not None else -1
    yield (Run(" " * (_LEAD + 2)), *(_pointer(index, at, parted) for index in shown))
    for run in range(runs):
        lead = (Run(f" {run_label(run)[-1]} ", Style.STRONG), Run("… " if start else "  ", Style.DIM))
        yield (*lead, *(piece for index in shown for piece in _cell(rows[index], run)), behind)


def _pointer(index: int, at: int, parted: int) -> Run:
    if index == parted:
        return Run("▼  ", Style.ERROR)
    return Run("▽  ", Style.KEY) if index == at else Run(" " * _CELLS)


def _cell(row: AlignedRow, run: int) -> Line:
    step = row.steps[run]
    if step is None:
        return (Run("·".rjust(2) + " ", Style.DIM),)
    is_stem = step is row.first
    sign = Run(" ") if is_stem else sign_of(row.sameness[run])
    return (sign, step_glyph(step), Run(" "))
