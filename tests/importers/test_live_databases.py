"""A database that its agent has open is read with what is only in its log, and nothing beside it changes."""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from weaklink.inspector.importers import sqlite_tables
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.model import Trace

CASES = Path(__file__).parents[1] / "cases" / "importers"


def traces(path: Path) -> list[Trace]:
    return [record for record in read_source(path).records if isinstance(record, Trace)]


def state(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    return {
        path.name: (path.stat().st_mtime_ns, path.stat().st_ino, path.read_bytes()) for path in sorted(folder.iterdir())
    }


@pytest.fixture
def database(tmp_path: Path) -> Path:
    (tmp_path / "agent").mkdir()
    return Path(shutil.copy(CASES / "opencode/sessions.db", tmp_path / "agent/opencode.db"))


@pytest.fixture
def agent(database: Path) -> Iterator[sqlite3.Connection]:
    """The agent, in the middle of a session: what it wrote is in the log only."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("UPDATE session SET title = 'only in the log'")
        connection.commit()
        yield connection


def test_what_is_only_in_the_log_is_read_and_nothing_changes(database: Path, agent: sqlite3.Connection) -> None:
    before = state(database.parent)
    assert set(before) == {"opencode.db", "opencode.db-shm", "opencode.db-wal"}
    assert {trace.name for trace in traces(database)} == {"only in the log"}
    assert state(database.parent) == before
    agent.execute("UPDATE session SET title = 'not committed'")
    assert {trace.name for trace in traces(database)} == {"only in the log"}
    agent.commit()
    assert agent.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() == (0, 0, 0)
    assert {trace.name for trace in traces(database)} == {"not committed"}


def test_a_log_without_its_index_as_after_a_crash_is_read(
    database: Path, agent: sqlite3.Connection, tmp_path: Path
) -> None:
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for name in ("opencode.db", "opencode.db-wal"):
        shutil.copy(database.with_name(name), crashed)
    before = state(crashed)
    assert {trace.name for trace in traces(crashed / "opencode.db")} == {"only in the log"}
    assert state(crashed) == before


def test_a_folder_that_cannot_be_written_is_read(database: Path, agent: sqlite3.Connection) -> None:
    agent.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    agent.close()
    names = {path.name for path in database.parent.iterdir()}
    database.chmod(0o400)
    database.parent.chmod(0o500)
    try:
        assert {trace.name for trace in traces(database)} == {"only in the log"}
        assert {path.name for path in database.parent.iterdir()} == names == {"opencode.db"}
    finally:
        database.parent.chmod(0o700)


def test_a_writer_without_a_log_is_not_held_up(database: Path) -> None:
    with closing(sqlite3.connect(database, timeout=0)) as agent:
        agent.execute("PRAGMA journal_mode = DELETE")
        agent.execute("BEGIN EXCLUSIVE")
        agent.execute("UPDATE session SET title = 'not committed'")
        reading = read_source(database).records
        first = next(reading)
        agent.commit()  # a reader of the file itself would make it fail
        assert [getattr(record, "name", "") for record in (first, *reading)].count("not committed") == 0


def test_a_database_that_a_checkpoint_changes_meanwhile_is_copied_again(
    database: Path, agent: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = shutil.copyfile
    copies: list[str] = []

    def copy_and_checkpoint(source: str, target: str) -> None:
        copied(source, target)
        copies.append(str(source))
        if len(copies) == 1:
            agent.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    monkeypatch.setattr(shutil, "copyfile", copy_and_checkpoint)
    assert {trace.name for trace in traces(database)} == {"only in the log"}
    assert copies.count(str(database)) == 2


def test_a_database_that_never_rests_is_reported(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied = shutil.copyfile

    def copy_and_touch(source: str, target: str) -> None:
        copied(source, target)
        database.touch()

    with monkeypatch.context() as during:
        during.setattr(shutil, "copyfile", copy_and_touch)
        (record,) = read_source(database, "opencode").records
    assert isinstance(record, Skipped)
    assert "written faster than it can be copied" in record.reason


def test_no_copy_is_left(database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    assert traces(database)
    assert not list((tmp_path / "temporary").iterdir())


def test_a_giant_is_opened_in_place_read_only(
    database: Path, agent: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_tables, "COPIED_BYTES", 1)
    before = database.with_name("opencode.db-wal").read_bytes()
    assert {trace.name for trace in traces(database)} == {"only in the log"}
    assert database.with_name("opencode.db-wal").read_bytes() == before
