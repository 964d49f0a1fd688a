"""The messages and tools of chat completions, read from a request or a chat log, and written.

Every importer, template and exporter of this shape uses this module: it defines what a message, a call, a result or a
tool's definition looks like in OpenAI's JSON. Sources: OpenAI's API reference (chat completions); `reasoning_content`
(DeepSeek, vLLM, SGLang).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

import msgspec

from weaklink.inspector.apis.openai.chat import API, BLOCK_TEXTS, REASONING_KEYS, block_text, detail_texts
from weaklink.inspector.json_text import (
    compact_json,
    flag_of,
    list_of,
    object_of,
    objects_of,
    text_or_json,
    word_of,
)
from weaklink.inspector.memoized import CacheKey
from weaklink.inspector.model import CallHeader, Json, Part, ResultHeader, Role, ToolDefinition, Turn
from weaklink.inspector.wire.events import UNREAD_PART, DecodedRequest, parameters_of
from weaklink.inspector.wire.provider_json import try_parse_json

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

API_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
"""The roles that the API itself knows; logs have others."""

RESULT_ROLES = frozenset(role for role in API_ROLES if _ROLES[role] is Role.TOOL)
"""Those of them whose message is a result."""

_REASONING = (*REASONING_KEYS, "thinking")  # the last one is Ollama's
TEXT_BLOCKS = frozenset(kind for kind, (part, _) in BLOCK_TEXTS.items() if part == "text")
"""The types of content blocks that are text."""

_WRAPPERS = frozenset({"function", "custom"})
BLOCK_PART = re.compile(r"content:\d+")
"""The names of parts that keep a content block as JSON text."""

CHAT_MEMBERS = ("model", "messages", "tools", "functions", "stream")
"""The members of a request that are no settings."""

CALLS = "tool_calls"
"""The member of a message that holds its calls."""

_encode = msgspec.msgpack.Encoder().encode


def read_chat_request(request: dict[str, Json]) -> DecodedRequest:
    """A request for chat completions; never raises."""
    return DecodedRequest(
        API,
        word_of(request.get("model")),
        read_messages(request.get("messages", [])),
        read_tools(request.get("tools"), request.get("functions")),
        parameters_of(request, without=CHAT_MEMBERS),
        flag_of(request.get("stream")) or False,
    )


def read_messages(messages: Json) -> tuple[Turn, ...]:
    """A request's `messages`, one turn each, in order; never raises.

    Any value that is no list is read as one message. A message that is no object becomes a user turn whose part
    `wire:unread` is its JSON text.
    """
    return tuple(map(read_message, messages if isinstance(messages, list) else [messages]))


_PLAIN = 2  # members of a message with a role and a text


def read_message(message: Json) -> Turn:
    """One message as a turn; never raises.

    `content` is a string or a list of blocks: the joined texts of its text blocks are the part `text`, thoughts go to
    `reasoning`, and any other block is kept as JSON text in a part `content:N`, N being its index in the list.
    Arguments of call N are the part `call:N`: the string that was sent, or an object's compact JSON (Ollama).
    An unknown role counts as the user's; `source_role` keeps its name. A turn has at least one part.
    """
    if not isinstance(message, dict):
        return Turn(Role.USER, (Part(UNREAD_PART, compact_json(message)),))
    source_role = _text(message.get("role")) or ""
    role = _ROLES.get(source_role, Role.USER)
    content = message.get("content")
    if len(message) == _PLAIN and isinstance(content, str) and source_role:  # the usual message, in a fifth of the time
        return Turn(role, (Part("text", content),), source_role, result=ResultHeader() if role is Role.TOOL else None)
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
    Results are cached: the same tools give the same tuple, since most requests of a log repeat those before. The same
    tool in another list gives the same definition, since rows of one data set offer a few of the same tools.
    """
    if not tools and not functions:
        return ()
    try:
        return _cached_tools(CacheKey(_encode((tools, functions)), (tools, functions)))
    except (UnicodeEncodeError, OverflowError, RecursionError):
        return tuple(_definition(tool) for offered in (tools, functions) for tool in _listed(offered))


@lru_cache(maxsize=64)
def _cached_tools(offered: CacheKey[tuple[Json, Json]]) -> tuple[ToolDefinition, ...]:
    tools, functions = offered.value
    listed = (*_listed(tools), *_listed(functions))
    return tuple(_cached_tool(CacheKey(_encode(tool), tool)) for tool in listed)


@lru_cache(maxsize=1_024)
def _cached_tool(offered: CacheKey[Json]) -> ToolDefinition:
    return _definition(offered.value)


def _content_parts(message: dict[str, Json]) -> Iterator[Part]:
    content = message.get("content")
    blocks = list(map(_block, content)) if isinstance(content, list) else []
    thoughts = [words for key in _REASONING if (words := _text(message.get(key)))]
    reasoning = [*dict.fromkeys(thoughts), *(block for kind, block in blocks if kind == "reasoning")]
    reasoning = reasoning or detail_texts(message.get("reasoning_details"))
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
    for index, (kind, text) in enumerate(blocks):
        if not kind:
            yield Part(f"content:{index}", text)


def _block(block: Json) -> tuple[str, str]:
    """A content block's part and its text; `""` and its JSON if the block is of another kind."""
    part, text, is_whole = block_text(block)
    return (part, text) if is_whole else ("", compact_json(block))


