"""Decoders of answers by the framing of the body: event stream, JSON lines, JSON array, or one whole body.

If the framing or the API is not known yet, a decoder holds what came until the first bytes, or the first object,
decide; then all of it goes to the decoder that fits, each piece with its own time.
"""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Protocol

from weaklink.inspector.rules.recording import UNKNOWN_WIRE_EVENT
from weaklink.inspector.text import decode, incremental_decoder
from weaklink.inspector.wire.answer_reader import AnswerReader, NewReader
from weaklink.inspector.wire.events import (
    COMMENTS_PART,
    UNREAD_PART,
    DecodedTurn,
    FaultSeen,
    PartGrew,
    TurnAssembly,
    WireEvent,
)
from weaklink.inspector.wire.framing import (
    MAX_EVENT_LENGTH,
    MAX_TEXT_LENGTH,
    JsonArrayDecoder,
    JsonStreamDecoder,
    NdjsonDecoder,
    ServerSentEvent,
    SseDecoder,
)
from weaklink.inspector.wire.provider_json import parse_json

_MAX_START = 64
DONE = "[DONE]"
"""The data of the last event of a stream, in APIs that have such an event."""

_UNTYPED = frozenset({"", "message", "error"})


class Decoder(Protocol):
    """Decodes one answer, streamed or whole; never raises, whatever the bytes are.

    Where the bytes are split does not matter, except for `at_s`, the time of their arrival on any clock, which becomes
    the time of the text that ends with them.
    """

    @property
    def api(self) -> str:
        """The kind of endpoint that the answer comes from; `""` until it is known, which it is before any event."""
        ...

    @property
    def streamed(self) -> bool:
        """Whether the body comes in meaningful pieces; a whole body has no chunks."""
        ...

    def feed(self, raw: bytes, at_s: float | None = None) -> list[WireEvent]:
        """The events that these bytes complete."""
        ...

    def close(self) -> list[WireEvent]:
        """End the body; returns the last events, including those on what is wrong with the end."""
        ...


class Framing(Enum):
    """How the JSON objects of an answer follow one another."""

    EVENTS = "server-sent events"
    LINES = "lines of JSON"
    ARRAY = "the elements of a JSON array"
    WHOLE = "one JSON text"


def new_decoder(framing: Framing, new_reader: NewReader, *, status: int | None = None) -> Decoder:
    """A decoder for an answer with this framing and HTTP status, from the API of this reader."""
    match framing:
        case Framing.EVENTS:
            return EventStreamDecoder(new_reader(status=status))
        case Framing.LINES:
            return JsonStreamDecoder(new_reader(status=status), NdjsonDecoder())
        case Framing.ARRAY:
            return JsonStreamDecoder(new_reader(status=status), JsonArrayDecoder())
        case Framing.WHOLE:
            return WholeBodyDecoder(new_reader(status=status, whole=True), status=status)


def decode_answer(
    decoder: Decoder, arrivals: Iterable[tuple[float | None, bytes]], *, started_s: float = 0.0
) -> DecodedTurn:
    """Decode a whole answer from its pieces, each with its time on any clock or None; it began at `started_s`."""
    events = [event for at_s, raw in arrivals for event in decoder.feed(raw, at_s)]
    events += decoder.close()
    assembly = TurnAssembly(decoder.api, started_s=started_s, streamed=decoder.streamed)
    assembly.extend(events)
    return assembly.decoded()


