"""Messages in the shapes that agent frameworks write them, as turns.

Known are OpenAI's and Anthropic's messages, OpenAI's Responses items, Gemini's contents, LangChain's messages
(`{"lc": 1, "kwargs": {...}}`, `{"type": "human", ...}`), the Vercel AI SDK's, pydantic-ai's, and messages with `parts`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b

import msgspec

from inspector.importers.framework_blocks import call_of, is_written_anew, result_of, sort_blocks
from inspector.importers.framework_flattened import message_shown
from inspector.importers.source import JsonObject
from inspector.model import CallHeader, Json, ResultHeader, Role, Turn
from inspector.wire.anthropic_request import read_turns
from inspector.wire.gemini_request import read_gemini_request
from inspector.wire.openai_messages import read_message
from inspector.wire.responses_request import read_responses_request

_LANGCHAIN = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "function",
    "remove": "user",
}
_ITEMS = frozenset(
    {"function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "item_reference"}
)
_ANTHROPIC = frozenset({"tool_use", "tool_result", "redacted_thinking", "thinking"})
_GEMINI = ("text", "functionCall", "function_call", "functionResponse", "function_response", "inlineData")
_encode = msgspec.msgpack.Encoder().encode
_KEPT = ("reasoning_content", "reasoning", "thinking", "refusal")


@dataclass(frozen=True, slots=True)
class ReadMessages:
    """Messages as turns; `is_rewritten` says that arguments were kept as objects, so that their text is not a model's.

    Where it is a list of messages that was read, it says so of the last alone: the one that may be an answer.
    """

    turns: tuple[Turn, ...]
    is_rewritten: bool = False


def is_item(value: Json) -> bool:
    """Whether an object is an item of OpenAI's Responses, and no message of any other."""
    if not isinstance(value, dict) or value.keys() & {"role", "kwargs"}:
        return False
    return str(value.get("type")) in _ITEMS or (value.get("type") == "reasoning" and "summary" in value)


def is_message(value: Json) -> bool:
    """Whether an object is a message of any of the frameworks."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("role"), str) or isinstance(value.get("kwargs"), dict):
        return True
    return _langchain_role(value.get("type")) != "" or value.get("kind") in ("request", "response") or is_item(value)


class KnownMessages:
    """Reads messages; one that came before is the same turn again, so that a session holds each only once."""

    def __init__(self) -> None:
        self._known: dict[bytes, ReadMessages] = {}

    def read(self, messages: Json) -> ReadMessages:
        """See `read_any_messages`; never raises."""
        return read_any_messages(messages, self._read)

    def _read(self, message: Json) -> ReadMessages:
        try:
            digest = blake2b(_encode(message), digest_size=16).digest()
        except (UnicodeEncodeError, OverflowError, RecursionError):
            return read_any_message(message)
        found = self._known.get(digest)
        if found is None:
            found = self._known[digest] = read_any_message(message)
        return found


def read_any_messages(messages: Json, read: Callable[[Json], ReadMessages] | None = None) -> ReadMessages:
    """A list of messages, or a single one, as turns in order, each with `read`; never raises.

    A message that is a plain text is the user's. A list that holds one list is that list (LangChain's batches).
    """
    listed: list[Json] = messages if isinstance(messages, list) else [messages]
    if len(listed) == 1 and isinstance(batch := listed[0], list):
        listed = batch
    if any(is_item(one) for one in listed):
        return ReadMessages(read_responses_request({"input": listed}).turns)
    found = list(map(read or read_any_message, listed))
    turns = _with_named_tools(turn for one in found for turn in one.turns)
    return ReadMessages(tuple(turns), found[-1].is_rewritten if found else False)


def read_any_message(message: Json) -> ReadMessages:
    """One message as a turn, or as several where results stand in it; never raises."""
    if isinstance(message, str):
        if (shown := message_shown(message)) is not None:
            return read_any_message(shown)
        return ReadMessages((read_message({"role": "user", "content": message}),))
    if not isinstance(message, dict):
        return ReadMessages((read_message(message),))
    message = _unwrapped(message)
    parts, content = message.get("parts"), message.get("content")
    if isinstance(content, dict) and isinstance(content.get("parts"), list):
        parts = content["parts"]
        message = {"role": content.get("role", message.get("role")), "parts": parts}
    if isinstance(parts, list):
        if any(isinstance(one, dict) and "type" not in one and any(key in one for key in _GEMINI) for one in parts):
            return ReadMessages(read_gemini_request({"contents": [message]}).turns, is_rewritten=True)
        return _of_blocks(message, parts)
    if isinstance(content, list):
        kinds = {str(one.get("type")) for one in content if isinstance(one, dict)}
        if kinds & _ANTHROPIC and not message.get("tool_calls"):
            return ReadMessages(tuple(read_turns(message)), is_rewritten="tool_use" in kinds)
        return _of_blocks(message, content)
    return _of_members(message)


def _unwrapped(message: JsonObject) -> JsonObject:
    """LangChain's messages as others write theirs; any other as it is."""
    kwargs, beside = message.get("kwargs"), message.get("data")
    named, within = message.get("type"), message
    if isinstance(kwargs, dict):
        path = message.get("id")
        named, within = (path[-1] if isinstance(path, list) and path else kwargs.get("type")), kwargs
    elif isinstance(beside, dict) and "content" in beside:
        within = beside
    elif "role" in message:
        return message
    role = _langchain_role(named)
    if not role:
        return {**within, "role": "assistant"} if message.get("kind") == "response" else within
    written = within.get("role")
    return {**within, "role": written if isinstance(written, str) else role}


