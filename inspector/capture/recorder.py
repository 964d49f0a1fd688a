"""Turns live exchanges into record events: observers append what they see to a buffer, and one thread processes it.

Neither an event loop nor a client waits for the recording: an observer appends bytes to a list and returns. The thread
wakes soon after something came, processes everything that is waiting, in the order in which it happened over all
exchanges, and sends events to the sink. Between two batches it rests, so many small pieces cost little. Errors of a
sink, of an observer and of a plug-in's format are counted and reported, and the recording goes on. An exchange's bytes
become chunks for the sink, and spans and faults for an observer, while the answer arrives.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from threading import Thread

from msgspec import Struct, structs

from weaklink.inspector.apis.providers import decoder_for, find_api, parse_request
from weaklink.inspector.capture.event_buffer import EventBuffer, ExchangeEvent, ExchangeTape, Piece
from weaklink.inspector.capture.events import (
    ChunksArrived,
    ExchangeFacts,
    RecordingObserver,
    Sink,
    TurnEnded,
    TurnStarted,
    with_losses,
)
from weaklink.inspector.capture.exchange_record import ExchangeDraft
from weaklink.inspector.capture.live_parser import FormatChoice, LiveParser
from weaklink.inspector.capture.open_traces import GuardedSink, OpenTraces, RecorderContext
from weaklink.inspector.capture.redacting import Redacts
from weaklink.inspector.capture.safeguards import OwnProcess
from weaklink.inspector.model import Chunk, Generation, Json, Role, Turn
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.inspector.sessions.exchange import ExchangeEnd, ExchangeObserver, RequestHead, header_of
from weaklink.inspector.sessions.gathering import answer_turn, request_of, started_generation
from weaklink.inspector.sessions.resolver import SessionAssignment, SessionResolver
from weaklink.inspector.wire.content_encoding import MAX_BODY_BYTES, ContentDecoder
from weaklink.inspector.wire.decoder import Decoder
from weaklink.inspector.wire.events import (
    WIRE_PREFIX,
    CallNamed,
    DecodedRequest,
    DecodedTurn,
    PartGrew,
    TurnAssembly,
    WireEvent,
)

_OTHER_BYTES = 1 << 20  # of each body of an exchange that is no request to a model
_LONG_CHUNK = 1 << 16  # code points; a longer text of one event is recorded as several chunks: see `_within_bounds`
MAX_ANSWER_TEXT = 16 << 20
"""The most code points of text that are kept of one answer: four times the longest context of any model."""

MAX_REQUEST_LENGTH = 32 << 20
"""The most bytes of a request that are decoded, the most that Anthropic's API takes; images are most of such a request.

