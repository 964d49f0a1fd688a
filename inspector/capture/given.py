"""What callers of the logger give, as weaklink's own values."""

from collections.abc import Iterable, Mapping
from typing import Any

from inspector.model import ToolDefinition, Usage
from inspector.wire.openai_messages import read_tools


def definitions(tools: Iterable[ToolDefinition | Mapping[str, Any]]) -> tuple[ToolDefinition, ...]:
    """Tools as they were given, or as an API has them; TypeError for anything else."""
    found: list[ToolDefinition] = []
    for tool in tools:
        if isinstance(tool, ToolDefinition):
            found.append(tool)
        elif isinstance(tool, Mapping):
            found += read_tools([dict(tool)])
        else:
            raise TypeError(f"a tool is a definition or a JSON object, and {type(tool).__name__} came")
    return tuple(found)


def usage_of(counts: Mapping[str, int]) -> Usage:
    """Token counts under OpenAI's names, or Anthropic's."""
    return Usage(
        counts.get("prompt_tokens", counts.get("input_tokens")),
        counts.get("completion_tokens", counts.get("output_tokens")),
    )
