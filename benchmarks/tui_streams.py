"""The terminal debugger over long streams against a short one: opening one, its keys, and memory.

`WEAKLINK_BENCH_TOKENS` says how long they are, with commas between; their stores are made once.
"""

import os
from pathlib import Path

from benchmarks.long_streams import stream_store
from benchmarks.timing import goal, say
from benchmarks.tui_opened import PEAK, best_opened

_SHORT = 1_000
_LONG = tuple(map(int, os.environ.get("WEAKLINK_BENCH_TOKENS", "1000000,3000000").split(",")))
_GOAL = 1_000_000
"""How long a stream is opened, and a key pressed in it, within the limit; longer ones show how it goes on."""
_SLOWER, _MOST_MB = 2.0, 150.0


def streams(folder: Path) -> None:
    """Traces of millions of tokens against one of a thousand; their stores are made first where they are missing."""
    found = {tokens: best_opened(stream_store(tokens, folder)) for tokens in (_SHORT, *_LONG)}
    short = found[_SHORT]
    for tokens in _LONG:
        say(f"TUI: a stream of {tokens:,} tokens against {_SHORT:,}: CPU ms of opening it and of a key, memory")
        for name, took_s in found[tokens].items():
            if name != PEAK:
                ratio = _told(took_s / short[name], tokens)
                say(f"  {name:16} {short[name] * 1e3:7.1f} {took_s * 1e3:7.1f} ms: {ratio}")
        peak_mb = found[tokens][PEAK]
        said = goal(peak_mb, _MOST_MB, at_least=False)
        a_million = (peak_mb - short[PEAK]) / (tokens / 1e6)
        say(f"  memory, MB       {short[PEAK]:7.0f} {'':10} {said}; {a_million:.1f} MB a million tokens")


def _told(ratio: float, tokens: int) -> str:
    return goal(ratio, _SLOWER, at_least=False) if tokens <= _GOAL else f"{ratio:.2f}"
