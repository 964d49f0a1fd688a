"""OTLP as protobuf: bodies as exporters over HTTP send them, and files of the collector, read span by span.

A small reader of the wire format for exactly the messages of traces: it needs no generated code, is bounded, and reads
the whole part of a file that is cut. Source: protobuf.dev, "Encoding".
"""

import struct
from collections.abc import Iterator
from io import BytesIO
from itertools import islice
from typing import BinaryIO, TypeAlias

from inspector.importers.compression import DamagedDataError
from inspector.importers.records import too_long
from inspector.importers.source import JsonObject, Skipped, SourceFile
from inspector.importers.telemetry.otlp_json import seconds
from inspector.importers.telemetry.otlp_span import OtlpEvent, OtlpSpan
from inspector.memory import RECORD_BYTES
from inspector.model import Json
from inspector.text import decode

BYTES = 2
"""The wire type of texts, bytes and messages."""

_VARINT, _FIXED64, _FIXED32 = 0, 1, 5
_RESOURCE_SPANS = b"\x0a"
_MAX_DEPTH = 64
_TRACE_ID_BYTES = 16
_BREAKS_OFF = "the protobuf breaks off"
Field: TypeAlias = tuple[int, int | bytes]
"""A field's number and its value: an integer of any width as its bits, or the bytes of anything else."""


class CutError(ValueError):
    """A message ends within a field."""


class CutBytes(bytes):
    """What is left of a field that its message ends within."""


def fields_of(raw: bytes, *, cut: bool = False) -> Iterator[Field]:
    """The fields of a message: numbers as they stand, the rest as bytes; `cut` gives what is left of a last one.

    CutError where the message ends within a field, ValueError where it is no message.
    """
    at, end = 0, len(raw)
    while at < end:
        key, at = varint_at(raw, at)
        number, kind = key >> 3, key & 7
        if not number or kind not in {_VARINT, _FIXED64, BYTES, _FIXED32}:
            raise ValueError(f"a field has the number {number} and the type {kind}")
        if kind == _VARINT:
            value, at = varint_at(raw, at)
            yield number, value
            continue
        length, at = (8 if kind == _FIXED64 else 4, at) if kind != BYTES else varint_at(raw, at)
        held = raw[at : at + length]
        at += length
        if len(held) < length:
            if cut and kind == BYTES:
                yield number, CutBytes(held)
                return
            raise CutError("a field breaks off")
        yield number, held if kind == BYTES else int.from_bytes(held, "little")


