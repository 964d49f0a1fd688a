"""What is kept of an exchange for a replay: bodies and their pieces, without secrets and content encoding.

The request and the answer are redacted as whole texts. A secret that a model writes piece by piece is not in one place
of the answer's bytes. So if the redacted turn differs from what the masked bytes decode to, the answer is not kept
(`withheld` is the reason), and a replay rebuilds it from the turn.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from urllib.parse import urlsplit

from msgspec.structs import replace

from weaklink.inspector.apis.providers import decoder_for, parse_request
from weaklink.inspector.capture.event_buffer import ExchangeTape, Piece
from weaklink.inspector.capture.redacting import Redacts
from weaklink.inspector.model import Trace, Turn
from weaklink.inspector.model.exchange import RecordedExchange, RecordedTrace
from weaklink.inspector.sessions.exchange import ExchangeEnd, header_of
from weaklink.inspector.wire.events import TurnAssembly

NO_CONTENT = "The recording was made with `--no-content`."
_SPREAD = "The answer contained a secret in several pieces; it is rebuilt from the redacted turn."
MAX_BODY_KEPT = 16 << 20
"""The most bytes of each body of an exchange that are kept for a replay; redaction searches a body in one piece."""

_INCOMPLETE = "There was more data than the recorder keeps."
_HEADERS = frozenset({"content-type", "x-should-retry", "request-id", "ratelimit"})
_HEADER_PREFIXES = ("retry-after", "ratelimit-")
_HEADER_PARTS = ("-ratelimit-", "-request-id")


def kept_headers(headers: Sequence[tuple[str, str]], redactor: Redacts) -> tuple[tuple[str, str], ...]:
    """The answer's headers that clients act on: content type, retries, request ids and rate limits."""
    return tuple((name.lower(), redactor.text(value)) for name, value in headers if _is_kept(name.lower()))


def _is_kept(name: str) -> bool:
    return name in _HEADERS or name.startswith(_HEADER_PREFIXES) or any(part in name for part in _HEADER_PARTS)


class ExchangeDraft:
    """One exchange while its answer arrives; holds at most `max_answer_bytes` of it, or `MAX_BODY_KEPT`."""

    def __init__(self, tape: ExchangeTape, redactor: Redacts, request: bytes, max_answer_bytes: int) -> None:
        self._tape, self._redactor, self._request = tape, redactor, request
        self._left = min(max_answer_bytes, MAX_BODY_KEPT)
        self._pieces: list[bytes] = []
        self._times: list[float | None] = []

    def arrive(self, pieces: Sequence[Piece]) -> None:
        """Pieces of the answer's body, without content encoding."""
        for raw, at_s in pieces:
            self._left -= len(raw)
            if self._left >= 0 and raw and self._redactor.keeps_content:
                self._pieces.append(raw)
                self._times.append(at_s)

    def exchange(self, number: int = 0, turn: Turn | None = None, kept: Turn | None = None) -> RecordedExchange:
        """The finished exchange; `number` is the number of its turn in the trace, `kept` is the redacted `turn`."""
        tape, redactor = self._tape, self._redactor
        began_s = tape.head.at_s
        path = redactor.url(urlsplit(tape.head.upstream).path.rstrip("/") + tape.head.target)
        headers = kept_headers(tape.headers, redactor)
        end, message = tape.end or ExchangeEnd.NOT_STORED, redactor.text(tape.message)
        facts = (tape.head.method, path, began_s, tape.status, headers)
        if not redactor.keeps_content:
            return RecordedExchange(
                *facts, request=None, answer=None, end=end, message=message, turn=number, withheld=NO_CONTENT
            )
        lost_request = bool(tape.request_lost) or len(self._request) > MAX_BODY_KEPT
        request = None if lost_request else masked_text(self._request, redactor)
        pieces = _masked(self._pieces, redactor)
        is_redacted = pieces != self._pieces
        withheld = _INCOMPLETE if lost_request or tape.answer_lost or self._left < 0 else ""
        if turn is not None and kept is not None and _texts(turn) != _texts(kept):
            is_redacted = True
            withheld = withheld or ("" if self._decodes_to(pieces, kept) else _SPREAD)
        return RecordedExchange(
            *facts,
            request=request,
            answer=None if withheld else b"".join(pieces),
            ends=() if withheld else tuple(accumulate(map(len, pieces))),
            offsets_s=() if withheld else tuple(_offset(at_s, began_s) for at_s in self._times),
            end=end,
            message=message,
            turn=number,
            is_redacted=is_redacted,
            withheld=withheld,
        )

    def _decodes_to(self, pieces: Sequence[bytes], kept: Turn) -> bool:
        """Whether these bytes of the answer decode to the texts of the redacted turn."""
        tape = self._tape
        kind = header_of(tape.headers, "content-type")
        decoder = decoder_for(tape.head.target, parse_request(self._request), kind, status=tape.status)
        events = [event for raw in pieces for event in decoder.feed(raw, None)] + decoder.close()
        assembly = TurnAssembly(decoder.api, streamed=decoder.streamed)
        assembly.extend(events)
        decoded_texts, expected = dict(_texts(assembly.decoded().turn)), dict(_texts(kept))
        return all(expected.get(name) == text for name, text in decoded_texts.items())


