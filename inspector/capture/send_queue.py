"""A bounded in-memory queue of record events for a slow destination; adding an event never blocks."""

from collections import deque
from threading import Event, RLock

from weaklink.inspector.capture.events import ChunksArrived, RecordEvent, TraceStarted, TurnEnded
from weaklink.inspector.model import Chunk, Turn

ROOM_BYTES = 64 * 1024 * 1024
"""The default size limit of a queue."""

_FOR_CHUNKS = 0.75  # of the room: the rest is for the ends of turns, which contain their chunks again


class SendQueue:
    """A queue of events between the threads that record and one thread that writes.

    `put` never waits for more than the lock. If less than a quarter of the room is left, chunks are dropped, which
    loses nothing in the end: the end of their turn contains them again. If no room is left, every event is dropped.
    `dropped` counts dropped events. Sizes are estimates of what the events take in memory.
    """

    def __init__(self, room_bytes: int = ROOM_BYTES) -> None:
        self._room = room_bytes
        self._events: deque[tuple[RecordEvent, int]] = deque()
        self._lock = RLock()  # a signal handler may record too
        self._wake = Event()
        self._held = 0
        self.closing = Event()
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._events)

    @property
    def held_bytes(self) -> int:
        """The size of the queued events."""
        return self._held

    def put(self, event: RecordEvent) -> None:
        """Queue one event, or count it as dropped."""
        size = event_weight(event)
        room = self._room * _FOR_CHUNKS if isinstance(event, ChunksArrived) else self._room
        with self._lock:
            if self.closing.is_set() or self._held + size > room:
                self.dropped += 1
                return
            self._events.append((event, size))
            self._held += size
        self._wake.set()

    def take(self, most_bytes: int) -> list[RecordEvent]:
        """Remove the first events of the queue, as many as fit into that size, but at least one if there is any."""
        taken: list[RecordEvent] = []
        with self._lock:
            self._wake.clear()
            size = 0
            while self._events and (not taken or size + self._events[0][1] <= most_bytes):
                event, weighs = self._events.popleft()
                taken.append(event)
                size += weighs
            self._held -= size
        return taken

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until an event was queued since the last `take`, or the queue is closed."""
        if not self._events and not self.closing.is_set():
            self._wake.wait(timeout_s)

    def close(self) -> None:
        """Accept nothing more."""
        self.closing.set()
        self._wake.set()


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
