"""Connections to upstreams: what aiohttp 3.14 does not do by itself.

The head of an answer is delivered before a body that arrived with it; request headers are sent byte for byte; and the
reader of a body gets an error if its connection ended uncleanly.
"""

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from weakref import WeakSet

import aiohttp
from aiohttp import ClientOSError, ClientResponse
from aiohttp.abc import AbstractStreamWriter
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader

from weaklink.inspector.sessions.exchange import Headers

_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_MAX_TERMINATOR_BYTES = 4
_RETRIEVED: "WeakSet[asyncio.Future[None]]" = WeakSet()


class HeadFirstConnector(aiohttp.TCPConnector):
    """aiohttp's connector with `HeadFirstHandler` as its protocol."""

    def __init__(self, *, keepalive_timeout: float) -> None:
        super().__init__(limit=0, limit_per_host=0, keepalive_timeout=keepalive_timeout)
        handler: type[ResponseHandler] = HeadFirstHandler
        self._factory = partial(handler, loop=asyncio.get_running_loop())


class HeadFirstHandler(ResponseHandler):
    """Feeds heads to the parser separately; where a stream is split makes no difference to what it parses."""

    _last = b""
    _before: StreamReader | None = None

    def set_response_params(self, **params: Any) -> None:
        """A request is about to be sent, so a head comes next."""
        self._before, self._last = self._payload, b""
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """Pass received bytes to the parser."""
        while self._awaits_head and (end := self._end_of_head(data)) is not None:
            head, data = data[:end], data[end:]
            super().data_received(head)
            self._last = b""
            if not data:
                return
        super().data_received(data)

    @property
    def _awaits_head(self) -> bool:
        """Whether no body has begun since the request was sent; heads of status 1xx come before the last head."""
        return self._payload in (None, EMPTY_PAYLOAD, self._before)

    def _end_of_head(self, data: bytes) -> int | None:
        """Where in `data` a head ends that may have begun in earlier data; None if none ends."""
        before = self._last
        match = _END_OF_HEAD.search(before + data)
        self._last = (before + data)[1 - _MAX_TERMINATOR_BYTES :]
        return max(match.end() - len(before), 0) if match is not None else None


def is_utf8(headers: Headers) -> bool:
    """Whether all headers are valid UTF-8; they contain other bytes as lone surrogates."""
    return not any("\udc80" <= sign <= "\udcff" for name, value in headers for sign in name + value)


class RawRequest(aiohttp.ClientRequest):
    """aiohttp's request, which writes its own head if headers are not UTF-8.

    Such a request must have a body, even if empty: only then is the head still unsent when `write_bytes` is called.
    """

    async def write_bytes(
        self, writer: AbstractStreamWriter, conn: Connection, content_length: int | None = None
    ) -> None:
        """Send head and body."""
        written: bytes | None = getattr(writer, "_headers_buf", None)  # aiohttp has checked it for control characters
        headers = tuple(self.headers.items())
        if written is not None and not is_utf8(headers):
            lines = [
                f"{name}: {value}".encode("utf-8", "surrogateescape") for name, value in headers if self._is_sent(name)
            ]
            writer._headers_buf = b"\r\n".join([written.partition(b"\r\n")[0], *lines, b"", b""])  # type: ignore[attr-defined]  # noqa: SLF001  # no public API
        await super().write_bytes(writer, conn, content_length)

    def _is_sent(self, name: str) -> bool:
        """Whether a header is sent: all but the length of the empty body that was added to a request without one."""
        return not (self.method in self.GET_METHODS and name.lower() == "content-length" and self.headers[name] == "0")


@contextmanager
def noticing_connection_end(answer: ClientResponse) -> Iterator[ResponseHandler | None]:
    """While this is entered, reading the answer's body fails if its connection failed; yields that connection."""
    protocol = answer.connection.protocol if answer.connection is not None else None
    closed = protocol.closed if protocol is not None else None
    if protocol is None or closed is None:
        yield protocol
        return

    def report_failure(_: "asyncio.Future[None]") -> None:
        fault = protocol.exception()
        if isinstance(fault, HttpProcessingError) and not answer.content.is_eof() and not answer.content.exception():
            answer.content.set_exception(fault)

    if closed not in _RETRIEVED:  # otherwise asyncio warns that the exception was never retrieved
        _RETRIEVED.add(closed)
        closed.add_done_callback(lambda future: future.exception())
    closed.add_done_callback(report_failure)
    try:
        yield protocol
    finally:
        closed.remove_done_callback(report_failure)


def connection_error(protocol: ResponseHandler | None) -> ClientOSError | None:
    """The connection's error after an end that looked clean; None if there was none."""
    fault = protocol.exception() if protocol is not None else None
    return fault if isinstance(fault, ClientOSError) else None
