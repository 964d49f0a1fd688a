"""A trace as a row of OpenAI messages, so that the importer `openai-messages` reads the same turns and calls again.

A row is `{"messages": [...], "tools": [...], "model": ...}`, the shape of OpenAI's fine-tuning guide, with
`reasoning_content` as DeepSeek's, vLLM's and SGLang's servers name it. Every text is as it was recorded: calls that
the model wrote into its text stay there, malformed ones as they are (`weaklink data convert` makes structured ones).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from inspector.model import CallHeader, Json, Part, Role, ToolDefinition, Trace, Turn
from inspector.wire.provider_json import parse_json

_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}
_NAMED = frozenset({"text", "reasoning", "refusal"})
_BLOCK = re.compile(r"content:\d+")
_WRAPPED = frozenset({"function", "custom"})


@dataclass(frozen=True, slots=True)
class MessagesRow:
    """A trace in OpenAI's shape; `dropped` says in sentences what that shape cannot hold."""

    value: dict[str, Json]
    dropped: tuple[str, ...] = ()


def messages_row(trace: Trace) -> MessagesRow:
    """The trace as one row: a message a turn, and every tool that was offered in any request, once."""
    value: dict[str, Json] = {"messages": [_message(turn) for turn in trace.turns]}
    tools = [definition_object(tool) for tool in offered_tools(trace)]
    if tools:
        value["tools"] = tools
    if trace.model:
        value["model"] = trace.model
    return MessagesRow(value, tuple(_dropped(trace)))


def offered_tools(trace: Trace) -> list[ToolDefinition]:
    """Every tool that a request of the trace offered, in order; those whose definitions are the same once."""
    found: dict[tuple[str, str], ToolDefinition] = {}
    before: tuple[ToolDefinition, ...] = ()
    for turn in trace.turns:
        tools = turn.generation.tools if turn.generation else before
        if tools is not before:
            for tool in tools:
                found.setdefault((tool.name, tool.raw), tool)
        before = tools
    return list(found.values())


def definition_object(tool: ToolDefinition) -> Json:
    """A tool's definition in OpenAI's shape: as it was sent, where that has this shape."""
    try:
        sent = parse_json(tool.raw)
    except ValueError:
        sent = None
    if isinstance(sent, dict) and _WRAPPED & sent.keys():
        return sent
    function: dict[str, Json] = {"name": tool.name}
    function |= {"description": tool.description} if tool.description else {}
    function |= {"parameters": tool.parameters} if tool.parameters is not None else {}
    return {"type": "function", "function": function}


def _message(turn: Turn) -> dict[str, Json]:
    said = {part.name: part.text for part in turn.parts}
    message: dict[str, Json] = {
        "role": turn.source_role if _ROLES.get(turn.source_role) is turn.role else turn.role.value,
        "content": _content(turn),
    }
    message |= {"reasoning_content": said["reasoning"]} if "reasoning" in said else {}
    message |= {"refusal": said["refusal"]} if "refusal" in said else {}
    calls: list[Json] = [_call(header, arguments) for header, arguments in _calls(turn)]
    message |= {"tool_calls": calls} if calls else {}
    result = turn.result
    if result is not None:
        message |= {"tool_call_id": result.call_id} if result.call_id is not None else {}
        message |= {"name": result.name} if result.name is not None else {}
        message |= {"is_error": result.is_error} if result.is_error is not None else {}
    return message


def _content(turn: Turn) -> Json:
    """The text alone; a list of blocks where there are others; null for an answer without words."""
    text = turn.part("text")
    others = [part for part in turn.parts if _BLOCK.fullmatch(part.name)]
    if not others:
        return text.text if text is not None else None
    blocks = list(map(_block, others))
    words: list[Json] = [] if text is None else [{"type": "text", "text": text.text}]
    return [*blocks, *words] if others[0].name == "content:0" else [*words, *blocks]


def _block(part: Part) -> Json:
    try:
        return parse_json(part.text)
    except ValueError:
        return {"type": "unreadable", "raw": part.text}


def _calls(turn: Turn) -> Iterator[tuple[CallHeader, str]]:
    for header in turn.calls:
        part = turn.part(header.part)
        if part is not None:
            yield header, part.text


def _call(header: CallHeader, arguments: str) -> dict[str, Json]:
    function: dict[str, Json] = {} if header.name is None else {"name": header.name}
    call: dict[str, Json] = {} if header.id is None else {"id": header.id}
    if header.custom:
        return {**call, "type": "custom", "custom": {**function, "input": arguments}}
    return {**call, "type": "function", "function": {**function, "arguments": arguments}}


def _dropped(trace: Trace) -> Iterator[str]:
    for number, turn in enumerate(trace.turns, 1):
        for part in turn.parts:
            if not _is_kept(turn, part.name):
                yield f"The part `{part.name}` of turn {number}: OpenAI's messages have no place for it."


def _is_kept(turn: Turn, name: str) -> bool:
    is_call = any(header.part == name for header in turn.calls)
    return is_call or name in _NAMED or _BLOCK.fullmatch(name) is not None
