"""One trace on its way into a sink: numbers its turns, redacts, and ends once."""

from threading import RLock, Thread
from uuid import uuid4

from msgspec.structs import replace

from inspector.capture.events import ChunksArrived, RecordEvent, Sink, TraceEnded, TraceStarted, TurnEnded, TurnStarted
from inspector.capture.redacting import Redacts
from inspector.capture.safeguards import ErrorCounters, now_s
from inspector.errors import SinkError
from inspector.model import Chunk, ExternalId, Generation, Instant, Outcome, Role, Trace, Turn
from inspector.model.trace import RECORDING_ID

_CLOSING_S = 30.0
"""How long the end of a recording waits for its sink."""


class LoggedTrace:
    """Tells a sink of one trace; every method is thread-safe and returns at once, but for `close`.

    The trace begins with its first turn, so that a recording of nothing leaves nothing.
    """

    def __init__(self, sink: Sink, trace: Trace, redactor: Redacts, *, owns_sink: bool) -> None:
        self.sink = sink
        self.redactor = redactor
        self.mistakes = ErrorCounters()
        self.key = uuid4().hex
        self.outcome: Outcome | None = None
        self._trace = replace(trace, external_ids=(*trace.external_ids, ExternalId(RECORDING_ID, self.key)))
        self._owns_sink = owns_sink
        self._turns = 0
        self._closed = False
        self._lock = RLock()  # a signal's handler may record too

    def start_turn(self, role: Role, generation: Generation | None) -> int:
        """A turn begins; its number. SinkError once the recording is closed."""
        with self._lock:
            number = self._next()
            self._tell(TurnStarted(self.key, number, role, self._safe_facts(role, generation)))
            return number

    def add(self, turn: Turn) -> None:
        """A turn that is whole already. SinkError once the recording is closed."""
        safe = self._safe(turn)
        with self._lock:
            self._tell(TurnEnded(self.key, self._next(), safe))

    def chunks(self, number: int, chunks: tuple[Chunk, ...]) -> None:
        """Chunks of an open turn, which their redactor has seen."""
        if chunks:
            with self._lock:
                self._tell(ChunksArrived(self.key, number, chunks))

    def end_turn(self, number: int, turn: Turn) -> None:
        """An open turn ends; this is all of it."""
        safe = self._safe(turn)
        with self._lock:
            self._tell(TurnEnded(self.key, number, safe))

    def close(self) -> None:
        """End the trace, and the sink where it is ours; waits for it, but no longer than 30 seconds. Never raises."""
        with self._lock:
            if self._closed:
                return
            try:
                if self._turns:
                    self._tell(TraceEnded(self.key, self.outcome))
            except Exception as error:  # noqa: BLE001  # a foreign sink; it is noted
                self.mistakes.note("close", error)
            self._closed = True
        if self._owns_sink:
            self._close_sink()

    def _next(self) -> int:
        if not self._turns and not self._closed:
            started = replace(self._trace, started=self._trace.started or Instant(now_s()))
            self._tell(TraceStarted(self.key, self.redactor.trace(started)))
        self._turns += 1
        return self._turns

    def _tell(self, event: RecordEvent) -> None:
        if self._closed:
            raise SinkError("The recording is closed, so nothing more is kept.")
        self.sink.accept(event)

    def _safe(self, turn: Turn) -> Turn:
        return self.redactor.turn(turn)

    def _safe_facts(self, role: Role, generation: Generation | None) -> Generation | None:
        return None if generation is None else self._safe(Turn(role, (), generation=generation)).generation

    def _close_sink(self) -> None:
        closing = Thread(target=self._end_sink, name="weaklink-close", daemon=True)
        try:
            closing.start()
        except RuntimeError:  # the interpreter shuts down and starts no thread any more
            self._end_sink()
            return
        closing.join(_CLOSING_S)
        if closing.is_alive():
            self.mistakes.note("close", SinkError(f"The sink was not done within {_CLOSING_S:.0f} seconds."))

    def _end_sink(self) -> None:
        try:
            self.sink.close()
        except Exception as error:  # noqa: BLE001  # a foreign sink, a full disk; it is noted
            self.mistakes.note("close", error)
