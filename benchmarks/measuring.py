"""How the benchmarks measure: CPU time of several ways in turn, the best of several rounds; and peak memory."""

import gc
import re
import resource
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from time import process_time
from typing import TypeAlias

Clock: TypeAlias = Callable[[], float]

_STATUS = Path("/proc/self/status")
_PEAK = re.compile(r"^VmHWM:\s*(\d+) kB$", re.MULTILINE)


def best_of(
    ways: Mapping[str, Callable[[], object]], *, rounds: int = 7, least_s: float = 0.05, clock: Clock = process_time
) -> dict[str, float]:
    """CPU seconds that one call of each way takes, the best of `rounds`, the ways taking turns.

    Each measurement repeats its call until it has lasted about `least_s`, so that the clock's grain does not matter.
    Where another process does the work, `clock` is one that goes on meanwhile.
    """
    repeats = {name: _repeats(way, least_s, clock) for name, way in ways.items()}
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, way in ways.items():
            best[name] = min(best[name], _time(way, repeats[name], clock) / repeats[name])
    return best


def _repeats(way: Callable[[], object], least_s: float, clock: Clock) -> int:
    once = _time(way, 1, clock)
    return max(1, round(least_s / max(once, 1e-7)))


def _time(way: Callable[[], object], repeats: int, clock: Clock) -> float:
    gc.collect()
    gc.disable()
    try:
        start = clock()
        for _ in range(repeats):
            way()
        return clock() - start
    finally:
        gc.enable()


def peak_kib() -> int:
    """The most memory that this process has had at once, in KiB, since its program began.

    On Linux `ru_maxrss` also counts what the process that started this one had, so the kernel's own mark is read.
    """
    if _STATUS.exists():
        match = _PEAK.search(_STATUS.read_text(encoding="ascii"))
        if match is not None:
            return int(match[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // 1024 if sys.platform == "darwin" else peak  # macOS counts bytes


def print_line(line: str = "") -> None:
    """One line of the benchmark's report."""
    print(line)


def goal(value: float, bound: float, *, at_least: bool) -> str:
    """`value` beside the goal that PERF.md sets for it."""
    reached = value >= bound if at_least else value <= bound
    return f"{value:6.2f}  (goal: at {'least' if at_least else 'most'} {bound:g}, {'reached' if reached else 'MISSED'})"
