"""Databases that cannot be opened, read or written say so in a sentence, and lose nothing."""

import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from tests.storage.samples import GOOD_CALL, inspected, trace
from weaklink.inspector.errors import StoreError
from weaklink.inspector.inspection import inspect_trace
from weaklink.storage.database_file import REVISIONS
from weaklink.storage.engine import database_errors, location_of
from weaklink.storage.store import Store, open_store, upgrade_store

ROOT = Path(__file__).parents[2]


def _refused(where: object, words: str, *, create: bool = True) -> None:
    with pytest.raises(StoreError, match=words) as raised:
        open_store(str(where), create=create, busy_timeout_s=0.1).close()
    assert str(where) in str(raised.value)


def test_a_new_file_and_its_folder_are_for_this_user_only(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "folder" / "weaklink.db"
    with open_store(path) as store:
        store.save(inspected(trace("a")))
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert all(stat.S_IMODE(beside.stat().st_mode) == 0o600 for beside in path.parent.iterdir())


def test_where_nothing_is_said_the_environment_and_then_the_data_folder_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("WEAKLINK_DB", raising=False)
    assert location_of(None).path == tmp_path / "data" / "weaklink" / "weaklink.db"
    monkeypatch.setenv("WEAKLINK_DB", str(tmp_path / "mine.db"))
    assert location_of(None).path == tmp_path / "mine.db"
    assert location_of(f"sqlite:///{tmp_path}/url.db").path == tmp_path / "url.db"


def test_sqlite_is_set_up_for_readers_beside_a_writer(tmp_path: Path) -> None:
    with open_store(tmp_path / "weaklink.db") as store, store._database.engine.connect() as connection:
        said = [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "foreign_keys", "synchronous", "busy_timeout")
        ]
    assert said == ["wal", 1, 1, 10_000]


@pytest.mark.parametrize("name", ["per cent%20.db", "what?.db", "a#b.db", "ünï\N{SNOWMAN}.db", "a;b'c.db"])
def test_any_file_name_is_only_a_name(tmp_path: Path, name: str) -> None:
    with open_store(tmp_path / name) as store:
        store.save(inspected(trace("a")))
    assert (tmp_path / name).stat().st_size > 0
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.one_in(2)
def test_many_programs_may_open_a_new_database_at_once(database: str) -> None:
    script = f"from weaklink.storage.store import open_store; open_store({database!r}).close()"
    programs = [subprocess.Popen([sys.executable, "-W", "error", "-c", script], cwd=ROOT) for _ in range(4)]
    assert [program.wait(60) for program in programs] == [0, 0, 0, 0]
    with open_store(database) as store:
        assert store.traces() == []


def test_a_database_that_is_not_there(tmp_path: Path) -> None:
    _refused(tmp_path / "none.db", "there is no database", create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    _refused(tmp_path, "this is a folder")


def test_a_file_in_the_way_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    _refused(tmp_path / "file" / "weaklink.db", "cannot create the database|cannot open the database")


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes, and no database\n" * 100)
    _refused(path, "not a database")
    assert path.read_text().startswith("these are my notes")


def test_a_database_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "logs.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE responses (id)")
    connection.close()
    before = path.read_bytes()
    _refused(path, "not a weaklink database")
    with pytest.raises(StoreError, match="not a weaklink database"):
        upgrade_store(path)
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_database_only_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "weaklink.db"
    path.touch()
    _refused(path, "is empty", create=False)
    open_store(path).close()
    open_store(path, create=False).close()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("version", ["v9999", "unheard"])
def test_a_database_of_a_newer_weaklink(database: str, version: str) -> None:
    with open_store(database) as store, store._database.engine.begin() as connection:
        connection.execute(sa.text("UPDATE weaklink_version SET version_num = :version"), {"version": version})
    with pytest.raises(StoreError, match="created by a newer version of weaklink; upgrade weaklink"):
        open_store(database)
    with pytest.raises(StoreError, match="created by a newer version of weaklink; upgrade weaklink"):
        upgrade_store(database)


