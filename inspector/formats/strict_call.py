"""Reads the payload of a call the short way: strict JSON in the usual shape, or nothing.

The object's frame is matched with one expression and the arguments are decoded by msgspec. Whatever that does not take,
and every fault, goes to the scanner, which alone decides.
"""

import re
from functools import lru_cache
from typing import Any

import msgspec

from inspector.json_scanner import MAX_DEPTH
from inspector.model import Json, ToolCall
from inspector.text import Range

_SPACE = " \t\n\r"
_W = r"[ \t\n\r]*"
_PLAIN_STRING = r'"([^"\\\x00-\x1f\ud800-\udfff]*)"'
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_format = msgspec.json.format
_NEARLY_TOO_DEEP = b"\n" + b" " * (MAX_DEPTH - 2)


@lru_cache(maxsize=32)
def _frames(name: str, arguments: str) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Expressions for what stands before the arguments where the name is first, and where it is last; for the last."""
    first, key = re.escape(name), rf'"{re.escape(arguments)}"{_W}:{_W}(?=\{{)'
    return (
        re.compile(rf'{_W}\{{{_W}"{first}"{_W}:{_W}{_PLAIN_STRING}{_W},{_W}{key}'),
        re.compile(rf"{_W}\{{{_W}{key}"),
        re.compile(rf'"{first}"{_W}:{_W}{_PLAIN_STRING}{_W}\}}{_W}'),
    )


def read_whole_call(text: str, start: int) -> ToolCall | None:
    """The one call of a payload that begins at `start`, or None where anything at all is unusual.

    It takes strict JSON objects that hold `name` and `arguments`, an object, in either order, and nothing else.
    """
    return read_framed_call(text, start, "name", "arguments")


def read_framed_call(text: str, start: int, name_key: str, arguments_key: str) -> ToolCall | None:
    """The same of objects that keep the tool's name and the arguments under these keys."""
    name_first, arguments_first, name_at_end = _frames(name_key, arguments_key)
    end = len(text.rstrip(_SPACE))
    match = name_first.match(text)
    if match is not None:
        body_end, closer, name, name_at = end - 1, "}", match[1], match.span(1)
    else:
        match = arguments_first.match(text)
        at = text.rfind(f'"{name_key}"')
        name_last = name_at_end.fullmatch(text, at) if match is not None and at > 0 else None
        if match is None or name_last is None:
            return None
        body_end, closer, name, name_at = len(text[:at].rstrip(_SPACE)) - 1, ",", name_last[1], name_last.span(1)
    first = match.end()
    raw = text[first:body_end].rstrip(_SPACE)
    arguments = strict_object(raw) if name and text[body_end : body_end + 1] == closer else None
    if arguments is None:
        return None
    return ToolCall(
        name,
        arguments,
        raw,
        valid=True,
        range=Range(start + text.index("{"), start + end),
        name_range=Range(start + name_at[0] - 1, start + name_at[1] + 1),
        arguments_range=Range(start + first, start + first + len(raw)),
    )


def strict_object(raw: str) -> dict[str, Json] | None:
    """The decoded object, or None where it is not strict, too deep, holds a key twice, or could be one of these.

    A value that a duplicate key hides is missing from the decoded object, and with it at least two quotes.
    """
    if "\\" in raw and "\\u0022" in raw:
        return None
    try:
        written = raw.encode()
        value = _decode(written)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return None
    encoded = _encode(value)
    if type(value) is not dict or encoded.count(b'"') != written.count(b'"'):
        return None
    is_flat = len(raw) < 2 * (MAX_DEPTH - 1) or _NEARLY_TOO_DEEP not in _format(encoded, indent=1)
    return value if is_flat or _is_shallow(value) else None


def _is_shallow(value: Any) -> bool:
    """Whether a decoded value, and the object around it, nest no deeper than the scanner reads; level by level."""
    level = [value]
    for _ in range(MAX_DEPTH - 1):
        level = [
            child
            for parent in level
            for child in (parent.values() if type(parent) is dict else parent)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return True
    return False
