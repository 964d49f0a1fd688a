"""Spans of Langfuse's SDKs over OpenTelemetry: `langfuse.observation.*`, read as the observations that they become.

Inputs, outputs, model parameters and usage are JSON texts. Source: langfuse/langfuse-python,
`langfuse/_client/attributes.py`; langfuse/langfuse-js, `packages/otel`.
"""

from collections.abc import Iterator
from dataclasses import replace

from inspector.importers.source import JsonObject
from inspector.importers.telemetry.framework_messages import KnownMessages
from inspector.importers.telemetry.langfuse import read_observation
from inspector.importers.telemetry.otlp_span import ERROR, OtlpSpan, unquoted
from inspector.importers.telemetry.spans import OperationKind, TracedSpan, filled_span
from inspector.model import Generation, Json, Turn

_PREFIX = "langfuse.observation."

_COLUMNS = {
    "input": "input",
    "output": "output",
    "level": "level",
    "status_message": "statusMessage",
    "model.name": "model",
    "model.parameters": "modelParameters",
    "usage_details": "usageDetails",
    "completion_start_time": "completionStartTime",
}

_METADATA = f"{_PREFIX}metadata"


def with_langfuse(read: TracedSpan, span: OtlpSpan, known: KnownMessages) -> TracedSpan:
    """A span as other conventions read it, and what its Langfuse attributes say beyond; itself where it has none.

    `known` are the messages of its session that were read before.
    """
    if not any(key.startswith(_PREFIX) for key in span.attributes):
        return read
    said = read_observation(_row(span), known)
    said = replace(
        said,
        started=span.started,
        ended=span.ended,
        call=said.call and replace(said.call, answer=_timed(said, span)),
        warnings=read.warnings if read.kind is said.kind else said.warnings,
    )
    if read.kind is OperationKind.MODEL and said.kind is OperationKind.MODEL:
        return filled_span(read, said)
    if read.kind is OperationKind.OTHER or (read.kind is said.kind is OperationKind.TOOL and read.run is None):
        return said
    return read


def _timed(said: TracedSpan, span: OtlpSpan) -> Turn:
    assert said.call is not None
    generation = said.call.answer.generation or Generation()
    return replace(said.call.answer, generation=replace(generation, started=span.started, ended=span.ended))


def _row(span: OtlpSpan) -> JsonObject:
    """A span as the observation that Langfuse makes of it."""
    kind = span.text(f"{_PREFIX}type") or ("generation" if span.text(f"{_PREFIX}model.name") else "span")
    return {
        "id": span.id,
        "parentObservationId": span.parent_id,
        "traceId": span.trace_id,
        "type": kind.upper(),
        "name": span.name,
        **dict(_facts(span)),
        "metadata": dict(_metadata(span)),
    }


def _facts(span: OtlpSpan) -> Iterator[tuple[str, Json]]:
    for name, column in _COLUMNS.items():
        value = span.attributes.get(_PREFIX + name)
        if value is not None:
            yield column, unquoted(value) if column in ("completionStartTime", "level", "statusMessage") else value
    if span.status == ERROR and span.text(f"{_PREFIX}level") in ("", "ERROR"):
        yield "level", "ERROR"
        yield "statusMessage", span.text(f"{_PREFIX}status_message") or span.message


def _metadata(span: OtlpSpan) -> Iterator[tuple[str, Json]]:
    """The observation's metadata, in one text or an attribute a key, beside the span's other attributes."""
    for key, value in span.attributes.items():
        if key.startswith(f"{_METADATA}."):
            yield key.removeprefix(f"{_METADATA}."), value
        elif not key.startswith(_PREFIX):
            yield key, value
