"""One HTTP exchange with a model, as whoever saw it tells of it: a proxy, a client's transport, a log of flows."""

from typing import Protocol, TypeAlias

from msgspec import Struct

from inspector.model.exchange import ExchangeEnd

__all__ = ["Exchange", "ExchangeEnd", "ExchangeObserver", "Headers", "Observes", "RequestHead", "header_of"]

Headers: TypeAlias = tuple[tuple[str, str], ...]
"""Names and values in their order, names as they were sent; compared without case."""


def header_of(headers: Headers, name: str) -> str:
    """The value of the first header of that name, in lower case; `""` where there is none."""
    return next((value for key, value in headers if key.lower() == name), "")


class RequestHead(Struct, frozen=True):
    """What a request says before its body.

    `target` is the path with its query as the upstream gets it, `upstream` the address that is before it
    (`https://openrouter.ai/api`), `client` whoever asks, in words that stay the same for one client (an address, a
    process). `at_s` is seconds since 1970-01-01 UTC, None where nobody kept the time.
    """

    method: str
    target: str
    headers: Headers = ()
    upstream: str = ""
    client: str = ""
    at_s: float | None = None


class Exchange(Struct, frozen=True):
    """One exchange that is over, as a log has it.

    `body` is the request's, as it was sent, None where it was not kept. `status` and `headers` are the answer's,
    `answer` the pieces of its body as they were sent, each with its time; None where it was not kept. `message` is the
    error's own words. `record` says where in its source the exchange stands (`entry 3`). `first_s` is when the first of
    the answer's words came, for a log that kept that time but not the pieces.
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
    """Is told of one exchange while it happens; returns at once and never raises, whatever the bytes.

    All times are seconds since 1970-01-01 UTC of a clock that never goes back; None where nobody kept them.
    """

    def request_arrived(self, raw: bytes) -> None:
        """More of the request's body, as it was sent."""
        ...

    def answer_began(self, status: int, headers: Headers, at_s: float | None) -> None:
        """The answer's status and headers came. It may come before the whole request was sent."""
        ...

    def answer_arrived(self, raw: bytes, at_s: float | None) -> None:
        """More of the answer's body, as it was sent: still compressed, where it is."""
        ...

    def ended(self, end: ExchangeEnd, at_s: float | None, message: str = "") -> None:
        """Nothing follows; `message` is the error's own words. The last call of an exchange."""
        ...


class Observes(Protocol):
    """Takes note of exchanges."""

    def began(self, head: RequestHead) -> ExchangeObserver:
        """An exchange begins; who is told of it from now on."""
        ...
