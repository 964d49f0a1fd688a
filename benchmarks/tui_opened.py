"""One trace opened in the terminal debugger: the CPU time of opening it and of each key in it, and memory at its most.

Each run is a process of its own without a terminal, its screen 120 by 40 cells. A key is measured where it is pressed
for the first time: nothing of what it shows was laid out before. Memory is measured with the trace searched, read anew,
and opened again too.
"""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from time import process_time

from textual.pilot import Pilot

from benchmarks.peak_memory import peak_kib
from weaklink.ui.tui.app import WeaklinkApp, tune_memory
from weaklink.ui.tui.dissector.screen import DissectorScreen

OPENED, PEAK = "opened", "peak_mb"
"""What is measured beside the keys: CPU seconds of opening the trace, and MB at most."""

Measured = dict[str, float]
"""CPU seconds by the name of a key, and the two above."""

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


def best_opened(path: Path) -> Measured:
    """The best of each figure, and the most memory, of several runs that open the first trace of a store."""
    runs = [_run(path) for _ in range(_ROUNDS)]
    return {name: min(run[name] for run in runs) for name in runs[0]} | {PEAK: max(run[PEAK] for run in runs)}


def _run(path: Path) -> Measured:
    command = [sys.executable, "-m", "benchmarks.tui_opened", str(path)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    measured: Measured = json.loads(ran.stdout)
    return measured


async def _measured(path: str) -> Measured:
    tune_memory()
    app = WeaklinkApp(path, theme="dark")
    found: Measured = {}
    async with app.run_test(size=(120, 40)) as pilot:
        await _settled(pilot)
        start = process_time()
        app.open_trace(1)
        await _settled(pilot)
        found[OPENED] = process_time() - start
        assert isinstance(app.screen, DissectorScreen)
        assert app.screen.opened is not None
        await pilot.press("2", "g")
        for name, keys in _KEYS.items():
            await _settled(pilot)
            start = process_time()
            await pilot.press(*keys)
            await _settled(pilot)
            found[name] = (process_time() - start) / len(keys)
        await pilot.press("/", *"nowhere", "enter")
        await _settled(pilot)
        await pilot.press("ctrl+r")
        await _settled(pilot)
        await pilot.press("escape")
        app.open_trace(1)
        await _settled(pilot)
    return found | {PEAK: peak_kib() / 1024}


async def _settled(pilot: Pilot[None]) -> None:
    await pilot.pause()
    while any(not worker.is_finished for worker in pilot.app.workers):
        await asyncio.sleep(0.01)  # looking more often would cost more than what is measured
    await pilot.pause()


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_measured(sys.argv[1]))))
