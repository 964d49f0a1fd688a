"""`join`: a recording and a log of one session become one trace under the first's number, and apart again."""

import json
from pathlib import Path

from tests.chain.test_joining import session
from tests.ui.conftest import Run
from weaklink.inspector.inspection import inspect_trace
from weaklink.storage.store import open_store


def test_two_traces_are_joined_and_undone(weaklink: Run, tmp_path: Path) -> None:
    with open_store(tmp_path / "t.db") as store:
        store.save((trace, inspect_trace(trace)) for trace in (session(), session(city="Bergen")))
        before = store.inspected(1)[0]
    done = weaklink("db", "join", "1", "2", "--db", "t.db")
    assert (done.returncode, done.stderr) == (0, b"")
    said = "trace 1: 2 runs of trace 2, by the id call_first_1; 0 calls without one; 1 difference between layers\n"
    assert done.stdout.decode() == said
    shown = json.loads(weaklink("show", "1", "--json", "--db", "t.db").stdout)
    assert "L805" in [diagnostic["code"] for diagnostic in shown["diagnostics"]]
    assert weaklink("list", "layer:executed", "--columns", "id,layer", "--db", "t.db").stdout == b"1\texecuted\n"
    assert weaklink("db", "join", "1", "--undo", "--db", "t.db").stdout == b"trace 1: `join` was undone\n"
    assert weaklink("db", "join", "1", "--undo", "--db", "t.db").stdout == b"trace 1: nothing was joined to it\n"
    with open_store(tmp_path / "t.db") as store:
        assert store.inspected(1)[0] == before


def test_what_cannot_be_joined_is_said(weaklink: Run, tmp_path: Path) -> None:
    with open_store(tmp_path / "t.db") as store:
        traces = (session(), session(ids=("other_first", "other_second")))
        store.save((trace, inspect_trace(trace)) for trace in traces)
    refused = weaklink("db", "join", "1", "2", "--db", "t.db")
    assert refused.returncode == 2
    assert b"they share no session" in refused.stderr
    for words in (("db", "join", "1"), ("db", "join", "1", "2", "--undo")):
        assert weaklink(*words, "--db", "t.db").returncode == 2
