"""Says why no conversation was read from a row, which known shape is nearest, and which mapping would read it."""

from collections.abc import Mapping
from difflib import get_close_matches

from weaklink.inspector.importers.data.public_shapes import PUBLIC_SHAPES, PublicShape
from weaklink.inspector.importers.data.tool_definitions import json_objects
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.model import Json

_MAX_NAMES = 12
_COMMON = (
    PublicShape("OpenAI's messages", ("messages",), lambda _: None),
    PublicShape("ShareGPT", ("conversations",), lambda _: None),
    PublicShape("instruction rows", ("instruction", "output"), lambda _: None),
    PublicShape("a prompt and its completion", ("prompt", "completion"), lambda _: None),
    PublicShape("a preference", ("prompt", "chosen"), lambda _: None),
)
_SYNONYMS = {
    "messages": ("dialogue", "dialog", "history", "chat_history", "turns", "trace", "context", "chat"),
    "conversations": ("dialogue", "dialog", "turns", "talk"),
    "query": ("question", "instruction", "user_query", "utterance", "input", "request", "task", "user"),
    "question": ("query", "instruction", "utterance", "input"),
    "answers": ("calls", "function_calls", "expected_calls", "ground_truth", "label", "target", "api_calls"),
    "tools": ("functions", "apis", "api_list", "available_tools", "tool_list", "function"),
    "function": ("functions", "apis", "tools"),
    "prompt": ("query", "question", "input", "instruction", "user_query", "user", "request", "source", "src"),
    "completion": (
        "generation",
        "model_output",
        "prediction",
        "reply",
        "assistant",
        "answer_text",
        "solution",
        "target",
        "tgt",
    ),
    "instruction": ("prompt", "query", "question"),
    "output": ("reply", "target", "solution"),
}


_NEEDED_MEMBERS: Mapping[str, frozenset[str]] = {
    "messages": frozenset({"role"}),
    "trajectory": frozenset({"role"}),
    "conversations": frozenset({"from", "value"}),
    **dict.fromkeys(("tools", "function", "answers"), frozenset[str]()),
}
_LABELS = frozenset({"id", "uid", "source", "type", "split", "category", "task", "lang", "language", "model", "system"})


def refusal(row: JsonObject) -> str:
    """Why no conversation was read from a row: its members, the nearest known shape, and a mapping that would read it.

    One sentence without a period.
    """
    names = list(row)
    shown = ", ".join(f"`{name}`" for name in names[:_MAX_NAMES]) + (", ..." if len(names) > _MAX_NAMES else "")
    nearest, mapping = _nearest(row)
    keys = ", ".join(f"`{key}`" for key in nearest.keys)
    if not mapping and all(row.get(key) is not None for key in nearest.keys):
        return f"no conversation: {keys} of {nearest.name} cannot be read as one"
    among = f"among {shown}" if shown else "and no members"
    found = f"no conversation {among}; the nearest known shape is {nearest.name} ({keys})"
    return f"{found}: `--map {mapping}` would read it" if mapping else found


def _nearest(row: JsonObject) -> tuple[PublicShape, str]:
    """The shape of which the row has most members, under their own or similar names, and the mapping to it."""
    best: tuple[float, PublicShape, str] = (-1.0, _COMMON[0], "")
    for shape in (*_COMMON, *PUBLIC_SHAPES):
        pairs = [(key, _source(key, row)) for key in shape.keys]
        found = [(key, name) for key, name in pairs if name is not None]
        share = len(found) / len(pairs)
        renamed = [f"{name}={key}" for key, name in found if name != key]
        mapping = ",".join(renamed) if len(found) == len(pairs) and renamed else ""
        if share > best[0]:
            best = share, shape, mapping
    return (best[1], best[2]) if best[2] or best[0] == 1.0 else _by_content(row) or (best[1], "")


def _by_content(row: JsonObject) -> tuple[PublicShape, str] | None:
    """The mapping of members with unknown names: the only list of messages, or the only two texts, in their order."""
    for key, shape in (("messages", _COMMON[0]), ("conversations", _COMMON[1])):
        listed = [name for name, value in row.items() if isinstance(value, str | list) and _fits(key, value)]
        if len(listed) == 1:
            return shape, f"{listed[0]}={key}"
    texts = [name for name, value in row.items() if isinstance(value, str) and value and name not in _LABELS]
    return (_COMMON[3], f"{texts[0]}=prompt,{texts[1]}=completion") if len(texts) == 2 else None


def _source(key: str, row: JsonObject) -> str | None:
    if row.get(key) is not None:
        return key
    names = [name for name, value in row.items() if value is not None and _fits(key, value)]
    known = next((name for name in _SYNONYMS.get(key, ()) if name in names), None)
    return known or next(iter(get_close_matches(key, names, 1, 0.8)), None)


def _fits(key: str, value: Json) -> bool:
    """Whether a value can be what the member of a shape has: a list of objects for messages, a text for a query."""
    if key in _NEEDED_MEMBERS:
        objects = json_objects(value)
        return bool(objects) and all(_NEEDED_MEMBERS[key] <= object_.keys() for object_ in objects)
    return isinstance(value, str)
