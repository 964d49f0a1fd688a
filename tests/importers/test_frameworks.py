"""What frameworks write into tracing stores: messages, requests, answers and results in many shapes, read alike."""

import json

import pytest

from weaklink.inspector.importers.telemetry.framework_calls import (
    failure,
    read_answer_output,
    read_request_input,
    read_tool_list,
    read_tool_output,
    unwrapped_json,
    usage_of,
)
from weaklink.inspector.importers.telemetry.framework_messages import (
    KnownMessages,
    message_shown,
    read_any_messages,
    without_flattened,
)
from weaklink.inspector.importers.telemetry.spans import ModelCall, OperationKind, TracedSpan
from weaklink.inspector.model import BodyState, ErrorPhase, FinishReason, Json, Role, Turn
from weaklink.inspector.wire.events import DecodedRequest

RAW = '{"city":  "Oslo"}'
OBJECT: Json = {"city": "Oslo"}
ANSWERS: dict[str, Json] = {
    "openai": {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": RAW}}],
    },
    "openai body": {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "content": "I look.",
                    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": RAW}}],
                },
            }
        ],
    },
    "responses": [
        {"type": "reasoning", "summary": [], "id": "rs_1"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": RAW},
    ],
    "langchain constructor": {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain_core", "messages", "AIMessageChunk"],
        "kwargs": {
            "content": "I look.",
            "tool_calls": [{"name": "weather", "args": OBJECT, "id": "c1", "type": "tool_call"}],
            "additional_kwargs": {"tool_calls": [{"id": "c1", "function": {"name": "weather", "arguments": RAW}}]},
        },
    },
    "langchain generations": {
        "generations": [
            [
                {
                    "text": "I look.",
                    "message": {
                        "type": "ai",
                        "data": {
                            "content": "I look.",
                            "additional_kwargs": {
                                "tool_calls": [{"id": "c1", "function": {"name": "weather", "arguments": RAW}}]
                            },
                        },
                    },
                }
            ]
        ]
    },
    "vercel": {"text": "I look.", "toolCalls": [{"toolCallId": "c1", "toolName": "weather", "input": RAW}]},
    "vercel message": [
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool-call", "toolCallId": "c1", "toolName": "weather", "args": RAW},
            ],
        }
    ],
    "parts": [
        {
            "role": "assistant",
            "parts": [
                {"type": "text", "content": "I look."},
                {"type": "tool_call", "id": "c1", "name": "weather", "arguments": RAW},
            ],
        }
    ],
    "pydantic-ai": {
        "kind": "response",
        "parts": [
            {"part_kind": "text", "content": "I look."},
            {"part_kind": "tool-call", "tool_name": "weather", "args": RAW, "tool_call_id": "c1"},
        ],
    },
    "choice event": {
        "index": 0,
        "message": {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [{"id": "c1", "function": {"name": "weather", "arguments": RAW}}],
        },
    },
    "conversation": {
        "messages": [
            {"role": "user", "content": "Rain?"},
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [{"id": "c1", "function": {"name": "weather", "arguments": RAW}}],
            },
        ]
    },
}
REWRITTEN: dict[str, Json] = {
    "anthropic": {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "c1", "name": "weather", "input": OBJECT},
        ],
    },
    "anthropic blocks": [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "c1", "name": "weather", "input": OBJECT},
    ],
    "langchain": {"type": "ai", "content": "I look.", "tool_calls": [{"name": "weather", "args": OBJECT, "id": "c1"}]},
    "gemini": {
        "content": {
            "role": "model",
            "parts": [{"text": "I look."}, {"function_call": {"name": "weather", "args": OBJECT, "id": "c1"}}],
        }
    },
    "vercel": [{"toolCallId": "c1", "toolName": "weather", "args": OBJECT}],
}
ASKED: dict[str, Json] = {
    "openai": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Rain?"}],
    "openai body": {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Rain?"}],
    },
    "anthropic body": {"system": "Be brief.", "messages": [{"role": "user", "content": "Rain?"}]},
    "responses body": {"model": "m", "instructions": "Be brief.", "input": [{"role": "user", "content": "Rain?"}]},
    "gemini": {
        "config": {"system_instruction": "Be brief."},
        "contents": [{"role": "user", "parts": [{"text": "Rain?"}]}],
    },
    "langchain batch": {
        "messages": [
            [
                {"lc": 1, "id": ["x", "SystemMessage"], "kwargs": {"content": "Be brief."}},
                {"lc": 1, "id": ["x", "HumanMessage"], "kwargs": {"content": "Rain?"}},
            ]
        ]
    },
    "langchain": [{"type": "system", "content": "Be brief."}, {"type": "human", "content": "Rain?"}],
    "vercel": {"system": "Be brief.", "prompt": "Rain?"},
    "vercel messages": {
        "system": "Be brief.",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Rain?"}]}],
    },
    "parts": [
        {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
        {"role": "user", "parts": [{"type": "text", "content": "Rain?"}]},
    ],
    "pydantic-ai": [
        {
            "kind": "request",
            "parts": [
                {"part_kind": "system-prompt", "content": "Be brief."},
                {"part_kind": "user-prompt", "content": "Rain?"},
            ],
        }
    ],
    "python": [
        "role='system' content='Be brief.' name=None tool_call_id=None tool_calls=None audio=None",
        "role='user' content='Rain?' name=None tool_call_id=None tool_calls=None audio=None",
    ],
    "nested": {"input": {"messages": [["Be brief."], "Rain?"]}},
}
RESULTS: dict[str, Json] = {
    "openai": {"role": "tool", "tool_call_id": "c1", "name": "weather", "content": "rain", "is_error": True},
    "anthropic": {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "rain", "is_error": True}],
    },
    "langchain": {"type": "tool", "content": "rain", "tool_call_id": "c1", "name": "weather", "status": "error"},
    "vercel": {
        "role": "tool",
        "content": [
            {
                "type": "tool-result",
                "toolCallId": "c1",
                "toolName": "weather",
                "output": {"type": "error-text", "value": "rain"},
            }
        ],
    },
    "pydantic-ai": {
        "kind": "request",
        "parts": [{"part_kind": "retry-prompt", "tool_name": "weather", "content": "rain", "tool_call_id": "c1"}],
    },
}


