"""What `import`, `stats` and `db` print with `--json`."""

from typing import Literal, TypedDict


class SkippedJson(TypedDict):
    record: str
    reason: str


class CountsJson(TypedDict):
    traces: int
    requests: int
    turns: int
    tool_calls: int
    tools: dict[str, int]
    diagnostics: dict[str, int]


class ImportedFileJson(CountsJson):
    path: str
    source: str | None
    refused: str | None
    skipped: list[SkippedJson]
    warnings: list[str]
    redacted: int
    why: str | None


class ImportTotalsJson(CountsJson):
    files: int
    refused: int
    skipped: int
    redacted: int


class ImportJson(TypedDict):
    files: list[ImportedFileJson]
    totals: ImportTotalsJson


class FoundLogJson(TypedDict):
    source: str
    path: str
    project: str
    size_bytes: int
    modified_s: float


class StatisticJson(TypedDict):
    value: float | None
    low: float | None
    high: float | None
    hits: float
    trials: float
    traces: int
    kind: str
    absent: str | None


class PromptJson(TypedDict):
    words: str
    tools: int


class StatisticsGroupJson(TypedDict):
    keys: dict[str, str | None]
    prompt: PromptJson | None
    schema: dict[str, int] | None
    traces: int
    measures: dict[str, StatisticJson]


class CountedNameJson(TypedDict):
    value: str
    traces: int


class BreaksJson(TypedDict):
    steps: list[CountedNameJson]
    codes: list[CountedNameJson]


class ViolationCountJson(TypedDict):
    tool: str
    path: str
    code: str
    times: int
    traces: int


class ComparisonJson(TypedDict):
    keys: dict[str, str | None]
    measure: str
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    adjusted_p: float | None
    more_than_noise: bool


class StatisticsJson(TypedDict):
    traces: int
    uncounted: int
    by: list[str]
    fewest: int
    measures: dict[str, StatisticJson]
    groups: list[StatisticsGroupJson]
    breaks: BreaksJson
    aborts: list[CountedNameJson]
    violations: list[ViolationCountJson]
    baseline: dict[str, str | None] | None
    comparisons: list[ComparisonJson]
    result_kinds: dict[str, int]
    said: dict[str, int]


class DatabaseCheckJson(TypedDict):
    database: str
    problems: list[str]
    traces: int
    turns: int
    toolsets: int
    without_checksums: int
    outdated: int


DatabaseCopyJson = TypedDict(
    "DatabaseCopyJson",
    {
        "from": str,
        "to": str,
        "copied": int,
        "replaced": int,
        "present": int,
        "running": int,
        "tokens_left_out": int,
        "problems": list[str],
    },
)


class DatabaseStatsJson(TypedDict):
    database: str
    size_bytes: int
    traces: int
    by_status: dict[str, int]
    turns: int
    characters: int
    chunks: int
    tool_calls: int
    errors: int
    tools: int
    not_indexed: int
    outdated: int


class AccessTokenJson(TypedDict):
    name: str
    role: Literal["read", "write"]
    made_at_s: float
    revoked_at_s: float | None
    expires_at_s: float | None


class AccessTokensJson(TypedDict):
    tokens: list[AccessTokenJson]