class UndecidedDecoder:
    """Chooses a decoder and passes everything to it; never raises. Holds all of a whole body, else one object of it.

    `find_framing` takes the first bytes and returns the framing, None if it needs more. `find_reader` takes that and
    the first object, and returns the final framing and the reader. `new_reader` is given if the API is known.
    """

    def __init__(
        self,
        find_framing: Callable[[bytes], Framing | None],
        find_reader: Callable[[Framing, str], tuple[Framing, NewReader]],
        *,
        new_reader: NewReader | None = None,
        status: int | None = None,
    ) -> None:
        self._find_framing = find_framing
        self._find_reader = find_reader
        self._new_reader = new_reader
        self._status = status
        self._held: list[tuple[bytes, float | None]] = []
        self._start = b""
        self._framing: Framing | None = None
        self._probe: SseDecoder | NdjsonDecoder | JsonArrayDecoder | None = None
        self._decoder: Decoder | None = None

    @property
    def api(self) -> str:
        """The kind of endpoint, `""` until it is known."""
        return self._decoder.api if self._decoder else ""

    @property
    def streamed(self) -> bool:
        """Whether the body comes in meaningful pieces."""
        return self._decoder is None or self._decoder.streamed

    def feed(self, raw: bytes, at_s: float | None = None) -> list[WireEvent]:
        """The events that these bytes complete; none until the reader is chosen."""
        if self._decoder is not None:
            return self._decoder.feed(raw, at_s)
        self._held.append((raw, at_s))
        return self._pass_on() if self._is_decided(raw) else []

    def close(self) -> list[WireEvent]:
        """End the body; returns the last events, including those on what is wrong with the end."""
        wire_events: list[WireEvent] = []
        if self._decoder is None:
            framing = self._framing or self._find_framing(self._start + b" " * _MAX_START) or Framing.WHOLE
            if framing is Framing.LINES:
                framing = Framing.WHOLE  # no line ended: it is the only one
            self._decide(framing, self._last_text(framing))
            wire_events = self._pass_on()
        assert self._decoder is not None
        return wire_events + self._decoder.close()

    def _is_decided(self, raw: bytes) -> bool:
        """Whether these bytes determine the reader of the answer."""
        if self._framing is None:
            self._start = (self._start + raw.lstrip(b" \t\r\n") if not self._start else self._start + raw)[:_MAX_START]
            self._framing = self._find_framing(self._start)
            if self._framing is None:
                return False
            self._probe = _probe(self._framing)
            raw = b"".join(piece for piece, _ in self._held)
        if self._new_reader is not None:
            self._decide(self._framing, "")
            return True
        texts = _texts(self._probe, raw) if self._probe is not None else []
        if texts:
            self._decide(self._framing, texts[0])
        return bool(texts)

    def _last_text(self, framing: Framing) -> str:
        """The text that shows the API of a body that has ended."""
        is_read = framing is Framing.WHOLE and sum(len(piece) for piece, _ in self._held) <= MAX_TEXT_LENGTH
        return decode(b"".join(piece for piece, _ in self._held)).removeprefix("\ufeff") if is_read else ""

    def _decide(self, framing: Framing, text: str) -> None:
        new_reader = self._new_reader
        if new_reader is None:
            framing, new_reader = self._find_reader(framing, text)
        self._decoder = new_decoder(framing, new_reader, status=self._status)

    def _pass_on(self) -> list[WireEvent]:
        assert self._decoder is not None
        held, self._held = self._held, []
        return [event for raw, at_s in held for event in self._decoder.feed(raw, at_s)]


def _probe(framing: Framing) -> SseDecoder | NdjsonDecoder | JsonArrayDecoder | None:
    match framing:
        case Framing.EVENTS:
            return SseDecoder()
        case Framing.LINES:
            return NdjsonDecoder()
        case Framing.ARRAY:
            return JsonArrayDecoder()
        case Framing.WHOLE:
            return None


def _texts(probe: SseDecoder | NdjsonDecoder | JsonArrayDecoder, raw: bytes) -> list[str]:
    """The objects that end in these bytes."""
    if isinstance(probe, SseDecoder):
        return [event.data for event in probe.feed(raw) if event.data and event.data != DONE]
    return [text.text for text in probe.feed(raw) if text.text]


