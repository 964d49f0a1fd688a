"""What waits in memory for the database, within a bound, and what is let go of where there is no room for it."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from threading import RLock
from typing import TypeAlias

from inspector.capture.events import ChunksArrived, RecordEvent, TraceEnded, TraceStarted, TurnEnded
from inspector.capture.waiting import ROOM_BYTES, weight
from inspector.model import BodyState, Generation, Role, Trace, Turn

__all__ = ["ROOM_BYTES", "DroppedChunks", "EventBuffer", "Shortened", "Waiting"]

_FOR_CHUNKS = 0.75  # of the room: the rest is for the ends of turns, which hold their chunks once more
_FOR_SHORTENED = 1.25
_SMALL = 500


@dataclass(frozen=True, slots=True)
class Shortened:
    """An event whose texts there was no room for, in the place of the event.

    Its turns stand without parts: what came of an open one before is all that is kept of it.
    """

    event: TraceStarted | TurnEnded

    @property
    def key(self) -> str:
        """The key of the event's trace."""
        return self.event.key


@dataclass(frozen=True, slots=True)
class DroppedChunks:
    """From here on, chunks of a turn are dropped: what was kept of it is its beginning."""

    key: str
    turn: int


Waiting: TypeAlias = RecordEvent | Shortened | DroppedChunks


class EventBuffer:
    """Events in line for the writer. Thread-safe; `put` never waits for more than the lock.

    An event takes its room from `put` until `written` says that all that was taken stands in the database; sizes are
    those of `inspector.capture.waiting.weight`. Chunks find three quarters of the room, the other events all of it.
    Where a turn's end, or a trace's beginning, finds no room, it is shortened to its facts, which find a quarter more;
    beyond that only the ends of traces are taken. Where nothing waits, one is taken whatever its size. `dropped`
    counts what was shortened or not taken.
    """

    def __init__(self, room_bytes: int) -> None:
        self._room = room_bytes
        self._line: deque[tuple[Waiting, int]] = deque()
        self._lock = RLock()  # a signal's handler may record too
        self._held = self._taken = 0
        self._gaps: set[DroppedChunks] = set()
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._line)

    @property
    def held_bytes(self) -> int:
        """How much of the room is taken."""
        return self._held

    def put(self, event: RecordEvent) -> None:
        """Put an event in line, or what there is room for of it."""
        size = weight(event)
        with self._lock:
            match event:
                case ChunksArrived(key, turn):
                    self._put_chunks(event, size, DroppedChunks(key, turn))
                case TraceEnded(key):
                    self._gaps = {gap for gap in self._gaps if gap.key != key} if self._gaps else self._gaps
                    self._add(event, size)
                case TraceStarted() | TurnEnded():
                    self._put_texts(event, size)
                case _ if not self._add_within(self._room, event, size):
                    self.dropped += 1

    def _put_chunks(self, event: ChunksArrived, size: int, gap: DroppedChunks) -> None:
        if gap not in self._gaps and self._add_within(self._room * _FOR_CHUNKS, event, size):
            return
        self.dropped += 1
        if gap not in self._gaps and self._add_within(self._room * _FOR_SHORTENED, gap, _SMALL):
            self._gaps.add(gap)

    def _put_texts(self, event: TraceStarted | TurnEnded, size: int) -> None:
        if isinstance(event, TurnEnded):
            self._gaps.discard(DroppedChunks(event.key, event.turn))
        room = self._room if self._held else size
        if not self._add_within(room, event, size):
            self.dropped += 1
            short = _shortened(event)
            self._add_within(self._room * _FOR_SHORTENED, short, weight(short.event))

    def take(self) -> Iterator[Waiting]:
        """The events in line, in their order, until none is left; they still take their room."""
        while self._line:
            with self._lock:
                event, size = self._line.popleft()
                self._taken += size
            yield event

    def written(self) -> None:
        """All that was taken stands in the database, or is kept by whoever took it."""
        with self._lock:
            self._held -= self._taken
            self._taken = 0

    def _add_within(self, room: float, event: Waiting, size: int) -> bool:
        if self._held + size > room:
            return False
        self._add(event, size)
        return True

    def _add(self, event: Waiting, size: int) -> None:
        self._line.append((event, size))
        self._held += size


def _shortened(event: TraceStarted | TurnEnded) -> Shortened:
    if isinstance(event, TurnEnded):
        return Shortened(replace(event, value=without_texts(event.value)))
    return Shortened(replace(event, trace=replace(event.trace, turns=tuple(map(without_texts, event.trace.turns)))))


def without_texts(turn: Turn) -> Turn:
    """The turn's facts; of a model's turn they say that it is truncated, and without the tools it was offered."""
    generation = turn.generation
    if turn.role is Role.ASSISTANT:
        generation = replace(generation or Generation(), body=BodyState.TRUNCATED, tools=())
    return replace(turn, parts=(), generation=generation)


def with_warning(trace: Trace, numbers: Iterable[int]) -> Trace:
    """The trace, whose provenance says of which turns not all is kept."""
    turns = sorted(numbers)
    if not turns:
        return trace
    named = f"turn {turns[0]}" if len(turns) == 1 else f"turns {', '.join(map(str, turns[:20]))}"
    more = f" and {len(turns) - 20} others" if len(turns) > 20 else ""
    said = f"Not all of {named}{more} is kept: the database could not be written for too long."
    return replace(trace, provenance=replace(trace.provenance, warnings=(*trace.provenance.warnings, said)))
