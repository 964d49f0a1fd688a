"""OTLP, as JSON and as protobuf.

OTLP as JSON: the spans and log records of an export request, with names in camelCase or snake_case. Ids are hexadecimal
(Base64 from general protobuf libraries), and whole numbers may be texts. Source: opentelemetry-proto,
docs/specification.md of OTLP, "JSON Protobuf Encoding".

OTLP as protobuf: bodies as exporters over HTTP send them, and files of the collector, read span by span as the same
JSON (`otlp_protobuf`), so that the intact part of a truncated file is read.
"""

import base64
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import islice
from typing import BinaryIO

from msgspec.structs import replace

from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile, until_damage
from weaklink.inspector.importers.telemetry.otlp_span import ERROR, OtlpEvent, OtlpSpan, objects
from weaklink.inspector.json_text import count_of, list_of, member_at, object_of, word_of
from weaklink.inspector.memory import RECORD_BYTES, too_long
from weaklink.inspector.model import Json
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
from weaklink.inspector.scanning import lazy_pattern

RESOURCE_KEYS = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs")
"""The members that an export request has."""
_SNAKE = lazy_pattern(r"(?<=[a-z])(?=[A-Z])")
_ERRORS: tuple[Json, ...] = (ERROR, "STATUS_CODE_ERROR", "ERROR", "2")
_LONGEST_TIME_NS = 1 << 63
_RESOURCE_SPANS = b"\x0a"
_SCOPE_SPANS = (2, 1000)  # 1000 is the number of a deprecated list of the same
_TRACE_ID_BYTES = 16
_BREAKS_OFF = "the protobuf message is truncated"


def has_resources(row: JsonObject) -> bool:
    """Whether a row is an export request, of spans or of log records."""
    return any(isinstance(row.get(key), list) for key in RESOURCE_KEYS)


def spans_of(row: JsonObject) -> Iterator[OtlpSpan]:
    """The spans of an export request; a log record that names a span becomes a span with that id and without a start.

    RecursionError for values that are nested too deeply.
    """
    for resource in objects(_member(row, "resourceSpans")):
        service = _json_service(resource)
        for scope in objects(_member(resource, "scopeSpans") or _member(resource, "instrumentationLibrarySpans")):
            for span in objects(_member(scope, "spans")):
                yield span_of(span, service)
    for resource in objects(_member(row, "resourceLogs")):
        service = _json_service(resource)
        for scope in objects(_member(resource, "scopeLogs")):
            for record in objects(_member(scope, "logRecords")):
                yield from _of_record(record, service)


def span_of(span: JsonObject, service: str = "") -> OtlpSpan:
    """One span from OTLP's JSON."""
    status = object_of(_member(span, "status"))
    return OtlpSpan(
        _hex(_member(span, "traceId"), 16),
        _hex(_member(span, "spanId"), 8),
        _hex(_member(span, "parentSpanId"), 8),
        word_of(span.get("name")),
        seconds(_member(span, "startTimeUnixNano")),
        seconds(_member(span, "endTimeUnixNano")),
        attributes_of(span.get("attributes")),
        tuple(map(_json_event, objects(span.get("events")))),
        ERROR if status.get("code") in _ERRORS else 0,
        word_of(status.get("message")),
        service,
        _count(_member(span, "droppedAttributesCount")) + _count(_member(span, "droppedEventsCount")),
    )


def attributes_of(listed: Json) -> JsonObject:
    """A list of keys and values as an object; an object unchanged."""
    if isinstance(listed, dict):
        return listed
    return {str(one.get("key")): value_of(one.get("value")) for one in objects(listed) if "key" in one}


def value_of(value: Json) -> Json:
    """The value in an `AnyValue`; RecursionError if it is nested too deeply."""
    if not isinstance(value, dict):
        return value
    for kind, content in value.items():
        if content is None:
            continue
        match kind:
            case "intValue" | "int_value":
                return _integer(content)
            case "arrayValue" | "array_value":
                return [value_of(one) for one in _values(content)]
            case "kvlistValue" | "kvlist_value":
                return attributes_of(_values(content))
            case _:
                return content
    return None


