"""MLflow's traces: `{"info": {...}, "data": {"spans": [...]}}`, as `Trace.to_json` and `mlflow traces get` write them.

A span's inputs, outputs and type are attributes, each as JSON text. Spans of version 2 have their ids in `context`.
Spans that other instrumentations sent have the attributes of their convention and are read as OTLP's. Source:
mlflow/mlflow, mlflow/entities/span.py (`to_dict`, `from_dict_v2`), mlflow/tracing/constant.py (`SpanAttributeKey`).
"""

from msgspec import structs

from weaklink.inspector.importers.identity import text_at, text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import parsed_text
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.importers.telemetry.framework_messages import KnownMessages
from weaklink.inspector.importers.telemetry.otlp import read_span
from weaklink.inspector.importers.telemetry.otlp_json import seconds
from weaklink.inspector.importers.telemetry.otlp_span import ERROR, OtlpSpan
from weaklink.inspector.importers.telemetry.spans import OperationKind, TracedSpan
from weaklink.inspector.importers.telemetry.tracing_stores import StoredSpan, span_rows, spooled_traces
from weaklink.inspector.json_text import member_at, object_of, objects_of, word_of

_KINDS = {
    **dict.fromkeys(("CHAT_MODEL", "LLM"), OperationKind.MODEL),
    "TOOL": OperationKind.TOOL,
    "AGENT": OperationKind.AGENT,
}
_NOT_STORED = "the source does not store the chunks of answers"
_TRACE, _SESSION = "weaklink.trace", "weaklink.session"


def _spans(row: JsonObject) -> list[JsonObject]:
    """The spans of a trace, each with the ids that its `info` names."""
    ids = _ids(object_of(row.get("info")))
    return [{**span, **ids} for span in objects_of(member_at(row, "data.spans")) if _is_span(span)]


def _is_span(span: JsonObject) -> bool:
    return bool(_id(span, "span_id")) and ("start_time_unix_nano" in span or "start_time" in span)


def _id(span: JsonObject, name: str) -> str:
    return text_at(span, name, f"context.{name}")


def _key(span: JsonObject) -> str:
    return f"{text_of(span, _TRACE)} {_id(span, 'span_id')}"


def _ids(info: JsonObject) -> JsonObject:
    metadata = object_of(info.get("trace_metadata", info.get("request_metadata")))
    return {_TRACE: text_of(info, "trace_id", "request_id"), _SESSION: text_of(metadata, "mlflow.trace.session")}


def _read(row: JsonObject, known: KnownMessages) -> TracedSpan:
    span = _otlp_span(row)
    kind = _KINDS.get(word_of(span.attributes.get("mlflow.spanType")))
    if kind is None:
        return read_span(span, known)
    inputs = span.attributes.get("mlflow.spanInputs")
    stored = StoredSpan(
        span=TracedSpan(span.id, span.parent_id, kind, span.name, span.started, span.ended, span_trace=span.trace_id),
        input={} if inputs is None else inputs,
        output=span.attributes.get("mlflow.spanOutputs"),
        error=span.message if span.status == ERROR else None,
        tools=(span.attributes.get("mlflow.chat.tools"),),
        usages=(span.attributes.get("mlflow.chat.tokenUsage"),),
        not_stored=_NOT_STORED,
    )
    conversation = stored.call(known) if kind is OperationKind.AGENT else None
    is_told = conversation is not None and conversation.request.turns
    return structs.replace(stored.read(known), conversation=conversation if is_told else None)


def _otlp_span(row: JsonObject) -> OtlpSpan:
    attributes = {
        key: parsed_text(value) if key.startswith("mlflow.") else value
        for key, value in object_of(row.get("attributes")).items()
    }
    failed = text_at(row, "status.code", "status_code")
    return OtlpSpan(
        text_of(row, _TRACE),
        _id(row, "span_id"),
        text_of(row, "parent_span_id", "parent_id"),
        text_of(row, "name"),
        seconds(row.get("start_time_unix_nano", row.get("start_time"))),
        seconds(row.get("end_time_unix_nano", row.get("end_time"))),
        attributes,
        (),
        ERROR if failed.endswith("ERROR") else 0,
        text_at(row, "status.message", "status_message"),
    )


MLFLOW = LogSource(
    name="mlflow",
    signs="an `info` beside `data` with `spans`",
    is_row=_spans,
    reader=lambda file: spooled_traces(
        span_rows(file, _spans, _key, "the row has no `data` with `spans`"),
        lambda row: text_of(row, _TRACE),
        lambda row: text_of(row, _SESSION),
        _read,
    ),
)
"""One trace per session, or per trace of spans if it names no session, in the order of their first traces."""