def _calls(message: dict[str, Json]) -> Iterator[tuple[CallHeader, str]]:
    listed = message.get(CALLS)
    calls: list[Json] = [*listed] if isinstance(listed, list) else [] if listed is None else [listed]
    legacy = message.get("function_call")
    if isinstance(legacy, dict):
        calls.append({"function": legacy})
    for index, call in enumerate(calls):
        part = f"call:{index}"
        if not isinstance(call, dict):
            yield CallHeader(part, None), compact_json(call)
            continue
        function = call.get("function", call.get("custom", call))
        if not isinstance(function, dict):
            function = {"name": function, "arguments": call.get("arguments")}  # Inspect: {"function": "name", ...}
        arguments = function.get("arguments", function.get("input"))
        text = text_or_json(arguments)
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
        offered = try_parse_json(offered, offered or None)
    if isinstance(offered, list):
        return offered
    return [] if offered is None else [offered]


def _definition(tool: Json) -> ToolDefinition:
    raw = tool if isinstance(tool, str) else compact_json(tool)
    if isinstance(tool, str):  # some data sets have a list of JSON texts
        tool = try_parse_json(tool)
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


def calls_in(message: Json) -> list[dict[str, Json]]:
    """The calls of a message, or of any object with the same member, that are objects."""
    return objects_of(object_of(message).get(CALLS))


def with_calls(message: dict[str, Json], change: Callable[[Json], Json]) -> dict[str, Json]:
    """The message with the result of `change` as its calls; `change` takes the old ones, or None if it has none."""
    return {**message, CALLS: change(message.get(CALLS))}


def argument_texts(messages: Iterable[Json]) -> Iterator[tuple[Json, Json]]:
    """The id and the arguments of each call of the messages, unchanged."""
    for message in messages:
        for call in calls_in(message):
            yield call.get("id"), object_of(call.get("function")).get("arguments")


def first_message(response: dict[str, Json]) -> dict[str, Json] | None:
    """The assistant's message in a stored response; None if there is none."""
    message = first_choice(response).get("message")
    return {"role": "assistant", **message} if isinstance(message, dict) else None


def first_choice(response: dict[str, Json]) -> dict[str, Json]:
    """The first choice of a stored response; empty if there is none."""
    choices = list_of(response.get("choices"))
    return object_of(choices[0]) if choices else {}


def message_object(role: Json, content: Json, *, calls: Sequence[Json] = (), **members: Json) -> dict[str, Json]:
    """A message: `members` that are None are left out, and so is an empty list of calls."""
    message = {"role": role, "content": content, **{key: value for key, value in members.items() if value is not None}}
    return {**message, CALLS: [*calls]} if calls else message


def call_object(name: Json, arguments: Json, call_id: Json = None) -> dict[str, Json]:
    """A call of a function, an element of a message's calls; without an id if that is None."""
    named: dict[str, Json] = {} if call_id is None else {"id": call_id}
    return {**named, "type": "function", "function": {"name": name, "arguments": arguments}}


def call_objects(
    listed: Iterable[dict[str, Json]], name: str = "name", arguments: str = "arguments", call_id: str = "id"
) -> list[dict[str, Json]]:
    """The calls that these objects describe, given the names of their members."""
    return [call_object(value.get(name), value.get(arguments), value.get(call_id)) for value in listed]


def tool_object(function: dict[str, Json]) -> dict[str, Json]:
    """A tool's definition: `function` has its name, description and schema."""
    return {"type": "function", "function": function}


def write_message(turn: Turn) -> dict[str, Json]:
    """A turn as a message, which `read_message` reads as the same turn, except for parts that no message has."""
    texts = {part.name: part.text for part in turn.parts}
    is_written = turn.source_role in API_ROLES and _ROLES[turn.source_role] is turn.role
    message = message_object(
        turn.source_role if is_written else turn.role.value,
        _written_content(turn),
        reasoning_content=texts.get("reasoning"),
        refusal=texts.get("refusal"),
        calls=[_written_call(header, texts[header.part]) for header in turn.calls if header.part in texts],
    )
    result = turn.result or ResultHeader()
    named = (("tool_call_id", result.call_id), ("name", result.name), ("is_error", result.is_error))
    return {**message, **{key: value for key, value in named if value is not None}}


def write_tool(tool: ToolDefinition) -> Json:
    """A tool's definition in this shape: as it was sent, if that has this shape."""
    sent = try_parse_json(tool.raw)
    if isinstance(sent, dict) and _WRAPPERS & sent.keys():
        return sent
    function: dict[str, Json] = {"name": tool.name}
    function |= {"description": tool.description} if tool.description else {}
    function |= {"parameters": tool.parameters} if tool.parameters is not None else {}
    return tool_object(function)


def _written_content(turn: Turn) -> Json:
    """The text alone; a list of blocks if there are others; null for an answer without text."""
    text = turn.part("text")
    others = [part for part in turn.parts if BLOCK_PART.fullmatch(part.name)]
    if not others:
        return text.text if text is not None else None
    blocks = [try_parse_json(part.text, {"type": "unreadable", "raw": part.text}) for part in others]
    words: list[Json] = [] if text is None else [{"type": "text", "text": text.text}]
    return [*blocks, *words] if others[0].name == "content:0" else [*words, *blocks]


def _written_call(header: CallHeader, arguments: str) -> dict[str, Json]:
    function: dict[str, Json] = {} if header.name is None else {"name": header.name}
    call: dict[str, Json] = {} if header.id is None else {"id": header.id}
    if header.custom:
        return {**call, "type": "custom", "custom": {**function, "input": arguments}}
    return {**call, "type": "function", "function": {**function, "arguments": arguments}}
