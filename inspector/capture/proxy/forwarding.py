"""Forwards one request to its upstream and the answer back, piece by piece, and reports it to an observer.

Nothing is held back, and nothing is added: headers, framing and bytes are passed on unchanged, except for headers that
belong to one connection.
"""

import asyncio
import os
import socket
import struct
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto

import aiohttp
from aiohttp import ClientResponse, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from weaklink.inspector.capture.proxy import access as refusal
from weaklink.inspector.capture.proxy.access import TOKEN_HEADER, ProxyRefusal
from weaklink.inspector.capture.proxy.config import ProxyConfig, Upstream
from weaklink.inspector.capture.proxy.upstream_connections import connection_error, is_utf8, noticing_connection_end
from weaklink.inspector.sessions.exchange import ExchangeEnd, ExchangeObserver, Headers

_RESET = struct.pack("ii", 1, 0)
"""The value of SO_LINGER for no lingering, so that closing the socket sends a reset (POSIX)."""

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

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
"""Headers of one connection (RFC 9110, 7.6.1, and RFC 2616, 13.5.1); `Connection` may name others."""

_OWN = frozenset({"host", "expect", TOKEN_HEADER.lower()})
"""Request headers that the proxy handles itself: it answers `Expect`, since not every server does."""


class ResponseFraming(Enum):
    """How the client detects the end of the body."""

    NO_BODY = auto()
    LENGTH = auto()
    CHUNKED = auto()
    CLOSE = auto()


