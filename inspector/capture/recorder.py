"""Exchanges to record events, live: observers put down what they see, and one thread makes the record of it.

Neither an event loop nor a client waits for the record: an observer appends bytes to a list and returns. The thread
wakes soon after something came, takes up all that waits, in the order in which it happened over all exchanges, and
tells the sink; between two batches it rests, so that many small pieces cost little. A sink that fails, a watch that
fails and a format of a plug-in that fails are counted and reported, and the recording goes on. An exchange's bytes
become chunks for the sink, and spans and faults for an observer, while the answer arrives.
"""

import time
from collections.abc import Callable, Sequence
from threading import Thread

from msgspec import Struct, structs

from inspector.apis.providers import decoder_for, find_api, parse_request
from inspector.capture.event_buffer import EventBuffer, ExchangeEvent, ExchangeTape, Piece
from inspector.capture.events import (
    ChunksArrived,
    ExchangeFacts,
    RecordingObserver,
    Sink,
    TurnEnded,
    TurnStarted,
    with_losses,
)
from inspector.capture.exchange_record import ExchangeDraft
from inspector.capture.live_reading import FormatChoice, LiveReading
from inspector.capture.open_traces import GuardedSink, OpenTraces, RecorderContext
from inspector.capture.redacting import Redacts
from inspector.model import CallHeader, Chunk, Generation, Json, Role, Turn
from inspector.redaction.redactor import Redactor
from inspector.sessions.exchange import ExchangeEnd, ExchangeObserver, RequestHead, header_of
from inspector.sessions.gathering import answer_turn, request_of, started_generation
from inspector.sessions.resolver import Placement, SessionResolver
from inspector.wire.content_encoding import MAX_BODY_BYTES, ContentDecoder
from inspector.wire.decoder import Decoder
from inspector.wire.events import WIRE_PREFIX, CallNamed, DecodedRequest, DecodedTurn, PartGrew, TurnAssembly, WireEvent

_OTHER_BYTES = 1 << 20  # of each body of an exchange that asks no model
_AT_ONCE = 2_048  # pieces of one answer that are told together, where many waited


class ModelRequest(Struct, frozen=True):
    """A request to a model. `body` and `json` are what it was read from; `missing` says what of it was not kept."""

    request: DecodedRequest
    body: bytes = b""
    json: Json = None
    missing: str = ""


def read_request_info(head: RequestHead, sent: bytes, *, lost_bytes: int = 0) -> ModelRequest | None:
    """A request as it was sent, from its head and body; None where it asks no model for an answer.

    Without `lost_bytes` the body is whole. One that cannot be read, but goes where a model answers, is a request of
    which only the path is known. Never raises.
    """
    if lost_bytes:
        return _by_path(head, b"", f"The request's body was not kept: {lost_bytes} bytes of it were dropped.")
    content = ContentDecoder(header_of(head.headers, "content-encoding"))
    body = content.feed(sent) + content.close()
    json = parse_request(body)
    request = request_of(head, json)
    if request is not None:
        return ModelRequest(request, body, json, content.fault)
    return _by_path(head, body, content.fault or "The request's body is no JSON object.") if sent else None


def _by_path(head: RequestHead, body: bytes, missing: str) -> ModelRequest | None:
    api = find_api(head.target) if head.method.upper() == "POST" else ""
    return ModelRequest(DecodedRequest(api, "", ()), body, None, missing) if api else None


