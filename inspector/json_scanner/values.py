"""JSON values with their positions in the text, and the fast path that reads strict JSON.

One regular expression matches a whole member or element per step, so that ordinary payloads cost little. It reports
no faults; whatever it does not match is read again, tolerantly, by `reader`.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum
from json import decoder

import msgspec
from msgspec import Struct

from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.json_text import Json
from weaklink.inspector.scanning import end_of_repeats, repeated
from weaklink.inspector.text import Range

MAX_DEPTH = 512
"""The maximum number of open brackets; what is nested deeper is kept as text (rule J117)."""

_INDEX = re.compile(r"0|[1-9][0-9]{0,17}")
NUMBER = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?"
_PLAIN = r'"[^"\\\x00-\x1f]*+'

# The groups of a value; `lastindex` is the one that matched: string (up to its first escape), number, literal, bracket.
_VALUE = rf"""(?:({_PLAIN}["\\])|({NUMBER})|(true|false|null)|([\[{{]))[ \t\n\r]*+"""
_ELEMENT = re.compile(rf"[ \t\n\r]*+{_VALUE}")
_MEMBER = re.compile(rf'[ \t\n\r]*+({_PLAIN}")[ \t\n\r]*+:[ \t\n\r]*+{_VALUE}')
_ESCAPED_KEY = re.compile(rf"[ \t\n\r]*+({_PLAIN}\\)")
_AFTER_KEY = re.compile(rf"()[ \t\n\r]*+:[ \t\n\r]*+{_VALUE}")  # with the groups of a member
_ESCAPES = repeated(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+')
_STRING_BEGINS = re.compile(_PLAIN)
_SPACE = re.compile(r"[ \t\n\r]*+")
_STRING, _NUMBER, _LITERAL, _BRACKET = 1, 2, 3, 4

# Python refuses to convert longer numbers to int, since that takes quadratic time; Decimal does not.
_MAX_INT_DIGITS = 4300
_SCAN: Callable[[str, int], tuple[str, int]] = decoder.scanstring  # type: ignore[attr-defined]  # missing in typeshed


class JsonKind(StrEnum):
    """The kind of a value; `OTHER` is anything that is not JSON: an expression, a bare word, a placeholder."""

    OBJECT = "object"
    ARRAY = "array"
    STRING = "string"
    NUMBER = "number"
    TRUE = "true"
    FALSE = "false"
    NULL = "null"
    OTHER = "other"


class JsonNode(msgspec.Struct, frozen=True, gc=False):
    """One value: `range` covers its exact characters, quotes and brackets included.

    `scalar` is the decoded value of everything but objects and arrays. For an `OTHER` value it is the value after the
    suggested repair, else its text, or None if there is no text. A msgspec structure, not a dataclass: one is created
    for every value, and it costs a ninth of the time.
    """

    kind: JsonKind
    range: Range
    scalar: Json = None
    members: tuple["JsonMember", ...] = ()
    items: tuple["JsonNode", ...] = ()

    def value(self) -> Json:
        """The decoded value; the last of several members with the same key wins, as with `json.loads`."""
        if self.kind is JsonKind.OBJECT or self.kind is JsonKind.ARRAY:
            return _container_value(self)
        return self.scalar

    def member(self, key: str) -> "JsonMember | None":
        """The member that readers see under `key`: the last one, if there are several."""
        for member in reversed(self.members):
            if member.key == key:
                return member
        return None

    def node_at(self, pointer: str) -> "JsonNode | None":
        """The value at a JSON Pointer (RFC 6901), the empty pointer being this value; None if there is none."""
        if pointer and not pointer.startswith("/"):
            return None
        node: JsonNode | None = self
        for token in pointer.split("/")[1:]:
            node = _child(node, token.replace("~1", "/").replace("~0", "~")) if node else None
        return node


class JsonMember(msgspec.Struct, frozen=True, gc=False):
    """One member of an object; `key_range` covers the key with its quotes."""

    key: str
    key_range: Range
    value: JsonNode


class JsonResult(Struct, frozen=True):
    """The result of reading one payload.

    `range` is the range that was read; `nodes` are the top-level values in order; `faults` are sorted by position.
    `strict` says that there is exactly one value and any RFC 8259 reader accepts it (duplicate keys do not unset it, a
    depth over `MAX_DEPTH` does). `repairable` says that every fault of severity `error` has a fix, and that all fixes
    together give strict JSON with the values in `nodes`.
    """

    range: Range
    nodes: tuple[JsonNode, ...]
    faults: tuple[Fault, ...]
    strict: bool
    repairable: bool


def _child(node: JsonNode, token: str) -> JsonNode | None:
    if node.kind is JsonKind.OBJECT:
        member = node.member(token)
        return member.value if member else None
    if _INDEX.fullmatch(token) and int(token) < len(node.items):
        return node.items[int(token)]
    return None


def _container_value(root: JsonNode) -> Json:
    """The value of an object or array, without recursion: a caller's stack may be nearly full."""
    result, todo = _begun(root)
    while todo:
        node, target = todo.pop()
        if isinstance(target, dict):
            for member in node.members:
                target[member.key] = _value_or_later(member.value, todo)
        else:
            target.extend(_value_or_later(item, todo) for item in node.items)
    return result


_Todo = list[tuple[JsonNode, dict[str, Json] | list[Json]]]


def _begun(node: JsonNode) -> tuple[Json, _Todo]:
    todo: _Todo = []
    return _value_or_later(node, todo), todo


def _value_or_later(node: JsonNode, todo: _Todo) -> Json:
    target: dict[str, Json] | list[Json]
    if node.kind is JsonKind.OBJECT:
        target = {}
    elif node.kind is JsonKind.ARRAY:
        target = []
    else:
        return node.scalar
    todo.append((node, target))
    return target


LITERALS: dict[str, tuple[JsonKind, Json]] = {
    "true": (JsonKind.TRUE, True),
    "false": (JsonKind.FALSE, False),
    "null": (JsonKind.NULL, None),
}


def number_value(text: str) -> int | float | Decimal:
    """The value of a number in JSON's spelling: exact for integers of any length, infinite if a float overflows."""
    if "." in text or "e" in text or "E" in text:
        return float(text)
    return int(text) if len(text) <= _MAX_INT_DIGITS else Decimal(text)


def decoded(content: str) -> str:
    """The value of a strict JSON string's content, given without its quotes."""
    return _SCAN(f'{content}"', 0)[0] if "\\" in content else content


def is_strict_content(content: str) -> bool:
    """Whether JSON allows `content` between the quotes of a string."""
    return string_end(f'"{content}"', 0, len(content) + 2) == len(content) + 2


def string_end(text: str, start: int, end: int) -> int:
    """The end, after its closing quote, of the strict JSON string that begins with the quote at `start`; -1 if none."""
    plain = _STRING_BEGINS.match(text, start, end)
    if plain is None:
        return -1
    position = end_of_repeats(_ESCAPES, text, plain.end(), end)
    return position + 1 if position < end and text[position] == '"' else -1


def string_value(text: str, start: int, end: int) -> str:
    """The value of the strict JSON string from `start` to `end` of a text, quotes included."""
    if text.find("\\", start, end) < 0:
        return text[start + 1 : end - 1]
    return _SCAN(text, start + 1)[0]


def read_strict(text: str, start: int, end: int) -> tuple[JsonNode | None, list[JsonNode]]:
    """The single value from `start` to `end` of `text`, or None; and the objects that contain a key twice."""
    match = _ELEMENT.match(text, start, end)
    doubled: list[JsonNode] = []
    if not match:
        return None, doubled
    group: int = match.lastindex  # type: ignore[assignment]  # one of four always matches
    if group != _BRACKET:
        first, last = match.span(group)
        position = match.end()
        if text[last - 1] == "\\":
            last, position = _whole_string(text, first, end)
        return (_scalar(text, group, first, last) if position == end else None), doubled
    node, position = read_container(text, match.start(_BRACKET), end, doubled)
    return (node if position == end else None), doubled


def read_strict_at(text: str, start: int, end: int) -> tuple[JsonNode | None, int]:
    """The object or array that begins at `start`, and its end, anywhere up to `end`.

    If it is not strict: None, and a position up to which nothing was wrong.
    """
    node, read_to = read_container(text, start, end, [])
    return node, read_to if node is None else node.range.end


def is_strict(text: str, payload_range: Range) -> bool:
    """Whether the text at `payload_range` is exactly one strict JSON value, with nothing around it."""
    node, _ = read_strict(text, payload_range.start, payload_range.end)
    return node is not None and node.range == payload_range


def _whole_string(text: str, start: int, end: int) -> tuple[int, int]:
    """The end of a string with escapes, and of the white space after it; -1 for both if it is not strict."""
    last = string_end(text, start, end)
    return last, _SPACE.match(text, last, end).end() if last >= 0 else -1  # type: ignore[union-attr]  # matches ""


def _escaped_key(text: str, position: int, end: int) -> tuple[Range, re.Match[str]] | None:
    """A key with escapes at `position`, and the match of what follows it; None if there is none."""
    begins = _ESCAPED_KEY.match(text, position, end)
    if begins is None:
        return None
    last = string_end(text, begins.start(1), end)
    match = _AFTER_KEY.match(text, last, end) if last >= 0 else None
    return None if match is None else (Range(begins.start(1), last), match)


def _scalar(text: str, group: int, start: int, end: int) -> JsonNode:
    if group == _STRING:
        return JsonNode(JsonKind.STRING, Range(start, end), string_value(text, start, end))
    if group == _NUMBER:
        return JsonNode(JsonKind.NUMBER, Range(start, end), number_value(text[start:end]))
    kind, scalar = LITERALS[text[start:end]]
    return JsonNode(kind, Range(start, end), scalar)


def read_container(  # noqa: C901, PLR0915  # the one hot loop: a call for each value would halve its speed
    text: str, start: int, end: int, doubled: list[JsonNode], *, depth: int = 0
) -> tuple[JsonNode | None, int]:
    """The object or array at `start`, with `depth` brackets open around it, and the position after its trailing space.

    If it is not strict: None, and a position up to which nothing was wrong.
    """
    outer: list[tuple[int, list[JsonMember], list[JsonNode], bool, str, Range]] = []
    members: list[JsonMember] = []
    items: list[JsonNode] = []
    in_object = text[start] == "{"
    key, key_range = "", Range(0, 0)
    position = start + 1
    opened = True
    while True:
        closed = False
        match = (_MEMBER if in_object else _ELEMENT).match(text, position, end)
        if match:
            if in_object:
                first, last = match.span(1)
                key_range = Range(first, last)
                key = text[first + 1 : last - 1]
        elif in_object and (escaped := _escaped_key(text, position, end)) is not None:
            key_range, match = escaped
            key = _SCAN(text, key_range.start + 1)[0]
        if match:
            position = match.end()
            group: int = match.lastindex  # type: ignore[assignment]  # one of four always matches
            first, last = match.span(group)
            group -= in_object
            if group == _BRACKET:
                if len(outer) + depth + 1 >= MAX_DEPTH:
                    return None, position
                outer.append((start, members, items, in_object, key, key_range))
                start, members, items = first, [], []
                in_object = text[first] == "{"
                position = first + 1
                opened = True
                continue
            if group == _STRING:
                if text[last - 1] == "\\":
                    last, position = _whole_string(text, first, end)
                    if last < 0:
                        return None, first
                    scalar = _SCAN(text, first + 1)[0]
                else:
                    scalar = text[first + 1 : last - 1]
                node = JsonNode(JsonKind.STRING, Range(first, last), scalar)
            else:
                node = _scalar(text, group, first, last)
            if in_object:
                members.append(JsonMember(key, key_range, node))
            else:
                items.append(node)
        elif opened:
            position = _SPACE.match(text, position, end).end()  # type: ignore[union-attr]  # matches ""
            closed = True
        else:
            return None, position
        opened = False
        while position < end:
            following = text[position]
            if following == "," and not closed:
                position += 1
                break
            if following != ("}" if in_object else "]"):
                return None, position
            position += 1
            if in_object:
                node = JsonNode(JsonKind.OBJECT, Range(start, position), None, tuple(members))
                if len(members) > 1 and len({member.key for member in members}) < len(members):
                    doubled.append(node)
            else:
                node = JsonNode(JsonKind.ARRAY, Range(start, position), None, (), tuple(items))
            position = _SPACE.match(text, position, end).end()  # type: ignore[union-attr]  # matches ""
            closed = False
            if not outer:
                return node, position
            start, members, items, in_object, key, key_range = outer.pop()
            if in_object:
                members.append(JsonMember(key, key_range, node))
            else:
                items.append(node)
        else:
            return None, position
