"""What a recorder tells while a session runs, and who takes it: a store, or anything else that is a Sink.

A session is known by a `key` that its recorder chose; events of several sessions may interleave. Within one session a
turn starts, its chunks arrive in order, and it ends; turns count from 1.
"""

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from inspector.model import Chunk, Generation, Outcome, Role, Trace, Turn


@dataclass(frozen=True, slots=True)
class TraceStarted:
    """A session begins; `trace` is what is known of it, without turns or with those that the first request brought."""

    key: str
    trace: Trace


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """The session's turn number `turn` begins; `generation` is what its request already says (model, tools, start)."""

    key: str
    turn: int
    role: Role
    generation: Generation | None = None


@dataclass(frozen=True, slots=True)
class ChunksArrived:
    """Chunks of the open turn, in the order of their sequence."""

    key: str
    turn: int
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The turn is complete, or its stream broke; `value` is the whole turn with everything that became known of it."""

    key: str
    turn: int
    value: Turn


@dataclass(frozen=True, slots=True)
class TraceEnded:
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


SINKS_ENTRY_POINT_GROUP = "weaklink.sinks"
"""Entry points of this group name a callable each that takes a place (path or URL) and gives a Sink."""
