"""What `weaklink segment` prints: spans, calls and diagnostics of one text."""

from typing import Any, TypedDict

from weaklink.ui.json_types.diagnostics import SegmentDiagnosticJson


class SpanJson(TypedDict):
    kind: str
    label: str
    start: int
    end: int
    inner_start: int
    inner_end: int
    closed: bool
    children: "list[SpanJson]"


class ToolCallJson(TypedDict):
    name: str | None
    arguments: Any
    raw_arguments: str
    id: str | None
    valid: bool
    recovered: bool
    span: int
    start: int
    end: int


class PredictedCallJson(TypedDict):
    name: str
    arguments: Any


class ServerPredictionJson(TypedDict):
    server: str
    parser: str
    reasoning_parser: str | None
    tool_calls: list[PredictedCallJson]
    outcome: str
    streams_alike: bool
    reason: str
    source: str


class SegmentationJson(TypedDict):
    id: Any
    format: str
    spans: list[SpanJson]
    content: str
    reasoning: str
    tool_calls: list[ToolCallJson]
    diagnostics: list[SegmentDiagnosticJson]
    servers: list[ServerPredictionJson]


class BadRequestJson(TypedDict):
    """The answer to a line of `--jsonl` that could not be read."""

    id: Any
    error: str
