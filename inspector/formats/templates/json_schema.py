"""Constrained output: ChatML turns, the tools as the JSON Schema that the reply must keep to.

Source: vllm:tests/tool_use/test_tool_choice_required.py (an array of objects, each a tool's name and its `parameters`).
What presents it is the server, not a family's template; the sentence before it is ours.
"""

import re
from collections.abc import Sequence

from inspector.formats.template import Turns, turn_template
from inspector.formats.templates.shapes import CHATML, contents
from inspector.formats.writing import json_of
from inspector.model import Json, ToolDefinition

_BLOCK = re.compile(r"Calls are a JSON array that keeps to this schema:\n[^\n]*")


def calls_schema(tools: Sequence[ToolDefinition]) -> dict[str, Json]:
    """The JSON Schema of a reply that holds calls."""
    return {"type": "array", "minItems": 1, "items": {"type": "object", "anyOf": [_call(tool) for tool in tools]}}


def _call(tool: ToolDefinition) -> Json:
    schema: Json = {"type": "object", "properties": {}} if tool.parameters is None else tool.parameters
    return {
        "description": tool.description,
        "properties": {"name": {"type": "string", "enum": [tool.name]}, "parameters": schema},
        "required": ["name", "parameters"],
    }


def _tools(tools: Sequence[ToolDefinition]) -> str:
    return f"Calls are a JSON array that keeps to this schema:\n{json_of(calls_schema(tools))}"


JSON_SCHEMA_TEMPLATE = turn_template(Turns(CHATML), tools=_tools, results=contents, tools_block=_BLOCK)
