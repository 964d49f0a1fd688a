"""Answers of scripted upstreams in the shapes of the four APIs, whole and streamed; see `tests.capture.upstream`."""

import gzip
import json
import zlib
from collections.abc import Iterable

from tests.capture.upstream import Answer, Framing, Piece
from weaklink.inspector.model import Json

_EVENTS = (("Content-Type", "text/event-stream; charset=utf-8"), ("Cache-Control", "no-cache"))
_JSON = (("Content-Type", "application/json"),)
_MODEL = "hermes-4-70b"


def event(value: Json, name: str = "") -> bytes:
    """One SSE event with a JSON value."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {_compact(value)}\n\n".encode()


def json_answer(value: Json, *, status: int = 200, reason: str = "OK") -> Answer:
    """A JSON body of known length."""
    raw = json.dumps(value, ensure_ascii=False).encode()
    return Answer((raw,), status=status, reason=reason, headers=_JSON, framing=Framing.LENGTH)


def error(status: int, reason: str, message: str = "Scripted.", **fields: Json) -> Answer:
    """An HTTP error with the body of the OpenAI and the Anthropic API alike."""
    body: Json = {"type": "error", "error": {"message": message, "type": "scripted_error", "code": status, **fields}}
    return json_answer(body, status=status, reason=reason)


def chat_chunk(delta: Json, *, finish_reason: str | None = None, **fields: Json) -> bytes:
    """One event of a chat completion stream."""
    choice: Json = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return event({**_chat("chat.completion.chunk"), "choices": [choice], **fields})


def chat_stream(*texts: str | Piece, finish_reason: str = "stop", done: bool = True) -> Answer:
    """A chat completion stream: each text is an event and a chunk of its own, other pieces stand as they are."""
    usage: Json = {"prompt_tokens": 9, "completion_tokens": len(texts), "total_tokens": 9 + len(texts)}
    return sse(
        chat_chunk({"role": "assistant", "content": ""}),
        *(chat_chunk({"content": text}) if isinstance(text, str) else text for text in texts),
        chat_chunk({}, finish_reason=finish_reason),
        event({**_chat("chat.completion.chunk"), "choices": [], "usage": usage}),
        *([b"data: [DONE]\n\n"] if done else []),
    )


def chat_tool_stream(name: str, *arguments: str, call_id: str = "call_1") -> Answer:
    """A chat completion stream with one tool call, its arguments in these pieces (which need not be valid JSON)."""
    first: Json = {"index": 0, "id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
    pieces = [chat_chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}) for piece in arguments]
    return sse(
        chat_chunk({"role": "assistant", "content": None, "tool_calls": [first]}),
        *pieces,
        chat_chunk({}, finish_reason="tool_calls"),
        b"data: [DONE]\n\n",
    )


def chat_answer(content: str | None, *, tool: str = "", arguments: str = "{}") -> Answer:
    """A chat completion that is not streamed, with a tool call where `tool` names one."""
    call: Json = {"id": "call_1", "type": "function", "function": {"name": tool, "arguments": arguments}}
    message: Json = {"role": "assistant", "content": content, **({"tool_calls": [call]} if tool else {})}
    choice: Json = {"index": 0, "message": message, "finish_reason": "tool_calls" if tool else "stop"}
    usage: Json = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}
    return json_answer({**_chat("chat.completion"), "choices": [choice], "usage": usage})


def chat_error_inside_200(*texts: str) -> Answer:
    """A chat completion stream of status 200 that ends in an error."""
    fault: Json = {"error": {"message": "The worker died.", "type": "server_error", "code": 500}}
    return sse(*(chat_chunk({"content": text}) for text in texts), event(fault))


def messages_stream(*texts: str | Piece, tool: str = "", arguments: Iterable[str] = ()) -> Answer:
    """An Anthropic message as a stream: a text block, then a tool use where `tool` names one."""
    message: Json = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4", "content": []}
    usage: Json = {"input_tokens": 9, "output_tokens": 1}
    text: Json = {"type": "text", "text": ""}
    pieces: list[Piece] = [
        _named({"type": "message_start", "message": {**_object(message), "usage": usage}}),
        _named({"type": "content_block_start", "index": 0, "content_block": text}),
        _named({"type": "ping"}),
        *(
            _block_delta(0, {"type": "text_delta", "text": piece}) if isinstance(piece, str) else piece
            for piece in texts
        ),
        _named({"type": "content_block_stop", "index": 0}),
    ]
    if tool:
        use: Json = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": {}}
        pieces.append(_named({"type": "content_block_start", "index": 1, "content_block": use}))
        pieces += [_block_delta(1, {"type": "input_json_delta", "partial_json": argument}) for argument in arguments]
        pieces.append(_named({"type": "content_block_stop", "index": 1}))
    stop: Json = {"stop_reason": "tool_use" if tool else "end_turn", "stop_sequence": None}
    pieces.append(_named({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 7}}))
    return sse(*pieces, _named({"type": "message_stop"}))


def messages_answer(text: str) -> Answer:
    """An Anthropic message that is not streamed."""
    message: Json = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4"}
    ends: Json = {"stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 3}}
    return json_answer({**_object(message), "content": [{"type": "text", "text": text}], **_object(ends)})


def ollama_stream(*texts: str | Piece) -> Answer:
    """An Ollama chat as lines of JSON."""
    lines = [_ollama(text) if isinstance(text, str) else text for text in texts]
    last: Json = {"done": True, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": len(texts)}
    headers = (("Content-Type", "application/x-ndjson"),)
    return Answer((*lines, _ollama("", **_object(last))), headers=headers)


def gemini_stream(*texts: str | Piece) -> Answer:
    """Gemini's `streamGenerateContent?alt=sse`."""
    return sse(*(_gemini(text) if isinstance(text, str) else text for text in texts), _gemini("", "STOP"))


