"""A server on loopback that plays a model for coding agents, over the APIs of OpenAI, Anthropic or Gemini.

It knows what it sent. The name of the model is the story. Agents name their shell tool and its parameters differently,
so the call of a command is written for the tool that the request offers.
"""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

SHELLS = (
    *("bash", "run_shell_command", "Bash", "run_commands", "execute_command", "shell", "exec", "exec_command"),
    "terminal",
)
ANSWER, TITLE = "That is done.", "A title"
EDIT = """The offset is one hour.

tides.py
```python
<<<<<<< SEARCH
OFFSET_HOURS = 3
=======
OFFSET_HOURS = 1
>>>>>>> REPLACE
```
"""
"""The answer of the story `edit`, as an agent without structured calls reads it."""

USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
UNKNOWN_TOOL = "no_such_tool"
MISSING_FILE = "harbour-missing.txt"


class SentCall(NamedTuple):
    """A call as the server sent it; `arguments` is the text."""

    id: str
    name: str
    arguments: str


class Served(NamedTuple):
    """What a server sent: its calls in order, and the event that is set when it waits to be aborted."""

    url: str
    calls: list[SentCall]
    is_waiting: threading.Event


def _command(tool: dict[str, Any], command: str) -> str:
    parameters = tool["parameters"].get("properties", {})
    name = next(name for name in ("commands", "cmd", "command") if name in parameters)
    arguments: dict[str, Any] = {name: [command] if name == "commands" else command}
    arguments |= {"description": "Look."} if "description" in parameters else {}
    arguments |= {"security_risk": "LOW"} if "security_risk" in parameters else {}
    arguments |= {"is_background": False} if "is_background" in parameters else {}
    return json.dumps(arguments)


def _calls(story: str, tool: dict[str, Any]) -> list[SentCall]:
    name = tool["name"]
    if story == "two-calls":
        return [SentCall(f"call_{word}", name, _command(tool, f"echo {word}")) for word in ("one", "two")]
    if story == "unknown-tool":
        return [SentCall("call_unknown", UNKNOWN_TOOL, '{"x": 1}')]
    if story == "malformed":
        return [SentCall("call_bad", name, _command(tool, "echo broken")[:-1] + ",}")]
    if story == "cut-arguments":
        return [SentCall("call_cut", name, _command(tool, "echo broken")[:-8])]
    return [SentCall("call_failing", name, _command(tool, f"cat {MISSING_FILE}"))]


