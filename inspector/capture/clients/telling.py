"""One exchange of a client, told to an observer that cannot do it any harm."""

import os
from typing import Any

from inspector.capture.clock import now_s
from inspector.capture.mistakes import Mistakes, guarded_as
from inspector.sessions.exchange import ExchangeEnd, ExchangeObserver, Headers, Observes, RequestHead


class Telling:
    """Tells of one exchange: ends it only once, and notes what an observer raises.

    `request` is one of httpx's or httpx2's.
    """

    def __init__(self, observes: Observes, mistakes: Mistakes, request: Any) -> None:
        self._mistakes = mistakes
        self._observer: ExchangeObserver | None = None
        self._ended = False
        self._missing: int | None = None
        self._begin(observes, request)

    @property
    def mistakes(self) -> Mistakes:
        """What the observer raised."""
        return self._mistakes

    @guarded_as("record")
    def request_arrived(self, raw: bytes) -> None:
        """More of the request's body."""
        if self._observer is not None:
            self._observer.request_arrived(raw)

    @guarded_as("record")
    def answer_began(self, response: Any) -> None:
        """The answer's head is there."""
        headers = _headers(response)
        length = next((value for name, value in headers if name.lower() == "content-length"), "")
        self._missing = int(length) if length.isascii() and length.isdigit() else None
        if self._observer is not None:
            self._observer.answer_began(response.status_code, headers, now_s())

    @guarded_as("record")
    def answer_arrived(self, raw: bytes) -> None:
        """More of the answer's body, as it was sent."""
        if self._missing is not None:
            self._missing -= len(raw)
        if self._observer is not None and raw:
            self._observer.answer_arrived(raw, now_s())

    def completed(self) -> None:
        """The answer's body came to its end."""
        self._end(ExchangeEnd.COMPLETE)

    def closed(self) -> None:
        """The client wants no more, which is no loss where all had come."""
        self._end(ExchangeEnd.COMPLETE if self._missing == 0 else ExchangeEnd.CLIENT_LEFT)

    def failed(self, error: BaseException) -> None:
        """The request or its answer broke off."""
        self._end(_end_of(error), f"{type(error).__name__}: {error}".removesuffix(": "))

    @guarded_as("record")
    def _begin(self, observes: Observes, request: Any) -> None:
        url = request.url
        head = RequestHead(
            request.method,
            url.raw_path.decode("ascii", "surrogateescape"),
            _headers(request),
            f"{url.scheme}://{url.netloc.decode('ascii', 'surrogateescape')}",
            f"process {os.getpid()}",
            now_s(),
        )
        self._observer = observes.began(head)

    @guarded_as("record")
    def _end(self, end: ExchangeEnd, message: str = "") -> None:
        if self._ended or self._observer is None:
            return
        self._ended = True
        self._observer.ended(end, now_s(), message)


def _headers(message: Any) -> Headers:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in message.headers.raw)


# By the names of their classes, which httpx and httpx2 share; the first that fits.
_ENDS = (
    (frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol"}), ExchangeEnd.NOT_CONNECTED),
    (frozenset({"TimeoutException"}), ExchangeEnd.TIMED_OUT),
    (frozenset({"TransportError"}), ExchangeEnd.UPSTREAM_DROPPED),
)


def _end_of(error: BaseException) -> ExchangeEnd:
    names = {kind.__name__ for kind in type(error).__mro__}
    for fits, end in _ENDS:
        if fits & names:
            return end
    return ExchangeEnd.UPSTREAM_DROPPED if isinstance(error, Exception) else ExchangeEnd.CLIENT_LEFT
