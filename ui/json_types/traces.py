"""What `list`, `search`, `show` and `tail` print of traces."""

from typing import Literal, TypedDict

from weaklink.ui.json_types.faults import (
    PositionJson,
    SegmentDiagnosticJson,
    SpanJson,
    ToolCallJson,
    TraceDiagnosticJson,
)


class TaskOutcomeJson(TypedDict):
    task: str
    reward: float | None
    completed: bool | None
    exit_status: str | None


class ListedBreakJson(TypedDict):
    step: int
    turn: int
    tool: str | None
    code: str
    outcome: str
    message: str


class ParentJson(TypedDict):
    name: str
    id: str
    why: str


ListedTraceJson = TypedDict(
    "ListedTraceJson",
    {
        "status": str,
        "id": int,
        "started_at": str | None,
        "title": str,
        "project": str,
        "model": str,
        "format": str,
        "source": str,
        "outcome": TaskOutcomeJson,
        "turns": int,
        "tool_calls": int,
        "errors": int,
        "tokens": int | None,
        "duration_s": float | None,
        "break": ListedBreakJson | None,
        "name": str,
        "file": str,
        "record": str,
        "external_ids": dict[str, str],
        "warnings": int,
        "marked": bool,
        "note": str,
        "running": bool,
        "idle": bool,
        "open_turns": int,
        "branch": str,
        "parent": ParentJson | None,
        "damaged": bool,
        "layers": list[str],
        "abort_message": str | None,
        "codes": list[str],
        "certainty": Literal["high", "low"] | None,
    },
)


class SearchHitJson(ListedTraceJson):
    turn: int | None
    part: str | None
    start: int | None
    end: int | None
    excerpt: str | None
    found_start: int | None
    found_end: int | None


class ShownBreakJson(ListedBreakJson):
    reaction: str | None
    caused: list[int]


class InstantJson(TypedDict):
    at: str | None
    source: str


class GenerationErrorJson(TypedDict):
    phase: str
    message: str
    status: int | None
    code: str | None


class GenerationJson(TypedDict):
    api: str
    requested_model: str
    answered_model: str
    parameters: str
    tools: list[str]
    attempt: int
    started_at: InstantJson | None
    first_token_at: InstantJson | None
    ended_at: InstantJson | None
    input_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    cached_tokens: int | None
    finish_reason: str | None
    finish: str | None
    error: GenerationErrorJson | None
    body: str


class ToolResultJson(TypedDict):
    name: str | None
    call_id: str | None
    is_error: bool | None
    content: str
    span: int
    start: int
    end: int


class PartJson(TypedDict):
    part: str
    caller: str | None
    text: str
    grade: str | None
    chunks: int | None
    spans: list[SpanJson]
    tool_calls: list[ToolCallJson]
    tool_results: list[ToolResultJson]


class TurnJson(TypedDict):
    turn: int
    role: str
    source_role: str
    flags: list[str]
    generation: GenerationJson | None
    parts: list[PartJson]


class LayerTextsJson(TypedDict):
    layer: str
    recorded: bool
    same: bool | None
    text: str | None
    place: PositionJson | None
    basis: str
    request: int | None
    comparable: bool


class StepLayersJson(TypedDict):
    call: list[LayerTextsJson]
    result: list[LayerTextsJson]


class StepJson(TypedDict):
    step: int
    tool: str | None
    outcome: str
    certainty: str | None
    call: PositionJson
    result: PositionJson | None
    retry_of: int | None
    recovery: str | None
    recovered_by: int | None
    depends_on: list[int]
    error: str | None
    layers: StepLayersJson
    call_id: str | None
    result_kind: str | None
    said: str | None
    said_at: PositionJson | None
    rules: list[str]


ShownTraceJson = TypedDict(
    "ShownTraceJson",
    {
        "id": int,
        "name": str,
        "source": str,
        "file": str,
        "record": str,
        "external_ids": dict[str, str],
        "model": str,
        "format": str,
        "started_at": str | None,
        "tool_calls": int,
        "errors": int,
        "warnings": int,
        "status": str,
        "outcome": TaskOutcomeJson,
        "project": str,
        "branch": str,
        "parent": ParentJson | None,
        "abort_reason": str | None,
        "break": ShownBreakJson | None,
        "turns": list[TurnJson],
        "chain": list[StepJson],
        "diagnostics": list[TraceDiagnosticJson],
        "running": bool,
        "idle": bool,
        "open_turns": list[TurnJson],
        "notes": list[str],
        "abort_message": str | None,
        "certainty": str,
        "rule": str,
    },
)


class TraceBeganJson(TypedDict):
    event: Literal["trace_began"]
    trace: int
    name: str
    source: str
    model: str
    external_ids: dict[str, str]
    started_at: str | None


class SpanClosedJson(SpanJson):
    event: Literal["span_closed"]
    trace: int
    turn: int
    part: str
    text: str
    tool_calls: list[ToolCallJson]


class FaultFoundJson(SegmentDiagnosticJson):
    event: Literal["fault_found"]
    trace: int
    turn: int
    part: str


class TurnEndedJson(TypedDict):
    event: Literal["turn_ended"]
    trace: int
    turn: int
    role: str
    characters: int
    generation: GenerationJson | None


class TraceEndedJson(TypedDict):
    event: Literal["trace_ended"]
    trace: int
    summary: ListedTraceJson | None