def words(turn: Turn) -> dict[str, str]:
    return {part.name: part.text for part in turn.parts if part.text}


@pytest.mark.parametrize("shape", ANSWERS)
@pytest.mark.parametrize("layers", range(4))
def test_an_answer_is_the_same_in_every_shape_and_its_arguments_keep_their_text(shape: str, layers: int) -> None:
    value = ANSWERS[shape]
    for _ in range(layers):
        value = json.dumps(value)
    read = read_answer_output(value)
    assert words(read.turn) == {"text": "I look.", "call:0": RAW}
    assert [(call.name, call.id) for call in read.turn.calls] == [("weather", "c1")]
    assert not read.is_rewritten
    assert read.turn.generation is not None


@pytest.mark.parametrize("shape", REWRITTEN)
def test_arguments_that_were_kept_as_an_object_are_told_to_be_written_anew(shape: str) -> None:
    read = read_answer_output(REWRITTEN[shape])
    assert words(read.turn)["call:0"] == '{"city":"Oslo"}'
    assert [(call.name, call.id) for call in read.turn.calls] == [("weather", "c1")]
    assert read.is_rewritten


@pytest.mark.parametrize("shape", ASKED)
@pytest.mark.parametrize("layers", range(4))
def test_a_request_is_the_same_in_every_shape(shape: str, layers: int) -> None:
    value = ASKED[shape]
    for _ in range(layers):
        value = json.dumps(value)
    turns = read_request_input(value, KnownMessages()).turns
    if shape == "nested":
        assert turns[-1].parts[-1].text == "Rain?"
        return
    assert [(turn.role, words(turn)) for turn in turns] == [
        (Role.SYSTEM, {"text": "Be brief."}),
        (Role.USER, {"text": "Rain?"}),
    ]


@pytest.mark.parametrize("shape", RESULTS)
def test_a_result_is_the_same_in_every_shape(shape: str) -> None:
    (turn,) = read_any_messages(RESULTS[shape]).turns
    assert (turn.role, words(turn)) == (Role.TOOL, {"text": "rain"})
    assert turn.result is not None
    assert (turn.result.call_id, turn.result.is_error) == ("c1", True)


