"""Bombs: small files that stand for much. Each is read in a process that may have 512 MiB of data, and said why not.

A record's memory is estimated before it is parsed and a trace's before it is inspected, so none of these meets that
limit; one that did would end in a MemoryError, which the test takes for a failure.
"""

import base64
import gzip
import json
import re
import resource
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import brotli  # type: ignore[import-untyped]  # it has no types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.importers.flow_files import flow, request, response, tnetstring
from tests.ui.conftest import START, environment
from weaklink.inspector import memory
from weaklink.inspector.importers.reading import read_source, trace_memory
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.memory import RECORD_MEMORY, check_json, estimated_memory, json_memory
from weaklink.inspector.model import Trace

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MIB = 1 << 20
LIMIT = 512 * MIB
GOOD = b'{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"yo"}]}\n'
OPEN = b'{"messages":[{"role":"user","content":"x"}],"x":['
ANSWER = b'{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"'
BOMBS: dict[str, Callable[[Path], object]] = {}


def bomb(make: Callable[[Path], object]) -> Callable[[Path], object]:
    BOMBS[make.__name__] = make
    return make


def lines(path: Path, *pieces: bytes) -> None:
    path.write_bytes(GOOD + b"".join(pieces) + b"\n")


def packed(path: Path, pieces: Iterable[bytes]) -> None:
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.write(GOOD)
        stream.writelines(pieces)


@bomb
def gzip_of_one_line(path: Path) -> None:
    packed(path, [ANSWER, *[b"a" * MIB] * 200, b'"}]}\n'])


