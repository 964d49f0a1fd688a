"""Calls as JSON or Python literals, in every key style that models use, wherever they are written."""

import re
from bisect import bisect_left
from collections.abc import Iterator

from inspector.checks.attempted.attempt import Attempt, Evidence, ReadArguments
from inspector.checks.attempted.brackets import Brackets
from inspector.checks.attempted.names import NamedTool, ToolNames
from inspector.checks.attempted.python_calls import call_in_string
from inspector.json_scanner import JsonKind, JsonNode, read_json
from inspector.model import Json
from inspector.text import Range

_BEGINS = re.compile(r"[\[{]\s{0,80}(?:[\"'“‘\[{]|\\\")")
_QUOTED = re.compile(r"[\"'“‘`]((?:[\w.\-/]|\\_){1,160})(?=[\"'”’`]|\\\"|\()")
_LONGEST_CUT = 16_384
_MOST_CUTS = 4  # values without an end that are read in one text
_MOST_DEPTH = 4
_NAME_KEYS = ("name", "tool_name", "function_name", "tool", "function", "action", "recipient_name", "api", "method")
_ARGUMENT_KEYS = (
    "arguments",
    "parameters",
    "args",
    "params",
    "input",
    "kwargs",
    "action_input",
    "tool_input",
    "inputs",
    "tool_args",
    "function_args",
)
_WRAPPERS = frozenset(
    [
        "tool_calls",
        "tool_call",
        "function_call",
        "function_calls",
        "function",
        "calls",
        "call",
        "actions",
        "action",
        "tool_uses",
        "tool_use",
        "steps",
    ]
)
_BESIDE = frozenset(("id", "type", "call_id", "tool_call_id", "index", "thought", "reasoning", "description"))
_RESULT_KEYS = frozenset(("content", "result", "results", "output", "response", "observation", "error"))


def json_calls(text: str, names: ToolNames, brackets: Brackets, taken: list[Range]) -> Iterator[Attempt]:
    """The calls in the JSON of `text`, in order; none begins within one of the ranges `taken`, which are in order."""
    named = [found.start() for found in _QUOTED.finditer(text) if names.find(found[1]) is not None]
    if not named:
        return
    at, ranges = 0, iter(taken)
    skipped = next(ranges, None)
    cuts = 0
    while (begin := _BEGINS.search(text, at, named[-1] + 1)) is not None:
        start = begin.start()
        while skipped is not None and skipped.end <= start:
            skipped = next(ranges, None)
        if skipped is not None and skipped.start <= start:
            at = skipped.end
            continue
        end = brackets.end(start)
        at = start + 1 if end is None else end
        if end is None:
            cuts += 1
            end = _cut_end(text, start)
            if cuts > _MOST_CUTS:
                continue
        if bisect_left(named, end) > bisect_left(named, start):
            nodes = read_json(text, Range(start, end), call=True).nodes
            found = list(_calls(nodes[0], names, text, 0)) if nodes else []
            for attempt in found:
                attempt.container = Range(start, min(end, max(nodes[0].range.end, attempt.range.end)))
                at = max(at, attempt.range.end)
                yield attempt


def _cut_end(text: str, start: int) -> int:
    end = text.find("\n\n", start, start + _LONGEST_CUT)
    return end if end >= 0 else min(len(text), start + _LONGEST_CUT)


def _calls(node: JsonNode, names: ToolNames, text: str, depth: int) -> Iterator[Attempt]:
    """The calls that a value holds, each once."""
    if depth > _MOST_DEPTH:
        return
    if node.kind is JsonKind.OBJECT:
        yield from _in_object(node, names, text, depth)
    elif node.kind is JsonKind.ARRAY:
        yield from _in_array(node, names, text, depth)


def _in_object(node: JsonNode, names: ToolNames, text: str, depth: int) -> Iterator[Attempt]:
    found = _named_object(node, names, text) or _keyed_objects(node, names, text)
    if found:
        yield from found
        return
    for member in node.members:
        if member.key in _WRAPPERS:
            yield from _calls(member.value, names, text, depth + 1)


