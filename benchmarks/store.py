"""The store against its goals: pages of a million traces against a thousand, and what a token and a trace cost.

`WEAKLINK_BENCH_TRACES` says how many traces the large store holds. Stores are made once, in build/bench-store.
"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks import token_rows
from benchmarks.many_traces import COMMON, IN_A_FIFTIETH, IN_A_TWENTIETH, RARE, made_store
from benchmarks.timing import best_of, goal, say
from storage import Cursor, Store, open_store

FOLDER = Path(__file__).parents[1] / "build" / "bench-store"
_SMALL, _LARGE = 1_000, int(os.environ.get("WEAKLINK_BENCH_TRACES", "1000000"))
_AT_MOST = 3.0
_FILTERS = {
    "the newest": "",
    "status": "status:broken",
    "model": "model:qwen3-32b",
    "model, a pattern": "model:hermes*",
    "source": "source:otel",
    "format": "format:hermes",
    "tool": "tool:tool_3",
    "code": "code:J104",
    "code, a family": "code:J1",
    "status, model and tool": "status:broken model:qwen3-32b tool:tool_3",
    "a rare word": RARE,
    "a common word": COMMON,
    "a word in every 20th": IN_A_TWENTIETH,
    "two common words": f"{COMMON} {IN_A_TWENTIETH}",
    "two seldom together": f"{IN_A_TWENTIETH} {IN_A_FIFTIETH}",
    "a common phrase": f'"{COMMON} meadow"',
    "a common word and a rare one": f"{COMMON} {RARE}",
    "a common word and a status": f"{COMMON} status:broken",
    "a word that is not there": "zyzzyva",
}


def store() -> None:
    """All of it; the large store is made first where it is missing."""
    token_rows.tokens()
    token_rows.traces()
    pages()


def pages() -> None:
    """The first page of every kind of filter, and a page at depth, over many traces and over few."""
    say(f"pages of 100 over {_LARGE:,} traces, against {_SMALL:,}; the stores are made once, in {FOLDER}")
    with open_store(made_store(_SMALL, FOLDER)) as small, open_store(made_store(_LARGE, FOLDER)) as large:
        for name, wanted in _FILTERS.items():
            _against(name, partial(small.traces, wanted), partial(large.traces, wanted))
        for name, wanted in (("at depth", ""), ("at depth, a status", "status:broken"), ("at depth, a word", COMMON)):
            ways = (partial(one.traces, wanted, after=_at_depth(one)) for one in (small, large))
            _against(name, *ways)
        _against("search, with excerpts", partial(small.search, COMMON), partial(large.search, COMMON))


def _against(name: str, small: Callable[[], object], large: Callable[[], object]) -> None:
    best = best_of({"small": small, "large": large}, rounds=5)
    ms = f"{best['small'] * 1e3:6.2f} and {best['large'] * 1e3:6.2f} ms"
    say(f"  {name:30} {ms}: {goal(best['large'] / best['small'], _AT_MOST, at_least=False)}")


def _at_depth(store: Store) -> Cursor:
    """A place nine tenths down the list."""
    newest = store.traces(limit=1)[0].cursor
    return Cursor(newest.sort_at_s * 0.1, 0)
