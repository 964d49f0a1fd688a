"""Diagnostics, their fixes and positions in the JSON of commands."""

from typing import Any, NotRequired, TypedDict


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
