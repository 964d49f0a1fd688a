"""Converts messages in the shapes that agent frameworks write to turns.

Reads OpenAI's and Anthropic's messages, Responses items, Gemini's contents, LangChain's messages, the Vercel AI SDK's,
Pydantic AI's and others, their content blocks, and messages that an instrumentation flattened into one text.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import TypeVar

import msgspec
from msgspec import Struct, field, structs

from weaklink.inspector.apis.anthropic.messages import CALL_BLOCK, OWN_BLOCKS, RESULT_ID, read_turns
from weaklink.inspector.apis.gemini import read_gemini_request
from weaklink.inspector.apis.openai.client_tools import RESULT_ITEMS
from weaklink.inspector.apis.openai.messages import CALLS, TEXT_BLOCKS, call_object, message_object, read_message
from weaklink.inspector.apis.openai.responses import CALL_ITEMS, read_responses_request
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.importers.telemetry.spans import ModelCall, OperationKind, TracedSpan
from weaklink.inspector.json_text import compact_json, object_of, objects_of, word_of
from weaklink.inspector.model import BodyState, CallHeader, Generation, Json, Part, ResultHeader, Role, Turn
from weaklink.inspector.scanning import lazy_pattern

_LANGCHAIN = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "function",
    "remove": "user",
}

_ITEMS = CALL_ITEMS | RESULT_ITEMS | {"item_reference"}
_GEMINI = ("text", "functionCall", "function_call", "functionResponse", "function_response", "inlineData")
_KEPT = ("reasoning_content", "reasoning", "thinking", "refusal")
_TEXTS = TEXT_BLOCKS | {"user-prompt", "system-prompt"}
_THOUGHTS = frozenset({"reasoning", "thinking", "reasoning_content"})
_CALLS = frozenset({"tool_call", "tool-call", CALL_BLOCK, "function_call", "invalid_tool_call", "server_tool_call"})

_RESULTS = frozenset(
    {"tool_call_response", "tool-result", "tool_result", "tool-return", "retry-prompt", "function_call_output"}
)

_ENDED = {"output-available": "output", "result": "result", "output-error": "errorText"}
_STEP: JsonObject = {"type": "step-start"}
_IDS = ("tool_call_id", "toolCallId", RESULT_ID, "call_id", "id")
_NAMES = ("tool_name", "toolName", "name")
_ARGUMENTS = ("arguments", "args", "input", "rawInput")
_ANSWERS = ("response", "result", "output", "content")
_ERROR_KINDS = frozenset({"error-text", "error-json", "execution-denied"})
_JOINED = lazy_pattern(r"(?:system|developer|user|human|assistant|tool): ")
_TEXT = r"'[^'\\]*+(?:\\.[^'\\]*+)*'|\"[^\"\\]*+(?:\\.[^\"\\]*+)*\""
_MAX_SHOWN_CHARS = 1 << 20

_SHOWN = lazy_pattern(
    rf"role=(?P<role>{_TEXT}) content=(?P<content>None|{_TEXT}) name=(?P<name>None|{_TEXT}) "
    rf"tool_call_id=(?P<tool_call_id>None|{_TEXT}) "
    rf"tool_calls=(?P<tool_calls>None|\[(?:[^'\"\]]++|{_TEXT})*\])(?= \w+=)",
    re.DOTALL,
)
"""A message as `str` shows it: `role='user' content='...' name=None tool_call_id=None tool_calls=None ...`."""

Given = TypeVar("Given")

_encode = msgspec.msgpack.Encoder().encode


class ReadMessages(Struct, frozen=True):
    """Messages as turns. `is_rewritten`: call arguments were stored as objects, so that their text is not the model's.

    For a list of messages, `is_rewritten` refers only to the last one, which may be an answer.
    """

    turns: tuple[Turn, ...]
    is_rewritten: bool = False


def is_item(value: Json) -> bool:
    """Whether an object is an item of OpenAI's Responses API, and not a message of another API."""
    if not isinstance(value, dict) or value.keys() & {"role", "kwargs"}:
        return False
    return str(value.get("type")) in _ITEMS or (value.get("type") == "reasoning" and "summary" in value)


