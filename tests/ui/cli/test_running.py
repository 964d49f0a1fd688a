"""A trace that is still being recorded is listed and shown as running, and as cut once its recorder is gone."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from tests.ui.conftest import ROOT, Run
from weaklink.inspector.capture.events import ChunksArrived, TraceEnded, TraceStarted, TurnStarted
from weaklink.inspector.model import Chunk, ExternalId, ParentTrace, ParentWhy, Role
from weaklink.storage.live import StoreSink
from weaklink.storage.store import open_store


def _listed(run: Run, *options: str) -> dict[str, Any]:
    done = run("list", "--db", "t.db", "--json", *options)
    assert (done.returncode, done.stderr) == (0, b"")
    (line,) = done.stdout.splitlines()
    value = json.loads(line)
    assert isinstance(value, dict)
    return value


def _table(run: Run) -> str:
    done = run("list", "--db", "t.db", "--color", "always", COLUMNS="240")
    return re.sub("\x1b\\[[0-9;]*m", "", done.stdout.decode())


def _shown(run: Run, *options: str) -> str:
    done = run("show", "1", "--db", "t.db", *options)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def test_a_trace_is_running_until_it_ends(weaklink: Run, tmp_path: Path) -> None:
    sink = StoreSink(str(tmp_path / "t.db"))
    sink.accept(TraceStarted("k", trace("a", BAD_CALL)))
    sink.accept(TurnStarted("k", 3, Role.ASSISTANT))
    sink.flush()
    rows = _listed(weaklink)
    assert (rows["running"], rows["status"], rows["break"]["code"]) == (True, "broken", "J104")
    assert weaklink("list", "--db", "t.db").stdout.startswith(b"running\t")
    table = _table(weaklink)
    assert "▸ running" in table
    assert "broken" not in table
    assert "▸ running, so far ✖ broken" in _shown(weaklink)
    assert json.loads(_shown(weaklink, "--json"))["running"] is True
    sink.accept(TraceEnded("k"))
    sink.close()
    assert _listed(weaklink)["running"] is False
    assert "✖ broken" in _table(weaklink)
    assert "running" not in _shown(weaklink)
    assert json.loads(_shown(weaklink, "--json"))["running"] is False


def test_a_trace_is_idle_when_nothing_came_for_long_and_runs_again_with_its_next_turn(
    weaklink: Run, tmp_path: Path
) -> None:
    sink = StoreSink(str(tmp_path / "t.db"), idle_after_s=0)
    sink.accept(TraceStarted("k", trace("a", GOOD_CALL)))
    sink.flush()
    rows = _listed(weaklink, "--filter", "status:idle")
    assert (rows["running"], rows["idle"], rows["status"]) == (False, True, "ok")
    assert weaklink("list", "--db", "t.db", "--filter", "status:running").stdout == b""
    assert "▹ idle" in _table(weaklink)
    assert "▹ idle, so far ✔ ok" in _shown(weaklink)
    assert json.loads(_shown(weaklink, "--json"))["idle"] is True
    sink.accept(TurnStarted("k", 3, Role.ASSISTANT))
    sink.flush()
    rows = _listed(weaklink, "--filter", "status:running")
    assert (rows["running"], rows["idle"]) == (True, False)
    assert weaklink("list", "--db", "t.db", "--filter", "status:idle").stdout == b""
    sink.close()
    assert "idle" not in _shown(weaklink)


def test_the_trace_that_one_is_related_to_is_listed_and_shown(weaklink: Run, tmp_path: Path) -> None:
    parent = ParentTrace(ExternalId("recording", "f00"), ParentWhy.SIBLING)
    with open_store(tmp_path / "t.db") as store:
        store.save(inspected(replace(trace("a", GOOD_CALL), parent=parent)))
    said = {"name": "recording", "id": "f00", "why": "sibling"}
    assert _listed(weaklink)["parent"] == said
    assert json.loads(_shown(weaklink, "--json"))["parent"] == said
    assert "  parent   sibling of recording=f00" in _shown(weaklink)


def test_an_open_turn_is_shown_as_far_as_it_came(weaklink: Run, tmp_path: Path) -> None:
    sink = StoreSink(str(tmp_path / "t.db"))
    sink.accept(TraceStarted("k", trace("a", GOOD_CALL)))
    sink.accept(TurnStarted("k", 3, Role.ASSISTANT))
    said = f'<think>I try again.</think>{BAD_CALL}<tool_call>\n{{"name": "get'
    sink.accept(ChunksArrived("k", 3, (Chunk(0, "text", said),)))
    sink.flush()
    rows = _listed(weaklink)
    assert (rows["running"], rows["turns"], rows["open_turns"]) == (True, 2, 1)
    assert " 2+1 " in _table(weaklink)
    shown = _shown(weaklink)
    assert "── 3 assistant" in shown
    assert "I try again." in shown
    assert shown.count("error[") == shown.count("error[J104]") == 1
    assert f"▸ running, {len(said)} characters so far" in shown
    value = json.loads(_shown(weaklink, "--json"))
    assert [turn["turn"] for turn in value["turns"]] == [1, 2]
    (opened,) = value["open_turns"]
    assert (opened["turn"], opened["parts"][0]["text"]) == (3, said)
    assert value["break"] is None
    sink.close()
    assert json.loads(_shown(weaklink, "--json"))["open_turns"] == []
    assert "running" not in _shown(weaklink)


def _killed_recorder(database: Path) -> None:
    """Leave behind what a recorder had written when it was killed."""
    open_store(database).close()
    command = [sys.executable, "-m", "tests.storage.processes", "stream", str(database), "60"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as recorder:
        assert recorder.stdout is not None
        assert recorder.stdout.readline() == b"chunks-0\n"
        recorder.send_signal(signal.SIGKILL)


def test_list_ends_what_a_killed_recorder_left(weaklink: Run, tmp_path: Path) -> None:
    _killed_recorder(tmp_path / "t.db")
    rows = _listed(weaklink, "--filter", "chunks")
    assert (rows["running"], rows["turns"]) == (False, 2)


def test_show_ends_what_a_killed_recorder_left(weaklink: Run, tmp_path: Path) -> None:
    _killed_recorder(tmp_path / "t.db")
    assert "running" not in _shown(weaklink)
    with open_store(tmp_path / "t.db") as store:
        assert not store.summary(1).running


@pytest.mark.slow
def test_a_database_that_another_program_holds_is_listed_all_the_same(weaklink: Run, tmp_path: Path) -> None:
    _killed_recorder(tmp_path / "t.db")
    with open_store(tmp_path / "t.db") as store, store._database.engine.connect() as connection:
        connection.exec_driver_sql("COMMIT")
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        done = weaklink("list", "--db", "t.db", "--json")
    assert (done.returncode, json.loads(done.stdout)["open_turns"]) == (0, 1)
    assert done.stderr.startswith(b"weaklink: the traces of a killed recorder could not be closed")
    assert done.stderr.count(b"\n") == 1
