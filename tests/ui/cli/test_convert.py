"""`weaklink data convert`: JSON lines in, JSON lines out, whatever a line holds."""

import gzip
import json
from pathlib import Path

import pytest

from tests.ui.conftest import Run
from weaklink.inspector.dataset.rows import open_row_file
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.importers.source import JsonObject
from weaklink.ui.cli.data.convert import answers

CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'


def lines(*rows: object) -> bytes:
    return "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows).encode()


def test_each_line_is_answered_by_one_line_in_order(weaklink: Run) -> None:
    given = lines({"id": 1, "text": CALL, "label": "x"}, "", {"id": 2, "text": "Hi."})
    done = weaklink("data", "convert", "--from", "hermes", "--to", "phi4", stdin=given)
    assert done.returncode == 0
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"id": 1, "text": 'functools[{"name": "f", "arguments": {"a": 1}}]', "label": "x", "dropped": []},
        {"id": 2, "text": "Hi.", "dropped": []},
    ]
    assert done.stderr == b""


def test_a_bad_line_is_answered_by_its_error_and_the_rest_goes_on(weaklink: Run) -> None:
    given = lines("{nope", {"id": 7, "text": 5}, "[]", {"id": 8, "text": CALL})
    done = weaklink("data", "convert", "--to", "hermes", stdin=given)
    assert done.returncode == 1
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [list(line) for line in told] == [
        ["id", "error"],
        ["id", "error"],
        ["id", "error"],
        ["id", "text", "dropped"],
    ]
    assert [record["id"] for record in told] == [None, 7, None, 8]
    assert done.stderr == b"weaklink: 3 lines could not be converted\n"


def test_a_file_and_the_tools_for_lines_that_name_none(weaklink: Run, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(lines({"messages": [{"role": "user", "content": "Go."}]}))
    (tmp_path / "tools.json").write_text(json.dumps([{"name": "f", "parameters": {}}]))
    done = weaklink("data", "convert", "--to", "hermes", "--tools", "tools.json", "rows.jsonl")
    assert done.returncode == 0
    assert '"name":"f"' in json.loads(done.stdout)["messages"][0]["content"]


def test_a_packed_file_is_unpacked_and_damage_is_an_error(weaklink: Run, tmp_path: Path) -> None:
    packed = gzip.compress(lines({"id": 1, "text": "Hi."}))
    (tmp_path / "rows.jsonl.gz").write_bytes(packed)
    done = weaklink("data", "convert", "--to", "hermes", "rows.jsonl.gz")
    assert (done.returncode, json.loads(done.stdout)) == (0, {"id": 1, "text": "Hi.", "dropped": []})
    (tmp_path / "cut.jsonl.gz").write_bytes(packed[:-9])
    done = weaklink("data", "convert", "--to", "hermes", "cut.jsonl.gz")
    assert done.returncode == 2
    assert done.stderr.startswith(b"weaklink: cannot read cut.jsonl.gz to its end: ")


@pytest.mark.parametrize("name", ["rows.json", "rows.parquet", "folder", "rows.json.gz"])
def test_arrays_tables_and_folders_are_converted_as_lines_are(weaklink: Run, tmp_path: Path, name: str) -> None:
    call = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
    rows: list[JsonObject] = [
        {"id": number, "messages": [{"role": "user", "content": "Go."}, {"role": "assistant", "content": call}]}
        for number in range(3)
    ]
    (tmp_path / "rows.jsonl").write_bytes(lines(*rows))
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "part.jsonl").write_bytes(lines(*rows))
    (tmp_path / "rows.json").write_text(json.dumps(rows, indent=2))
    (tmp_path / "rows.json.gz").write_bytes(gzip.compress(json.dumps(rows).encode()))
    with open_row_file(str(tmp_path / "rows.parquet")) as writer:
        for row in rows:
            writer.write(row)
    expected = weaklink("data", "convert", "--to", "mistral", "rows.jsonl")
    done = weaklink("data", "convert", "--to", "mistral", name)
    assert (done.returncode, done.stdout) == (0, expected.stdout)
    assert done.stdout.count(b"[TOOL_CALLS]") == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--from", "no-such", "--to", "hermes"), b"unknown format `no-such`"),
        (("--from", "hermes", "--to", "hermse"), b"did you mean `hermes`?"),
        (("--from", "hermes"), b"Missing option '--to'"),
        (("--to", "hermes", "no-such.jsonl"), b"cannot read no-such.jsonl"),
    ],
)
def test_what_cannot_run_ends_with_2(weaklink: Run, words: tuple[str, ...], said: bytes) -> None:
    done = weaklink("data", "convert", *words)
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in done.stderr


def test_the_help_shows_an_example(weaklink: Run) -> None:
    done = weaklink("data", "convert", "--help")
    assert b"weaklink data convert --from hermes --to mistral" in done.stdout


def test_long_integers_and_lone_surrogates_come_through() -> None:
    digits = "7" * 5_000
    line = f'{{"id": {digits}, "text": "a\\ud800", "more": [{digits}]}}'.encode()
    told = next(answers(line, find_format("hermes"), find_format("phi4")))
    assert told["text"] == "a\ud800"
    assert str(told["id"]) == digits
