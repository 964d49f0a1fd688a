"""A turn as the answer of a provider's API, for recordings without its bytes: whole, or as a stream of one piece.

The shapes, including those of errors, are from the APIs' references: OpenAI's chat completions and responses,
Anthropic's messages, Gemini's generateContent, and Ollama's chat and generate.
"""

import json
from collections.abc import Iterable, Iterator

from msgspec import Struct

from weaklink.inspector.apis import gemini, ollama
from weaklink.inspector.apis.anthropic import messages as anthropic
from weaklink.inspector.apis.openai import responses
from weaklink.inspector.apis.openai.client_tools import rebuilt_call
from weaklink.inspector.apis.providers import find_api, parse_request, read_request
from weaklink.inspector.json_text import object_of
from weaklink.inspector.model import CallHeader, Json, ToolDefinition, Turn

_EVENTS, _JSON, _LINES = "text/event-stream", "application/json", "application/x-ndjson"


_ANTHROPIC_ERRORS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_GEMINI_ERRORS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class _AnswerContent(Struct, frozen=True):
    """The content of an answer; calls are id, name and arguments as text, `tools` those that the request offered."""

    model: str
    text: str
    reasoning: str
    calls: tuple[tuple[str, str, str], ...]
    tools: tuple[ToolDefinition, ...] = ()


def rebuilt_answer(turn: Turn, path: str, body: bytes) -> tuple[str, bytes]:
    """The content type and the body of the answer to a request with this path and body."""
    request = parse_request(body)
    decoded = read_request(path, request)
    api, streams = find_api(path, request), decoded is not None and decoded.streams
    answer = _content_of(turn, decoded.model if decoded is not None else "")
    match api:
        case anthropic.API:
            return _events(_anthropic_events(answer), named=True) if streams else _whole(_anthropic(answer))
        case responses.API:
            return _events(_response_events(answer), named=True) if streams else _whole(_response(answer))
        case gemini.API:
            return _events([_gemini(answer)]) if streams else _whole(_gemini(answer))
        case ollama.CHAT | ollama.GENERATE:
            raw = json.dumps(_ollama(answer, api)).encode() + b"\n"
            return (_LINES if streams else _JSON), raw
    return _events(_chat_events(answer), after=b"data: [DONE]\n\n") if streams else _whole(_chat(answer))


def error_answer(path: str, status: int, message: str, code: str) -> bytes:
    """The JSON body of an error, for a request to a path; `code` is for OpenAI, other APIs name the status instead."""
    is_clients = status < 500
    kind = "invalid_request_error" if is_clients else "api_error"
    error: Json = {"message": message, "type": kind if is_clients else "server_error", "param": None, "code": code}
    match find_api(path):
        case anthropic.API:
            error = {"type": _ANTHROPIC_ERRORS.get(status, kind), "message": message}
            return json.dumps({"type": "error", "error": error}).encode() + b"\n"
        case gemini.API:
            word = _GEMINI_ERRORS.get(status, "FAILED_PRECONDITION" if is_clients else "INTERNAL")
            error = {"code": status, "message": message, "status": word}
        case ollama.CHAT | ollama.GENERATE:
            error = message
    return json.dumps({"error": error}).encode() + b"\n"


def _content_of(turn: Turn, model: str) -> _AnswerContent:
    named = {header.part: header for header in turn.calls}
    texts = {part.name: part.text for part in turn.parts}
    calls: list[tuple[str, str, str]] = []
    for number, part in enumerate(name for name in texts if name.startswith("call:")):
        header = named.get(part, CallHeader(part, None))
        calls.append((header.id or f"call_{number}", header.name or "", texts[part]))
    generation = turn.generation
    answered = (generation.answered_model or generation.requested_model) if generation is not None else ""
    tools = generation.tools if generation is not None else ()
    return _AnswerContent(
        answered or model or "unknown", texts.get("text", ""), texts.get("reasoning", ""), tuple(calls), tools
    )


