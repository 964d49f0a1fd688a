"""What `check` and `data lint` print with `--output json`."""

from typing import TypedDict

from weaklink.ui.json_types.diagnostics import AttemptedCallJson, DiagnosticFixJson, PositionJson, RelatedJson
from weaklink.ui.json_types.imports import SkippedJson


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
