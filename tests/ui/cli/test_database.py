"""`reinspect` and `db`: what keeps a database in order."""

import json
import os
import pty
import sqlite3
import subprocess
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.ui.conftest import START, Run, environment
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Instant, Part, Role, Trace, Turn
from weaklink.inspector.version import __version__
from weaklink.storage.store import open_store

LOST = '<tool_call>\n{"name": "f", "arguments": {"a": 1,}}\n</tool_call>'


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database of an old broken trace, an old sound one and one of today."""
    path = tmp_path / "t.db"
    old, new = datetime(2020, 5, 1, tzinfo=UTC), datetime.now(UTC)
    said = [(Role.ASSISTANT, LOST, old), (Role.USER, "Hello.", old), (Role.USER, "Good-bye.", new)]
    traces = [
        Trace((Turn(role, (Part("text", text),)),), name=text[:5], started=Instant(time.timestamp()))
        for role, text, time in said
    ]
    with open_store(path) as store:
        store.save((trace, inspect_trace(trace, format="hermes")) for trace in traces)
    return path


def ids(path: Path) -> list[int]:
    with open_store(path) as store:
        return sorted(summary.id for summary in store.traces())


def test_reinspect_says_how_many(weaklink: Run, database: Path) -> None:
    done = weaklink("db", "reinspect", "--db", "t.db")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == f"3 traces inspected again by weaklink {__version__}\n"


def test_reinspect_takes_ids_and_each_counts_once(weaklink: Run, database: Path) -> None:
    assert weaklink("db", "reinspect", "2", "2", "--db", "t.db").stdout.startswith(b"1 trace inspected again")
    done = weaklink("db", "reinspect", "77", "--db", "t.db")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"no trace `" in done.stderr


def test_a_file_in_place_of_a_trace_is_named_as_such(weaklink: Run, database: Path) -> None:
    database.with_name("my run.jsonl").write_text("{}\n")
    done = weaklink("show", "my run.jsonl", "--db", "t.db")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"`my run.jsonl` is a file, not a trace: `weaklink check 'my run.jsonl'` inspects it" in done.stderr
    assert b"no trace `" in weaklink("show", "x" * 5_000, "--db", "t.db").stderr


def test_reinspect_keeps_what_was_recorded(weaklink: Run, database: Path) -> None:
    with open_store(database) as store:
        before = store.trace(1)
    weaklink("db", "reinspect", "--db", "t.db")
    with open_store(database) as store:
        assert store.trace(1) == before


def test_stats_have_every_key(weaklink: Run, database: Path) -> None:
    payload = json.loads(weaklink("db", "stats", "--json", "--db", "t.db").stdout)
    assert list(payload) == [
        *("database", "size_bytes", "traces", "by_status", "turns", "characters", "chunks", "tool_calls", "errors"),
        *("tools", "not_indexed", "outdated"),
    ]
    assert (payload["traces"], payload["not_indexed"], payload["outdated"]) == (3, 3, 0)
    assert payload["by_status"] == {"broken": 1, "aborted": 0, "recovered": 0, "unknown": 0, "ok": 2}


def test_stats_for_people_say_what_is_to_be_done(weaklink: Run, database: Path) -> None:
    shown = weaklink("db", "stats", "--db", "t.db").stdout.decode()
    assert "✖ broken 1" in shown
    assert "not indexed 3; the next search reads them" in shown


def test_upgrade_says_that_nothing_was_to_be_done(weaklink: Run, database: Path) -> None:
    done = weaklink("db", "upgrade", "--db", "t.db")
    assert (done.returncode, done.stdout.decode()) == (0, f"{database} already has this version\n")


@pytest.mark.parametrize("command", [("stats",), ("upgrade",), ("vacuum",), ("prune", "--before", "1d", "--yes")])
def test_a_database_that_is_not_there_is_not_made(weaklink: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    done = weaklink("db", *command, "--db", "none.db")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"there is no database" in done.stderr
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize("before", ["2021-01-01", "2020-05-01T00:00:01Z", "1y", "400d"])
def test_prune_deletes_what_is_older(weaklink: Run, database: Path, before: str) -> None:
    done = weaklink("db", "prune", "--before", before, "--yes", "--db", "t.db")
    assert (done.returncode, done.stdout) == (0, b"2 traces deleted\n")
    assert ids(database) == [3]


def test_prune_keeps_the_broken_where_asked_to(weaklink: Run, database: Path) -> None:
    weaklink("db", "prune", "--before", "2021-01-01", "--keep-broken", "--yes", "--db", "t.db")
    assert ids(database) == [1, 3]


def test_prune_refuses_where_nobody_can_be_asked(weaklink: Run, database: Path) -> None:
    done = weaklink("db", "prune", "--before", "2021-01-01", "--db", "t.db")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"--yes" in done.stderr
    assert ids(database) == [1, 2, 3]


@pytest.mark.parametrize("before", ["soon", "30", "2026-13-01", "99999999w", "-1d"])
def test_prune_refuses_what_is_no_time(weaklink: Run, database: Path, before: str) -> None:
    done = weaklink("db", "prune", f"--before={before}", "--yes", "--db", "t.db")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"neither a date" in done.stderr


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("answer", "left"), [(b"y\n", [1, 3]), (b"n\n", [1, 2, 3])])
def test_prune_asks_on_a_terminal(tmp_path: Path, database: Path, answer: bytes, left: list[int]) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, answer)
    words = ("db", "prune", "--before", "2021-01-01", "--keep-broken", "--db", "t.db")
    done = subprocess.run(
        [*START, *words], stdin=theirs, capture_output=True, cwd=tmp_path, env=environment(tmp_path), check=True
    )
    os.close(ours)
    os.close(theirs)
    assert b"Delete 1 trace in " in done.stderr
    assert ids(database) == left


def test_vacuum_says_what_it_gave_back(weaklink: Run, database: Path) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=1)
    big = Trace((Turn(Role.USER, (Part("text", os.urandom(600_000).hex()),)),), started=Instant(long_ago.timestamp()))
    with open_store(database) as store:
        (saved,) = store.save([(big, inspect_trace(big))])
        store.delete([saved.id])
    done = weaklink("db", "vacuum", "--db", "t.db")
    assert done.returncode == 0
    before, _, after = done.stdout.decode().partition(" before, ")
    assert before.endswith(("MiB", "KiB"))
    assert before != after.removesuffix(" now\n")


def test_check_reports_each_problem_and_exits_with_1(weaklink: Run, database: Path) -> None:
    done = weaklink("db", "check", "--db", str(database))
    assert done.returncode == 0
    assert b"checked: no problem found" in done.stdout
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE part SET text = x'3c00000000ff' WHERE trace_id = 1")
    done = weaklink("db", "check", "--db", str(database))
    assert done.returncode == 1
    assert b"trace 1: Turn 1: the text of its part `text` is damaged" in done.stdout
    payload = json.loads(weaklink("db", "check", "--json", "--db", str(database)).stdout)
    assert (len(payload["problems"]), payload["database"]) == (1, str(database))


def test_list_marks_a_damaged_trace_and_show_reads_the_others(weaklink: Run, database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE trace SET errors = errors + 7 WHERE id = 1")
    rows = [json.loads(line) for line in weaklink("list", "--json", "--db", str(database)).stdout.splitlines()]
    assert [row["id"] for row in rows if row["damaged"]] == [1]
    assert b"\ndamaged\t1\t" in weaklink("list", "--db", str(database)).stdout
    assert weaklink("show", "2", "--db", str(database)).returncode == 0


def test_list_says_that_sqlite_calls_the_database_malformed(weaklink: Run, database: Path) -> None:
    raw = bytearray(database.read_bytes())
    for index in range(4096, len(raw), 4096):
        raw[index] = 0xEE  # the kind of each page
    database.write_bytes(raw)
    done = weaklink("list", "--db", str(database))
    assert done.returncode == 2
    assert b"the database is damaged" in done.stderr


def test_reinspect_leaves_a_damaged_trace_and_does_the_rest(weaklink: Run, database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE part SET text = x'3c00000000ff' WHERE trace_id = 1")
    done = weaklink("db", "reinspect", "--db", str(database))
    assert done.returncode == 1
    assert b"trace 1 is damaged: Turn 1: the text of its part `text` is damaged" in done.stderr
    assert b"inspected again by weaklink" in done.stdout


def test_backup_writes_a_copy_and_never_over_a_file(weaklink: Run, database: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    done = weaklink("db", "backup", str(copy), "--db", str(database))
    assert done.returncode == 0
    assert f"{copy}: ".encode() in done.stdout
    assert ids(copy) == ids(database)
    done = weaklink("db", "backup", str(copy), "--db", str(database))
    assert done.returncode == 2
    assert b"the file already exists" in done.stderr


def test_prune_by_size_and_by_share(weaklink: Run, database: Path) -> None:
    none = weaklink("db", "prune", "--yes", "--db", "t.db")
    assert (none.returncode, b"--before DATE_OR_AGE, --max-size SIZE" in none.stderr) == (2, True)
    assert weaklink("db", "prune", "--max-size", "10 parsecs", "--yes", "--db", "t.db").returncode == 2
    assert weaklink("db", "prune", "--max-size", "1TB", "--yes", "--db", "t.db").stdout == b"0 traces deleted\n"
    kept = weaklink("db", "prune", "--before", "0h", "--keep-ok", "1", "--yes", "--db", "t.db")
    assert kept.stdout == b"0 traces deleted\n"
    gone = weaklink("db", "prune", "--max-size", "0KB", "--keep-broken", "--yes", "--db", "t.db")
    assert gone.stdout != b"0 traces deleted\n"
    with open_store(database) as store:
        assert {summary.status.value for summary in store.traces()} == {"broken"}


def test_a_session_is_deleted_by_its_id(weaklink: Run, database: Path) -> None:
    with open_store(database) as store:
        first, *rest = store.traces()
        session = dict(first.external_ids).get("session", str(first.id))
    assert weaklink("db", "delete", "nothing", "--yes", "--db", "t.db").returncode == 2
    assert weaklink("db", "delete", session, "--db", "t.db").returncode == 2
    done = weaklink("db", "delete", session, "--yes", "--db", "t.db")
    assert done.stdout == b"1 trace deleted\n"
    with open_store(database) as store:
        assert [summary.id for summary in store.traces()] == [summary.id for summary in rest]
