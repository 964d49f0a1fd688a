"""The lines of a trace file, version 3, as typed structures: these definitions are the format.

A file is RFC 8259 JSON, one value a line, ASCII only; lone surrogates and NUL are escapes. The first line is
`{"weaklink_trace_file": 3}`. Numbers that JSON cannot hold, and surrogate halves that JSON would join, are made
portable and back.
"""

import json
import math
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from inspector.model import (
    BodyState,
    ErrorPhase,
    ExternalId,
    FinishReason,
    InstantSource,
    Json,
    ParentTrace,
    Provenance,
    RecognisedBy,
    ResultHeader,
    Role,
    ToolsOrigin,
    TurnFlag,
    Usage,
)
from inspector.scanning import lazy_pattern
from inspector.trace_file.exchange_lines import ExchangeLine

VERSION = 3
"""The version that is written; lower ones are read too."""

HEADER_KEY = "weaklink_trace_file"
_KEY = "weaklink_number"
_TOGETHER = lazy_pattern("([\ud800-\udbff]\ufdd0*)(?=[\udc00-\udfff])")
_APART = lazy_pattern("([\ud800-\udbff]\ufdd0*)\ufdd0(?=[\udc00-\udfff])")
_BEYOND_ASCII = lazy_pattern(r"[^\x00-\x7f]")
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
    """See `inspector.model.Trace`; `turns` is how many lines of turns follow, `exchanges` are for a replay."""

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
    exchanges: tuple[ExchangeLine, ...] = ()


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


class CallLine(msgspec.Struct, omit_defaults=True):
    """See `inspector.model.CallHeader`; the id is always written, and need not be there."""

    part: str
    name: str | None
    id: str | msgspec.UnsetType | None = msgspec.UNSET
    custom: bool = False


class SentPartLine(msgspec.Struct, omit_defaults=True):
    """See `inspector.model.SentPart`."""

    name: str
    text: str = ""
    prefix: int = 0
    suffix: int = 0


class SentMessageLine(msgspec.Struct, omit_defaults=True):
    """See `inspector.model.SentMessage`; `turn` is 0 where the message is a version of none."""

    role: Role
    parts: tuple[SentPartLine, ...]
    turn: int = 0
    source_role: str = ""
    calls: tuple[CallLine, ...] = ()
    result: ResultHeader | None = None


class SentRequestLine(msgspec.Struct, omit_defaults=True):
    """See `inspector.model.SentRequest`; a message of an earlier request is `[turn, index]`."""

    after: int = 0
    kept: int = 0
    messages: tuple[int | tuple[int, int] | SentMessageLine, ...] = ()


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
    request: SentRequestLine | None = None
    response_id: str = ""
    context_window: int | None = None


class RunLine(msgspec.Struct, omit_defaults=True):
    """See `inspector.model.RecordedRun`."""

    source: str
    name: str = ""
    call_id: str | None = None
    arguments: str | None = None
    result: str | None = None
    failed: bool | None = None
    started: InstantLine | None = None
    ended: InstantLine | None = None
    own_form: tuple[str, ...] = ()


class TurnLine(msgspec.Struct, omit_defaults=True):
    """See `inspector.model.Turn`."""

    role: Role
    parts: tuple[PartLine, ...]
    source_role: str = ""
    calls: tuple[CallLine, ...] = ()
    result: ResultHeader | None = None
    generation: GenerationLine | None = None
    flags: tuple[TurnFlag, ...] = ()
    run: RunLine | None = None


def float_value(value: float) -> Number:
    """A float as the file holds it."""
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def portable_json(value: Json) -> Json:
    """A JSON value without numbers that readers refuse: such a one becomes `{"weaklink_number": "1E+5000"}`.

    An object that looks like that already is wrapped once more, so that `original` gives back every value.
    """
    match value:
        case Decimal():
            return {_KEY: str(value)}
        case float() if not math.isfinite(value):
            return {_KEY: str(float_value(value))}
        case list():
            return [portable_json(item) for item in value]
        case dict() if value.keys() == {_KEY}:
            return {_KEY: {_KEY: portable_json(value[_KEY])}}
        case dict():
            return {key: portable_json(item) for key, item in value.items()}
    return value


def original_json(value: Json) -> Json:
    """The value that `portable` was given; decimal.InvalidOperation for a `weaklink_number` that is none."""
    match value:
        case list():
            return [original_json(item) for item in value]
        case {"weaklink_number": str(digits), **rest} if not rest:
            return float(digits) if digits in {"NaN", "Infinity", "-Infinity"} else Decimal(digits)
        case {"weaklink_number": {"weaklink_number": inner, **more}, **rest} if not rest and not more:
            return {_KEY: original_json(inner)}
        case dict():
            return {key: original_json(item) for key, item in value.items()}
    return value


def ascii_line(record: object) -> str:
    """`record` as ASCII JSON on one line, halves kept apart."""
    line = json.dumps(record, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    if "\\ud" not in line:
        return line
    raw = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _BEYOND_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], _TOGETHER.sub("\\1\ufdd0", raw))


def with_split_surrogates(value: Json) -> Json:
    """What `ascii_line` was given, of what a JSON reader made of its line."""
    match value:
        case str():
            return _APART.sub("\\1", value)
        case list():
            return [with_split_surrogates(item) for item in value]
        case dict():
            return {_APART.sub("\\1", key): with_split_surrogates(member) for key, member in value.items()}
        case _:
            return value
