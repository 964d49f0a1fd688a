"""Values that no JSON Schema library may see: too deep, too large, or holding what it refuses."""

import math
from dataclasses import dataclass
from decimal import Decimal

from inspector.model import Json

DEPTH_OF_VALUES = 512
"""The library crashes the process at a depth of 30,000; the JSON reader stops at this one."""
DEPTH_OF_SCHEMAS = 120
"""The library refuses schemas that nest deeper than 255 containers, and its meta-schemas cost some of the stack."""


@dataclass(frozen=True, slots=True)
class UnsafePart:
    """The first part that must not be passed on, by its path, and why."""

    path: tuple[str | int, ...]
    why: str


def unsafe_part(value: Json, *, deepest: int = DEPTH_OF_VALUES, largest: int = 5_000_000) -> UnsafePart | None:
    """The first part of `value`, level by level, that must not reach the library; None where all may."""
    level: list[tuple[tuple[str | int, ...], Json]] = [((), value)]
    seen = 1
    for _ in range(deepest + 1):
        below: list[tuple[tuple[str | int, ...], Json]] = []
        for path, node in level:
            why = _refused(node)
            if why:
                return UnsafePart(path, why)
            inside = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
            below += [((*path, key), inner) for key, inner in inside if not _is_plain(inner)]
            seen += len(node) if isinstance(node, dict | list) else 0
            if seen > largest:
                return UnsafePart((), f"it holds more than {largest:,} values")
        if not below:
            return None
        level = below
    return UnsafePart((), f"it nests deeper than {deepest} levels")


def _is_plain(node: Json) -> bool:
    """What is surely safe, and mostly comes: spared the way that its place would take."""
    return node.isascii() if isinstance(node, str) else node is None or isinstance(node, int)


def _refused(node: Json) -> str | None:
    if isinstance(node, str):
        return None if node.isascii() or not _has_lone_surrogate(node) else _LONE
    if isinstance(node, dict):
        return None if "".join(node).isascii() or not any(map(_has_lone_surrogate, node)) else _LONE
    if isinstance(node, float) and not math.isfinite(node):
        return "a number in it is beyond what numbers can hold, or none"
    if isinstance(node, Decimal):
        return "a number in it has more than 4,300 digits"
    return None


_LONE = "a text in it holds half a surrogate pair, which is no Unicode text"


def _has_lone_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
