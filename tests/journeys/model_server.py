"""A server that plays a model, for every API: `python model_server.py` prints its address and serves until it is ended.

The name of the model is the story that it plays (`answered`, `two-calls`, ...). A story has two scenes: what is sent
before the results of tools came back, and after. Texts and arguments are sent in pieces, as models write them.
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

REFUSAL = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
SLOW_DOWN = "Slow down, please."
ANSWER = "It is 3 degrees there, with rain."


class Call(NamedTuple):
    """A call as the model writes it: its arguments are a text, which need not be JSON."""

    id: str
    name: str
    arguments: str


class Scene(NamedTuple):
    """What the model sends: calls, or a text; a cut one is never finished."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    is_cut: bool = False


OSLO = Call("call_oslo", "get_weather", '{"city": "Oslo"}')
ROME = Call("call_rome", "get_weather", '{"city": "Rome"}')
TROMSO = Call("call_tromso", "get_weather", '{"city":  "Tromsø\\u00e5\\t!"\n }')
TRAILING_COMMA = Call("call_bad", "get_weather", '{"city": "Oslo",}')

BODO = Call("call_bodo", "get_weather", '{ "city":"Bodø" }')

CALLS = {
    "answered": ((OSLO,),),
    "two-calls": ((OSLO, ROME),),
    "odd-arguments": ((TROMSO,), (BODO,), (OSLO,)),
    "malformed": ((TRAILING_COMMA,),),
    "unanswered": ((OSLO,),),
    "slow-down": ((OSLO,),),
    "cut": ((OSLO,),),
    "two-agents": ((OSLO,),),
}
"""The calls of each story, request by request; then the model answers."""

_requests: Counter[str] = Counter()
_lock = threading.Lock()


def scene(story: str, results: int) -> Scene:
    """What the model of this story sends when so many results came back."""
    for calls in CALLS[story]:
        if results == 0:
            return Scene(calls=calls)
        results -= len(calls)
    return Scene(text=ANSWER, is_cut=story == "cut")


def results_in(body: Any) -> int:
    """How many results of tools a request has, in any API."""
    if isinstance(body, list):
        return sum(map(results_in, body))
    if not isinstance(body, dict):
        return 0
    is_result = body.get("role") == "tool" or body.get("type") in ("tool_result", "function_call_output")
    return 1 if is_result or "functionResponse" in body else sum(map(results_in, body.values()))


