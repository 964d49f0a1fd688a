"""Writes calls as most dialects do, a JSON object with a name and arguments, and which calls JSON can express."""

import math
from collections.abc import Iterable

from inspector.json_text import write_json
from inspector.model import Json, ToolCall


def call_object(call: ToolCall, *, key: str = "arguments") -> str:
    """The call as a JSON object whose arguments stand under `key`."""
    return f'{{"name": {json_of(call.name)}, "{key}": {json_of(call.arguments)}}}'


def call_array(calls: Iterable[ToolCall], *, key: str = "arguments") -> str:
    """The calls as a JSON array of such objects."""
    return f"[{', '.join(call_object(call, key=key) for call in calls)}]"


def json_of(value: Json) -> str:
    """A value as models write it: JSON with `, ` and `: `, characters beyond ASCII as they are."""
    return write_json(value, ascii_only=False)


def is_json_call(call: ToolCall) -> bool:
    """Whether JSON can hold the call: it has a name, and its arguments are an object of numbers that JSON knows."""
    return bool(call.name) and isinstance(call.arguments, dict) and is_finite(call.arguments)


def is_finite(value: Json) -> bool:
    """Whether JSON can hold every number in a value."""
    pending = [value]
    while pending:
        match pending.pop():
            case float() as number if not math.isfinite(number):
                return False
            case dict() as members:
                pending += members.values()
            case list() as items:
                pending += items
    return True
