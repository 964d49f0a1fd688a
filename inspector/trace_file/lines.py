"""The format of a trace file, version 3: its lines as typed structures, and recorded exchanges as lines.

The requests of a session repeat its history: each is the one before with something added in its middle. A line
therefore has the number of bytes that its request shares with the beginning and the end of the previous request, and
the bytes between them. The lines of one trace must be read in order; a request whose previous one is missing is lost
(`withheld` says so), as is every request that builds on it.

A file is RFC 8259 JSON, one value per line, ASCII only; lone surrogates and NUL are escapes. The first line is
`{"weaklink_trace_file": 3}`. Numbers that JSON cannot represent, and adjacent lone surrogates that JSON would join, are
written in a portable form and restored.
"""

import json
import math
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from weaklink.inspector.model import (
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
from weaklink.inspector.model.exchange import ExchangeEnd, RecordedExchange
from weaklink.inspector.scanning import lazy_pattern

_LOST = "The request cannot be read: the exchange that it extends is missing."
_SMALLEST_SHARE = 64  # bytes; below it a request is written whole
VERSION = 3
"""The version that is written; lower ones are read too."""
HEADER_KEY = "weaklink_trace_file"
_NUMBER_KEY = "weaklink_number"
_ADJACENT_SURROGATES = lazy_pattern("([\ud800-\udbff]\ufdd0*)(?=[\udc00-\udfff])")
_SEPARATED_SURROGATES = lazy_pattern("([\ud800-\udbff]\ufdd0*)\ufdd0(?=[\udc00-\udfff])")
_BEYOND_ASCII = lazy_pattern(r"[^\x00-\x7f]")
Number: TypeAlias = float | Literal["NaN", "Infinity", "-Infinity"]


class BodyLine(msgspec.Struct, omit_defaults=True):
    """Bytes as text, or in base64 if they are not UTF-8."""

    text: str = ""
    base64: str = ""


class ExchangeLine(msgspec.Struct, omit_defaults=True):
    """See `RecordedExchange`; `number` counts the exchanges of a trace from 1.

    The request consists of the first `prefix` bytes of the request of exchange `base`, then `request`, then the last
    `suffix` bytes of that request; `base` is 0 if `request` is the whole request.
    """

    number: int
    method: str
    path: str
    began_s: float | None = None
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    request: BodyLine | None = None
    base: int = 0
    prefix: int = 0
    suffix: int = 0
    answer: BodyLine | None = None
    ends: tuple[int, ...] = ()
    offsets_s: tuple[float | None, ...] = ()
    end: ExchangeEnd = ExchangeEnd.COMPLETE
    message: str = ""
    turn: int = 0
    is_redacted: bool = False
    withheld: str = ""


class ExchangePacker:
    """Creates the lines of one trace's exchanges, in order; keeps the last request."""

    def __init__(self) -> None:
        self._number = 0
        self._base = 0
        self._last = b""

    def line(self, exchange: RecordedExchange) -> ExchangeLine:
        """The next line."""
        self._number += 1
        request, base, prefix, suffix = exchange.request, 0, 0, 0
        if request is not None:
            prefix, suffix = _shared(self._last, request)
            if prefix + suffix < _SMALLEST_SHARE:
                prefix = suffix = 0
            else:
                base = self._base
            self._last, self._base = request, self._number
        return ExchangeLine(
            self._number,
            exchange.method,
            exchange.path,
            exchange.began_s,
            exchange.status,
            exchange.headers,
            None if request is None else _body(request[prefix : len(request) - suffix]),
            base,
            prefix,
            suffix,
            None if exchange.answer is None else _body(exchange.answer),
            exchange.ends,
            exchange.offsets_s,
            exchange.end,
            exchange.message,
            exchange.turn,
            exchange.is_redacted,
            exchange.withheld,
        )

    def forget(self) -> None:
        """Write the next request whole, because the lines so far are lost."""
        self._last, self._base = b"", 0


def exchanges_of(lines: Iterable[ExchangeLine]) -> Iterator[RecordedExchange]:
    """The exchanges of one trace, from its lines in order. ValueError for a line that no packer can have created."""
    number, last = 0, b""
    for line in lines:
        request = None if line.request is None else _bytes(line.request)
        withheld = line.withheld
        if request is not None and line.base:
            if line.base == number and line.prefix + line.suffix <= len(last):
                request = last[: line.prefix] + request + last[len(last) - line.suffix :]
            else:
                request, withheld = None, _LOST
        if line.request is not None:
            number, last = (line.number, request) if request is not None else (0, b"")
        answer = None if line.answer is None else _bytes(line.answer)
        if any(end < before for before, end in zip((0, *line.ends), line.ends, strict=False)) or (
            line.ends and line.ends[-1] != len(answer or b"")
        ):
            raise ValueError("the ends of the pieces do not increase up to the length of the answer")
        yield RecordedExchange(
            line.method,
            line.path,
            line.began_s,
            line.status,
            line.headers,
            request,
            answer,
            line.ends,
            line.offsets_s,
            line.end,
            line.message,
            line.turn,
            line.is_redacted,
            withheld,
        )


def _shared(before: bytes, after: bytes) -> tuple[int, int]:
    """How many bytes two texts share at their beginning, and at the end of the rest."""
    most = min(len(before), len(after))
    prefix = _common(before, after, most)
    suffix = _common(before[::-1], after[::-1], most - prefix) if prefix < most else 0
    return prefix, suffix


def _common(one: bytes, other: bytes, most: int) -> int:
    """The length of the common beginning, at most `most`; compares blocks, which is fast."""
    at, step = 0, 1 << 16
    while step:
        while at + step <= most and one[at : at + step] == other[at : at + step]:
            at += step
        step >>= 1
    return at


def _body(raw: bytes) -> BodyLine:
    try:
        return BodyLine(raw.decode())
    except UnicodeDecodeError:
        return BodyLine(base64=b64encode(raw).decode())


def _bytes(line: BodyLine) -> bytes:
    return b64decode(line.base64, validate=True) if line.base64 else line.text.encode()


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
    """See `inspector.model.Trace`; `turns` is the number of turn lines that follow, `exchanges` are for a replay."""

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
    """See `inspector.model.ToolDefinition`; `range` is `[start, end]`, `parameters` as from `portable_json`."""

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
    """See `inspector.model.CallHeader`; the id is always written, but may be missing in a line that is read."""

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
    """See `inspector.model.SentMessage`; `turn` is 0 if the message is a version of no turn."""

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
    """A float as it is written to the file."""
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def portable_json(value: Json) -> Json:
    """A JSON value without numbers that readers refuse: such a number becomes `{"weaklink_number": "1E+5000"}`.

    An object that already looks like that is wrapped again, so `original_json` restores every value.
    """
    match value:
        case Decimal():
            return {_NUMBER_KEY: str(value)}
        case float() if not math.isfinite(value):
            return {_NUMBER_KEY: str(float_value(value))}
        case list():
            return [portable_json(item) for item in value]
        case dict() if value.keys() == {_NUMBER_KEY}:
            return {_NUMBER_KEY: {_NUMBER_KEY: portable_json(value[_NUMBER_KEY])}}
        case dict():
            return {key: portable_json(item) for key, item in value.items()}
    return value


def original_json(value: Json) -> Json:
    """The inverse of `portable_json`; decimal.InvalidOperation for a `weaklink_number` that is no number."""
    match value:
        case list():
            return [original_json(item) for item in value]
        case {"weaklink_number": str(digits), **rest} if not rest:
            return float(digits) if digits in {"NaN", "Infinity", "-Infinity"} else Decimal(digits)
        case {"weaklink_number": {"weaklink_number": inner, **more}, **rest} if not rest and not more:
            return {_NUMBER_KEY: original_json(inner)}
        case dict():
            return {key: original_json(item) for key, item in value.items()}
    return value


def ascii_line(record: object) -> str:
    """`record` as ASCII JSON on one line; adjacent lone surrogates are separated, so that no reader joins them."""
    line = json.dumps(record, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    if "\\ud" not in line:
        return line
    raw = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _BEYOND_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], _ADJACENT_SURROGATES.sub("\\1\ufdd0", raw))


def with_split_surrogates(value: Json) -> Json:
    """The value that `ascii_line` has written, from the value that a JSON reader returned for its line."""
    match value:
        case str():
            return _SEPARATED_SURROGATES.sub("\\1", value)
        case list():
            return [with_split_surrogates(item) for item in value]
        case dict():
            return {
                _SEPARATED_SURROGATES.sub("\\1", key): with_split_surrogates(member) for key, member in value.items()
            }
        case _:
            return value