Parsing more in one call would hold up the threads of a program that records its own client.
"""

_AT_ONCE = 2_048  # pieces of one answer that are processed together, if many were waiting


class ModelRequest(Struct, frozen=True):
    """A request to a model. `body` and `json` are what it was read from; `missing` states what of it was not kept."""

    request: DecodedRequest
    body: bytes = b""
    json: Json = None
    missing: str = ""


def read_request_info(head: RequestHead, sent: bytes, *, lost_bytes: int = 0) -> ModelRequest | None:
    """Read a request from its head and body; None if it is no request to a model.

    Without `lost_bytes` the body is complete. If the body cannot be read, but the path is that of a model API, the
    result is a request of which only the path is known. Never raises.
    """
    if lost_bytes:
        return _by_path(head, b"", f"The request's body was not kept: {lost_bytes} bytes of it were dropped.")
    content = ContentDecoder(header_of(head.headers, "content-encoding"))
    body = content.feed(sent) + content.close()
    if len(body) > MAX_REQUEST_LENGTH:
        missing = f"The request's body is longer than {MAX_REQUEST_LENGTH:,} bytes, so it was not decoded."
        return _by_path(head, body, missing)
    json = parse_request(body)
    request = request_of(head, json)
    if request is not None:
        return ModelRequest(request, body, json, content.fault)
    return _by_path(head, body, content.fault or "The request's body is not a JSON object.") if sent else None


def _by_path(head: RequestHead, body: bytes, missing: str) -> ModelRequest | None:
    api = find_api(head.target) if head.method.upper() == "POST" else ""
    return ModelRequest(DecodedRequest(api, "", ()), body, None, missing) if api else None


class AnswerRecording:
    """One turn of a trace, from the assignment of its request until the exchange ends.

    Chunks are sent to the sink as they come; a body that came whole has none. The final turn is assembled from
    everything that came, and does not depend on how the bytes were split, except for the times.
    """

    def __init__(
        self, tape: ExchangeTape, context: RecorderContext, model_request: ModelRequest, assignment: SessionAssignment
    ) -> None:
        self._tape, self._context, self._assignment = tape, context, assignment
        self._request, self._json = model_request.request, model_request.json
        self._lost = [model_request.missing] if model_request.missing else []
        self._trace = context.traces.of(assignment)
        self._trace.open_answers += 1
        self._turn = self._trace.next_turn()
        self._started_s = tape.head.at_s
        self._decoder: Decoder | None = None
        self._content: ContentDecoder | None = None
        self._assembly: TurnAssembly | None = None
        self._redacts = context.redactor.new_turn(model_request.request.tools)
        self._reading: LiveParser | None = None
        self._sequence = 0
        self._last_s: float | None = None
        self._left = context.max_answer_bytes
        self._text_left = MAX_ANSWER_TEXT
        self._draft = ExchangeDraft(tape, context.redactor, model_request.body, context.max_answer_bytes)
        begun = started_generation(self._request, assignment, started_s=self._started_s)
        kept = context.redactor.turn(Turn(Role.ASSISTANT, (), generation=begun))
        context.sink.emit(TurnStarted(assignment.key, self._turn, Role.ASSISTANT, kept.generation))
        if context.sink.has_observer:
            self._reading = LiveParser(
                context.sink,
                assignment.key,
                self._turn,
                choice=FormatChoice(
                    self._request.model,
                    self._trace.spoken,
                    named=self._trace.named,
                    offers_tools=bool(kept.generation and kept.generation.tools),
                ),
                tools=self._trace.tools_for(kept.generation.tools if kept.generation else ()),
                sent=kept.generation,
            )

    def begin(self) -> None:
        """Choose the decoder, if the answer's head has come."""
        tape = self._tape
        if self._decoder is not None or tape.status is None:
            return
        kind = header_of(tape.headers, "content-type")
        self._decoder = decoder_for(tape.head.target, self._json, kind, status=tape.status)
        self._json = None
        encoding = header_of(tape.headers, "content-encoding")
        if encoding.strip().lower() not in ("", "identity"):
            self._content = ContentDecoder(encoding, max_bytes=self._context.max_answer_bytes)

    def arrive(self, pieces: Sequence[Piece]) -> None:
        """Read pieces of the answer's body; they may be processed before the event that its head came."""
        if not pieces:
            return
        self.begin()
        decoder = self._decoder
        if decoder is None:
            return
        if self._content is not None:
            pieces = [(self._content.feed(raw), at_s) for raw, at_s in pieces]
        if self._started_s is None:
            pieces = [(raw, None) for raw, _ in pieces]
        self._draft.arrive(pieces)
        self._last_s = pieces[-1][1]
        events: list[WireEvent] = []
        feed = decoder.feed
        for raw, at_s in pieces:
            self._left -= len(raw)
            if self._left < 0:
                break
            events += feed(raw, at_s)
        self._collect(events)

    def so_far(self) -> Turn:
        """The answer as far as it has been read."""
        assembly = self._assembly or TurnAssembly(self._request.api)
        return assembly.decoded().turn

    def end(self) -> None:
        """The exchange ended: send the turn to the sink, complete or as far as it came."""
        tape, assignment, sink = self._tape, self._assignment, self._context.sink
        decoded = self._decoded()
        turn = answer_turn(
            self._request,
            decoded,
            tape.end or ExchangeEnd.NOT_STORED,
            assignment=assignment,
            started_s=self._started_s,
            ended_s=tape.ended_at_s,
            status=tape.status,
            message=tape.message,
        )
        turn = self._with_losses(turn)
        self._context.resolver.answered(assignment, structs.replace(decoded, turn=turn))
        kept = self._context.redactor.turn(turn)
        exchange = self._draft.exchange(self._turn, turn, kept)
        others = tuple(self._context.other_exchanges)
        self._context.other_exchanges.clear()
        sink.emit(TurnEnded(assignment.key, self._turn, kept, (*others, exchange)))
        reading = self._reading
        self._read(lambda reading: reading.end(kept))
        if self._reading is not None:
            self._trace.spoken = self._reading.spoken or self._trace.spoken
        self._context.traces.close_answer(assignment.key)
        sink.exchange_ended(self._facts(kept, dict(reading.faults) if reading is not None else {}))

    def abandon(self) -> None:
        """Recording the answer failed: its turn stays as it is, and its trace may end without it."""
        self._context.traces.close_answer(self._assignment.key)

    def _collect(self, events: list[WireEvent]) -> None:
        """Collect events, and send the chunks among them to the sink."""
        decoder = self._decoder
        if decoder is None or not events:
            return
        events = self._within_bounds(events)
        if self._assembly is None:
            self._assembly = TurnAssembly(decoder.api, started_s=self._started_s or 0.0, streamed=decoder.streamed)
        self._assembly.extend(events)
        if not decoder.streamed:
            return
        started_s, sequence = self._started_s, self._sequence
        chunks = [
            Chunk(
                number,
                grew.part,
                grew.text,
                None if grew.at_s is None or started_s is None else grew.at_s - started_s,
                grew.token_ids,
                grew.logprobs,
            )
            for number, grew in enumerate([event for event in events if type(event) is PartGrew], sequence)
        ]
        if chunks:
            self._sequence = sequence + len(chunks)
            for batch in _batches(chunks):
                self._send(self._redacts.feed(batch))
        if len(chunks) < len(events) and self._reading is not None:
            self._read_calls(events)

    def _within_bounds(self, events: list[WireEvent]) -> list[WireEvent]:
        """The events within the bound on an answer's text, a long text in pieces of at most `_LONG_CHUNK`.

        What searches a text in one call holds the interpreter: 30 ms for a million characters (redaction of text full
        of signs). The threads of a program that records its own client would wait, so a long text comes piece by piece.
        """
        size = sum([len(event.text) for event in events if type(event) is PartGrew])
        left, self._text_left = self._text_left, self._text_left - size
        if size <= _LONG_CHUNK and self._text_left >= 0:
            return events
        kept: list[WireEvent] = []
        for event in events:
            if type(event) is not PartGrew:
                kept.append(event)
                continue
            text, left = event.text[: max(left, 0)], left - len(event.text)
            if len(text) == len(event.text) and (len(text) <= _LONG_CHUNK or event.token_ids or event.logprobs):
                kept.append(event)
                continue
            starts = range(0, len(text), _LONG_CHUNK)
            kept += [PartGrew(event.part, text[start : start + _LONG_CHUNK], event.at_s) for start in starts]
        return kept

    def _send(self, chunks: tuple[Chunk, ...]) -> None:
        if chunks:
            self._context.sink.emit(ChunksArrived(self._assignment.key, self._turn, chunks))
            self._read(lambda reading: reading.feed(chunks))

    def _read_calls(self, events: Sequence[WireEvent]) -> None:
        calls = [event.header() for event in events if type(event) is CallNamed]
        kept = self._context.redactor.turn(Turn(Role.ASSISTANT, (), calls=tuple(calls))).calls
        self._read(lambda reading: reading.begin_calls(kept))

    def _decoded(self) -> DecodedTurn:
        kept_none = self._tape.end is ExchangeEnd.NOT_STORED and self._left == self._context.max_answer_bytes
        if self._decoder is None or kept_none:
            return TurnAssembly(self._request.api).decoded()
        if self._content is not None:
            last = self._content.close()
            if last:
                self._draft.arrive([(last, self._last_s)])
                self._collect(self._decoder.feed(last, self._last_s))
        self._collect(self._decoder.close())
        self._send(self._redacts.close())
        assembly = self._assembly or TurnAssembly(self._decoder.api, streamed=self._decoder.streamed)
        return assembly.decoded()

    def _with_losses(self, turn: Turn) -> Turn:
        if self._content is not None and self._content.fault:
            self._lost.append(self._content.fault)
        if self._tape.end is ExchangeEnd.NOT_STORED and self._tape.message:
            self._lost.append(self._tape.message)
        dropped = self._tape.answer_lost
        if dropped:
            self._lost.append(
                f"The answer arrived faster than the recorder could read it: {dropped} bytes were dropped."
            )
        too_long = self._left < 0
        if too_long:
            self._lost.append(f"Only {self._context.max_answer_bytes} bytes of an answer are kept; this one is longer.")
        has_much_text = self._text_left < 0
        if has_much_text:
            self._lost.append(f"Only {MAX_ANSWER_TEXT:,} characters of an answer are kept; this one has more.")
        return with_losses(turn, self._lost, is_gap=bool(dropped) or too_long or has_much_text)

    def _facts(self, turn: Turn, faults: dict[str, int]) -> ExchangeFacts:
        head, tape, generation = self._tape.head, self._tape, turn.generation or Generation()
        words = [part.chunks for part in turn.parts if part.chunks and not part.name.startswith(WIRE_PREFIX)]
        return ExchangeFacts(
            head.method,
            self._context.redactor.url(head.target),
            tape.end or ExchangeEnd.NOT_STORED,
            key=self._assignment.key,
            turn=self._turn,
            model=generation.answered_model or generation.requested_model,
            status=tape.status,
            first_token_s=_first_token_s(generation),
            duration_s=tape.duration_s,
            output_tokens=generation.usage.output_tokens,
            chunks=sum(map(len, words)),
            faults=faults,
        )

    def _read(self, read: Callable[[LiveParser], None]) -> None:
        """Continue the live reading; if third-party code fails in it, it stops, and the recording goes on."""
        if self._reading is None:
            return
        try:
            read(self._reading)
        except Exception as error:  # noqa: BLE001  # formats may be plug-ins; the error is reported
            self._reading = None
            self._context.sink.trouble("A running answer could not be checked for faults", error)


