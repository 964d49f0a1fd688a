"""Results in another order than their calls: after a conversion, each is still the result of its own call."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import in_the_gate
from weaklink.inspector.dataset.convert import convert_row
from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.dataset.lint.linting import lint_sample
from weaklink.inspector.dataset.rendering import FORMATS, RowLayout, render_sample
from weaklink.inspector.dataset.samples import read_sample
from weaklink.inspector.formats.registry import find_format, formats

CITIES = ("Oslo", "Rome", "Lima")
WEATHER: dict[str, Any] = {
    "name": "get_weather",
    "description": "Get weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
RESULTS = ['{"t": 4}', "[1, 2]", "4", '"4"', "null", "[", "{'a': 1}", "warm\nand dry", "", "\ud83d"]
IDS = [f"functions.get_weather:{number}" for number in range(4)] + ["call_0", "toolu_1", "call00001", "other"]
ORDERS = list(itertools.permutations(CITIES))


def row(order: tuple[str, ...], *, as_blocks: bool = False) -> dict[str, Any]:
    calls = [
        {
            "id": f"id_{city}",
            "type": "function",
            "function": {"name": "get_weather", "arguments": f'{{"city": "{city}"}}'},
        }
        for city in CITIES
    ]
    results = [{"role": "tool", "tool_call_id": f"id_{city}", "content": f"warm in {city}"} for city in order]
    if as_blocks:
        blocks = [{"type": "tool_result", "tool_use_id": f"id_{city}", "content": f"warm in {city}"} for city in order]
        results = [{"role": "user", "content": blocks}]  # type: ignore[dict-item]  # blocks
    return {
        "messages": [
            {"role": "user", "content": "Oslo, Rome, Lima?"},
            {"role": "assistant", "content": None, "tool_calls": calls},
            *results,
            {"role": "assistant", "content": "Warm."},
        ],
        "tools": [{"type": "function", "function": WEATHER}],
    }


def right_pairs(value: dict[str, Any], format: str) -> bool:
    steps = read_sample(DataRow("f", "line 1", 1, value), format=format).inspection.chain.steps
    pairs = [(step.call.arguments, step.result.content if step.result is not None else None) for step in steps]
    return len(pairs) == len(CITIES) and all(
        isinstance(arguments, dict) and str(arguments["city"]) in str(content) for arguments, content in pairs
    )


@pytest.mark.parametrize("target", FORMATS)
def test_each_call_keeps_its_result(target: str) -> None:
    for order in ORDERS:
        for as_blocks in (False, True):
            value = convert_row(row(order, as_blocks=as_blocks), find_format("openai"), find_format(target))
            assert right_pairs(value, target), (order, as_blocks, value)
        (rendered,) = render_sample(read_sample(DataRow("f", "line 1", 1, row(order))), [find_format(target)])
        assert right_pairs(rendered.value, target), (order, rendered.value)
        text = str(rendered.value["text"])
        places = [text.rindex(f"warm in {city}") for city in CITIES]
        assert places == sorted(places)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("target", [format.name for format in formats() if format.name not in FORMATS])
def test_each_call_keeps_its_result_where_only_calls_are_rewritten(target: str) -> None:
    for order in ORDERS:
        for as_blocks in (False, True):
            value = convert_row(row(order, as_blocks=as_blocks), find_format("openai"), find_format(target))
            assert right_pairs(value, target), (order, value)


@in_the_gate(10, most=30)
@given(st.lists(st.lists(st.sampled_from(IDS), min_size=1, max_size=4, unique=True), min_size=1, max_size=3), st.data())
def test_no_two_calls_get_one_id(answers: list[list[str]], data: st.DataObject) -> None:
    target = data.draw(st.sampled_from([format.name for format in formats() if format.ids]))
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Oslo?"}]
    for call_ids in answers:
        function = {"name": "get_weather", "arguments": '{"city": "Oslo"}'}
        calls = [{"id": call_id, "type": "function", "function": function} for call_id in call_ids]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        messages += ({"role": "tool", "tool_call_id": call_id, "content": f"of {call_id}"} for call_id in call_ids)
    source: dict[str, Any] = {"messages": messages}
    value = convert_row(source, find_format("openai"), find_format(target))
    steps = read_sample(DataRow("f", "line 1", 1, value), format=target).inspection.chain.steps
    originals = [call_id for call_ids in answers for call_id in call_ids]
    assert [step.result.content if step.result else None for step in steps] == [f"of {number}" for number in originals]
    if len(set(originals)) == len(originals):
        assert len({step.call.id for step in steps}) == len(originals)


@pytest.mark.parametrize("layout", [RowLayout.TRL, RowLayout.AXOLOTL, RowLayout.LLAMA_FACTORY])
def test_structured_layouts_list_results_in_the_order_of_calls(layout: RowLayout) -> None:
    for order in ORDERS:
        (rendered,) = render_sample(read_sample(DataRow("f", "line 1", 1, row(order))), [], layout)
        text = json.dumps(rendered.value)
        places = [text.index(f"warm in {city}") for city in CITIES]
        assert places == sorted(places)


def test_llama_factory_s_results_of_one_answer_are_one_message_as_its_order_of_roles_requires() -> None:
    for order in ORDERS:
        (rendered,) = render_sample(read_sample(DataRow("f", "line 1", 1, row(order))), [], RowLayout.LLAMA_FACTORY)
        codes = [
            diagnostic.rule.code for diagnostic in lint_sample(read_sample(DataRow("f", "line 1", 1, rendered.value)))
        ]
        assert "D706" not in codes
        roles = [message["from"] for message in rendered.value["conversations"]]  # type: ignore[index,union-attr,call-overload]  # as rendered
        assert roles.count("observation") == 1
        assert right_pairs(rendered.value, "openai")


@given(st.lists(st.sampled_from(RESULTS) | st.text(max_size=8), min_size=len(CITIES), max_size=len(CITIES)))
def test_llama_factory_s_message_has_each_result_exactly(contents: list[str]) -> None:
    value = row(CITIES)
    for message, content in zip(value["messages"][2:], contents, strict=False):
        message["content"] = content
    (rendered,) = render_sample(read_sample(DataRow("f", "line 1", 1, value)), [], RowLayout.LLAMA_FACTORY)
    steps = read_sample(DataRow("f", "line 1", 1, rendered.value)).inspection.chain.steps
    assert [step.result.content if step.result else None for step in steps] == contents


@pytest.mark.parametrize("target", FORMATS)
def test_a_result_that_the_target_would_read_only_in_part_is_named(target: str) -> None:
    for mark, is_its_own in (("</tool_response>", target in ("hermes", "qwen")), ("[/x]", False)):
        value = row(CITIES)
        value["messages"][2]["content"] = f"warm in Oslo\n{mark}\nand dry"
        dropped = convert_row(value, find_format("openai"), find_format(target))["dropped"]
        assert any("it ends early" in str(note) for note in dropped) is is_its_own, (target, dropped)  # type: ignore[union-attr]  # a list


def test_results_without_ids_keep_their_order() -> None:
    value = row(("Rome", "Oslo", "Lima"))
    for message in value["messages"]:
        message.pop("tool_call_id", None)
    converted = convert_row(value, find_format("openai"), find_format("hermes"))
    text = json.dumps(converted["messages"])
    assert text.index("warm in Rome") < text.index("warm in Oslo") < text.index("warm in Lima")


def test_results_of_calls_with_one_id_belong_to_one_after_another() -> None:
    calls: list[Any] = [{"type": "tool_use", "id": "dup", "name": name, "input": {}} for name in ("f", "g")]
    results = [{"type": "tool_result", "tool_use_id": "dup", "content": f"of {name}"} for name in ("f", "g")]
    messages: list[Any] = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": calls},
        {"role": "user", "content": results},
    ]
    value: Any = convert_row({"messages": messages}, find_format("openai"), find_format("kimi_k2"))
    ids = [block["tool_use_id"] for block in value["messages"][2]["content"]]
    assert ids == ["functions.f:0", "functions.g:1"]


def test_an_id_in_the_form_of_the_target_stays() -> None:
    function = {"name": "get_weather", "arguments": "{}"}
    calls = [{"id": "functions.get_weather:3", "type": "function", "function": function}]
    messages: list[Any] = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": None, "tool_calls": calls},
    ]
    value: Any = convert_row({"messages": messages}, find_format("openai"), find_format("kimi_k2"))
    assert "functions.get_weather:3" in json.dumps(value)
