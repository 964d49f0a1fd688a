"""The content blocks of an answer by value, so that an answer and its copy in a later request can be compared.

A streamed block arrives as its beginning (`content:N`), pieces (`content:N:input`, `content:N:delta`) and perhaps the
finished item (`content:N:done`); a request has it as one object, which an SDK has read and written again: with members
in another order, without those that are null, without the state that only the server keeps. By value both are equal:
a block is its finished item, else its beginning with the pieces of its input, without cache marks, nulls and states.
"""

import json
import re

from weaklink.inspector.model import Json, Role, Turn
from weaklink.inspector.wire.provider_json import parse_json

_PART = re.compile(r"content:(\d+(?:\.\d+)?)(?::(input|done|delta|encrypted))?", re.ASCII)
_NOT_COMPARED = frozenset({"cache_control", "status"})


def blocks_by_value(turn: Turn) -> list[str]:
    """The JSON of the content blocks of a turn, in order, equal if their values are; the text of any that is no JSON.

    Blocks of other roles than the model's are compared as they are, but for cache marks: clients do not rewrite them,
    and they may be long.
    """
    if turn.role is not Role.ASSISTANT:
        return [_without_cache_mark(part.text) for part in turn.parts if part.name.startswith("content:")]
    blocks: dict[str, dict[str, str]] = {}
    for part in turn.parts:
        match = _PART.fullmatch(part.name)
        if match is not None:
            blocks.setdefault(match[1], {})[match[2] or ""] = part.text
    return [_by_value(pieces) for pieces in blocks.values() if pieces.keys() & {"", "done"}]


def _by_value(pieces: dict[str, str]) -> str:
    text = pieces.get("done") or pieces[""]
    try:
        value = parse_json(text)
        if isinstance(value, dict) and "input" in pieces:
            value["input"] = parse_json(pieces["input"])
    except ValueError:
        return text
    if not isinstance(value, dict):
        return text
    kept = {key: member for key, member in value.items() if key not in _NOT_COMPARED}
    try:
        return sorted_json(_without_nulls(kept)) or text
    except RecursionError:
        return text


def _without_nulls(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _without_nulls(member) for key, member in value.items() if member is not None}
    return [_without_nulls(element) for element in value] if isinstance(value, list) else value


def _without_cache_mark(block: str) -> str:
    if '"cache_control"' not in block:
        return block
    try:
        value = parse_json(block)
    except ValueError:
        return block
    if isinstance(value, dict):
        value = {key: member for key, member in value.items() if key != "cache_control"}
    return sorted_json(value) or block


def sorted_json(value: Json) -> str:
    """A value as JSON with sorted members; `""` if it is nested too deeply."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    except RecursionError:
        return ""
