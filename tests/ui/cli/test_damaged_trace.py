"""A damaged trace in the commands: shown as far as it can be read, with a sentence; found by `db check`, repaired."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.storage.test_divided_writes import agent_trace
from tests.ui.conftest import Run
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model.exchange import RecordedExchange
from weaklink.storage.exchanges import packed_exchanges, put_exchanges
from weaklink.storage.store import open_store

_TOLD = "Turn 3: the text of its part `call:0` is damaged"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database of one trace with two exchanges."""
    path = tmp_path / "t.db"
    whole = agent_trace(": ", ": ", length=9)
    exchange = RecordedExchange("POST", "/v1/messages", status=200, request=b"{}", answer=b"{}", ends=(2,), turn=3)
    with open_store(path) as store:
        store.save([(whole, inspect_trace(whole))])
        with store._database.writing() as connection:
            put_exchanges(connection, 1, packed_exchanges([exchange, exchange]))
    return path


def spoil(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(statement).rowcount == 1


def test_every_command_shows_the_rest_of_a_damaged_trace_and_says_what_is_lost(weaklink: Run, database: Path) -> None:
    spoil(database, "UPDATE part SET text = substr(text, 1, length(text) - 4) WHERE turn = 3 AND name = 'call:0'")
    options = ("--db", str(database))
    shown = weaklink("show", "1", *options)
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert _TOLD in " ".join(shown.stdout.decode().split())
    assert "rain rain" in shown.stdout.decode()
    whole = json.loads(weaklink("show", "1", "--json", *options).stdout)
    assert [note.startswith(_TOLD) for note in whole["notes"]] == [True]
    assert len(whole["turns"]) == 6
    for format_ in ("json", "html", "markdown", "trace"):
        done = weaklink("export", "1", "--as", format_, "-o", f"out.{format_}", *options)
        assert done.returncode == 0, done.stderr
        assert "is damaged" in (database.parent / f"out.{format_}").read_text(), format_
    assert json.loads(weaklink("list", "--json", *options).stdout)["id"] == 1
    assert weaklink("search", "rain", *options).returncode == 0
    check = weaklink("db", "check", *options)
    assert check.returncode == 1
    assert f"trace 1: {_TOLD}" in check.stdout.decode()
    repair = weaklink("db", "repair", *options)
    assert repair.returncode == 1
    assert f"not repaired: trace 1: {_TOLD}" in repair.stdout.decode()


def test_a_list_shows_what_it_can_read_of_a_damaged_row_and_a_repair_rebuilds_it(weaklink: Run, database: Path) -> None:
    options = ("--db", str(database))
    before = json.loads(weaklink("list", "--json", *options).stdout)
    spoil(database, "UPDATE trace SET errors = 12, status = 'no such status'")
    listed = json.loads(weaklink("list", "--json", *options).stdout)
    assert (listed["damaged"], listed["name"], listed["turns"]) == (True, "agent", 6)
    assert weaklink("list", *options).stdout.startswith(b"damaged\t1\t")
    repair = weaklink("db", "repair", *options)
    assert (repair.returncode, repair.stderr) == (0, b"")
    assert json.loads(weaklink("list", "--json", *options).stdout) == before
    assert weaklink("db", "check", *options).returncode == 0
    assert weaklink("db", "repair", *options).stdout == b"nothing to repair\n"


def test_a_replay_leaves_a_damaged_exchange_out_and_says_so(weaklink: Run, database: Path) -> None:
    spoil(database, "UPDATE exchange SET body = substr(body, 1, 9) WHERE number = 2")
    done = weaklink("replay", "1", "--db", str(database), "--", "true")
    assert b"trace 1: its HTTP exchange 2 is damaged and left out" in done.stderr
    assert b"Traceback" not in done.stderr