@bomb
def gzip_of_small_objects(path: Path) -> None:
    packed(path, [OPEN, *[b"{}," * (MIB // 3)] * 60, b"{}]}\n"])


@bomb
def gzip_of_messages(path: Path) -> None:
    packed(path, [b'{"messages":[', *[b'{"role":"user"},' * (MIB // 16)] * 60, b'{"role":"user"}]}\n'])


@bomb
def gzip_in_gzip(path: Path) -> None:
    once = gzip.compress(ANSWER + b"a" * (200 * MIB) + b'"}]}\n', 1)
    path.write_bytes(gzip.compress(once, 1))


@bomb
def zstd_of_one_line(path: Path) -> None:
    path.write_bytes(zstd.compress(GOOD + ANSWER + b"a" * (200 * MIB) + b'"}]}\n'))


@bomb
def archive_member(path: Path) -> None:
    archive(path, b'{"id":1,"epoch":1,"messages":[{"role":"user","content":"' + b"a" * (200 * MIB) + b'"}]}')


@bomb
def archive_member_of_small_objects(path: Path) -> None:
    archive(path, b'{"id":1,"epoch":1,"messages":[],"events":[' + b"{}," * (60 * MIB // 3) + b"{}]}")


def archive_that_refers_to_one_text_often(path: Path) -> None:
    messages = [{"role": "user", "content": "attachment://a"}] * 3_000
    archive(path, json.dumps({"id": 1, "epoch": 1, "messages": messages, "attachments": {"a": "x" * MIB}}).encode())


def archive(path: Path, sample: bytes) -> None:
    header = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made:
        made.writestr("header.json", json.dumps(header))
        made.writestr("samples/1_epoch_1.json", sample)


def brotli_bodies() -> list[bytes]:
    asked = b'{"model":"m","messages":[{"role":"user","content":"'
    return [
        brotli.compress(asked + b"a" * (100 * MIB) + b'"}]}', quality=2),
        brotli.compress(asked + b'x"}],"x":[' + b"{}," * (20 * MIB) + b"{}]}", quality=2),
    ]


@bomb
def brotli_in_har(path: Path) -> None:
    header = [{"name": "content-encoding", "value": "br"}]
    entries = []
    for body in brotli_bodies():
        text = {"text": base64.b64encode(body).decode(), "encoding": "base64"}
        asked = {"method": "POST", "url": "http://x/v1/chat/completions", "headers": header, "postData": text}
        entries.append({"request": asked, "response": {"status": 200, "headers": header, "content": text}})
    path.write_text(json.dumps({"log": {"version": "1.2", "entries": entries}}))


@bomb
def brotli_in_flows(path: Path) -> None:
    header = [[b"content-encoding", b"br"]]
    path.write_bytes(
        b"".join(
            tnetstring(
                flow(request=request(body) | {b"headers": header}, response=response(body) | {b"headers": header})
            )
            for body in brotli_bodies()
        )
    )


def database(path: Path, response_column: str, *statements: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);"
        "CREATE TABLE responses (id TEXT, model TEXT, prompt TEXT, system TEXT, prompt_json TEXT,"
        f" {response_column}, response_json TEXT, conversation_id TEXT, duration_ms INT, datetime_utc TEXT);"
        "CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT);"
        'CREATE TABLE prompt_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);'
        "INSERT INTO conversations VALUES ('c', 'n', 'm');"
    )
    connection.executescript(";".join(statements))
    connection.commit()
    connection.close()


ONE = "INSERT INTO responses (id, model, prompt, conversation_id) VALUES ('r', 'm', 'hi', 'c')"
NUMBERS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "


@bomb
def generated_column(path: Path) -> None:
    database(path, "response TEXT GENERATED ALWAYS AS (hex(zeroblob(400000000)))", ONE)


@bomb
def view_without_an_end(path: Path) -> None:
    columns = "i AS id, 'm' AS model, 'hi' AS prompt, hex(zeroblob(100000000)) AS response, 'c' AS conversation_id"
    database(
        path,
        "response TEXT",
        "DROP TABLE responses",
        "CREATE VIEW responses AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
        f" SELECT {columns} FROM n",
    )


@bomb
def huge_blob(path: Path) -> None:
    database(path, "response TEXT", ONE, "UPDATE responses SET response = zeroblob(80000000)")


@bomb
def one_fragment_a_thousand_times(path: Path) -> None:
    content = "INSERT INTO fragments VALUES (1, 'h', printf('%.*c', 20000000, 'a'))"
    often = f"INSERT INTO prompt_fragments {NUMBERS.format(1_000)} SELECT 'r', 1, i FROM n"
    database(path, "response TEXT", ONE, content, often)


def one_long_name_for_many_responses(path: Path) -> None:
    name = "UPDATE conversations SET name = printf('%.*c', 20000000, 'n')"
    many = f"INSERT INTO responses (id, conversation_id) {NUMBERS.format(1_000)} SELECT i, 'c' FROM n"
    database(path, "response TEXT", name, many)


@bomb
def many_responses(path: Path) -> None:
    many = f"INSERT INTO responses (id, prompt, conversation_id) {NUMBERS.format(300_000)} SELECT i, 'hi', 'c' FROM n"
    database(path, "response TEXT", many)


@bomb
def deep_lists(path: Path) -> None:
    lines(path, b"[" * (40 * MIB))


@bomb
def deep_objects(path: Path) -> None:
    lines(path, b'{"a":' * (8 * MIB))


@bomb
def text_with_one_wide_character(path: Path) -> None:
    lines(path, ANSWER, b"a" * (60 * MIB), "\U0001f600".encode(), b'"}]}')


@bomb
def text_with_one_wide_escape(path: Path) -> None:
    lines(path, ANSWER, b"a" * (60 * MIB), b"\\ud83d\\ude00", b'"}]}')


@bomb
def calls_in_a_text(path: Path) -> None:
    lines(path, ANSWER, b'<tool_call>{\\"name\\":\\"f\\",\\"arguments\\":{}}</tool_call>' * 400_000, b'"}]}')


@bomb
def markers_in_a_text(path: Path) -> None:
    lines(path, ANSWER, b"<tool_call>" * 2_000_000, b'"}]}')


@bomb
def raw_text_of_turns(path: Path) -> None:
    path.write_bytes(b"<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nyo<|im_end|>\n" * 500_000)


@bomb
def raw_text(path: Path) -> None:
    path.write_bytes(b"<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n" + b"a" * (200 * MIB))


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))


# Those that meet the same bound as another one of the same kind of file, which the gate reads.
LIKE_OTHERS = {
    "archive_member_of_small_objects",
    "brotli_in_flows",
    "calls_in_a_text",
    "deep_objects",
    "gzip_in_gzip",
    "gzip_of_messages",
    "huge_blob",
    "many_responses",
    "markers_in_a_text",
    "one_fragment_a_thousand_times",
    "raw_text_of_turns",
    "text_with_one_wide_character",
    "text_with_one_wide_escape",
    "zstd_of_one_line",
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=pytest.mark.slow) if one in LIKE_OTHERS else one for one in sorted(BOMBS)]
)
def test_a_bomb_is_left_out_with_its_reason_in_bounded_memory(tmp_path: Path, name: str) -> None:
    path = tmp_path / "bomb"
    BOMBS[name](path)
    (file,) = imported(tmp_path, "bomb")["files"]
    path.unlink()
    assert file["refused"] or file["skipped"]
    if file["source"] == "openai-messages":
        assert file["traces"] == 1, "the row before it is read"


def imported(folder: Path, name: str) -> dict[str, Any]:
    """The report of an import in limited memory."""
    command = [*START, "import", "--json", "--jobs", "1", "--db", "w.db", name]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        preexec_fn=limited,
        timeout=300,
        check=False,
    )
    assert b"Memory" not in done.stderr, done.stderr[-2_000:]
    report: dict[str, Any] = json.loads(done.stdout)
    assert "memory to read the rest" not in str(report)
    return report


@pytest.mark.slow
def test_a_text_that_is_referred_to_often_is_put_in_its_place_only_up_to_a_bound(tmp_path: Path) -> None:
    archive_that_refers_to_one_text_often(tmp_path / "log.eval")
    (file,) = imported(tmp_path, "log.eval")["files"]
    assert file["traces"] == 1
    assert any("remain references" in warning for warning in file["warnings"])


@pytest.mark.slow
def test_a_long_name_is_not_read_again_for_each_response(tmp_path: Path) -> None:
    one_long_name_for_many_responses(tmp_path / "logs.db")
    assert imported(tmp_path, "logs.db")["totals"]["turns"] == 1_001


NEAR = {
    "text": (ANSWER, b"a", b'"}]}', 50 * MIB),
    "objects": (OPEN, b"{},", b"{}]}", 780_000),
    "lists": (OPEN, b"[],", b"[]]}", 1_700_000),
    "parts": (b'{"messages":[{"role":"user","content":[', b'{"type":"image_url"},', b"{}]}]}", 150_000),
    "turns": (b'{"messages":[', b'{"role":"user","content":"x"},', b'{"role":"assistant","content":"y"}]}', 80_000),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["objects", *(pytest.param(one, marks=pytest.mark.slow) for one in ("text", "lists", "parts", "turns"))]
)
def test_what_is_just_within_the_bound_is_imported_in_that_memory(tmp_path: Path, kind: str) -> None:
    head, piece, tail, times = NEAR[kind]
    lines(tmp_path / "log.jsonl", head, piece * times, tail)
    assert json_memory(head + piece * (2 * times) + tail) > RECORD_MEMORY or kind in {"parts", "turns"}
    assert imported(tmp_path, "log.jsonl")["totals"]["traces"] == 2


def test_the_estimate_is_no_less_than_what_a_value_takes() -> None:
    texts = [
        b"[" + b"[]," * 20_000 + b"[]]",
        b"[" + b"{}," * 20_000 + b"{}]",
        b"[" + b'{"a":1},' * 20_000 + b"{}]",
        b"[" + b"1.5," * 20_000 + b"0]",
        b"[" + b'"ab",' * 20_000 + b'""]',
        b"{" + b",".join(b'"k%d":%d' % (at, at + 1_000) for at in range(20_000)) + b"}",
    ]
    for text in texts:
        assert json_memory(text) >= held(json.loads(text)) + len(text)


def held(value: Any) -> int:
    """The bytes of a value and all within, each counted as often as it is there."""
    inside: Iterable[Any] = ()
    if isinstance(value, list):
        inside = value
    elif isinstance(value, dict):
        inside = [one for pair in value.items() for one in pair]
    return sys.getsizeof(value) + sum(map(held, inside))


@given(st.text(alphabet='ab[{,:"\\ä😀\ud83d'), st.integers(1, 9))
def test_the_estimate_is_the_same_in_pieces_of_any_size(text: str, size: int) -> None:
    for raw in (text.encode("utf-8", "surrogatepass"), json.dumps(text).encode()):
        whole = memory.json_memory(raw)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(memory, "_PIECE", size)
            assert memory.json_memory(raw) == whole


def test_what_stands_in_strings_makes_no_objects() -> None:
    text = json.dumps({"messages": [{"role": "user", "content": '{"a": [1, 2, {"b": ""}]},' * 500_000}]}).encode()
    check_json(text)
    assert json_memory(text) < RECORD_MEMORY


def test_the_traces_of_the_cases_are_far_from_the_bound() -> None:
    cases = Path(__file__).parents[1] / "cases" / "importers" / "sharegpt"
    for path in cases.glob("*.jsonl"):
        for record in read_source(path).records:
            assert isinstance(record, Trace | Skipped)
            assert isinstance(record, Skipped) or trace_memory(record) < RECORD_MEMORY / 100


_PIECES = st.sampled_from(["a", "é", "→", "😀", "\\u", "d8", "Dc", "\\"])


@given(st.lists(_PIECES, max_size=8).map(lambda pieces: "".join(pieces).encode()))
def test_a_row_is_as_wide_as_its_widest_character(raw: bytes) -> None:
    is_wide = "😀".encode() in raw or re.search(rb"\\u[dD][89abAB]", raw) is not None
    width = 4 if is_wide else 1 if raw.isascii() and b"\\u" not in raw else 2
    assert estimated_memory(raw) == estimated_memory(b"") + len(raw) * (1 + width)