def varint_at(raw: bytes, at: int) -> tuple[int, int]:
    """The number that begins there, of 64 bits at most, and where it ends; errors as `fields_of` has them."""
    value = shift = 0
    for place in range(at, min(at + 10, len(raw))):
        byte = raw[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, place + 1
        shift += 7
    if len(raw) - at < 10:
        raise CutError("a number breaks off")
    raise ValueError("a number is too long")


def read_varint(stream: BinaryIO) -> int | None:
    """A number off a stream; None where the stream ends before it does, ValueError for one of more than 10 bytes."""
    raw = b""
    while len(raw) < 10:
        byte = stream.read(1)
        if not byte:
            return None
        raw += byte
        if byte[0] < 0x80:
            return varint_at(raw, 0)[0]
    raise ValueError("a number is too long")


def is_otlp(head: bytes) -> bool:
    """Whether a file begins like an export request of traces: resource spans with a resource's attribute or a span.

    Lengths must fit in each other as far as the beginning goes: a file of line feeds looks like nested fields.
    """
    body = head[4:] if _has_length(head) else head
    if not body.startswith(_RESOURCE_SPANS):
        return False
    try:
        length, at = varint_at(body, 1)
        inner = body[at : at + length]
        return any(_tells(*field) for field in _first(inner if len(inner) == length else CutBytes(inner)))
    except ValueError:
        return False


def _first(raw: bytes) -> list[Field]:
    """The first two fields of a message."""
    return list(islice(fields_of(raw, cut=isinstance(raw, CutBytes)), 2))


def _tells(number: int, value: int | bytes) -> bool:
    """Whether a field of resource spans holds what only such a field does: a named attribute, or a trace's id."""
    if not isinstance(value, bytes) or number not in {1, 2}:
        return False
    for inner, held in _first(value):
        if not isinstance(held, bytes) or inner != number:
            continue
        at, first = next(iter(_first(held)), (0, b""))
        if at == 1 and isinstance(first, bytes):
            return first[:1].isalpha() if number == 1 else len(first) == _TRACE_ID_BYTES
    return False


def read_protobuf(file: SourceFile) -> Iterator[OtlpSpan | Skipped]:
    """The spans of a file; one `ResourceSpans`, or one body behind its length, is in memory, of 64 MiB at most."""
    try:
        with file.open() as stream:
            yield from _of_bodies(stream) if _has_length(file.head) else _of_stream(stream)
    except DamagedDataError as error:
        yield Skipped("end of file", str(error))


def _has_length(head: bytes) -> bool:
    """Whether the first four bytes are the length of a body: then they are not its beginning."""
    return head[:1] < _RESOURCE_SPANS and head[4:5] == _RESOURCE_SPANS and int.from_bytes(head[:4], "big") > 2


def _of_bodies(stream: BinaryIO) -> Iterator[OtlpSpan | Skipped]:
    number = 0
    while prefix := stream.read(4):
        number += 1
        length = int.from_bytes(prefix, "big")
        raw = _taken(stream, length) if len(prefix) == 4 else b""
        if raw is None:
            yield Skipped(f"body {number}", too_long(RECORD_BYTES))
            continue
        is_whole = len(prefix) == 4 and len(raw) == length
        for one in _of_stream(BytesIO(raw)):
            if not isinstance(one, Skipped):
                yield one
            elif is_whole:
                yield Skipped(f"body {number}, {one.record}", one.reason)
        if not is_whole:
            yield Skipped("end of file", _BREAKS_OFF)
            return


def _of_stream(stream: BinaryIO) -> Iterator[OtlpSpan | Skipped]:
    """The spans of bodies that stand one after another."""
    number = 0
    while True:
        number += 1
        try:
            head = _read_head(stream)
        except CutError:
            yield Skipped("end of file", _BREAKS_OFF)
            return
        except ValueError as error:
            yield Skipped(f"resource spans {number}", f"this is no OTLP: {error}")
            return
        if head is None:
            return
        field, length = head
        raw = _taken(stream, length)
        if raw is None:
            yield Skipped(f"resource spans {number}", too_long(RECORD_BYTES))
            continue
        for one in _spans(raw, number) if field == 1 else ():
            if len(raw) == length or not isinstance(one, Skipped):
                yield one
        if len(raw) < length:
            yield Skipped("end of file", _BREAKS_OFF)
            return


def _read_head(stream: BinaryIO) -> tuple[int, int] | None:
    """The next field's number and its length; None at the stream's end."""
    key = read_varint(stream)
    if key is None:
        return None
    if key & 7 != BYTES:
        raise ValueError(f"a field of type {key & 7} is where resource spans are expected")
    length = read_varint(stream)
    if length is None:
        raise CutError("it breaks off")
    return key >> 3, length


def _taken(stream: BinaryIO, length: int) -> bytes | None:
    """So many bytes, or as many as there are; None for too many, which are read past."""
    if length <= RECORD_BYTES:
        return stream.read(length)
    while length > 0 and (block := stream.read(min(length, 1 << 20))):
        length -= len(block)
    return None


def _spans(raw: bytes, number: int) -> Iterator[OtlpSpan | Skipped]:
    """The spans that are whole; what follows a fault is lost."""
    service = ""
    try:
        for at, value in fields_of(raw, cut=True):
            if at == 1 and isinstance(value, bytes):
                service = _service(value)
            elif at in {2, 1000} and isinstance(value, bytes):
                for inner, one in fields_of(value, cut=True):
                    if inner == 2 and isinstance(one, bytes) and not isinstance(one, CutBytes):
                        yield _span(one, service)
    except ValueError as error:
        yield Skipped(f"resource spans {number}", f"this is no OTLP: {error}")


def _span(raw: bytes, service: str) -> OtlpSpan:
    ids = {1: "", 2: "", 4: ""}
    times: dict[int, float | None] = {7: None, 8: None}
    name, message = "", ""
    attributes: JsonObject = {}
    events: list[OtlpEvent] = []
    status = dropped = 0
    for at, value in fields_of(raw):
        if isinstance(value, int):
            if at in times:
                times[at] = seconds(value)
            elif at in {10, 12}:
                dropped += value
        elif at in ids:
            ids[at] = value.hex() if value.strip(b"\0") else ""
        elif at == 5:
            name = decode(value)
        elif at == 9:
            attributes.update([_key_value(value)])
        elif at == 11:
            events.append(_event(value))
        elif at == 15:
            status, message = _status(value)
    return OtlpSpan(
        ids[1], ids[2], ids[4], name, times[7], times[8], attributes, tuple(events), status, message, service, dropped
    )


def _event(raw: bytes) -> OtlpEvent:
    name, at_s = "", None
    attributes: JsonObject = {}
    for at, value in fields_of(raw):
        if at == 1 and isinstance(value, int):
            at_s = seconds(value)
        elif at == 2 and isinstance(value, bytes):
            name = decode(value)
        elif at == 3 and isinstance(value, bytes):
            attributes.update([_key_value(value)])
    return OtlpEvent(name, at_s, attributes)


def _status(raw: bytes) -> tuple[int, str]:
    code, message = 0, ""
    for at, value in fields_of(raw):
        if at == 3 and isinstance(value, int):
            code = value
        elif at == 2 and isinstance(value, bytes):
            message = decode(value)
    return code, message


def _service(raw: bytes) -> str:
    held = dict(_key_value(value) for at, value in fields_of(raw, cut=True) if at == 1 and isinstance(value, bytes))
    name = held.get("service.name")
    return name if isinstance(name, str) else ""


def _key_value(raw: bytes, depth: int = 0) -> tuple[str, Json]:
    key, held = "", None
    for at, value in fields_of(raw):
        if at == 1 and isinstance(value, bytes):
            key = decode(value)
        elif at == 2 and isinstance(value, bytes):
            held = _any_value(value, depth + 1)
    return key, held


def _any_value(raw: bytes, depth: int) -> Json:
    if depth > _MAX_DEPTH:
        raise ValueError("the values are nested too deeply")
    held: Json = None
    for at, value in fields_of(raw):
        match at, value:
            case 1, bytes():
                held = decode(value)
            case 2, int():
                held = bool(value)
            case 3, int():
                held = value - (1 << 64) if value >> 63 else value
            case 4, int():
                held = struct.unpack("<d", value.to_bytes(8, "little"))[0]
            case 5, bytes():
                held = [_any_value(one, depth + 1) for inner, one in fields_of(value) if isinstance(one, bytes)]
            case 6, bytes():
                held = dict(_key_value(one, depth + 1) for inner, one in fields_of(value) if isinstance(one, bytes))
            case 7, bytes():
                held = value.hex()
    return held