def _in_array(node: JsonNode, names: ToolNames, text: str, depth: int) -> Iterator[Attempt]:
    first = node.items[0] if node.items else None
    if first is not None and first.kind is JsonKind.STRING and isinstance(first.scalar, str):
        named = names.find(first.scalar)
        if named is not None and len(node.items) == 2 and node.items[1].kind is JsonKind.OBJECT:
            pair = _with_arguments(named, node, node.items[1], text, "as a list of name and arguments", guessed=True)
            if pair is not None:
                yield pair
            return
    for item in node.items:
        if item.kind is JsonKind.STRING and isinstance(item.scalar, str):
            inside = call_in_string(item.scalar, names)
            if inside is not None:
                named, attempt = inside
                attempt.range, attempt.shape = item.range, "in Python's syntax within a string"
                found = attempt.read()
                if found.evidence:
                    attempt.arguments = found._replace(evidence=Evidence.STRONG)
                yield attempt
        else:
            yield from _calls(item, names, text, depth + 1)


def _named_object(node: JsonNode, names: ToolNames, text: str) -> list[Attempt]:
    """The call that an object is which has the tool's name under a key."""
    for key in _NAME_KEYS:
        member = node.member(key)
        if member is None or member.value.kind is not JsonKind.STRING or not isinstance(member.value.scalar, str):
            continue
        named = names.find(member.value.scalar)
        if named is None:
            continue
        arguments = next((found for one in _ARGUMENT_KEYS if (found := node.member(one)) is not None), None)
        shape = f"as JSON with `{key}`"
        if arguments is not None:
            attempt = _with_arguments(named, node, arguments.value, text, f"{shape} and `{arguments.key}`")
            return [attempt] if attempt is not None else []
        return _beside_name(named, node, key, text, shape)
    return []


def _beside_name(named: NamedTool, node: JsonNode, key: str, text: str, shape: str) -> list[Attempt]:
    """The call whose arguments are beside its name; none for the tool's definition, or its result."""
    keys = {member.key for member in node.members}
    others = {member.key: member.value.value() for member in node.members if member.key not in (key, *_BESIDE)}
    is_known = others and named.has_schema and not named.properties.keys().isdisjoint(others)
    if (keys & _RESULT_KEYS or "description" in keys) and not is_known:
        return []
    if others and is_known:
        shape = f"{shape} and its arguments beside it"
        found = ReadArguments(Evidence.STRONG, others, guessed=True)
        return [Attempt(named, node.range, node.range, shape, node.range.of(text), found)]
    if not others and not named.has_required and len(keys) <= 2:
        found = ReadArguments(Evidence.MEDIUM, {}, guessed=True)
        return [Attempt(named, node.range, node.range, shape, "", found)]
    return []


def _keyed_objects(node: JsonNode, names: ToolNames, text: str) -> list[Attempt]:
    """The calls of `{"f": {...}}`: every key a tool's name, every value its arguments."""
    found: list[Attempt] = []
    for member in node.members:
        named = names.find(member.key)
        if named is None or member.value.kind is not JsonKind.OBJECT:
            return []
        place = Range(member.key_range.start, member.value.range.end) if len(node.members) > 1 else node.range
        attempt = _with_arguments(named, node, member.value, text, "as JSON with the tool's name for a key")
        read = attempt.read() if attempt is not None else None
        if attempt is None or read is None or read.evidence is not Evidence.STRONG:
            return []
        if not read.values and named.has_required:
            return []
        attempt.range, attempt.arguments = place, read._replace(guessed=True)
        found.append(attempt)
    return found


def _with_arguments(
    named: NamedTool, node: JsonNode, value: JsonNode, text: str, shape: str, *, guessed: bool = False
) -> Attempt | None:
    raw = value.range.of(text)
    arguments = _object_of(value)
    if arguments is None:
        words = value.scalar if value.kind is JsonKind.STRING else None
        if not words and value.kind is not JsonKind.NULL:
            return None
        found = ReadArguments(Evidence.MEDIUM, None, guessed=True)
        return Attempt(named, node.range, node.range, shape, raw, found)
    is_schema = isinstance(arguments.get("properties"), dict) and "properties" not in named.properties
    if is_schema or (arguments.get("type") == "object" and "type" not in named.properties):
        return None
    evidence = Evidence.STRONG if not arguments or named.knows(arguments) else Evidence.MEDIUM
    is_strict = read_json(node.range.of(text)).strict
    guess = guessed or bool(named.slip) or not is_strict
    found = ReadArguments(evidence, arguments, guess)
    return Attempt(named, node.range, node.range, shape, raw, found)


def _object_of(node: JsonNode) -> dict[str, Json] | None:
    value = node.value()
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        nodes = read_json(value).nodes
        value = nodes[0].value() if nodes else None
    return value if isinstance(value, dict) else None
