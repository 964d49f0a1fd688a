"""Rows of training data rewritten: conversations keep their shape, and everything that is not converted."""

import json
from typing import Any

import pytest

from weaklink.inspector.dataset.convert import convert_row
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.registry import find_format, formats
from weaklink.inspector.formats.templates.chatml import HERMES_TEMPLATE, present_tools
from weaklink.inspector.formats.templates.registry import find_template
from weaklink.inspector.model import Json, ToolDefinition
from weaklink.inspector.segmentation import segment

HERMES, PHI4 = find_format("hermes"), find_format("phi4")
TOOL = ToolDefinition("f", "Does it.", {"type": "object", "properties": {"a": {"type": "integer"}}})
OFFERED = [{"type": "function", "function": {"name": "f", "description": "Does it.", "parameters": TOOL.parameters}}]
CALLS = "\n".join(f'<tool_call>\n{{"name": "f", "arguments": {{"a": {a}}}}}\n</tool_call>' for a in (1, 2))
SHAREGPT: dict[str, Any] = {
    "id": "row",
    "conversations": [
        {"from": "system", "value": f"Be brief.\n{present_tools([TOOL])}\nBe kind."},
        {"from": "human", "value": "Go.", "weight": 0},
        {"from": "gpt", "value": f"I go.\n{CALLS}", "weight": 1},
        {"from": "tool", "value": "<tool_response>\none\n</tool_response>\n<tool_response>\ntwo\n</tool_response>"},
        {"from": "gpt", "value": "Done."},
    ],
    "source": {"of": "it"},
}
OPENAI: dict[str, Any] = {
    "messages": [
        {"role": "user", "content": "Go."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "assistant", "content": "Done."},
    ],
    "tools": OFFERED,
}
WITH_TEMPLATE = [form for form in formats() if find_template(form) is not None]


def converted(row: dict[str, Any], target: Format, source: Format | None = HERMES) -> dict[str, Any]:
    before = json.dumps(row)
    result: dict[str, Any] = convert_row(row, source, target)
    assert json.dumps(row) == before
    return result


@pytest.mark.parametrize("target", formats(), ids=lambda form: form.name)
def test_a_sharegpt_row_keeps_its_shape_in_every_format(target: Format) -> None:
    row = converted(SHAREGPT, target)
    assert (row["id"], row["source"]) == ("row", {"of": "it"})
    messages = row["conversations"]
    assert messages[1] == SHAREGPT["conversations"][1]
    assert all(set(message) <= {"from", "value", "weight"} for message in messages)
    answer = next(message for message in messages if message["from"] == "gpt")
    assert answer["weight"] == 1
    read = segment(answer["value"], target.name, tools=[TOOL]).calls
    assert [(call.name, call.arguments) for call in read] == [("f", {"a": 1}), ("f", {"a": 2})]
    assert isinstance(row["dropped"], list)


@pytest.mark.parametrize("target", WITH_TEMPLATE, ids=lambda form: form.name)
def test_results_and_tools_are_told_as_the_family_does(target: Format) -> None:
    template = find_template(target)
    assert template is not None
    row = converted(SHAREGPT, target)
    results = [message["value"] for message in row["conversations"] if message["from"] == "tool"]
    assert "one" in results[0]
    assert len(results) == (1 if template.shares_turn else 2)
    system = row["conversations"][0]["value"]
    assert system.startswith("Be brief.")
    assert system.endswith("Be kind.")
    if template.offered is None and target.name != "hermes":
        assert template.tools([TOOL]).split("\n")[0] in system
        assert "pydantic model json schema" not in system
    if template.offered is not None:
        assert row["tools"] == template.offered([TOOL])


@pytest.mark.parametrize("target", WITH_TEMPLATE, ids=lambda form: form.name)
def test_structured_calls_are_written_and_their_results_told(target: Format) -> None:
    template = find_template(target)
    assert template is not None
    row = converted(OPENAI, target)
    said = [message for message in row["messages"] if message["role"] in ("assistant", "model")]
    text = said[0]["content"] if template.answer is None else json.dumps(said[0])
    read = segment(text, target.name, tools=[TOOL]).calls
    assert [(call.name, call.arguments) for call in read] == [("f", {"a": 1})]
    if template.answer is None:
        assert row["messages"][0]["role"] == "system"
        assert all("tool_calls" not in message for message in row["messages"])