def _whole(value: Json) -> tuple[str, bytes]:
    return _JSON, json.dumps(value).encode()


def _events(values: Iterable[Json], *, named: bool = False, after: bytes = b"") -> tuple[str, bytes]:
    def event(value: Json) -> bytes:
        head = f"event: {object_of(value)['type']}\n" if named else ""
        return f"{head}data: {json.dumps(value)}\n\n".encode()

    return _EVENTS, b"".join(map(event, values)) + after


def _chat_message(answer: _AnswerContent, *, is_delta: bool) -> dict[str, Json]:
    message: dict[str, Json] = {
        "role": "assistant",
        "content": answer.text if answer.text or not answer.calls else None,
    }
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.calls:
        message["tool_calls"] = [
            _chat_call(call, number if is_delta else None) for number, call in enumerate(answer.calls)
        ]
    return message


def _chat_call(call: tuple[str, str, str], index: int | None) -> Json:
    id_, name, arguments = call
    index_member: dict[str, Json] = {} if index is None else {"index": index}
    return {**index_member, "id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def _chat(answer: _AnswerContent) -> Json:
    choice: Json = {"index": 0, "message": _chat_message(answer, is_delta=False), "finish_reason": _chat_finish(answer)}
    return {
        **_chat_head(answer, "chat.completion"),
        "choices": [choice],
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    }


def _chat_events(answer: _AnswerContent) -> Iterator[Json]:
    head = _chat_head(answer, "chat.completion.chunk")
    delta: Json = _chat_message(answer, is_delta=True)
    yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": _chat_finish(answer)}]}


def _chat_head(answer: _AnswerContent, kind: str) -> dict[str, Json]:
    return {"id": "chatcmpl-replay", "object": kind, "created": 0, "model": answer.model}


def _chat_finish(answer: _AnswerContent) -> str:
    return "tool_calls" if answer.calls else "stop"


def _arguments(text: str) -> Json:
    """Arguments as an object; an empty one if they are no object, since these APIs cannot represent anything else."""
    try:
        return object_of(json.loads(text or "{}"))
    except (ValueError, RecursionError):
        return {}


def _anthropic_blocks(answer: _AnswerContent) -> list[dict[str, Json]]:
    blocks: list[dict[str, Json]] = []
    if answer.reasoning:
        blocks.append({"type": "thinking", "thinking": answer.reasoning, "signature": ""})
    if answer.text or not answer.calls:
        blocks.append({"type": "text", "text": answer.text})
    for id_, name, text in answer.calls:
        blocks.append({"type": "tool_use", "id": id_, "name": name, "input": text})
    return blocks


def _anthropic_head(answer: _AnswerContent) -> dict[str, Json]:
    return {
        "id": "msg_replay",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


def _anthropic_stop(answer: _AnswerContent) -> str:
    return "tool_use" if answer.calls else "end_turn"


def _anthropic(answer: _AnswerContent) -> Json:
    content: list[Json] = [
        block | {"input": _arguments(str(block["input"]))} if block["type"] == "tool_use" else block
        for block in _anthropic_blocks(answer)
    ]
    return {**_anthropic_head(answer), "content": content, "stop_reason": _anthropic_stop(answer)}


_DELTAS: dict[str, tuple[str, str, str]] = {
    "text": ("text", "text_delta", "text"),
    "thinking": ("thinking", "thinking_delta", "thinking"),
    "tool_use": ("input", "input_json_delta", "partial_json"),
}


def _anthropic_events(answer: _AnswerContent) -> Iterator[Json]:
    yield {"type": "message_start", "message": {**_anthropic_head(answer), "content": [], "stop_reason": None}}
    for index, block in enumerate(_anthropic_blocks(answer)):
        member, kind, name = _DELTAS[str(block["type"])]
        empty: Json = {} if member == "input" else ""
        yield {"type": "content_block_start", "index": index, "content_block": {**block, member: empty}}
        yield {"type": "content_block_delta", "index": index, "delta": {"type": kind, name: block[member]}}
        yield {"type": "content_block_stop", "index": index}
    delta: Json = {"stop_reason": _anthropic_stop(answer), "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 0}}
    yield {"type": "message_stop"}


def _response(answer: _AnswerContent, *, status: str = "completed") -> dict[str, Json]:
    return {
        "id": "resp_replay",
        "object": "response",
        "created_at": 0,
        "status": status,
        "model": answer.model,
        "output": _response_items(answer) if status == "completed" else [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "usage": {
            "input_tokens": 0,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 0,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 0,
        },
    }


def _response_items(answer: _AnswerContent) -> list[Json]:
    items: list[Json] = []
    if answer.reasoning:
        summary: Json = [{"type": "summary_text", "text": answer.reasoning}]
        items.append({"type": "reasoning", "id": "rs_replay", "summary": summary})
    if answer.text or not answer.calls:
        content: Json = [{"type": "output_text", "text": answer.text, "annotations": []}]
        items.append(
            {"type": "message", "id": "msg_replay", "role": "assistant", "status": "completed", "content": content}
        )
    for number, (id_, name, arguments) in enumerate(answer.calls):
        items.append(rebuilt_call(number, id_, name, arguments, answer.tools))
    return items


def _response_events(answer: _AnswerContent) -> Iterator[Json]:
    for number, event in enumerate(_response_steps(answer)):
        yield {**event, "sequence_number": number}


def _response_steps(answer: _AnswerContent) -> Iterator[dict[str, Json]]:
    yield {"type": "response.created", "response": _response(answer, status="in_progress")}
    for index, item in enumerate(_response_items(answer)):
        members = object_of(item)
        item_members: dict[str, Json] = {"output_index": index, "item_id": members["id"]}
        match members["type"]:
            case "message":
                inside: dict[str, Json] = {**item_members, "content_index": 0}
                part: Json = {"type": "output_text", "text": "", "annotations": []}
                yield {"type": "response.output_item.added", "output_index": index, "item": {**members, "content": []}}
                yield {"type": "response.content_part.added", **inside, "part": part}
                yield {"type": "response.output_text.delta", **inside, "delta": answer.text, "logprobs": []}
                yield {"type": "response.output_text.done", **inside, "text": answer.text, "logprobs": []}
            case "function_call":
                arguments = members["arguments"]
                begun: Json = {**members, "arguments": ""}
                yield {"type": "response.output_item.added", "output_index": index, "item": begun}
                yield {"type": "response.function_call_arguments.delta", **item_members, "delta": arguments}
                yield {"type": "response.function_call_arguments.done", **item_members, "arguments": arguments}
            case _:
                yield {"type": "response.output_item.added", "output_index": index, "item": item}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": _response(answer)}


def _gemini(answer: _AnswerContent) -> Json:
    parts: list[Json] = []
    if answer.reasoning:
        parts.append({"text": answer.reasoning, "thought": True})
    if answer.text or not answer.calls:
        parts.append({"text": answer.text})
    for _, name, text in answer.calls:
        parts.append({"functionCall": {"name": name, "args": _arguments(text)}})
    candidate: Json = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "modelVersion": answer.model, "usageMetadata": {"totalTokenCount": 0}}


def _ollama(answer: _AnswerContent, api: str) -> Json:
    head: dict[str, Json] = {"model": answer.model, "created_at": "1970-01-01T00:00:00Z", "done": True}
    head["done_reason"] = "stop"
    if api == ollama.GENERATE:
        return {**head, "response": answer.text}
    message: dict[str, Json] = {"role": "assistant", "content": answer.text}
    if answer.reasoning:
        message["thinking"] = answer.reasoning
    if answer.calls:
        calls: list[Json] = []
        for _, name, text in answer.calls:
            calls.append({"function": {"name": name, "arguments": _arguments(text)}})
        message["tool_calls"] = calls
    return {**head, "message": message}
