"""Requests in OpenAI's shape: every message a turn, every tool a definition, whatever they are."""

import json

import pytest
from hypothesis import given

from tests.strategies import json_values
from weaklink.inspector.apis.openai.messages import read_message, read_messages, read_tools
from weaklink.inspector.model import CallHeader, Json, ResultHeader, Role, ToolDefinition

FUNCTION: Json = {"name": "f", "description": "Does f.", "parameters": {"type": "object"}}


@pytest.mark.parametrize(
    ("message", "role", "parts"),
    [
        ({"role": "system", "content": "Be brief."}, Role.SYSTEM, {"text": "Be brief."}),
        ({"role": "developer", "content": ""}, Role.SYSTEM, {"text": ""}),
        ({"role": "user", "content": [{"type": "text", "text": "a"}, "b"]}, Role.USER, {"text": "ab"}),
        (
            {
                "role": "user",
                "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "x"}}],
            },
            Role.USER,
            {"text": "a", "content:1": '{"type":"image_url","image_url":{"url":"x"}}'},
        ),
        (
            {"role": "assistant", "content": None, "reasoning_content": "Hm.", "reasoning": "Hm.", "refusal": "No."},
            Role.ASSISTANT,
            {"reasoning": "Hm.", "refusal": "No."},
        ),
        (
            {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "output_text", "text": "A"}],
            },
            Role.ASSISTANT,
            {"reasoning": "Hm.", "text": "A"},
        ),
        ({"role": "assistant", "content": None}, Role.ASSISTANT, {"text": ""}),
        ({"role": "tool", "content": {"temp": 18}}, Role.TOOL, {"content:0": '{"temp":18}'}),
        ({"role": "wizard", "content": "a"}, Role.USER, {"text": "a"}),
        (5, Role.USER, {"wire:unread": "5"}),
    ],
)
def test_a_message_becomes_a_turn(message: Json, role: Role, parts: dict[str, str]) -> None:
    turn = read_message(message)
    assert turn.role is role
    assert {part.name: part.text for part in turn.parts} == parts
    assert turn.source_role == (message["role"] if isinstance(message, dict) else "")


def test_calls_keep_the_exact_text_of_their_arguments() -> None:
    calls: Json = [
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1,}'}},
        {"function": {"name": "g", "arguments": {"a": "é"}}},
        {"id": "c3", "function": {"name": "h"}},
        "f()",
    ]
    turn = read_message({"role": "assistant", "tool_calls": calls, "function_call": {"name": "old", "arguments": "{}"}})
    assert [part.text for part in turn.parts] == ['{"a": 1,}', '{"a":"é"}', "", '"f()"', "{}"]
    assert turn.calls == (
        CallHeader("call:0", "f", "c1"),
        CallHeader("call:1", "g"),
        CallHeader("call:2", "h", "c3"),
        CallHeader("call:3", None),
        CallHeader("call:4", "old"),
    )


def test_a_result_says_what_it_answers() -> None:
    turn = read_message({"role": "tool", "tool_call_id": "c1", "name": "f", "content": "18", "is_error": True})
    assert turn.result == ResultHeader("c1", "f", True)
    assert read_message({"role": "function", "name": "f", "content": "18"}).result == ResultHeader(None, "f")
    assert read_message({"role": "user", "content": "18"}).result is None


@pytest.mark.parametrize(
    "tools",
    [
        [{"type": "function", "function": FUNCTION}],
        [FUNCTION],
        [{"name": "f", "description": "Does f.", "input_schema": {"type": "object"}}],
        json.dumps([{"type": "function", "function": FUNCTION}]),
    ],
)
def test_tools_of_every_shape_are_read(tools: Json) -> None:
    (tool,) = read_tools(tools)
    assert (tool.name, tool.description, tool.parameters) == ("f", "Does f.", {"type": "object"})
    assert read_tools(None, [FUNCTION])[0].name == "f"


def test_a_tool_of_no_known_shape_is_kept() -> None:
    assert read_tools([{"type": "web_search"}, 5, "x"]) == (
        ToolDefinition("web_search", raw='{"type":"web_search"}'),
        ToolDefinition("", raw="5"),
        ToolDefinition("", raw="x"),
    )
    assert read_tools("not json") == (ToolDefinition("", raw="not json"),)
    assert read_tools(None) == ()


def test_the_same_tools_are_the_same_definitions_and_what_only_python_takes_for_equal_is_not() -> None:
    def offered(default: Json) -> list[Json]:
        return [{"name": "f", "parameters": {"type": "object", "default": default}}]

    assert read_tools(offered(1)) is read_tools(offered(1))
    assert read_tools([{"name": "g"}, *offered(1)])[1] is read_tools(offered(1))[0]  # in another list too
    told = [read_tools(offered(default))[0].raw for default in (1, True, 1.0, None, float("inf"), "1")]
    assert len(set(told)) == 6


def test_a_value_too_deep_for_python_does_no_harm() -> None:
    deep: Json = []
    for _ in range(100_000):
        deep = [deep]
    assert read_message({"role": "user", "content": deep}).parts
    assert read_tools(deep)


@pytest.mark.invariants
@given(messages=json_values(), member=json_values())
def test_no_value_raises(messages: Json, member: Json) -> None:
    read_messages(messages)
    read_tools(messages, member)
    for key in ("role", "content", "tool_calls", "function_call", "reasoning", "refusal", "tool_call_id", "is_error"):
        turn = read_message({"role": "tool", key: member})
        assert turn.parts
        assert all(turn.part(call.part) for call in turn.calls)
