"""Requests in Anthropic's shape as chat completions: LiteLLM logs the answers to them so."""

from collections.abc import Iterator

from inspector.importers.source import JsonObject
from inspector.model import Json
from inspector.wire.json_text import compact_json


def as_chat(body: JsonObject) -> JsonObject:
    """A request's body with its messages in the shape of chat completions; what has that shape already stays.

    `system` becomes the first message, a `tool_use` block a call, a `tool_result` block a message of its own.
    """
    messages = body.get("messages", body.get("input"))
    listed: list[Json] = messages if isinstance(messages, list) else [{"role": "user", "content": messages}]
    system: list[Json] = [{"role": "system", "content": body["system"]}] if body.get("system") else []
    settings = {key: value for key, value in body.items() if key not in ("system", "messages", "input")}
    return {**settings, "messages": [*system, *(new for one in listed for new in _messages(one))]}


def _messages(message: Json) -> Iterator[Json]:
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(content, list):
        yield message
        return
    blocks = [(block, block.get("type") if isinstance(block, dict) else "") for block in content]
    for block, kind in blocks:
        if kind == "tool_result" and isinstance(block, dict):
            yield _result(block)
    calls: list[Json] = [_call(block) for block, kind in blocks if kind == "tool_use" and isinstance(block, dict)]
    rest = [block for block, kind in blocks if kind not in ("tool_use", "tool_result")]
    if calls:
        yield {**message, "content": rest or None, "tool_calls": [*_listed(message.get("tool_calls")), *calls]}
    elif rest or not content:
        yield {**message, "content": rest}


def _call(block: JsonObject) -> JsonObject:
    given = block.get("input")
    arguments = given if isinstance(given, str) else compact_json(given)
    return {"id": block.get("id"), "type": "function", "function": {"name": block.get("name"), "arguments": arguments}}


def _result(block: JsonObject) -> JsonObject:
    kept = {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": block.get("content", "")}
    return {**kept, "is_error": block["is_error"]} if "is_error" in block else kept


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
