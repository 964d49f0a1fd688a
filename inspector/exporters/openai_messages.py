"""A trace as a row of OpenAI messages, so that the importer `openai-messages` reads the same turns and calls again.

A row is `{"messages": [...], "tools": [...], "model": ...}`, the shape of OpenAI's fine-tuning guide, with
`reasoning_content` as DeepSeek's, vLLM's and SGLang's servers name it. Every text is as it was recorded: calls that
the model wrote into its text stay there, malformed ones unchanged (`weaklink data convert` creates structured ones).
"""

from collections.abc import Iterator

from msgspec import Struct

from weaklink.inspector.apis.openai.messages import BLOCK_PART, write_message, write_tool
from weaklink.inspector.model import Json, ToolDefinition, Trace, Turn

_NAMED = frozenset({"text", "reasoning", "refusal"})


class MessagesRow(Struct, frozen=True):
    """A trace in OpenAI's shape; `dropped` are sentences on what that shape cannot represent."""

    value: dict[str, Json]
    dropped: tuple[str, ...] = ()


def messages_row(trace: Trace) -> MessagesRow:
    """The trace as one row: one message per turn, and every tool that was offered in any request, once."""
    value: dict[str, Json] = {"messages": [write_message(turn) for turn in trace.turns]}
    tools = [write_tool(tool) for tool in offered_tools(trace)]
    if tools:
        value["tools"] = tools
    if trace.model:
        value["model"] = trace.model
    return MessagesRow(value, tuple(_dropped(trace)))


def offered_tools(trace: Trace) -> list[ToolDefinition]:
    """Every tool that a request of the trace offered, in order; tools with the same definition only once."""
    found: dict[tuple[str, str], ToolDefinition] = {}
    before: tuple[ToolDefinition, ...] = ()
    for turn in trace.turns:
        tools = turn.generation.tools if turn.generation else before
        if tools is not before:
            for tool in tools:
                found.setdefault((tool.name, tool.raw), tool)
        before = tools
    return list(found.values())


def _dropped(trace: Trace) -> Iterator[str]:
    for number, turn in enumerate(trace.turns, 1):
        for part in turn.parts:
            if not _is_kept(turn, part.name):
                yield f"The part `{part.name}` of turn {number}: OpenAI's messages cannot contain it."


def _is_kept(turn: Turn, name: str) -> bool:
    is_call = any(header.part == name for header in turn.calls)
    return is_call or name in _NAMED or BLOCK_PART.fullmatch(name) is not None
