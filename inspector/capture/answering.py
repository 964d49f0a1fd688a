"""The answer to a placed request while it arrives: bytes to chunks for the sink, spans and faults for who watches."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from inspector.capture.arrivals import Piece, Tape
from inspector.capture.asked import ModelRequest
from inspector.capture.desk import RecorderContext
from inspector.capture.events import ChunksArrived, TurnEnded, TurnStarted
from inspector.capture.format_choice import FormatChoice
from inspector.capture.live_reading import LiveReading
from inspector.capture.losses import with_losses
from inspector.capture.watch import ExchangeFacts
from inspector.model import CallHeader, Chunk, Generation, Role, Turn
from inspector.sessions.book import Placement
from inspector.sessions.exchange import ExchangeEnd, header_of
from inspector.sessions.turns import answer_turn, begun_generation
from inspector.wire.assembly import DecodedTurn, TurnAssembly
from inspector.wire.content_encoding import ContentDecoder
from inspector.wire.decoder import Decoder
from inspector.wire.events import WIRE_PREFIX, CallNamed, PartGrew, WireEvent
from inspector.wire.providers import decoder_for


class Answering:
    """One turn of a trace, from the moment that its request has its place until the exchange ends.

    Chunks are told as they come; those of a body that came whole are none. The turn that ends it is assembled from all
    that came, and is the same however its bytes were cut, but for the times.
    """

    def __init__(self, tape: Tape, desk: RecorderContext, asked: ModelRequest, placement: Placement) -> None:
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
        begun = begun_generation(self._request, placement, started_s=self._started_s)
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
        """Read pieces of the answer's body."""
        decoder = self._decoder
        if decoder is None or not pieces:
            return
        if self._content is not None:
            pieces = [(self._content.feed(raw), at_s) for raw, at_s in pieces]
        if self._started_s is None:
            pieces = [(raw, None) for raw, _ in pieces]
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
        self._desk.book.answered(placement, replace(decoded, turn=turn))
        kept = self._desk.redactor.turn(turn)
        outlet.tell(TurnEnded(placement.key, self._turn, kept))
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
