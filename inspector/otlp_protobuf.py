"""OTLP requests in protobuf's wire format, as the same requests in OTLP's JSON, and back.

A message is a sequence of fields, each its number and wire type as a varint, then its value: a varint (0), eight bytes
(1), four bytes (5), or a length and bytes (2: texts, bytes, messages). `_FIELDS` says which field is which member:

    0a 02 68 69  ->  field 1, two bytes  ->  {"stringValue": "hi"}, as a `value`

Read from and written for: collectors' files and exporters' bodies; Phoenix, which accepts no JSON (20.26 answers 415).
Bodies that follow each other are one body, as their `resourceSpans` are one list. A generated parser would need the
whole message, of which it makes objects (four megabytes of empty spans took 360 MB, 2026-11-29); here the reader goes
span by span, and through what is there of a truncated message. Sources: protobuf.dev, "Encoding"; opentelemetry-proto
1.9, trace_service.proto, trace.proto, common.proto, resource.proto.
"""

import struct
from collections.abc import Iterator
from typing import BinaryIO, TypeAlias

from weaklink.inspector.json_text import Json, list_of, object_of
from weaklink.inspector.text import decode

Field: TypeAlias = tuple[int, int | bytes]
"""A field's number and its value: an integer of any width as its bits, or the bytes of anything else."""

_FIELDS: dict[str, dict[str, tuple[int, str]]] = {
    "request": {"resourceSpans": (1, "resource_spans*")},
    "resource_spans": {"resource": (1, "resource"), "scopeSpans": (2, "scope_spans*")},
    "resource": {"attributes": (1, "pair*")},
    "scope_spans": {"scope": (1, "scope"), "spans": (2, "span*")},
    "scope": {"name": (1, "text"), "version": (2, "text")},
    "span": {
        "traceId": (1, "hex"),
        "spanId": (2, "hex"),
        "parentSpanId": (4, "hex"),
        "name": (5, "text"),
        "kind": (6, "integer"),
        "startTimeUnixNano": (7, "fixed"),
        "endTimeUnixNano": (8, "fixed"),
        "attributes": (9, "pair*"),
        "droppedAttributesCount": (10, "integer"),
        "events": (11, "event*"),
        "droppedEventsCount": (12, "integer"),
        "status": (15, "status"),
    },
    "event": {"timeUnixNano": (1, "fixed"), "name": (2, "text"), "attributes": (3, "pair*")},
    "status": {"message": (2, "text"), "code": (3, "integer")},
    "pair": {"key": (1, "text"), "value": (2, "value")},
    # Of these exactly one is set, so that its default is written too.
    "value": {
        "stringValue": (1, "set text"),
        "boolValue": (2, "set boolean"),
        "intValue": (3, "set integer"),
        "doubleValue": (4, "double"),
        "arrayValue": (5, "values"),
        "kvlistValue": (6, "pairs"),
        "bytesValue": (7, "hex"),
    },
    "values": {"values": (1, "value*")},
    "pairs": {"values": (1, "pair*")},
}
"""The members of each message by their names in JSON: the field's number, and what it is; `*` marks a list."""

_MEMBERS = {
    kind: {
        number: (name, what.removesuffix("*").removeprefix("set "), what.endswith("*"))
        for name, (number, what) in fields.items()
    }
    for kind, fields in _FIELDS.items()
}
_VARINT, _EIGHT_BYTES, LENGTH, _FOUR_BYTES = 0, 1, 2, 5
_MAX_DEPTH = 192  # 64 objects, which take three messages each, or 96 lists


class CutError(ValueError):
    """A message ends within a field."""


class CutBytes(bytes):
    """The beginning of a field that is truncated by the end of its message."""


def otlp_protobuf(request: dict[str, Json]) -> bytes:
    """The body of an `application/x-protobuf` request; `request` is one of `otlp_request`."""
    return _written(request, "request")