def _deltas(text: str, calls: Sequence[SentCall]) -> Iterator[dict[str, Any]]:
    """A message in pieces; the arguments of each call in two."""
    yield {"role": "assistant", "content": ""}
    if text:
        yield {"content": text}
    for index, call in enumerate(calls):
        function = {"name": call.name, "arguments": ""}
        yield {"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]}
        for piece in (call.arguments[:9], call.arguments[9:]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _message(text: str, calls: Sequence[SentCall]) -> dict[str, Any]:
    written = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in calls
    ]
    return {"role": "assistant", "content": text, **({"tool_calls": written} if calls else {})}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.sent: list[SentCall] = []
        self.is_waiting, self.is_closed = threading.Event(), threading.Event()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        """Some agents list the models first."""
        self._reply({"object": "list", "data": []})

    def do_POST(self) -> None:
        """Play the story that the model's name says; a request without a shell tool is one for a title."""
        request = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        path = self.path.partition("?")[0]
        if ":" in path:
            self._gemini(request, *path.rpartition("/")[2].split(":"))
            return
        if path.endswith(("/messages", "/count_tokens")):
            self._anthropic(request, is_count=path.endswith("/count_tokens"))
            return
        if path.endswith("/responses"):
            self._responses(request)
            return
        tools = {tool["function"]["name"]: tool["function"] for tool in request.get("tools") or ()}
        shell = next((tools[name] for name in SHELLS if name in tools), None)
        story = str(request.get("model", ""))
        has_results = any(message.get("role") == "tool" for message in request.get("messages", ()))
        calls = [] if shell is None or has_results else _calls(story, shell)
        self.server.sent.extend(calls)
        text = EDIT if story == "edit" else TITLE if shell is None else ANSWER if has_results else ""
        head = {"id": "chatcmpl-1", "created": 1_795_000_000, "model": story}
        if request.get("stream"):
            self._stream(head, text, calls, waits=has_results and story == "abort")
        else:
            choice = {"index": 0, "message": _message(text, calls), "finish_reason": _end(calls)}
            self._reply(head | {"object": "chat.completion", "choices": [choice], "usage": USAGE})

    def _gemini(self, request: dict[str, Any], story: str, method: str) -> None:
        """The same in Gemini's API, whose calls have parsed arguments."""
        declared = [one for tool in request.get("tools") or () for one in tool.get("functionDeclarations") or ()]
        tools = {
            one["name"]: {**one, "parameters": one.get("parametersJsonSchema") or one.get("parameters") or {}}
            for one in declared
        }
        shell = next((tools[name] for name in SHELLS if name in tools), None)
        parts = [part for content in request.get("contents", ()) for part in content.get("parts", ())]
        has_results = any("functionResponse" in part for part in parts)
        calls = [] if shell is None or has_results else _calls(story, shell)
        self.server.sent.extend(calls)
        answer: list[dict[str, Any]] = [
            {"functionCall": {"id": call.id, "name": call.name, "args": json.loads(call.arguments)}} for call in calls
        ]
        content = {"role": "model", "parts": answer or [{"text": TITLE if shell is None else ANSWER}]}
        counts = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}
        candidate = {"content": content, "finishReason": "STOP", "index": 0}
        body = {"candidates": [candidate], "usageMetadata": counts, "modelVersion": story, "responseId": "r1"}
        if method == "countTokens":
            self._reply({"totalTokens": 100})
        elif method == "streamGenerateContent":
            self._begin_stream()
            if has_results and story == "abort":
                self._event(body | {"candidates": [{"content": content, "index": 0}]})
                self._wait_for_the_end()
                return
            self._event(body)
        else:
            self._reply(body)

    def _anthropic(self, request: dict[str, Any], *, is_count: bool) -> None:
        """The same in Anthropic's API."""
        tools = {
            tool["name"]: {**tool, "parameters": tool.get("input_schema", {})} for tool in request.get("tools", ())
        }
        shell = next((tools[name] for name in SHELLS if name in tools), None)
        story = str(request.get("model", ""))
        messages = request.get("messages", ())
        blocks = [block for one in messages for block in one["content"] if isinstance(block, dict)]
        has_results = any(block["type"] == "tool_result" for block in blocks)
        counts = {"input_tokens": 100, "output_tokens": 20}
        calls = [] if shell is None or has_results or is_count else _calls(story, shell)
        self.server.sent.extend(calls)
        text = TITLE if shell is None else ANSWER if has_results else ""
        head = {"id": f"msg_{len(messages)}", "type": "message", "role": "assistant", "model": story, "usage": counts}
        if is_count:
            self._reply({"input_tokens": 100})
            return
        if not request.get("stream"):
            content: list[dict[str, Any]] = [{"type": "text", "text": text}]
            self._reply(head | {"content": content, "stop_reason": "end_turn", "stop_sequence": None})
            return
        self._begin_stream()
        self._named("message_start", message=head | {"content": [], "stop_reason": None, "stop_sequence": None})
        written: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
            (
                {"type": "tool_use", "id": call.id, "name": call.name, "input": {}},
                [{"type": "input_json_delta", "partial_json": one} for one in (call.arguments[:9], call.arguments[9:])],
            )
            for call in calls
        ] or [({"type": "text", "text": ""}, [{"type": "text_delta", "text": text}])]
        for index, (block, deltas) in enumerate(written):
            self._named("content_block_start", index=index, content_block=block)
            for delta in deltas:
                self._named("content_block_delta", index=index, delta=delta)
            if has_results and story == "abort":
                self._wait_for_the_end()
                return
            self._named("content_block_stop", index=index)
        reason = "tool_use" if calls else "end_turn"
        self._named("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage=counts)
        self._named("message_stop")

    def _responses(self, request: dict[str, Any]) -> None:
        """The same in OpenAI's Responses API, as a stream."""
        tools = {tool["name"]: tool for tool in request.get("tools", ()) if tool.get("type") == "function"}
        shell = next((tools[name] for name in SHELLS if name in tools), None)
        story = str(request.get("model", ""))
        has_results = any(str(one.get("type", "")).endswith("_output") for one in request.get("input", ()))
        calls = [] if shell is None or has_results else _calls(story, shell)
        self.server.sent.extend(calls)
        text = TITLE if shell is None else ANSWER
        items: list[dict[str, Any]] = [
            {
                "type": "function_call",
                "id": f"fc_{number}",
                "call_id": call.id,
                "name": call.name,
                "arguments": call.arguments,
            }
            for number, call in enumerate(calls)
        ] or [
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "content": [{"type": "output_text", "text": text, "annotations": []}],
            }
        ]
        head = {"id": f"resp_{len(request['input'])}", "object": "response", "model": story}
        response = {**head, "status": "in_progress", "output": []}
        self._begin_stream()
        self._named("response.created", response=response)
        for index, item in enumerate(items):
            begun = {**item, "arguments": ""} if calls else {**item, "content": []}
            self._named("response.output_item.added", output_index=index, item=begun)
            at = {"output_index": index, "item_id": item["id"]}
            if calls:
                for piece in (item["arguments"][:9], item["arguments"][9:]):
                    self._named("response.function_call_arguments.delta", **at, delta=piece)
                self._named("response.function_call_arguments.done", **at, arguments=item["arguments"])
            else:
                self._named("response.output_text.delta", **at, content_index=0, delta=text)
            if has_results and story == "abort":
                self._wait_for_the_end()
                return
            self._named("response.output_item.done", output_index=index, item={**item, "status": "completed"})
        counts = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
        self._named(
            "response.completed", response={**response, "status": "completed", "output": items, "usage": counts}
        )

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""

    def _stream(self, head: dict[str, Any], text: str, calls: Sequence[SentCall], *, waits: bool) -> None:
        self._begin_stream()
        chunk = head | {"object": "chat.completion.chunk"}
        for delta in _deltas(text, calls):
            self._event(chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        if waits:
            self._wait_for_the_end()
            return
        self._event(chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": _end(calls)}]})
        self._event(chunk | {"choices": [], "usage": USAGE})
        self.wfile.write(b"data: [DONE]\n\n")

    def _begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.close_connection = True

    def _named(self, name: str, **members: object) -> None:
        self.wfile.write(f"event: {name}\n".encode())
        self._event({"type": name, **members})

    def _wait_for_the_end(self) -> None:
        self.server.is_waiting.set()
        self.server.is_closed.wait(60)

    def _event(self, value: object) -> None:
        self.wfile.write(b"data: " + json.dumps(value).encode() + b"\n\n")
        self.wfile.flush()

    def _reply(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _end(calls: Sequence[SentCall]) -> str:
    return "tool_calls" if calls else "stop"


@contextmanager
def scripted_server() -> Iterator[Served]:
    """A running server; after `abort`'s call was answered, it waits in the middle of a text until it is closed."""
    server = _Server()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield Served(f"http://127.0.0.1:{server.server_port}", server.sent, server.is_waiting)
    finally:
        server.is_closed.set()
        server.shutdown()
        server.server_close()
        thread.join()
