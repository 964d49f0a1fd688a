"""A span as Phoenix's REST API lists it, or as its dataframes are written: read as OpenTelemetry's."""

from inspector.importers.identity import instant
from inspector.importers.otlp_span import ERROR, OtlpEvent, OtlpSpan, flattened, objects
from inspector.importers.source import JsonObject
from inspector.model import Json

_ATTRIBUTES = "attributes."


def is_span(row: JsonObject) -> bool:
    """Whether a row is a span: `context` with ids, as an object or under names with dots, beside a `span_kind`."""
    context = row.get("context")
    has_ids = isinstance(context, dict) and isinstance(context.get("span_id"), str)
    return "span_kind" in row and (has_ids or isinstance(row.get("context.span_id"), str))


def is_otlp_span(row: JsonObject) -> bool:
    """Whether a row is a span of OTLP in snake_case, as `/spans/otlpv1` lists them."""
    return isinstance(row.get("span_id"), str) and "start_time_unix_nano" in row


def read_phoenix_span(row: JsonObject) -> OtlpSpan:
    """A row of the API or of a dataframe as a span."""
    context = row.get("context")
    ids = context if isinstance(context, dict) else {key: row.get(f"context.{key}") for key in ("trace_id", "span_id")}
    held = row.get("attributes")
    attributes = {key.removeprefix(_ATTRIBUTES): value for key, value in row.items() if key.startswith(_ATTRIBUTES)}
    if isinstance(held, dict):
        attributes |= dict(flattened(held))
    kind = row.get("span_kind")
    if isinstance(kind, str):
        attributes.setdefault("openinference.span.kind", kind)
    return OtlpSpan(
        _word(ids.get("trace_id")),
        _word(ids.get("span_id")),
        _word(row.get("parent_id")),
        _word(row.get("name")),
        seconds_of(row.get("start_time")),
        seconds_of(row.get("end_time")),
        {key: value for key, value in attributes.items() if value is not None},
        events_of(row.get("events")),
        ERROR if row.get("status_code") == "ERROR" else 0,
        _word(row.get("status_message")),
    )


def events_of(listed: Json) -> tuple[OtlpEvent, ...]:
    """The events of a span; their times are `timestamp`s."""
    return tuple(
        OtlpEvent(
            _word(one.get("name")),
            seconds_of(one.get("timestamp")),
            held if isinstance(held := one.get("attributes"), dict) else {},
        )
        for one in objects(listed)
    )


def seconds_of(value: Json) -> float | None:
    """A time, which is UTC where it names no zone, in seconds since 1970-01-01 UTC."""
    read = instant(value)
    return None if read is None else read.at_s


def _word(value: Json) -> str:
    return value if isinstance(value, str) else ""
