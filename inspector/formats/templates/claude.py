"""Claude's text side: tools in `<functions>`, results in `<function_results>`, turns of `Human:` and `Assistant:`.

Sources: Anthropic's tool-use prompts (2023, 2024), langchain-anthropic:experimental.py. The sentence before the list is
ours.
"""

from collections.abc import Sequence
from types import MappingProxyType

from inspector.formats.json.writing import json_of
from inspector.formats.templates.template import Turns, turn_template
from inspector.model import Json, Role, ToolDefinition, ToolResult
from inspector.scanning import lazy_pattern

_BLOCK = lazy_pattern(
    r"(?:In this environment|These functions can be called)(?:(?!<functions>)[\s\S])*<functions>[\s\S]*?</functions>"
)
_TURNS = MappingProxyType(
    {
        Role.SYSTEM: ("", ""),
        Role.USER: ("\n\nHuman: ", ""),
        Role.ASSISTANT: ("\n\nAssistant: ", ""),
        Role.TOOL: ("\n\nHuman: ", ""),
    }
)


def _tools(tools: Sequence[ToolDefinition]) -> str:
    listed = "\n".join(f"<function>{json_of(_definition(tool))}</function>" for tool in tools)
    return (
        'These functions can be called, several in one block:\n<function_calls>\n<invoke name="$FUNCTION_NAME">\n'
        '<parameter name="$PARAMETER_NAME">$PARAMETER_VALUE</parameter>\n...\n</invoke>\n</function_calls>\n\n'
        "Strings and scalars stand as they are, lists and objects as JSON.\n\n"
        f"<functions>\n{listed}\n</functions>"
    )


def _definition(tool: ToolDefinition) -> dict[str, Json]:
    schema: Json = {"type": "object", "properties": {}} if tool.parameters is None else tool.parameters
    return {"description": tool.description, "name": tool.name, "parameters": schema}


def _results(results: Sequence[ToolResult]) -> str:
    listed = "\n".join(map(_result, results))
    return f"<function_results>\n{listed}\n</function_results>"


def _result(result: ToolResult) -> str:
    if result.is_error:
        return f"<error>{result.content}</error>"
    named = f"<name>{result.name}</name>\n" if result.name else ""
    return f"<result>\n{named}<output>{result.content}</output>\n</result>"


CLAUDE_TEMPLATE = turn_template(Turns(_TURNS), tools=_tools, results=_results, tools_block=_BLOCK, shares_turn=True)
