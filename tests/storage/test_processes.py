"""Processes that write and read one store at once, and processes that are killed while they write.

WEAKLINK_SOAK_S says how long they run beside each other; the full measure is a minute.
"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import pytest

from tests.storage.processes import streamed_text, trace_named
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import BodyState
from weaklink.storage.engine import location_of
from weaklink.storage.known_files import ImportedFile
from weaklink.storage.store import open_store

ROOT = Path(__file__).parents[2]
_SOAK_S = float(os.environ.get("WEAKLINK_SOAK_S", "2"))
_LONGEST_WAIT_S = 5.0
"""No writer and no reader waits longer than this for the others, with its own work counted in."""


def _start(what: str, database: str, seconds: float, output: IO[str]) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.storage.processes", what, database, str(seconds)]
    return subprocess.Popen(command, cwd=ROOT, stdout=output, text=True)


@pytest.mark.one_in(2)
def test_two_processes_write_while_one_reads(database: str, tmp_path: Path) -> None:
    open_store(database).close()
    outputs = {what: (tmp_path / what).open("w+") for what in ("save", "record", "read")}
    running = [_start(what, database, _SOAK_S, output) for what, output in outputs.items()]
    assert [process.wait(_SOAK_S + 60) for process in running] == [0, 0, 0]
    names: list[str] = []
    for what, output in outputs.items():
        output.seek(0)
        *told, last = output.read().splitlines()
        output.close()
        names += told
        waited = json.loads(last)
        sys.stdout.write(
            f"{what}: {waited['rounds']} rounds, {len(told)} traces, longest {waited['longest_s']:.3f} s\n"
        )
        assert waited["longest_s"] < _LONGEST_WAIT_S
    with open_store(database) as store:
        assert store.maintenance.stats().traces == len(names)
        _are_whole(database, names)
    _is_sound(database)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("what", ["save", "record"])
def test_a_killed_writer_leaves_everything_committed(database: str, tmp_path: Path, what: str) -> None:
    names = _killed(what, database, tmp_path)
    _is_sound(database)
    with open_store(database) as store:
        store.recover()
        assert not any(summary.running for summary in store.traces())
    _are_whole(database, names)


@pytest.mark.one_in(2)
def test_a_killed_recorder_leaves_its_stream_cut_where_it_was_written(database: str, tmp_path: Path) -> None:
    names = _killed("stream", database, tmp_path)
    _is_sound(database)
    with open_store(database) as store:
        assert store.summary("streamed").running
        assert store.recover() == 1
        kept, inspection = store.inspected("streamed")
        assert inspection == inspect_trace(kept)
        assert not store.summary("streamed").running
    last = kept.turns[-1]
    assert last.generation is not None
    assert last.generation.body is BodyState.TRUNCATED
    assert last.parts[0].text.startswith(streamed_text(names))


def _killed(what: str, database: str, tmp_path: Path) -> list[str]:
    """What a process had told to be committed when it was killed."""
    open_store(database).close()
    with (tmp_path / what).open("w+") as output:
        running = _start(what, database, 60, output)
        until = time.monotonic() + 30
        while (tmp_path / what).stat().st_size < 200 and time.monotonic() < until:
            time.sleep(0.005)
        running.send_signal(signal.SIGKILL)
        assert running.wait(10) == -signal.SIGKILL
        output.seek(0)
        names = [line[:-1] for line in output if line.endswith("\n")]
    assert len(names) > 5
    return names


def _are_whole(database: str, names: list[str]) -> None:
    with open_store(database) as store:
        for name in names:
            made = trace_named(name)
            assert store.inspected(name) == (made, inspect_trace(made))


def _is_sound(database: str) -> None:
    path = location_of(database).path
    if path is not None:
        connection = sqlite3.connect(path)
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        connection.close()


class _Interrupt:
    """A value that is interrupted by Ctrl-C while SQLite takes it."""

    def __conform__(self, _protocol: object) -> str:
        raise KeyboardInterrupt


def test_an_interrupt_within_a_statement_leaves_no_lock(tmp_path: Path) -> None:
    with open_store(tmp_path / "weaklink.db", busy_timeout_s=0.05) as store:
        insert = "INSERT INTO imported_file (place, settings, size_bytes, sha256, report) VALUES (?, ?, 1, ?, ?)"
        rows: list[tuple[object, ...]] = [(b"a", b"", b"", b""), (b"b", b"", b"", _Interrupt())]
        try:
            with store.imported_files._database.writing() as connection:
                connection.exec_driver_sql(insert, rows)
        except KeyboardInterrupt:  # while it is handled, its traceback holds the cursor
            store.imported_files.put([(ImportedFile(b"c", b"", 1, None, b"", b"{}"), [])])
        assert set(store.imported_files.of([b"a", b"b", b"c"], b"")) == {b"c"}
