"""MLflow's traces: `{"info": {...}, "data": {"spans": [...]}}`, as `Trace.to_json` and `mlflow traces get` write them.

A span's inputs, outputs and type are attributes, each as JSON text. Spans of version 2 have their ids in `context`.
Spans that other instrumentations sent have the attributes of their convention and are read as OTLP's. Source:
mlflow/mlflow, mlflow/entities/span.py (`to_dict`, `from_dict_v2`), mlflow/tracing/constant.py (`SpanAttributeKey`).
"""

from collections.abc import Iterable, Iterator

from msgspec import structs

from weaklink.inspector import model
from weaklink.inspector.importers.identity import text_at, text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import parsed_text, read_rows
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.importers.telemetry import framework_calls
from weaklink.inspector.importers.telemetry.framework_messages import KnownMessages
from weaklink.inspector.importers.telemetry.otlp import read_span
from weaklink.inspector.importers.telemetry.otlp_span import ERROR, Messages, OtlpSpan
from weaklink.inspector.importers.telemetry.span_traces import SpooledRow, spooled_traces
from weaklink.inspector.importers.telemetry.spans import ModelCall, OperationKind, ToolRun, TracedSpan
from weaklink.inspector.json_text import compact_json, member_at, object_of, objects_of, word_of

_KINDS = {
    **dict.fromkeys(("CHAT_MODEL", "LLM"), OperationKind.MODEL),
    "TOOL": OperationKind.TOOL,
    "AGENT": OperationKind.AGENT,
}
_REWRITTEN = "the source stores the arguments of calls as the instrumentation gave them, mostly parsed"
_NOT_STORED = "the source does not store the chunks of answers"
_TRACE, _SESSION = "weaklink.trace", "weaklink.session"
_NANOSECONDS = 1e9


def _rows(file: SourceFile) -> Iterator[SpooledRow | Skipped]:
    for row in read_rows(file):
        spans = [] if isinstance(row, Skipped) else [span for span in _spans(row.value) if _is_span(span)]
        if isinstance(row, Skipped) or not spans:
            yield row if isinstance(row, Skipped) else Skipped(row.record, "the row has no `data` with `spans`")
            continue
        ids = _ids(object_of(row.value.get("info")))
        for span in spans:
            yield SpooledRow(row.record, f"{ids[_TRACE]} {_id(span, 'span_id')}", {**span, **ids})


def _spans(row: JsonObject) -> list[JsonObject]:
    return objects_of(member_at(row, "data.spans"))


def _is_span(span: JsonObject) -> bool:
    return bool(_id(span, "span_id")) and ("start_time_unix_nano" in span or "start_time" in span)


def _id(span: JsonObject, name: str) -> str:
    return text_at(span, name, f"context.{name}")


def _ids(info: JsonObject) -> JsonObject:
    metadata = object_of(info.get("trace_metadata", info.get("request_metadata")))
    return {_TRACE: text_of(info, "trace_id", "request_id"), _SESSION: text_of(metadata, "mlflow.trace.session")}


def _read(rows: Iterable[JsonObject]) -> Iterator[TracedSpan]:
    known, messages = KnownMessages(), Messages()
    for row in rows:
        span = _otlp_span(row)
        kind = _KINDS.get(word_of(span.attributes.get("mlflow.spanType")))
        if kind is None:
            yield read_span(span, messages, known)
            continue
        read = TracedSpan(span.id, span.parent_id, kind, span.name, span.started, span.ended, span_trace=span.trace_id)
        if kind is OperationKind.TOOL:
            yield structs.replace(read, run=_run(span))
            continue
        call = _call(span, known)
        if kind is OperationKind.MODEL:
            warnings = (_NOT_STORED, _REWRITTEN) if call.is_rewritten else (_NOT_STORED,)
            yield structs.replace(read, call=call, warnings=warnings)
        else:
            yield structs.replace(read, conversation=call if call.request.turns else None)


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
        _seconds(row.get("start_time_unix_nano", row.get("start_time"))),
        _seconds(row.get("end_time_unix_nano", row.get("end_time"))),
        attributes,
        (),
        ERROR if failed.endswith("ERROR") else 0,
        text_at(row, "status.message", "status_message"),
    )


def _seconds(value: model.Json) -> float | None:
    digits = value if isinstance(value, int) and not isinstance(value, bool) else word_of(value)
    is_known = isinstance(digits, int) or (digits.isascii() and digits.isdigit() and len(digits) < 25)
    return int(digits) / _NANOSECONDS if is_known else None


def _call(span: OtlpSpan, known: KnownMessages) -> ModelCall:
    inputs, outputs = span.attributes.get("mlflow.spanInputs"), span.attributes.get("mlflow.spanOutputs")
    request = framework_calls.read_request_input(inputs, known)
    tools = request.tools or framework_calls.read_tool_list(span.attributes.get("mlflow.chat.tools"))
    answer = framework_calls.read_answer_output(outputs) if outputs else framework_calls.missing_answer()
    generation = answer.turn.generation or model.Generation()
    usage = framework_calls.usage_of(span.attributes.get("mlflow.chat.tokenUsage"))
    error = framework_calls.failure(span.message) if span.status == ERROR else None
    generation = structs.replace(
        generation,
        started=span.started,
        ended=span.ended,
        usage=usage if generation.usage == model.Usage() else generation.usage,
        error=generation.error or error,
    )
    return ModelCall(
        structs.replace(request, tools=tools),
        structs.replace(answer.turn, generation=generation),
        answer.response_id,
        answer.is_rewritten,
    )


def _run(span: OtlpSpan) -> ToolRun:
    output = framework_calls.read_tool_output(span.attributes.get("mlflow.spanOutputs"))
    inputs = span.attributes.get("mlflow.spanInputs")
    failed = True if span.status == ERROR else output.failed
    result = output.text if output.text is not None else span.message or None
    arguments = inputs if isinstance(inputs, str) else compact_json({} if inputs is None else inputs)
    return ToolRun(span.name, output.call_id, arguments, result, failed)


MLFLOW = LogSource(
    name="mlflow",
    signs="an `info` beside `data` with `spans`",
    is_row=lambda row: any(map(_is_span, _spans(row))),
    reader=lambda file: spooled_traces(
        _rows(file), lambda row: text_of(row, _TRACE), lambda row: text_of(row, _SESSION), _read
    ),
)
"""One trace per session, or per trace of spans if it names no session, in the order of their first traces."""
