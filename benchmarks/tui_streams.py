"""The terminal debugger over long streams against a short one: opening one, its keys, and memory.

`WEAKLINK_BENCH_TOKENS` says how long they are, with commas between; their stores are made once. Each run is a process
of its own without a terminal, its screen 120 by 40 cells. A key is measured where it is pressed for the first time:
nothing of what it shows was laid out before. Memory is measured at its most, the trace read anew and opened again too.
"""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from time import process_time

from textual.pilot import Pilot

from benchmarks.long_streams import stream_store
from benchmarks.peak_memory import peak_kib
from benchmarks.timing import goal, say
from ui.tui.app import WeaklinkApp
from ui.tui.dissector.screen import DissectorScreen
from ui.tui.footprint import settle

_ROUNDS = 3
_SHORT = 1_000
_LONG = tuple(map(int, os.environ.get("WEAKLINK_BENCH_TOKENS", "1000000,3000000").split(",")))
_GOAL = 1_000_000
"""How long a stream is opened, and a key pressed in it, within the limit; longer ones show how it goes on."""
_SLOWER, _MOST_MB = 2.0, 150.0
_OPENED, _PEAK = "opened", "peak_mb"
_KEYS = {
    "] next step": ("]",) * 6,
    "[ step before": ("[",) * 6,
    "v white space": ("v",) * 4,
    "c chunks": ("c",) * 4,
    "j in the stream": ("j",) * 20,
    "page down": ("pagedown",) * 10,
    "G and g": ("G", "g") * 3,
    "j in the tree": ("1", "g", *("j",) * 20),
}
_Measured = dict[str, float]


def streams(folder: Path) -> None:
    """Traces of millions of tokens against one of a thousand; their stores are made first where they are missing."""
    found = {tokens: _best(stream_store(tokens, folder)) for tokens in (_SHORT, *_LONG)}
    short = found[_SHORT]
    for tokens in _LONG:
        say(f"TUI: a stream of {tokens:,} tokens against {_SHORT:,}: CPU ms of opening it and of a key, memory")
        for name, took_s in found[tokens].items():
            if name != _PEAK:
                ratio = _told(took_s / short[name], tokens)
                say(f"  {name:16} {short[name] * 1e3:7.1f} {took_s * 1e3:7.1f} ms: {ratio}")
        peak_mb = found[tokens][_PEAK]
        said = goal(peak_mb, _MOST_MB, at_least=False)
        a_million = (peak_mb - short[_PEAK]) / (tokens / 1e6)
        say(f"  memory, MB       {short[_PEAK]:7.0f} {'':10} {said}; {a_million:.1f} MB a million tokens")


def _told(ratio: float, tokens: int) -> str:
    return goal(ratio, _SLOWER, at_least=False) if tokens <= _GOAL else f"{ratio:.2f}"


def _best(path: Path) -> _Measured:
    """The best of each figure, and the most memory, of several runs."""
    runs = [_run(path) for _ in range(_ROUNDS)]
    return {name: min(run[name] for run in runs) for name in runs[0]} | {_PEAK: max(run[_PEAK] for run in runs)}


def _run(path: Path) -> _Measured:
    command = [sys.executable, "-m", "benchmarks.tui_streams", str(path)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    measured: _Measured = json.loads(ran.stdout)
    return measured


async def _measured(path: str) -> _Measured:
    settle()
    app = WeaklinkApp(path, theme="dark")
    found: _Measured = {}
    async with app.run_test(size=(120, 40)) as pilot:
        await _settled(pilot)
        start = process_time()
        app.open_trace(1)
        await _settled(pilot)
        found[_OPENED] = process_time() - start
        assert isinstance(app.screen, DissectorScreen)
        assert app.screen.found is not None
        await pilot.press("2", "g")
        for name, keys in _KEYS.items():
            await _settled(pilot)
            start = process_time()
            await pilot.press(*keys)
            await _settled(pilot)
            found[name] = (process_time() - start) / len(keys)
        await pilot.press("ctrl+r")
        await _settled(pilot)
        await pilot.press("escape")
        app.open_trace(1)
        await _settled(pilot)
    return found | {_PEAK: peak_kib() / 1024}


async def _settled(pilot: Pilot[None]) -> None:
    await pilot.pause()
    while any(not worker.is_finished for worker in pilot.app.workers):
        await asyncio.sleep(0.01)  # looking more often would cost more than what is measured
    await pilot.pause()


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_measured(sys.argv[1]))))
