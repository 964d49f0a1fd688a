"""Rules, formats, diagnostics, and what prints them: `rules`, `formats`, `segment`, `check`, `data lint`."""

from typing import Any, NotRequired, TypedDict

from weaklink.ui.json_types.database import SkippedJson


class FormatJson(TypedDict):
    name: str
    aliases: list[str]
    models: list[str]
    summary: str
    reads: list[str]
    writes: list[str]


class RuleJson(TypedDict):
    code: str
    name: str
    severity: str
    summary: str
    explanation: str
    remedy: str
    bad: str
    good: str
    format: str


class DetectionJson(TypedDict):
    format: str
    confidence: float
    reason: str


class EditJson(TypedDict):
    start: int
    end: int
    text: str


class DiagnosticFixJson(TypedDict):
    edits: list[EditJson]
    safe: bool


class PositionJson(TypedDict):
    turn: int
    part: str
    start: int
    end: int


class AttemptedCallJson(TypedDict):
    name: str | None
    arguments: Any
    raw_arguments: str
    recovered: bool
    start: int
    end: int


class FaultJson(TypedDict):
    """A fault without the place of its part; the members that every diagnostic has."""

    code: str
    name: str
    severity: str
    start: int
    end: int
    line: int
    column: int
    message: str
    hint: str | None
    fix: DiagnosticFixJson | None
    call: AttemptedCallJson | None
    layer: str | None
    owner: str | None
    against: PositionJson | None


class RelatedJson(TypedDict):
    """A related place, or a whole diagnostic of the same cause, which has the other members too."""

    start: int
    end: int
    line: int
    column: int
    message: str
    turn: NotRequired[int]
    part: NotRequired[str]
    code: NotRequired[str]
    name: NotRequired[str]
    severity: NotRequired[str]
    hint: NotRequired[str | None]
    fix: NotRequired[DiagnosticFixJson | None]
    call: NotRequired[AttemptedCallJson | None]
    path: NotRequired[str | None]
    path_in_arguments: NotRequired[str | None]
    fingerprint: NotRequired[str]
    related: "NotRequired[list[RelatedJson]]"
    layer: NotRequired[str | None]
    owner: NotRequired[str | None]
    against: NotRequired[PositionJson | None]


class SegmentDiagnosticJson(FaultJson):
    path: str | None
    related: list[RelatedJson]


class TraceDiagnosticJson(SegmentDiagnosticJson):
    turn: int
    part: str


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


class CheckedDiagnosticJson(TypedDict):
    """A finding; of a record that could not be read, `turn`, `part` and perhaps `line` and `column` are null."""

    path: str
    record: str
    trace: str
    turn: int | None
    part: str | None
    code: str
    name: str
    severity: str
    start: int
    end: int
    line: int | None
    column: int | None
    message: str
    hint: str | None
    fix: DiagnosticFixJson | None
    call: AttemptedCallJson | None
    layer: str | None
    owner: str | None
    against: PositionJson | None
    path_in_arguments: str | None
    fingerprint: str
    related: list[RelatedJson]


class CheckedFileJson(TypedDict):
    path: str
    source: str | None
    refused: str | None
    traces: int
    skipped: int
    skipped_records: list[SkippedJson]
    diagnostics: dict[str, int]
    known: int


class BrokenChainJson(TypedDict):
    path: str
    record: str
    trace: str
    step: int
    tool: str | None
    outcome: str
    reaction: str | None
    turn: int
    part: str
    code: str
    start: int
    end: int
    line: int
    column: int
    message: str
    fingerprint: str


class LintTotalsJson(TypedDict):
    files: int
    refused: int
    traces: int
    skipped: int
    errors: int
    warnings: int
    infos: int
    known: int
    gone: int
    diagnostics: dict[str, int]


class CheckTotalsJson(LintTotalsJson):
    broken_chains: int


class CheckOutputJson(TypedDict):
    files: list[CheckedFileJson]
    diagnostics: list[CheckedDiagnosticJson]
    broken_chains: list[BrokenChainJson]
    totals: CheckTotalsJson


class DataLintJson(TypedDict):
    files: list[CheckedFileJson]
    diagnostics: list[CheckedDiagnosticJson]
    totals: LintTotalsJson
