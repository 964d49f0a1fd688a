"""What another process was told of traces that have not ended, so that it can be told again."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from inspector.capture.events import ChunksArrived, RecordEvent, TraceEnded, TraceStarted, TurnEnded, TurnStarted
from inspector.capture.waiting import weight


@dataclass(slots=True)
class _JournalEntry:
    started: TraceStarted | None = None
    ended: dict[int, TurnEnded] = field(default_factory=dict)
    open: dict[int, list[TurnStarted | ChunksArrived]] = field(default_factory=dict)
    bytes: int = 0

    def note(self, event: TraceStarted | TurnStarted | ChunksArrived | TurnEnded) -> int:
        """Take one event; by how much the room it takes changes."""
        before = self.bytes
        self.bytes += weight(event)
        match event:
            case TraceStarted():
                self.started = event
            case TurnEnded(_, number):
                self.bytes -= sum(map(weight, self.open.pop(number, ())))
                self.ended[number] = event
            case _:
                self.open.setdefault(event.turn, []).append(event)
        return self.bytes - before


class Journal:
    """The events of open traces, shortened: a turn that ended needs no chunks any more.

    Above `room_bytes` the trace that was begun first is let go and counted in `forgotten`.
    """

    def __init__(self, room_bytes: int) -> None:
        self._room = room_bytes
        self._traces: dict[str, _JournalEntry] = {}
        self._bytes = 0
        self.forgotten = 0

    def note(self, events: Iterable[RecordEvent]) -> None:
        """These were told."""
        for event in events:
            if isinstance(event, TraceEnded):
                self._forget(event.key)
            else:
                self._bytes += self._traces.setdefault(event.key, _JournalEntry()).note(event)
        while self._bytes > self._room and self._traces:
            self._forget(next(iter(self._traces)))
            self.forgotten += 1

    def replay(self) -> Iterator[RecordEvent]:
        """The open traces from their beginning."""
        for told in self._traces.values():
            if told.started is not None:
                yield told.started
            yield from told.ended.values()
            for events in told.open.values():
                yield from events

    def clear(self) -> None:
        """Nothing was told to anybody."""
        self._traces.clear()
        self._bytes = 0

    def _forget(self, key: str) -> None:
        told = self._traces.pop(key, None)
        self._bytes -= 0 if told is None else told.bytes
