"""Values that the wire gives as texts, read by the tool's schema."""

from typing import Any

import pytest

from weaklink.inspector.checks.typed_arguments import typed
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json, Parameter, ToolCall, ToolDefinition
from weaklink.inspector.segmentation import Segmentation, segment
from weaklink.inspector.text import Range

NOWHERE = Range(0, 0)


def value_of(text: str, schema: Json, *, by_wire: bool = False) -> Json:
    call = ToolCall(
        "f",
        {"a": text},
        text,
        valid=True,
        range=NOWHERE,
        parameters=(Parameter("a", text, NOWHERE, typed=by_wire),),
    )
    typed_call = typed(call, {"properties": {"a": schema}, "$defs": {"N": {"type": "integer"}}}).call
    assert isinstance(typed_call.arguments, dict)
    assert typed_call.raw_arguments == text
    assert typed_call.parameters == call.parameters
    return typed_call.arguments["a"]


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("3", {"type": "integer"}, 3),
        ("3", {"type": "number"}, 3),
        ("3.5", {"type": "number"}, 3.5),
        ("\n 3 \n", {"type": "integer"}, 3),
        ("true", {"type": "boolean"}, True),
        ("null", {"type": ["integer", "null"]}, None),
        ('{"b": [1]}', {"type": "object"}, {"b": [1]}),
        ('["x"]', {"type": "array"}, ["x"]),
        ("3", {"$ref": "#/$defs/N"}, 3),
        ("3", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, 3),
        ("3", {"enum": [1, 2, 3]}, 3),
        ("null", {"type": ["string", "null"]}, None),
        ('{"b": 1}', {"anyOf": [{"type": "string"}, {"type": "object"}]}, {"b": 1}),
    ],
)
def test_a_text_becomes_what_the_schema_takes(text: str, schema: Json, value: Json) -> None:
    typed_value = value_of(text, schema)
    assert write_json(typed_value) == write_json(value)


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("3", {"type": "string"}),
        ("007", {"type": ["string", "integer"]}),
        ("3", {"type": ["string", "integer"]}),
        ('{"b": 1}', {"type": "string"}),
        ("three", {"type": "integer"}),
        ("3.5", {"type": "integer"}),
        ("True", {"type": "integer"}),
        ("None", {"type": ["string", "null"]}),
        ('"3"', {"type": "integer"}),
        ("[1]", {"type": "object"}),
        ("", {"type": "object"}),
        ("3", {}),
        ("3", {"$ref": "https://example.org/n.json"}),
        ("3", {"$ref": "#/$defs/Unknown"}),
        ("3", None),
    ],
)
def test_a_text_stays_a_text(text: str, schema: Json) -> None:
    assert value_of(text, schema) == text


@pytest.mark.parametrize(
    ("text", "types", "value"),
    [("True", "boolean", True), ("False", ["boolean", "null"], False), ("None", ["integer", "null"], None)],
)
def test_a_literal_of_python_is_read_and_reported(text: str, types: Json, value: Json) -> None:
    tool = ToolDefinition("f", parameters={"type": "object", "properties": {"a": {"type": types}}})
    segmentation = segment(FUNCTION_TAGS.format(text), "qwen3_coder", tools=[tool])
    (call,) = segmentation.calls
    assert (call.arguments, call.valid, call.recovered) == ({"a": value}, False, True)
    assert faults(segmentation) == [("python-literal", text, None)]


def test_what_the_wire_typed_is_left_alone() -> None:
    assert value_of("3", {"type": "integer"}, by_wire=True) == "3"


def test_a_schema_that_refers_to_itself_ends() -> None:
    assert value_of("3", {"$ref": "#/properties/a"}) == "3"


def test_a_property_that_the_schema_does_not_know_takes_the_schema_of_others() -> None:
    call = ToolCall("f", {"x": "3"}, "3", valid=True, range=NOWHERE, parameters=(Parameter("x", "3", NOWHERE),))
    assert typed(call, {"additionalProperties": {"type": "integer"}}).call.arguments == {"x": 3}
    assert typed(call, {"additionalProperties": False}).call is call
    assert typed(call, True).call is call


TOOL = ToolDefinition(
    "f",
    parameters={
        "type": "object",
        "properties": {
            "n": {"type": "integer"},
            "o": {"type": "object", "properties": {"k": {"type": "string"}}, "additionalProperties": False},
        },
        "required": ["n"],
    },
)


def checked(*parameters: tuple[str, str]) -> Segmentation:
    tags = "".join(f"<parameter={name}>\n{value}\n</parameter>\n" for name, value in parameters)
    return segment(f"<tool_call>\n<function=f>\n{tags}</function>\n</tool_call>", "qwen3_coder", tools=[TOOL])


def faults(segmentation: Segmentation) -> list[tuple[str, str, Any]]:
    return [
        (diagnostic.rule.name, diagnostic.range.of(segmentation.text), diagnostic.fault.path)
        for diagnostic in segmentation.diagnostics
    ]


def test_a_typed_call_breaks_no_schema() -> None:
    segmentation = checked(("n", "3"), ("o", '{"k": "v"}'))
    assert segmentation.calls[0].arguments == {"n": 3, "o": {"k": "v"}}
    assert segmentation.calls[0].parameters[0].text == "3"
    assert not segmentation.diagnostics


