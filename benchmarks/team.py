"""A team on one PostgreSQL: ten recorders of twenty streams each, beside three readers, and what was lost.

Each recorder and each reader is a process of its own, with a store of its own. A recorder writes through the sink that
`weaklink record` writes through; a reader calls what the pages of the dashboard call. Every stream has a pause of a
tenth of a second between its chunks. Afterwards each chunk is looked for.
"""

import asyncio
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from threading import Event, Thread

import psycopg
from msgspec import Struct

from benchmarks.many_stores import COMMON, fill
from benchmarks.measuring import print_line
from benchmarks.postgresql_server import NOT_INSTALLED, new_database, programs, running_server
from weaklink.inspector.capture.events import ChunksArrived, TraceEnded, TraceStarted, TurnEnded, TurnStarted
from weaklink.inspector.chain.metrics_groups import GroupKey
from weaklink.inspector.model import Chunk, Part, Role, Trace, Turn
from weaklink.storage.listing import Order
from weaklink.storage.live import StoreSink
from weaklink.storage.store import Store, open_store

_RECORDERS = int(os.environ.get("WEAKLINK_BENCH_RECORDERS", "10"))
_SECONDS = float(os.environ.get("WEAKLINK_BENCH_SECONDS", "60"))
_STREAMS, _READERS = 20, 3
_BEFORE = 10_000  # traces that are in the database when the recorders begin
_CHUNKS, _PAUSE_S = 40, 0.1
_CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


class TeamRun(Struct, frozen=True):
    """What came of a run: sessions and chunks that were sent, and of those how many are not in the database as sent.

    `doubled` counts traces beyond those that were sent. `pages_s` are the times that the readers' pages took.
    """

    sessions: int
    chunks: int
    lost_sessions: int
    lost_chunks: int
    doubled: int
    connections: int
    behind_s: float
    pages_s: dict[str, list[float]]


