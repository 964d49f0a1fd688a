"""One HTTP exchange with a model, as a proxy, a client's transport or a log of flows reports it."""

from typing import Protocol, TypeAlias

from msgspec import Struct

from weaklink.inspector.model.exchange import ExchangeEnd

__all__ = ["Exchange", "ExchangeEnd", "ExchangeObserver", "Headers", "Observes", "RequestHead", "header_of"]

Headers: TypeAlias = tuple[tuple[str, str], ...]
"""Names and values in their order, names as they were sent; to be compared without regard to case."""


def header_of(headers: Headers, name: str) -> str:
    """The value of the first header called `name`, which is in lower case; `""` if there is none."""
    return next((value for key, value in headers if key.lower() == name), "")


class RequestHead(Struct, frozen=True):
    """The part of a request before its body.

    `target` is the path with its query as the upstream gets it, `upstream` the address before it
    (`https://openrouter.ai/api`), `client` the sender, in words that stay the same for one client (an address, a
    process). `at_s` is seconds since 1970-01-01 UTC, None if the time is not known.
    """

    method: str
    target: str
    headers: Headers = ()
    upstream: str = ""
    client: str = ""
    at_s: float | None = None


class Exchange(Struct, frozen=True):
    """One finished exchange, as a log contains it.

    `body` is the request's, as it was sent, None if it was not kept. `status` and `headers` are the answer's, `answer`
    the pieces of its body as they were sent, each with its time; None if it was not kept. `message` is the text of the
    error. `record` is the position of the exchange in its source (`entry 3`). `first_s` is when the first text of the
    answer came, for a log that has that time but not the pieces.
    """

    head: RequestHead
    body: bytes | None
    status: int | None = None
    headers: Headers = ()
    answer: tuple[tuple[float | None, bytes], ...] | None = ()
    end: ExchangeEnd = ExchangeEnd.COMPLETE
    ended_s: float | None = None
    message: str = ""
    record: str = ""
    first_s: float | None = None


class ExchangeObserver(Protocol):
    """Observes one exchange while it happens; returns at once and never raises, whatever the bytes are.

    All times are seconds since 1970-01-01 UTC of a clock that never goes back; None if they are not known.
    """

    def request_arrived(self, raw: bytes) -> None:
        """More of the request's body, as it was sent."""
        ...

    def answer_began(self, status: int, headers: Headers, at_s: float | None) -> None:
        """The answer's status and headers came. It may come before the whole request was sent."""
        ...

    def answer_arrived(self, raw: bytes, at_s: float | None) -> None:
        """More of the answer's body, as it was sent; it may be compressed."""
        ...

    def ended(self, end: ExchangeEnd, at_s: float | None, message: str = "") -> None:
        """The exchange ended; `message` is the text of the error. The last call for an exchange."""
        ...


class Observes(Protocol):
    """Observes exchanges."""

    def began(self, head: RequestHead) -> ExchangeObserver:
        """An exchange begins; returns the observer for it."""
        ...
