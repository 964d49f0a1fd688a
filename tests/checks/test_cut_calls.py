"""A call that the end of the stream cuts short: nothing is said about its unfinished values."""

import pytest

from tests.examples import one_in
from weaklink.inspector import segment
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.registry import find_format, formats
from weaklink.inspector.model import Json, ToolCall, ToolDefinition
from weaklink.inspector.text import Range

_TOOL = ToolDefinition(
    "f",
    parameters={
        "type": "object",
        "additionalProperties": False,
        "required": ["a", "b"],
        "properties": {
            "a": {"type": "string", "enum": ["abc", "abd"], "minLength": 3},
            "b": {
                "type": "object",
                "required": ["x", "y"],
                "properties": {"x": {"type": "integer"}, "y": {"type": "array", "minItems": 2}},
            },
        },
    },
)
_FORMATS = (
    *("claude", "deepseek_v3", "deepseek_v32", "glm45", "hermes", "kimi_k2", "llama3", "minimax_m2"),
    *("phi4", "qwen", "qwen3_coder", "seed_oss", "step3p5", "xlam"),
)


def _codes(text: str, form: str) -> list[str]:
    diagnostics = segment(text, form, tools=[_TOOL]).diagnostics
    return [diagnostic.rule.code for diagnostic in diagnostics if diagnostic.rule.code.startswith("S")]


@pytest.mark.parametrize("form", _FORMATS)
def test_a_call_cut_anywhere_has_no_fault_against_its_schema(form: str) -> None:
    arguments: Json = {"a": "abc", "b": {"x": 12, "y": [1, 2]}}
    call = ToolCall("f", arguments, "", valid=True, range=Range(0, 0))
    text = find_format(form).write_calls([call])
    assert {end: codes for end in range(len(text) + 1) if (codes := _codes(text[:end], form))} == {}


_STRICT = ToolDefinition(
    "get_weather",
    parameters={
        "type": "object",
        "additionalProperties": False,
        "required": ["city", "when", "days", "deep", "flag"],
        "properties": {
            "city": {"type": "string", "minLength": 3, "enum": ["Oslo Centre", "Bergen"]},
            "when": {"type": "string", "format": "date", "pattern": r"^\d{4}-\d\d-\d\d$"},
            "unit": {"enum": ["celsius", "kelvin"]},
            "days": {"type": "integer", "minimum": 10},
            "deep": {
                "type": "object",
                "required": ["lat", "tags"],
                "properties": {
                    "lat": {"type": "number", "minimum": 10.5},
                    "tags": {"type": "array", "items": {"type": "string", "minLength": 4}, "minItems": 2},
                },
            },
            "flag": {"type": "boolean"},
        },
    },
)
_ARGUMENTS: dict[str, Json] = {
    "city": "Oslo Centre",
    "when": "2024-05-06",
    "unit": "celsius",
    "days": 12,
    "deep": {"lat": 59.25, "tags": ["abcd", "efgh"]},
    "flag": True,
}
_TEXTS = ("city", "when", "unit")


@pytest.mark.one_in(4)
@pytest.mark.campaign
@pytest.mark.parametrize("dialect", formats(), ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("is_reversed", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_every_formats_call_cut_at_each_character_has_no_fault_against_its_schema(
    dialect: Format, *, is_reversed: bool
) -> None:
    """The gate cuts the call of every format, at one place in twelve, others in each."""
    arguments = dict(sorted(_ARGUMENTS.items(), reverse=is_reversed))
    tool = _STRICT
    text = _written(dialect, arguments)
    diagnostics = segment(text, dialect.name, tools=[tool]).diagnostics
    if any(diagnostic.rule.code[0] in "JS" for diagnostic in diagnostics):  # its values are texts
        arguments = {key: arguments[key] for key in arguments if key in _TEXTS}
        assert isinstance(tool.parameters, dict)
        tool = ToolDefinition(tool.name, parameters={**tool.parameters, "required": ["city", "when"]})
        text = _written(dialect, arguments)
    assert not segment(text, dialect.name, tools=[tool]).diagnostics
    for end in one_in(12, range(1, len(text)), seed=dialect.name):
        cut = segment(text[:end], dialect.name, tools=[tool])
        # A name alone is a whole call in some formats: the tool gets no arguments then.
        is_whole = any(call.valid and not call.raw_arguments for call in cut.calls)
        codes = {diagnostic.rule.code for diagnostic in cut.diagnostics if diagnostic.rule.code[0] == "S"}
        assert codes <= ({"S201"} if is_whole else set()), text[:end]


def _written(dialect: Format, arguments: dict[str, Json]) -> str:
    return dialect.write_calls([ToolCall("get_weather", arguments, "", valid=True, range=Range(0, 0))])


@pytest.mark.parametrize(
    ("text", "form", "codes"),
    [
        ('<tool_call>\n{"name": "f", "arguments": {"a": "xyz", "b": {"x": 1', "hermes", ["S204"]),
        ('<tool_call>\n{"name": "f", "arguments": {"a": "abc", "c": 1, "b": {', "hermes", ["S203"]),
        ('<tool_call>\n{"name": "f", "arguments": {"a": "abc"}}', "hermes", ["S201"]),
        ('<tool_call>\n{"name": "f", "arguments": {"a": "abc"\n</tool_call>', "hermes", ["S201"]),
        ("<tool_call>\n<function=f>\n<parameter=a>\nxyz\n</parameter>\n<parameter=b>\n{", "qwen3_coder", ["S204"]),
    ],
)
def test_what_is_complete_is_checked(text: str, form: str, codes: list[str]) -> None:
    assert _codes(text, form) == codes
