"""Looks into JSON nodes by the shapes that APIs use."""

from collections.abc import Iterator

from inspector.json_scanner import JsonKind, JsonNode


def member(node: JsonNode | None, *keys: str) -> JsonNode | None:
    """The value under the first of `keys` that is there and not null."""
    if node is None or node.kind is not JsonKind.OBJECT:
        return None
    for key in keys:
        found = node.member(key)
        if found is not None and found.value.kind is not JsonKind.NULL:
            return found.value
    return None


def string(node: JsonNode | None, *keys: str) -> JsonNode | None:
    """The string under the first of `keys` that is there and not null; None where that is no string."""
    found = member(node, *keys)
    return found if found is not None and found.kind is JsonKind.STRING else None


def text_of(node: JsonNode | None, *keys: str) -> str:
    """That string's value, "" where there is none."""
    found = string(node, *keys)
    return found.scalar if found is not None and isinstance(found.scalar, str) else ""


def items(node: JsonNode | None, *keys: str) -> tuple[JsonNode, ...]:
    """The elements of the array under the first of `keys` that is there."""
    found = member(node, *keys)
    return found.items if found is not None and found.kind is JsonKind.ARRAY else ()


def objects(node: JsonNode | None, *keys: str) -> Iterator[JsonNode]:
    """Those of them that are objects."""
    return (item for item in items(node, *keys) if item.kind is JsonKind.OBJECT)


def number(node: JsonNode | None, key: str) -> int | None:
    """The integer under `key`."""
    found = member(node, key)
    scalar = found.scalar if found is not None else None
    return scalar if isinstance(scalar, int) and not isinstance(scalar, bool) else None


def truth(node: JsonNode | None, key: str) -> bool | None:
    """The truth value under `key`."""
    found = member(node, key)
    scalar = found.scalar if found is not None else None
    return scalar if isinstance(scalar, bool) else None


def is_filled(node: JsonNode | None) -> bool:
    """Whether a node is a string that is not empty."""
    return node is not None and node.kind is JsonKind.STRING and bool(node.scalar)
