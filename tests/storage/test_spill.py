"""What a sink cannot write at its end goes into a trace file, with numbers and the command that imports it."""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from benchmarks.postgresql_server import NOT_INSTALLED, new_database, programs, running_server
from tests.capture.recordings import Call, user
from tests.storage.test_divided_writes import agent_trace
from tests.storage.test_live import events_of
from weaklink.inspector.capture.events import RecordEvent, TraceEnded, TraceStarted, TurnEnded
from weaklink.inspector.capture.recorder import Recorder
from weaklink.inspector.errors import StoreError
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import ExternalId, Part, Role, Trace, Turn
from weaklink.inspector.model.exchange import RecordedExchange
from weaklink.inspector.trace_file import read_trace_file
from weaklink.inspector.trace_file.reading import read_recordings
from weaklink.storage.live import StoreSink
from weaklink.storage.store import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "w.db", busy_timeout_s=0.1) as opened:
        yield opened


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another process that holds the write lock."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


@contextmanager
def full(path: Path, store: Store) -> Iterator[None]:
    """A disk that has no room for another page of the database."""

    def limit(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute("PRAGMA max_page_count = 1")

    sa.event.listen(store._database.engine, "connect", limit)
    store._database.engine.dispose()
    yield
    sa.event.remove(store._database.engine, "connect", limit)
    store._database.engine.dispose()


def agent(name: str) -> Trace:
    """An agent that ends with a text which needs new pages."""
    whole = agent_trace(": ", ": ", length=9)
    long = Turn(Role.TOOL, (Part("text", random.Random(name).randbytes(200_000).hex()),))
    return replace(whole, turns=(*whole.turns, long), name=name, external_ids=(ExternalId("session", name),))


def _turns(whole: Trace, first: int, last: int) -> list[RecordEvent]:
    exchange = RecordedExchange("POST", "/v1", request=b"{" + b"a" * 300, answer=b"x")
    return [
        TurnEnded(whole.name, number, turn, (replace(exchange, turn=number),) if turn.role is Role.ASSISTANT else ())
        for number, turn in enumerate(whole.turns[first:last], first + 1)
    ]


def _spilled(path: Path) -> Path:
    (paths,) = path.parent.glob("weaklink-unsaved-*.jsonl")
    return paths


@pytest.mark.one_in(4)
@pytest.mark.parametrize("trouble", ["locked", "full"])
@pytest.mark.parametrize("held_bytes", [0, 64 << 20])
@pytest.mark.parametrize("recovers_first", [True, False])
def test_what_cannot_be_written_is_in_a_file_that_completes_the_database(
    store: Store, monkeypatch: pytest.MonkeyPatch, *, trouble: str, held_bytes: int, recovers_first: bool
) -> None:
    path = store.location.path
    assert path is not None
    monkeypatch.setattr("weaklink.storage.live._HELD_BYTES", held_bytes)
    monkeypatch.setattr("weaklink.storage.live._EVERY_S", 1e6)
    begun, new, done = agent("begun"), agent("new"), agent("done")
    sink = StoreSink(store)
    for event in [*events_of(done, "done"), TraceStarted("begun", replace(begun, turns=())), *_turns(begun, 0, 4)]:
        sink.accept(event)
    sink.flush()
    with locked(path) if trouble == "locked" else full(path, store):
        for event in [*_turns(begun, 4, 7), TraceEnded("begun"), *events_of(new, "new")]:
            sink.accept(event)
        with pytest.raises(StoreError) as raised:
            sink.close()
    file = _spilled(path)
    words = str(raised.value)
    assert "3 requests of 2 sessions could not be stored" in words
    assert f"`weaklink import {file} --db {path}` stores them" in words
    assert file.stat().st_mode & 0o777 == 0o600
    monkeypatch.setattr("weaklink.storage.running.rows._lives", lambda _owner: False)
    if recovers_first:
        store.recover()
    spilled = list(read_recordings(file))
    assert [len(exchanges) for _, exchanges in spilled] == [2, 0]
    store.save([(trace, inspect_trace(trace)) for trace in read_trace_file(file)])
    store.recover()
    assert sorted(summary.name for summary in store.traces()) == ["begun", "done", "new"]
    for whole in (begun, new, done):
        assert [turn.parts for turn in store.trace(whole.name).turns] == [turn.parts for turn in whole.turns]
    assert store.maintenance.check().problems == ()


def test_if_no_folder_takes_it_the_lost_requests_of_each_session_are_counted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, _traces: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("weaklink.inspector.capture.spill.write_trace_file", refuse)
    sink = StoreSink(store)
    path = store.location.path
    assert path is not None
    with locked(path):
        for whole in (agent("a"), agent("b")):
            for event in events_of(whole, whole.name):
                sink.accept(event)
        with pytest.raises(StoreError, match=r"4 requests of 2 sessions are lost.*No space.*2 requests of `a`, 2 requ"):
            sink.close()
    assert list(path.parent.glob("*.jsonl")) == []


def test_what_is_spilled_is_redacted(store: Store) -> None:
    path = store.location.path
    assert path is not None
    secret = "sk-ant-api03-" + "Zx9" * 30
    sink = StoreSink(store)
    recorder = Recorder(sink)
    with locked(path):
        Call(recorder, [user(f"my key is {secret}")]).answered().said("Good ", secret).done()
        recorder.close()
        with pytest.raises(StoreError, match="1 request of 1 session could not be stored"):
            sink.close()
    assert secret not in _spilled(path).read_text()
    assert "my key is" in _spilled(path).read_text()


def test_a_session_whose_requests_are_all_stored_is_not_spilled(store: Store) -> None:
    path, whole = store.location.path, agent("a")
    assert path is not None
    sink = StoreSink(store)
    for event in events_of(whole, "a")[:-1]:
        sink.accept(event)
    sink.flush()
    with locked(path), pytest.raises(StoreError, match="All requests are stored"):
        sink.close()
    assert list(path.parent.glob("*.jsonl")) == []


def test_a_server_that_is_gone_leaves_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = programs()
    if folder is None:
        pytest.skip(NOT_INSTALLED)
    monkeypatch.setattr("weaklink.inspector.capture.spill.user_folder", lambda: tmp_path)
    monkeypatch.setattr("weaklink.storage.live._HELD_BYTES", 0)
    whole = agent("a")
    with ExitStack() as server:
        database = server.enter_context(new_database(server.enter_context(running_server(folder))))
        store = open_store(database)
        sink = StoreSink(store)
        for event in [TraceStarted("a", replace(whole, turns=())), *_turns(whole, 0, 4)]:
            sink.accept(event)
        sink.flush()
        with suppress(sa.exc.SQLAlchemyError):  # dropping the test's database, which a connection uses
            server.pop_all().close()
    for event in [*_turns(whole, 4, 7), TraceEnded("a")]:
        sink.accept(event)
    with pytest.raises(StoreError, match="1 request of 1 session could not be stored and is in"):
        sink.close()
    store.close()
    (rest,) = read_trace_file(_spilled(tmp_path / "w.db"))
    assert [turn.parts for turn in rest.turns] == [turn.parts for turn in whole.turns[4:]]
    assert rest.external_ids == (*whole.external_ids, ExternalId("part", "unsaved"))