def test_from_openai_messages_into_hermes_every_line_is_as_hermes_has_it() -> None:
    row = converted(OPENAI, HERMES)
    assert [message["content"] for message in row["messages"]] == [
        HERMES_TEMPLATE.tools([TOOL]),
        "Go.",
        '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>',
        "<tool_response>\none\n</tool_response>",
        "Done.",
    ]
    assert row["dropped"] == ["Message 2: The id `c1`: `hermes` has no ids."]
    assert "scratch_pad" not in row["messages"][0]["content"]  # no answer of the row uses one


def test_a_block_of_tools_that_is_not_the_familys_own_is_replaced_and_told() -> None:
    definition = json.dumps(OFFERED[0])
    system = f"Call like <tool_call>.\n<tools>\n{definition}\n</tools>"
    row = {"messages": [{"role": "system", "content": system}, {"role": "user", "content": "Go."}]}
    qwen = find_template(HERMES)
    assert qwen is not None
    told = converted(row, PHI4)["dropped"]
    assert told == ["How `phi4` presents tools: unknown to weaklink; the system turn is unchanged."]


def test_a_conversation_in_its_own_format_keeps_its_system_turn() -> None:
    row = converted(SHAREGPT, HERMES)
    assert row["conversations"] == SHAREGPT["conversations"]
    assert row["dropped"] == []


def test_a_format_without_a_known_template_leaves_results_and_says_so() -> None:
    row = converted(SHAREGPT, PHI4)
    assert row["conversations"][3] == SHAREGPT["conversations"][3]
    assert "How `phi4` presents results: unknown to weaklink; their texts are unchanged." in row["dropped"]


def test_a_malformed_call_is_told_with_its_message() -> None:
    value = '<tool_call>\n{"name": "f", "arguments": {"a": 1,}}\n</tool_call>'
    row = converted({"conversations": [{"from": "gpt", "value": value}]}, HERMES)
    assert row["dropped"] == ["Message 1: The call at 12..49 was malformed (J104) and was repaired."]


def test_auto_finds_the_format_of_a_row() -> None:
    row = converted({"text": CALLS, "prompt": "x"}, PHI4, None)
    assert row == {
        "text": 'functools[{"name": "f", "arguments": {"a": 1}}, {"name": "f", "arguments": {"a": 2}}]',
        "dropped": [],
    }


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({}, "expected `text`, or a list"),
        ({"text": 5}, "`text` must be a string"),
        ({"text": None}, "expected `text`, or a list"),
        ({"text": "a", "prompt": 5}, "`prompt` must be a string"),
        ({"text": "a", "messages": []}, "both `text` and `messages`"),
        ({"messages": []}, "`messages` contains no messages"),
        ({"messages": ["a"]}, "`messages` contains no messages"),
        ({"messages": "a"}, "expected `text`, or a list"),
    ],
)
def test_a_row_that_cannot_be_read_says_why(row: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        convert_row(row, HERMES, HERMES)


@pytest.mark.parametrize("odd", [None, 5, "a", [], {}, {"role": 5}, {"role": "assistant", "content": {"a": 1}}])
@pytest.mark.parametrize("target", formats(), ids=lambda form: form.name)
def test_odd_messages_are_no_reason_to_raise(target: Format, odd: object) -> None:
    row = converted({"messages": [{"role": "user", "content": "Go."}, odd]}, target)
    assert row["messages"][0]["content" if "content" in row["messages"][0] else "parts"] == "Go."


LLAMA_FACTORY: dict[str, Any] = {
    "conversations": [
        {"from": "human", "value": "Go."},
        {
            "from": "function_call",
            "value": '<think>One, then two.</think>[{"name": "f", "arguments": {"a": 1}},'
            ' {"name": "f", "arguments": {"a": 2}}]',
            "weight": 0,
        },
        {"from": "observation", "value": '["one", "two"]'},
        {"from": "gpt", "value": "Done."},
    ],
    "tools": json.dumps([OFFERED[0]["function"]]),
}


def test_the_turns_of_calls_of_llama_factory_are_answers_in_the_target_format() -> None:
    converted = convert_row(LLAMA_FACTORY, None, find_format("qwen"))
    turns: Any = converted["conversations"]
    assert [turn["from"] for turn in turns] == ["system", "human", "gpt", "observation", "gpt"]
    assert turns[2] == {"from": "gpt", "value": f"<think>\nOne, then two.\n</think>\n\n{CALLS}", "weight": 0}
    read = segment(turns[2]["value"], "qwen")
    assert [call.arguments for call in read.calls] == [{"a": 1}, {"a": 2}]
    assert converted["dropped"] == []


def test_a_turn_of_calls_that_cannot_be_read_is_kept_as_it_is_written() -> None:
    broken: list[Json] = [{"from": "human", "value": "Go."}, {"from": "function_call", "value": "f a=1"}]
    converted = convert_row({**LLAMA_FACTORY, "conversations": broken}, None, find_format("qwen"))
    turns: Any = converted["conversations"]
    assert turns[-1] == {"from": "gpt", "value": "f a=1"}
    assert converted["dropped"] == ["Message 2: `call:0` could not be parsed and was kept as raw text."]


ANTHROPIC: dict[str, Any] = {
    "tools": [{"name": "f", "description": "Does it.", "input_schema": TOOL.parameters}],
    "messages": [
        {"role": "user", "content": "Go."},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "One, then two.", "signature": "s"},
                {"type": "text", "text": "I go."},
                {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}},
                {"type": "tool_use", "id": "t2", "name": "f", "input": {"a": 2}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t2", "content": "two"},
                {"type": "tool_result", "tool_use_id": "t1", "content": "one"},
            ],
        },
        {"role": "assistant", "content": "Done."},
    ],
}


