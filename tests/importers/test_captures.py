"""Bare captures of every API: where one answer ends and the next begins, and that each is decoded as a stream is."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from weaklink.inspector.apis.captures import CaptureDecoder
from weaklink.inspector.apis.providers import decoder_for
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.model import BodyState, Json, Trace, Turn
from weaklink.inspector.wire.decoder import decode_answer

WIRE = Path(__file__).parents[1] / "cases" / "wire"
PATHS = {
    "completions": "/v1/completions",
    "generate_content": "/v1/models/x:streamGenerateContent",
    "messages": "/v1/messages",
    "ollama.chat": "/api/chat",
    "ollama.generate": "/api/generate",
    "responses": "/v1/responses",
}
ODD = {"ollama.chat/unknown", "ollama.chat/error_line", "generate_content/array_error"}
BODIES = [
    path
    for api in PATHS
    for path in sorted((WIRE / api).glob("*.body"))
    if f"{api}/{path.stem}" not in ODD and path.stat().st_size
]
CASES = Path(__file__).parents[1] / "cases" / "importers" / "api-captures"


def read(path: Path, content: bytes) -> list[Turn]:
    path.write_bytes(content)
    return [turn for one in read_source(path, "api-captures").records if isinstance(one, Trace) for turn in one.turns]


@pytest.mark.parametrize("body", BODIES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_capture_of_one_answer_is_decoded_as_the_stream_is(body: Path, tmp_path: Path) -> None:
    raw = body.read_bytes()
    path = tmp_path / "x"
    expected = decode_answer(decoder_for(PATHS[body.parent.name]), [(None, raw)]).turn
    assert read(path, raw) == [expected]
    assert read_source(path).source == "api-captures"


@pytest.mark.parametrize("api", ["messages", "responses", "completions", "ollama.generate"])
def test_captures_one_behind_the_other_are_as_many_answers(api: str, tmp_path: Path) -> None:
    raw = (WIRE / api / "plain.body").read_bytes()
    expected = decode_answer(decoder_for(PATHS[api]), [(None, raw)]).turn
    assert read(tmp_path / "x", raw * 3) == [expected] * 3


@pytest.mark.parametrize("name", ["messages.sse", "responses.http", "completions.txt"])
def test_where_the_bytes_of_a_capture_are_cut_does_not_matter(name: str) -> None:
    raw = (CASES / name).read_bytes()
    whole = CaptureDecoder()
    expected = whole.feed(raw) + whole.close()
    for size in (1, 7, 64):
        decoder = CaptureDecoder()
        found = [one for at in range(0, len(raw), size) for one in decoder.feed(raw[at : at + size])]
        assert found + decoder.close() == expected


def test_answers_of_several_apis_in_one_stream_are_told_apart(tmp_path: Path) -> None:
    raw = b"".join((WIRE / api / "aborted.body").read_bytes() + b"\n\n" for api in ("messages", "responses"))
    turns = read(tmp_path / "x", raw)
    assert [turn.generation.api for turn in turns if turn.generation] == ["messages", "responses"]
    assert {turn.generation.body for turn in turns if turn.generation} == {BodyState.TRUNCATED}


def test_a_tunnel_and_a_redirect_are_no_answers_and_an_empty_one_at_the_end_is(tmp_path: Path) -> None:
    plain = (WIRE / "messages" / "plain.body").read_bytes()
    heads = b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 307 Moved\r\nlocation: /\r\n\r\n"
    turns = read(
        tmp_path / "x", heads + b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n" + plain + b"HTTP/1.1 502 Bad\r\nA: b\r\n\r\n"
    )
    assert len(turns) == 2
    assert turns[1].generation is not None
    assert turns[1].generation.error is not None
    assert turns[1].generation.error.status == 502


@pytest.mark.parametrize("api", ["", "chat.completions"])
def test_a_body_that_header_lines_follow_at_once_has_its_time_and_its_api(api: str) -> None:
    head = b"HTTP/1.1 200 OK\r\nx: y\r\n\r\n"
    body = b'{"object": "response", "created_at": 1790000000, "output": []}'
    decoder = CaptureDecoder(api)
    first, second = decoder.feed(head + body + head + body) + decoder.close()
    assert first.created == second.created == 1790000000
    for answer in (first, second):
        assert answer.decoded is not None
        assert answer.decoded.turn.generation is not None
        assert answer.decoded.turn.generation.api == "responses"


def test_rows_that_are_no_answers_are_told(tmp_path: Path) -> None:
    rows: list[Json] = [
        {"model": "m", "created_at": "2026-09-21T12:00:00Z", "response": "x", "done": True},
        {"level": "info", "msg": "listening"},
    ]
    path = tmp_path / "x"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    records = list(read_source(path).records)
    assert [isinstance(one, Trace) for one in records] == [False, True]
    assert records[0] == Skipped("line 2", "the row is not an answer of an API that weaklink knows")


def test_a_row_after_the_finish_is_no_answer_of_its_own(tmp_path: Path) -> None:
    finished: Json = {
        "candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "STOP"}],
        "modelVersion": "m",
        "responseId": "r",
    }
    begun: Json = {"candidates": [{"content": {"parts": [{"text": "x"}]}}], "modelVersion": "m", "responseId": "r"}
    path = tmp_path / "x"
    path.write_text("".join(json.dumps(row) + "\n" for row in (begun, finished, {"level": "info"}, {"level": "info"})))
    records = list(read_source(path, "api-captures").records)
    assert [isinstance(one, Trace) for one in records] == [False, False, True]


@pytest.mark.parametrize(
    ("rows", "stream"),
    [
        (['{"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}}]}'], "{}\n\n"),
        (
            [
                '{"choices": [{"index": 0, "delta": {"content": "H"}}]}',
                '{"choices": [{"index": 0, "delta": {"content": "i"}, "finish_reason": "stop"}]}',
            ],
            "data: {}\n\n",
        ),
        (['{"error": {"message": "no", "type": "limit"}}'], "{}\n\n"),
    ],
)
def test_rows_without_an_id_have_the_identity_of_earlier_versions(rows: list[str], stream: str, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("\n".join(rows) + "\n")
    (trace,) = read_source(tmp_path / "rows.jsonl", "chat-completions").records
    assert isinstance(trace, Trace)
    digest = sha256("".join(map(stream.format, rows)).encode()).hexdigest()
    assert digest[:16] in {id_.value for id_ in trace.external_ids}
