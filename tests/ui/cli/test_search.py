"""`search`: what is found, where, and how far the text index is."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.ui.conftest import Run
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Part, Role, Trace, Turn
from weaklink.storage.store import open_store

TEXTS = ("The weather in Oslo is cold today.", "Nobody asked for Rome, \x1b[31mnor for Ósló.", "Neither.")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database of three traces that the text index has not read."""
    path = tmp_path / "t.db"
    traces = [Trace((Turn(Role.USER, (Part("text", text),)),), name=f"trace of {text[:7]}") for text in TEXTS]
    with open_store(path) as store:
        store.save((trace, inspect_trace(trace)) for trace in traces)
    return path


def hits(run: Run, *words: str) -> list[dict[str, Any]]:
    done = run("search", "--json", "--db", "t.db", *words)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_people_see_the_words_marked_in_their_place(weaklink: Run, database: Path) -> None:
    done = weaklink("search", "WEATHER", "--db", "t.db")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().splitlines() == [
        "✔ ok  1  trace of The wea",
        "    turn 1, text",
        "    The weather in Oslo is cold today.",
        "        ^^^^^^^",
    ]


def test_json_is_one_object_a_line_with_the_place(weaklink: Run, database: Path) -> None:
    (hit,) = hits(weaklink, "weather")
    assert (hit["id"], hit["status"], hit["break"]) == (1, "ok", None)
    assert (hit["turn"], hit["part"], hit["start"], hit["end"]) == (1, "text", 4, 11)
    assert hit["excerpt"][hit["found_start"] : hit["found_end"]] == "weather"


def test_every_word_must_be_there_and_accents_do_not_matter(weaklink: Run, database: Path) -> None:
    assert [hit["id"] for hit in hits(weaklink, "oslo")] == [2, 1]
    assert [hit["id"] for hit in hits(weaklink, "oslo", "rome")] == [2]
    assert [hit["id"] for hit in hits(weaklink, "oslo", "--limit", "1")] == [2]


def test_a_filter_without_words_has_no_place(weaklink: Run, database: Path) -> None:
    matches = hits(weaklink, "status:ok")
    assert len(matches) == 3
    assert {(hit["turn"], hit["excerpt"], hit["found_start"]) for hit in matches} == {(None, None, None)}


def test_nothing_found_is_said_and_no_failure(weaklink: Run, database: Path) -> None:
    done = weaklink("search", "nowhere", "--db", "t.db")
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr == b"weaklink: no trace contains these words\n"


@pytest.mark.parametrize("word", ["J104", "trailing-comma", "Trailing-Comma"])
def test_the_name_of_a_rule_names_the_filter_for_it(weaklink: Run, database: Path, word: str) -> None:
    done = weaklink("search", word, "--db", "t.db")
    command = f"weaklink list code:J104 --db {database}"
    assert f"`{command}` lists the traces that break it".encode() in done.stderr
    assert b"is a rule" not in weaklink("search", "Oslo", "--db", "t.db").stderr


def test_a_filter_that_cannot_be_read_is_refused(weaklink: Run, database: Path) -> None:
    done = weaklink("search", "colour:red", "--db", "t.db")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"weaklink: filter, character 1: " in done.stderr


def test_while_another_writes_it_says_how_far_the_index_is(weaklink: Run, database: Path) -> None:
    other = sqlite3.connect(database, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        done = weaklink("search", "weather", "--db", "t.db")
    finally:
        other.close()
    said = done.stderr.decode().splitlines()
    assert (done.returncode, done.stdout) == (0, b"")
    assert said[0].startswith("weaklink: the text index could not be written: ")
    assert said[1] == "weaklink: the text index contains 0 of 3 traces; the others are not searched"


@pytest.mark.parametrize("columns", ["40", "60", "100"])
def test_what_is_found_fits_the_screen_and_is_visible(weaklink: Run, database: Path, columns: str) -> None:
    done = weaklink("search", "rome", "--db", "t.db", COLUMNS=columns)
    lines = done.stdout.decode().splitlines()
    assert b"\x1b" not in done.stdout
    assert max(map(len, lines)) <= int(columns)
    text, carets = lines[2:]
    assert text[carets.index("^") : carets.rindex("^") + 1] == "Rome"


def test_a_filter_stands_beside_the_words_or_among_them(weaklink: Run, database: Path) -> None:
    ids = [[hit["id"] for hit in hits(weaklink, *words)] for words in (["o*", "-f", "id:1"], ["o*", "id:1"], ["o*"])]
    assert ids[0] == ids[1] == [1]
    assert len(ids[2]) == 2
