"""Reads the JSON of payloads, valid or not: every value with its place, and every fault with its repair."""

from inspector.json_scanner.document import read_json
from inspector.json_scanner.escapes import decode_string
from inspector.json_scanner.strict import is_strict
from inspector.json_scanner.values import MAX_DEPTH, JsonKind, JsonNode, JsonReading, Member

__all__ = ["MAX_DEPTH", "JsonKind", "JsonNode", "JsonReading", "Member", "decode_string", "is_strict", "read_json"]
