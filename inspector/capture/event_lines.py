"""Record events as lines of JSON, to send them to another process; traces and turns are written as in a trace file.

A body begins with the line `{"weaklink_events": 1}`; each event is one line with its kind under `event`. Lines are
ASCII; lone surrogates, NUL and numbers beyond JSON are escaped as in a trace file.
"""

import json
import sys
from collections.abc import Iterable
from typing import TypeAlias, assert_never

import msgspec

from inspector.capture.events import ChunksArrived, RecordEvent, TraceEnded, TraceStarted, TurnEnded, TurnStarted
from inspector.errors import WeaklinkError
from inspector.model import Chunk, Role
from inspector.trace_file.lines import (
    ExchangeLine,
    ExchangePacker,
    GenerationLine,
    Number,
    OutcomeLine,
    TraceLine,
    TurnLine,
    ascii_line,
    exchanges_of,
    float_value,
    with_split_surrogates,
)
from inspector.trace_file.reading import INVALID_LINE, generation_of, outcome_of, trace_of, turn_of
from inspector.trace_file.writing import generation_line, outcome_line, trace_line, turn_line

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

VERSION = 1
"""The version that is written, and the only one that is read."""

HEADER_KEY = "weaklink_events"
EVENTS_PATH = "/weaklink/events"
"""Where record events are posted, behind the address that the server prints."""

SENDER, BATCH, INSTANCE = "X-Weaklink-Sender", "X-Weaklink-Batch", "X-Weaklink-Instance"
"""Who sends, the number of this body, which counts up with each that was taken, and which server he means."""

CONTENT_TYPE = "application/x-ndjson"
PACKED_TYPE = "application/x-ndjson+zstd"
"""Of a body that `pack_body` made; not a `Content-Encoding`, which servers unpack without a bound."""
MAX_BODY_BYTES = 64 * 1024 * 1024
"""The longest body that is taken."""


class EventLineError(WeaklinkError):
    """Bytes that are no record events; the text bears the number of the line."""


class _TraceStarted(msgspec.Struct, tag_field="event", tag="trace_started", omit_defaults=True):
    key: str
    trace: TraceLine
    turns: tuple[TurnLine, ...] = ()


class _TurnStarted(msgspec.Struct, tag_field="event", tag="turn_started", omit_defaults=True):
    key: str
    turn: int
    role: Role
    generation: GenerationLine | None = None


class _ChunkLine(msgspec.Struct, omit_defaults=True):
    sequence: int
    part: str
    text: str
    offset_s: Number | None = None
    token_ids: tuple[int, ...] | None = None
    logprobs: tuple[Number, ...] | None = None


class _ChunksArrived(msgspec.Struct, tag_field="event", tag="chunks_arrived"):
    key: str
    turn: int
    chunks: tuple[_ChunkLine, ...]


class _TurnEnded(msgspec.Struct, tag_field="event", tag="turn_ended", omit_defaults=True):
    key: str
    turn: int
    value: TurnLine
    exchanges: tuple[ExchangeLine, ...] = ()


class _TraceEnded(msgspec.Struct, tag_field="event", tag="trace_ended", omit_defaults=True):
    key: str
    outcome: OutcomeLine | None = None


_EventLine: TypeAlias = _TraceStarted | _TurnStarted | _ChunksArrived | _TurnEnded | _TraceEnded


def header_line() -> str:
    """The first line of a body."""
    return ascii_line({HEADER_KEY: VERSION}) + "\n"


def event_line(event: RecordEvent) -> str:
    """One event as one line with its line feed."""
    return ascii_line(msgspec.to_builtins(_line_of(event))) + "\n"


def read_events(body: bytes) -> list[RecordEvent]:
    """The events of a body. EventLineError for a body of another version, or a line that is no event: all or none."""
    lines = body.splitlines()
    version = _record(lines[0], 1).get(HEADER_KEY) if lines else None
    if version != VERSION:
        says = "no version" if version is None else f"version {json.dumps(version)}"
        raise EventLineError(f"Line 1: the events say {says}, and this weaklink reads version {VERSION}.")
    return [_read(line, at) for at, line in enumerate(lines[1:], 2)]