class AnswerRecording:
    """One turn of a trace, from the moment that its request has its place until the exchange ends.

    Chunks are told as they come; those of a body that came whole are none. The turn that ends it is assembled from all
    that came, and is the same however its bytes were cut, but for the times.
    """

    def __init__(self, tape: ExchangeTape, desk: RecorderContext, asked: ModelRequest, placement: Placement) -> None:
        self._tape, self._desk, self._placement = tape, desk, placement
        self._request, self._json = asked.request, asked.json
        self._lost = [asked.missing] if asked.missing else []
        self._trace = desk.traces.of(placement)
        self._trace.open_answers += 1
        self._turn = self._trace.next_turn()
        self._started_s = tape.head.at_s
        self._decoder: Decoder | None = None
        self._content: ContentDecoder | None = None
        self._assembly: TurnAssembly | None = None
        self._redacts = desk.redactor.new_turn(asked.request.tools)
        self._reading: LiveReading | None = None
        self._sequence = 0
        self._last_s: float | None = None
        self._left = desk.max_answer_bytes
        self._draft = ExchangeDraft(tape, desk.redactor, asked.body, desk.max_answer_bytes)
        begun = started_generation(self._request, placement, started_s=self._started_s)
        kept = desk.redactor.turn(Turn(Role.ASSISTANT, (), generation=begun))
        desk.outlet.tell(TurnStarted(placement.key, self._turn, Role.ASSISTANT, kept.generation))
        if desk.outlet.is_watched:
            self._reading = LiveReading(
                desk.outlet,
                placement.key,
                self._turn,
                choice=FormatChoice(self._request.model, self._trace.spoken),
                tools=self._trace.tools_for(kept.generation.tools if kept.generation else ()),
            )

    def begin(self) -> None:
        """The answer's head came, if ever it did."""
        tape = self._tape
        if self._decoder is not None or tape.status is None:
            return
        kind = header_of(tape.headers, "content-type")
        self._decoder = decoder_for(tape.head.target, self._json, kind, status=tape.status)
        self._json = None
        encoding = header_of(tape.headers, "content-encoding")
        if encoding.strip().lower() not in ("", "identity"):
            self._content = ContentDecoder(encoding, max_bytes=self._desk.max_answer_bytes)

    def arrive(self, pieces: Sequence[Piece]) -> None:
        """Read pieces of the answer's body; they may be seen before the note that its head came."""
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
        self._take(events)

    def so_far(self) -> Turn:
        """The answer as far as it was read."""
        assembly = self._assembly or TurnAssembly(self._request.api)
        return assembly.decoded().turn

    def end(self) -> None:
        """The exchange ended: the turn is whole, or as whole as it gets."""
        tape, placement, outlet = self._tape, self._placement, self._desk.outlet
        decoded = self._decoded()
        turn = answer_turn(
            self._request,
            decoded,
            tape.end or ExchangeEnd.NOT_STORED,
            placement=placement,
            started_s=self._started_s,
            ended_s=tape.ended_at_s,
            status=tape.status,
            message=tape.message,
        )
        turn = self._with_losses(turn)
        self._desk.book.answered(placement, structs.replace(decoded, turn=turn))
        kept = self._desk.redactor.turn(turn)
        exchange = self._draft.exchange(self._turn, turn, kept)
        others = tuple(self._desk.other_exchanges)
        self._desk.other_exchanges.clear()
        outlet.tell(TurnEnded(placement.key, self._turn, kept, (*others, exchange)))
        reading = self._reading
        self._read(lambda reading: reading.end(kept))
        if self._reading is not None:
            self._trace.spoken = self._reading.spoken or self._trace.spoken
        self._desk.traces.close_answer(placement.key)
        outlet.exchange_ended(self._facts(kept, dict(reading.faults) if reading is not None else {}))

    def abandon(self) -> None:
        """Recording it failed: its turn stays as it is, and its trace may end without it."""
        self._desk.traces.close_answer(self._placement.key)

    def _take(self, events: list[WireEvent]) -> None:
        """Put events together, and tell of the chunks among them."""
        decoder = self._decoder
        if decoder is None or not events:
            return
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
            for number, grew in enumerate([one for one in events if type(one) is PartGrew], sequence)
        ]
        if chunks:
            self._sequence = sequence + len(chunks)
            self._send(self._redacts.feed(chunks))
        if len(chunks) < len(events) and self._reading is not None:
            self._read_calls(events)

    def _send(self, chunks: tuple[Chunk, ...]) -> None:
        if chunks:
            self._desk.outlet.tell(ChunksArrived(self._placement.key, self._turn, chunks))
            self._read(lambda reading: reading.take(chunks))

    def _read_calls(self, events: Sequence[WireEvent]) -> None:
        calls = [
            CallHeader(event.part, event.name, event.id, event.custom) for event in events if type(event) is CallNamed
        ]
        kept = self._desk.redactor.turn(Turn(Role.ASSISTANT, (), calls=tuple(calls))).calls
        self._read(lambda reading: reading.begin_calls(kept))

    def _decoded(self) -> DecodedTurn:
        kept_none = self._tape.end is ExchangeEnd.NOT_STORED and self._left == self._desk.max_answer_bytes
        if self._decoder is None or kept_none:
            return TurnAssembly(self._request.api).decoded()
        if self._content is not None:
            last = self._content.close()
            if last:
                self._draft.arrive([(last, self._last_s)])
                self._take(self._decoder.feed(last, self._last_s))
        self._take(self._decoder.close())
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
            self._lost.append(f"More came than the recorder could read: {dropped} bytes of the answer were dropped.")
        too_long = self._left < 0
        if too_long:
            self._lost.append(f"Only {self._desk.max_answer_bytes} bytes of an answer are kept; this one is longer.")
        return with_losses(turn, self._lost, is_gap=bool(dropped) or too_long)

    def _facts(self, turn: Turn, faults: dict[str, int]) -> ExchangeFacts:
        head, tape, generation = self._tape.head, self._tape, turn.generation or Generation()
        words = [part.chunks for part in turn.parts if part.chunks and not part.name.startswith(WIRE_PREFIX)]
        return ExchangeFacts(
            head.method,
            self._desk.redactor.url(head.target),
            tape.end or ExchangeEnd.NOT_STORED,
            key=self._placement.key,
            turn=self._turn,
            model=generation.answered_model or generation.requested_model,
            status=tape.status,
            first_token_s=_first_token_s(generation),
            duration_s=tape.duration_s,
            output_tokens=generation.usage.output_tokens,
            chunks=sum(map(len, words)),
            faults=faults,
        )

    def _read(self, read: Callable[[LiveReading], None]) -> None:
        """Let the live reading go on; where foreign code fails in it, it is over, and the recording goes on."""
        if self._reading is None:
            return
        try:
            read(self._reading)
        except Exception as error:  # noqa: BLE001  # formats may be plug-ins; it is told
            self._reading = None
            self._desk.outlet.trouble("A running answer could not be read for faults", error)


