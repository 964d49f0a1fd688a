"""Captures cut into answers: each answer once and whole, wherever the bytes are cut and whatever lies between."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import texts
from weaklink.inspector.apis.captures import CapturedAnswer, CaptureDecoder
from weaklink.inspector.apis.openai.chat import API as CHAT

CAPTURES = sorted(
    path
    for path in (Path(__file__).parent.parent / "cases" / "importers" / "chat-completions").iterdir()
    if path.suffix in {".sse", ".http", ""}
)


def answers(*pieces: bytes, limit: int = 100_000) -> list[CapturedAnswer]:
    decoder = CaptureDecoder(CHAT, max_answer_bytes=limit)
    captured = [answer for piece in pieces for answer in decoder.feed(piece)]
    return captured + decoder.close()


def chunk(content: str, *, id_: str | None = "a", role: bool = False, finish: str | None = None) -> bytes:
    delta = {"role": "assistant", "content": content} if role else {"content": content}
    members = {"id": id_} if id_ is not None else {}
    return b"data: %s\n\n" % json.dumps({**members, "choices": [{"delta": delta, "finish_reason": finish}]}).encode()


def said(raw: bytes) -> list[str]:
    said_texts = []
    for answer in answers(raw):
        assert answer.decoded is not None
        said_texts.append("".join(part.text for part in answer.decoded.turn.parts if part.name == "text"))
    return said_texts


DONE = b"data: [DONE]\n\n"


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_no_cut_matters(path: Path) -> None:
    raw = path.read_bytes()
    whole = answers(raw)
    assert whole
    assert answers(*(raw[index : index + 1] for index in range(len(raw)))) == whole
    for position in range(0, len(raw) + 1, 3):
        assert answers(raw[:position], raw[position:]) == whole


@pytest.mark.parametrize(
    ("raw", "texts"),
    [
        (b"", []),
        (b"\xef\xbb\xbf\r\n\r\n", []),
        (chunk("a") + DONE + chunk("b") + DONE, ["a", "b"]),
        (chunk("a") + DONE + DONE + b": bye\n\n" + b"event: close\ndata: {}\n\n", ["a"]),
        (chunk("a") + DONE + b'data: {"id": "b", "cho', ["a", ""]),
        (chunk("a") + DONE + b"data: bye\n\n", ["a"]),
        (chunk("a", finish="stop") + chunk("b", id_="b"), ["a", "b"]),
        (chunk("a") + chunk("a") + chunk("b", id_="b", role=True), ["aa", "b"]),
        (chunk("a", role=True) + chunk("b", id_="b", role=True) + chunk("c", id_="c", role=True), ["abc"]),
        (chunk("a") + chunk("b", id_="") + chunk("c", id_="c"), ["abc"]),
        (chunk("a", id_=None, role=True, finish="stop") + chunk("b", id_=None, role=True), ["a", "b"]),
        (chunk("a", id_=None, role=True) + chunk("b", id_=None, role=True), ["ab"]),
        (chunk("a", finish="stop") + b'{"choices": [{"message": {"content": "b"}}]}\n', ["a", "b"]),
        (chunk("a") + b"HTTP/1.1 200 OK\r\nx: y\r\n\r\n" + chunk("b"), ["a", "b"]),
        (chunk("a")[:-9] + b"HTTP/1.1 200 OK\r\nx: y\r\n\r\n" + chunk("b"), ["", "b"]),
        (chunk("HTTP/1.1 200 OK\r\nx: y\r\n\r\n"), ["HTTP/1.1 200 OK\r\nx: y\r\n\r\n"]),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nx: y\r\n\r\n" + chunk("a"), ["a"]),
        (b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/2 200 \r\nx: y\r\n\r\n" + chunk("a"), ["a"]),
        (b"HTTP/1.1 307 Moved\r\nx: y\r\n\r\n<a>here</a>\r\nHTTP/2 200 \r\nx: y\r\n\r\n" + chunk("a"), ["a"]),
        (b"HTTP/2 401 \r\nx: y\r\n\r\nHTTP/2 200 \r\nx: y\r\n\r\n" + chunk("a"), ["", "a"]),
        (b"HTTP/2 200 \r\nx: y\r\n\r\n", [""]),
    ],
)
def test_answers_are_told_apart(raw: bytes, texts: list[str]) -> None:
    assert said(raw) == texts


def test_a_header_line_is_not_kept() -> None:
    for answer in answers(
        b"HTTP/1.1 500 Oh\r\nset-cookie: secret\r\n\r\nNo.\n\nNo.\nHTTP/2 200 \r\nkey: secret\r\n\r\n" + DONE
    ):
        assert answer.decoded is not None
        assert all("secret" not in part.text for part in answer.decoded.turn.parts)


def test_the_status_goes_with_the_answer() -> None:
    (answer,) = answers(b'HTTP/2 429 \r\nx: y\r\n\r\n{"error": {"message": "Slow down."}}')
    assert answer.decoded is not None
    generation = answer.decoded.turn.generation
    assert generation is not None
    assert generation.error is not None
    assert (generation.error.status, generation.error.message) == (429, "Slow down.")


def test_an_answer_beyond_the_bound_is_passed_over_and_the_next_one_read() -> None:
    first, second = answers(chunk("x" * 500) * 9 + DONE + chunk("b") + DONE, limit=2_000)
    assert first.decoded is None
    assert second.decoded is not None
    assert second.decoded.turn.parts[0].text == "b"


_PIECES = st.sampled_from(
    [
        chunk("a"),
        chunk("b", id_="b", role=True),
        chunk("c", id_=None, finish="stop"),
        DONE,
        b"\xef\xbb\xbf",
        b": comment\r\n\r\n",
        b"\n",
        b"\r\n",
        b"data: {",
        b"{\n\n",
        b"}\n",
        b'{"error": "e"}',
        b"HTTP/1.1 502 Bad Gateway\r\nx: y\r\n\r\n",
        b"HTTP/2 200 \r\n",
        b"\xc3",
    ]
)


@given(pieces=st.lists(_PIECES | texts(max_size=3).map(lambda text: text.encode("utf-8", "surrogatepass")), max_size=8))
def test_no_bytes_raise_and_no_cut_matters(pieces: list[bytes]) -> None:
    raw = b"".join(pieces)
    whole = answers(raw)
    assert answers(*pieces) == whole
    assert answers(*(raw[index : index + 1] for index in range(len(raw)))) == whole
    assert [answer.number for answer in whole] == list(range(1, len(whole) + 1))
