"""The lines of a trace file, version 2, as shapes: what stands here is the format.

A file is RFC 8259 JSON, one value a line, ASCII only; lone surrogates and NUL stand as escapes. The first line is
`{"weaklink_trace_file": 2}`. Each trace is one line `{"trace": {...}}`, which says how many turns follow, and then
its turns, a line `{"turn": {...}}` each. Members that have their default may be missing. Numbers that are not finite
are the strings `NaN`, `Infinity` and `-Infinity`.

A change of these shapes is a new version, with a step in `upgrades`; a new optional member is none.
"""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from inspector.model import (
    BodyState,
    ErrorPhase,
    ExternalId,
    FinishReason,
    InstantSource,
    ParentTrace,
    Provenance,
    RecognisedBy,
    ResultHeader,
    Role,
    ToolsOrigin,
    TurnFlag,
    Usage,
)

VERSION = 2
"""The version that is written; lower ones are read too."""

HEADER_KEY = "weaklink_trace_file"

Number: TypeAlias = float | Literal["NaN", "Infinity", "-Infinity"]


class InstantLine(msgspec.Struct, omit_defaults=True):
    """See `inspector.model.Instant`."""

    at_s: Number
    source: InstantSource = InstantSource.RECORDED


class OutcomeLine(msgspec.Struct, omit_defaults=True):
    """See `inspector.model.Outcome`."""

    completed: bool | None = None
    exit_status: str | None = None
    reward: Number | None = None


class TraceLine(msgspec.Struct, omit_defaults=True):
    """See `inspector.model.Trace`; `turns` is how many lines of turns follow."""

    turns: Annotated[int, msgspec.Meta(ge=0)]
    name: str = ""
    model: str = ""
    format: str = ""
    started: InstantLine | None = None
    external_ids: tuple[ExternalId, ...] = ()
    recognised_by: RecognisedBy = RecognisedBy.RECORD
    parent: ParentTrace | None = None
    outcome: OutcomeLine | None = None
    provenance: Provenance = Provenance()
    project: str = ""
    branch: str = ""


class ChunksLine(msgspec.Struct, omit_defaults=True):
    """See `inspector.model.Chunks`."""

    ends: tuple[int, ...]
    sequences: tuple[int, ...]
    offsets_s: tuple[Number | None, ...] | None = None
    token_ids: tuple[tuple[int, ...] | None, ...] | None = None
    logprobs: tuple[tuple[Number, ...] | None, ...] | None = None


class PartLine(msgspec.Struct, omit_defaults=True):
    """See `inspector.model.Part`."""

    name: str
    text: str
    chunks: ChunksLine | None = None


class ToolLine(msgspec.Struct, omit_defaults=True):
    """See `inspector.model.ToolDefinition`; `range` is `[start, end]`, `parameters` as `numbers.portable` gives it."""

    name: str
    description: str = ""
    parameters: Any = None
    raw: str = ""
    range: tuple[int, int] | None = None


class ErrorLine(msgspec.Struct, omit_defaults=True):
    """See `inspector.model.GenerationError`."""

    phase: ErrorPhase
    message: str
    status: int | None = None
    code: str | None = None


class GenerationLine(msgspec.Struct, omit_defaults=True):
    """See `inspector.model.Generation`."""

    api: str = ""
    requested_model: str = ""
    answered_model: str = ""
    parameters: str = ""
    tools: tuple[ToolLine, ...] = ()
    tools_origin: ToolsOrigin | None = None
    attempt: int = 1
    retry_of: str | None = None
    started: InstantLine | None = None
    first_token: InstantLine | None = None
    ended: InstantLine | None = None
    usage: Usage = msgspec.field(default_factory=Usage)
    finish_reason: str | None = None
    finish: FinishReason | None = None
    error: ErrorLine | None = None
    body: BodyState = BodyState.COMPLETE


class CallLine(msgspec.Struct, omit_defaults=True):
    """See `inspector.model.CallHeader`; the id is always written, and need not be there."""

    part: str
    name: str | None
    id: str | msgspec.UnsetType | None = msgspec.UNSET
    custom: bool = False


class TurnLine(msgspec.Struct, omit_defaults=True):
    """See `inspector.model.Turn`."""

    role: Role
    parts: tuple[PartLine, ...]
    source_role: str = ""
    calls: tuple[CallLine, ...] = ()
    result: ResultHeader | None = None
    generation: GenerationLine | None = None
    flags: tuple[TurnFlag, ...] = ()
