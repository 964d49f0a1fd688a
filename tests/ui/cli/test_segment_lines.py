"""`weaklink segment --jsonl`: one answer a line, in order, as soon as the line is there."""

import io
import json
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import texts
from tests.ui.conftest import START, Run, environment
from weaklink.inspector.json_text import write_json
from weaklink.inspector.segmentation import segment
from weaklink.ui.cli.segment import Defaults, answer, answers
from weaklink.ui.views.segment_json import segmentation_object


def asked(request: object) -> dict[str, Any]:
    line = request if isinstance(request, bytes) else json.dumps(request).encode()
    value = json.loads(answer(line, Defaults()))
    assert isinstance(value, dict)
    return value


BAD = [
    (b"{", "not JSON"),
    (b"\xff", "not JSON"),
    (b'{"text": NaN}', "not JSON"),
    (b"[" * 100_000, "nested too deep"),
    ([], "not a JSON object"),
    ("text", "not a JSON object"),
    ({"text": "a", "deltas": ["a"]}, "both `text` and `deltas`"),
    ({"text": "", "deltas": []}, "both `text` and `deltas`"),
    ({}, "neither `text` nor `deltas`"),
    ({"text": None}, "neither `text` nor `deltas`"),
    ({"text": 5}, "`text` must be a string"),
    ({"text": ["a"]}, "`text` must be a string"),
    ({"deltas": "a"}, "`deltas` must be a list of strings"),
    ({"deltas": ["a", 5]}, "`deltas` must be a list of strings"),
    ({"text": "a", "format": "no-such"}, "unknown format `no-such`"),
    ({"text": "a", "format": 5}, "`format` must be a string"),
    ({"text": "a", "model": 5}, "`model` must be a string"),
    ({"text": "a", "prompt": {}}, "`prompt` must be a string"),
    ({"text": "a", "tools": {}}, "`tools` must be a list"),
    ({"text": "a", "tools": ["f"]}, "`tools` must be a list"),
]


@pytest.mark.parametrize(("request_line", "why"), BAD, ids=range(len(BAD)))
def test_a_bad_line_is_answered_by_its_error(request_line: object, why: str) -> None:
    given_id = 7 if isinstance(request_line, dict) else None
    result = asked(request_line | {"id": 7} if isinstance(request_line, dict) else request_line)
    assert list(result) == ["id", "error"]
    assert result["id"] == given_id
    assert why in result["error"]


@pytest.mark.parametrize("id", [0, "x", None, [1, {"a": 2}], 1.5, True, "\ud800"])
def test_the_id_comes_back_as_it_was(id: object) -> None:
    assert asked({"id": id, "text": ""})["id"] == id


def test_a_long_integer_as_id_keeps_its_digits() -> None:
    digits = "7" * 5_000
    assert answer(f'{{"id": {digits}, "text": ""}}'.encode(), Defaults()).startswith(f'{{"id": {digits}, "format"')


def test_a_schema_that_nests_thousands_of_levels_is_told_and_the_text_is_read() -> None:
    levels = 30_000
    schema = '{"type": "object", "properties": {"a":' * levels + "{}" + "}}" * levels
    call = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
    line = f'{{"text": {json.dumps(call)}, "tools": [{{"name": "f", "parameters": {schema}}}]}}'
    payload = json.loads(answer(line.encode(), Defaults(format="hermes")))
    assert payload["tool_calls"][0]["valid"]
    assert [diagnostic["name"] for diagnostic in payload["diagnostics"]] == ["schema-not-checked"]
    assert "is nested deeper" in payload["diagnostics"][0]["message"]
    assert "nested too deeply, and not JSON" in json.loads(answer(line.encode()[:-3], Defaults()))["error"]


def test_missing_keys_take_the_defaults_of_the_command() -> None:
    defaults = Defaults(format="hermes", prompt="<think>\n")
    payload = json.loads(answer(b'{"text": "a</think>b"}', defaults))
    assert (payload["reasoning"], payload["content"]) == ("a", "b")
    assert "error" in json.loads(answer(b'{"text": "a"}', Defaults(format="no-such")))
    assert json.loads(answer(b'{"text": "a", "format": "hermes"}', Defaults(format="no-such")))["format"] == "hermes"


@given(text=texts(), cuts=st.lists(st.integers(0, 60), max_size=5))
def test_deltas_say_what_the_whole_text_says(text: str, cuts: list[int]) -> None:
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    deltas = [text[start:end] for start, end in pairwise(edges)]
    line = write_json({"deltas": deltas}).encode()
    whole = "".join(json.loads(line)["deltas"])  # JSON makes one character of two escaped halves
    assert answer(line, Defaults()) == write_json(segmentation_object(segment(whole))) + "\n"


def test_blank_lines_are_passed_over_and_the_last_needs_no_line_feed() -> None:
    lines = io.BytesIO(b'\xef\xbb\xbf{"id": 1, "text": ""}\r\n\n  \n{"id": 2, "text": ""}')
    assert [json.loads(line)["id"] for line in answers(lines, Defaults())] == [1, 2]


def test_answers_stream_while_the_input_is_still_open(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*START, "segment", "--jsonl"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env=environment(tmp_path),
    ) as command:
        assert command.stdin is not None
        assert command.stdout is not None
        for number in range(3):
            command.stdin.write(b'{"id": %d, "text": "a"}\n' % number if number != 1 else b"junk\n")
            command.stdin.flush()
            payload = json.loads(command.stdout.readline())
            assert payload["id"] == (None if number == 1 else number)
        command.stdin.close()
        assert command.stdout.read() == b""
    assert command.returncode == 0


def test_a_line_of_20_megabytes_is_answered(weaklink: Run) -> None:
    line = b'{"id": 1, "text": "' + b"x" * 20_000_000 + b'"}\n{"id": 2, "text": ""}\n'
    done = weaklink("segment", "--jsonl", stdin=line)
    first, second = done.stdout.splitlines()
    assert (done.returncode, len(json.loads(first)["content"]), json.loads(second)["id"]) == (0, 20_000_000, 2)


def test_a_file_of_requests_is_read_too(weaklink: Run, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(b'{"id": 1, "text": ""}\n')
    assert json.loads(weaklink("segment", "--jsonl", "in.jsonl").stdout)["id"] == 1