def read_message(raw: bytes, kind: str, *, cut: bool = False, depth: int = 0) -> dict[str, Json]:
    """A message of a kind (`span`, `resource`) in OTLP's JSON; ids and bytes are hexadecimal, times are integers.

    Fields that the kind does not have are left out, and so is a last field that breaks off if `cut`. Errors as for
    `fields_of`, and ValueError for values that are nested deeper than `_MAX_DEPTH`.
    """
    if depth > _MAX_DEPTH:
        raise ValueError("the values are nested too deeply")
    message: dict[str, Json] = {}
    lists: dict[str, list[Json]] = {}
    members = _MEMBERS[kind]
    for number, content in fields_of(raw, cut=cut):
        if number not in members:
            continue
        name, what, is_list = members[number]
        if what not in _FIELDS:
            if isinstance(content, bytes) is (what in ("text", "hex")):
                message[name] = _scalar(content, what)
        elif isinstance(content, bytes):
            value = read_message(content, what, depth=depth + 1)
            if is_list:
                lists.setdefault(name, []).append(value)
            else:
                message[name] = value
    message.update(lists)
    return message


def _scalar(content: int | bytes, kind: str) -> Json:
    match content, kind:
        case bytes(), "text":
            return decode(content)
        case bytes(), _:
            return content.hex()
        case int(), "boolean":
            return bool(content)
        case int(), "double":
            return float(struct.unpack("<d", content.to_bytes(8, "little"))[0])
        case int(), "integer":
            return content - (1 << 64) if content >> 63 else content
        case _:
            return content


def fields_of(raw: bytes, *, cut: bool = False) -> Iterator[Field]:
    """The fields of a message: numbers as integers, the rest as bytes; `cut` also yields a truncated last field.

    CutError if the message ends within a field, ValueError if it is not a message.
    """
    at, end = 0, len(raw)
    while at < end:
        key, at = varint_at(raw, at)
        number, kind = key >> 3, key & 7
        if not number or kind not in {_VARINT, _EIGHT_BYTES, LENGTH, _FOUR_BYTES}:
            raise ValueError(f"invalid field with number {number} and wire type {kind}")
        if kind == _VARINT:
            value, at = varint_at(raw, at)
            yield number, value
            continue
        length, at = (8 if kind == _EIGHT_BYTES else 4, at) if kind != LENGTH else varint_at(raw, at)
        content = raw[at : at + length]
        at += length
        if len(content) < length:
            if cut and kind == LENGTH:
                yield number, CutBytes(content)
                return
            raise CutError("a field is truncated")
        yield number, content if kind == LENGTH else int.from_bytes(content, "little")


def varint_at(raw: bytes, at: int) -> tuple[int, int]:
    """The number at this position, of at most 64 bits, and the position after it; errors as for `fields_of`."""
    if at < len(raw) and raw[at] < 0x80:  # nearly all are a single byte
        return raw[at], at + 1
    value = shift = 0
    for position in range(at, min(at + 10, len(raw))):
        byte = raw[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, position + 1
        shift += 7
    if len(raw) - at < 10:
        raise CutError("a number is truncated")
    raise ValueError("a number is too long")


def read_varint(stream: BinaryIO) -> int | None:
    """A number from a stream; None if the stream ends first, ValueError for one of more than 10 bytes."""
    raw = b""
    while len(raw) < 10:
        byte = stream.read(1)
        if not byte:
            return None
        raw += byte
        if byte[0] < 0x80:
            return varint_at(raw, 0)[0]
    raise ValueError("a number is too long")


def _written(value: Json, kind: str) -> bytes:
    members = object_of(value)
    return b"".join(
        _field(number, what.removesuffix("*"), item)
        for name, (number, what) in _FIELDS[kind].items()
        if name in members
        for item in (list_of(members[name]) if what.endswith("*") else [members[name]])
    )


def _field(number: int, kind: str, value: Json) -> bytes:
    if kind in _FIELDS:
        return _delimited(number, _written(value, kind))
    if not value and not kind.startswith("set ") and kind != "double":
        return b""
    match kind:
        case "hex":
            return _delimited(number, bytes.fromhex(str(value)))
        case "text" | "set text":
            return _delimited(number, str(value).encode())
        case "fixed":
            return _head(number, _EIGHT_BYTES) + struct.pack("<Q", int(str(value)))
        case "double":
            return _head(number, _EIGHT_BYTES) + struct.pack("<d", float(str(value)))
        case _:
            return _head(number, _VARINT) + _varint(int(value if isinstance(value, bool) else str(value)))


def _delimited(number: int, content: bytes) -> bytes:
    return _head(number, LENGTH) + _varint(len(content)) + content


def _head(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def _varint(value: int) -> bytes:
    return bytes(_seven_bits(value % (1 << 64)))  # negative integers are written in two's complement


def _seven_bits(value: int) -> Iterator[int]:
    while value > 0x7F:
        yield value & 0x7F | 0x80
        value >>= 7
    yield value
