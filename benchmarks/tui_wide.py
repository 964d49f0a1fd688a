"""The terminal debugger over wide traces against narrow ones: opening one, its keys, and memory.

`WEAKLINK_BENCH_TURNS` and `WEAKLINK_BENCH_SPANS` say how wide, with commas between; their stores are made once.
"""

import os
from collections.abc import Callable
from pathlib import Path

from benchmarks.timing import goal, say
from benchmarks.tui_opened import OPENED, PEAK, best_opened
from benchmarks.wide_traces import spans_store, turns_store

_NARROW = 100
_TURNS = tuple(map(int, os.environ.get("WEAKLINK_BENCH_TURNS", "20000").split(",")))
_SPANS = tuple(map(int, os.environ.get("WEAKLINK_BENCH_SPANS", "100000").split(",")))
_SLOWER, _MOST_MB = 2.0, 150.0


def wide_traces(folder: Path) -> None:
    """Traces of many turns, and of many spans, against narrow ones; their stores are made where they are missing."""
    _against_narrow("turns", turns_store, _TURNS, folder)
    _against_narrow("spans", spans_store, _SPANS, folder)


def _against_narrow(what: str, made: Callable[[int, Path], Path], widths: tuple[int, ...], folder: Path) -> None:
    narrow = best_opened(made(_NARROW, folder))
    for width in widths:
        wide = best_opened(made(width, folder))
        say(f"TUI: a trace of {width:,} {what} against {_NARROW}: CPU ms of opening it and of a key, memory")
        for name, took_s in wide.items():
            if name != PEAK:
                ratio = took_s / narrow[name]
                told = f"{ratio:6.2f}" if name == OPENED else goal(ratio, _SLOWER, at_least=False)
                say(f"  {name:16} {narrow[name] * 1e3:7.1f} {took_s * 1e3:7.1f} ms: {told}")
        said = goal(wide[PEAK], _MOST_MB, at_least=False)
        say(f"  memory, MB       {narrow[PEAK]:7.0f} {'':10} {said}")
