"""Mistral: `[AVAILABLE_TOOLS]` before the user's turn, `[TOOL_RESULTS]` with the call's id, `</s>` behind an answer.

Sources: vllm:examples/tool_chat_template_mistral3.jinja (Small 3; `[SYSTEM_PROMPT]` as of tokenizer v7),
mistral-common:tokens/tokenizers/base.py. The content of a result is JSON: its own, or its text as a string.
"""

from collections.abc import Sequence
from types import MappingProxyType

from inspector.formats.json.writing import json_of
from inspector.formats.templates.template import Turns, json_or_text, openai_tool, turn_template
from inspector.model import Json, Role, ToolDefinition, ToolResult

_TURNS = MappingProxyType(
    {
        Role.SYSTEM: ("[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"),
        Role.USER: ("[INST]", "[/INST]"),
        Role.ASSISTANT: ("", "</s>"),
        Role.TOOL: ("", ""),
    }
)


def _tools(tools: Sequence[ToolDefinition]) -> str:
    return f"[AVAILABLE_TOOLS] {json_of([openai_tool(tool) for tool in tools])}[/AVAILABLE_TOOLS]"


def _results(results: Sequence[ToolResult]) -> str:
    return "".join(f"[TOOL_RESULTS] {json_of(_result(result))}[/TOOL_RESULTS]" for result in results)


def _result(result: ToolResult) -> dict[str, Json]:
    named: dict[str, Json] = {"call_id": result.call_id} if result.call_id is not None else {}
    return {"content": json_or_text(result.content), **named}


MISTRAL_TEMPLATE = turn_template(
    Turns(_TURNS, beginning="<s>", tools_role=Role.USER, tools_outside=True), tools=_tools, results=_results
)
