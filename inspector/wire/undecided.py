"""An answer of which it must first be seen how it is framed, or which API it comes from.

It holds what came until the first bytes tell the framing, and, where the API is not known, until the first object is
there. Then all of it goes to the decoder that fits, each piece with its own time, and nothing is held any more.
"""

from collections.abc import Callable

from inspector.text import decode
from inspector.wire.decoder import Decoder, Framing, new_decoder
from inspector.wire.event_stream import DONE
from inspector.wire.events import WireEvent
from inspector.wire.json_array import JsonArrayDecoder
from inspector.wire.ndjson import NdjsonDecoder
from inspector.wire.reader import NewReader
from inspector.wire.sse import SseDecoder

_MAX_START = 64


class UndecidedDecoder:
    """Chooses a decoder and becomes it; never raises. Holds all of a body that came whole, else one object of it.

    `find_framing` takes the first bytes and gives the framing, None where it needs more; `find_reader` takes that and
    the first object, and says how the body is framed after all and who reads it. `new_reader` is given where the API is
    known.
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
        """Whether the body comes in pieces that mean something."""
        return self._decoder is None or self._decoder.streamed

    def feed(self, raw: bytes, at_s: float | None = None) -> list[WireEvent]:
        """What these bytes complete; nothing as long as it is not decided who reads them."""
        if self._decoder is not None:
            return self._decoder.feed(raw, at_s)
        self._held.append((raw, at_s))
        return self._hand_on() if self._is_decided(raw) else []

    def close(self) -> list[WireEvent]:
        """The end of the body, and what is wrong with it."""
        found: list[WireEvent] = []
        if self._decoder is None:
            framing = self._framing or self._find_framing(self._start + b" " * _MAX_START) or Framing.WHOLE
            if framing is Framing.LINES:
                framing = Framing.WHOLE  # no line ended: it is the only one
            self._decide(framing, self._last_text(framing))
            found = self._hand_on()
        assert self._decoder is not None
        return found + self._decoder.close()

    def _is_decided(self, raw: bytes) -> bool:
        """Whether these bytes settle who reads the answer."""
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
        """What the body says of its API now that it has ended."""
        if framing is Framing.WHOLE:
            return decode(b"".join(piece for piece, _ in self._held)).removeprefix("\ufeff")
        return ""

    def _decide(self, framing: Framing, text: str) -> None:
        new_reader = self._new_reader
        if new_reader is None:
            framing, new_reader = self._find_reader(framing, text)
        self._decoder = new_decoder(framing, new_reader, status=self._status)

    def _hand_on(self) -> list[WireEvent]:
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