def _batches(chunks: list[Chunk]) -> Iterator[list[Chunk]]:
    """The chunks in lists of about `_LONG_CHUNK` code points, nearly always one."""
    batch: list[Chunk] = []
    size = 0
    for chunk in chunks:
        batch.append(chunk)
        size += len(chunk.text)
        if size >= _LONG_CHUNK:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _first_token_s(generation: Generation) -> float | None:
    if generation.started is None or generation.first_token is None:
        return None
    return generation.first_token.at_s - generation.started.at_s


class OtherExchange:
    """An exchange that is no request to a model, such as a list of models: kept with the next turn, for a replay."""

    def __init__(self, tape: ExchangeTape, context: RecorderContext, sent: bytes) -> None:
        content = ContentDecoder(header_of(tape.head.headers, "content-encoding"))
        request = content.feed(sent) + content.close()
        self._tape, self._context = tape, context
        self._is_small = len(request) <= _OTHER_BYTES
        self._draft = ExchangeDraft(tape, context.redactor, request, _OTHER_BYTES)
        self._content: ContentDecoder | None = None

    def arrive(self, pieces: Sequence[Piece]) -> None:
        """Pieces of the answer's body."""
        if self._content is None and self._tape.status is not None:
            encoding = header_of(self._tape.headers, "content-encoding")
            self._content = ContentDecoder(encoding, max_bytes=_OTHER_BYTES)
        if self._content is not None:
            self._draft.arrive([(self._content.feed(raw), at_s) for raw, at_s in pieces])

    def end(self) -> None:
        """The exchange ended."""
        if self._content is not None:
            self._draft.arrive([(self._content.close(), self._tape.ended_at_s)])
        if self._is_small:
            self._context.other_exchanges.append(self._draft.exchange())


