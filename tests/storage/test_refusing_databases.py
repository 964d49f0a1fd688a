"""A database that cannot be written costs the recorder no time and no more memory than it was given."""

import logging
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.storage.samples import trace
from tests.storage.test_live import ROOT, WHOLE, chunks_of, events_of
from weaklink.inspector.capture.events import (
    ChunksArrived,
    RecordEvent,
    TraceEnded,
    TraceStarted,
    TurnEnded,
    TurnStarted,
)
from weaklink.inspector.errors import StoreError
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import BodyState, Chunk, Part, Role, Turn
from weaklink.inspector.model.trace import parts_of
from weaklink.storage.live import StoreSink
from weaklink.storage.running.session import BoundedBuffer
from weaklink.storage.store import Store, open_store

_HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""
LONG = tuple(Chunk(index, "text", f"word {index} ", index / 64) for index in range(5_000))
SMALL_ROOM = 200_000


@contextmanager
def locked(database: Path) -> Iterator[None]:
    """Another process that writes to the database and does not come to an end."""
    command = [sys.executable, "-c", _HOLDER, str(database)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        try:
            yield
        finally:
            holder.kill()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "weaklink.db"


@pytest.fixture
def store(database: Path) -> Iterator[Store]:
    with open_store(database, busy_timeout_s=0.05) as opened:
        yield opened


def _give(sink: StoreSink, *events: RecordEvent) -> None:
    for event in events:
        sink.accept(event)


def _begun() -> tuple[RecordEvent, RecordEvent]:
    return TraceStarted("k", replace(trace("a"), turns=())), TurnStarted("k", 1, Role.ASSISTANT)


def _pieces(chunks: tuple[Chunk, ...]) -> list[RecordEvent]:
    return [ChunksArrived("k", 1, chunks[index : index + 8]) for index in range(0, len(chunks), 8)]


def _in_trouble(sink: StoreSink) -> bool:
    until = time.monotonic() + 30
    while sink.trouble is None and time.monotonic() < until:
        time.sleep(0.01)
    return sink.trouble is not None


def test_a_turn_that_found_no_room_is_kept_up_to_there_and_says_so(
    store: Store, database: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "weaklink")
    sink = StoreSink(store, room_bytes=SMALL_ROOM)
    with locked(database):
        _give(sink, *_begun(), *_pieces(LONG))
        assert _in_trouble(sink)
        assert sink.dropped > 300
        assert sink._buffer.held_bytes <= SMALL_ROOM
    sink.flush()
    _give(sink, *_pieces(LONG[:80]), TraceEnded("k"))
    sink.close()
    kept = store.trace("a")
    (turn,) = kept.turns
    assert turn.generation is not None
    assert turn.generation.body is BodyState.TRUNCATED
    count = len(turn.parts[0].chunks or ())
    assert 500 < count < 2_000
    assert turn.parts == parts_of(LONG[:count])
    assert kept.provenance.warnings == ("Incomplete turn 1: the database was not writable for too long.",)
    assert "Cannot write to the database; recorded events wait in memory" in caplog.text


def test_the_end_of_a_turn_brings_the_chunks_that_found_no_room(store: Store, database: Path) -> None:
    sink = StoreSink(store, room_bytes=SMALL_ROOM)
    whole = Turn(Role.ASSISTANT, parts_of(LONG[:1_400]))
    with locked(database):
        _give(sink, *_begun(), *_pieces(LONG[:1_400]))
        assert _in_trouble(sink)
        assert sink.dropped
    sink.flush()
    _give(sink, TurnEnded("k", 1, whole), TraceEnded("k"))
    sink.close()
    assert store.trace("a") == replace(trace("a"), turns=(whole,))


def test_a_turn_whose_end_found_no_room_keeps_its_facts_and_what_came(store: Store, database: Path) -> None:
    sink = StoreSink(store, room_bytes=SMALL_ROOM)
    generation = WHOLE.turns[1].generation
    with locked(database):
        _give(sink, *_begun(), *_pieces(LONG))
        _give(sink, TurnEnded("k", 1, Turn(Role.ASSISTANT, parts_of(LONG), generation=generation)))
        _give(sink, TurnEnded("k", 2, Turn(Role.USER, (Part("text", "x" * SMALL_ROOM),))), TraceEnded("k"))
        assert _in_trouble(sink)
    sink.close()
    kept = store.trace("a")
    assert generation is not None
    assert kept.turns[0].generation == replace(generation, body=BodyState.TRUNCATED, tools=())
    assert kept.turns[0].parts == parts_of(LONG[: len(kept.turns[0].parts[0].chunks or ())])
    assert kept.turns[1] == Turn(Role.USER, ())
    assert kept.provenance.warnings == ("Incomplete turns 1, 2: the database was not writable for too long.",)


def test_what_waits_is_bounded_however_much_comes() -> None:
    room = BoundedBuffer(SMALL_ROOM)
    for number in range(3_000):
        for event in events_of(WHOLE, f"k{number}"):
            room.put(event)
    assert room.held_bytes < 1.25 * SMALL_ROOM + 3_000 * 500
    assert room.dropped > 10_000
    assert sum(isinstance(event, TraceEnded) for event in room.drain()) == 3_000
    room.written()
    assert (room.held_bytes, len(room)) == (0, 0)


def test_a_turn_larger_than_all_the_room_is_kept_where_nothing_else_waits() -> None:
    room = BoundedBuffer(1_000)
    ended = TurnEnded("k", 1, Turn(Role.ASSISTANT, parts_of(LONG)))
    room.put(ended)
    assert (list(room.drain()), room.dropped) == ([ended], 0)


def test_accepting_does_not_wait_while_another_process_holds_the_database(store: Store, database: Path) -> None:
    sink = StoreSink(store)
    with locked(database):
        # The lock is held until this block ends: an accept that waited for it would never come back.
        _give(sink, *events_of(WHOLE))
        with pytest.raises(StoreError, match="another program is writing"):
            sink.flush()
    sink.close()
    assert sink.dropped == 0
    assert store.trace("a") == WHOLE


def test_a_full_disk_costs_nothing_once_there_is_room_again(database: Path) -> None:
    # -B: byte code written to a full disk would be cut, and stay so for everyone.
    command = [sys.executable, "-B", "-m", "tests.storage.full_disk", str(database)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    trouble, dropped = done.stdout.splitlines()
    assert "the disk could not be read or written (I/O error)" in trouble  # what a limit of file sizes looks like
    assert dropped == "dropped 0"
    with open_store(database) as store:
        (turn,) = store.trace("full").turns
        assert turn.parts[0].text == "".join(f"{index * 7919 % 100_003} " for index in range(20_000))
    connection = sqlite3.connect(database)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


def test_a_database_that_is_deleted_is_made_again_with_all_that_is_held(store: Store, database: Path) -> None:
    sink = StoreSink(store)
    told = events_of(WHOLE)
    other = replace(trace("b"), turns=())
    _give(sink, TraceStarted("b", other), TurnStarted("b", 1, Role.ASSISTANT), *told[:-3])
    sink.flush()
    for path in database.parent.glob("weaklink.db*"):
        path.unlink()
    _give(sink, *told[-3:])
    sink.flush()
    sink.accept(ChunksArrived("b", 1, chunks_of("goes on")))
    sink.close()
    with open_store(database) as opened:
        assert opened.trace("a") == WHOLE
        assert opened.trace("b").turns[0].parts == parts_of(chunks_of("goes on"))
        assert len(opened.traces()) == 2


def test_a_database_that_may_not_be_written_keeps_what_is_recorded_in_memory(database: Path) -> None:
    """A trigger refuses what a file's rights would, which do not hold for root."""
    with open_store(database) as store:
        sink = StoreSink(store)
        with sqlite3.connect(database) as connection:
            connection.execute("CREATE TRIGGER refuse BEFORE INSERT ON trace BEGIN SELECT RAISE(ABORT, 'no'); END")
        _give(sink, *events_of(WHOLE))
        assert _in_trouble(sink)
        connection.execute("DROP TRIGGER refuse")
        connection.close()
        sink.close()
        assert store.trace("a") == WHOLE


def test_a_turn_that_has_ended_stays_as_it_is(store: Store) -> None:
    sink = StoreSink(store)
    told = events_of(WHOLE)
    late: list[RecordEvent] = [TurnStarted("k", 2, Role.ASSISTANT), ChunksArrived("k", 2, chunks_of("late"))]
    _give(sink, *told[:-1], *late, told[-1], *late, TurnEnded("k", 2, Turn(Role.USER, ())))
    sink.close()
    assert store.trace("a") == WHOLE
    assert len(store.traces()) == 1


def test_the_end_of_a_trace_that_never_began_makes_none(store: Store) -> None:
    sink = StoreSink(store)
    _give(sink, TraceEnded("k"))
    sink.close()
    assert store.traces() == []


def test_turns_may_be_open_beside_each_other(store: Store) -> None:
    sink = StoreSink(store)
    sink.accept(TraceStarted("k", replace(trace("a"), turns=())))
    for number in (3, 1, 2):
        _give(sink, TurnStarted("k", number, Role.ASSISTANT), ChunksArrived("k", number, chunks_of(f"turn {number}")))
        sink.flush()
    sink.accept(TurnEnded("k", 2, Turn(Role.ASSISTANT, (Part("text", "second"),))))
    sink.close()
    kept = store.trace("a")
    assert [turn.parts[0].text for turn in kept.turns] == ["turn 1", "second", "turn 3"]


@pytest.mark.parametrize("flushes", [1, 4])
def test_a_session_that_is_not_held_in_memory_ends_the_same(
    store: Store, monkeypatch: pytest.MonkeyPatch, flushes: int
) -> None:
    monkeypatch.setattr("weaklink.storage.live._HELD_BYTES", 0)
    monkeypatch.setattr("weaklink.storage.live._EVERY_S", 1e6)
    sink = StoreSink(store)
    for count, event in enumerate(events_of(WHOLE, known=1)):
        sink.accept(event)
        if count % flushes == 0:
            sink.flush()
            assert not any(any(session._turns.values()) for session in sink._sessions.values())
    sink.close()
    assert store.trace("a") == WHOLE
    assert store.inspection("a") == inspect_trace(WHOLE)


def test_turns_that_end_out_of_order_are_put_in_order_though_nothing_is_held(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weaklink.storage.live._HELD_BYTES", 0)
    sink = StoreSink(store)
    sink.accept(TraceStarted("k", replace(trace("a"), turns=())))
    for number in (1, 4, 2, 3):
        sink.accept(TurnEnded("k", number, Turn(Role.USER, (Part("text", f"turn {number}"),))))
        sink.flush()
    sink.close()
    assert [turn.parts[0].text for turn in store.trace("a").turns] == ["turn 1", "turn 2", "turn 3", "turn 4"]