def sse(*pieces: Piece) -> Answer:
    """An event stream of these pieces, each one a chunk of its own."""
    return Answer(pieces, headers=_EVENTS)


def resplit(answer: Answer, *, size: int) -> Answer:
    """The same body in chunks of `size` bytes, so that events, escapes and characters are cut anywhere."""
    body = answer.body
    pieces = tuple(body[index : index + size] for index in range(0, len(body), size))
    return _with(answer, pieces)


def gzipped(answer: Answer) -> Answer:
    """The same stream with gzip, flushed after each piece as a server that streams does it."""
    packer = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)
    pieces: list[Piece] = []
    for piece in answer.pieces:
        flushed = packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH) if isinstance(piece, bytes) else piece
        pieces.append(flushed)
    return _with(answer, (*pieces, packer.flush()), ("Content-Encoding", "gzip"))


def encoded(answer: Answer, name: str, raw: bytes) -> Answer:
    """The same answer with a body that was encoded elsewhere; `name` is its Content-Encoding."""
    return _with(answer, (raw,), ("Content-Encoding", name))


def gzip_of(answer: Answer) -> Answer:
    """The same answer, its body packed with gzip as a whole."""
    return encoded(answer, "gzip", gzip.compress(answer.body, mtime=0))


def _with(answer: Answer, pieces: tuple[Piece, ...], *headers: tuple[str, str]) -> Answer:
    return Answer(pieces, answer.status, answer.reason, (*answer.headers, *headers), answer.framing)


def _chat(kind: str) -> dict[str, Json]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1_700_000_000, "model": _MODEL}


def _named(value: dict[str, Json]) -> bytes:
    return event(value, str(value["type"]))


def _block_delta(index: int, delta: Json) -> bytes:
    return _named({"type": "content_block_delta", "index": index, "delta": delta})


def _ollama(text: str, **fields: Json) -> bytes:
    message: Json = {"role": "assistant", "content": text}
    head: Json = {"model": "hermes3:8b", "created_at": "2025-06-01T12:00:00.5Z", "message": message, "done": False}
    return f"{_compact({**_object(head), **fields})}\n".encode()


def _gemini(text: str, finish_reason: str = "") -> bytes:
    candidate: Json = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}
    ends: Json = {"finishReason": finish_reason} if finish_reason else {}
    return event({"candidates": [{**_object(candidate), **_object(ends)}], "modelVersion": "gemini-2.5-flash"})


def _object(value: Json) -> dict[str, Json]:
    assert isinstance(value, dict)
    return value


def _compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
