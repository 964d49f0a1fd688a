"""What another session of a PostgreSQL server holds keeps nobody for ever: each waits for a while, and says so."""

import time
from collections.abc import Callable, Iterator

import psycopg
import pytest

from tests.storage.samples import inspected, trace
from tests.storage.test_live import WHOLE, events_of
from weaklink.inspector.errors import StoreError
from weaklink.storage.engine import _WRITERS_LOCK, writing
from weaklink.storage.live import StoreSink
from weaklink.storage.store import Store, open_store

_HELD = (
    pytest.param(f"SELECT pg_advisory_lock({_WRITERS_LOCK})", id="another writer"),
    pytest.param("LOCK TABLE trace IN ACCESS EXCLUSIVE MODE", id="table"),
    pytest.param("LOCK TABLE live_piece IN SHARE MODE", id="table of running turns"),
)
_SENTENCE = "the database is locked: another program is writing to it; try again when it has finished"


@pytest.fixture
def store(postgresql_database: str) -> Iterator[Store]:
    """An empty store that waits for a moment only."""
    with open_store(postgresql_database, busy_timeout_s=0.05) as opened:
        yield opened


@pytest.fixture
def other(postgresql_database: str, store: Store) -> Iterator[psycopg.Connection]:
    """Another session of the database; what it locks is free again when it is closed."""
    with psycopg.connect(postgresql_database) as connection:
        yield connection


@pytest.mark.parametrize("statement", _HELD)
def test_a_lock_in_another_session_does_not_hold_the_writer_for_ever(
    store: Store, other: psycopg.Connection, statement: str
) -> None:
    sink = StoreSink(store)
    other.execute(statement.encode())
    for event in events_of(WHOLE)[:-2]:
        sink.accept(event)
    with pytest.raises(StoreError, match=_SENTENCE):
        sink.flush()
    other.close()
    for event in events_of(WHOLE)[-2:]:
        sink.accept(event)
    sink.close()
    assert sink.dropped == 0
    assert store.trace("a") == WHOLE


def test_a_lock_does_not_hold_a_sink_that_reads_turns_back(
    store: Store, other: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weaklink.storage.live._HELD_BYTES", 0)
    sink = StoreSink(store)
    told = events_of(WHOLE)
    for event in told[:-2]:
        sink.accept(event)
    sink.flush()
    other.execute("LOCK TABLE live, turn, part IN ACCESS EXCLUSIVE MODE")
    for event in told[-2:]:
        sink.accept(event)
    with pytest.raises(StoreError, match=_SENTENCE):
        sink.flush()
    other.close()
    sink.close()
    assert store.trace("a") == WHOLE


def test_a_sink_that_is_closed_while_a_lock_is_held_ends_and_says_what_became_of_it(
    store: Store, other: psycopg.Connection
) -> None:
    sink = StoreSink(store)
    other.execute("SELECT pg_advisory_lock(%s)", (_WRITERS_LOCK,))
    for event in events_of(WHOLE):
        sink.accept(event)
    with pytest.raises(StoreError, match=_SENTENCE):
        sink.close()


def test_the_writers_thread_says_that_it_waits_and_goes_on_when_the_lock_is_free(
    store: Store, other: psycopg.Connection
) -> None:
    sink = StoreSink(store)
    other.execute("SELECT pg_advisory_lock(%s)", (_WRITERS_LOCK,))
    for event in events_of(WHOLE):
        sink.accept(event)
    _until(lambda: sink.trouble is not None)
    assert _SENTENCE in str(sink.trouble)
    other.close()
    _until(lambda: not sink._refused)
    assert store.trace("a") == WHOLE
    sink.close()


def test_a_reader_of_a_locked_table_is_told(store: Store, other: psycopg.Connection) -> None:
    store.save(inspected(trace("a")))
    other.execute("LOCK TABLE trace IN ACCESS EXCLUSIVE MODE")
    with pytest.raises(StoreError, match=_SENTENCE):
        store.traces()


def test_a_writer_sees_what_the_one_before_it_wrote_whatever_the_server_is_set_to(
    other: psycopg.Connection, postgresql_database: str
) -> None:
    other.execute(f'ALTER DATABASE "{other.info.dbname}" SET default_transaction_isolation = serializable'.encode())
    other.commit()
    with open_store(postgresql_database) as opened, writing(opened._database.engine) as connection:
        assert connection.exec_driver_sql("SHOW transaction_isolation").scalar_one() == "read committed"


def _until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
