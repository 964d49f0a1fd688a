"""Recorded exchanges as lines of a trace file, which the database stores too; repeated requests are kept once.

The requests of a session repeat its history: each is the one before with something added in its middle. A line
therefore holds how many bytes its request shares with the beginning and the end of the previous request, and the bytes
between them. Reading needs the lines of one trace in their order; a request whose previous one is missing is lost
(`withheld` says so), as is every request that builds on it.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator

import msgspec

from inspector.model.exchange import ExchangeEnd, RecordedExchange

_LOST = "The request is not readable: the exchange that it builds on is missing."
_SMALLEST_SHARE = 64  # bytes; below it a request is written whole


class BodyLine(msgspec.Struct, omit_defaults=True):
    """Bytes as text, or in base64 where they are not UTF-8."""

    text: str = ""
    base64: str = ""


class ExchangeLine(msgspec.Struct, omit_defaults=True):
    """See `RecordedExchange`; `number` counts the exchanges of a trace from 1.

    `request` is what follows the first `prefix` bytes, and precedes the last `suffix` bytes, of the request of
    exchange `base`; 0 where it is whole.
    """

    number: int
    method: str
    path: str
    began_s: float | None = None
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    request: BodyLine | None = None
    base: int = 0
    prefix: int = 0
    suffix: int = 0
    answer: BodyLine | None = None
    ends: tuple[int, ...] = ()
    offsets_s: tuple[float | None, ...] = ()
    end: ExchangeEnd = ExchangeEnd.COMPLETE
    message: str = ""
    turn: int = 0
    is_redacted: bool = False
    withheld: str = ""


class ExchangePacker:
    """Makes the lines of one trace's exchanges, in order; holds the last request."""

    def __init__(self) -> None:
        self._number = 0
        self._base = 0
        self._last = b""

    def line(self, exchange: RecordedExchange) -> ExchangeLine:
        """The next line."""
        self._number += 1
        request, base, prefix, suffix = exchange.request, 0, 0, 0
        if request is not None:
            prefix, suffix = _shared(self._last, request)
            if prefix + suffix < _SMALLEST_SHARE:
                prefix = suffix = 0
            else:
                base = self._base
            self._last, self._base = request, self._number
        return ExchangeLine(
            self._number,
            exchange.method,
            exchange.path,
            exchange.began_s,
            exchange.status,
            exchange.headers,
            None if request is None else _body(request[prefix : len(request) - suffix]),
            base,
            prefix,
            suffix,
            None if exchange.answer is None else _body(exchange.answer),
            exchange.ends,
            exchange.offsets_s,
            exchange.end,
            exchange.message,
            exchange.turn,
            exchange.is_redacted,
            exchange.withheld,
        )

    def forget(self) -> None:
        """Write the next request whole: the lines so far are lost."""
        self._last, self._base = b"", 0


def exchanges_of(lines: Iterable[ExchangeLine]) -> Iterator[RecordedExchange]:
    """The exchanges of one trace, from its lines in order. ValueError for a line that no packer made."""
    number, last = 0, b""
    for line in lines:
        request = None if line.request is None else _bytes(line.request)
        withheld = line.withheld
        if request is not None and line.base:
            if line.base == number and line.prefix + line.suffix <= len(last):
                request = last[: line.prefix] + request + last[len(last) - line.suffix :]
            else:
                request, withheld = None, _LOST
        if line.request is not None:
            number, last = (line.number, request) if request is not None else (0, b"")
        answer = None if line.answer is None else _bytes(line.answer)
        if any(end < before for before, end in zip((0, *line.ends), line.ends, strict=False)) or (
            line.ends and line.ends[-1] != len(answer or b"")
        ):
            raise ValueError("the ends of the pieces do not ascend to the length of the answer")
        yield RecordedExchange(
            line.method,
            line.path,
            line.began_s,
            line.status,
            line.headers,
            request,
            answer,
            line.ends,
            line.offsets_s,
            line.end,
            line.message,
            line.turn,
            line.is_redacted,
            withheld,
        )


def _shared(before: bytes, after: bytes) -> tuple[int, int]:
    """How many bytes two texts share at their beginning, and then at their end."""
    most = min(len(before), len(after))
    prefix = _common(before, after, most)
    suffix = _common(before[::-1], after[::-1], most - prefix) if prefix < most else 0
    return prefix, suffix


def _common(one: bytes, other: bytes, most: int) -> int:
    """The length of the common beginning, at most `most`; compares blocks, so that it costs little."""
    at, step = 0, 1 << 16
    while step:
        while at + step <= most and one[at : at + step] == other[at : at + step]:
            at += step
        step >>= 1
    return at


def _body(raw: bytes) -> BodyLine:
    try:
        return BodyLine(raw.decode())
    except UnicodeDecodeError:
        return BodyLine(base64=b64encode(raw).decode())


def _bytes(line: BodyLine) -> bytes:
    return b64decode(line.base64, validate=True) if line.base64 else line.text.encode()
