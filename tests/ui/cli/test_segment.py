"""`weaklink segment` without a terminal: the JSON of the contract."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.ui.conftest import Run

CALL = '<think>hm</think>\n<tool_call>\n{"name": "f", "arguments": {"a": 1,}}\n</tool_call>'
KEYS = ["id", "format", "spans", "content", "reasoning", "tool_calls", "diagnostics", "servers"]
SPAN_KEYS = {"kind", "label", "start", "end", "inner_start", "inner_end", "closed", "children"}
CALL_KEYS = {"name", "arguments", "raw_arguments", "id", "valid", "recovered", "span", "start", "end"}
DIAGNOSTIC_KEYS = {
    "related",
    "code",
    "name",
    "severity",
    "start",
    "end",
    "line",
    "column",
    "message",
    "hint",
    "fix",
    "path",
    "call",
    "layer",
    "owner",
    "against",
}


def answer(run: Run, stdin: str | bytes, *options: str) -> dict[str, Any]:
    raw = stdin.encode("utf-8", "surrogateescape") if isinstance(stdin, str) else stdin
    done = run("segment", *options, stdin=raw)
    said = b"" if raw or options else b"weaklink: standard input is empty\n"
    assert (done.returncode, done.stderr) == (0, said)
    assert done.stdout.isascii()
    assert done.stdout.count(b"\n") == 1
    value = json.loads(done.stdout)
    assert isinstance(value, dict)
    return value


def test_every_key_is_there_and_says_what_the_contract_says(weaklink: Run) -> None:
    result = answer(weaklink, CALL, "--format", "hermes")
    assert list(result) == KEYS
    assert (result["id"], result["format"], result["content"], result["reasoning"]) == (None, "hermes", "\n", "hm")
    assert all(set(span) == SPAN_KEYS for span in result["spans"])
    assert [span["kind"] for span in result["spans"]] == ["reasoning", "text", "tool_call"]
    (call,) = result["tool_calls"]
    assert set(call) == CALL_KEYS
    assert (call["name"], call["arguments"], call["valid"], call["recovered"]) == ("f", {"a": 1}, False, True)
    assert call["raw_arguments"] == '{"a": 1,}'
    assert CALL[call["start"] : call["end"]].startswith('{"name"')
    (diagnostic,) = result["diagnostics"]
    assert set(diagnostic) == DIAGNOSTIC_KEYS
    assert (diagnostic["code"], diagnostic["line"], diagnostic["column"]) == ("J104", 3, 35)
    assert CALL[diagnostic["start"] : diagnostic["end"]] == ","
    comma = {"start": diagnostic["start"], "end": diagnostic["end"], "text": ""}
    assert diagnostic["fix"] == {"edits": [comma], "safe": True}


def test_nothing_is_said_of_servers_where_nothing_was_written(weaklink: Run) -> None:
    assert answer(weaklink, "")["servers"] == []


def test_a_file_is_read_as_standard_input_is(weaklink: Run, tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text(CALL, encoding="utf-8")
    assert answer(weaklink, b"", "r.txt") == answer(weaklink, CALL, "-") == answer(weaklink, CALL)


@pytest.mark.parametrize(
    "raw",
    [b"", b"\x00\x01\xff\xfe\x80", b"\x00" * 1000, "\ud800é😀".encode("utf-8", "surrogatepass"), b"\r\n\x1b[31m"],
    ids=["empty", "binary", "NUL", "surrogate", "escape"],
)
def test_whatever_the_bytes_the_spans_tile_the_text(weaklink: Run, raw: bytes) -> None:
    text = raw.decode("utf-8", "surrogateescape")
    spans = answer(weaklink, raw)["spans"]
    assert "".join(text[span["start"] : span["end"]] for span in spans) == text


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "an image"),
        (b"PK\x03\x04\x14\0\0\0", "a ZIP archive"),
        (CALL.encode("utf-16"), "text in UTF-16"),
    ],
    ids=["image", "archive", "UTF-16"],
)
def test_what_is_no_text_in_utf_8_is_refused_in_a_sentence(weaklink: Run, raw: bytes, kind: str) -> None:
    done = weaklink("segment", stdin=raw)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == f"weaklink: cannot read -: it is {kind}, no text in UTF-8\n"


def test_numbers_that_json_does_not_hold_become_strings_and_long_ones_keep_their_digits(weaklink: Run) -> None:
    digits = "7" * 5_000
    text = f'<tool_call>{{"name": "f", "arguments": {{"a": 1e999, "b": {digits}}}}}</tool_call>'
    done = weaklink("segment", stdin=text.encode())
    payload = json.loads(done.stdout, parse_int=str, parse_constant=pytest.fail)
    assert payload["tool_calls"][0]["arguments"] == {"a": "Infinity", "b": digits}


def test_deep_nesting_is_answered(weaklink: Run) -> None:
    text = '<tool_call>{"name": "f", "arguments": {"a": ' + "[" * 100_000 + "</tool_call>"
    done = weaklink("segment", stdin=text.encode())
    assert done.returncode == 0
    assert done.stdout.startswith(b'{"id": null')


def test_a_line_of_20_megabytes_is_answered_whole(weaklink: Run) -> None:
    done = weaklink("segment", stdin=b"<think>" + b"x" * 20_000_000)
    assert done.returncode == 0
    assert done.stdout.count(b"x" * 20_000_000) == 1


def test_tools_come_from_a_file(weaklink: Run, tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text('{"tools": [{"name": "f"}]}', encoding="utf-8")
    assert answer(weaklink, CALL, "--tools", "tools.json")["tool_calls"]
    (tmp_path / "tools.json").write_text('["f"]', encoding="utf-8")
    done = weaklink("segment", "--tools", "tools.json", stdin=b"")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"weaklink: tools.json: `tools` must be a list of tool definitions, each an object\n"


@pytest.mark.parametrize("broken", ["{", "[" * 100_000, "9" * 5_000])
def test_a_broken_tool_file_is_refused_in_a_sentence(weaklink: Run, tmp_path: Path, broken: str) -> None:
    (tmp_path / "tools.json").write_text(broken, encoding="utf-8")
    done = weaklink("segment", "--tools", "tools.json", stdin=b"")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"weaklink: tools.json")
    assert done.stderr.count(b"\n") == 1


def test_a_prompt_that_opened_reasoning_counts(weaklink: Run) -> None:
    result = answer(weaklink, "hm</think>x", "--prompt", "<think>\n")
    assert (result["reasoning"], result["content"]) == ("hm", "x")


def test_an_unknown_format_exits_with_2(weaklink: Run) -> None:
    done = weaklink("segment", "--format", "hermse", stdin=b"a")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"weaklink: unknown format `hermse`; did you mean `hermes`?\n"


def test_text_for_people_can_be_forced(weaklink: Run) -> None:
    done = weaklink("segment", "--text", stdin=CALL.encode())
    assert b"error[J104] trailing-comma" in done.stdout
    assert b"\x1b" not in done.stdout


@pytest.mark.parametrize("options", [("--json", "--text"), ("--jsonl", "--text")])
def test_options_that_exclude_each_other(weaklink: Run, options: tuple[str, ...]) -> None:
    assert weaklink("segment", *options).returncode == 2


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("my-model", "No format lists the model `my-model`; the text contains markers of `hermes`."),
        ("mistral-small", "The text contains calls of `hermes`, although the model's name `mistral-small` suggests"),
        ("hermes-4", ""),
    ],
)
def test_a_model_that_does_not_fit_the_text_is_reported(weaklink: Run, model: str, said: str) -> None:
    done = weaklink("segment", "--model", model, stdin=CALL.replace(",}", "}").encode())
    assert done.stderr.decode().startswith(f"weaklink: {said}" if said else "")
    assert bool(done.stderr) == bool(said)
