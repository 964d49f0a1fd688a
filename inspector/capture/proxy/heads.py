"""Headers on their way through: what belongs to one connection stays behind, all else goes on as it was written."""

from collections.abc import Iterable, Sequence

from inspector.capture.proxy.access import TOKEN_HEADER
from inspector.sessions.exchange import Headers

_HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""RFC 9110, 7.6.1, with the older ones of RFC 2616, 13.5.1; and those that `Connection` names."""

_OWN = frozenset({"host", "expect", TOKEN_HEADER.lower()})
"""Headers of a request that the proxy deals with: it answers `Expect` itself, since not every server does."""


def decoded(raw: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Names and values as text that gives the same bytes again: UTF-8, and escapes for what is none."""
    return tuple((_text(name), _text(value)) for name, value in raw)


def told(headers: Headers) -> Headers:
    """A request's headers as an observer is told of them: all but our token."""
    return tuple((name, value) for name, value in headers if name.lower() != TOKEN_HEADER.lower())


def forwarded(headers: Headers) -> list[tuple[str, str]]:
    """A request's headers as the upstream gets them."""
    dropped = _OWN | _HOP_BY_HOP | _named_by_connection(headers)
    return [(name, value) for name, value in headers if name.lower() not in dropped]


def answer_head(
    status: int, reason: str, headers: Headers, *, version: tuple[int, int], extra: Sequence[tuple[str, str]]
) -> bytes:
    """An answer's head as the client gets it: the upstream's, and `extra`, which says how this connection goes on."""
    dropped = _HOP_BY_HOP | _named_by_connection(headers)
    kept = ((name, value) for name, value in headers if name.lower() not in dropped)
    status_line = f"HTTP/{version[0]}.{version[1]} {status} {reason}"
    lines = [status_line, *(f"{name}: {value}" for name, value in (*kept, *extra))]
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape")


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _named_by_connection(headers: Headers) -> frozenset[str]:
    values = (value for name, value in headers if name.lower() == "connection")
    return frozenset(word.strip().lower() for value in values for word in value.split(","))
