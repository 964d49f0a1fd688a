"""What every decoder of answers offers, and the decoders by the framing of the body."""

from collections.abc import Iterable
from enum import Enum
from typing import Protocol

from inspector.wire.assembly import DecodedTurn, TurnAssembly
from inspector.wire.event_stream import EventStreamDecoder
from inspector.wire.events import WireEvent
from inspector.wire.json_array import JsonArrayDecoder
from inspector.wire.json_stream import JsonStreamDecoder
from inspector.wire.ndjson import NdjsonDecoder
from inspector.wire.reader import NewReader
from inspector.wire.whole_body import WholeBodyDecoder


class Decoder(Protocol):
    """Decodes one answer, streamed or whole; never raises, whatever the bytes.

    Where the bytes are cut does not matter, but for `at_s`, the time of their arrival on any clock, which goes to the
    text that ends with them.
    """

    @property
    def api(self) -> str:
        """The kind of endpoint that the answer comes from; `""` until it is known, which it is before any event."""
        ...

    @property
    def streamed(self) -> bool:
        """Whether the body comes in pieces that mean something; a whole body has no chunks."""
        ...

    def feed(self, raw: bytes, at_s: float | None = None) -> list[WireEvent]:
        """What these bytes complete."""
        ...

    def close(self) -> list[WireEvent]:
        """The end of the body, and what is wrong with it."""
        ...


class Framing(Enum):
    """How the JSON objects of an answer follow one another."""

    EVENTS = "server-sent events"
    LINES = "lines of JSON"
    ARRAY = "the elements of a JSON array"
    WHOLE = "one JSON text"


def new_decoder(framing: Framing, new_reader: NewReader, *, status: int | None = None) -> Decoder:
    """A decoder of answers that come framed like this, of HTTP status `status`, from the API of this reader."""
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
    """A whole answer from its pieces, each with its time on any clock, or None; the generation began at `started_s`."""
    found = [event for at_s, raw in arrivals for event in decoder.feed(raw, at_s)]
    found += decoder.close()
    assembly = TurnAssembly(decoder.api, started_s=started_s, streamed=decoder.streamed)
    assembly.extend(found)
    return assembly.decoded()
