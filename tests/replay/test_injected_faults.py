"""Every fault that a replay injects, on every API: the inspection of the altered answer finds it, with its rule."""

import json
from itertools import count

import pytest
from msgspec.structs import replace

from weaklink.inspector.capture.events import RecordEvent
from weaklink.inspector.capture.recorder import Recorder
from weaklink.inspector.capture.trace_file_sink import TraceAssembler
from weaklink.inspector.dataset.answer_faults import CALLS, DELIVERY, InjectionError, answer_fault
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import CallHeader, ErrorPhase, Generation, GenerationError, Json, Part, Role, Trace, Turn
from weaklink.inspector.model.exchange import RecordedExchange
from weaklink.inspector.replay.answers import error_answer, rebuilt_answer
from weaklink.inspector.sessions.exchange import RequestHead

_SCHEMA: Json = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "unit": {"type": "string", "enum": ["c", "f"]},
    },
    "required": ["city"],
    "additionalProperties": False,
}
_CALL_IN_TEXT = (
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "unit": "c"}}\n</tool_call>'
)
_RESULT_IN_TEXT = '<tool_response>\n{"name": "get_weather", "content": "3 degrees"}\n</tool_response>'
_CHAT_TOOL: Json = {"type": "function", "function": {"name": "get_weather", "parameters": _SCHEMA}}
_TOOLS: dict[str, Json] = {
    "/v1/chat/completions": _CHAT_TOOL,
    "/v1/responses": {"type": "function", "name": "get_weather", "parameters": _SCHEMA},
    "/v1/messages": {"name": "get_weather", "input_schema": _SCHEMA},
    "/api/chat": _CHAT_TOOL,
    "/v1beta/models/g:generateContent": {
        "functionDeclarations": [{"name": "get_weather", "parametersJsonSchema": _SCHEMA}]
    },
}
_GEMINI = "/v1beta/models/g:generateContent"
_STRUCTURED = Turn(
    Role.ASSISTANT,
    (Part("call:0", '{"city": "Oslo", "days": 2, "unit": "c"}'),),
    calls=(CallHeader("call:0", "get_weather", "call_1"),),
)
_IN_TEXT = Turn(Role.ASSISTANT, (Part("text", _CALL_IN_TEXT),))
_IN_EVERY_ANSWER = {"S201", "S202", "S203", "S204", "T401"}
_IN_STRINGS = {"J102", "J103"}
_IN_TEXTS = {"F301", "F309"}


class _Traces:
    """A sink that keeps the one trace in memory."""

    def __init__(self) -> None:
        self._trace = TraceAssembler()

    def accept(self, event: RecordEvent) -> None:
        self._trace.add(event)

    def close(self) -> None:
        """Nothing is to be written."""

    def trace(self) -> Trace:
        return self._trace.trace()


def _exchange(path: str, turn: Turn, *, is_stream: bool) -> RecordedExchange:
    """One request that gets a turn as its answer, in pieces."""
    said = [
        ("user", "Is it warm?"),
        *([("assistant", _CALL_IN_TEXT), ("user", _RESULT_IN_TEXT)] if turn is _IN_TEXT else []),
    ]
    messages: list[Json] = [{"role": role, "content": words} for role, words in said]
    body: dict[str, Json] = {"model": "m", "tools": [_TOOLS[path]], "stream": is_stream}
    body["input" if path == "/v1/responses" else "messages"] = messages
    target = path
    if path == _GEMINI:
        contents: list[Json] = [
            {"role": "model" if role == "assistant" else role, "parts": [{"text": words}]} for role, words in said
        ]
        body = {"tools": [_TOOLS[path]], "contents": contents}
        target = path.replace("generateContent", "streamGenerateContent?alt=sse") if is_stream else path
    request = json.dumps(body).encode()
    kind, answer = rebuilt_answer(turn, target, request)
    ends = (*range(40, len(answer), 40), len(answer))
    return RecordedExchange("POST", target, 99.0, 200, (("content-type", kind),), request, answer, ends)


def _recorded(exchange: RecordedExchange) -> tuple[Trace, Inspection]:
    """What a recorder makes of an exchange."""
    sink, seconds = _Traces(), count(100)
    recorder = Recorder(sink)
    body = exchange.request or b""
    head = RequestHead(
        "POST", exchange.path, (("content-length", str(len(body))),), upstream="http://host.test", at_s=99.0
    )
    observer = recorder.began(head)
    observer.request_arrived(body)
    observer.answer_began(exchange.status or 0, exchange.headers, next(seconds))
    for piece in exchange.pieces():
        observer.answer_arrived(piece, next(seconds))
    observer.ended(exchange.end, next(seconds))
    recorder.close()
    trace = sink.trace()
    return trace, inspect_trace(replace(trace, is_open=True))  # nobody answers the call


