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
import asyncio
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterable, Mapping

from msgspec import Struct, field

from inspector.capture.events import Sink

VERSION = 1
"""The version that is written, and the only one that is read."""

HEADER_KEY = "weaklink_events"
EVENTS_PATH = "/weaklink/events"
"""The path for posting record events, appended to the address that the server prints."""

SENDER, BATCH, INSTANCE = "X-Weaklink-Sender", "X-Weaklink-Batch", "X-Weaklink-Instance"
"""Headers: the sender's id, the number of this body, which grows with each accepted body, and the server's id."""

CONTENT_TYPE = "application/x-ndjson"
PACKED_TYPE = "application/x-ndjson+zstd"
"""The type of a body from `pack_body`; not a `Content-Encoding`, which servers unpack without a bound."""
MAX_BODY_BYTES = 64 * 1024 * 1024
"""The longest body that is accepted."""

IntakeAnswer: TypeAlias = tuple[int, str]
"""An HTTP status, and a sentence, `""` with 204."""
_MOST_SENDERS = 10_000


class EventLineError(WeaklinkError):
    """Bytes that are no record events; the message names the line."""


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
    """One event as one line, with its line feed."""
    return ascii_line(msgspec.to_builtins(_line_of(event))) + "\n"


def read_events(body: bytes) -> list[RecordEvent]:
    """All events of a body. EventLineError if the body has another version, or a line is no event."""
    lines = body.splitlines()
    version = _record(lines[0], 1).get(HEADER_KEY) if lines else None
    if version != VERSION:
        found = "no version" if version is None else f"version {json.dumps(version)}"
        raise EventLineError(f"Line 1: the events have {found}, but this weaklink reads version {VERSION}.")
    return [_read(line, at) for at, line in enumerate(lines[1:], 2)]


def _record(line: bytes, at: int) -> dict[str, object]:
    try:
        record = json.loads(line.decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise EventLineError(f"Line {at} is not ASCII JSON: {error}.") from error
    if not isinstance(record, dict):
        raise EventLineError(f"Line {at} is not a JSON object.")
    return record


def _read(line: bytes, at: int) -> RecordEvent:
    record = _record(line, at)
    try:
        whole = with_split_surrogates(record) if b"\\ufdd0" in line else record  # type: ignore[arg-type]  # parsed JSON
        return _event_of(msgspec.convert(whole, _EventLine))
    except INVALID_LINE as error:
        raise EventLineError(f"Line {at} is not a record event: {error}.") from error


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
            generation = None if line.generation is None else generation_of(line.generation)
            return TurnStarted(line.key, line.turn, line.role, generation)
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
    """A body of these events, compressed with zstd."""
    return zstd.compress((header_line() + "".join(map(event_line, events))).encode("ascii"))


def unpack_body(packed: bytes, most_bytes: int = MAX_BODY_BYTES) -> bytes | None:
    """Unpack a body; None if it is longer than `most_bytes`. EventLineError if it is damaged."""
    unpacking = zstd.ZstdDecompressor()
    try:
        plain = unpacking.decompress(packed, most_bytes + 1)
    except zstd.ZstdError as error:
        raise EventLineError(f"The body is not zstd: {error}.") from error
    if len(plain) > most_bytes:
        return None
    if not unpacking.eof:
        raise EventLineError("The body's zstd ends too early.")
    return plain


class _Sender(Struct):
    last: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class EventIntake:
    """Answers `POST /weaklink/events` in any server; that server decides who may send requests.

    A web page cannot send events: a browser sends the required header only if the server has allowed it before.

    The status is 204 if the sink accepted the body's events, now or before: senders number their bodies. It is 409 if
    the sender means an earlier server, 400 if the body has no record events, 413 if it is longer than `most_bytes`,
    packed or not, and 503 if the sink accepts nothing now. If a sink has `is_full`, that is checked first.
    """

    def __init__(self, sink: Sink, *, most_bytes: int = MAX_BODY_BYTES) -> None:
        self._sink = sink
        self._most_bytes = most_bytes
        self.instance = secrets.token_hex(8)
        self._senders: OrderedDict[str, _Sender] = OrderedDict()
        self._sink_lock = asyncio.Lock()

    async def answer(self, headers: Mapping[str, str], pieces: AsyncIterable[bytes]) -> IntakeAnswer:
        """Process one body; `headers` must find names in any case."""
        number = headers.get(BATCH, "")
        if not (number.isascii() and number.isdigit() and len(number) < 16):
            return 400, f"The header `{BATCH}` must be a number."
        body = await self._body(pieces)
        if body is None:
            return 413, f"The body is longer than {self._most_bytes} bytes."
        if headers.get(INSTANCE, self.instance) != self.instance:
            return 409, "This server was started after the one that accepted the earlier events."
        is_packed = headers.get("Content-Type", "") == PACKED_TYPE
        return await self._take(self._sender(headers.get(SENDER, "")), int(number), body, is_packed=is_packed)

    async def _take(self, sender: _Sender, number: int, body: bytes, *, is_packed: bool) -> IntakeAnswer:
        async with sender.lock:
            if number <= sender.last:
                return 204, ""
            async with self._sink_lock:  # otherwise many bodies at once could pass the check for room
                answer = await self._pass_on(body, is_packed=is_packed)
            if answer[0] == 204:
                sender.last = number
            return answer

    async def _pass_on(self, body: bytes, *, is_packed: bool) -> IntakeAnswer:
        if getattr(self._sink, "is_full", False):
            return 503, "The queue of the recorder is full; send the body again later."
        try:
            events = await asyncio.to_thread(self._events, body, is_packed=is_packed)
        except EventLineError as error:
            return 400, str(error)
        if events is None:
            return 413, f"The body is longer than {self._most_bytes} bytes."
        return (204, "") if self._accepted(events) else (503, "The recorder accepts nothing now.")

    def _events(self, body: bytes, *, is_packed: bool) -> list[RecordEvent] | None:
        """The events of a body; None if it is too long."""
        plain = unpack_body(body, self._most_bytes) if is_packed else body
        return None if plain is None else read_events(plain)

    def _accepted(self, events: list[RecordEvent]) -> bool:
        try:
            for event in events:
                self._sink.accept(event)
        except Exception:  # noqa: BLE001  # a third-party sink; the sender gets the status and keeps the events
            return False
        return True

    async def _body(self, pieces: AsyncIterable[bytes]) -> bytes | None:
        received, size = [], 0
        async for piece in pieces:
            size += len(piece)
            if size > self._most_bytes:
                return None
            received.append(piece)
        return b"".join(received)

    def _sender(self, name: str) -> _Sender:
        sender = self._senders.setdefault(name, _Sender())
        self._senders.move_to_end(name)
        if len(self._senders) > _MOST_SENDERS:
            self._senders.popitem(last=False)
        return sender
