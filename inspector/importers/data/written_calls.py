"""Reads calls that training data writes as the text of a message: one call as JSON, or a list of them.

    <think>Tides first.</think>{"name": "tides", "arguments": {"day": "Monday"}}

No marker of a format is around them (LLaMA-Factory's role `function_call`, whose `FunctionFormatter` reads the thought
before the call; ms-swift's `tool_call`). Arguments are the exact characters of the text.
"""

import re
from collections.abc import Iterable, Iterator

from weaklink.inspector import model
from weaklink.inspector.diagnostics import Edit, edited
from weaklink.inspector.json_scanner import JsonKind, JsonNode, read_json
from weaklink.inspector.scanning import lazy_pattern

CALL_ROLES = frozenset({"function_call", "tool_call"})
"""The roles of LLaMA-Factory's and ms-swift's turns of calls."""
_THOUGHT = lazy_pattern(r"\s*<think>(.*?)</think>", re.DOTALL)


def split_thought(text: str) -> tuple[str | None, str]:
    """The reasoning before the calls of a turn, None if there is none, and the text of the calls."""
    thought = _THOUGHT.match(text)
    return (None, text) if thought is None else (thought[1], text[thought.end() :])


def read_calls(text: str) -> Iterator[tuple[model.CallHeader, str]]:
    """The calls in a `function_call`, each with the exact text of its arguments; always at least one.

    A call whose faults are all within its arguments keeps its name; otherwise the whole text are the arguments.
    """
    reading = read_json(text)
    nodes: tuple[JsonNode, ...] = ()
    if reading.nodes:
        root = reading.nodes[0]
        nodes = root.items if root.kind is JsonKind.ARRAY else (root,)
    is_read = bool(nodes) and all(_name(node) for node in nodes)
    if not is_read or not (reading.strict or _is_strict_around(nodes, text)):
        yield model.CallHeader("call:0", None), text
        return
    for index, node in enumerate(nodes):
        call_id = node.member("id")
        header = model.CallHeader(f"call:{index}", _name(node), _scalar(call_id.value) or None if call_id else None)
        yield header, _arguments(node, text)


def _is_strict_around(nodes: Iterable[JsonNode], text: str) -> bool:
    """Whether a text would be JSON if each call had other arguments."""
    members = (node.member("arguments") or node.member("parameters") for node in nodes)
    edits = [Edit(member.value.range, "{}") for member in members if member is not None]
    return read_json(edited(text, edits)).strict


def _name(node: JsonNode) -> str:
    member = node.member("name")
    return _scalar(member.value) if member else ""


def _scalar(node: JsonNode) -> str:
    return node.scalar if isinstance(node.scalar, str) else ""


def _arguments(node: JsonNode, text: str) -> str:
    """The text of a JSON string, as in OpenAI's calls, or the exact JSON of other arguments; `""` if there are none."""
    member = node.member("arguments") or node.member("parameters")
    if member is None:
        return ""
    return _scalar(member.value) if member.value.kind is JsonKind.STRING else member.value.range.of(text)