def test_the_blocks_of_calls_of_anthropic_are_calls_in_the_target_format() -> None:
    converted = convert_row(ANTHROPIC, None, find_format("qwen"))
    messages: Any = converted["messages"]
    answer = next(message["content"] for message in messages if message["role"] == "assistant")
    assert answer == f"<think>\nOne, then two.\n</think>\n\nI go.\n{CALLS}"
    results = [message["content"] for message in messages if message["role"] == "tool"]
    assert [word for text in results for word in text.split() if not word.startswith("<")] == ["one", "two"]
    assert converted["dropped"] == ["Message 2: The ids `t1`, `t2`: `qwen` has no ids."]


@pytest.mark.parametrize("target", formats(), ids=lambda form: form.name)
def test_the_users_words_beside_results_are_kept(target: Format) -> None:
    asked, called, returned, answer = ANTHROPIC["messages"]
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    pictured = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "one"}, image]}
    words = {"type": "text", "text": "Please be brief."}
    blocks = [returned["content"][0], pictured, words]
    row = {**ANTHROPIC, "messages": [asked, called, {"role": "user", "content": blocks}, answer]}
    converted = convert_row(row, None, target)
    assert "Please be brief." in json.dumps(converted["messages"])
    is_told = "Message 3: The block `image`: only texts are converted." in json.dumps(converted["dropped"])
    assert is_told is (find_template(target) is not None)


def test_a_number_that_json_cannot_express_is_told_as_that() -> None:
    message = OPENAI["messages"][1]
    called = {**message["tool_calls"][0], "function": {"name": "f", "arguments": '{"a": 1e400}'}}
    row = {**OPENAI, "messages": [OPENAI["messages"][0], {**message, "tool_calls": [called]}]}
    told = converted(row, HERMES)["dropped"]
    why = "a number is infinite or not a number, which JSON cannot express, and is written as a text."
    assert f"Message 2: The exact arguments of the call of `f` at 0..12: {why}" in told


@pytest.mark.parametrize("member", ["completion", "output", "response"])
def test_a_raw_output_is_converted_in_its_own_member_and_keeps_its_prompt(member: str) -> None:
    row = converted({"id": 1, "prompt": "Go.", member: CALLS, "tools": OFFERED}, find_format("llama3"), None)
    assert list(row) == ["id", "prompt", member, "tools", "dropped"]
    assert row["prompt"] == "Go."
    assert [call.arguments for call in segment(row[member], "llama3").calls][:1] == [{"a": 1}]


def test_a_prompt_in_a_chat_template_is_told() -> None:
    prompt = "<|im_start|>user\nGo.<|im_end|>\n<|im_start|>assistant\n"
    row = converted({"prompt": prompt, "completion": CALLS}, find_format("mistral"), HERMES)
    assert row["prompt"] == prompt
    assert "`prompt`: it is in a chat template, and unchanged." in row["dropped"]
