"""The blocks of a message in the words of many frameworks, as the members of a message that OpenAI's API would have.

Sources: the types of vercel/ai:packages/ai/src/prompt, langchain-ai/langchain:libs/core/langchain_core/messages,
pydantic/pydantic-ai:pydantic_ai_slim/pydantic_ai/messages.py, and OpenTelemetry's semantic conventions for GenAI.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from inspector.importers.source import JsonObject
from inspector.model import Json
from inspector.wire.json_text import compact_json

_TEXTS = frozenset({"text", "input_text", "output_text", "user-prompt", "system-prompt"})
_THOUGHTS = frozenset({"reasoning", "thinking", "reasoning_content"})
_CALLS = frozenset({"tool_call", "tool-call", "tool_use", "function_call", "invalid_tool_call", "server_tool_call"})
_RESULTS = frozenset(
    {"tool_call_response", "tool-result", "tool_result", "tool-return", "retry-prompt", "function_call_output"}
)
_IDS = ("tool_call_id", "toolCallId", "tool_use_id", "call_id", "id")
_NAMES = ("tool_name", "toolName", "name")
_ARGUMENTS = ("arguments", "args", "input", "rawInput")
_ANSWERS = ("response", "result", "output", "content")
_ERROR_KINDS = frozenset({"error-text", "error-json", "execution-denied"})


@dataclass(slots=True)
class SortedBlocks:
    """The blocks of one message: words and what is unknown in their order, calls, and results as messages.

    `instructions` are system prompts that stand among other parts (pydantic-ai). `is_rewritten` says that the arguments
    of a call stood there as an object, so that their text is not the model's.
    """

    content: list[Json] = field(default_factory=list)
    calls: list[Json] = field(default_factory=list)
    results: list[JsonObject] = field(default_factory=list)
    instructions: list[Json] = field(default_factory=list)
    is_rewritten: bool = False


def sort_blocks(blocks: Iterable[Json]) -> SortedBlocks:
    """The blocks of a message, or its `parts`, each where it belongs; what is unknown stays as it is."""
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
            found.is_rewritten |= is_written_anew(call)
            found.calls.append(call)
        elif kind in _RESULTS and not (kind == "retry-prompt" and not first_of(block, _NAMES)):
            found.results.append(result_of(block))
        else:
            found.content.append(_words(kind, block))
    return found


def call_of(block: JsonObject) -> JsonObject:
    """A call as OpenAI's API has it, whatever its members are called; arguments as they stand there."""
    inner = next((one for key in ("function", "toolInvocation") if isinstance(one := block.get(key), dict)), block)
    arguments = first_of(inner, _ARGUMENTS)
    name = first_of(inner, _NAMES)
    return {
        "id": first_of(block, _IDS) or first_of(inner, _IDS),
        "function": {"name": name if isinstance(name, str) else None, "arguments": arguments},
    }


def is_written_anew(call: JsonObject) -> bool:
    """Whether a call's arguments are an object: whoever stored it had parsed the model's text."""
    function = call.get("function")
    return isinstance(function, dict) and not isinstance(function.get("arguments"), str | None)


def result_of(block: JsonObject) -> JsonObject:
    """A result as a message of OpenAI's API."""
    content = first_of(block, _ANSWERS)
    is_error = block.get("is_error", block.get("isError"))
    if isinstance(content, dict) and "value" in content and isinstance(kind := content.get("type"), str):
        is_error = True if kind in _ERROR_KINDS else is_error
        content = content["value"]
    if block.get("part_kind") == "retry-prompt" or block.get("status") == "error":
        is_error = True
    return {
        "role": "tool",
        "content": words_of(content),
        "tool_call_id": first_of(block, _IDS),
        "name": first_of(block, _NAMES),
        "is_error": is_error if isinstance(is_error, bool) else None,
    }


def words_of(content: Json) -> Json:
    """What a tool gave: words, or a list of text blocks, as it is; anything else as compact JSON."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list) and content and all(isinstance(one, dict) and "type" in one for one in content):
        return content
    return compact_json(content)


def first_of(value: JsonObject, keys: Iterable[str]) -> Json:
    """The first of the members that is there and not null."""
    return next((value[key] for key in keys if value.get(key) is not None), None)


def _words(kind: str, block: JsonObject) -> Json:
    said = first_of(block, ("text", "content", "thinking", "reasoning"))
    if not isinstance(said, str):
        return block
    if kind in _TEXTS or kind == "retry-prompt":
        return {"type": "text", "text": said}
    return {"type": "reasoning", "text": said} if kind in _THOUGHTS else block
