"""Segmentations as JSON values, in the output format of `weaklink segment`."""

from typing import TypeAlias

from weaklink.inspector.diagnostics import AttemptedCall, Diagnostic, Fix, Location, Related
from weaklink.inspector.formats.server_parsers import Prediction, predictions
from weaklink.inspector.model import Json, Span, ToolCall
from weaklink.inspector.segmentation import Segmentation
from weaklink.inspector.text import LineIndex
from weaklink.ui.json_types.faults import (
    AttemptedCallJson,
    DiagnosticFixJson,
    PositionJson,
    RelatedJson,
    SegmentationJson,
    SegmentDiagnosticJson,
    ServerPredictionJson,
    SpanJson,
    ToolCallJson,
)

JsonObject: TypeAlias = dict[str, Json]


def segmentation_object(segmentation: Segmentation, id: Json = None) -> SegmentationJson:
    """One answer of `weaklink segment`; every key is always present. Offsets are code points, lines count from 1."""
    lines = LineIndex(segmentation.text)
    return {
        "id": id,
        "format": segmentation.format,
        "spans": [span_object(span) for span in segmentation.spans],
        "content": segmentation.content,
        "reasoning": segmentation.reasoning,
        "tool_calls": [call_object(call) for call in segmentation.calls],
        "diagnostics": [diagnostic_object(diagnostic, lines) for diagnostic in segmentation.diagnostics],
        "servers": [_prediction_object(prediction) for prediction in _predictions(segmentation)],
    }


def _predictions(segmentation: Segmentation) -> tuple[Prediction, ...]:
    if not segmentation.text:
        return ()
    faults = [diagnostic.fault for diagnostic in segmentation.diagnostics]
    return predictions(segmentation.text, segmentation.format, segmentation.spans, segmentation.calls, faults)


def _prediction_object(prediction: Prediction) -> ServerPredictionJson:
    """What a server's parser returns for the text.

    `arguments` is null where they are not those that weaklink reads; `streams_alike` is false where a stream gives
    something else, or that is not known.
    """
    parser = prediction.parser
    return {
        "server": parser.server,
        "parser": parser.name,
        "reasoning_parser": parser.reasoning,
        "tool_calls": [{"name": name, "arguments": arguments} for name, arguments in prediction.calls],
        "outcome": prediction.outcome.value,
        "streams_alike": prediction.streams_alike,
        "reason": prediction.reason,
        "source": f"{parser.server} {parser.version}",
    }


def span_object(span: Span) -> SpanJson:
    """A span with its children."""
    return {
        "kind": span.kind.value,
        "label": span.label,
        "start": span.range.start,
        "end": span.range.end,
        "inner_start": span.inner.start,
        "inner_end": span.inner.end,
        "closed": span.closed,
        "children": [span_object(child) for child in span.children],
    }


def call_object(call: ToolCall) -> ToolCallJson:
    """A call; `arguments` is the raw text if it could not be parsed."""
    return {
        "name": call.name,
        "arguments": call.arguments,
        "raw_arguments": call.raw_arguments,
        "id": call.id,
        "valid": call.valid,
        "recovered": call.recovered,
        "span": call.span,
        "start": call.range.start,
        "end": call.range.end,
    }


def diagnostic_object(diagnostic: Diagnostic, lines: LineIndex) -> SegmentDiagnosticJson:
    """A diagnostic; `lines` is the line index of its part."""
    fault = diagnostic.fault
    line, column = lines.position(fault.range.start)
    return {
        "code": fault.rule.code,
        "name": fault.rule.name,
        "severity": fault.rule.severity.value,
        "start": fault.range.start,
        "end": fault.range.end,
        "line": line,
        "column": column,
        "message": fault.message,
        "hint": fault.hint,
        "fix": _fix_object(fault.fix) if fault.fix else None,
        "path": fault.path,
        "call": _attempt_object(fault.call) if fault.call else None,
        "related": [_related_object(related, lines) for related in fault.related],
        "layer": fault.rule.layer or None,
        "owner": fault.rule.owner or None,
        "against": location_object(fault.against) if fault.against else None,
    }


def _attempt_object(call: AttemptedCall) -> AttemptedCallJson:
    """A call that was attempted in another shape; `arguments` is null if they could not be parsed."""
    return {
        "name": call.name,
        "arguments": call.arguments if call.recovered else None,
        "raw_arguments": call.raw_arguments,
        "recovered": call.recovered,
        "start": call.range.start,
        "end": call.range.end,
    }


def _related_object(related: Related, lines: LineIndex) -> RelatedJson:
    """A related place in the same part, and its relation to the diagnostic."""
    line, column = lines.position(related.range.start)
    return {
        "start": related.range.start,
        "end": related.range.end,
        "line": line,
        "column": column,
        "message": related.message,
    }


def _fix_object(fix: Fix) -> DiagnosticFixJson:
    return {
        "edits": [{"start": edit.range.start, "end": edit.range.end, "text": edit.text} for edit in fix.edits],
        "safe": fix.safe,
    }


def location_object(location: Location) -> PositionJson:
    """A location as JSON; its positions are code points of the part."""
    return {"turn": location.turn, "part": location.part, "start": location.range.start, "end": location.range.end}
