"""One trace opened in the terminal debugger, large ones against small: CPU time of opening it and of a key, memory.

`WEAKLINK_BENCH_TOKENS`, `WEAKLINK_BENCH_TURNS` and `WEAKLINK_BENCH_SPANS` say how large, with commas between; their
stores are made once. Each run is a process of its own without a terminal, its screen 120 by 40 cells. A key is measured
where it is pressed for the first time: nothing of what it shows was laid out before. Memory is measured with the trace
searched, read anew, and opened again too.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import NamedTuple

from textual.pilot import Pilot

from benchmarks.large_traces import spans_store, stream_store, turns_store
from benchmarks.measuring import goal, peak_kib, print_line
from weaklink.ui.tui.app import WeaklinkApp, tune_memory
from weaklink.ui.tui.dissector.screen import DissectorScreen

_OPENED, _PEAK = "opened", "peak_mb"
"""What is measured beside the keys: CPU seconds of opening the trace, and MB at most."""

_Measured = dict[str, float]
"""CPU seconds by the name of a key, and the two above."""

_SLOWER, _MAX_MB = 2.0, 150.0


class _Kind(NamedTuple):
    """A way of being large: what is counted, the variable with the sizes, and the size to compare with.

    `goal` is the largest size with a limit (of a stream, opening it has one too); larger ones show how it goes on.
    """

    counted: str
    variable: str
    sizes: str
    store: Callable[[int, Path], Path]
    small: int
    goal: float = float("inf")
    opening_has_goal: bool = False


_KINDS = (
    _Kind("tokens", "WEAKLINK_BENCH_TOKENS", "1000000,3000000", stream_store, 1_000, 1_000_000, opening_has_goal=True),
    _Kind("turns", "WEAKLINK_BENCH_TURNS", "20000", turns_store, 100),
    _Kind("spans", "WEAKLINK_BENCH_SPANS", "100000", spans_store, 100),
)
_ROUNDS = 3
_KEYS = {
    "] next step": ("]",) * 6,
    "[ step before": ("[",) * 6,
    "e next fault": ("e",) * 6,
    "E fault before": ("E",) * 6,
    "v white space": ("v",) * 4,
    "c chunks": ("c",) * 4,
    "j in the stream": ("j",) * 20,
    "page down": ("pagedown",) * 10,
    "G and g": ("G", "g") * 3,
    "4 next view": ("4",) * 8,
    "j in the tree": ("1", "g", *("j",) * 20),
    "unfold": ("g", *("enter", "j") * 6),
}


def large_traces(folder: Path) -> None:
    """A large trace of each kind against a small one; their stores are made first where they are missing."""
    for kind in _KINDS:
        small = _best_opened(kind.store(kind.small, folder))
        for size in map(int, os.environ.get(kind.variable, kind.sizes).split(",")):
            _print_ratios(kind, size, small, _best_opened(kind.store(size, folder)))


def _print_ratios(kind: _Kind, size: int, small: _Measured, large: _Measured) -> None:
    print_line(
        f"TUI: {size:,} {kind.counted} in a trace against {kind.small:,}: CPU ms of opening it and of a key, memory"
    )
    for name, took_s in large.items():
        if name != _PEAK:
            ratio = took_s / small[name]
            has_goal = size <= kind.goal and (name != _OPENED or kind.opening_has_goal)
            judged = goal(ratio, _SLOWER, at_least=False) if has_goal else f"{ratio:6.2f}"
            print_line(f"  {name:16} {small[name] * 1e3:7.1f} {took_s * 1e3:7.1f} ms: {judged}")
    a_thousand = (large[_PEAK] - small[_PEAK]) / (size / 1e3)
    judged = goal(large[_PEAK], _MAX_MB, at_least=False)
    print_line(
        f"  memory, MB       {small[_PEAK]:7.0f} {'':10} {judged}; {a_thousand:.3f} MB a thousand {kind.counted}"
    )


def _best_opened(path: Path) -> _Measured:
    """The best of each figure, and the most memory, of several runs that open the first trace of a store."""
    runs = [_run(path) for _ in range(_ROUNDS)]
    return {name: min(run[name] for run in runs) for name in runs[0]} | {_PEAK: max(run[_PEAK] for run in runs)}


def _run(path: Path) -> _Measured:
    command = [sys.executable, "-m", "benchmarks.tui_opened", str(path)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    measured: _Measured = json.loads(ran.stdout)
    return measured


async def _measured(path: str) -> _Measured:
    tune_memory()
    app = WeaklinkApp(path, theme="dark")
    measured: _Measured = {}
    async with app.run_test(size=(120, 40)) as pilot:
        await _settled(pilot)
        start = process_time()
        app.open_trace(1)
        await _settled(pilot)
        measured[_OPENED] = process_time() - start
        assert isinstance(app.screen, DissectorScreen)
        assert app.screen.opened is not None
        await pilot.press("2", "g")
        for name, keys in _KEYS.items():
            await _settled(pilot)
            start = process_time()
            await pilot.press(*keys)
            await _settled(pilot)
            measured[name] = (process_time() - start) / len(keys)
        await pilot.press("/", *"nowhere", "enter")
        await _settled(pilot)
        await pilot.press("ctrl+r")
        await _settled(pilot)
        await pilot.press("escape")
        app.open_trace(1)
        await _settled(pilot)
    return measured | {_PEAK: peak_kib() / 1024}


async def _settled(pilot: Pilot[None]) -> None:
    await pilot.pause()
    while any(not worker.is_finished for worker in pilot.app.workers):
        await asyncio.sleep(0.01)  # looking more often would cost more than what is measured
    await pilot.pause()


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_measured(sys.argv[1]))))
