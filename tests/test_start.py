"""The command starts fast: what only some subcommand needs is not loaded before that subcommand runs."""

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest

from weaklink.inspector.version import __version__
from weaklink.storage.store import open_store

HEAVY = {
    *("aiohttp", "alembic", "httpx", "jsonschema", "jsonschema_rs", "lark", "psycopg", "pygments", "ray", "sqlalchemy"),
    *("streamlit", "textual"),
}
# Runs the command as its entry point does, and says on stderr what was loaded in the end.
START = """
import gc, sys
from weaklink.command import main
try:
    main()
finally:
    print("collects:", gc.isenabled(), file=sys.stderr)
    print("loaded:", *sys.modules, file=sys.stderr)
"""
OWN = "weaklink"


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_a_question_loads_no_heavy_library(option: str) -> None:
    loaded = set(_run(option).stderr.rpartition("loaded:")[2].split())
    assert "weaklink.command" in loaded
    assert loaded & HEAVY == set()


def test_a_check_of_files_loads_no_database_and_no_screen(tmp_path: Path) -> None:
    file = tmp_path / "answer.txt"
    file.write_text("<tool_call>\n{}\n</tool_call>", encoding="utf-8")
    loaded = set(_run("check", "--fail-on", "never", str(file)).stderr.rpartition("loaded:")[2].split())
    assert "weaklink.inspector.inspection" in loaded
    assert loaded & {"sqlalchemy", "weaklink.storage", "streamlit", "textual", "aiohttp", "ssl"} == set()


def test_what_compares_rows_is_loaded_for_the_second_row(tmp_path: Path) -> None:
    question, answer = (
        "How high does the water stand in Oslo today?",
        (
            "The water of the fjord is as high as it was on the day that you named, and it is high for this time of "
            "the year: that is what the people of the harbour have to say of it, and they are right. Number "
        ),
    )
    for number in (1, 2):
        rows = [
            {"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": answer + str(row)}]}
            for row in range(number)
        ]
        file = tmp_path / f"{number}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        done = _run("data", "lint", "--jobs", "1", str(file))
        assert ("D715" in done.stdout) is (number == 2), done.stdout
        libraries = {"datasketch", "scipy"} if number == 2 else set()
        assert {"datasketch", "scipy", "py3langid"} & set(done.stderr.rpartition("loaded:")[2].split()) == libraries


def test_an_import_of_nothing_new_loads_no_database_and_prints_what_the_store_would(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    messages = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello!"}]
    file.write_text(json.dumps({"messages": messages}), encoding="utf-8")
    os.utime(file, (1_700_000_000, 1_700_000_000))
    command = ("import", "--db", str(tmp_path / "t.db"), str(file))
    assert "sqlalchemy" in _run(*command).stderr.split()
    again = _run.__wrapped__(*command)
    assert {"sqlalchemy", "weaklink.storage.store"} & set(again.stderr.split()) == set()
    assert "1 trace (1 unchanged)" in again.stdout
    with closing(sqlite3.connect(tmp_path / "t.db")) as writer:
        writer.execute("PRAGMA journal_mode = DELETE")  # which only the store changes back
    by_the_store = _run.__wrapped__(*command)
    assert "sqlalchemy" in by_the_store.stderr.split()
    assert by_the_store.stdout == again.stdout


def test_a_check_of_a_short_conversation_loads_no_model_of_languages(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    messages = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello!"}]
    file.write_text(json.dumps({"messages": messages}), encoding="utf-8")
    assert "py3langid" not in _run("check", str(file)).stderr.split()


_OF_A_FORMAT_OR_SOURCE = re.compile(r"weaklink\.inspector\.(?:formats\.dialects|importers\.[a-z]+)\.")


def _list(folder: Path) -> list[str]:
    database = str(folder / "t.db")
    with open_store(database):
        pass
    return ["list", "--db", database]


def _segment(folder: Path) -> list[str]:
    return ["segment", _answer(folder)]


def _check(folder: Path) -> list[str]:
    return ["check", "--fail-on", "never", _answer(folder)]


def _answer(folder: Path) -> str:
    file = folder / "answer.txt"
    file.write_text("<tool_call>\n{}\n</tool_call>", encoding="utf-8")
    return str(file)


# What each command loads of weaklink itself, its entry point included, besides the formats and sources, which have a
# module each; a number goes up only with what that command truly needs.
@pytest.mark.parametrize(
    ("words", "most"),
    [
        (lambda _: ["--version"], 5),
        (lambda _: ["--help"], 12),
        (lambda _: ["rules", "J104"], 207),
        (_segment, 146),
        (_check, 289),
        (_list, 142),
    ],
)
def test_a_command_loads_few_of_the_modules(words: Callable[[Path], list[str]], most: int, tmp_path: Path) -> None:
    loaded = _run(*words(tmp_path)).stderr.rpartition("loaded:")[2].split()
    own = [name for name in loaded if name.partition(".")[0] == OWN]
    own = [name for name in own if not _OF_A_FORMAT_OR_SOURCE.match(name)]
    assert len(own) <= most, own


def _verify(folder: Path) -> list[str]:
    file = folder / "rows.jsonl"
    messages = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello, what can I do?"}]
    file.write_text(json.dumps({"messages": messages}), encoding="utf-8")
    return ["data", "verify", str(file)]


@pytest.mark.parametrize("words", [_segment, _verify])  # a command of its own, and one of a group
def test_a_command_runs_with_the_garbage_collector_that_its_start_did_without(
    words: Callable[[Path], list[str]], tmp_path: Path
) -> None:
    assert "collects: True" in _run(*words(tmp_path)).stderr


def test_what_reads_no_file_loads_no_importer(tmp_path: Path) -> None:
    for words in (["rules", "J104"], _segment(tmp_path)):
        assert "weaklink.inspector.importers.registry" not in _run(*words).stderr.split()


def test_a_list_of_a_current_file_loads_no_upgrade_no_inspection_no_grammar_and_no_postgresql(tmp_path: Path) -> None:
    loaded = _run(*_list(tmp_path)).stderr.rpartition("loaded:")[2].split()
    assert "weaklink.storage.listing" in loaded
    assert not {
        "weaklink.inspector.inspection",
        "weaklink.inspector.segmentation",
        "weaklink.inspector.chain.analysis",
    } & set(loaded)
    assert not {"alembic", "lark", "psycopg", "sqlalchemy.dialects.postgresql"} & set(loaded)
    assert not [name for name in loaded if name.startswith("weaklink.inspector.formats.dialects.")]


def test_a_named_format_is_imported_alone() -> None:
    script = (
        "import sys; from weaklink.inspector.formats.registry import find_format; find_format('Hermes');"
        "print(*(name for name in sys.modules if name.startswith('weaklink.inspector.formats.dialects.')))"
    )
    loaded = subprocess.check_output([sys.executable, "-c", script], text=True).split()
    assert loaded == ["weaklink.inspector.formats.dialects.hermes"]


def test_version_is_the_one_in_the_source() -> None:
    assert __version__ in _run("--version").stdout


def test_the_core_loads_neither_store_nor_face() -> None:
    script = "import sys, weaklink.inspector; print(*sys.modules)"
    loaded = set(subprocess.check_output([sys.executable, "-c", script], text=True).split())
    assert loaded & {*HEAVY, "click", "rich", "weaklink.storage", "weaklink.ui"} == set()


@cache
def _run(*words: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, "-c", START, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done
