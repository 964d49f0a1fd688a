"""Exchanges to record events, live: observers put down what they see, and one thread makes the record of it.

Neither an event loop nor a client waits for the record: an observer appends bytes to a list and returns. The thread
wakes soon after something came, takes up all that waits, in the order in which it happened over all exchanges, and
tells the sink; between two batches it rests, so that many small pieces cost little. A sink that fails, a watch that
fails and a format of a plug-in that fails are counted and told, and the recording goes on.
"""

import time
from collections.abc import Callable
from threading import Thread

from inspector.capture.event_buffer import EventBuffer, ExchangeEvent, ExchangeTape
from inspector.capture.events import RecordingObserver, Sink
from inspector.capture.open_traces import GuardedSink, OpenTraces, RecorderContext
from inspector.capture.recording import ExchangeRecording
from inspector.capture.redacting import Redacts
from inspector.redaction.redactor import Redactor
from inspector.sessions.exchange import ExchangeEnd, ExchangeObserver, RequestHead
from inspector.sessions.resolver import SessionResolver
from inspector.wire.content_encoding import MAX_BODY_BYTES

MAX_WAITING_BYTES = 256 << 20
"""What may wait for the recorder's thread."""

_GATHER_S = 0.1
_TIDY_S = 30.0
_IDLE_S = 30 * 60.0


class Recorder:
    """Records exchanges of any provider; see `inspector.sessions.exchange.Observes`.

    `sink` takes the events; it is not closed, since others may share it. `redactor` takes out secrets before anything
    reaches sink or watch; the default knows the shapes of keys, `KeepsAll` keeps all. `book` says which requests belong
    to one trace. `watch` is told of spans, faults and ended exchanges while they happen; without one nothing is read
    for faults. A trace ends when nothing happened to it for `idle_s` seconds, or when the recorder is closed.

    Bounds: 64 MiB of a request and `max_answer_bytes` of an answer are kept, and at most `max_waiting_bytes` wait for
    the thread; what is more is dropped for the record only, `dropped_bytes` counts it, and the turn says it. `close`
    takes up what waits and ends what runs. Methods are thread-safe; each exchange is told by one thread at a time.
    """

    def __init__(
        self,
        sink: Sink,
        *,
        redactor: Redacts | None = None,
        book: SessionResolver | None = None,
        watch: RecordingObserver | None = None,
        idle_s: float = _IDLE_S,
        max_waiting_bytes: int = MAX_WAITING_BYTES,
        max_answer_bytes: int = MAX_BODY_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        redacts = redactor or Redactor()
        self._outlet = GuardedSink(sink, watch, time.monotonic)
        traces = OpenTraces(self._outlet, redacts)
        self._desk = RecorderContext(book or SessionResolver(), traces, self._outlet, redacts, max_answer_bytes)
        self._intake = EventBuffer(max_waiting_bytes)
        self._running: dict[ExchangeTape, ExchangeRecording] = {}
        self._idle_s, self._clock = idle_s, clock
        self._tidy_s = min(_TIDY_S, idle_s)
        self._tidied_at_s = clock()
        self._told_drops = (0, 0)
        self._unrecorded = 0
        self._thread = Thread(target=self._run, name="weaklink-recorder", daemon=True)
        self._thread.start()

    @property
    def dropped_bytes(self) -> int:
        """How many bytes were dropped because too much waited."""
        return self._intake.dropped_bytes

    @property
    def dropped_exchanges(self) -> int:
        """How many exchanges were not recorded at all because too much waited."""
        return self._intake.dropped_exchanges

    @property
    def unrecorded_exchanges(self) -> int:
        """How many exchanges ended without a place in the record: they ask no model, or recording them failed."""
        return self._unrecorded

    @property
    def refused_events(self) -> int:
        """How many events the sink refused."""
        return self._outlet.refused

    @property
    def failures(self) -> int:
        """How often sink, watch or a reader failed."""
        return self._outlet.failed

    def began(self, head: RequestHead) -> ExchangeObserver:
        """An observer for an exchange that begins; one that keeps nothing once the recorder is closed."""
        return self._intake.begin(head)

    def close(self) -> None:
        """Take up all that waits, and end what runs where it is; returns when the sink has been told of it."""
        self._intake.is_closed = True
        self._intake.hurry()
        self._thread.join()

    def _run(self) -> None:
        while not self._intake.is_closed:
            self._intake.wait(_GATHER_S, self._tidy_s)
            self._take_up()
            self._tidy()
        self._take_up()
        for tape in tuple(self._running):
            tape.ended(ExchangeEnd.NOT_STORED, None, "The recorder was closed while the exchange went on.")
        self._take_up()
        self._desk.traces.end_all()

    def _take_up(self) -> None:
        """Take up everything that happened by now."""
        happenings = self._intake.happenings
        while happenings:
            what, tape = happenings.popleft()
            if what is ExchangeEvent.BEGAN:
                self._running[tape] = ExchangeRecording(tape, self._desk)
            elif tape in self._running:
                self._careful(what, tape, self._running[tape])
        for tape, recording in tuple(self._running.items()):
            self._careful(None, tape, recording)
        self._tell_drops()

    def _careful(self, what: ExchangeEvent | None, tape: ExchangeTape, recording: ExchangeRecording) -> None:
        """Take up what happened, or the bytes that came; where that fails, this exchange is lost and no other."""
        try:
            match what:
                case None:
                    recording.arrive()
                case ExchangeEvent.ASKED:
                    recording.ask()
                case ExchangeEvent.ANSWER_BEGAN:
                    recording.begin_answer()
                case ExchangeEvent.ENDED:
                    recording.end()
        except Exception as error:  # noqa: BLE001  # all other recordings depend on this thread
            recording.abandon()
            self._outlet.trouble("An exchange could not be recorded", error)
        if what is ExchangeEvent.ENDED:
            del self._running[tape]
            self._unrecorded += recording.is_unrecorded

    def _tidy(self) -> None:
        """Now and then, end the traces to which nothing happened for long."""
        now_s = self._clock()
        if now_s - self._tidied_at_s < self._tidy_s:
            return
        self._tidied_at_s = now_s
        for key in self._desk.book.forget_idle(now_s - self._idle_s):
            self._desk.traces.end(key)

    def _tell_drops(self) -> None:
        dropped = self._intake.dropped_exchanges, self._intake.dropped_bytes
        if dropped != self._told_drops:
            self._told_drops = dropped
            more = f": {dropped[0]} exchanges and {dropped[1]} bytes of others were dropped so far"
            self._outlet.trouble("More comes than can be recorded", more=more)
