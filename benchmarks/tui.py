"""The terminal debugger against its goals: over long streams and wide traces, and over many traces against none.

`WEAKLINK_BENCH_TRACES` says how many the large store holds; it is the one that `make bench-store` makes. Each run is a
process of its own without a terminal, its screen 120 by 40 cells.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time

from benchmarks.many_stores import made_store
from benchmarks.measuring import goal, peak_kib, print_line
from benchmarks.store import FOLDER, LARGE
from benchmarks.tui_opened import large_traces
from weaklink.storage.store import open_store
from weaklink.ui.tui.app import WeaklinkApp, tune_memory
from weaklink.ui.tui.chains.screen import ChainsScreen

_ROUNDS = 5
_KEYS = 200
_SMALL = 1_000
_SLOWER, _MOST_MB = 2.0, 150.0
_Measured = dict[str, float]


def tui() -> None:
    """All of it; the large store is made first where it is missing."""
    large_traces(FOLDER)
    print_line(
        f"TUI: first paint from the start of the process, CPU of a key, memory; {LARGE:,} traces against few and none"
    )
    stores = {
        "none": _empty(FOLDER),
        f"{_SMALL:,}": made_store(_SMALL, FOLDER),
        f"{LARGE:,}": made_store(LARGE, FOLDER),
    }
    by_name = {name: _best(path) for name, path in stores.items()}
    for name, times in by_name.items():
        print_line(
            f"  {name:>10} traces: first paint {times['paint_s'] * 1e3:5.0f} ms, a key {times['key_s'] * 1e3:5.2f} ms, "
            f"all counted after {times['known_s'] * 1e3:5.0f} ms, {times['peak_mb']:4.0f} MB at most"
        )
    none, few, many = by_name.values()
    print_line(f"  first paint, many / none      {goal(many['paint_s'] / none['paint_s'], _SLOWER, at_least=False)}")
    print_line(f"  a key, many / few             {goal(many['key_s'] / few['key_s'], _SLOWER, at_least=False)}")
    print_line(f"  memory, MB                    {goal(many['peak_mb'], _MOST_MB, at_least=False)}")


def _best(path: Path) -> _Measured:
    """The best of each figure, and the most memory, of several runs."""
    runs = [_run(path) for _ in range(_ROUNDS)]
    best = {name: min(run[name] for run in runs) for name in runs[0]}
    return best | {"peak_mb": max(run["peak_mb"] for run in runs)}


def _run(path: Path) -> _Measured:
    command = [sys.executable, "-m", "benchmarks.tui", str(path), str(perf_counter())]
    ran = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    measured: _Measured = json.loads(ran.stdout)
    return measured


def _empty(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "store-empty.db"
    with open_store(path):
        return path


async def _measured(path: str, began_s: float) -> _Measured:
    tune_memory()
    app = WeaklinkApp(path, theme="dark")
    async with app.run_test(size=(120, 40)) as pilot:
        home = app.screen
        assert isinstance(home, ChainsScreen)
        await _until(lambda: bool(home.chains.pages.count) or home.has_class("nothing"))
        await pilot.pause()
        paint_s = perf_counter() - began_s
        await _until(lambda: home.chains.pages.is_complete)
        known_s = perf_counter() - began_s
        await pilot.pause(0.5)
        start = process_time()
        for _ in range(_KEYS):
            await pilot.press("j")
        key_s = (process_time() - start) / _KEYS
        await pilot.press("G", "g", "G")
        await pilot.pause(0.5)
    peak_mb = peak_kib() / 1024
    return {"paint_s": paint_s, "known_s": known_s, "key_s": key_s, "peak_mb": peak_mb}


async def _until(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0.001)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_measured(sys.argv[1], float(sys.argv[2])))))
