"""What happens in a running trace as JSON values: the lines of `weaklink tail --json`."""

from collections.abc import Sequence

from inspector.diagnostics import Diagnostic, Location
from inspector.model import Span, ToolCall, Trace, Turn
from inspector.text import LineIndex
from storage import TraceSummary
from ui.views.segment_json import JsonObject, call_object, diagnostic_object, span_object
from ui.views.trace import model_of
from ui.views.trace_json import generation_object, moment, summary_object
from ui.views.turn import characters_in


def trace_began_object(id: int, trace: Trace) -> JsonObject:
    """A trace that is being recorded comes into sight."""
    return {
        "event": "trace_began",
        "trace": id,
        "name": trace.name,
        "source": trace.provenance.source,
        "model": model_of(trace),
        "external_ids": {one.name: one.value for one in trace.external_ids},
        "started_at": moment(trace.started.at_s if trace.started else None),
    }


def span_closed_object(id: int, place: Location, span: Span, text: str, calls: Sequence[ToolCall]) -> JsonObject:
    """A span that closed, with its inner text."""
    return {
        "event": "span_closed",
        "trace": id,
        "turn": place.turn,
        "part": place.part,
        **span_object(span),
        "text": text,
        "tool_calls": [call_object(call) for call in calls],
    }


def fault_found_object(id: int, diagnostic: Diagnostic, text: str) -> JsonObject:
    """A diagnostic; `text` is what came so far of the part that it lies in."""
    place = diagnostic.location
    found = diagnostic_object(diagnostic, LineIndex(text))
    return {"event": "fault_found", "trace": id, "turn": place.turn, "part": place.part, **found}


def turn_ended_object(id: int, number: int, turn: Turn) -> JsonObject:
    """A turn that ended, with all that is known of it but its text."""
    return {
        "event": "turn_ended",
        "trace": id,
        "turn": number,
        "role": turn.role.value,
        "characters": characters_in(turn),
        "generation": generation_object(turn.generation) if turn.generation else None,
    }


def trace_ended_object(id: int, summary: TraceSummary | None) -> JsonObject:
    """A trace that ended; `summary` is None where it is no longer there."""
    return {"event": "trace_ended", "trace": id, "summary": summary_object(summary) if summary else None}
