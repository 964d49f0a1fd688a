"""The messages and tools of an OpenAI-shaped request, or of a chat log, as turns and tool definitions."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import msgspec

from inspector.model import CallHeader, Json, Part, ResultHeader, Role, ToolDefinition, Turn
from inspector.wire.events import UNREAD_PART
from inspector.wire.provider_json import compact_json, parse_json

_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "human": Role.USER,
    "assistant": Role.ASSISTANT,
    "agent": Role.ASSISTANT,
    "model": Role.ASSISTANT,
    "gpt": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
    "environment": Role.TOOL,
    "observation": Role.TOOL,
    "ipython": Role.TOOL,
}

_REASONING = ("reasoning_content", "reasoning", "thinking")
_TEXT_BLOCKS = frozenset({"text", "input_text", "output_text"})
_encode = msgspec.msgpack.Encoder().encode


def read_messages(messages: Json) -> tuple[Turn, ...]:
    """A request's `messages`, one turn each, in order; never raises.

    What is no list is read as one message. A message that is no object becomes a user turn whose part `wire:unread`
    is its JSON text.
    """
    return tuple(map(read_message, messages if isinstance(messages, list) else [messages]))


def read_message(message: Json) -> Turn:
    """One message as a turn; never raises.

    `content` is a string or a list of blocks: the texts of its text blocks, joined by nothing, are the part `text`,
    thoughts go to `reasoning`, and any other block is kept as JSON text in a part `content:N`, N its place in the list.
    Arguments of call N are the part `call:N`: the string that stands there, or an object's compact JSON (Ollama).
    A role that is not known counts as the user's; `source_role` keeps the word. A turn has at least one part.
    """
    if not isinstance(message, dict):
        return Turn(Role.USER, (Part(UNREAD_PART, compact_json(message)),))
    source_role = _text(message.get("role")) or ""
    role = _ROLES.get(source_role, Role.USER)
    calls = list(_calls(message))
    parts = [*_content_parts(message), *(Part(header.part, arguments) for header, arguments in calls)]
    return Turn(
        role,
        tuple(parts) or (Part("text", ""),),
        source_role,
        calls=tuple(header for header, _ in calls),
        result=_result(message) if role is Role.TOOL else None,
    )


def read_tools(tools: Json, functions: Json = None) -> tuple[ToolDefinition, ...]:
    """A request's `tools` and the legacy `functions`, in that order; never raises.

    Each may be a list or that list's JSON text. A definition is `{"type": "function", "function": {...}}` or flat
    (Responses API; `input_schema` is Anthropic's word); an unknown shape is kept in `raw`, with its `type` as the name.
    The same tools give the same tuple, as long as they are remembered: most requests of a log repeat those before.
    """
    if not tools and not functions:
        return ()
    try:
        return _remembered(_ToolsKey(_encode((tools, functions)), tools, functions))
    except (UnicodeEncodeError, OverflowError, RecursionError):
        return _definitions(tools, functions)


@dataclass(frozen=True, slots=True)
class _ToolsKey:
    """A request's tools as a cache key: their bytes in MessagePack, which tells apart what JSON tells apart."""

    packed: bytes
    tools: Json = field(compare=False)
    functions: Json = field(compare=False)


@lru_cache(maxsize=64)
def _remembered(offered: _ToolsKey) -> tuple[ToolDefinition, ...]:
    return _definitions(offered.tools, offered.functions)


def _definitions(tools: Json, functions: Json) -> tuple[ToolDefinition, ...]:
    return tuple(_definition(tool) for offered in (tools, functions) for tool in _listed(offered))


def _content_parts(message: dict[str, Json]) -> Iterator[Part]:
    content = message.get("content")
    blocks = list(map(_block, content)) if isinstance(content, list) else []
    thoughts = [words for key in _REASONING if (words := _text(message.get(key)))]
    reasoning = [*dict.fromkeys(thoughts), *(block for kind, block in blocks if kind == "reasoning")]
    if reasoning:
        yield Part("reasoning", "".join(reasoning))
    texts = [text for kind, text in blocks if kind == "text"]
    if isinstance(content, str):
        yield Part("text", content)
    elif texts:
        yield Part("text", "".join(texts))
    elif content is not None and not isinstance(content, list):
        yield Part("content:0", compact_json(content))
    refusals = [_text(message.get("refusal")) or "", *(text for kind, text in blocks if kind == "refusal")]
    if any(refusals):
        yield Part("refusal", "".join(refusals))
    for at, (kind, text) in enumerate(blocks):
        if not kind:
            yield Part(f"content:{at}", text)


def _block(block: Json) -> tuple[str, str]:
    """A content block's part and its text; `""` and its JSON where the block is of another kind."""
    match block:
        case str():
            return "text", block
        case {"type": str(kind), "text": str(text)} if kind in _TEXT_BLOCKS:
            return "text", text
        case {"type": "thinking", "thinking": str(text)} | {"type": "reasoning", "text": str(text)}:
            return "reasoning", text
        case {"type": "refusal", "refusal": str(text)}:
            return "refusal", text
    return "", compact_json(block)


def _calls(message: dict[str, Json]) -> Iterator[tuple[CallHeader, str]]:
    listed = message.get("tool_calls")
    calls: list[Json] = [*listed] if isinstance(listed, list) else [] if listed is None else [listed]
    legacy = message.get("function_call")
    if isinstance(legacy, dict):
        calls.append({"function": legacy})
    for at, call in enumerate(calls):
        part = f"call:{at}"
        if not isinstance(call, dict):
            yield CallHeader(part, None), compact_json(call)
            continue
        function = call.get("function", call.get("custom", call))
        if not isinstance(function, dict):
            function = {"name": function, "arguments": call.get("arguments")}  # Inspect: {"function": "name", ...}
        arguments = function.get("arguments", function.get("input"))
        text = "" if arguments is None else arguments if isinstance(arguments, str) else compact_json(arguments)
        custom = call.get("type") == "custom" or ("custom" in call and "function" not in call)
        yield CallHeader(part, _text(function.get("name")), _text(call.get("id")), custom), text


def _result(message: dict[str, Json]) -> ResultHeader:
    is_error = message.get("is_error")
    return ResultHeader(
        _text(message.get("tool_call_id")),
        _text(message.get("name")),
        is_error if isinstance(is_error, bool) else None,
    )


def _listed(offered: Json) -> list[Json]:
    if isinstance(offered, str):
        try:
            offered = parse_json(offered)
        except ValueError:
            return [offered] if offered else []
    if isinstance(offered, list):
        return offered
    return [] if offered is None else [offered]


def _definition(tool: Json) -> ToolDefinition:
    raw = tool if isinstance(tool, str) else compact_json(tool)
    if not isinstance(tool, dict):
        return ToolDefinition("", raw=raw)
    inner = tool.get("function", tool.get("custom", tool))
    described = inner if isinstance(inner, dict) else tool
    return ToolDefinition(
        _text(described.get("name")) or _text(tool.get("type")) or "",
        _text(described.get("description")) or "",
        described.get("parameters", described.get("input_schema")),
        raw,
    )


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None