def test_a_broken_call_that_langchain_put_apart_is_a_call() -> None:
    read = read_answer_output(
        {
            "type": "ai",
            "content": "",
            "tool_calls": [],
            "invalid_tool_calls": [{"name": "weather", "args": '{"city": "Os', "id": "c9", "error": "not valid JSON"}],
        }
    )
    assert words(read.turn) == {"call:0": '{"city": "Os'}
    assert [(call.name, call.id) for call in read.turn.calls] == [("weather", "c9")]


def test_a_role_that_is_the_name_of_a_tool_that_was_called_is_its_result() -> None:
    call: Json = {"id": "c1", "function": {"name": "weather", "arguments": RAW}}
    turns = read_any_messages(
        [
            {"role": "weather", "content": "before any call"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "weather", "content": "rain"},
        ]
    ).turns
    assert [turn.role for turn in turns] == [Role.USER, Role.ASSISTANT, Role.TOOL]
    assert turns[2].result is not None
    assert turns[2].result.call_id == "c1"


@pytest.mark.parametrize("value", [None, [], {}, {"generations": [[]]}, {"generations": []}])
def test_an_answer_that_is_not_there_is_not_stored(value: Json) -> None:
    generation = read_answer_output(value).turn.generation
    assert generation is not None
    assert generation.body is BodyState.NOT_STORED


@pytest.mark.parametrize("text", ["", "plain", "None", '{"answer":  5}', "[1, 2]", "{broken", '"half', "12"])
def test_a_text_that_is_no_answer_of_a_framework_stays_that_text(text: str) -> None:
    assert [part.text for part in read_answer_output(text).turn.parts] == [text]


def test_facts_beside_an_answer_are_read() -> None:
    read = read_answer_output(
        {
            "generations": [[{"text": "Hm", "generation_info": {"finish_reason": "length"}}]],
            "llm_output": {"token_usage": {"prompt_tokens": 4, "completion_tokens": 2}, "model_name": "m-1"},
        }
    )
    known = read.turn.generation
    assert known is not None
    assert (known.finish, known.answered_model) == (FinishReason.LENGTH, "m-1")
    assert (known.usage.input_tokens, known.usage.output_tokens) == (4, 2)


def test_token_counts_may_be_texts_and_lie_a_floor_deeper() -> None:
    usage = usage_of({"input": "7", "output": 3, "output_details": {"reasoning": 2}, "input_cache_read": 1})
    assert (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens, usage.cached_tokens) == (7, 3, 2, 1)


@pytest.mark.parametrize(
    ("words_", "phase", "status"),
    [
        ("RateLimitError: Error code: 429 - {}", ErrorPhase.HTTP, 429),
        ("Connection error.", ErrorPhase.TRANSPORT, None),
        ("I counted 500 sheep", ErrorPhase.TRANSPORT, None),
    ],
)
def test_an_error_names_its_status(words_: str, phase: ErrorPhase, status: int | None) -> None:
    error = failure(words_)
    assert (error.phase, error.status, error.message) == (phase, status, words_)


@pytest.mark.parametrize(
    "tools",
    [
        [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}],
        [json.dumps({"type": "function", "name": "weather", "inputSchema": {"type": "object"}})],
        json.dumps([{"name": "weather", "input_schema": {"type": "object"}}]),
        {"weather": {"name": "weather", "parameters": {"type": "object"}}},
        [{"function_declarations": [{"name": "weather", "parameters": {"type": "object"}}]}],
    ],
)
def test_tools_are_the_same_in_every_shape(tools: Json) -> None:
    assert [(tool.name, tool.parameters) for tool in read_tool_list(tools)] == [("weather", {"type": "object"})]


@pytest.mark.parametrize(
    ("output", "text", "call_id", "failed"),
    [
        ("rain", "rain", "", None),
        ('{"a":  1}', '{"a":  1}', "", None),
        ({"a": 1}, '{"a":1}', "", None),
        (None, None, "", None),
        ({"output": "rain"}, "rain", "", None),
        ({"content": [{"type": "text", "text": "rain"}], "isError": True}, "rain", "", True),
        (
            {"type": "tool", "content": "rain", "tool_call_id": "c1", "status": "error", "name": "w"},
            "rain",
            "c1",
            True,
        ),
    ],
)
def test_what_a_tool_gave_is_read(output: Json, text: str | None, call_id: str, failed: bool | None) -> None:
    given = read_tool_output(output)
    assert (given.text, given.call_id, given.failed) == (text, call_id, failed)


