"""OTLP as JSON: the spans and log records of an export request, with names in camelCase or snake_case.

Ids are hexadecimal (Base64 from general protobuf libraries), and whole numbers may be texts. Source:
opentelemetry-proto, docs/specification.md of OTLP, "JSON Protobuf Encoding".
"""

import base64
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.importers.telemetry.otlp_span import ERROR, OtlpEvent, OtlpSpan, objects
from weaklink.inspector.json_text import count_of, list_of, member_at, object_of, word_of
from weaklink.inspector.model import Json
from weaklink.inspector.scanning import lazy_pattern

RESOURCE_KEYS = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs")
"""The members that an export request has."""
_SNAKE = lazy_pattern(r"(?<=[a-z])(?=[A-Z])")
_ERRORS: tuple[Json, ...] = (ERROR, "STATUS_CODE_ERROR", "ERROR", "2")
_MAX_TIME_NS = 1 << 63


def has_resources(row: JsonObject) -> bool:
    """Whether a row is an export request, of spans or of log records."""
    return any(isinstance(row.get(key), list) for key in RESOURCE_KEYS)


def spans_of(row: JsonObject) -> Iterator[OtlpSpan]:
    """The spans of an export request; a log record that names a span becomes a span with that id and without a start.

    RecursionError for values that are nested too deeply.
    """
    for resource in objects(_member(row, "resourceSpans")):
        service = service_of(resource)
        for scope in objects(_member(resource, "scopeSpans") or _member(resource, "instrumentationLibrarySpans")):
            for span in objects(_member(scope, "spans")):
                yield span_of(span, service)
    for resource in objects(_member(row, "resourceLogs")):
        service = service_of(resource)
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
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number < _MAX_TIME_NS:
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


def service_of(resource: JsonObject) -> str:
    """The `service.name` of the resource in resource spans, `""` if it has none."""
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
