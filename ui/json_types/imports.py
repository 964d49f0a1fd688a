"""What `weaklink import` prints with `--json`."""

from typing import TypedDict


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
