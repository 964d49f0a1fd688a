"""`diff`: runs from the database and from files, named one by one, and what is wrong with how they are named."""

import json
from pathlib import Path

import pytest

from tests.chain.building import trace_of
from tests.ui.conftest import Run
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.trace_file import write_trace_file
from weaklink.storage.store import open_store

RUNS = tuple(
    trace_of("user: Refund me.", f'call: refund {{"order": {order}}}', f"result: {result}", "say: Done.")
    for order, result in ((17, "fine"), (71, '{"error": "no such order"}'), (17, "fine"))
)
VERDICT = "Runs differ first at step 1: A calls `refund(order=17)`, B `refund(order=71)`; A is ok, B broken at step 1."


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database of three runs, and a trace file of the same."""
    path = tmp_path / "t.db"
    with open_store(path) as store:
        store.save((trace, inspect_trace(trace)) for trace in RUNS[:2])
    with (tmp_path / "runs.jsonl").open("w", encoding="utf-8") as out:
        write_trace_file(out, RUNS)
    return path


def test_two_runs_of_the_database(weaklink: Run, database: Path) -> None:
    done = weaklink("diff", "1", "2", "--db", "t.db", COLUMNS="160")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().splitlines()[0] == VERDICT


@pytest.mark.parametrize(
    ("words", "called"),
    [
        (["runs.jsonl"], ["runs.jsonl#1", "runs.jsonl#2", "runs.jsonl#3"]),
        (["runs.jsonl#1", "runs.jsonl#2"], ["runs.jsonl#1", "runs.jsonl#2"]),
        (["1", "runs.jsonl#3"], ["1", "runs.jsonl#3"]),
    ],
)
def test_runs_are_named_by_id_or_by_file_and_record(
    weaklink: Run, database: Path, words: list[str], called: list[str]
) -> None:
    done = weaklink("diff", *words, "--json", "--db", "t.db")
    assert (done.returncode, done.stderr) == (0, b"")
    assert [run["called"] for run in json.loads(done.stdout)["runs"]] == called


def test_the_steps_that_differ_are_in_the_json(weaklink: Run, database: Path) -> None:
    payload = json.loads(weaklink("diff", "runs.jsonl", "--json").stdout)
    assert payload["divergence"]["what"] == "call"
    assert [cell["sameness"] for cell in payload["rows"][0]["runs"].values()] == ["same", "call", "same"]


def test_colours_are_there_when_asked_for_and_never_against_no_color(weaklink: Run, database: Path) -> None:
    assert b"\x1b[31m" in weaklink("diff", "1", "2", "--db", "t.db", "--color", "always").stdout
    plain = weaklink("diff", "1", "2", "--db", "t.db", NO_COLOR="1", FORCE_COLOR="1").stdout
    assert b"\x1b" not in plain
    assert b"    -   order: 17\n" in plain


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["1"], "a comparison requires two runs"),
        (["runs.jsonl#9", "1"], "runs.jsonl#9: none of its 3 traces is called `9`; #1 to #3 name them all"),
        (["gone.jsonl", "1"], "gone.jsonl: there is no such file"),
        (["1", "77"], "77"),
        (["runs.jsonl"] * 10, "more than 26 runs cannot be compared at once"),
    ],
)
def test_a_wrong_name_is_a_sentence(weaklink: Run, database: Path, words: list[str], sentence: str) -> None:
    done = weaklink("diff", *words, "--db", "t.db")
    assert (done.returncode, done.stdout) == (2, b"")
    assert sentence in done.stderr.decode()
