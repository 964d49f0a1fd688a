"""The tree of a trace as rows for the browser: turns, spans, calls and every value, each with its exact characters."""

from collections.abc import Iterable

from inspector.model import Json
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.trace_rows import turn_rows
from ui.views.dissect.tree import HEAVY
from ui.views.dissect.tree_row import TreeRow
from ui.web.stream_data import TurnWindow, place, runs

MOST_ROWS = 5_000
NEAR = 250
"""So many turns before and behind the one that is looked at are expanded; turns further off are a row each."""


def value_rows(dissection: Dissection, window: TurnWindow, turn: int) -> list[Json]:
    """The rows of the window's turns, near `turn` expanded where that is quickly read; at most `MOST_ROWS` of them."""
    rows: list[Json] = []
    at = max(turn - MOST_ROWS // 2, window.first)
    waiting = _reversed(turn_rows(dissection, at, window.last))
    room = HEAVY
    while waiting:
        row = waiting.pop()
        if len(rows) == MOST_ROWS:
            return [*rows, {"depth": 0, "runs": runs(("dim", f"… {MOST_ROWS:,} rows are shown"))}]
        rows.append(_row(row))
        if row.grow is not None and row.heavy <= room and abs(_turn(row) - turn) <= NEAR:
            room -= row.heavy
            waiting += _reversed(row.grow())
    return rows


def _turn(row: TreeRow) -> int:
    """The first word of a row's key is the number of its turn."""
    return int(row.key[0])


def _reversed(rows: Iterable[TreeRow]) -> list[TreeRow]:
    return list(reversed(list(rows)))


def _row(row: TreeRow) -> Json:
    at = row.location
    where = {} if at is None else place(at.turn, at.part, at.range)
    named = {} if row.named is None or row.named == at else {"from": row.named.range.start}
    styled = runs(*((run.style.value, run.text) for run in row.label))
    return {**where, **named, "depth": min(row.depth, 12), "runs": styled}
