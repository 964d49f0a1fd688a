"""What a reading of JSON text gives: values that know their place, and the faults found on the way."""

import re
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from inspector.diagnostics import Fault
from inspector.model.json import Json
from inspector.text import Range

MAX_DEPTH = 512
"""How many brackets may stand open at once; what lies deeper is kept as text (rule J117)."""

_INDEX = re.compile(r"0|[1-9][0-9]{0,17}")


class JsonKind(StrEnum):
    """What a value is; `OTHER` is anything that JSON has no word for: an expression, a bare word, a placeholder."""

    OBJECT = "object"
    ARRAY = "array"
    STRING = "string"
    NUMBER = "number"
    TRUE = "true"
    FALSE = "false"
    NULL = "null"
    OTHER = "other"


class JsonNode(msgspec.Struct, frozen=True, gc=False):
    """One value: `range` holds its exact characters, quotes and brackets included.

    `scalar` is the decoded value of everything but objects and arrays. Of an `OTHER` value it is what the suggested
    repair would make of it, else its text, or None where even that is not there. A msgspec structure and no
    dataclass: one is made for every value, and it costs a ninth of the time.
    """

    kind: JsonKind
    range: Range
    scalar: Json = None
    members: tuple["Member", ...] = ()
    items: tuple["JsonNode", ...] = ()

    def value(self) -> Json:
        """The decoded value; of members with the same key the last wins, as with `json.loads`."""
        if self.kind is JsonKind.OBJECT or self.kind is JsonKind.ARRAY:
            return _container_value(self)
        return self.scalar

    def member(self, key: str) -> "Member | None":
        """The member that readers see under `key`: the last one, if there are several."""
        for member in reversed(self.members):
            if member.key == key:
                return member
        return None

    def at(self, pointer: str) -> "JsonNode | None":
        """The value that a JSON Pointer (RFC 6901) names, the empty pointer this one; None if there is none."""
        if pointer and not pointer.startswith("/"):
            return None
        node: JsonNode | None = self
        for token in pointer.split("/")[1:]:
            node = _child(node, token.replace("~1", "/").replace("~0", "~")) if node else None
        return node


class Member(msgspec.Struct, frozen=True, gc=False):
    """One member of an object; `key_range` holds the key with its quotes."""

    key: str
    key_range: Range
    value: JsonNode


@dataclass(frozen=True, slots=True)
class JsonReading:
    """All that was read from one payload.

    `range` is what was read; `nodes` holds every top-level value in order; `faults` are sorted by place. `strict`
    says that there is exactly one value and any reader of RFC 8259 takes it (duplicate keys do not unset it, a depth
    over `MAX_DEPTH` does); `repairable` that every fault of severity `error` has a fix, and that all of them together
    make strict JSON with the values that `nodes` hold.
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
