"""Rendering: one scenario in every format and layout, read back with the same calls, or with a word on what is lost."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.dataset.lint.linting import lint_sample
from weaklink.inspector.dataset.rendering import FORMATS, STRUCTURED, RowLayout, read_scenario, render_sample
from weaklink.inspector.dataset.samples import read_sample
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.formats.transcript import read_transcript
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Json

TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"Calls {name}.",
            "parameters": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "count": {"type": "integer"},
                    "ratio": {"type": "number"},
                    "flag": {"type": "boolean"},
                    "items": {"type": "array", "items": {"type": "string"}},
                    "where": {"type": "object"},
                },
            },
        },
    }
    for name in ("search", "get_weather")
]
WORDS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Zs")), min_size=1, max_size=12)
ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "text": WORDS,
        "count": st.integers(-5, 10**6),
        "ratio": st.sampled_from([0.5, 2.25, -1.5]),
        "flag": st.booleans(),
        "items": st.lists(WORDS, max_size=3),
        "where": st.dictionaries(st.sampled_from(["a", "b"]), st.integers(0, 9), max_size=2),
    },
)
CALLS = st.lists(st.tuples(st.sampled_from(["search", "get_weather"]), ARGUMENTS), min_size=1, max_size=2)


def row(steps: list[list[tuple[str, dict[str, Any]]]], *, thinks: bool = False, **more: Any) -> DataRow:
    messages: list[Any] = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Do it."}]
    number = 0
    for calls in steps:
        made = []
        for name, arguments in calls:
            made.append(
                {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            )
            number += 1
        answer: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": made}
        if thinks:
            answer["reasoning_content"] = "I will call it."
        messages.append(answer)
        messages += [{"role": "tool", "tool_call_id": call["id"], "content": '{"ok": true}'} for call in made]
    messages.append({"role": "assistant", "content": "Done."})
    value: dict[str, Any] = {"id": "s1", "messages": messages, "tools": TOOLS, **more}
    return DataRow("a.jsonl", "line 1", 1, value)


def calls_of(value: dict[str, Any], format: str) -> list[tuple[str | None, Json]]:
    sample = read_sample(DataRow("b.jsonl", "line 1", 1, value), format=format)
    return [(step.call.name, step.call.arguments) for step in sample.inspection.chain.steps]


@pytest.mark.parametrize("name", FORMATS)
@given(steps=st.lists(CALLS, min_size=1, max_size=2), thinks=st.booleans())
def test_a_rendered_row_has_the_same_calls_or_says_what_it_lacks(
    name: str, steps: list[list[tuple[str, dict[str, Any]]]], thinks: bool
) -> None:
    given_row = row(steps, thinks=thinks)
    (rendered,) = render_sample(read_sample(given_row), [find_format(name)])
    wanted = [(tool, arguments) for calls in steps for tool, arguments in calls]
    value = dict(rendered.value)
    assert (value["scenario"], value["format"]) == ("s1", name)
    del value["text"]
    if all("reasoning" in note or " id" in note for note in rendered.dropped):
        assert calls_of(value, name) == wanted
    else:
        assert rendered.is_lossy


def test_most_scenarios_survive_every_format() -> None:
    arguments: dict[str, Any] = {"text": "Oslo", "count": 3, "flag": True, "items": ["a", "b"]}
    steps: list[list[tuple[str, dict[str, Any]]]] = [[("search", arguments)], [("get_weather", {})]]
    by_format = {
        rendered_row.format: rendered_row
        for rendered_row in render_sample(read_sample(row(steps)), list(map(find_format, FORMATS)))
    }
    assert set(by_format) == set(FORMATS)
    assert [name for name, rendered_row in by_format.items() if rendered_row.is_lossy] == []
    for name in ("hermes", "qwen", "llama3"):
        transcript = read_transcript(str(by_format[name].value["text"]))
        steps_back = inspect_trace(transcript, format=name).chain.steps
        assert [step.call.name for step in steps_back] == ["search", "get_weather"], name


def test_llama_factory_gets_no_list_of_no_tools() -> None:
    value: dict[str, Json] = {
        "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]
    }
    (rendered,) = render_sample(read_sample(DataRow("f", "line 1", 1, value)), [], RowLayout.LLAMA_FACTORY)
    assert rendered.value["tools"] == ""  # its templates write an empty system turn for "[]"


@pytest.mark.parametrize("layout", RowLayout)
def test_a_sample_without_a_call_still_says_that_none_is_needed(layout: RowLayout) -> None:
    annotation = {"should_call_tool": False, "reason": "It is a greeting.", "steps": []}
    given_row = row([], type="no_tool_call", annotation=annotation)
    targets = [] if layout in STRUCTURED else [find_format("hermes")]
    (rendered,) = render_sample(read_sample(given_row), targets, layout)
    assert rendered.value["annotation"] == {"should_call_tool": False}
    again = read_sample(DataRow("b.jsonl", "line 1", 1, {**rendered.value, "text": None}))
    assert [diagnostic.rule.code for diagnostic in lint_sample(again) if diagnostic.rule.code in ("D701", "D703")] == []


def test_a_format_that_holds_no_reasoning_says_so() -> None:
    steps = [[("search", {"text": "Oslo"})]]
    (lossy,) = render_sample(read_sample(row(steps, thinks=True)), [find_format("llama3")])
    assert lossy.is_lossy
    assert any("reasoning" in note for note in lossy.dropped)


@pytest.mark.parametrize("layout", STRUCTURED)
@given(steps=st.lists(CALLS, min_size=1, max_size=2))
def test_layouts_of_trainers_read_back_with_the_same_calls(
    layout: RowLayout, steps: list[list[tuple[str, dict[str, Any]]]]
) -> None:
    (rendered,) = render_sample(read_sample(row(steps)), [], layout)
    assert calls_of(dict(rendered.value), "auto") == [call for calls in steps for call in calls]
    again = read_sample(DataRow("c.jsonl", "line 1", 1, rendered.value))
    assert [tool.name for tool in again.offered.tools] == ["search", "get_weather"]
    assert read_scenario(again).calls == [call for calls in steps for call in calls]


def test_sharegpt_rows_are_from_and_value_in_the_format_s_own_text() -> None:
    steps = [[("search", {"text": "Oslo"})]]
    (rendered,) = render_sample(read_sample(row(steps)), [find_format("hermes")], RowLayout.SHAREGPT)
    said = rendered.value["conversations"]
    assert isinstance(said, list)
    assert [record["from"] for record in said if isinstance(record, dict)] == ["system", "human", "gpt", "tool", "gpt"]
    assert calls_of(dict(rendered.value) | {"text": None}, "hermes") == [("search", {"text": "Oslo"})]


@pytest.mark.parametrize("name", ["hermes", "qwen", "llama3"])
def test_the_blocks_of_calls_of_anthropic_are_rendered(name: str) -> None:
    used = {"type": "tool_use", "id": "t1", "name": "search", "input": {"text": "Oslo"}}
    returned = {"type": "tool_result", "tool_use_id": "t1", "content": "found"}
    messages: list[Any] = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [{"type": "text", "text": "I go."}, used]},
        {"role": "user", "content": [returned]},
        {"role": "assistant", "content": "Done."},
    ]
    tools: Json = [{"name": "search", "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}}}]
    sample = read_sample(DataRow("a.jsonl", "line 1", 1, {"messages": messages, "tools": tools}))
    (rendered,) = render_sample(sample, [find_format(name)])
    value = dict(rendered.value)
    del value["text"]
    assert calls_of(value, name) == [("search", {"text": "Oslo"})]


def test_words_beside_results_are_rendered_and_images_are_told() -> None:
    used = {"type": "tool_use", "id": "t1", "name": "search", "input": {"text": "Oslo"}}
    returned = {"type": "tool_result", "tool_use_id": "t1", "content": "found"}
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    messages: list[Any] = [
        {"role": "user", "content": [{"type": "text", "text": "What is here?"}, image]},
        {"role": "assistant", "content": [used]},
        {"role": "user", "content": [returned, {"type": "text", "text": "Be brief."}]},
        {"role": "assistant", "content": "Done."},
    ]
    tools: Json = [{"name": "search", "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}}}]
    sample = read_sample(DataRow("a.jsonl", "line 1", 1, {"messages": messages, "tools": tools}))
    (rendered,) = render_sample(sample, [find_format("qwen")])
    said = rendered.value["messages"]
    assert isinstance(said, list)
    assert [message["role"] for message in said if isinstance(message, dict)][1:] == [
        "user",
        "assistant",
        "tool",
        "user",
        "assistant",
    ]
    assert "Be brief." in str(rendered.value["text"])
    assert "Message 1: The block `image_url`: only texts are converted." in rendered.dropped


@pytest.mark.parametrize("layout", STRUCTURED)
def test_a_number_that_json_cannot_express_is_told_in_layouts_with_fields_for_calls(layout: RowLayout) -> None:
    call = {"type": "function", "function": {"name": "search", "arguments": '{"text": 1e400}'}}
    messages: list[Any] = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "I go.", "tool_calls": [call]},
    ]
    sample = read_sample(DataRow("a.jsonl", "line 1", 1, {"messages": messages, "tools": TOOLS}))
    (rendered,) = render_sample(sample, [], layout)
    why = "a number is infinite or not a number, which JSON cannot express, and is written as a text."
    beside = "The text and reasoning next to the calls of 1 message: `function_call` cannot contain them."
    assert rendered.dropped[-1] == f"The exact arguments of a call: {why}"
    assert (beside in rendered.dropped) is (layout is RowLayout.LLAMA_FACTORY)


def test_an_instruction_row_is_a_scenario() -> None:
    call = '<tool_call>\n{"name": "search", "arguments": {"text": "Oslo"}}\n</tool_call>'
    tools: Json = [{"name": "search", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}}]
    value: dict[str, Json] = {"instruction": "Find Oslo.", "input": "", "output": call, "tools": tools}
    (rendered,) = render_sample(read_sample(DataRow("a.jsonl", "line 1", 1, value)), [find_format("llama3")])
    without_text = dict(rendered.value)
    del without_text["text"]
    assert calls_of(without_text, "llama3") == [("search", {"text": "Oslo"})]
    assert not {"instruction", "output"} & without_text.keys()