def test_a_message_shown_by_python_keeps_its_quotes_and_its_calls() -> None:
    shown = message_shown(
        "role='assistant' content=\"It's \\n 'so'\" name=None tool_call_id=None "
        "tool_calls=[{'id': 'c1', 'function': {'name': 'f', 'arguments': '{\"a\": [1]}'}}] audio=None"
    )
    assert shown is not None
    assert shown["content"] == "It's \n 'so'"
    (turn,) = read_any_messages(shown).turns
    assert words(turn)["call:0"] == '{"a": [1]}'


@pytest.mark.parametrize(
    "text",
    ["role='x'", "role=" + "'" * 5000, "role='a' content=" + "('" * 3000, "roles", "role='a' content='" + "\\" * 4999],
)
def test_what_python_does_not_show_so_is_no_message(text: str) -> None:
    assert message_shown(text) is None


def span(id_: str, parent: str, asked: Json, answer: Json) -> TracedSpan:
    read = read_answer_output(answer)
    request = DecodedRequest("", "", read_request_input(asked, KnownMessages()).turns)
    return TracedSpan(id_, parent, OperationKind.MODEL, call=ModelCall(request, read.turn))


def test_joined_messages_and_pythons_none_give_way_to_the_span_around() -> None:
    outer = span("a", "", ASKED["openai"], ANSWERS["openai"])
    inner = span("b", "a", "system: Be brief.\nuser: Rain?", "None")
    kept, bare = without_flattened([outer, inner])
    assert kept == outer
    assert bare.call is not None
    assert bare.call.request.turns == ()
    assert words(bare.call.answer) == {}


def test_joined_messages_and_none_stay_where_nothing_else_was_kept() -> None:
    alone = span("b", "a", "system: Be brief.\nuser: Rain?", "None")
    assert without_flattened([alone]) == [alone]


def test_what_langsmith_wrote_in_place_of_messages_is_no_message() -> None:
    assert read_request_input({"content": "role"}, KnownMessages()).turns == ()
    assert read_request_input({"role": "user", "content": "role"}, KnownMessages()).turns != ()


def test_a_message_that_came_before_is_the_same_turn() -> None:
    known = KnownMessages()
    first, second = known.read(ASKED["openai"]).turns, known.read(ASKED["openai"]).turns
    assert all(one is other for one, other in zip(first, second, strict=True))


@pytest.mark.parametrize(
    "begin", ['{"input":', "[", '{"content":{"parts":[{"x":1}],"content":', '{"output":', '{"lc":1,"kwargs":']
)
@pytest.mark.parametrize("depth", [60, 900, 50_000])
def test_what_is_nested_without_end_raises_nothing(begin: str, depth: int) -> None:
    ends = "".join({"{": "}", "[": "]"}.get(sign, "") for sign in reversed(begin.replace('[{"x":1}]', "")))
    text = begin * depth + "1" + ends * depth
    read_request_input(text, KnownMessages())
    read_tool_output(text)
    assert read_answer_output(text).turn.parts
    assert unwrapped_json(text)[1] in (text, None)


def test_a_run_in_a_message_of_a_user_interface_is_a_call_and_its_result() -> None:
    parts: list[Json] = [
        {"type": "step-start"},
        {"type": "text", "text": "I look."},
        {
            "type": "tool-weather",
            "toolCallId": "c1",
            "state": "output-available",
            "input": {"city": "Oslo"},
            "output": "4 degrees",
        },
        {"type": "step-start"},
        {"type": "text", "text": "4 degrees."},
    ]
    messages: Json = [{"role": "user", "content": "Oslo?"}, {"role": "assistant", "parts": parts}]
    turns = read_request_input({"messages": messages}, KnownMessages()).turns
    assert [turn.role for turn in turns] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
    assert [(call.id, call.name) for call in turns[1].calls] == [("c1", "weather")]
    assert turns[2].parts[0].text == "4 degrees"