def _langchain_role(named: Json) -> str:
    """The role of a message class or type: `HumanMessage`, `AIMessageChunk`, `human`; `""` for what is none."""
    if not isinstance(named, str):
        return ""
    word = named.removesuffix("Chunk").removesuffix("Message").lower()
    return "user" if word == "chat" else _LANGCHAIN.get(word, "")


def _of_blocks(message: JsonObject, blocks: list[Json]) -> ReadMessages:
    found = sort_blocks(blocks)
    rest: JsonObject = {key: value for key, value in message.items() if key != "parts"}
    turns = [read_message({"role": "system", "content": words}) for words in found.instructions]
    turns += [_result_turn(result, rest) for result in found.results]
    calls, is_rewritten = _calls(message)
    calls = calls or found.calls
    if found.content or calls or not turns:
        turns.append(_said({**rest, "content": found.content or ""}, calls))
    return ReadMessages(tuple(turns), is_rewritten or found.is_rewritten)


def _of_members(message: JsonObject) -> ReadMessages:
    calls, is_rewritten = _calls(message)
    if message.get("role") in ("tool", "function"):
        return ReadMessages((_result_turn(result_of(message), message),))
    return ReadMessages((_said(message, calls),), is_rewritten)


def _said(message: JsonObject, calls: list[Json]) -> Turn:
    extra = message.get("additional_kwargs")
    more = extra if isinstance(extra, dict) else {}
    thoughts = {key: message.get(key) or more.get(key) for key in _KEPT}
    legacy = None if calls else message.get("function_call")
    said: JsonObject = {"role": message.get("role", "user"), "content": message.get("content"), **thoughts}
    return read_message({**said, "tool_calls": calls, "function_call": legacy})


def _result_turn(result: JsonObject, message: JsonObject) -> Turn:
    read = read_message(result)
    role = message.get("role")
    return replace(read, source_role=role if isinstance(role, str) else "tool")


def _calls(message: JsonObject) -> tuple[list[Json], bool]:
    """The calls of an answer: LangChain keeps their text beside the parsed ones, and broken ones apart."""
    extra = message.get("additional_kwargs")
    raw = extra.get("tool_calls") if isinstance(extra, dict) else None
    if isinstance(raw, list) and raw:
        return [call_of(one) if isinstance(one, dict) else one for one in raw], False
    listed: list[Json] = []
    for key in ("tool_calls", "toolCalls", "invalid_tool_calls"):
        found = message.get(key)
        listed += found if isinstance(found, list) else []
    calls: list[JsonObject] = [call_of(one) for one in listed if isinstance(one, dict)]
    unread = [one for one in listed if not isinstance(one, dict)]
    return [*calls, *unread], any(map(is_written_anew, calls))


def _with_named_tools(turns: Iterable[Turn]) -> Iterator[Turn]:
    """The turns; one whose role is the name of a tool that was called is its result (LangChain told to Langfuse)."""
    waiting: dict[str, list[CallHeader]] = {}
    for turn in turns:
        for call in turn.calls:
            waiting.setdefault(call.name or "", []).append(call)
        found = waiting.get(turn.source_role) if turn.role is Role.USER else None
        if found:
            call = found.pop(0)
            yield replace(turn, role=Role.TOOL, result=ResultHeader(call.id, call.name), calls=())
        else:
            yield turn
