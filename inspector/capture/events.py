"""What a recorder reports while a session runs: record events for a sink, findings for an observer, and its losses.

A session is known by a `key` that its recorder chose; events of several sessions may interleave. Within one session a
turn starts, its chunks arrive in order, and the turn ends.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

from msgspec import Struct, field, structs

from inspector.diagnostics import Diagnostic
from inspector.model import BodyState, Chunk, Generation, Outcome, Part, Role, Span, ToolCall, Trace, Turn
from inspector.model.exchange import ExchangeEnd, RecordedExchange
from inspector.wire.events import WIRE_PREFIX

SINKS_ENTRY_POINT_GROUP = "weaklink.sinks"
"""Entry points of this group name a callable each that takes a place (path or URL) and gives a Sink."""

RECORDING_PART = f"{WIRE_PREFIX}recording"
"""The part that says, a sentence a line, what of an exchange was not kept, and why."""


class TraceStarted(Struct, frozen=True):
    """A session begins; `trace` is what is known of it, without turns or with those that the first request brought."""

    key: str
    trace: Trace


class TurnStarted(Struct, frozen=True):
    """The session's turn number `turn` begins; `generation` is what its request already says (model, tools, start)."""

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
    """The turn is complete, or its stream broke; `value` is the whole turn with everything that became known of it.

    `exchanges` are the HTTP exchanges to keep for a replay: the turn's own, after those that asked no model.
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


class Sink(Protocol):
    """What capture needs of the outside; it is live, so it takes events. Other packages offer one by entry point."""

    def accept(self, event: RecordEvent) -> None:
        """Take one event; returns fast and never raises for what a stream holds."""
        ...

    def close(self) -> None:
        """Nothing follows: write out what is held."""
        ...


class ExchangeFacts(Struct, frozen=True):
    """One exchange in a line; secrets are redacted.

    `key` is the trace that it belongs to, `""` where it was no request to a model. `status` is None where no answer
    came, `first_token_s` the seconds from the request to the first text of a stream, `duration_s` those to the end;
    None where nobody kept the times. `output_tokens` is what the server reported, None where it did not; `chunks`
    counts the arrivals of the model's words. `faults` are the codes of what was found, each with its count.
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
    """Looks on; is called by the recorder's thread, returns soon, and keeps the recording waiting until then."""

    def span_closed(self, key: str, turn: int, part: str, span: Span, calls: Sequence[ToolCall]) -> None:
        """A span of a running answer closed; `calls` are those that became known with it."""
        ...

    def fault_found(self, key: str, turn: int, diagnostic: Diagnostic) -> None:
        """A fault of an answer became known."""
        ...

    def exchange_ended(self, facts: ExchangeFacts) -> None:
        """An exchange ended, recorded or not; its last call."""
        ...

    def trouble(self, message: str) -> None:
        """Something keeps the recorder from its work: a full sentence. The same trouble is told once a minute."""
        ...


def with_losses(turn: Turn, lost: list[str], *, is_gap: bool) -> Turn:
    """The turn with sentences on what its record lacks; `is_gap` says that bytes of the answer came and are not kept.

    A body with a gap is not stored, whatever its decoder took it for: nobody cut the stream but we.
    """
    if not lost:
        return turn
    generation = turn.generation or Generation()
    if is_gap:
        generation = structs.replace(generation, body=BodyState.NOT_STORED)
    return structs.replace(turn, parts=(*turn.parts, Part(RECORDING_PART, "\n".join(lost))), generation=generation)