class ExchangeRecording:
    """Processes one exchange. `is_unrecorded`: it gets no turn, as it is no request to a model, or recording failed."""

    def __init__(self, tape: ExchangeTape, context: RecorderContext) -> None:
        self._tape, self._context = tape, context
        self.is_unrecorded = False
        self._answer: AnswerRecording | None = None
        self._other: OtherExchange | None = None
        self._request_id = ""

    def place_request(self, *, at_end: bool = False) -> None:
        """Read the request, if it is complete, and place it in a trace; `at_end`: no more of it will come."""
        if self._answer is not None or self.is_unrecorded:
            return
        tape = self._tape
        sent = b"".join(tape.request)
        model_request = read_request_info(tape.head, sent, lost_bytes=tape.request_lost)
        is_cut = model_request is None or (model_request.json is None and not tape.request_lost)
        if is_cut and not (at_end or tape.has_whole_request):
            return
        tape.request = []
        if model_request is None:
            self.is_unrecorded = True
            self._other = OtherExchange(tape, self._context, sent)
            return
        assignment = self._context.resolver.assign(
            tape.head, model_request.request, model_request.body, model_request.json, self._context.so_far
        )
        answer = self._answer = AnswerRecording(tape, self._context, model_request, assignment)
        self._request_id = assignment.request_id
        self._context.answers[assignment.request_id] = lambda: self._so_far(answer)

    def begin_answer(self) -> None:
        """The answer's head came."""
        self.place_request()
        if self._answer is not None:
            self._answer.begin()

    def arrive(self) -> None:
        """Read the new pieces of the answer."""
        if self._answer is None and not self.is_unrecorded and self._tape.has_much:
            self.place_request(at_end=True)  # too much to hold while waiting for the end of the request
            self.begin_answer()
        if self._answer is not None:
            self._read(self._answer)
        elif self._other is not None:
            self._other.arrive(self._tape.take_answer())
        elif self.is_unrecorded:
            self._tape.take_answer()

    def end(self) -> None:
        """The exchange ended."""
        self.place_request(at_end=True)
        if self._answer is not None:
            self._answer.begin()
            self._read(self._answer)
            self._context.answers.pop(self._request_id, None)
            self._answer.end()
            return
        tape = self._tape
        if self._other is not None:
            self._other.arrive(tape.take_answer())
            self._other.end()
        target = self._context.redactor.url(tape.head.target)
        end = tape.end or ExchangeEnd.NOT_STORED
        facts = ExchangeFacts(tape.head.method, target, end, status=tape.status, duration_s=tape.duration_s)
        self._context.sink.exchange_ended(facts)

    def abandon(self) -> None:
        """Recording the exchange failed: record nothing more of it."""
        answer, self._answer = self._answer, None
        self.is_unrecorded = True
        self._other = None
        self._context.answers.pop(self._request_id, None)
        if answer is not None:
            answer.abandon()

    def _so_far(self, answer: AnswerRecording) -> Turn:
        answer.begin()
        self._read(answer)
        return answer.so_far()

    def _read(self, answer: AnswerRecording) -> None:
        pieces = self._tape.take_answer()
        for index in range(0, len(pieces), _AT_ONCE):
            answer.arrive(pieces[index : index + _AT_ONCE])


