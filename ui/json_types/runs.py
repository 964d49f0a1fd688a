"""What `diff`, `replay`, `ask`, `doctor` and `probe` print with `--json`."""

from typing import Any, NotRequired, TypedDict

from weaklink.ui.json_types.faults import PositionJson
from weaklink.ui.json_types.traces import TaskOutcomeJson


class TaskRunJson(TypedDict):
    called: str
    good: bool
    did: str


class DivergencePlaceJson(TypedDict):
    step: int | None
    bad: int
    good: int
    runs: list[TaskRunJson]


class TaskDiffJson(TypedDict):
    divided_by: str
    good: list[str]
    bad: list[str]
    unknown: list[str]
    reference: str
    places: list[DivergencePlaceJson]


class ComparedRunJson(TypedDict):
    run: str
    called: str
    name: str
    file: str
    record: str
    model: str
    status: str
    outcome: TaskOutcomeJson
    broken_at: int | None
    steps: int
    last_words: str
    layer: str | None
    not_recorded: int


class AskedDifferentlyJson(TypedDict):
    what: str
    runs: list[str]
    message: str


class DivergedStepJson(TypedDict):
    step: int
    tool: str | None
    arguments: Any
    outcome: str
    call: PositionJson
    result: PositionJson | None


class DivergenceJson(TypedDict):
    row: int
    what: str
    steps: dict[str, DivergedStepJson | None]


class TextPieceJson(TypedDict):
    kind: str
    text: str


class TextDiffJson(TypedDict):
    runs: list[str]
    call: list[TextPieceJson]
    result: list[TextPieceJson]


class AlignedStepJson(TypedDict):
    sameness: str
    step: DivergedStepJson | None


class AlignedRowJson(TypedDict):
    same: bool
    runs: dict[str, AlignedStepJson]


class RunDiffJson(TypedDict):
    verdict: str
    runs: list[ComparedRunJson]
    asked_differently: list[AskedDifferentlyJson]
    divergence: DivergenceJson | None
    text_diff: TextDiffJson | None
    rows: list[AlignedRowJson]


class InjectionJson(TypedDict):
    kind: str
    turn: int
    rules: list[str]
    found: list[str]
    status: str
    exit_code: int
    was_sent: bool


class InjectionRowJson(TypedDict):
    """A row of `--inject all`: an injected fault, or only a kind and the reason why it is not possible."""

    kind: str
    status: str
    turn: NotRequired[int]
    rules: NotRequired[list[str]]
    found: NotRequired[list[str]]
    exit_code: NotRequired[int]
    was_sent: NotRequired[bool]
    reason: NotRequired[str]


class ReplayDifferenceJson(TypedDict):
    kind: str
    pointer: str
    message: int | None
    recorded: str
    live: str
    recorded_range: list[int] | None
    live_range: list[int] | None
    tool: str | None


class IgnoredDifferenceJson(ReplayDifferenceJson):
    request: int


class ReplayDivergenceJson(TypedDict):
    kind: str
    request: int
    method: str
    path: str
    recorded_request: int | None
    turn: int | None
    differences: list[ReplayDifferenceJson]


class ReplayTracesJson(TypedDict):
    recorded: int
    live: int


class ReplayJson(TypedDict):
    recorded: int
    replayed: int
    requests: int
    live: int
    ignored: list[IgnoredDifferenceJson]
    divergences: list[ReplayDivergenceJson]
    traces: ReplayTracesJson | None
    exit_code: int


class RequestChangeJson(TypedDict):
    kind: str
    pointer: str
    original: str
    changed: str


class RequestFailureJson(TypedDict):
    reason: str
    answers: int


class MethodJson(TypedDict):
    rate: str
    difference: str
    error: float


class OriginalRateJson(TypedDict):
    hits: int | None
    answers: int
    interval: list[float]


class RateDifferenceJson(TypedDict):
    value: float | None
    interval: list[float]


class RateJson(TypedDict):
    rule: str
    hits: int
    answers: int
    interval: list[float]
    original: OriginalRateJson | None
    difference: RateDifferenceJson | None


class AskJson(TypedDict):
    trace: int
    turn: int
    experiment: str
    api: str
    notes: list[str]
    changes: list[RequestChangeJson]
    planned: int
    counted: int
    kept: int
    failures: list[RequestFailureJson]
    stopped: str | None
    interrupted: bool
    requests: int
    tokens: int
    method: MethodJson
    rates: list[RateJson]


class DoctorTraceJson(TypedDict):
    id: int
    status: str


class DoctorRunJson(TypedDict):
    number: int
    run: str
    exit_code: int
    requests: int
    broken: bool
    traces: list[DoctorTraceJson]


class ShareJson(TypedDict):
    runs: int
    of: int
    interval: list[float]


class PartingSideJson(TypedDict):
    trace: int
    turn: int | None


class DoctorDifferenceJson(TypedDict):
    kind: str
    pointer: str
    message: int | None
    first: str
    second: str
    first_range: list[int] | None
    second_range: list[int] | None
    tool: str | None


class PartingJson(TypedDict):
    run: int
    source: str
    meaning: str
    request: int
    first: PartingSideJson | None
    second: PartingSideJson | None
    differences: list[DoctorDifferenceJson]


class DoctorJson(TypedDict):
    runs: list[DoctorRunJson]
    groups: list[list[int]]
    equal: ShareJson
    broken: ShareJson
    source: str | None
    partings: list[PartingJson]


class MeasureJson(TypedDict):
    measure: str
    title: str
    hits: int
    of: int
    value: float | None
    interval: list[float]


class MedianJson(TypedDict):
    measure: str
    title: str
    of: int
    median: float | None
    interval: list[float] | None


class ToolCallErrorsJson(TypedDict):
    invalid_json: int
    unknown_name: int
    schema_mismatch: int


class FindingCountJson(TypedDict):
    kind: str
    server: int
    model: int
    unknown: int


class EndpointMeasuresJson(TypedDict):
    url: str
    suite: Any
    results: int
    whole: int
    streamed: int
    measures: list[MeasureJson]
    medians: list[MedianJson]
    tool_call_errors: ToolCallErrorsJson
    findings: list[FindingCountJson]


class EndpointJson(TypedDict):
    model: str
    success_count: int
    failure_count: int
    finish_stop: int
    finish_tool_calls: int
    finish_others: int
    finish_others_detail: dict[str, int]
    schema_validation_error_count: int
    successful_tool_call_count: int
    weaklink: EndpointMeasuresJson


class PairedMeasureJson(TypedDict):
    measure: str
    title: str
    of: int
    both: int
    only_first: int
    only_second: int
    neither: int
    difference: float | None
    interval: list[float] | None
    p: float | None


class ProbeJson(TypedDict):
    endpoints: list[EndpointJson]
    paired: list[PairedMeasureJson]