class ForwardedResponse(web.StreamResponse):
    """One answer; `prepare` sends the head, `pass_on` a piece, and `cut` ends it where the upstream broke off."""

    def __init__(self, request: web.BaseRequest, answer: ClientResponse, headers: Headers) -> None:
        super().__init__(status=answer.status, reason=answer.reason)
        self._framing = _framing(request, answer)
        self._stays_open = request.keep_alive and self._framing is not ResponseFraming.CLOSE
        self._head = answer_head(
            answer.status,
            answer.reason or "",
            headers,
            version=(request.version.major, request.version.minor),
            extra=self._connection_headers(request),
        )
        self._request = request
        self._to: AbstractStreamWriter | None = None
        self._is_cut = False

    @property
    def keep_alive(self) -> bool:
        """Whether the client's connection accepts another request afterwards."""
        return self._stays_open and not self._is_cut

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Send the head, once. Raises ConnectionResetError if the client has left."""
        if self._to is None:
            self._to = request.writer
            if request.transport is None or request.transport.is_closing():
                raise ConnectionResetError("The client disconnected before the answer began.")
            request.transport.write(self._head)
            if self._framing is ResponseFraming.CHUNKED:
                self._to.enable_chunking()
        return self._to

    async def pass_on(self, raw: bytes) -> None:
        """Send a piece of the body at once; waits while the client does not read. Raises ConnectionResetError."""
        assert self._to is not None
        if self._framing is not ResponseFraming.NO_BODY:
            await self._to.write(raw)

    async def write_eof(self, data: bytes = b"") -> None:
        """End the answer as the upstream did; does nothing after `cut`."""
        if self._to is not None and not self._is_cut and self._framing is ResponseFraming.CHUNKED:
            await self._to.write_eof(data)

    def cut(self) -> None:
        """Close the client's connection after what was sent, without the end of the body.

        If only the close marks the end, it has to be a reset: after a plain close the answer would look complete.
        """
        self._is_cut = True
        transport = self._request.transport
        if transport is None:
            return
        if self._framing is ResponseFraming.CLOSE and (raw_socket := transport.get_extra_info("socket")) is not None:
            raw_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        transport.close()

    def _connection_headers(self, request: web.BaseRequest) -> list[tuple[str, str]]:
        extra = [("Transfer-Encoding", "chunked")] if self._framing is ResponseFraming.CHUNKED else []
        if not self._stays_open:
            extra.append(("Connection", "close"))
        elif request.version < (1, 1):
            extra.append(("Connection", "keep-alive"))
        return extra


def _framing(request: web.BaseRequest, answer: ClientResponse) -> ResponseFraming:
    if request.method == "HEAD" or answer.status in {204, 304}:
        return ResponseFraming.NO_BODY
    if "chunked" in answer.headers.get("Transfer-Encoding", "").lower():
        return ResponseFraming.CHUNKED if request.version >= (1, 1) else ResponseFraming.CLOSE
    return ResponseFraming.LENGTH if "Content-Length" in answer.headers else ResponseFraming.CLOSE


@dataclass(slots=True)
class Forwarding:
    """One exchange; `target` is the raw path and query below the upstream's address, `sent` a body already read."""

    session: aiohttp.ClientSession
    config: ProxyConfig
    upstream: Upstream
    target: str
    request: web.BaseRequest
    headers: Headers
    observer: ExchangeObserver
    now: Callable[[], float]
    is_stopping: Callable[[], bool]
    sent: bytes | None = None
    refused: ProxyRefusal | None = None
    _is_too_large: bool = field(default=False, init=False)
    _has_read: bool = field(default=False, init=False)

    async def run(self) -> web.StreamResponse:
        """Forward the request and pass on its answer; the observer has its end when this returns or raises."""
        try:
            if self.refused is not None:
                return await self._refuse(ExchangeEnd.NOT_CONNECTED, self.refused)
            answer = await self._send()
            return await self._failed(answer) if isinstance(answer, Exception) else await self._answer(answer)
        except asyncio.CancelledError:
            if self.is_stopping():
                self._end(ExchangeEnd.NOT_STORED, "The proxy was stopped before the answer was complete.")
            else:
                self._end(ExchangeEnd.CLIENT_LEFT, "The client disconnected before the answer was complete.")
            raise

    async def _send(self) -> aiohttp.ClientResponse | Exception:
        headers = forwarded_headers(self.headers)
        empty = None if is_utf8(tuple(headers)) else b""  # see `RawRequest`
        try:
            return await self.session.request(
                self.request.method,
                URL(self.upstream.url + self.target, encoded=True),
                headers=headers,
                data=self._data() if self.request.body_exists else empty,
                allow_redirects=False,
            )
        except (aiohttp.ClientError, OSError) as exc:
            return exc

    def _data(self) -> AsyncIterator[bytes] | bytes:
        if self.sent is None:
            return self._body()
        self._has_read = True
        self.observer.request_arrived(self.sent)
        return self.sent

    async def _body(self) -> AsyncIterator[bytes]:
        self._has_read = True
        if self.request.headers.get("Expect", "").lower() == "100-continue" and self.request.transport is not None:
            self.request.transport.write(_CONTINUE)
        size_bytes = 0
        async for raw, _ in self.request.content.iter_chunks():
            if not raw:
                continue
            self.observer.request_arrived(raw)
            size_bytes += len(raw)
            if size_bytes > self.config.max_body_bytes:
                self._is_too_large = True
                raise ValueError("The body is above the limit.")  # aiohttp ends the request to the upstream
            yield raw

    async def _failed(self, fault: Exception) -> web.Response:
        if self.request.transport is None:
            end, answer = ExchangeEnd.CLIENT_LEFT, refusal.dropped(self.upstream.url, "the client disconnected first")
        else:
            end, answer = self._failure(fault)
        return await self._refuse(end, answer)

    async def _refuse(self, end: ExchangeEnd, answer: ProxyRefusal) -> web.Response:
        """Answer in place of the upstream; a request of which nothing was sent is read first, to be recorded."""
        if self.request.body_exists and not self._has_read:
            with suppress(aiohttp.ClientError, OSError, ValueError):
                data = self._data()
                if not isinstance(data, bytes):
                    async for _ in data:
                        pass
        self._end(end, answer.reason or answer.message)
        return answer.response(closes=not self.request.content.is_eof())

    def _failure(self, fault: Exception) -> tuple[ExchangeEnd, ProxyRefusal]:
        url = self.upstream.url
        if self._is_too_large:
            return ExchangeEnd.NOT_CONNECTED, refusal.too_large(self.config.max_body_bytes)
        match fault:
            case aiohttp.ConnectionTimeoutError():
                return ExchangeEnd.TIMED_OUT, refusal.connect_timed_out(url, self.config.connect_timeout_s)
            case TimeoutError():
                return ExchangeEnd.TIMED_OUT, refusal.read_timed_out(url, self.config.read_timeout_s or 0)
            case aiohttp.ClientConnectorError() | aiohttp.InvalidURL():
                return ExchangeEnd.NOT_CONNECTED, refusal.not_connected(url, describe_error(fault))
            case _:
                return ExchangeEnd.UPSTREAM_DROPPED, refusal.dropped(url, describe_error(fault))

    async def _answer(self, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        headers = decoded_headers(answer.raw_headers)
        self.observer.answer_began(answer.status, headers, self.now())
        passed_on = ForwardedResponse(self.request, answer, headers)
        try:
            await passed_on.prepare(self.request)
            fault = await self._stream(answer, passed_on)
        except ConnectionResetError:
            self._end(ExchangeEnd.CLIENT_LEFT, "The client disconnected before the answer was complete.")
            return passed_on
        finally:
            answer.close()  # no effect on a complete answer: its connection is back in the pool
        match fault:
            case None:
                self._end(ExchangeEnd.COMPLETE)
            case TimeoutError():
                self._end(ExchangeEnd.TIMED_OUT, f"The upstream sent nothing for {self.config.read_timeout_s:g} s.")
            case _:
                self._end(ExchangeEnd.UPSTREAM_DROPPED, f"The upstream truncated its answer ({describe_error(fault)}).")
        return passed_on

    async def _stream(self, answer: aiohttp.ClientResponse, to: ForwardedResponse) -> Exception | None:
        """Pass on piece by piece; returns the upstream's error, if any. ConnectionResetError if the client left."""
        content, arrived, now = answer.content, self.observer.answer_arrived, self.now
        fault: Exception | None = None
        with noticing_connection_end(answer) as protocol:
            while fault is None:
                try:
                    raw, ends_chunk = await content.readchunk()
                except (aiohttp.ClientError, HttpProcessingError, OSError) as exc:
                    fault = exc
                    # Data that came with the end of the connection: every public method raises the error again.
                    raw, ends_chunk = content._read_nowait(-1), True  # noqa: SLF001  # see above
                if raw:
                    arrived(raw, now())
                    await to.pass_on(raw)
                elif not ends_chunk or content.at_eof():  # at_eof for a response without a body, such as 204
                    fault = connection_error(protocol)
                    break
        if fault is not None:
            to.cut()
        return fault

    def _end(self, end: ExchangeEnd, message: str = "") -> None:
        self.observer.ended(end, self.now(), message)


def describe_error(fault: BaseException) -> str:
    """An error in few words, without the request's target: aiohttp quotes it, and it may contain a key."""
    match fault:
        case aiohttp.ClientConnectorError():
            return _os_error_words(fault.os_error)
        case aiohttp.ServerDisconnectedError():
            return "it closed the connection"
        case aiohttp.ClientPayloadError():
            return "the connection ended within the body"
        case aiohttp.ClientResponseError() | HttpProcessingError():
            return "what it sent is not valid HTTP"
        case OSError(strerror=str(words)):
            return words.lower()
        case _:
            return "the connection failed"


def _os_error_words(error: OSError) -> str:
    """The system's words for an error, such as `connection refused`; asyncio's own repeat the address."""
    if isinstance(error, socket.gaierror) or not error.errno:
        return (error.strerror or str(error)).rstrip(".").lower()
    return os.strerror(error.errno).lower()


def decoded_headers(raw: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Names and values as text that encodes to the same bytes: UTF-8, with surrogate escapes for other bytes."""
    return tuple((_text(name), _text(value)) for name, value in raw)


def observed_headers(headers: Headers) -> Headers:
    """A request's headers for an observer: all but our token."""
    return tuple((name, value) for name, value in headers if name.lower() != TOKEN_HEADER.lower())


def forwarded_headers(headers: Headers) -> list[tuple[str, str]]:
    """A request's headers for the upstream."""
    dropped = _OWN | _HOP_BY_HOP | _named_by_connection(headers)
    return [(name, value) for name, value in headers if name.lower() not in dropped]


def answer_head(
    status: int, reason: str, headers: Headers, *, version: tuple[int, int], extra: Sequence[tuple[str, str]]
) -> bytes:
    """An answer's head for the client: the upstream's headers, and `extra`, the headers for this connection."""
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