def _record(line: bytes, at: int) -> dict[str, object]:
    try:
        record = json.loads(line.decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise EventLineError(f"Line {at} is no ASCII JSON: {error}.") from error
    if not isinstance(record, dict):
        raise EventLineError(f"Line {at} is no JSON object.")
    return record


def _read(line: bytes, at: int) -> RecordEvent:
    record = _record(line, at)
    try:
        whole = with_split_surrogates(record) if b"\\ufdd0" in line else record  # type: ignore[arg-type]  # what JSON gave
        return _event_of(msgspec.convert(whole, _EventLine))
    except INVALID_LINE as error:
        raise EventLineError(f"Line {at} is no record event: {error}.") from error


def _line_of(event: RecordEvent) -> _EventLine:
    match event:
        case TraceStarted(key, trace):
            return _TraceStarted(key, trace_line(trace), tuple(map(turn_line, trace.turns)))
        case TurnStarted(key, turn, role, generation):
            return _TurnStarted(key, turn, role, None if generation is None else generation_line(generation))
        case ChunksArrived(key, turn, chunks):
            return _ChunksArrived(key, turn, tuple(map(_chunk_line, chunks)))
        case TurnEnded(key, turn, value, exchanges):
            packer = ExchangePacker()
            return _TurnEnded(key, turn, turn_line(value), tuple(map(packer.line, exchanges)))
        case TraceEnded(key, outcome):
            return _TraceEnded(key, outcome_line(outcome))
        case _:
            assert_never(event)


def _event_of(line: _EventLine) -> RecordEvent:
    match line:
        case _TraceStarted():
            return TraceStarted(line.key, trace_of(line.trace, tuple(map(turn_of, line.turns))))
        case _TurnStarted():
            made = None if line.generation is None else generation_of(line.generation)
            return TurnStarted(line.key, line.turn, line.role, made)
        case _ChunksArrived():
            return ChunksArrived(line.key, line.turn, tuple(map(_chunk_of, line.chunks)))
        case _TurnEnded():
            return TurnEnded(line.key, line.turn, turn_of(line.value), tuple(exchanges_of(line.exchanges)))
        case _TraceEnded():
            return TraceEnded(line.key, outcome_of(line.outcome))
        case _:
            assert_never(line)


def _chunk_line(chunk: Chunk) -> _ChunkLine:
    return _ChunkLine(
        chunk.sequence,
        chunk.part,
        chunk.text,
        None if chunk.offset_s is None else float_value(chunk.offset_s),
        chunk.token_ids,
        None if chunk.logprobs is None else tuple([float_value(value) for value in chunk.logprobs]),
    )


def _chunk_of(line: _ChunkLine) -> Chunk:
    return Chunk(
        line.sequence,
        line.part,
        line.text,
        None if line.offset_s is None else float(line.offset_s),
        line.token_ids,
        None if line.logprobs is None else tuple(map(float, line.logprobs)),
    )


def pack_body(events: Iterable[RecordEvent]) -> bytes:
    """A body of these events, packed with zstd."""
    return zstd.compress((header_line() + "".join(map(event_line, events))).encode("ascii"))


def unpack_body(packed: bytes, most_bytes: int = MAX_BODY_BYTES) -> bytes | None:
    """A packed body as it was; None where it is longer than `most_bytes`. EventLineError where it is damaged."""
    unpacking = zstd.ZstdDecompressor()
    try:
        plain = unpacking.decompress(packed, most_bytes + 1)
    except zstd.ZstdError as error:
        raise EventLineError(f"The body is no zstd: {error}.") from error
    if len(plain) > most_bytes:
        return None
    if not unpacking.eof:
        raise EventLineError("The body's zstd ends too early.")
    return plain
