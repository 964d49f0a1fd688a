"""An OTLP request in JSON as the same request in protobuf's wire format: Phoenix accepts no other (20.26 answers 415).

A message is a sequence of fields, each its number and wire type as a varint, then its value: a varint (0), eight bytes
(1), or a length and bytes (2: texts, bytes, messages). `_FIELDS` has the fields of the messages that `otlp_request`
writes, by their names in JSON, each with its number and what it is; a field with its default is left out, as protobuf
does. Bodies that follow each other are one body: their `resourceSpans` are one list. Numbers: opentelemetry-proto 1.9,
trace_service.proto, trace.proto, common.proto, resource.proto.
"""

import struct
from collections.abc import Iterator

from weaklink.inspector.json_text import list_of, object_of
from weaklink.inspector.model import Json

_FIELDS: dict[str, dict[str, tuple[int, str]]] = {
    "request": {"resourceSpans": (1, "resource_spans")},
    "resource_spans": {"resource": (1, "resource"), "scopeSpans": (2, "scope_spans")},
    "resource": {"attributes": (1, "pair")},
    "scope_spans": {"scope": (1, "scope"), "spans": (2, "span")},
    "scope": {"name": (1, "text"), "version": (2, "text")},
    "span": {
        "traceId": (1, "hex"),
        "spanId": (2, "hex"),
        "parentSpanId": (4, "hex"),
        "name": (5, "text"),
        "kind": (6, "integer"),
        "startTimeUnixNano": (7, "fixed"),
        "endTimeUnixNano": (8, "fixed"),
        "attributes": (9, "pair"),
        "events": (11, "event"),
        "status": (15, "status"),
    },
    "event": {"timeUnixNano": (1, "fixed"), "name": (2, "text"), "attributes": (3, "pair")},
    "status": {"message": (2, "text"), "code": (3, "integer")},
    "pair": {"key": (1, "text"), "value": (2, "value")},
    # Of these exactly one is set, so that its default is written too.
    "value": {
        "stringValue": (1, "set text"),
        "boolValue": (2, "set integer"),
        "intValue": (3, "set integer"),
        "doubleValue": (4, "double"),
        "arrayValue": (5, "values"),
    },
    "values": {"values": (1, "value")},
}
_VARINT, _EIGHT_BYTES, _LENGTH = 0, 1, 2


def otlp_protobuf(request: dict[str, Json]) -> bytes:
    """The body of an `application/x-protobuf` request; `request` is one of `otlp_request`."""
    return _message(request, "request")


def _message(value: Json, kind: str) -> bytes:
    members = object_of(value)
    return b"".join(
        _field(number, field, item)
        for name, (number, field) in _FIELDS[kind].items()
        if name in members
        for item in (list_of(members[name]) if isinstance(members[name], list) else [members[name]])
    )


def _field(number: int, kind: str, value: Json) -> bytes:
    if kind in _FIELDS:
        return _delimited(number, _message(value, kind))
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
    return _head(number, _LENGTH) + _varint(len(content)) + content


def _head(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def _varint(value: int) -> bytes:
    return bytes(_seven_bits(value % (1 << 64)))  # negative integers are written in two's complement


def _seven_bits(value: int) -> Iterator[int]:
    while value > 0x7F:
        yield value & 0x7F | 0x80
        value >>= 7
    yield value
