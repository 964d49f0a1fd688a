"""The store against its goals: what a filter, a list, a sum and a search take, and what a token and a trace cost.

`WEAKLINK_BENCH_TRACES` says how many traces the large SQLite store holds; it is made once, in build/bench-store.
`WEAKLINK_BENCH_PG_TRACES` says the same for PostgreSQL, whose stores are made anew on a server of their own.
"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks import token_rows
from benchmarks.many_stores import COMMON, IN_A_FIFTIETH, IN_A_TWENTIETH, OLD, RARE, fill, made_store
from benchmarks.measuring import best_of, goal, print_line
from benchmarks.postgresql_server import NOT_INSTALLED, new_database, programs, running_server
from weaklink.inspector.chain.metrics_groups import Aspect, GroupKey
from weaklink.storage.listing import Order
from weaklink.storage.store import Store, open_store
from weaklink.storage.summaries import ListCursor

FOLDER = Path(__file__).parents[1] / "build" / "bench-store"
_PAGE = 100
LARGE = int(os.environ.get("WEAKLINK_BENCH_TRACES", "300000"))
_LARGE_POSTGRESQL = int(os.environ.get("WEAKLINK_BENCH_PG_TRACES", "300000"))
_MEDIAN_S, _LONGEST_S = 0.2, 1.0
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
_AT_DEPTH = {"at depth": "", "at depth, a status": "status:broken", "at depth, a word": COMMON}


def store() -> None:
    """What a token and a trace cost."""
    token_rows.tokens()
    token_rows.traces()


def queries() -> None:
    """Filters, lists, sums and searches over many traces on both kinds of database; the stores are made first."""
    print_line(f"SQLite, wall clock, {LARGE:,} traces; the store is kept in build/{FOLDER.name}")
    with open_store(made_store(LARGE, FOLDER)) as store:
        _asked(store)
    folder = programs()
    if folder is None:
        print_line(f"PostgreSQL: not measured. {NOT_INSTALLED}.")
        return
    print_line(f"PostgreSQL, wall clock, {_LARGE_POSTGRESQL:,} traces")
    with running_server(folder) as url, new_database(url) as database:
        fill(database, _LARGE_POSTGRESQL)
        with open_store(database) as store:
            _asked(store)


def _asked(store: Store) -> None:
    """Each question to a store: the first page of a filter and its count, a page far down the list, and each sum."""
    ways: dict[str, Callable[[], object]] = {}
    for name, wanted in _FILTERS.items():
        ways[name] = partial(store.traces, wanted, limit=_PAGE)
        ways[f"{name}, counted"] = partial(store.paging().count, wanted)
    newest = store.traces(limit=1)[0].cursor
    for name, wanted in _AT_DEPTH.items():
        ways[name] = partial(store.traces, wanted, limit=_PAGE, after=ListCursor(newest.sort_at_s * 0.1, 0))
    for order in Order:
        ways[f"sorted by {order.value}"] = partial(store.paging().page, "", order, limit=_PAGE)
    ways["search, with excerpts"] = partial(store.search.find, COMMON, limit=_PAGE)
    ways["traces by status"] = store.paging().status_counts
    for key in (None, *GroupKey):
        by = () if key is None else (key,)
        ways[f"figures by {key.value if key else 'nothing'}"] = partial(store.statistics.figures, by=by)
    ways["figures of a model"] = partial(store.statistics.figures, "model:qwen3-32b")
    for aspect in Aspect:
        ways[f"breaks by {aspect.value}"] = partial(store.statistics.breakdown, aspect)
    ways["violations"] = store.statistics.violations
    took_s = {name: best_of({"": ask}, rounds=3, clock=perf_counter)[""] for name, ask in ways.items()}
    for name, seconds in took_s.items():
        print_line(f"  {name:44} {seconds * 1e3:8.1f} ms")
    print_line(f"  median {median(took_s.values()):.3f} s: {goal(median(took_s.values()), _MEDIAN_S, at_least=False)}")
    print_line(f"  longest {max(took_s.values()):.3f} s: {goal(max(took_s.values()), _LONGEST_S, at_least=False)}")