MAX_WAITING_BYTES = 256 << 20
"""The most bytes that may wait for the recorder's thread."""

_GATHER_S = 0.1
_TIDY_S = 30.0
_IDLE_S = 30 * 60.0


class Recorder:
    """Records exchanges of any provider; see `inspector.sessions.exchange.Observes`.

    `sink` takes the events; it is not closed, since others may share it. `redactor` removes secrets before anything
    reaches the sink or `watch`; the default also knows this process's secret variables, `NoRedaction` keeps all.
    `resolver` decides which requests belong to one trace. `watch` receives spans, faults and ended exchanges while they
    happen; without it, answers are not checked for faults. A trace ends when nothing happened to it for `idle_s`
    seconds, or when the recorder is closed. `format` is the format in which the server expects the model's calls, if
    the user names it.

    Bounds: 64 MiB of a request and `max_answer_bytes` of an answer are kept, and at most `max_waiting_bytes` wait for
    the thread. More is dropped from the recording only; `dropped_bytes` counts it, and the turn states it. `close`
    processes what is waiting and ends open exchanges. Methods are thread-safe; one thread at a time reports an
    exchange.
    """

    def __init__(
        self,
        sink: Sink,
        *,
        redactor: Redacts | None = None,
        resolver: SessionResolver | None = None,
        watch: RecordingObserver | None = None,
        idle_s: float = _IDLE_S,
        max_waiting_bytes: int = MAX_WAITING_BYTES,
        max_answer_bytes: int = MAX_BODY_BYTES,
        clock: Callable[[], float] = time.time,
        format: str = "",
    ) -> None:
        redacts = redactor or Redactor.of_environment()
        self._sink = GuardedSink(sink, watch, time.monotonic)
        traces = OpenTraces(self._sink, redacts, format)
        self._context = RecorderContext(resolver or SessionResolver(), traces, self._sink, redacts, max_answer_bytes)
        self._buffer = EventBuffer(max_waiting_bytes)
        self._running: dict[ExchangeTape, ExchangeRecording] = {}
        self._idle_s, self._clock = idle_s, clock
        self._tidy_s = min(_TIDY_S, idle_s)
        self._tidied_at_s = clock()
        self._reported_drops = (0, 0)
        self._unrecorded = 0
        self._own_process = OwnProcess()
        self._thread = Thread(target=self._run, name="weaklink-recorder", daemon=True)
        self._thread.start()

    @property
    def waiting_bytes(self) -> int:
        """About how many bytes are waiting for the thread."""
        return self._buffer.waiting_bytes

    @property
    def dropped_bytes(self) -> int:
        """How many bytes were dropped because too much was waiting."""
        return self._buffer.dropped_bytes

    @property
    def dropped_exchanges(self) -> int:
        """How many exchanges were not recorded at all because too much was waiting."""
        return self._buffer.dropped_exchanges

    @property
    def unrecorded_exchanges(self) -> int:
        """How many exchanges ended without a turn: they are no requests to a model, or recording them failed."""
        return self._unrecorded

    @property
    def refused_events(self) -> int:
        """How many events the sink refused."""
        return self._sink.refused

    @property
    def failures(self) -> int:
        """How often the sink, `watch` or a reader failed."""
        return self._sink.failed

    def began(self, head: RequestHead) -> ExchangeObserver:
        """An observer for an exchange that begins; one that keeps nothing once the recorder is closed.

        SinkError in a process that was forked from the recorder's.
        """
        self._own_process.check()
        return self._buffer.begin(head)

    def close(self) -> None:
        """Process everything that is waiting, and end open exchanges; returns when the sink has their events."""
        self._buffer.is_closed = True
        self._buffer.hurry()
        self._thread.join()

    def _run(self) -> None:
        while not self._buffer.is_closed:
            self._buffer.wait(_GATHER_S, self._tidy_s)
            self._process_waiting()
            self._tidy()
        self._process_waiting()
        for tape in tuple(self._running):
            tape.ended(ExchangeEnd.NOT_STORED, None, "The recorder was closed during the exchange.")
        self._process_waiting()
        self._context.traces.end_all()

    def _process_waiting(self) -> None:
        """Process everything that has happened so far."""
        events = self._buffer.events
        while events:
            what, tape = events.popleft()
            if what is ExchangeEvent.BEGAN:
                self._running[tape] = ExchangeRecording(tape, self._context)
            elif tape in self._running:
                self._process(what, tape, self._running[tape])
        for tape, recording in tuple(self._running.items()):
            self._process(None, tape, recording)
        self._report_drops()

    def _process(self, what: ExchangeEvent | None, tape: ExchangeTape, recording: ExchangeRecording) -> None:
        """Process what happened, or new bytes; if that fails, only this exchange is lost."""
        try:
            match what:
                case None:
                    recording.arrive()
                case ExchangeEvent.REQUEST_COMPLETE:
                    recording.place_request()
                case ExchangeEvent.ANSWER_BEGAN:
                    recording.begin_answer()
                case ExchangeEvent.ENDED:
                    recording.end()
        except Exception as error:  # noqa: BLE001  # all other recordings depend on this thread
            recording.abandon()
            self._sink.trouble("An exchange could not be recorded", error)
        if what is ExchangeEvent.ENDED:
            del self._running[tape]
            self._unrecorded += recording.is_unrecorded

    def _tidy(self) -> None:
        """Now and then, end the traces that have been idle for long."""
        now_s = self._clock()
        if now_s - self._tidied_at_s < self._tidy_s:
            return
        self._tidied_at_s = now_s
        for key in self._context.resolver.forget_idle(now_s - self._idle_s):
            self._context.traces.end(key)

    def _report_drops(self) -> None:
        dropped = self._buffer.dropped_exchanges, self._buffer.dropped_bytes
        if dropped != self._reported_drops:
            self._reported_drops = dropped
            more = f": {dropped[0]} exchanges and {dropped[1]} bytes of others were dropped so far"
            self._sink.trouble("Traffic arrives faster than it can be recorded", more=more)