def seconds(value: Json) -> float | None:
    """A time in nanoseconds, a number or its digits, as seconds; None if it is missing, 0 or out of range."""
    number = _integer(value)
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number < _LONGEST_TIME_NS:
        return None
    return number / 1e9


def _of_record(record: JsonObject, service: str) -> Iterator[OtlpSpan]:
    id_ = _hex(_member(record, "spanId"), 8)
    attributes = attributes_of(record.get("attributes"))
    name = word_of(_member(record, "eventName")) or word_of(attributes.get("event.name"))
    if not id_ or not name:
        return
    body = value_of(record.get("body"))
    at_s = seconds(_member(record, "timeUnixNano")) or seconds(_member(record, "observedTimeUnixNano"))
    trace_id = _hex(_member(record, "traceId"), 16)
    if name == "gen_ai.client.inference.operation.details":
        merged = attributes | body if isinstance(body, dict) else attributes
        yield OtlpSpan(trace_id, id_, "", "", None, at_s, merged, (), 0, "", service)
    else:
        event = OtlpEvent(name, at_s, attributes | {"body": body})
        yield OtlpSpan(trace_id, id_, "", "", None, None, {}, (event,), 0, "", service)


def _json_event(event: JsonObject) -> OtlpEvent:
    return OtlpEvent(
        word_of(event.get("name")), seconds(_member(event, "timeUnixNano")), attributes_of(event.get("attributes"))
    )


def _json_service(resource: JsonObject) -> str:
    return word_of(attributes_of(member_at(resource, "resource.attributes")).get("service.name"))


def _member(value: JsonObject, key: str) -> Json:
    found = value.get(key)
    return value.get(_SNAKE.sub("_", key).lower()) if found is None else found


def _values(listed: Json) -> list[Json]:
    return list_of(listed.get("values") if isinstance(listed, dict) else listed)


def _hex(value: Json, size: int) -> str:
    """An id as hexadecimal digits; `""` if it is missing or all zeros."""
    text = word_of(value)
    if text.endswith("=") and len(text) == 4 * -(-size // 3):
        try:
            text = base64.b64decode(text, validate=True).hex()
        except ValueError:
            return text
    return text.lower() if text.strip("0") else ""


def _integer(value: Json) -> Json:
    if isinstance(value, str) and len(value) <= 20 and value.removeprefix("-").isdecimal() and value.isascii():
        return int(value)
    return value


def _count(value: Json) -> int:
    return count_of(_integer(value)) or 0


def merged_spans(spans: Iterable[OtlpSpan]) -> list[OtlpSpan]:
    """Spans merged with the log records that belong to them, one for each id, in the order of the ids.

    The order is that in which the ids first appear. Of a span that appears twice the later one counts, of a log record
    the first. Linear in spans and records.
    """
    by_id: dict[tuple[str, str], list[OtlpSpan]] = {}
    for span in spans:
        by_id.setdefault((span.trace_id, span.id), []).append(span)
    return [same[0] if len(same) == 1 else _one(same) for same in by_id.values()]


def _one(same: list[OtlpSpan]) -> OtlpSpan:
    main = next((span for span in reversed(same) if span.start_s is not None), same[-1])
    records = [span for span in same if span is not main and span.start_s is None]
    attributes: JsonObject = {}
    events = {repr(event): event for record in records for event in record.events}
    for record in records:
        attributes |= record.attributes
    ends = (span.end_s for span in (main, *records))
    return replace(
        main,
        end_s=next((end_s for end_s in ends if end_s is not None), None),
        attributes=attributes | main.attributes,
        events=(*main.events, *events.values()),
    )


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
                service = _json_service({"resource": read_message(value, "resource", cut=True)})
            elif at in _SCOPE_SPANS and isinstance(value, bytes):
                for inner, one in fields_of(value, cut=True):
                    if inner == 2 and isinstance(one, bytes) and not isinstance(one, CutBytes):
                        yield span_of(read_message(one, "span"), service)
    except ValueError as error:
        yield Skipped(f"resource spans {number}", f"this is not OTLP: {error}")
