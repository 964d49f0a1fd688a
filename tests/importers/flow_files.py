"""Flow files for tests: values written as mitmproxy writes them, and the flows that a proxy sees."""

import itertools
import json

from weaklink.inspector.model import Json

PORT = 8080


def tnetstring(value: object) -> bytes:
    """A value as a tnetstring."""
    payload, kind = _payload(value)
    return b"%d:%s%s" % (len(payload), payload, kind)


def _payload(value: object) -> tuple[bytes, bytes]:
    match value:
        case None:
            return b"", b"~"
        case bool():
            return str(value).lower().encode(), b"!"
        case int():
            return str(value).encode(), b"#"
        case float():
            return repr(value).encode(), b"^"
        case bytes():
            return value, b","
        case str():
            return value.encode(), b";"
        case dict():
            return b"".join(map(tnetstring, itertools.chain.from_iterable(value.items()))), b"}"
        case _:
            assert isinstance(value, list)
            return b"".join(map(tnetstring, value)), b"]"


def flow(**members: object) -> dict[str, object]:
    """A flow of today's format, an exchange with nothing in it where `members` do not say more."""
    return {
        "websocket": None,
        "response": None,
        "request": request(),
        "metadata": {},
        "comment": "",
        "server_conn": {"address": ["127.0.0.1", PORT], "timestamp_tcp_setup": 1_790_000_000.001},
        "client_conn": {"peername": ["10.0.0.7", 50_001]},
        "error": None,
        "id": "4a1b",
        "type": "http",
        "version": 21,
        **members,
    }


def request(body: bytes | None = b"", *, path: str = "/v1/chat/completions", at_s: float = 0.0) -> dict[str, object]:
    """A request to a server on this machine; one without a body only asks."""
    return {
        "path": path.encode(),
        "authority": b"",
        "scheme": b"http",
        "method": b"GET" if body == b"" else b"POST",
        "port": PORT,
        "host": "127.0.0.1",
        "timestamp_end": 1_790_000_000.5 + at_s,
        "timestamp_start": 1_790_000_000.0 + at_s,
        "trailers": None,
        "content": body,
        "headers": [[b"content-type", b"application/json"], [b"authorization", b"Bearer sk-test-0000"]],
        "http_version": b"HTTP/1.1",
    }


def response(
    body: bytes | None, *, kind: str = "text/event-stream", status: int = 200, at_s: float = 0.0, encoding: str = ""
) -> dict[str, object]:
    """An answer, begun 0.6 and ended 0.9 seconds after its request."""
    headers = [[b"content-type", kind.encode()]]
    return {
        "reason": b"OK",
        "status_code": status,
        "timestamp_end": 1_790_000_000.9 + at_s,
        "timestamp_start": 1_790_000_000.6 + at_s,
        "trailers": None,
        "content": body,
        "headers": [*headers, [b"content-encoding", encoding.encode()]] if encoding else headers,
        "http_version": b"HTTP/1.1",
    }


def asked(*messages: Json, **beside: Json) -> bytes:
    """The body of a request for a chat completion."""
    body: Json = {"model": "demo", "stream": True, "messages": list(messages), **beside}
    return json.dumps(body).encode()


def streamed(*deltas: Json, finish: str = "stop", id: str = "chatcmpl-1") -> bytes:
    """The body of an answer in these pieces."""
    choices: list[Json] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    chunks = [
        {"id": id, "object": "chat.completion.chunk", "created": 1_790_000_000, "model": "demo-1", "choices": [choice]}
        for choice in choices
    ]
    return b"".join(b"data: %s\n\n" % json.dumps(chunk).encode() for chunk in chunks) + b"data: [DONE]\n\n"
