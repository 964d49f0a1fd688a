"""What other processes do to a store while it is tested: `python -m tests.storage.processes WHAT DATABASE SECONDS`.

A writer prints the name of each trace once it is committed; every process prints last how long it waited at most.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count

from msgspec.structs import replace

from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from weaklink.inspector.capture.events import ChunksArrived, TraceEnded, TraceStarted, TurnEnded, TurnStarted
from weaklink.inspector.model import Chunk, Role, Trace
from weaklink.inspector.model.trace import parts_of
from weaklink.storage.live import StoreSink
from weaklink.storage.store import Store, open_store

_BATCH = 10


def trace_named(name: str) -> Trace:
    """The trace that a writer makes under this name."""
    number = int(name.rpartition("-")[2])
    return trace(name, GOOD_CALL, BAD_CALL * (number % 3), words=f"question {number} " * 20, started_s=float(number))


def chunks_named(name: str) -> tuple[Chunk, ...]:
    """The stream of the turn that a recorder never ends: about as long as anybody will wait."""
    first = 64 * int(name.rpartition("-")[2])
    return tuple(Chunk(first + index, "text", f"{name} {index} ", (first + index) / 64) for index in range(64))


def save(store: Store) -> Iterator[list[str]]:
    """Batches of whole traces; now and then the text index is filled."""
    for first in count(0, _BATCH):
        names = [f"saved-{number}" for number in range(first, first + _BATCH)]
        store.save(inspected(*map(trace_named, names)))
        if first % (20 * _BATCH) == 0:
            store.search.index_pending(limit=200)
        yield names


def record(store: Store) -> Iterator[list[str]]:
    """Sessions through a sink, each in many events."""
    sink = StoreSink(store)
    for number in count():
        whole = trace_named(name := f"recorded-{number}")
        sink.accept(TraceStarted(name, replace(whole, turns=())))
        for index, turn in enumerate(whole.turns, 1):
            sink.accept(TurnStarted(name, index, turn.role, turn.generation))
            chunks = tuple(Chunk(index, "text", letter) for index, letter in enumerate(turn.parts[0].text))
            sink.accept(ChunksArrived(name, index, chunks))
            sink.flush()
            sink.accept(TurnEnded(name, index, turn))
        sink.accept(TraceEnded(name))
        sink.flush()
        yield [name]


def stream(store: Store) -> Iterator[list[str]]:
    """One session whose second turn never ends; each name says how many times 64 chunks are committed."""
    sink = StoreSink(store)
    sink.accept(TraceStarted("k", trace("streamed")))
    sink.accept(TurnStarted("k", 2, Role.ASSISTANT))
    for number in count():
        sink.accept(ChunksArrived("k", 2, chunks_named(name := f"chunks-{number}")))
        sink.flush()
        yield [name]


def read(store: Store) -> Iterator[list[str]]:
    """Lists, filters, words, and whole traces, each of which must be as it was made."""
    while True:
        for summary in store.traces(limit=20)[::5]:
            if not summary.running:
                kept, inspection = store.inspected(summary.id)
                assert (kept, inspection) == inspected(trace_named(kept.name))[0]
        store.traces("status:broken tool:get_weather")
        store.traces("question")
        yield []


def streamed_text(names: list[str]) -> str:
    """What `stream` has written when it has printed these names."""
    (part,) = parts_of(chunk for name in names for chunk in chunks_named(name))
    return part.text


_WHAT: dict[str, Callable[[Store], Iterator[list[str]]]] = {f.__name__: f for f in (save, record, stream, read)}


def main(what: str, database: str, seconds: str) -> None:
    until = time.monotonic() + float(seconds)
    longest_s, rounds = 0.0, 0
    with open_store(database) as store:
        work = _WHAT[what](store)
        while (begun := time.monotonic()) < until:
            names = next(work)
            longest_s, rounds = max(longest_s, time.monotonic() - begun), rounds + 1
            sys.stdout.write("".join(f"{name}\n" for name in names))
            sys.stdout.flush()
    sys.stdout.write(json.dumps({"longest_s": longest_s, "rounds": rounds}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
