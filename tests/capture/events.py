"""What the tests of capture share: a sink that remembers, the traces that events tell, and waiting with a deadline."""

import time
from collections.abc import Callable, Iterable
from threading import Lock

from weaklink.inspector.capture.events import RecordEvent
from weaklink.inspector.capture.trace_file_sink import TraceAssembler
from weaklink.inspector.model import Trace


class Remembering:
    """A sink that keeps the events in memory."""

    def __init__(self) -> None:
        self.events: list[RecordEvent] = []
        self.closed = False
        self._lock = Lock()

    def accept(self, event: RecordEvent) -> None:
        with self._lock:
            self.events.append(event)

    def close(self) -> None:
        self.closed = True

    def trace(self) -> Trace:
        """The only trace that was recorded."""
        (trace,) = traces_of(self.events).values()
        return trace


def traces_of(events: Iterable[RecordEvent]) -> dict[str, Trace]:
    """The traces that events tell, by their key."""
    gathered: dict[str, TraceAssembler] = {}
    for event in events:
        gathered.setdefault(event.key, TraceAssembler()).add(event)
    return {key: assembler.trace() for key, assembler in gathered.items()}


def wait_until(holds: Callable[[], bool], *, within_s: float = 30.0) -> None:
    """Returns as soon as it holds; AssertionError where it does not in that time."""
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, "it did not come to hold"
        time.sleep(0.005)
