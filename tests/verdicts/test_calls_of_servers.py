"""Faults of a server in the delivery of calls: a call or its name twice, an answer that ends without its call."""

import json
from collections.abc import Callable, Iterable, Sequence

import pytest

from weaklink.inspector.apis.providers import decoder_for
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Json, Part, Role, Trace, Turn
from weaklink.inspector.wire.decoder import decode_answer

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
HERMES = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
ARGUMENTS = '{"city": "Oslo"}'


def codes(path: str, events: Iterable[Json]) -> list[str]:
    """The codes of what is wrong with one answer, after a request of the user."""
    raw = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    answer = decode_answer(decoder_for(path), [(None, raw.encode())]).turn
    trace = Trace((Turn(Role.USER, (Part("text", "Weather in Oslo?"),)), answer))
    return sorted({diagnostic.rule.code for diagnostic in inspect_trace(trace).diagnostics})


def chat(deltas: Sequence[dict[str, Json]], finish: str) -> list[Json]:
    begun: list[Json] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    return [*begun, {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}]


def piece(arguments: str, name: str = "", id: str = "", index: int = 0) -> dict[str, Json]:
    function: dict[str, Json] = {"arguments": arguments}
    call: dict[str, Json] = {"index": index, "function": function}
    if name:
        function["name"] = name
    if id:
        call |= {"id": id, "type": "function"}
    return {"tool_calls": [call]}


CALL = piece(ARGUMENTS, "get_weather", "call_1")


def messages(blocks: Sequence[tuple[dict[str, Json], dict[str, Json]]], finish: str) -> list[Json]:
    events: list[Json] = [{"type": "message_start", "message": {"id": "m", "model": "x", "role": "assistant"}}]
    for index, (block, delta) in enumerate(blocks):
        events += [
            {"type": "content_block_start", "index": index, "content_block": block},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    return [*events, {"type": "message_delta", "delta": {"stop_reason": finish}}, {"type": "message_stop"}]


def said(text: str) -> tuple[dict[str, Json], dict[str, Json]]:
    return {"type": "text", "text": ""}, {"type": "text_delta", "text": text}


USED: tuple[dict[str, Json], dict[str, Json]] = (
    {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {}},
    {"type": "input_json_delta", "partial_json": ARGUMENTS},
)


def responses(text: str) -> list[Json]:
    """A stream of two items: a message and a call."""
    message: Json = {"type": "message", "id": "m", "role": "assistant", "content": []}
    call: Json = {"type": "function_call", "id": "f", "call_id": "call_1", "name": "get_weather", "arguments": ""}
    return [
        {"type": "response.created", "response": {"id": "r", "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": message},
        {
            "type": "response.output_text.delta",
            "item_id": "m",
            "output_index": 0,
            "content_index": 0,
            "delta": text,
        },
        {"type": "response.output_item.added", "output_index": 1, "item": call},
        {
            "type": "response.function_call_arguments.delta",
            "item_id": "f",
            "output_index": 1,
            "delta": ARGUMENTS,
        },
        {"type": "response.completed", "response": {"id": "r", "status": "completed"}},
    ]


DELIVERED_TWICE: dict[str, tuple[str, Callable[[str], list[Json]]]] = {
    "chat": (CHAT, lambda text: chat([{"content": text}, CALL], "tool_calls")),
    "messages": (MESSAGES, lambda text: messages([said(text), USED], "tool_use")),
    "responses": (RESPONSES, responses),
}


@pytest.mark.parametrize("api", DELIVERED_TWICE)
def test_a_call_in_the_content_and_in_the_calls_is_delivered_twice(api: str) -> None:
    path, events = DELIVERED_TWICE[api]
    assert "L817" in codes(path, events(HERMES))
    assert codes(path, events("I look it up.")) == []


@pytest.mark.parametrize("pieces", [1, 2, 5])
@pytest.mark.parametrize("id", ["call_1", ""])
def test_a_name_that_comes_with_each_piece_is_told_once(pieces: int, id: str) -> None:
    rest = [
        piece(ARGUMENTS[index : index + 1 if index < pieces else None], "get_weather", id)
        for index in range(1, pieces + 1)
    ]
    answer_codes = codes(CHAT, chat([piece(ARGUMENTS[:1], "get_weather", "call_1"), *rest], "tool_calls"))
    assert answer_codes == ["C515"]


def test_names_that_come_once_are_no_fault() -> None:
    pieces = [
        piece("", "get_weather", "call_1"),
        piece(ARGUMENTS),
        piece("", "get_weather", "call_2", 1),
        piece('{"city": "Bergen"}', index=1),
    ]
    assert codes(CHAT, chat(pieces, "tool_calls")) == []


def test_an_answer_that_ends_with_calls_has_one() -> None:
    words: list[dict[str, Json]] = [{"content": "I look it up."}]
    assert codes(CHAT, chat(words, "tool_calls")) == ["C516"]
    assert codes(CHAT, chat([], "tool_calls")) == ["C516"]
    assert codes(CHAT, chat(words, "stop")) == []
    assert codes(CHAT, chat([*words, CALL], "tool_calls")) == []
    assert codes(MESSAGES, messages([said("I look it up.")], "tool_use")) == ["C516"]
    assert codes(MESSAGES, messages([said("It is warm.")], "end_turn")) == []
    assert codes(MESSAGES, messages([said("I look it up."), USED], "tool_use")) == []
