"""A call that the end of the stream cuts short: nothing is said about its unfinished values."""

import pytest

from inspector import segment
from inspector.formats.registry import find_format
from inspector.model import Json, ToolCall, ToolDefinition
from inspector.text import Range

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
    found = segment(text, form, tools=[_TOOL]).diagnostics
    return [one.rule.code for one in found if one.rule.code.startswith("S")]


@pytest.mark.parametrize("form", _FORMATS)
def test_a_call_cut_anywhere_has_no_fault_against_its_schema(form: str) -> None:
    arguments: Json = {"a": "abc", "b": {"x": 12, "y": [1, 2]}}
    call = ToolCall("f", arguments, "", valid=True, range=Range(0, 0))
    text = find_format(form).write_calls([call])
    assert {end: codes for end in range(len(text) + 1) if (codes := _codes(text[:end], form))} == {}


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