class Handler(BaseHTTPRequestHandler):
    """Answers each request in the API of its path."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Play the story that the model's name says."""
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        body = json.loads(raw)
        path = self.path.partition("?")[0]
        story = body["model"] if "model" in body else path.rpartition("/")[2].partition(":")[0]
        if story == "refused":
            self._error(400, REFUSAL, path)
        elif story == "slow-down" and self._is_odd(path + raw.decode()):
            self._error(429, SLOW_DOWN, path)
        else:
            self._play(path, body, story)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""

    def _play(self, path: str, body: Any, story: str) -> None:
        said = scene(story, results_in(body))
        kind, is_streamed, pieces = _answer(path, body, story, said)
        if is_streamed:
            self._stream(kind, pieces, is_cut=said.is_cut)
        else:
            self._whole(b"".join(pieces), is_cut=said.is_cut)

    def _is_odd(self, request: str) -> bool:
        with _lock:
            _requests[request] += 1
            return _requests[request] % 2 == 1

    def _error(self, status: int, message: str, path: str) -> None:
        error: dict[str, Any] = {"message": message, "type": "invalid_request_error", "code": status}
        body: Any = {"type": "error", "error": error}
        if path.endswith("/api/chat"):
            body = {"error": message}
        if "generatecontent" in path.lower():
            body = {"error": {"code": status, "message": message, "status": "INVALID_ARGUMENT"}}
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        if status == 429:
            self.send_header("Retry-After-Ms", "5")
        self.end_headers()
        self.wfile.write(raw)

    def _whole(self, raw: bytes, *, is_cut: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw[: len(raw) // 2] if is_cut else raw)
        self.close_connection = self.close_connection or is_cut

    def _stream(self, kind: str, pieces: list[bytes], *, is_cut: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in pieces[: len(pieces) // 2 if is_cut else None]:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
            time.sleep(0.005)
        if is_cut:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")


def _answer(path: str, body: Any, story: str, said: Scene) -> tuple[str, bool, list[bytes]]:
    """The content type, whether the answer is a stream, and its pieces."""
    events, is_streamed = "text/event-stream", bool(body.get("stream"))
    if path.endswith("/chat/completions"):
        pieces: Iterable[bytes] = _chat_stream(story, said) if is_streamed else [_dump(_chat(story, said))]
    elif path.endswith("/responses"):
        pieces = _responses_stream(story, said) if is_streamed else [_dump(_responses(story, said))]
    elif path.endswith("/messages"):
        pieces = _messages_stream(story, said) if is_streamed else [_dump(_messages(story, said))]
    elif path.endswith("/api/chat"):
        is_streamed = body.get("stream", True)
        return "application/x-ndjson", is_streamed, list(_ollama(story, said, is_streamed=is_streamed))
    else:
        is_streamed = path.endswith(":streamGenerateContent")
        pieces = _gemini(story, said, is_streamed=is_streamed)
    return events, is_streamed, list(pieces)


def _dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _event(value: Any, *, is_named: bool = False) -> bytes:
    head = f"event: {value['type']}\n".encode() if is_named else b""
    return head + b"data: " + _dump(value) + b"\n\n"


def _pieces(text: str, size: int = 5) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


# ---------------------------------------------------------------- OpenAI, chat


def _chat(story: str, said: Scene) -> Any:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in said.calls
    ]
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None}
    choice = {
        "index": 0,
        "message": message | ({"tool_calls": calls} if calls else {}),
        "finish_reason": "tool_calls" if calls else "stop",
    }
    usage = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}
    return {"id": "c1", "object": "chat.completion", "created": 1, "model": story, "choices": [choice], "usage": usage}


def _chat_stream(story: str, said: Scene) -> Iterator[bytes]:
    def chunk(delta: Any, finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": story}
        return _event({**head, "choices": [choice]})

    yield chunk({"role": "assistant", "content": ""})
    for text in _pieces(said.text):
        yield chunk({"content": text})
    for index, call in enumerate(said.calls):
        function = {"name": call.name, "arguments": ""}
        yield chunk({"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]})
        for text in _pieces(call.arguments):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": text}}]})
    yield chunk({}, "tool_calls" if said.calls else "stop")
    yield b"data: [DONE]\n\n"


# ---------------------------------------------------------------- OpenAI, Responses


def _responses(story: str, said: Scene) -> Any:
    details: Any = {"cached_tokens": 0, "cache_write_tokens": 0}
    usage = {"input_tokens": 9, "input_tokens_details": details, "output_tokens": 4}
    usage |= {"output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 13}
    whole: dict[str, Any] = {"id": "resp_1", "object": "response", "created_at": 1, "model": story}
    whole |= {"status": "completed", "error": None, "output": _items(said), "usage": usage}
    whole |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "incomplete_details": None}
    return whole | {"instructions": None, "metadata": {}, "temperature": 1.0, "top_p": 1.0}


def _items(said: Scene) -> list[Any]:
    if not said.calls:
        text = {"type": "output_text", "text": said.text, "annotations": []}
        return [{"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [text]}]
    return [
        {"type": "function_call", "id": f"fc_{call.id}", "call_id": call.id, "status": "completed"}
        | {"name": call.name, "arguments": call.arguments}
        for call in said.calls
    ]


def _responses_stream(story: str, said: Scene) -> Iterator[bytes]:
    whole = _responses(story, said)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    events: list[Any] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(whole["output"]):
        events += _item_events(index, item)
    events.append({"type": "response.completed", "response": whole})
    for number, event in enumerate(events):
        yield _event({**event, "sequence_number": number}, is_named=True)


def _item_events(index: int, item: Any) -> Iterator[Any]:
    here = {"output_index": index, "item_id": item["id"]}
    if item["type"] == "function_call":
        yield {"type": "response.output_item.added", "output_index": index, "item": {**item, "arguments": ""}}
        for text in _pieces(item["arguments"]):
            yield {"type": "response.function_call_arguments.delta", **here, "delta": text}
        done = {"name": item["name"], "arguments": item["arguments"]}
        yield {"type": "response.function_call_arguments.done", **here, **done}
    else:
        part: Any = item["content"][0]
        here = {**here, "content_index": 0}
        yield {"type": "response.output_item.added", "output_index": index, "item": {**item, "content": []}}
        yield {"type": "response.content_part.added", **here, "part": {**part, "text": ""}}
        for text in _pieces(part["text"]):
            yield {"type": "response.output_text.delta", **here, "delta": text, "logprobs": []}
        yield {"type": "response.output_text.done", **here, "text": part["text"], "logprobs": []}
        yield {"type": "response.content_part.done", **here, "part": part}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


# ---------------------------------------------------------------- Anthropic


def _messages(story: str, said: Scene) -> Any:
    blocks: list[Any] = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)}
        for call in said.calls
    ]
    content = blocks or [{"type": "text", "text": said.text}]
    stop = "tool_use" if blocks else "end_turn"
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": story, "content": content}
    return head | {"stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 4}}


def _messages_stream(story: str, said: Scene) -> Iterator[bytes]:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": story, "content": []}
    ends: Any = {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 1}}
    events: list[Any] = [{"type": "message_start", "message": {**head, **ends}}]
    blocks: list[tuple[Any, str, str]] = [
        ({"type": "tool_use", "id": call.id, "name": call.name, "input": {}}, "input_json_delta", call.arguments)
        for call in said.calls
    ] or [({"type": "text", "text": ""}, "text_delta", said.text)]
    for index, (block, kind, text) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        key = "text" if kind == "text_delta" else "partial_json"
        for piece in _pieces(text):
            events.append({"type": "content_block_delta", "index": index, "delta": {"type": kind, key: piece}})
        events.append({"type": "content_block_stop", "index": index})
    stop = {"stop_reason": "tool_use" if said.calls else "end_turn", "stop_sequence": None}
    events.append({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 7}})
    events.append({"type": "message_stop"})
    for event in events:
        yield _event(event, is_named=True)


# ---------------------------------------------------------------- Ollama and Gemini: arguments are objects


def _ollama(story: str, said: Scene, *, is_streamed: bool) -> Iterator[bytes]:
    head = {"model": story, "created_at": "2026-01-01T00:00:00Z"}
    text, calls = said.text, said.calls
    if story == "malformed" and calls:  # Ollama's parser gives up: the call stays in the text
        text, calls = _in_content(calls[0]), ()
    uses = [{"function": {"name": call.name, "arguments": json.loads(call.arguments)}} for call in calls]
    messages: list[Any] = [{"role": "assistant", "content": "", "tool_calls": uses}] if uses else []
    messages += [{"role": "assistant", "content": piece} for piece in _pieces(text)]
    done = {"done": True, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 4}
    if is_streamed:
        for message in messages:
            yield _dump({**head, "message": message, "done": False}) + b"\n"
        yield _dump({**head, "message": {"role": "assistant", "content": ""}, **done}) + b"\n"
    else:
        message = {"role": "assistant", "content": text} | ({"tool_calls": uses} if uses else {})
        yield _dump({**head, "message": message, **done})


def _in_content(call: Call) -> str:
    return f'<tool_call>\n{{"name": "{call.name}", "arguments": {call.arguments}}}\n</tool_call>'


def _gemini(story: str, said: Scene, *, is_streamed: bool) -> Iterator[bytes]:
    def candidate(parts: list[Any], finish: str = "", message: str = "") -> Any:
        fields: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
        fields |= ({"finishReason": finish} if finish else {}) | ({"finishMessage": message} if message else {})
        return {"candidates": [fields], "modelVersion": story}

    if story == "malformed" and said.calls:  # Gemini itself gives up
        written = "Malformed function call: print(default_api.get_weather(city='Oslo',,))"
        values = [candidate([], "MALFORMED_FUNCTION_CALL", written)]
    elif said.calls:
        uses = [{"functionCall": {"name": call.name, "args": json.loads(call.arguments)}} for call in said.calls]
        values = [candidate(uses, "STOP")]
    elif is_streamed:
        values = [candidate([{"text": piece}]) for piece in _pieces(said.text)] + [candidate([], "STOP")]
    else:
        values = [candidate([{"text": said.text}], "STOP")]
    for value in values:
        yield _event(value) if is_streamed else _dump(value)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)  # noqa: T201  # whoever started it reads the address
    server.serve_forever()
