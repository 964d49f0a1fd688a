"""Reads JSON payloads, valid or not: every value with its position, and every fault with its repair.

Theory of operation. `read_json` first tries the strict reader (`values`), which gives up at the first fault. Only then
does the tolerant machine read the same text, from its beginning:

    payload       {"city": 'Oslo', days: 3,
    document      no fence and no prose around the value, so it begins at 0
    reader        a frame for `{`: it expects a key, a colon, a value and a comma in turn
    strings       'Oslo' is quoted with apostrophes; `string_ends` finds its end, before the comma
    strings       `days` is a key without quotes
    words         3 is a number
    truncation    the text ends after a comma, with one bracket open
    JsonResult    {"city": "Oslo", "days": 3}, not strict, repairable, and the faults

    single-quoted-json   9..15    write double quotes
    unquoted-word       17..21    write "days"
    truncated-json      24..25    delete the comma, and add `}` at the end

A fault is what a strict reader would stop at, with the edits that make it good. The machine goes on as if these edits
had been made, so its values are those of the repaired text. `repairable` is tested, not assumed: the edits are applied
and the strict reader must find the same values. A payload that is still streaming is not read at all: `tracker` only
looks for its end. Time is linear in the text, whatever it is; lookahead is bounded.
"""

from weaklink.inspector.json_scanner.document import read_json, read_values
from weaklink.inspector.json_scanner.strings import decode_string
from weaklink.inspector.json_scanner.truncation import KNOWN_ARGUMENT_KEYS
from weaklink.inspector.json_scanner.values import (
    MAX_DEPTH,
    JsonKind,
    JsonMember,
    JsonNode,
    JsonResult,
    is_strict,
    read_strict_at,
)

__all__ = [
    "KNOWN_ARGUMENT_KEYS",
    "MAX_DEPTH",
    "JsonKind",
    "JsonMember",
    "JsonNode",
    "JsonResult",
    "decode_string",
    "is_strict",
    "read_json",
    "read_strict_at",
    "read_values",
]
