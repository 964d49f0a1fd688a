"""The store against its goals: pages of many traces against a thousand, and what a token and a trace cost.

`WEAKLINK_BENCH_TRACES` says how many traces the large SQLite store holds; it is made once, in build/bench-store.
`WEAKLINK_BENCH_PG_TRACES` says the same for PostgreSQL, whose stores are made anew on a server of their own.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter, process_time

from benchmarks import token_rows
from benchmarks.many_stores import fill, made_store
from benchmarks.many_traces import COMMON, IN_A_FIFTIETH, IN_A_TWENTIETH, OLD, RARE
from benchmarks.postgresql_server import NOT_INSTALLED, new_database, programs, running_server
from benchmarks.timing import Clock, best_of, goal, say
from storage import ListCursor, Store, open_store

FOLDER = Path(__file__).parents[1] / "build" / "bench-store"
_PAGE = 100
_SMALL, LARGE = 1_000, int(os.environ.get("WEAKLINK_BENCH_TRACES", "1000000"))
_LARGE_POSTGRESQL = int(os.environ.get("WEAKLINK_BENCH_PG_TRACES", "100000"))
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
    "two never together": f"{IN_A_TWENTIETH} {IN_A_FIFTIETH}",
    "a common phrase": f'"{COMMON} meadow"',
    "a common word and a rare one": f"{COMMON} {RARE}",
    "a common word and a status": f"{COMMON} status:broken",
    "a word only the oldest hold": OLD,
    "the oldest's and a status": f"{OLD} status:broken",
    "the oldest's and a common word": f"{OLD} {COMMON}",
    "a word that is not there": "zyzzyva",
    "one of two": "status:aborted or tool:tool_19",
    "one of two, twice, and a model": "(status:broken or code:S2) model:qwen3-32b (tool:tool_3 or tool:tool_4)",
    "a rare word or none": f"{RARE} or zyzzyva",
    "not a status": "not status:ok",
    "not a common word": f"-{COMMON}",
    "an argument": "arg:$.day=77",
    "an argument, compared": "arg:$.day>500",
    "tokens": "tokens:>250",
    "a duration no trace has": "duration:>2h",
    "a kind of span": "kind:tool_call",
    "a session": "session:s77",
    "calls": "calls:1",
    "calls no trace has": "calls:>5",
    "not so many calls": "not calls:1",
    "turns": "turns:<5",
    "errors": "errors:>0",
    "errors no trace has": "errors:>5",
    "warnings": "warnings:1",
    "a severity no trace has": "severity:info",
    "a share of the context": "context:>50%",
    "a reason of a break": "break:J104",
    "a reason no trace has": "break:T4",
    "a name": 'name:"session 77"',
    "a name's beginning": 'name:"Session 77*"',
    "a beginning no name has": "name:zzz*",
    "a session's beginning": "session:S77*",
    "an argument's beginning": "arg:$.day=77*",
    "counts, one of two": "calls:>5 or errors:>5",
}
_STREAMED = {
    "a name, a star within": "name:*77",
    "no such name": "name:*zzz*",
    "not a name's beginning": "not name:session*",
    "a session, a star before": "session:*77",
    "a part of an argument": "arg:day~77",
    "a tool where it broke": "break_tool:zzz",
    "a schema's violation": "violates:zzz",
    "a status and a name": "status:broken name:*zzz*",
    "a common word and a name": f"{COMMON} name:*zzz*",
    "a name or a count": "name:*zzz* or calls:>5",
    "one of two words and a count": f"({IN_A_TWENTIETH} or {IN_A_FIFTIETH}) calls:>5",
    "two never together or a count": f"{IN_A_TWENTIETH} {IN_A_FIFTIETH} or calls:>5",
    "neither of two words": f"not ({COMMON} or climate)",
}
"""Filters that no index leads to: the list is looked through in steps."""
_AT_DEPTH = {"at depth": "", "at depth, a status": "status:broken", "at depth, a word": COMMON}


def store() -> None:
    """What a token and a trace cost."""
    token_rows.tokens()
    token_rows.traces()


def queries() -> None:
    """Pages and streamed filters on both kinds of database; the large stores are made first where they are missing."""
    pages()
    postgresql_pages()


def pages() -> None:
    """The first page of every kind of filter, and a page at depth, over many traces and over few, on SQLite."""
    say(f"SQLite, CPU time: pages over {LARGE:,} traces, against {_SMALL:,}; stores: build/{FOLDER.name}")
    with open_store(made_store(_SMALL, FOLDER)) as small, open_store(made_store(LARGE, FOLDER)) as large:
        _Pair(small, large, process_time).compare()


def postgresql_pages() -> None:
    """The same on PostgreSQL, by the wall clock, since the server is another process."""
    found = programs()
    if found is None:
        say(f"PostgreSQL: not measured. {NOT_INSTALLED}.")
        return
    say(f"PostgreSQL, wall clock: pages over {_LARGE_POSTGRESQL:,} traces, against {_SMALL:,}")
    with running_server(found) as url, new_database(url) as few, new_database(url) as many:
        fill(few, _SMALL)
        fill(many, _LARGE_POSTGRESQL)
        with open_store(few) as small, open_store(many) as large:
            _Pair(small, large, perf_counter).compare()


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two stores, asked the same by the same clock."""

    small: Store
    large: Store
    clock: Clock

    def compare(self) -> None:
        """Every page as long in the large store as the small one has it, so that the same is built of what is found."""
        say(f"  {'':30} {'traces':>6}  {'small':>7}  {'large':>7}")
        for name, wanted in _FILTERS.items():
            length = len(self.small.traces(wanted, limit=_PAGE))
            self._against(name, length, partial(_page, wanted=wanted, length=length or _PAGE))
            if 0 < length < len(self.large.traces(wanted, limit=_PAGE)):
                self._full(wanted)
        for name, wanted in _AT_DEPTH.items():
            length = len(self.small.traces(wanted, limit=_PAGE, after=_at_depth(self.small)))
            self._against(name, length, partial(_deep_page, wanted=wanted, length=length))
        self._against("search, with excerpts", _PAGE, lambda store: store.search.find(COMMON, limit=_PAGE))
        self._stream()

    def _stream(self) -> None:
        """What no index leads to: the first step of a scan over both, and all steps over the large store."""
        say("  the first step of a scan; then all of it over the large store, and its longest step")
        for name, wanted in _STREAMED.items():
            length = len(self.small.traces(wanted, limit=_PAGE))
            self._against(name, length, partial(_first_step, wanted=wanted, length=length or _PAGE))
            _steps_s(self.large, wanted, self.clock)  # what is read for the first time is slow for another reason
            took_s = _steps_s(self.large, wanted, self.clock)
            say(f"  {'':30} {'':6}  {len(took_s):4} steps {sum(took_s) * 1e3:7.1f} ms, longest {max(took_s) * 1e3:.1f}")

    def _against(self, name: str, length: int, ask: Callable[[Store], object]) -> None:
        ways = {"small": partial(ask, self.small), "large": partial(ask, self.large)}
        best = best_of(ways, rounds=5, clock=self.clock)
        said = goal(best["large"] / best["small"], _AT_MOST, at_least=False)
        empty = "" if length else "; an empty page, nothing to build: all the time goes into seeing that"
        say(f"  {name:30} {length:6}  {best['small'] * 1e3:7.2f}  {best['large'] * 1e3:7.2f} ms: {said}{empty}")

    def _full(self, wanted: str) -> None:
        ms = 1e3 * best_of({"": partial(_page, self.large, wanted, _PAGE)}, rounds=3, clock=self.clock)[""]
        say(f"  {'':30} {_PAGE:6}  {'':7}  {ms:7.2f} ms: a full page, which the small store does not have")


def _page(store: Store, wanted: str, length: int) -> object:
    return store.traces(wanted, limit=length)


def _first_step(store: Store, wanted: str, length: int) -> object:
    return store.paging().scan_step(wanted, limit=length)


def _steps_s(store: Store, wanted: str, clock: Clock) -> list[float]:
    """What each step of a scan for a page took."""
    took_s: list[float] = []
    steps = store.paging().scan(wanted, limit=_PAGE)
    began_s = clock()
    for _ in steps:
        took_s.append(clock() - began_s)
        began_s = clock()
    return took_s


def _deep_page(store: Store, wanted: str, length: int) -> object:
    return store.traces(wanted, limit=length, after=_at_depth(store))


def _at_depth(store: Store) -> ListCursor:
    """A place nine tenths down the list."""
    newest = store.traces(limit=1)[0].cursor
    return ListCursor(newest.sort_at_s * 0.1, 0)
