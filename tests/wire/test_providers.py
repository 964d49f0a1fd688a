"""The door to all decoders: what path, request, headers and first bytes choose between."""

import json
from pathlib import Path

import pytest

from tests.wire.transcripts import chat_body, chat_stream
from weaklink.inspector.apis import gemini
from weaklink.inspector.apis.anthropic import messages
from weaklink.inspector.apis.providers import PROVIDERS, Provider, decoder_for, framing_of
from weaklink.inspector.model import BodyState, ErrorPhase, Json
from weaklink.inspector.wire.decoder import Framing, decode_answer

CHAT_BODIES = sorted((Path(__file__).parent.parent / "cases" / "wire" / "openai_chat").glob("*.body"))
WHOLE = b'{"object": "chat.completion", "choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}'


@pytest.mark.parametrize("body", CHAT_BODIES, ids=lambda body: body.stem)
def test_a_chat_stream_is_read_as_its_own_decoder_reads_it(body: Path) -> None:
    raw = body.read_bytes()
    decoder = decoder_for("/v1/chat/completions", {"stream": True}, "text/event-stream; charset=utf-8", status=200)
    assert decode_answer(decoder, [(None, raw)]) == chat_stream(raw, status=200)


@pytest.mark.parametrize(
    ("first", "api"),
    [
        *(({"type": kind}, messages.API) for kind in sorted(messages.STREAM_EVENTS)),
        *(({key: {}}, gemini.API) for key in sorted(gemini.RESPONSE_KEYS)),
    ],
)
def test_the_first_object_tells_the_api_also_of_a_stream_whose_beginning_is_lost(first: Json, api: str) -> None:
    decoder = decoder_for()
    decoder.feed(f"data: {json.dumps(first)}\n\n".encode())
    assert decoder.api == api


@pytest.mark.parametrize("path", ["", "/v1/chat/completions"])
@pytest.mark.parametrize("content_type", ["", "application/json", "text/plain"])
def test_a_whole_body_is_read_as_one(path: str, content_type: str) -> None:
    assert decode_answer(decoder_for(path, None, content_type), [(None, WHOLE)]) == chat_body(WHOLE)
    assert (
        decode_answer(decoder_for(path, None, content_type), [(1.0, WHOLE), (2.0, b"\n")]).turn.parts[0].chunks is None
    )


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.api)
@pytest.mark.parametrize(
    ("raw", "content_type", "message"),
    [
        (b"<html>Bad gateway</html>", "text/html", "<html>Bad gateway</html>"),
        (b"<html>Bad gateway</html>", "text/event-stream", "<html>Bad gateway</html>"),
        (b"upstream connect error", "", "upstream connect error"),
        (b'{"error": {"message": "Slow down."}}', "application/json", "Slow down."),
        (b'{"error": "Slow down."}', "", "Slow down."),
        (b'{"type": "error", "error": {"message": "Slow down."}}', "text/event-stream", "Slow down."),
        (b'data: {"error": {"message": "Slow down."}}\n\n', "text/event-stream", "Slow down."),
    ],
)
def test_an_http_error_is_one_with_every_api(provider: Provider, raw: bytes, content_type: str, message: str) -> None:
    path = _PATHS[provider.api]
    decoded = decode_answer(decoder_for(path, None, content_type, status=502), [(None, raw)])
    generation = decoded.turn.generation
    assert generation is not None
    assert generation.error is not None
    assert (generation.error.phase, generation.error.status) == (ErrorPhase.HTTP, 502)
    assert generation.error.message == message
    assert [fault.rule.code for _, fault in decoded.faults] == ["C505"]


@pytest.mark.parametrize("path", ["", "/v1/messages", "/api/chat", "/v1/models/m:generateContent"])
def test_an_empty_body_is_cut_off(path: str) -> None:
    for raw in (b"", b"\r\n", b"\xef\xbb\xbf"):
        generation = decode_answer(decoder_for(path), [(None, raw)]).turn.generation
        assert generation is not None
        assert generation.body is BodyState.TRUNCATED


@pytest.mark.parametrize(
    ("start", "hints", "framing"),
    [
        (b"data: {}", {}, Framing.EVENTS),
        (b": hello", {}, Framing.EVENTS),
        (b"\xef\xbb\xbf event: x", {}, Framing.EVENTS),
        (b"data: {}", {"content_type": "application/json"}, Framing.EVENTS),
        (b"", {"content_type": "text/event-stream"}, Framing.EVENTS),
        (b"eve", {}, None),
        (b"   ", {}, None),
        (b'{"message": {"content', {"api": "ollama.chat"}, Framing.LINES),
        (b'{"message": {"content', {"api": "ollama.chat", "streams": False}, Framing.WHOLE),
        (b'{"message": {"content', {"api": "ollama.chat", "content_type": "application/json"}, Framing.WHOLE),
        (b'{\n  "message": {"content', {"api": "ollama.chat"}, Framing.WHOLE),
        (b'{"choices": [{"index', {"api": "chat.completions"}, Framing.WHOLE),
        (b'[{"candidates": [{"', {"api": "generate_content"}, Framing.ARRAY),
        (b'[{"error": {"message', {"api": "chat.completions"}, Framing.WHOLE),
        (b"<html><body>Bad gateway", {"status": 502, "content_type": "text/event-stream"}, Framing.WHOLE),
        (b"something else entirely", {}, Framing.EVENTS),
    ],
)
def test_first_bytes_and_headers_tell_the_framing(
    start: bytes, hints: dict[str, Json], framing: Framing | None
) -> None:
    assert framing_of(start, **hints) is framing  # type: ignore[arg-type] # the names of its options


def test_times_of_pieces_that_were_held_are_their_own() -> None:
    chunk = json.dumps({"choices": [{"delta": {"content": "a"}}]}).encode()
    decoder = decoder_for()
    assert decoder.feed(b"data: ", 1.0) == []
    assert decoder.api == ""
    assert [event.at_s for event in decoder.feed(chunk + b"\n\n", 2.0)] == [2.0]  # type: ignore[union-attr] # a text
    assert decoder.api == "chat.completions"


_PATHS = {
    "chat.completions": "/v1/chat/completions",
    "completions": "/v1/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "ollama.chat": "/api/chat",
    "ollama.generate": "/api/generate",
    "generate_content": "/v1beta/models/m:streamGenerateContent",
}