def _first_token_s(generation: Generation) -> float | None:
    if generation.started is None or generation.first_token is None:
        return None
    return generation.first_token.at_s - generation.started.at_s


class OtherExchange:
    """An exchange that asks no model, such as a list of models: kept for a replay, with the next turn that ends."""

    def __init__(self, tape: ExchangeTape, desk: RecorderContext, sent: bytes) -> None:
        content = ContentDecoder(header_of(tape.head.headers, "content-encoding"))
        request = content.feed(sent) + content.close()
        self._tape, self._desk = tape, desk
        self._is_small = len(request) <= _OTHER_BYTES
        self._draft = ExchangeDraft(tape, desk.redactor, request, _OTHER_BYTES)
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
            self._desk.other_exchanges.append(self._draft.exchange())


class ExchangeRecording:
    """Takes up one exchange. `is_unrecorded`: it asks no model for an answer, or failed; nothing more of it is kept."""

    def __init__(self, tape: ExchangeTape, desk: RecorderContext) -> None:
        self._tape, self._desk = tape, desk
        self.is_unrecorded = False
        self._answer: AnswerRecording | None = None
        self._other: OtherExchange | None = None
        self._request_id = ""

    def ask(self, *, at_end: bool = False) -> None:
        """Read the request, if it is whole by now, and give it its place in a trace; `at_end` no more of it comes."""
        if self._answer is not None or self.is_unrecorded:
            return
        tape = self._tape
        sent = b"".join(tape.request)
        asked = read_request_info(tape.head, sent, lost_bytes=tape.request_lost)
        is_cut = asked is None or (asked.json is None and not tape.request_lost)
        if is_cut and not (at_end or tape.has_whole_request):
            return
        tape.request = []
        if asked is None:
            self.is_unrecorded = True
            self._other = OtherExchange(tape, self._desk, sent)
            return
        placement = self._desk.book.place(tape.head, asked.request, asked.body, asked.json, self._desk.so_far)
        answer = self._answer = AnswerRecording(tape, self._desk, asked, placement)
        self._request_id = placement.request_id
        self._desk.answers[placement.request_id] = lambda: self._so_far(answer)

    def begin_answer(self) -> None:
        """The answer's head came."""
        self.ask()
        if self._answer is not None:
            self._answer.begin()

    def arrive(self) -> None:
        """Read what arrived of the answer."""
        if self._answer is None and not self.is_unrecorded and self._tape.has_much:
            self.ask(at_end=True)  # so much is not held for a request that does not come to its end
            self.begin_answer()
        if self._answer is not None:
            self._read(self._answer)
        elif self._other is not None:
            self._other.arrive(self._tape.take_answer())
        elif self.is_unrecorded:
            self._tape.take_answer()

    def end(self) -> None:
        """The exchange ended."""
        self.ask(at_end=True)
        if self._answer is not None:
            self._answer.begin()
            self._read(self._answer)
            self._desk.answers.pop(self._request_id, None)
            self._answer.end()
            return
        tape = self._tape
        if self._other is not None:
            self._other.arrive(tape.take_answer())
            self._other.end()
        target = self._desk.redactor.url(tape.head.target)
        end = tape.end or ExchangeEnd.NOT_STORED
        facts = ExchangeFacts(tape.head.method, target, end, status=tape.status, duration_s=tape.duration_s)
        self._desk.outlet.exchange_ended(facts)

    def abandon(self) -> None:
        """Something in it failed: nothing more of the exchange is recorded."""
        answer, self._answer = self._answer, None
        self.is_unrecorded = True
        self._other = None
        self._desk.answers.pop(self._request_id, None)
        if answer is not None:
            answer.abandon()

    def _so_far(self, answer: AnswerRecording) -> Turn:
        answer.begin()
        self._read(answer)
        return answer.so_far()

    def _read(self, answer: AnswerRecording) -> None:
        pieces = self._tape.take_answer()
        for at in range(0, len(pieces), _AT_ONCE):
            answer.arrive(pieces[at : at + _AT_ONCE])


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