class EventStreamDecoder:
    """Decodes a streamed answer, whose events `reader` reads; never raises, whatever the bytes are.

    `feed` and `close` return wire events, to be shown at once or collected in a `TurnAssembly`. Where the bytes are
    split does not matter, except for `at_s`, the time of their arrival on any clock, which becomes the time of the text
    that ends with them. What it cannot read is kept word for word in the part `wire:unread`, comment lines in
    `wire:comments`. It holds back no more than one event of the stream.
    """

    __slots__ = ("_at_s", "_is_closing", "_is_cut", "_is_done", "_reader", "_sse")

    streamed = True

    def __init__(self, reader: AnswerReader) -> None:
        self._sse = SseDecoder()
        self._reader = reader
        self._is_done = self._is_cut = self._is_closing = False
        self._at_s: float | None = None

    @property
    def api(self) -> str:
        """The kind of endpoint that the answer comes from."""
        return self._reader.api

    def feed(self, raw: bytes, at_s: float | None = None) -> list[WireEvent]:
        """The events that these bytes complete."""
        self._at_s = at_s
        events: list[WireEvent] = []
        for event in self._sse.feed(raw):
            self._read_event(event, events)
        return events

    def close(self) -> list[WireEvent]:
        """End the stream; returns the last events, including those on what is wrong with the end."""
        events: list[WireEvent] = []
        self._is_closing = True
        for event in self._sse.close():
            self._read_event(event, events)
        self._reader.faults.end(self._reader.finish, events, aborted=self._aborted())
        return events

    def _read_event(self, event: ServerSentEvent, wire_events: list[WireEvent]) -> None:
        if event.comments:
            wire_events.append(PartGrew(COMMENTS_PART, "".join(f":{line}\n" for line in event.comments), self._at_s))
        text = "\n".join(event.strays) if event.data is None else event.data
        if text == DONE:
            self._is_done = True
        elif text:
            self._read_text(text, event, wire_events)
        elif event.event not in _UNTYPED:
            self._keep_unread(event.event, event, wire_events)
        if event.data is not None and event.strays:
            self._reader.faults.keep(event.raw, {"stray line": event.strays[0]}, self._at_s, wire_events)

    def _read_text(self, text: str, event: ServerSentEvent, wire_events: list[WireEvent]) -> None:
        if event.event == "error":
            self._reader.faults.read_error(text, event.raw, self._at_s, wire_events, certain=True)
        elif len(event.raw) >= MAX_EVENT_LENGTH or not self._reader.read(text, event.raw, self._at_s, wire_events):
            self._keep_unread(text, event, wire_events)

    def _keep_unread(self, text: str, event: ServerSentEvent, wire_events: list[WireEvent]) -> None:
        if event.complete:
            self._reader.faults.keep(event.raw, {f"event {event.event}": text}, self._at_s, wire_events)
        else:
            self._is_cut = self._is_cut or self._is_closing
            wire_events.append(PartGrew(UNREAD_PART, event.raw, self._at_s))
            if not self._is_closing:
                message = f"The event is longer than {MAX_EVENT_LENGTH:,} characters, so it was not decoded."
                wire_events.append(FaultSeen(UNREAD_PART, UNKNOWN_WIRE_EVENT, message, covers=len(event.raw)))

    def _aborted(self) -> str:
        if self._is_cut:
            return "The stream ended in the middle of an event."
        if self._is_done or self._reader.has_ended:
            return ""
        return self._reader.unended


class WholeBodyDecoder:
    """Decodes an answer, or an HTTP error, whose body is one JSON text; never raises.

    It holds the body until `close`. A body that is truncated, or no answer at all, is kept word for word in the part
    `wire:unread`, and so is one of more than `MAX_TEXT_LENGTH` bytes, which is not decoded. With `status` from 400 on
    it is an error, whatever it contains.
    """

    __slots__ = ("_pieces", "_reader", "_status")

    streamed = False

    def __init__(self, reader: AnswerReader, *, status: int | None = None) -> None:
        self._reader = reader
        self._status = status
        self._pieces: list[bytes] = []

    @property
    def api(self) -> str:
        """The kind of endpoint that the answer comes from."""
        return self._reader.api

    def feed(self, raw: bytes, at_s: float | None = None) -> list[WireEvent]:
        """Hold these bytes; there are no events before `close`."""
        self._pieces.append(raw)
        return []

    def close(self) -> list[WireEvent]:
        """The events of the whole answer, including those on what is wrong with it."""
        events: list[WireEvent] = []
        pieces, self._pieces = self._pieces, []
        if sum(map(len, pieces)) <= MAX_TEXT_LENGTH:
            read_whole(self._reader, decode(b"".join(pieces)), events, status=self._status)
            return events
        decoder, length = incremental_decoder(), 0
        for text in (*map(decoder.decode, pieces), decoder.decode(b"", True)):  # noqa: FBT003 - codecs takes `final` by place
            events.append(PartGrew(UNREAD_PART, text))
            length += len(text)
        message = f"The body is longer than {MAX_TEXT_LENGTH:,} bytes, so it was not decoded."
        events.append(FaultSeen(UNREAD_PART, UNKNOWN_WIRE_EVENT, message, covers=length))
        self._reader.faults.end(self._reader.finish, events, aborted="")
        return events


def read_whole(reader: AnswerReader, text: str, wire_events: list[WireEvent], *, status: int | None = None) -> None:
    """Append the events of a body that came whole."""
    aborted = ""
    faults = reader.faults
    if not reader.read(text.removeprefix("\ufeff"), text, None, wire_events):
        if status is not None and status >= 400:
            faults.fail(text, text, None, wire_events)
        elif aborted := _why_truncated(text):
            wire_events += [PartGrew(UNREAD_PART, text)] if text else []
        else:
            faults.keep(text, {"body": text.strip()}, None, wire_events)
    faults.end(reader.finish, wire_events, aborted=aborted)


def _why_truncated(text: str) -> str:
    """A sentence if a body looks truncated, `""` if it is something else altogether."""
    start = text.strip("\ufeff \t\r\n")[:1]
    if not start:
        return "The body is empty."
    if start not in "{[":
        return ""
    try:
        parse_json(text.removeprefix("\ufeff"))
    except ValueError:
        return "The body ended before the end of its JSON."
    return ""
