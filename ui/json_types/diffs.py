"""What `weaklink diff` prints with `--json`."""

from typing import Any, TypedDict

from weaklink.ui.json_types.diagnostics import PositionJson
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
