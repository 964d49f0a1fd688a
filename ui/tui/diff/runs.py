"""Which runs are compared, and how they are read: in one go, where nobody waits for it."""

from collections.abc import Sequence
from dataclasses import dataclass

from storage import Store
from ui.views.run_diff import ComparedRun, RunDiff, compare

MOST = 6
"""Runs that stand side by side."""


@dataclass(frozen=True, slots=True)
class ChosenRuns:
    """The ids of the runs to compare, that of the opened trace last; with fewer than two, `said` tells what to do."""

    ids: tuple[int, ...]
    said: str = ""


def chosen_runs(store: Store, *, id: int) -> ChosenRuns:
    """The marked traces, the oldest first, and then trace `id`."""
    marked = sorted(one.id for one in store.traces("marked:yes", limit=100) if one.id != id)
    if not marked:
        is_marked = bool(store.marks([id]).get(id))
        if is_marked:
            return ChosenRuns(
                (id,), "Only this trace is marked: go to the one to compare it with, and press `d` there."
            )
        return ChosenRuns((id,), "No trace is marked. `m` marks one; `d` then compares it with another.")
    left_out = len(marked) + 1 - MOST
    said = f"{len(marked):,} traces are marked; only {MOST} runs stand side by side." if left_out > 0 else ""
    return ChosenRuns((*marked[: MOST - 1], id), said)


def read_runs(store: Store, *, ids: Sequence[int]) -> RunDiff:
    """Read and compare these traces; the first is what the others are compared with. StoreError."""
    return compare([ComparedRun(str(id_), *store.inspected(id_, in_columns=True)) for id_ in ids])
