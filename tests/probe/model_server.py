"""A server of chat completions on loopback, with a model that knows the built-in suite, and faults that can be planted.

The model writes text in the Hermes format; the server parses it and answers, whole or streamed, as OpenAI's API does. A
`Fault` changes one layer: the model's text, what the server parsed, the whole body, or the chunks.
"""

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from weaklink.inspector.probe.builtin_suite import builtin_suite
from weaklink.inspector.probe.suite import ProbeRequest

Body = dict[str, Any]
Paths = dict[str, Callable[[Body, "ModelServer"], Any]]
_CALL = re.compile(r"<tool_call>\n(.*?)\n</tool_call>", re.DOTALL)
_FIELDS = re.compile(r"""\{["']name["']: ["'](.*?)["'], ["']arguments["']: (.*)\}\Z""", re.DOTALL)


@dataclass
class Parsed:
    """What the server read in the model's text."""

    content: str
    calls: list[Body]
    finish: str
    reasoning: str = ""


def _same_text(text: str, request: ProbeRequest) -> str:
    return text


def _same(value: Any, body: Body) -> Any:
    return value


@dataclass
class Fault:
    """Where the server, or its model, goes wrong; a status other than 200 refuses the request with it."""

    text: Callable[[str, ProbeRequest], str] = _same_text
    parsed: Callable[[Parsed, Body], Parsed] = _same
    whole: Callable[[Any, Body], Any] = _same
    chunks: Callable[[list[Any], Body], list[Any]] = _same
    status: Callable[[Body], int] = lambda body: 200
    refusal: str = "unsupported parameter"
    logprobs: bool = True
    has_end: bool = True
    paths: Paths = field(default_factory=dict)
    swap_modes: tuple[bool, ...] = ()  # the values of `stream` that are answered in the other mode


class ModelServer:
    """One endpoint; `requests` are the bodies that it got, in order, `headers` those of the latest."""

    def __init__(self, fault: Fault | None = None) -> None:
        self.fault = fault or Fault()
        self.requests: list[Body] = []
        self.headers: dict[str, str] = {}
        self.busy: list[tuple[int, dict[str, str]]] = []
        self._suite = {_key(request.body): request for request in builtin_suite()}
        self.url = ""

    async def chat(self, request: web.Request) -> web.StreamResponse:
        """An answer to a chat request."""
        body = await request.json()
        self.headers = dict(request.headers)
        if self.busy:
            status, headers = self.busy.pop(0)
            return web.json_response({"error": {"message": "busy"}}, status=status, headers=headers)
        self.requests.append(body)
        status = self.fault.status(body)
        if status != 200:
            return web.json_response({"error": {"message": self.fault.refusal}}, status=status)
        text = self.written(body)
        parsed = self.fault.parsed(parse(text), body)
        if body.get("stream") in self.fault.swap_modes:
            body = {**body, "stream": not body["stream"]}
        if body.get("stream"):
            return await self._stream(
                request, self.fault.chunks(chunks_of(parsed, body, self._tokens(text, body)), body)
            )
        return web.json_response(self.fault.whole(whole_of(parsed, body, self._tokens(text, body)), body))

    def written(self, body: Body) -> str:
        """What the model writes for a request."""
        request = self._suite.get(_key(body)) or self._suite[_key({**body, "tool_choice": None})]
        return self.fault.text(right_text(request), request)

    def _tokens(self, text: str, body: Body) -> list[Body] | None:
        if not body.get("logprobs") or not self.fault.logprobs:
            return None
        raw = text.encode()
        pieces = [raw[start : start + 7] for start in range(0, len(raw), 7)] + [b"<|im_end|>"]
        return [{"token": piece.decode("utf-8", "replace"), "bytes": list(piece), "logprob": -0.1} for piece in pieces]

    async def _stream(self, request: web.Request, chunks: list[Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for chunk in chunks:
            data = chunk if isinstance(chunk, str) else json.dumps(chunk)
            await response.write(f"data: {data}\n\n".encode())
        if self.fault.has_end:
            await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response

    async def other(self, request: web.Request) -> web.Response:
        """An answer of another path, if the fault has it."""
        answer = self.fault.paths.get(request.path)
        if answer is None:
            return web.json_response({"error": {"message": "not found"}}, status=404)
        return web.json_response(answer(await request.json(), self))


@asynccontextmanager
async def running(fault: Fault | None = None) -> AsyncIterator[ModelServer]:
    """Run a server on a free port of 127.0.0.1."""
    server = ModelServer(fault)
    application = web.Application()
    application.router.add_post("/v1/chat/completions", server.chat)
    application.router.add_post("/{path:.*}", server.other)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    server.url = f"http://{host}:{port}"
    try:
        yield server
    finally:
        await runner.cleanup()


def _key(body: Body) -> str:
    names = ("messages", "tools", "tool_choice", "response_format", "parallel_tool_calls", "chat_template_kwargs")
    return json.dumps([body.get(name) for name in names], sort_keys=True)


def right_text(request: ProbeRequest) -> str:
    """The right answer as the model writes it."""
    expected = request.expected
    if expected.calls:
        return "\n".join(call_text(call.name, call.arguments or {}) for call in expected.calls)
    if isinstance(expected.json_schema, dict):
        is_city = "city" in expected.json_schema["properties"]  # type: ignore[operator] # of the built-in suite
        return json.dumps({"city": "Oslo", "population": 700000} if is_city else {"words": ["a", "b", "c"]})
    return " ".join(expected.text)


def call_text(name: str, arguments: Any) -> str:
    """A call in the Hermes format."""
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments}, ensure_ascii=False)}\n</tool_call>"


