"""Mistral: `[AVAILABLE_TOOLS]` before the user's turn, `[TOOL_RESULTS]` with the call's id, `</s>` behind an answer.

As `mistral-common` 1.13 writes it for tokenizers of v11 (tokens/tokenizers/instruct.py); a test holds both texts equal
where that library is installed (`make test-templates`). Where a call has no id, none is written, as of v13.
"""

from collections.abc import Sequence
from types import MappingProxyType

from inspector.formats.json.writing import json_of
from inspector.formats.templates.template import Turns, openai_tool, turn_template
from inspector.model import Role, ToolDefinition, ToolResult

_TURNS = MappingProxyType(
    {
        Role.SYSTEM: ("[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"),
        Role.USER: ("[INST]", "[/INST]"),
        Role.ASSISTANT: ("", "</s>"),
        Role.TOOL: ("", ""),
    }
)


def _tools(tools: Sequence[ToolDefinition]) -> str:
    return f"[AVAILABLE_TOOLS]{json_of([openai_tool(tool) for tool in tools])}[/AVAILABLE_TOOLS]"


def _results(results: Sequence[ToolResult]) -> str:
    return "".join(f"[TOOL_RESULTS]{_id(result)}{result.content}[/TOOL_RESULTS]" for result in results)


def _id(result: ToolResult) -> str:
    return f"{result.call_id}[TOOL_CONTENT]" if result.call_id is not None else ""


MISTRAL_TEMPLATE = turn_template(
    Turns(_TURNS, beginning="<s>", tools_role=Role.USER, tools_outside=True), tools=_tools, results=_results
)
