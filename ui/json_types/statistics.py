"""What `weaklink stats` prints with `--json`."""

from typing import TypedDict


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