def parse(text: str) -> Parsed:
    """What a faithful parser makes of the text: arguments are the model's own characters."""
    calls = []
    for index, match in enumerate(_CALL.finditer(text)):
        fields = _FIELDS.match(match[1])
        assert fields is not None, "the model writes names first"
        function = {"name": fields[1], "arguments": fields[2]}
        calls.append({"id": f"call_{index}", "type": "function", "function": function})
    content = "" if calls else text
    return Parsed(content, calls, "tool_calls" if calls else "stop")


def usage(parsed: Parsed) -> Body:
    """Counts that add up."""
    output = 1 + len(parsed.content) // 4 + sum(1 + len(str(call)) // 8 for call in parsed.calls)
    return {"prompt_tokens": 20, "completion_tokens": output, "total_tokens": 20 + output}


def whole_of(parsed: Parsed, body: Body, tokens: list[Body] | None) -> Body:
    """The answer as one body."""
    message: Body = {"role": "assistant", "content": parsed.content or None}
    if parsed.reasoning:
        message["reasoning_content"] = parsed.reasoning
    if parsed.calls:
        message["tool_calls"] = parsed.calls
    choice: Body = {"index": 0, "message": message, "finish_reason": parsed.finish}
    if tokens is not None:
        choice["logprobs"] = {"content": tokens}
    return {**_head("chat.completion", body), "choices": [choice], "usage": usage(parsed)}


def chunks_of(parsed: Parsed, body: Body, tokens: list[Body] | None) -> list[Any]:
    """The answer as chunks: the role, text in pieces, each call's head and its arguments, the finish, the usage."""
    deltas: list[Body] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": piece} for piece in _pieces(parsed.reasoning)]
    deltas += [{"content": piece} for piece in _pieces(parsed.content)]
    for index, call in enumerate(parsed.calls):
        head = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        deltas.append({"tool_calls": [head]})
        arguments = call["function"].get("arguments")
        pieces = _pieces(arguments) if isinstance(arguments, str) else [arguments]
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in pieces]
    choices: list[Body] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": parsed.finish})
    if tokens is not None:
        choices[0]["logprobs"] = {"content": tokens}
    head = _head("chat.completion.chunk", body)
    last = {**head, "choices": [], "usage": usage(parsed)}
    return [*({**head, "choices": [choice]} for choice in choices), last]


def _head(kind: str, body: Body) -> Body:
    return {"id": "chatcmpl-1", "object": kind, "created": 1_790_000_000, "model": body.get("model", "m")}


def _pieces(text: str) -> list[str]:
    return [text[start : start + 6] for start in range(0, len(text), 6)]
