"""The values that everything else speaks of: traces, turns, parts, chunks, spans, calls and results."""

from inspector.model.calls import Parameter, ToolCall, ToolDefinition, ToolResult, arguments_key
from inspector.model.decoded import Decoded, Literal
from inspector.model.generation import (
    BodyState,
    ErrorPhase,
    FinishReason,
    Generation,
    GenerationError,
    Instant,
    InstantSource,
    ToolsOrigin,
    Usage,
)
from inspector.model.json import Json
from inspector.model.spans import Span, SpanKind
from inspector.model.trace import (
    ExternalId,
    Liveness,
    Outcome,
    ParentTrace,
    ParentWhy,
    Provenance,
    RecognisedBy,
    TaskOutcome,
    Trace,
)
from inspector.model.turn import CallHeader, Chunk, Chunks, Grade, Part, ResultHeader, Role, Turn, TurnFlag

__all__ = [
    "BodyState",
    "CallHeader",
    "Chunk",
    "Chunks",
    "Decoded",
    "ErrorPhase",
    "ExternalId",
    "FinishReason",
    "Generation",
    "GenerationError",
    "Grade",
    "Instant",
    "InstantSource",
    "Json",
    "Literal",
    "Liveness",
    "Outcome",
    "Parameter",
    "ParentTrace",
    "ParentWhy",
    "Part",
    "Provenance",
    "RecognisedBy",
    "ResultHeader",
    "Role",
    "Span",
    "SpanKind",
    "TaskOutcome",
    "ToolCall",
    "ToolDefinition",
    "ToolResult",
    "ToolsOrigin",
    "Trace",
    "Turn",
    "TurnFlag",
    "Usage",
    "arguments_key",
]
