"""The raw body of an answer, segmented as a text, holds what the recorder reads of it: APIs are understood alike.

So does the same answer in a later request.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from weaklink.inspector.apis.openai.chat import BLOCK_TEXTS, DETAIL_KEYS, REASONING_KEYS
from weaklink.inspector.apis.openai.messages import read_message
from weaklink.inspector.apis.providers import decoder_for
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


CALL: Json = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
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
)


def known_parts(turn: Turn) -> dict[str, str]:
    return {part.name: part.text for part in turn.parts if not part.name.startswith("wire:reasoning_details")}


@pytest.mark.parametrize("members", MESSAGES, ids=str)
def test_a_message_is_read_alike_as_an_answer_as_its_copy_and_as_a_text(members: dict[str, Json]) -> None:
    message = {"role": "assistant", **members}
    choice: Json = {"index": 0, "message": message, "finish_reason": "stop"}
    body = json.dumps({"object": "chat.completion", "choices": [choice]})
    answer, copy = (
        decode_answer(decoder_for(APIS["openai_chat"][0]), [(None, body.encode())]).turn,
        read_message(message),
    )
    assert (known_parts(answer), answer.calls) == (known_parts(copy), copy.calls)
    parts = known_parts(copy)
    for text in (body, json.dumps(message)):
        segmentation = segment(text, "openai")
        assert segmentation.content == parts.get("text", "") + parts.get("refusal", "")
        assert segmentation.reasoning == parts.get("reasoning", "")
        assert [call.raw_arguments for call in segmentation.calls] == [parts[call.part] for call in copy.calls]
