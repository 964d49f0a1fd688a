"""Reads JSON payloads, valid or not: every value with its position, and every fault with its repair."""

from weaklink.inspector.json_scanner.document import read_json, read_values
from weaklink.inspector.json_scanner.strings import decode_string
from weaklink.inspector.json_scanner.truncation import KNOWN_ARGUMENT_KEYS
from weaklink.inspector.json_scanner.values import (
    MAX_DEPTH,
    JsonKind,
    JsonMember,
    JsonNode,
    JsonReading,
    is_strict,
    read_strict_at,
)

__all__ = [
    "KNOWN_ARGUMENT_KEYS",
    "MAX_DEPTH",
    "JsonKind",
    "JsonMember",
    "JsonNode",
    "JsonReading",
    "decode_string",
    "is_strict",
    "read_json",
    "read_strict_at",
    "read_values",
]