def is_message(value: Json) -> bool:
    """Whether an object is a message of one of the frameworks."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("role"), str) or isinstance(value.get("kwargs"), dict):
        return True
    return _langchain_role(value.get("type")) != "" or value.get("kind") in ("request", "response") or is_item(value)


class KnownMessages:
    """Reads messages. Equal messages share one turn, so that a session keeps each only once."""

    def __init__(self) -> None:
        self._known: dict[bytes, ReadMessages] = {}

    def read(self, messages: Json) -> ReadMessages:
        """As `read_any_messages`; never raises."""
        return read_any_messages(messages, lambda message: self.read_once(message, read_any_message))

    def read_once(self, message: Given, read: Callable[[Given], ReadMessages], shape: str = "") -> ReadMessages:
        """What `read` makes of a message, a value or its JSON text; `shape` distinguishes several ways to read."""
        try:
            packed = bytes(message) if isinstance(message, msgspec.Raw) else _encode(message)
        except (UnicodeEncodeError, OverflowError, RecursionError):
            return read(message)
        digest = blake2b(packed, digest_size=16, person=shape.encode()[:16]).digest()
        messages = self._known.get(digest)
        if messages is None:
            messages = self._known[digest] = read(message)
        return messages


def read_any_messages(messages: Json, read: Callable[[Json], ReadMessages] | None = None) -> ReadMessages:
    """A list of messages, or a single one, as turns in order; `read` converts each message. Never raises.

    A message that is a plain text is the user's. A list that contains only one list is replaced by it (LangChain's
    batches).
    """
    listed: list[Json] = messages if isinstance(messages, list) else [messages]
    if len(listed) == 1 and isinstance(batch := listed[0], list):
        listed = batch
    if any(is_item(one) for one in listed):
        return ReadMessages(read_responses_request({"input": listed}).turns)
    readings = list(map(read or read_any_message, listed))
    turns = _with_named_tools(turn for reading in readings for turn in reading.turns)
    return ReadMessages(tuple(turns), readings[-1].is_rewritten if readings else False)


def read_any_message(message: Json) -> ReadMessages:
    """One message as a turn, or as several if it contains results; never raises."""
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
        if any(isinstance(part, dict) and "type" not in part and any(key in part for key in _GEMINI) for part in parts):
            return ReadMessages(read_gemini_request({"contents": [message]}).turns, is_rewritten=True)
        if any(map(is_ui_part, parts)):
            steps = list(map(read_any_message, ui_steps(message)))
            return ReadMessages(
                tuple(turn for step in steps for turn in step.turns), any(s.is_rewritten for s in steps)
            )
        return _of_blocks(message, parts)
    if isinstance(content, list):
        kinds = {str(one.get("type")) for one in content if isinstance(one, dict)}
        if kinds & OWN_BLOCKS and not message.get(CALLS):
            return ReadMessages(tuple(read_turns(message)), is_rewritten=CALL_BLOCK in kinds)
        return _of_blocks(message, content)
    return _of_members(message)


def _unwrapped(message: JsonObject) -> JsonObject:
    """LangChain's messages in the usual form; any other message unchanged."""
    kwargs, data = message.get("kwargs"), message.get("data")
    named, members = message.get("type"), message
    if isinstance(kwargs, dict):
        path = message.get("id")
        named, members = (path[-1] if isinstance(path, list) and path else kwargs.get("type")), kwargs
    elif isinstance(data, dict) and "content" in data:
        members = data
    elif "role" in message:
        return message
    role = _langchain_role(named)
    if not role:
        return {**members, "role": "assistant"} if message.get("kind") == "response" else members
    own_role = members.get("role")
    return {**members, "role": own_role if isinstance(own_role, str) else role}


def _langchain_role(named: Json) -> str:
    """The role of a message class or type: `HumanMessage`, `AIMessageChunk`, `human`; `""` for any other."""
    if not isinstance(named, str):
        return ""
    word = named.removesuffix("Chunk").removesuffix("Message").lower()
    return "user" if word == "chat" else _LANGCHAIN.get(word, "")


def is_ui_part(part: Json) -> bool:
    """Whether a part is of a UI message of the AI SDK: a run of the tool after the dash, or the beginning of a step."""
    kind = word_of(object_of(part).get("type"))
    is_run = kind.startswith("tool-") and kind not in _CALLS and kind not in _RESULTS
    return is_run or kind in ("dynamic-tool", "step-start")


