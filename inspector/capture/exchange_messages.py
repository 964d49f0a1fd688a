"""The messages in which one process reports HTTP exchanges to another, whose recorder then observes them.

A batch of messages is a frame: four bytes with its length, then MessagePack. What the sender had to drop is reported
too, so that the recorder states it in the turn as if it had dropped the bytes itself. Texts of a request's head may
have lone surrogates, which stand for bytes that are not UTF-8; MessagePack has none, so such texts travel as bytes.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import TypeAlias, assert_never

import msgspec
from msgspec import Struct

from weaklink.inspector.capture.event_buffer import ExchangeTape
from weaklink.inspector.sessions.exchange import ExchangeEnd, ExchangeObserver, Headers, Observes, RequestHead

_LENGTH = struct.Struct("!I")
_RawHeaders: TypeAlias = tuple[tuple[bytes, bytes], ...]


class ExchangeBegan(Struct, frozen=True, array_like=True, tag=0):
    """Exchange `number` begins, with the fields of its `RequestHead`."""

    number: int
    method: bytes
    target: bytes
    headers: _RawHeaders
    upstream: str
    client: bytes
    at_s: float | None


class RequestArrived(Struct, frozen=True, array_like=True, tag=1):
    """More of a request's body."""

    number: int
    raw: bytes


class AnswerBegan(Struct, frozen=True, array_like=True, tag=2):
    """The answer's status and headers."""

    number: int
    status: int
    headers: _RawHeaders
    at_s: float | None


class AnswerArrived(Struct, frozen=True, array_like=True, tag=3):
    """More of the answer's body."""

    number: int
    raw: bytes
    at_s: float | None


class BytesDropped(Struct, frozen=True, array_like=True, tag=4):
    """The sender dropped so many bytes of the bodies; what arrives after them is dropped too."""

    number: int
    of_request: int
    of_answer: int


class ExchangeEnded(Struct, frozen=True, array_like=True, tag=5):
    """The exchange ended."""

    number: int
    end: ExchangeEnd
    at_s: float | None
    message: bytes


ExchangeMessage: TypeAlias = ExchangeBegan | RequestArrived | AnswerBegan | AnswerArrived | BytesDropped | ExchangeEnded

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[ExchangeMessage]).decode


def began_message(number: int, head: RequestHead) -> ExchangeBegan:
    """The message that an exchange begins."""
    headers = raw_headers(head.headers)
    return ExchangeBegan(
        number, raw_text(head.method), raw_text(head.target), headers, head.upstream, raw_text(head.client), head.at_s
    )


def raw_headers(headers: Headers) -> tuple[tuple[bytes, bytes], ...]:
    """Headers for a message."""
    return tuple((raw_text(name), raw_text(value)) for name, value in headers)


def raw_text(text: str) -> bytes:
    """A text for a message; `surrogatepass` keeps every lone surrogate."""
    return text.encode("utf-8", "surrogatepass")


def frame_of(messages: Sequence[ExchangeMessage]) -> bytes:
    """A batch of messages as bytes."""
    body = _encode(messages)
    return _LENGTH.pack(len(body)) + body


class MessageReader:
    """Takes the bytes of frames, in any pieces, and reports the exchanges in them to `observes`."""

    def __init__(self, observes: Observes) -> None:
        self._observes = observes
        self._observers: dict[int, ExchangeObserver] = {}
        self._unread = bytearray()

    def feed(self, piece: bytes) -> None:
        """Process the frames that are complete with this piece."""
        self._unread += piece
        for body in self._complete():
            for message in _decode(body):
                self._process(message)

    def _complete(self) -> Iterator[bytes]:
        start = 0
        unread = self._unread
        while len(unread) >= start + _LENGTH.size:
            (length,) = _LENGTH.unpack_from(unread, start)
            end = start + _LENGTH.size + length
            if len(unread) < end:
                break
            yield bytes(unread[start + _LENGTH.size : end])
            start = end
        del unread[:start]

    def _process(self, message: ExchangeMessage) -> None:
        if isinstance(message, ExchangeBegan):
            self._observers[message.number] = self._observes.began(_head(message))
            return
        observer = self._observers[message.number]
        match message:
            case RequestArrived():
                observer.request_arrived(message.raw)
            case AnswerBegan():
                observer.answer_began(message.status, _headers(message.headers), message.at_s)
            case AnswerArrived():
                observer.answer_arrived(message.raw, message.at_s)
            case BytesDropped():
                if isinstance(observer, ExchangeTape):
                    observer.dropped(of_request=message.of_request, of_answer=message.of_answer)
            case ExchangeEnded():
                del self._observers[message.number]
                observer.ended(message.end, message.at_s, _text(message.message))
            case _:
                assert_never(message)


def _head(message: ExchangeBegan) -> RequestHead:
    return RequestHead(
        _text(message.method),
        _text(message.target),
        _headers(message.headers),
        upstream=message.upstream,
        client=_text(message.client),
        at_s=message.at_s,
    )


def _headers(raw: _RawHeaders) -> Headers:
    return tuple((_text(name), _text(value)) for name, value in raw)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")
