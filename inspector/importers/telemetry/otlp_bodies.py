"""OTLP as protobuf: bodies as exporters over HTTP send them, and files of the collector, read span by span.

Each span is read as the same JSON (`otlp_protobuf`), so that the intact part of a truncated file is read.
"""

from collections.abc import Iterator
from io import BytesIO
from itertools import islice
from typing import BinaryIO

from weaklink.inspector.importers.source import Skipped, SourceFile, until_damage
from weaklink.inspector.importers.telemetry.otlp_json import service_of, span_of
from weaklink.inspector.importers.telemetry.otlp_span import OtlpSpan
from weaklink.inspector.memory import RECORD_BYTES, too_long
from weaklink.inspector.otlp_protobuf import (
    LENGTH,
    CutBytes,
    CutError,
    Field,
    fields_of,
    read_message,
    read_varint,
    varint_at,
)

_RESOURCE_SPANS = b"\x0a"
_SCOPE_SPANS = (2, 1000)  # 1000 is the number of a deprecated list of the same
_TRACE_ID_BYTES = 16
_BREAKS_OFF = "the protobuf message is truncated"


def is_otlp(head: bytes) -> bool:
    """Whether a file begins like an export request of traces: resource spans with a resource's attribute or a span.

    The lengths of nested fields must be consistent as far as the beginning goes: line feeds look like nested fields.
    """
    body = head[4:] if _has_length(head) else head
    if not body.startswith(_RESOURCE_SPANS):
        return False
    try:
        length, at = varint_at(body, 1)
        inner = body[at : at + length]
        return any(_is_evidence(*field) for field in _first(inner if len(inner) == length else CutBytes(inner)))
    except ValueError:
        return False


def _first(raw: bytes) -> list[Field]:
    """The first two fields of a message."""
    return list(islice(fields_of(raw, cut=isinstance(raw, CutBytes)), 2))


def _is_evidence(number: int, value: int | bytes) -> bool:
    """Whether a field of resource spans has content that only such a field has: a named attribute, or a trace's id."""
    if not isinstance(value, bytes) or number not in {1, 2}:
        return False
    for inner, content in _first(value):
        if not isinstance(content, bytes) or inner != number:
            continue
        at, first = next(iter(_first(content)), (0, b""))
        if at == 1 and isinstance(first, bytes):
            return first[:1].isalpha() if number == 1 else len(first) == _TRACE_ID_BYTES
    return False


def read_protobuf(file: SourceFile) -> Iterator[OtlpSpan | Skipped]:
    """The spans of a file. One `ResourceSpans`, or one body with its length, is in memory, of 64 MiB at most."""
    return until_damage(_of_file(file))


def _of_file(file: SourceFile) -> Iterator[OtlpSpan | Skipped]:
    with file.open() as stream:
        yield from _of_bodies(stream) if _has_length(file.head) else _of_stream(stream)


def _has_length(head: bytes) -> bool:
    """Whether the first four bytes are the length of a body, not its beginning."""
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
        for span in _of_stream(BytesIO(raw)):
            if not isinstance(span, Skipped):
                yield span
            elif is_whole:
                yield Skipped(f"body {number}, {span.record}", span.reason)
        if not is_whole:
            yield Skipped("end of file", _BREAKS_OFF)
            return


def _of_stream(stream: BinaryIO) -> Iterator[OtlpSpan | Skipped]:
    """The spans of consecutive bodies."""
    number = 0
    while True:
        number += 1
        try:
            head = _read_head(stream)
        except CutError:
            yield Skipped("end of file", _BREAKS_OFF)
            return
        except ValueError as error:
            yield Skipped(f"resource spans {number}", f"this is not OTLP: {error}")
            return
        if head is None:
            return
        field, length = head
        raw = _taken(stream, length)
        if raw is None:
            yield Skipped(f"resource spans {number}", too_long(RECORD_BYTES))
            continue
        for span in _spans(raw, number) if field == 1 else ():
            if len(raw) == length or not isinstance(span, Skipped):
                yield span
        if len(raw) < length:
            yield Skipped("end of file", _BREAKS_OFF)
            return


def _read_head(stream: BinaryIO) -> tuple[int, int] | None:
    """The number and the length of the next field; None at the stream's end."""
    key = read_varint(stream)
    if key is None:
        return None
    if key & 7 != LENGTH:
        raise ValueError(f"found a field of wire type {key & 7}, expected resource spans")
    length = read_varint(stream)
    if length is None:
        raise CutError("the message is truncated")
    return key >> 3, length


def _taken(stream: BinaryIO, length: int) -> bytes | None:
    """Up to `length` bytes; None if that is too many, after reading past them."""
    if length <= RECORD_BYTES:
        return stream.read(length)
    while length > 0 and (block := stream.read(min(length, 1 << 20))):
        length -= len(block)
    return None


def _spans(raw: bytes, number: int) -> Iterator[OtlpSpan | Skipped]:
    """The complete spans; those after an error are lost."""
    service = ""
    try:
        for at, value in fields_of(raw, cut=True):
            if at == 1 and isinstance(value, bytes):
                service = service_of({"resource": read_message(value, "resource", cut=True)})
            elif at in _SCOPE_SPANS and isinstance(value, bytes):
                for inner, one in fields_of(value, cut=True):
                    if inner == 2 and isinstance(one, bytes) and not isinstance(one, CutBytes):
                        yield span_of(read_message(one, "span"), service)
    except ValueError as error:
        yield Skipped(f"resource spans {number}", f"this is not OTLP: {error}")