def ui_steps(message: JsonObject) -> Iterator[JsonObject]:
    """A UI message as an answer and a message of results for each of its steps; any other message unchanged.

    Source: vercel/ai, packages/ai/src/ui/ui-messages.ts.
    """
    parts = objects_of(message.get("parts"))
    if not any(map(is_ui_part, parts)):
        yield message
        return
    content: list[Json] = []
    results: list[Json] = []
    for part in [*parts, _STEP]:
        kind, run = word_of(part.get("type")), object_of(part.get("toolInvocation")) or part
        if part.get("type") == "step-start":
            steps: tuple[tuple[str, list[Json]], ...] = (("assistant", content), ("tool", results))
            yield from (message_object(role, blocks) for role, blocks in steps if blocks)
            content, results = [], []
        elif is_ui_part(part):
            name = word_of(run.get("toolName")) or kind.removeprefix("tool-")
            content.append({**run, "type": "tool-call", "toolName": name})
            if (key := _ENDED.get(word_of(run.get("state")))) is not None:
                ended: JsonObject = {"type": "tool-result", "toolCallId": run.get("toolCallId"), "toolName": name}
                results.append({**ended, "output": run.get(key), "isError": key == "errorText"})
        else:
            content.append(part)


def _of_blocks(message: JsonObject, blocks: list[Json]) -> ReadMessages:
    found = sort_blocks(blocks)
    rest: JsonObject = {key: value for key, value in message.items() if key != "parts"}
    turns = [read_message({"role": "system", "content": words}) for words in found.instructions]
    turns += [_result_turn(result, rest) for result in found.results]
    calls, is_rewritten = _calls(message)
    calls = calls or found.calls
    if found.content or calls or not turns:
        turns.append(_with_calls({**rest, "content": found.content or ""}, calls))
    return ReadMessages(tuple(turns), is_rewritten or found.is_rewritten)


def _of_members(message: JsonObject) -> ReadMessages:
    calls, is_rewritten = _calls(message)
    if message.get("role") in ("tool", "function"):
        return ReadMessages((_result_turn(result_of(message), message),))
    return ReadMessages((_with_calls(message, calls),), is_rewritten)


def _with_calls(message: JsonObject, calls: list[Json]) -> Turn:
    extra = message.get("additional_kwargs")
    more = extra if isinstance(extra, dict) else {}
    thoughts = {key: message.get(key) or more.get(key) for key in _KEPT}
    legacy = None if calls else message.get("function_call")
    members: JsonObject = {"role": message.get("role", "user"), "content": message.get("content"), **thoughts}
    return read_message({**members, CALLS: calls, "function_call": legacy})


def _result_turn(result: JsonObject, message: JsonObject) -> Turn:
    read = read_message(result)
    role = message.get("role")
    return structs.replace(read, source_role=role if isinstance(role, str) else "tool")


def _calls(message: JsonObject) -> tuple[list[Json], bool]:
    """The calls of an answer: LangChain keeps their text beside the parsed ones, and lists invalid ones separately."""
    extra = message.get("additional_kwargs")
    raw = extra.get(CALLS) if isinstance(extra, dict) else None
    if isinstance(raw, list) and raw:
        return [call_of(one) if isinstance(one, dict) else one for one in raw], False
    listed: list[Json] = []
    for key in (CALLS, "toolCalls", "invalid_tool_calls"):
        found = message.get(key)
        listed += found if isinstance(found, list) else []
    calls: list[JsonObject] = [call_of(one) for one in listed if isinstance(one, dict)]
    unread = [one for one in listed if not isinstance(one, dict)]
    return [*calls, *unread], any(map(has_parsed_arguments, calls))


def _with_named_tools(turns: Iterable[Turn]) -> Iterator[Turn]:
    """The turns. A user turn whose role is the name of a called tool is its result (LangChain messages in Langfuse)."""
    pending: dict[str, list[CallHeader]] = {}
    for turn in turns:
        for call in turn.calls:
            pending.setdefault(call.name or "", []).append(call)
        headers = pending.get(turn.source_role) if turn.role is Role.USER else None
        if headers:
            call = headers.pop(0)
            yield structs.replace(turn, role=Role.TOOL, result=ResultHeader(call.id, call.name), calls=())
        else:
            yield turn


class SortedBlocks(Struct):
    """The blocks of one message: text and unknown blocks in their order, calls, and results as messages.

    `instructions` are system prompts among the other parts (pydantic-ai). `is_rewritten` is True if the arguments of a
    call were stored as an object, so that their text is not the model's.
    """

    content: list[Json] = field(default_factory=list)
    calls: list[Json] = field(default_factory=list)
    results: list[JsonObject] = field(default_factory=list)
    instructions: list[Json] = field(default_factory=list)
    is_rewritten: bool = False


def sort_blocks(blocks: Iterable[Json]) -> SortedBlocks:
    """Sort the blocks of a message, or its `parts`, by kind; unknown blocks are unchanged."""
    found = SortedBlocks()
    for block in blocks:
        if not isinstance(block, dict):
            found.content.append(block)
            continue
        kind = str(block.get("part_kind") or block.get("type") or "")
        if kind == "system-prompt":
            found.instructions.append(block.get("content"))
        elif kind in _CALLS or kind == "tool-invocation":
            call = call_of(block)
            found.is_rewritten |= has_parsed_arguments(call)
            found.calls.append(call)
        elif kind in _RESULTS and not (kind == "retry-prompt" and not first_member(block, _NAMES)):
            found.results.append(result_of(block))
        else:
            found.content.append(_block_words(kind, block))
    return found


