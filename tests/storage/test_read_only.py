"""A store that was opened for reading alone: it reads what others write, and the database refuses it every change."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from msgspec.structs import replace
from sqlalchemy import exc

from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from weaklink.inspector.errors import StoreError
from weaklink.inspector.inspection import inspect_trace
from weaklink.storage.database_file import REVISIONS
from weaklink.storage.maintenance import Retention
from weaklink.storage.schema import NoDatabaseYetError
from weaklink.storage.store import Store, open_store

_WRITES: tuple[Callable[[Store], object], ...] = (
    lambda store: store.save(inspected(trace("b"))),
    lambda store: store.marks.put(1, note="no"),
    lambda store: store.marks.remove(1),
    lambda store: store.delete([1]),
    lambda store: store.maintenance.prune(Retention(before_s=1e12)),
    lambda store: store.maintenance.reinspect(inspect_trace),
    lambda store: store.maintenance.vacuum(),
    lambda store: store.search.index_pending(),
)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("write", _WRITES)
def test_every_change_is_refused_in_a_sentence(database: str, write: Callable[[Store], object]) -> None:
    with open_store(database) as writer:
        writer.save(inspected(trace("a", BAD_CALL)))
    with open_store(database, read_only=True) as reader:
        before = _held(reader)
        with pytest.raises(StoreError, match="opened read-only"):
            write(reader)
        assert _held(reader) == before


def _held(store: Store) -> tuple[object, ...]:
    """What the store holds; the size of a server's database also grows by what the server does for itself."""
    return store.inspected(1), replace(store.maintenance.stats(), size_bytes=0)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("statement", ["DELETE FROM mark", "CREATE TABLE more (a integer)", "DROP TABLE trace"])
def test_the_database_itself_refuses_what_would_get_past_us(database: str, statement: str) -> None:
    open_store(database).close()
    with (
        open_store(database, read_only=True) as reader,
        reader._database.engine.connect() as connection,
        pytest.raises(exc.DBAPIError, match=r"readonly|read-only"),
    ):
        connection.execute(sa.text(statement))


def test_a_reader_sees_what_a_writer_adds_meanwhile(database: str) -> None:
    with open_store(database) as writer, open_store(database, read_only=True) as reader:
        assert reader.traces() == []
        writer.save(inspected(trace("a", GOOD_CALL), trace("b", BAD_CALL)))
        assert [summary.status for summary in reader.traces()] == ["broken", "ok"]
        assert len(reader.traces("status:broken")) == 1
        assert reader.statistics.figures()[0].traces == 2


def test_nothing_is_made_where_nothing_is(tmp_path: Path) -> None:
    with pytest.raises(NoDatabaseYetError, match="there is no database"):
        open_store(tmp_path / "folder" / "weaklink.db", read_only=True)
    assert list(tmp_path.iterdir()) == []
    empty = tmp_path / "empty.db"
    empty.touch()
    with pytest.raises(NoDatabaseYetError, match="the database is empty"):
        open_store(empty, read_only=True)
    assert empty.stat().st_size == 0


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("version", "words"),
    [
        (REVISIONS[0], "older version of weaklink; run `weaklink db upgrade`"),
        ("v0005", "before the first release"),
        ("v9999", "newer version of weaklink; upgrade weaklink"),
    ],
)
def test_another_version_is_refused_and_stays_as_it_is(database: str, version: str, words: str) -> None:
    with open_store(database) as writer:
        _say_version(writer, version)
        with pytest.raises(StoreError, match=words):
            open_store(database, read_only=True)
        with writer._database.engine.connect() as connection:
            assert connection.scalar(sa.text("SELECT version_num FROM weaklink_version")) == version


def test_a_database_of_something_else_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE other (a)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="not a weaklink database"):
        open_store(path, read_only=True)
    assert path.read_bytes() == before


def test_what_a_killed_writer_left_in_its_log_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "weaklink.db"
    script = (
        "import os, sys; from weaklink.storage.store import open_store\n"
        "from tests.storage.samples import inspected, trace\n"
        "store = open_store(sys.argv[1]); store.save(inspected(trace('a'))); os.kill(os.getpid(), 9)"
    )
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", script, str(path)], cwd=root, check=False, timeout=100)
    assert Path(f"{path}-wal").stat().st_size > 0
    with open_store(path, read_only=True) as reader:
        assert len(reader.traces()) == 1


def _say_version(store: Store, version: str) -> None:
    with store._database.engine.begin() as connection:
        connection.execute(sa.text("UPDATE weaklink_version SET version_num = :version"), {"version": version})