def team() -> None:
    """The run, where PostgreSQL is installed."""
    folder = programs()
    if folder is None:
        print_line(f"team: not measured. {NOT_INSTALLED}.")
        return
    with running_server(folder) as server, new_database(server) as where:
        fill(where, _BEFORE)
        done = run_team(where, recorders=_RECORDERS, seconds=_SECONDS)
    print_line(
        f"team: {_RECORDERS} recorders of {_STREAMS} streams for {_SECONDS:.0f} s into one PostgreSQL of {_BEFORE:,} "
        f"traces, {_READERS} readers beside them"
    )
    print_line(f"  {done.sessions:,} sessions, {done.chunks:,} chunks ({done.chunks / _SECONDS:,.0f} a second)")
    print_line(f"  lost: {done.lost_sessions} sessions, {done.lost_chunks} chunks; doubled: {done.doubled}")
    print_line(
        f"  the last was written {done.behind_s:.1f} s after it was sent; at most {done.connections} connections"
    )
    for name, took in done.pages_s.items():
        some = sorted(took)
        median, p95 = (some[len(some) * share // 100] * 1e3 for share in (50, 95))
        print_line(f"  {name:<28} {len(some):6,} times, median {median:5.0f} ms, p95 {p95:5.0f} ms")


def run_team(where: str, *, recorders: int, seconds: float) -> TeamRun:
    """Record and read for so long; every trace in the database that no recorder sent is taken for one from before."""
    before = _traces_in(where)
    most, over = [0], Event()
    watcher = Thread(target=_watch, args=(where, most, over))
    watcher.start()
    try:
        with ProcessPoolExecutor(recorders + _READERS, mp_context=get_context("spawn")) as processes:
            recording = [processes.submit(_record, where, f"recorder {index}", seconds) for index in range(recorders)]
            reading = [processes.submit(_read, where, seconds) for _ in range(_READERS)]
            reports = [future.result() for future in recording]
            pages = [future.result() for future in reading]
    finally:
        over.set()
        watcher.join()
    names = [f"recorder {index} {number}" for index, (made, _) in enumerate(reports) for number in range(made)]
    lost, lost_chunks = _lost(where, names)
    return TeamRun(
        sessions=len(names),
        chunks=len(names) * _CHUNKS,
        lost_sessions=lost,
        lost_chunks=lost_chunks,
        doubled=_traces_in(where) - before - len(names) + lost,
        connections=most[0],
        behind_s=max(behind_s for _, behind_s in reports),
        pages_s={page: [took for times in pages for took in times[page]] for page in _PAGES},
    )


def _traces_in(where: str) -> int:
    with open_store(where) as store:
        return store.maintenance.stats().traces


def _watch(where: str, most: list[int], over: Event) -> None:
    with psycopg.connect(where, autocommit=True) as connection:
        while not over.wait(0.2):
            row = connection.execute(_CONNECTIONS).fetchone()
            most[0] = max(most[0], row[0] if row else 0)


def _record(where: str, name: str, seconds: float) -> tuple[int, float]:
    """One recorder: streams one behind the other on each of its lines; how many, and how long the last was written."""
    sink = StoreSink(where)
    made = asyncio.run(_streams(sink, name, time.monotonic() + seconds))
    began_s = time.monotonic()
    sink.close()
    assert not sink.dropped, f"{sink.dropped} events had no room"
    return made, time.monotonic() - began_s


async def _streams(sink: StoreSink, name: str, until_s: float) -> int:
    made = 0

    async def line(index: int) -> None:
        nonlocal made
        await asyncio.sleep(index * _PAUSE_S / _STREAMS)
        while made < _STREAMS or time.monotonic() < until_s:
            made += 1
            await _stream(sink, f"{name} {made - 1}")

    await asyncio.gather(*(line(index) for index in range(_STREAMS)))
    return made


async def _stream(sink: StoreSink, key: str) -> None:
    sink.accept(TraceStarted(key, Trace((), name=key)))
    sink.accept(TurnEnded(key, 1, Turn(Role.USER, (Part("text", f"Say {key}"),))))
    sink.accept(TurnStarted(key, 2, Role.ASSISTANT))
    for index in range(_CHUNKS):
        sink.accept(ChunksArrived(key, 2, (Chunk(index, "text", _word(key, index), index * _PAUSE_S),)))
        await asyncio.sleep(_PAUSE_S)
    text = "".join(_word(key, index) for index in range(_CHUNKS))
    sink.accept(TurnEnded(key, 2, Turn(Role.ASSISTANT, (Part("text", text),))))
    sink.accept(TraceEnded(key))


def _word(key: str, index: int) -> str:
    return f"{key}, word {index}. "


def _read(where: str, seconds: float) -> dict[str, list[float]]:
    """One reader: the pages in turn, a second of thought behind each round, until the time is over."""
    took: dict[str, list[float]] = {page: [] for page in _PAGES}
    until_s = time.monotonic() + seconds
    with open_store(where, read_only=True) as store:
        while time.monotonic() < until_s or not all(took.values()):
            for page, show in _PAGES.items():
                began_s = time.perf_counter()
                show(store)
                took[page].append(time.perf_counter() - began_s)
            time.sleep(1.0)
    return took


def _newest(store: Store) -> None:
    pages = store.paging()
    page = pages.page("", limit=50)
    pages.call_counts([row.summary.id for row in page])
    pages.version()


def _broken_first(store: Store) -> None:
    pages = store.paging()
    pages.page("", Order.BROKEN, limit=50)
    pages.status_counts()


def _figures(store: Store) -> None:
    store.statistics.figures(by=(GroupKey.MODEL,))
    store.statistics.figures(by=(GroupKey.CODE,))


def _filtered(store: Store) -> None:
    store.paging().page("status:broken model:qwen3-32b tool:tool_3", limit=50)


def _search(store: Store) -> None:
    store.search.find(COMMON, limit=50)


def _running_trace(store: Store) -> None:
    """The newest trace, which is most likely being recorded."""
    id_ = store.paging().version().newest_id
    if not id_:
        return
    store.inspected(id_)
    store.open_turns(id_)


_PAGES: dict[str, Callable[[Store], None]] = {
    "list, newest first": _newest,
    "list, broken first, counted": _broken_first,
    "figures by model and rule": _figures,
    "a filter of three": _filtered,
    "a search": _search,
    "a trace that is recorded": _running_trace,
}


def _lost(where: str, names: list[str]) -> tuple[int, int]:
    """How many sessions are not there, and how many chunks of all sessions are not, or not as they were sent."""
    with open_store(where, read_only=True) as store:
        traces: dict[str, Trace] = {}
        for name in {name.rpartition(" ")[0] for name in names}:
            after = None
            while page := store.traces(f'name:"{name}*"', limit=500, after=after):
                traces |= {summary.name: store.trace(summary.id) for summary in page}
                after = page[-1].cursor
    lost = [name for name in names if name not in traces]
    chunks = sum(_lost_chunks(name, traces[name]) for name in names if name in traces)
    return len(lost), len(lost) * _CHUNKS + chunks


def _lost_chunks(name: str, trace: Trace) -> int:
    if len(trace.turns) != 2:
        return _CHUNKS
    text = trace.turns[1].parts[0].text
    lost = sum(_word(name, index) not in text for index in range(_CHUNKS))
    return lost if len(text) == sum(len(_word(name, index)) for index in range(_CHUNKS)) else max(lost, 1)
