"""Reads spans of Langfuse's SDKs as the observations that Langfuse makes of them.

Attributes are `langfuse.observation.*`; inputs, outputs, model parameters and usage are JSON texts. Sources:
langfuse/langfuse-python, `langfuse/_client/attributes.py`; langfuse/langfuse-js, `packages/otel`.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.importers.telemetry.framework_messages import KnownMessages
from weaklink.inspector.importers.telemetry.langfuse import read_observation
from weaklink.inspector.importers.telemetry.otlp_span import (
    ERROR,
    OtlpSpan,
    unquoted,
)
from weaklink.inspector.importers.telemetry.spans import OperationKind, TracedSpan, filled_span
from weaklink.inspector.model import Generation, Json, Turn

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
    """A span as other conventions read it, completed from its Langfuse attributes; unchanged if it has none.

    `known` are the messages of its session that were read before.
    """
    if not any(key.startswith(_PREFIX) for key in span.attributes):
        return read
    observation = read_observation(_row(span), known)
    observation = replace(
        observation,
        started=span.started,
        ended=span.ended,
        call=observation.call and replace(observation.call, answer=_timed(observation, span)),
        warnings=read.warnings if read.kind is observation.kind else observation.warnings,
    )
    if read.kind is OperationKind.MODEL and observation.kind is OperationKind.MODEL:
        return filled_span(read, observation)
    if read.kind is OperationKind.OTHER or (read.kind is observation.kind is OperationKind.TOOL and read.run is None):
        return observation
    return read


def _timed(observation: TracedSpan, span: OtlpSpan) -> Turn:
    assert observation.call is not None
    generation = observation.call.answer.generation or Generation()
    return replace(observation.call.answer, generation=replace(generation, started=span.started, ended=span.ended))


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
    """The observation's metadata, from one text or from one attribute per key, and the span's other attributes."""
    for key, value in span.attributes.items():
        if key.startswith(f"{_METADATA}."):
            yield key.removeprefix(f"{_METADATA}."), value
        elif not key.startswith(_PREFIX):
            yield key, value