def masked_exchanges(recorded: RecordedTrace, kept: Trace, redactor: Redacts) -> tuple[RecordedExchange, ...]:
    """The exchanges of a trace that was read from a file, without secrets; `kept` is the redacted trace.

    An answer whose turn held secrets is not kept, since they may be spread over several of its pieces.
    """
    turns = zip(recorded.turns, kept.turns, strict=True)
    spread = {number for number, (turn, masked) in enumerate(turns, 1) if _texts(turn) != _texts(masked)}
    return tuple(
        _masked_exchange(exchange, redactor, is_spread=exchange.turn in spread) for exchange in recorded.exchanges
    )


def _masked_exchange(exchange: RecordedExchange, redactor: Redacts, *, is_spread: bool) -> RecordedExchange:
    headers = tuple((name, redactor.text(value)) for name, value in exchange.headers)
    exchange = replace(
        exchange, path=redactor.url(exchange.path), headers=headers, message=redactor.text(exchange.message)
    )
    if not redactor.keeps_content:
        return replace(exchange, request=None, answer=None, ends=(), offsets_s=(), withheld=NO_CONTENT)
    request = None if exchange.request is None else masked_text(exchange.request, redactor)
    if exchange.answer is None or is_spread:
        withheld, is_redacted = exchange.withheld or _SPREAD, exchange.is_redacted or is_spread
        return replace(
            exchange, request=request, answer=None, ends=(), offsets_s=(), withheld=withheld, is_redacted=is_redacted
        )
    before = list(exchange.pieces())
    pieces = _masked(before, redactor)
    ends = tuple(accumulate(map(len, pieces)))
    is_redacted = exchange.is_redacted or pieces != before
    return replace(exchange, request=request, answer=b"".join(pieces), ends=ends, is_redacted=is_redacted)


def _texts(turn: Turn) -> list[tuple[str, str]]:
    return [(part.name, part.text) for part in turn.parts]


def _offset(at_s: float | None, began_s: float | None) -> float | None:
    return None if at_s is None or began_s is None else round(at_s - began_s, 6)


def masked_text(raw: bytes, redactor: Redacts) -> bytes:
    """A body without secrets."""
    text = raw.decode("utf-8", "surrogateescape")
    masked = redactor.text(text)
    return raw if masked == text else masked.encode("utf-8", "surrogateescape")


def _masked(pieces: list[bytes], redactor: Redacts) -> list[bytes]:
    """The pieces without the secrets of the whole text; each piece ends after the same character as before."""
    raw = b"".join(pieces)
    text = raw.decode("utf-8", "surrogateescape")
    masked = redactor.text(text)
    return pieces if masked == text else list(_split(pieces, masked))


def _split(pieces: list[bytes], masked: str) -> Iterator[bytes]:
    """The masked text, which has as many characters as the text of the pieces, split like these."""
    position, rest = 0, b""
    for number, piece in enumerate(pieces, 1):
        rest += piece
        whole = rest if number == len(pieces) else rest[: _end_of_characters(rest)]
        count = len(whole.decode("utf-8", "surrogateescape"))
        yield masked[position : position + count].encode("utf-8", "surrogateescape")
        position, rest = position + count, rest[len(whole) :]


def _end_of_characters(raw: bytes) -> int:
    """The position after the last complete UTF-8 character."""
    for back in range(1, min(4, len(raw)) + 1):
        lead = raw[-back]
        if lead >> 6 != 0b10:
            needs = 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
            return len(raw) - back if needs > back else len(raw)
    return len(raw)