def test_a_database_of_an_older_weaklink(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    open_store(database).close()
    monkeypatch.setattr("weaklink.storage.schema.REVISIONS", (*REVISIONS, "v9998"))
    with pytest.raises(StoreError, match="older version of weaklink; run `weaklink db upgrade` with the same `--db`"):
        open_store(database)


def test_upgrading_a_current_database_changes_nothing(database: str) -> None:
    open_store(database).close()
    assert upgrade_store(database) is False


def test_a_locked_database(tmp_path: Path) -> None:
    path = tmp_path / "weaklink.db"
    with open_store(path, busy_timeout_s=0.1) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another program is writing") as raised:
            store.save(inspected(trace("a")))
        assert str(path) in str(raised.value)
        assert store.traces() == []
        other.close()
        assert len(store.save(inspected(trace("a")))) == 1


def _pragma(store: Store, pragma: str) -> None:
    def set_pragma(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute(f"PRAGMA {pragma}")

    store._database.engine.dispose()
    event.listen(store._database.engine, "connect", set_pragma)


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path) -> None:
    with open_store(tmp_path / "weaklink.db") as store:
        store.save(inspected(trace("a", GOOD_CALL)))
        pages = store.maintenance.stats().size_bytes // 4096
        _pragma(store, f"max_page_count = {pages + 2}")
        with pytest.raises(StoreError, match="the disk is full"):
            store.save(inspected(*(trace(f"s{n}", GOOD_CALL) for n in range(300))))
        assert [summary.name for summary in store.traces()] == ["a"]


@pytest.mark.parametrize(("free", "words"), [(0, "the disk is full"), (10**9, "I/O error")])
def test_an_io_error_on_a_full_disk_says_that_it_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, words: str
) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE  # what a reader gets where the log's index cannot be made
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": free}))
    with pytest.raises(StoreError, match=words), database_errors(location_of(tmp_path / "weaklink.db")):
        raise OperationalError("PRAGMA journal_mode", None, error)


def test_a_read_only_database_can_be_read(tmp_path: Path) -> None:
    with open_store(tmp_path / "weaklink.db") as store:
        store.save(inspected(trace("a")))
        store.search.index_pending()
        _pragma(store, "query_only = 1")
        assert len(store.traces()) == 1
        assert len(store.traces("weather")) == 1
        assert store.search.index_pending() == 0
        with pytest.raises(StoreError, match="the database is read-only"):
            store.save(inspected(trace("b")))


def test_a_damaged_database(tmp_path: Path) -> None:
    path = tmp_path / "weaklink.db"
    with open_store(path) as store:
        store.save(inspected(*(trace(f"s{n}", GOOD_CALL * 50) for n in range(50))))
        store.maintenance.vacuum()
    content = path.read_bytes()
    path.write_bytes(content[:8192] + b"\xff" * (len(content) - 8192))
    _refused(path, "damaged|malformed")


def _spoil(store: Store, statement: str) -> None:
    with store._database.engine.begin() as connection:
        connection.execute(sa.text(statement), {"junk": b"\x01junk"})


@pytest.mark.parametrize("column", ["text", "chunks"])
def test_a_damaged_part_is_named(store: Store, column: str) -> None:
    store.save(inspected(trace("a", GOOD_CALL)))
    _spoil(store, f"UPDATE part SET {column} = :junk")
    stored = store.trace(1)
    assert [warning.partition(":")[0] for warning in stored.provenance.warnings] == ["Turn 1", "Turn 2"]
    assert [part.name for turn in stored.turns for part in turn.parts] == ["text", "wire:recording"] * 2


def test_a_damaged_inspection_is_named(store: Store) -> None:
    store.save(inspected(trace("a", GOOD_CALL)))
    _spoil(store, "UPDATE inspection SET body = :junk")
    stored, inspection = store.inspected(1)
    assert ["The stored inspection is damaged" in warning for warning in stored.provenance.warnings] == [True]
    assert inspection == inspect_trace(trace("a", GOOD_CALL))
    assert store.trace(1) == trace("a", GOOD_CALL)


@pytest.mark.parametrize("word", ["7", "no-such-session", "", "99999999999999999999", "²", "1; DROP TABLE trace"])
def test_a_trace_that_is_not_there(store: Store, word: str) -> None:
    with pytest.raises(StoreError, match="no trace `"):
        store.trace(word)


def test_a_beginning_that_is_too_short_to_name_a_trace_is_told_so(store: Store) -> None:
    store.save(inspected(trace("session-1")))
    assert store.trace("sess") == store.trace("session-1")
    with pytest.raises(StoreError, match=r"no trace `ses` \(the beginning of an id needs 4 characters\)"):
        store.trace("ses")


def test_an_external_id_that_two_traces_bear(store: Store) -> None:
    store.save(inspected(trace("same", source="a"), trace("same", source="b"), trace("only")))
    assert store.trace("only").name == "only"
    with pytest.raises(StoreError, match="several traces"):
        store.trace("same")


def test_a_server_that_is_not_there_is_named_without_its_password() -> None:
    where = "postgresql://me:hunter2@127.0.0.1:1/db?password=hunter3"
    with pytest.raises(StoreError, match=r"postgresql://me:\*\*\*@127\.0\.0\.1:1/db: ") as raised:
        open_store(where)
    assert "hunter" not in str(raised.value)


@pytest.mark.parametrize("where", ["mysql://me:hunter2@h/db", "postgresql://me:hunter2@h:port/db", "sqlite://"])
def test_what_is_no_database_url(where: str) -> None:
    with pytest.raises(StoreError) as raised:
        open_store(where)
    assert "hunter" not in str(raised.value)


def test_a_shared_postgresql_database_is_left_alone(postgresql_database: str) -> None:
    engine = sa.create_engine(postgresql_database.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE orders (id INTEGER)")
    engine.dispose()
    with pytest.raises(StoreError, match="not a weaklink database"):
        open_store(postgresql_database)