def call_of(block: JsonObject) -> JsonObject:
    """A call in the shape of OpenAI's API, whatever the names of its members; arguments are unchanged."""
    inner = next((one for key in ("function", "toolInvocation") if isinstance(one := block.get(key), dict)), block)
    arguments = first_member(inner, _ARGUMENTS)
    name = first_member(inner, _NAMES)
    call_id = first_member(block, _IDS) or first_member(inner, _IDS)
    call = call_object(name if isinstance(name, str) else None, arguments, call_id)
    return {**call, "type": "custom"} if block.get("custom") is True else call


def has_parsed_arguments(call: JsonObject) -> bool:
    """Whether a call's arguments are an object: the program that stored it had parsed the model's text."""
    function = call.get("function")
    return isinstance(function, dict) and not isinstance(function.get("arguments"), str | None)


def result_of(block: JsonObject) -> JsonObject:
    """A result as a message of OpenAI's API."""
    content = first_member(block, _ANSWERS)
    is_error = block.get("is_error", block.get("isError"))
    if isinstance(content, dict) and "value" in content and isinstance(kind := content.get("type"), str):
        is_error = True if kind in _ERROR_KINDS else is_error
        content = content["value"]
    if block.get("part_kind") == "retry-prompt" or block.get("status") == "error":
        is_error = True
    return {
        "role": "tool",
        "content": block_text(content),
        "tool_call_id": first_member(block, _IDS),
        "name": first_member(block, _NAMES),
        "is_error": is_error if isinstance(is_error, bool) else None,
    }


def block_text(content: Json) -> Json:
    """A tool's output: text, or a list of text blocks, unchanged; anything else as compact JSON."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list) and content and all(isinstance(one, dict) and "type" in one for one in content):
        return content
    return compact_json(content)


def first_member(value: JsonObject, keys: Iterable[str]) -> Json:
    """The first of the members that is present and not null."""
    return next((value[key] for key in keys if value.get(key) is not None), None)


def _block_words(kind: str, block: JsonObject) -> Json:
    text = first_member(block, ("text", "content", "thinking", "reasoning"))
    if not isinstance(text, str):
        return block
    if kind in _TEXTS or kind == "retry-prompt":
        return {"type": "text", "text": text}
    return {"type": "reasoning", "text": text} if kind in _THOUGHTS else block


def message_shown(text: str) -> JsonObject | None:
    """The message in a text that is the Python repr of an object; None for any other text, or one beyond 1 MiB."""
    if not text.startswith("role=") or len(text) > _MAX_SHOWN_CHARS or (match := _SHOWN.match(text)) is None:
        return None
    members: JsonObject = {}
    for name, shown in match.groupdict().items():
        try:
            value: Json = ast.literal_eval(shown)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
        members[name] = value
    return members


def without_flattened(spans: Iterable[TracedSpan]) -> list[TracedSpan]:
    """The spans, without flattened messages in a span inside a model span: the outer span has the real ones.

    Flattened messages are messages joined to one text, and an answer that is Python's `None`.
    """
    listed = list(spans)
    outer = {span.id: span.call for span in listed if span.kind is OperationKind.MODEL and span.call is not None}
    return [
        structs.replace(span, call=_without(span.call, outer[span.parent_id]))
        if span.call is not None and span.parent_id in outer and span.parent_id != span.id
        else span
        for span in listed
    ]


def _without(call: ModelCall, outer: ModelCall) -> ModelCall:
    turns, answer = call.request.turns, call.answer
    if len(turns) == 1 and len(outer.request.turns) > 1 and _JOINED.match(_flattened_words(turns[0].parts)):
        call = structs.replace(call, request=structs.replace(call.request, turns=()))
    if (
        answer.role is Role.ASSISTANT
        and _flattened_words(answer.parts) == "None"
        and _flattened_words(outer.answer.parts) != "None"
    ):
        generation = structs.replace(answer.generation or Generation(), body=BodyState.COMPLETE)
        call = structs.replace(call, answer=structs.replace(answer, parts=(Part("text", ""),), generation=generation))
    return call


def _flattened_words(parts: tuple[Part, ...]) -> str:
    return parts[0].text if len(parts) == 1 else ""
