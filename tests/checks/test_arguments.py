"""Arguments against schemas: verdicts keyword by keyword, places, and tools of every origin."""

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import CallHeader, Generation, Part, Role, ToolDefinition, Trace, Turn
from weaklink.inspector.segmentation import Segmentation, Segmenter, segment

CASES = Path(__file__).parents[1] / "cases" / "schema"
CITY: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def rows() -> list[Any]:
    files = sorted(CASES.glob("*.jsonl"))
    return [
        pytest.param(json.loads(line), id=f"{path.stem}-{number}")
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    ]


def called(arguments: object, parameters: Any, name: str = "f") -> Segmentation:
    text = f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"
    return segment(text, "hermes", tools=[ToolDefinition("f", parameters=parameters)])


def codes(segmentation: Segmentation) -> list[str]:
    return [diagnostic.rule.code for diagnostic in segmentation.diagnostics]


@pytest.mark.parametrize("row", rows())
def test_a_keyword_is_checked_as_the_specification_says(row: dict[str, Any]) -> None:
    parameters = {"type": "object", "properties": {"v": row["schema"]}, "$defs": row.get("defs", {})}
    segmentation = called({"v": row["value"]}, parameters)
    assert codes(segmentation) == row["codes"]
    assert all((diagnostic.fault.path or "").startswith("/v") for diagnostic in segmentation.diagnostics)
    is_valid = jsonschema.Draft202012Validator(parameters).is_valid({"v": row["value"]})
    assert is_valid == (not [code for code in row["codes"] if code != "S209"])


_NUMBERS = {"type": "array", "items": {"type": "integer"}, "minItems": 1}


@pytest.mark.parametrize(
    ("schema", "value", "hint"),
    [
        ({"type": "string"}, None, None),  # it is required, so it cannot be omitted
        (_NUMBERS, "1,2", None),
        (_NUMBERS, "12", "Write `[12]`."),
        (_NUMBERS, "[1, 2]", "Write `[1, 2]`."),
        ({"type": "array", "items": {"type": "string"}}, 5, 'Write `["5"]`.'),
        ({"type": "array", "items": {"$ref": "#/$defs/city"}}, "Oslo", 'Write `["Oslo"]`.'),
        ({"type": "array", "items": {"$ref": "#/$defs/city"}}, "Rome", None),
        ({"type": "string", "enum": ["a", "b"]}, 7, None),
        ({"type": "string", "enum": ["7", "8"]}, 7, 'Write `"7"`.'),
        ({"type": "integer", "maximum": 5}, "9", None),
        ({"type": "object", "required": ["a"]}, '{"a": 1}', 'Write `{"a": 1}`.'),
    ],
)
def test_a_hint_names_only_what_fits(schema: Any, value: object, hint: str | None) -> None:
    parameters = {
        "type": "object",
        "properties": {"v": schema},
        "required": ["v"],
        "$defs": {"city": {"const": "Oslo"}},
    }
    fault = next(
        diagnostic.fault
        for diagnostic in called({"v": value}, parameters).diagnostics
        if diagnostic.rule.code == "S202"
    )
    assert fault.hint == hint
    assert (fault.fix is None) == (hint is None)


def test_what_nothing_requires_may_be_omitted() -> None:
    parameters = {"type": "object", "properties": {"v": {"type": "string"}}}
    (diagnostic,) = called({"v": None}, parameters).diagnostics
    assert diagnostic.fault.hint == "Omit `v` if it has no value."


def test_pieces_give_what_the_whole_gives_and_faults_come_with_their_call() -> None:
    text = '<tool_call>{"name": "f", "arguments": {"city": 5}}</tool_call>\n<tool_call>{"name": "g"}</tool_call>'
    tools = [ToolDefinition("f", parameters=CITY)]
    segmenter = Segmenter("hermes", tools=tools)
    told = []
    for character in text:
        segmenter.feed(character)
        calls, faults = segmenter.take()
        told += [(len(calls), fault.rule.code) for fault in faults]
    segmenter.close()
    assert told == [(1, "S202"), (1, "T401")]
    assert segmenter.segmentation(text) == segment(text, "hermes", tools=tools)


def test_structured_calls_are_checked_and_a_bad_definition_is_told_once() -> None:
    tools = (ToolDefinition("f", parameters={"city": {"type": "string"}}),)
    turn = Turn(
        Role.ASSISTANT,
        (Part("call:0", '{"city": 5}'), Part("call:1", '{"city": "Oslo"}')),
        calls=(CallHeader("call:0", "f", "1"), CallHeader("call:1", "f", "2")),
        generation=Generation(tools=tools),
    )
    diagnostics = inspect_trace(Trace((turn, turn)), format="hermes").diagnostics
    told = [
        (diagnostic.location.turn, diagnostic.location.part, diagnostic.rule.code)
        for diagnostic in diagnostics
        if diagnostic.rule.code[0] == "S"
    ]
    assert told == [(1, "call:0", "S207"), (1, "call:0", "S202"), (2, "call:0", "S202")]


def test_alternatives_that_python_takes_for_equal_are_two() -> None:
    either = {"type": "object", "properties": {"v": {"anyOf": [{"const": 1}, {"const": True}, {"const": 1}]}}}
    (diagnostic,) = called({"v": "x"}, either).diagnostics
    assert diagnostic.fault.message == '`"x"` is not allowed for `/v`; expected one of `1`, `true`.'


def test_without_tools_nothing_is_said() -> None:
    segmentation = segment('<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>', "hermes")
    assert not segmentation.diagnostics


def test_a_broken_list_of_tools_makes_no_tool_unknown() -> None:
    text = (
        '<|im_start|>system\n<tools>[{"name": "f"}, {"name": "g", "parameters": {]</tools><|im_end|>\n'
        '<|im_start|>assistant\n<tool_call>{"name": "g", "arguments": {}}</tool_call>'
    )
    assert "T401" not in codes(segment(text, "hermes"))


def test_an_array_for_a_tool_that_takes_one_is_checked_by_its_schema() -> None:
    takes_array = ToolDefinition("f", parameters={"type": "array", "items": {"type": "integer"}})
    segmentation = segment(
        '<tool_call>\n{"name": "f", "arguments": [1, 2]}\n</tool_call>', "hermes", tools=[takes_array]
    )
    assert [(call.arguments, call.valid) for call in segmentation.calls] == [([1, 2], True)]
    assert not segmentation.diagnostics
    wrong = segment('<tool_call>\n{"name": "f", "arguments": [1, "x"]}\n</tool_call>', "hermes", tools=[takes_array])
    assert [diagnostic.rule.code for diagnostic in wrong.diagnostics] == ["S202"]
    takes_object = ToolDefinition("f", parameters={"type": "object", "properties": {}})
    other = segment('<tool_call>\n{"name": "f", "arguments": [1, 2]}\n</tool_call>', "hermes", tools=[takes_object])
    assert [diagnostic.rule.code for diagnostic in other.diagnostics] == ["J116"]
