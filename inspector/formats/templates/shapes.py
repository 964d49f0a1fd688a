"""What several templates share: tool definitions as JSON, and the turns of ChatML and Llama 3."""

import json
from collections.abc import Sequence
from types import MappingProxyType

from inspector.formats.writing import json_of
from inspector.model import Json, Role, ToolDefinition, ToolResult

CHATML = MappingProxyType({role: (f"<|im_start|>{role.value}\n", "<|im_end|>\n") for role in Role})
"""ChatML's turns."""


def llama_turns(tool_role: str) -> MappingProxyType[Role, tuple[str, str]]:
    """Llama 3's turns; results stand in a turn of `tool_role`."""
    words = {role: tool_role if role is Role.TOOL else role.value for role in Role}
    return MappingProxyType(
        {role: (f"<|start_header_id|>{word}<|end_header_id|>\n\n", "<|eot_id|>") for role, word in words.items()}
    )


def openai_tool(tool: ToolDefinition) -> dict[str, Json]:
    """The definition as OpenAI's `tools` hold it."""
    return {"type": "function", "function": bare_tool(tool)}


def bare_tool(tool: ToolDefinition, *, schema_key: str = "parameters") -> dict[str, Json]:
    """The definition's name, description and schema; a tool without a schema takes no arguments."""
    schema: Json = {"type": "object", "properties": {}} if tool.parameters is None else tool.parameters
    return {"name": tool.name, "description": tool.description, schema_key: schema}


def indented(value: Json) -> str:
    """JSON over several lines, four spaces a level, as templates' `tojson(indent=4)` gives it."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=4)
    except (ValueError, TypeError, RecursionError):
        return json_of(value)


def contents(results: Sequence[ToolResult]) -> str:
    """The results' own texts, one under another."""
    return "\n".join(result.content for result in results)


def json_or_text(text: str) -> Json:
    """What a result says, as a value: its JSON where it is strict JSON, else its text."""
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value
