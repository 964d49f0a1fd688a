"""What the commands for training data print with `--json`."""

from typing import NotRequired, TypedDict

from weaklink.ui.json_types.faults import FaultJson, RelatedJson, TraceDiagnosticJson


class FixedFileJson(TypedDict):
    path: str
    source: str | None
    refused: str | None
    output: str | None
    traces: int
    skipped: int
    repaired_records: int
    changes: int
    left: int


class RepairedPlaceJson(TypedDict):
    path: str
    record: str
    trace: str
    turn: int
    part: str


class FixedFaultJson(FaultJson, RepairedPlaceJson):
    related: list[RelatedJson]
    path_in_arguments: str | None
    round: int


class LeftFaultJson(RepairedPlaceJson):
    code: str
    name: str
    message: str
    why: str


class DataFixJson(TypedDict):
    files: list[FixedFileJson]
    changes: list[FixedFaultJson]
    left: list[LeftFaultJson]


class SharesJson(TypedDict):
    tools: dict[str, float]
    steps: dict[str, float]
    should_call: dict[str, float]
    parameter_types: dict[str, float]
    error_recovery: float
    languages: dict[str, float]


class GoalsJson(TypedDict, total=False):
    """Shares to reach, or how far off they are; a group without a goal is missing."""

    tools: dict[str, float]
    steps: dict[str, float]
    should_call: dict[str, float]
    parameter_types: dict[str, float]
    error_recovery: float
    languages: dict[str, float]


class PercentilesJson(TypedDict):
    median: int
    p95: int
    max: int


class LengthsJson(TypedDict):
    characters: PercentilesJson | None
    tokens: PercentilesJson | None


QualityJson = TypedDict("QualityJson", {"mean": float | None, "below_0.9": int})


class BudgetJson(TypedDict):
    max_tokens: int
    samples_cut: int
    tokens: int
    tokens_cut: int
    packed_sequences: int
    packed_fill: float | None


class GroupedReportJson(TypedDict):
    column: str
    groups: "dict[str, DataReportJson]"


class DataReportJson(TypedDict):
    samples: int
    shares: SharesJson
    recommended: GoalsJson
    deviations: GoalsJson
    samples_with_calls: int
    duplicates: int
    types: dict[str, int]
    shapes: dict[str, int]
    formats: dict[str, int]
    errors: dict[str, int]
    recoveries: dict[str, int]
    faults: dict[str, int]
    tools_by_frequency: dict[str, int]
    lengths: LengthsJson
    schema_depth: dict[str, int]
    ref_chain: dict[str, int]
    argument_depth: dict[str, int]
    quality: QualityJson
    budget: NotRequired[BudgetJson]
    by: NotRequired[GroupedReportJson]
    against: "NotRequired[DataReportJson]"


class ScoredCallJson(TypedDict):
    tool: str
    completeness: float
    accuracy: float | None
    type_precision: float | None
    no_hallucination: float
    overall: float
    missing: NotRequired[bool]
    extra: NotRequired[bool]


class ScoredRowJson(TypedDict):
    id: str | None
    file: str
    record: str
    overall: float
    calls: list[ScoredCallJson]


class VerdictJson(TypedDict):
    id: str | None
    record: str
    verifier: str
    passed: bool
    diagnostics: list[TraceDiagnosticJson]
    file: str
    group: str