def _codes(inspection: Inspection) -> set[str]:
    return {diagnostic.rule.code for diagnostic in inspection.diagnostics}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("turn", [_STRUCTURED, _IN_TEXT], ids=["structured", "text"])
@pytest.mark.parametrize("path", _TOOLS)
def test_the_inspection_finds_every_fault_that_an_answer_can_carry(path: str, turn: Turn, *, is_stream: bool) -> None:
    sound = _exchange(path, turn, is_stream=is_stream)
    trace, inspection = _recorded(sound)
    assert not inspection.diagnostics
    streamed = {len(trace.turns)} if sound.is_stream else set[int]()
    injected: set[str] = set()
    for kind in (*CALLS, "J103", "S202", "F301"):
        try:
            fault = answer_fault(kind, trace, inspection, streamed)
        except InjectionError:
            continue
        assert fault.answer is not None
        assert fault.turn == len(trace.turns)
        altered = _with_answer(sound, fault.answer)
        assert altered.answer != sound.answer
        codes = _codes(_recorded(altered)[1])
        assert fault.rules[0] in codes, (kind, codes)
        assert codes <= set(fault.rules), (kind, codes)
        injected.add(fault.rules[0])
    has_string = turn is _IN_TEXT or path in ("/v1/chat/completions", "/v1/responses")
    has_string = has_string or (path == "/v1/messages" and is_stream)
    texts = _IN_TEXTS if turn is _IN_TEXT else set[str]()
    assert injected == _IN_EVERY_ANSWER | (_IN_STRINGS if has_string else set()) | texts


def _with_answer(exchange: RecordedExchange, turn: Turn) -> RecordedExchange:
    kind, answer = rebuilt_answer(turn, exchange.path, exchange.request or b"")
    assert ("content-type", kind) in exchange.headers
    return replace(exchange, answer=answer, ends=(*range(40, len(answer), 40), len(answer)))


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("path", _TOOLS)
def test_the_inspection_finds_every_fault_of_delivery(path: str, *, is_stream: bool) -> None:
    sound = _exchange(path, _STRUCTURED, is_stream=is_stream)
    trace, inspection = _recorded(sound)
    for kind in (*DELIVERY, "drop-after=3", "status=529"):
        fault = answer_fault(kind, trace, inspection)
        altered, delay_s = fault.altered(sound)
        assert (delay_s == 1.0) == (kind == "delay=1s") == (altered == sound)
        assert _codes(_recorded(altered)[1]) == set(fault.rules) - {"C514"}, kind  # no client repeats this request
        assert bool(fault.rules) == (kind != "delay=1s")


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("path", _TOOLS)
def test_an_answer_of_one_piece_is_dropped_in_its_middle(path: str, *, is_stream: bool) -> None:
    sound = _exchange(path, _STRUCTURED, is_stream=is_stream)
    sound = replace(sound, ends=(len(sound.answer or b""),))
    altered, _ = answer_fault("drop-after=20", *_recorded(sound)).altered(sound)
    assert altered.pieces() == ((sound.answer or b"")[: len(sound.answer or b"") // 2],)
    assert _codes(_recorded(altered)[1]) >= {"C504"}


_ERRORS: dict[str, Json] = {
    "/openai/v1/chat/completions": {
        "error": {"message": "Slow.", "type": "invalid_request_error", "param": None, "code": "injected"}
    },
    "/anthropic/v1/messages": {"type": "error", "error": {"type": "rate_limit_error", "message": "Slow."}},
    "/gemini/v1beta/models/g:streamGenerateContent?alt=sse": {
        "error": {"code": 429, "message": "Slow.", "status": "RESOURCE_EXHAUSTED"}
    },
    "/ollama/api/chat": {"error": "Slow."},
    "/ollama/api/generate": {"error": "Slow."},
}


@pytest.mark.parametrize("path", _ERRORS)
def test_an_error_has_the_shape_of_its_api(path: str) -> None:
    assert json.loads(error_answer(path, 429, "Slow.", "injected")) == _ERRORS[path]


def test_a_fault_of_delivery_goes_into_the_first_answer_without_an_error() -> None:
    refused = Generation(error=GenerationError(ErrorPhase.HTTP, "Slow down.", status=429))
    turns = (
        Turn(Role.USER, (Part("text", "Hi."),)),
        Turn(Role.ASSISTANT, (), generation=refused),
        Turn(Role.ASSISTANT, (Part("text", "Hello!"),)),
    )
    trace = Trace(turns)
    assert answer_fault("drop-after=1", trace, inspect_trace(trace)).turn == 3
    assert answer_fault("drop-after=1@turn2", trace, inspect_trace(trace)).turn == 2
    only = Trace(turns[:2])
    assert answer_fault("status=500", only, inspect_trace(only)).turn == 2