def test_a_fault_stands_on_the_characters_of_its_parameter() -> None:
    assert faults(checked(("n", "three"))) == [("wrong-type", "three", "/n")]
    assert faults(checked(("n", "3"), ("o", '{"k": 5}'))) == [("wrong-type", "5", "/o/k")]
    assert faults(checked(("n", "3"), ("o", '{"k": "v", "more": 1}'))) == [("unexpected-property", '"more"', "/o/more")]
    assert faults(checked(("n", ""))) == [("wrong-type", "n", "/n")]


def test_a_missing_parameter_is_told_at_the_parameters_there_are() -> None:
    missing = faults(checked(("o", "{}")))
    assert missing == [("missing-required", "<parameter=o>\n{}\n</parameter>", "")]


FUNCTION_TAGS = "<tool_call>\n<function=f>\n<parameter=a>\n{}\n</parameter>\n</function>\n</tool_call>"


@pytest.mark.parametrize(
    ("text", "kind", "value", "codes"),
    [
        ("{'b': 1}", "object", {"b": 1}, ["J103"]),
        ("{'b': True, 'c': None}", "dict", {"b": True, "c": None}, ["J103", "J105", "J105"]),
        ("[1, 2,]", "array", [1, 2], ["J104"]),
    ],
)
def test_a_value_that_is_nearly_json_is_read_and_reported_as_json(
    text: str, kind: str, value: Json, codes: list[str]
) -> None:
    tool = ToolDefinition("f", parameters={"type": "object", "properties": {"a": {"type": kind}}})
    segmentation = segment(FUNCTION_TAGS.format(text), "qwen3_coder", tools=[tool])
    (call,) = segmentation.calls
    told = [diagnostic for diagnostic in segmentation.diagnostics if diagnostic.rule.code != "S207"]
    assert call.arguments == {"a": value}
    assert (call.valid, call.recovered) == (False, True)
    assert [diagnostic.rule.code for diagnostic in told] == codes
    value_range = Range(segmentation.text.index(text), segmentation.text.index(text) + len(text))
    assert all(value_range.covers(diagnostic.fault.range) for diagnostic in told)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("float", "1.5", 1.5),
        ("int", "7", 7),
        ("bool", "true", True),
        ("dict", '{"k": 1}', {"k": 1}),
        ("list", "[1]", [1]),
        ("str", "7", "7"),
    ],
)
def test_a_type_of_another_language_counts_as_the_type_that_s207_names(kind: str, text: str, value: Json) -> None:
    tool = ToolDefinition("f", parameters={"type": "object", "properties": {"a": {"type": kind}}})
    segmentation = segment(FUNCTION_TAGS.format(text), "qwen3_coder", tools=[tool])
    assert segmentation.calls[0].arguments == {"a": value}
    assert [diagnostic.rule.code for diagnostic in segmentation.diagnostics] == ["S207"]


def test_values_in_tags_of_their_own_are_typed_by_the_schema_of_their_place() -> None:
    tag = "]<]minimax[>["
    inner = f"{tag}<city>7{tag}</city>{tag}<days>3{tag}</days>{tag}<warm>true{tag}</warm>"
    text = f'{tag}<tool_call>\n{tag}<invoke name="f">{tag}<a>{inner}{tag}</a>{tag}</invoke>\n{tag}</tool_call>'
    properties: Json = {"city": {"type": "string"}, "days": {"$ref": "#/$defs/D"}, "warm": {"type": "bool"}}
    schema: Json = {
        "type": "object",
        "properties": {"a": {"type": "object", "properties": properties}},
        "$defs": {"D": {"type": "integer"}},
    }
    segmentation = segment(text, "minimax_m3", tools=[ToolDefinition("f", parameters=schema)])
    assert segmentation.calls[0].arguments == {"a": {"city": "7", "days": 3, "warm": True}}
    assert [diagnostic.rule.code for diagnostic in segmentation.diagnostics] == ["S207"]


DSML = (
    '<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n'
    '<｜DSML｜parameter name="{}" string="{}">{}</｜DSML｜parameter>\n'
    "</｜DSML｜invoke>\n</｜DSML｜function_calls>"
)


@pytest.mark.parametrize("name", ["input", "arguments"])
@pytest.mark.parametrize("string", ["true", "false"])
def test_a_parameter_that_wraps_all_arguments_is_reported_and_unwrapped(name: str, string: str) -> None:
    tool = ToolDefinition("f", parameters={"type": "object", "properties": {"a": {"type": "integer"}}})
    segmentation = segment(DSML.format(name, string, '{"a": 1}'), "deepseek_v32", tools=[tool])
    (call,) = segmentation.calls
    assert (call.arguments, call.valid, call.recovered) == ({"a": 1}, False, True)
    assert [diagnostic.rule.code for diagnostic in segmentation.diagnostics] == ["J128"]


def test_a_parameter_that_the_tool_has_is_no_wrapper() -> None:
    tool = ToolDefinition("f", parameters={"type": "object", "properties": {"input": {"type": "object"}}})
    segmentation = segment(DSML.format("input", "false", '{"a": 1}'), "deepseek_v32", tools=[tool])
    assert (segmentation.calls[0].arguments, segmentation.calls[0].valid) == ({"input": {"a": 1}}, True)
    assert not segmentation.diagnostics
