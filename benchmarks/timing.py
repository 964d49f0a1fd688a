"""How the benchmarks measure: CPU time, several ways in turn within one run, the best of several rounds."""

import gc
from collections.abc import Callable, Mapping
from time import process_time
from typing import TypeAlias

Clock: TypeAlias = Callable[[], float]


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


def say(line: str = "") -> None:
    """One line of the benchmark's report."""
    print(line)


def goal(value: float, bound: float, *, at_least: bool) -> str:
    """`value` beside the goal that PERF.md sets for it."""
    reached = value >= bound if at_least else value <= bound
    return f"{value:6.2f}  (goal: at {'least' if at_least else 'most'} {bound:g}, {'reached' if reached else 'MISSED'})"
