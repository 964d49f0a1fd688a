"""What a recorder reports while a session runs: record events for a sink, findings for an observer, and its losses.

A session is identified by a `key` that its recorder chose; events of several sessions may interleave. Within one
session a turn starts, its chunks arrive in order, and the turn ends.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

from msgspec import Struct, field, structs

from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.model import BodyState, Chunk, Generation, Outcome, Part, Role, Span, ToolCall, Trace, Turn
from weaklink.inspector.model.exchange import ExchangeEnd, RecordedExchange
from weaklink.inspector.wire.events import WIRE_PREFIX

SINKS_ENTRY_POINT_GROUP = "weaklink.sinks"
"""Each entry point of this group names a callable that takes a target (path or URL) and returns a Sink."""

RECORDING_PART = f"{WIRE_PREFIX}recording"
"""The part that lists what of an exchange was not kept, and why: one sentence per line."""

ROOM_BYTES = 64 * 1024 * 1024
"""The default size limit of the events that a sink holds."""


class TraceStarted(Struct, frozen=True):
    """A session begins; `trace` is what is known of it, without turns or with those of the first request."""

    key: str
    trace: Trace


class TurnStarted(Struct, frozen=True):
    """The session's turn number `turn` begins; `generation` has the facts of its request (model, tools, start)."""

    key: str
    turn: int
    role: Role
    generation: Generation | None = None


class ChunksArrived(Struct, frozen=True):
    """Chunks of the open turn, in the order of their sequence."""

    key: str
    turn: int
    chunks: tuple[Chunk, ...]


class TurnEnded(Struct, frozen=True):
    """The turn is complete, or its stream broke off; `value` is the whole turn with everything known about it.

    `exchanges` are the HTTP exchanges to keep for a replay: first those that are no requests to a model, then the
    turn's own.
    """

    key: str
    turn: int
    value: Turn
    exchanges: tuple[RecordedExchange, ...] = ()


class TraceEnded(Struct, frozen=True):
    """The session is over."""

    key: str
    outcome: Outcome | None = None


RecordEvent: TypeAlias = TraceStarted | TurnStarted | ChunksArrived | TurnEnded | TraceEnded


def event_weight(event: RecordEvent) -> int:
    """About how many bytes an event takes in memory, without encoding it."""
    match event:
        case ChunksArrived(_, _, chunks):
            return 200 + sum(map(_chunk_weight, chunks))
        case TurnEnded(_, _, turn, exchanges):
            return 500 + _turn_weight(turn) + sum(500 + exchange.size_bytes for exchange in exchanges)
        case TraceStarted(_, trace):
            return 500 + sum(map(_turn_weight, trace.turns))
        case _:
            return 500


def _chunk_weight(chunk: Chunk) -> int:
    return 150 + len(chunk.text) + 32 * len(chunk.token_ids or ()) + 32 * len(chunk.logprobs or ())


def _turn_weight(turn: Turn) -> int:
    texts = sum(len(part.text) + 200 for part in turn.parts)
    chunks = sum(100 * len(part.chunks) for part in turn.parts if part.chunks is not None)
    tools = turn.generation.tools if turn.generation is not None else ()
    return texts + chunks + sum(500 + len(tool.raw) for tool in tools)


class Sink(Protocol):
    """The destination of a recording, which receives its events live. Other packages can offer one by entry point."""

    def accept(self, event: RecordEvent) -> None:
        """Take one event; returns fast and never raises for the contents of a stream."""
        ...

    def close(self) -> None:
        """No event follows: write what is held."""
        ...


class ExchangeFacts(Struct, frozen=True):
    """A summary of one exchange; secrets are redacted.

    `key` is the trace that it belongs to, `""` if it was no request to a model. `status` is None if no answer came.
    `first_token_s` is the number of seconds from the request to the first text of a stream, `duration_s` to the end;
    None if the times are not known. `output_tokens` is what the server reported, None if it did not; `chunks` counts
    the arrivals of the model's text. `faults` are the codes of the faults found, each with its count.
    """

    method: str
    target: str
    end: ExchangeEnd
    key: str = ""
    turn: int = 0
    model: str = ""
    status: int | None = None
    first_token_s: float | None = None
    duration_s: float | None = None
    output_tokens: int | None = None
    chunks: int = 0
    faults: Mapping[str, int] = field(default_factory=dict)


class RecordingObserver(Protocol):
    """Observes a recording. The recorder's thread calls it, so it must return soon: the recording waits until then."""

    def span_closed(self, key: str, turn: int, part: str, span: Span, calls: Sequence[ToolCall]) -> None:
        """A span of an arriving answer closed; `calls` are those that became known with it."""
        ...

    def fault_found(self, key: str, turn: int, diagnostic: Diagnostic) -> None:
        """A fault was found in an answer."""
        ...

    def exchange_ended(self, facts: ExchangeFacts) -> None:
        """An exchange ended, recorded or not; the last call for it."""
        ...

    def trouble(self, message: str) -> None:
        """A problem of the recorder, as a full sentence. The same problem is reported at most once a minute."""
        ...


def with_losses(turn: Turn, lost: list[str], *, is_gap: bool) -> Turn:
    """The turn with sentences on missing data; `is_gap` means that bytes of the answer arrived and were not kept.

    A body with a gap is marked as not stored, whatever its decoder reported: the recorder itself truncated the stream.
    """
    if not lost:
        return turn
    generation = turn.generation or Generation()
    if is_gap:
        generation = structs.replace(generation, body=BodyState.NOT_STORED)
    return structs.replace(turn, parts=(*turn.parts, Part(RECORDING_PART, "\n".join(lost))), generation=generation)
