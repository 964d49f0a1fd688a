"""D720, and what else spoils an answer by itself: access denied in spite of a result, and swapped results."""

import json
from typing import Any

import pytest

from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.dataset.lint.damaged_texts import damaged_answers
from weaklink.inspector.dataset.lint.linting import lint_sample
from weaklink.inspector.dataset.rendering import render_sample
from weaklink.inspector.dataset.samples import read_sample
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.model import Json

TOOL = {
    "name": "get_weather",
    "description": "Weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def codes(*messages: dict[str, Any]) -> list[str]:
    row: dict[str, Any] = {"messages": list(messages), "tools": [TOOL]}
    return [diagnostic.rule.code for diagnostic in lint_sample(read_sample(DataRow("a", "line 1", 1, row)))]


def answered(answer: str, asked: str = "How is it in Oslo?", result: str = '{"celsius": 17}') -> list[str]:
    call = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
    return codes(
        {"role": "user", "content": asked},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": result},
        {"role": "assistant", "content": answer},
    )


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("It is None degrees in Oslo.", ["D720"]),
        ("The wind: NaN.", ["D720"]),
        ("None of the stations reports snow.", []),
        ("Use `None` for it, and the code prints `x is None degrees`.", []),
        ("In this city there is a wind that comes from the", ["D720"]),
        ("You can now sign in", []),
        ("It is 17 degrees in the cafÃ© of Oslo.", ["D720"]),
        ("It is 17 degrees â€” no, 17 degrees itâ€™s.", ["D720"]),
        ("SÃO PAULO is warmer; Â is a letter.", []),
        ("It is 17 degrees in Oslo now.\n" * 5, ["D720"]),
        ("It is 17 degrees in Oslo now.\n" * 3, []),
        ("I'm sorry, as an AI language model I cannot check the weather.", ["D710"]),
        ("I don't have real-time access to the weather.", ["D710"]),
        ('It is 17 degrees.\nObservation: {"celsius": 17}', ["D713"]),
        ("Observation of the sky: it is clear, with 17 degrees.", []),
    ],
)
def test_an_answer_that_was_damaged_or_denies_its_result_is_found(answer: str, expected: list[str]) -> None:
    assert answered(answer) == expected


def test_without_a_result_an_answer_may_say_that_there_is_no_access() -> None:
    said = "I don't have access to the weather there."
    assert codes({"role": "user", "content": "How is it on Mars?"}, {"role": "assistant", "content": said}) == []


def test_what_the_user_wrote_is_no_damage() -> None:
    assert answered("Your text has Ã© and a NaN.", asked="What is wrong in `cafÃ©` and NaN in Oslo?") == []


@pytest.mark.parametrize(("is_swapped", "expected"), [(True, ["D706"]), (False, [])])
def test_results_in_each_others_place_are_a_fault(is_swapped: bool, expected: list[str]) -> None:
    cities = ["Oslo", "Rome"]
    calls = [
        {"id": city, "type": "function", "function": {"name": "get_weather", "arguments": json.dumps({"city": city})}}
        for city in cities
    ]
    results = [
        {"role": "tool", "tool_call_id": call_id, "content": json.dumps({"city": city, "sky": "clear"})}
        for call_id, city in zip(cities, reversed(cities) if is_swapped else cities, strict=True)
    ]
    user = {"role": "user", "content": "Compare Oslo and Rome."}
    answer = {"role": "assistant", "content": "Both are clear."}
    assert codes(user, {"role": "assistant", "content": None, "tool_calls": calls}, *results, answer) == expected


@pytest.mark.parametrize(
    ("asked", "argument", "expected"),
    [
        ("Find fish & chips in Oslo.", "fish &amp; chips", ["D720"]),
        ("Find fish &amp; chips in Oslo.", "fish &amp; chips", []),
        ("Find the cafés of Oslo.", "cafÃ©s", ["D720"]),
        ("Save this page about Oslo.", "<p>fish &amp; chips</p>", []),
        ("Open the page of Oslo.", "https://a.no/?a=1&amp;b=2", []),
    ],
)
def test_an_argument_that_was_damaged_is_found(asked: str, argument: str, expected: list[str]) -> None:
    call = {"name": "get_weather", "arguments": json.dumps({"city": argument}, ensure_ascii=False)}
    message = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": call}]}
    assert [code for code in codes({"role": "user", "content": asked}, message) if code != "T404"] == expected


@pytest.mark.parametrize("value", [None, ["a", None], {"b": None}])
@pytest.mark.parametrize("format", ["pythonic", "llama3", "react"])
def test_what_a_program_writes_for_no_value_is_right_in_a_call_in_its_syntax(format: str, value: Json) -> None:
    row: dict[str, Json] = {
        "messages": [
            {"role": "user", "content": "Which of them are open?"},
            {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1, "x": value}}}]},
            {"role": "tool", "content": "none"},
            {"role": "assistant", "content": "None."},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
    }
    (rendered,) = render_sample(read_sample(DataRow("f", "line 1", 1, row)), [find_format(format)])
    sample = read_sample(DataRow("f", "line 1", 1, rendered.value), format=format)
    assert [step.call.arguments for step in sample.inspection.chain.steps] == [{"a": 1, "x": value}]
    assert list(damaged_answers(sample)) == []
