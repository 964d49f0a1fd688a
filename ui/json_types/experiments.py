"""What `ask`, `doctor` and `probe` print with `--json`."""

from typing import Any, TypedDict


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
