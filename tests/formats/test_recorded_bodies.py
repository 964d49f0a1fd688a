"""The raw body of an answer, segmented as a text, holds what the recorder reads of it: APIs are understood alike.

So does the same answer in a later request.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from weaklink.inspector.apis.anthropic.messages import TEXT_BLOCKS
from weaklink.inspector.apis.openai.chat import BLOCK_TEXTS, DETAIL_KEYS, REASONING_KEYS
from weaklink.inspector.apis.openai.client_tools import CALL_MEMBERS, OWN_CALLS
from weaklink.inspector.apis.openai.responses import OutputText
from weaklink.inspector.apis.providers import decoder_for, read_request
from weaklink.inspector.model import Json, Turn
from weaklink.inspector.segmentation import segment
from weaklink.inspector.text import decode
from weaklink.inspector.wire.decoder import decode_answer

CASES = Path(__file__).parent.parent / "cases" / "wire"
APIS = {
    "completions": ("/v1/completions", "openai"),
    "openai_chat": ("/v1/chat/completions", "openai"),
    "responses": ("/v1/responses", "openai"),
    "messages": ("/v1/messages", "claude"),
    "generate_content": ("/v1beta/models/x:streamGenerateContent", "gemini"),
}
OTHERWISE = {
    "messages/whole_error": "an error without an answer is text",
    "openai_chat/unframed_error": "an error without an answer is text",
    "generate_content/array_error": "an error without an answer is text",
    "openai_chat/cut_in_event": "of a string that is cut off, a text shows the beginning",
    "generate_content/array_cut": "of a string that is cut off, a text shows the beginning",
    "generate_content/malformed_call": "a text shows a call that the server refused",
    "messages/server_tools": "a text shows calls that the server ran itself",
    "messages/whole": "a text shows calls that the server ran itself",
}
BODIES = [path for api in APIS for path in sorted((CASES / api).glob("*.body"))]


def name_of(body: Path) -> str:
    return f"{body.parent.name}/{body.stem}"


def value(arguments: str) -> Json:
    try:
        read: Json = json.loads(arguments)
    except ValueError:
        return arguments
    return read


@pytest.mark.parametrize("body", [body for body in BODIES if name_of(body) not in OTHERWISE], ids=name_of)
def test_a_body_is_read_alike_as_a_recording_and_as_a_text(body: Path) -> None:
    path, format_ = APIS[body.parent.name]
    turn = decode_answer(decoder_for(path), [(None, body.read_bytes())]).turn
    parts = {part.name: part.text for part in turn.parts}
    segmentation = segment(decode(body.read_bytes()), format_)
    assert segmentation.content == parts.get("text", "") + parts.get("refusal", "")
    assert segmentation.reasoning == parts.get("reasoning", "")
    assert [(call.name, call.id, value(call.raw_arguments)) for call in segmentation.calls] == [
        (call.name, call.id, value(parts[call.part])) for call in turn.calls
    ]


@pytest.mark.parametrize("body", [body for body in BODIES if name_of(body) in OTHERWISE], ids=name_of)
def test_what_is_read_otherwise_has_a_reason(body: Path) -> None:
    with pytest.raises(AssertionError):
        test_a_body_is_read_alike_as_a_recording_and_as_a_text(body)


CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
MESSAGES: tuple[dict[str, Any], ...] = (
    *({"content": "Yes.", key: "Hm."} for key in REASONING_KEYS),
    *({"content": "Yes.", "reasoning_details": [{key: "Hm."}, {key: ""}, {"data": "x"}]} for key in DETAIL_KEYS),
    *({"content": ["Yes.", {"type": kind, key: "Words."}]} for kind, (_, key) in BLOCK_TEXTS.items()),
    {
        "content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
            {"type": "text", "text": "Yes."},
        ]
    },
    dict.fromkeys(REASONING_KEYS, "Hm."),
    {"reasoning_content": "Hm.", "reasoning": "Or.", "reasoning_details": [{"text": "Hm."}]},
    {"content": "Yes.", "refusal": "No.", "tool_calls": [CALL]},
    {"content": None, "function_call": {"name": "f", "arguments": "{}"}},
    {"content": None, "tool_calls": [{"id": "c2", "type": "custom", "custom": {"name": "g", "input": "x = 1"}}]},
)
ITEMS: tuple[dict[str, Any], ...] = (
    *(
        {"type": "message", "role": "assistant", "content": [{"type": kind, key: "Words."}]}
        for kind, (_, key) in BLOCK_TEXTS.items()
        if key in OutputText.__struct_fields__
    ),
    *(
        {"type": "reasoning", "summary": [], key: [{"type": "reasoning_text", "text": "Hm."}]}
        for key in ("summary", "content")
    ),
    *({"type": kind, "call_id": "c1", "name": "f", key: "{}"} for kind, key in CALL_MEMBERS.items()),
    *({"type": kind, "call_id": "c1", "action": {"a": 1}} for kind in OWN_CALLS),
)
BLOCKS: tuple[dict[str, Any], ...] = (
    *({"type": kind, kind: "Words."} for kind in TEXT_BLOCKS),
    {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}},
)
CONTENT: tuple[dict[str, Any], ...] = (
    {"text": "Yes."},
    {"text": "Hm.", "thought": True},
    {"functionCall": {"name": "f", "args": {"a": 1}}},
)


def sent_back(api: str, written: dict[str, Any]) -> tuple[Any, Any, Any]:
    """An answer that the model wrote: its body, the next request, and the same as it is in that request."""
    match api:
        case "openai_chat":
            written = {"role": "assistant", **written}
            choice = {"index": 0, "message": written, "finish_reason": "stop"}
            return {"object": "chat.completion", "choices": [choice]}, {"messages": [written]}, written
        case "responses":
            return {"object": "response", "status": "completed", "output": [written]}, {"input": [written]}, written
        case "messages":
            message = {"role": "assistant", "content": [written]}
            return {"type": "message", **message, "stop_reason": "end_turn"}, {"messages": [message]}, message
    content = {"role": "model", "parts": [written]}
    return {"candidates": [{"content": content, "finishReason": "STOP"}]}, {"contents": [content]}, content


def known_parts(turn: Turn) -> dict[str, str]:
    return {part.name: part.text for part in turn.parts if part.name != "wire:reasoning_details"}


@pytest.mark.parametrize(
    ("api", "written"),
    [
        pytest.param(api, written, id=f"{api}-{json.dumps(written)}")
        for api, answers in {
            "openai_chat": MESSAGES,
            "responses": ITEMS,
            "messages": BLOCKS,
            "generate_content": CONTENT,
        }.items()
        for written in answers
    ],
)
def test_an_answer_is_read_alike_as_its_body_in_a_later_request_and_as_a_text(
    api: str, written: dict[str, Any]
) -> None:
    path, format_ = APIS[api]
    body, request, copied = sent_back(api, written)
    answer = decode_answer(decoder_for(path), [(None, json.dumps(body).encode())]).turn
    read = read_request(path, request)
    assert read is not None
    (copy,) = read.turns
    parts, calls = known_parts(copy), [(call.name, call.id, value(known_parts(copy)[call.part])) for call in copy.calls]
    assert known_parts(answer).keys() == parts.keys()
    assert (answer.calls, [value(text) for text in known_parts(answer).values()]) == (
        copy.calls,
        [value(text) for text in parts.values()],
    )
    for text in (json.dumps(body), json.dumps(copied)):
        segmentation = segment(text, format_)
        assert segmentation.content == parts.get("text", "") + parts.get("refusal", "")
        assert segmentation.reasoning == parts.get("reasoning", "")
        assert [(call.name, call.id, value(call.raw_arguments)) for call in segmentation.calls] == calls
