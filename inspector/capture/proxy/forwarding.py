"""One request on its way to its upstream and the answer on its way back, piece by piece, with an observer told of it.

Nothing is held: a request's body goes on while it arrives, an answer's pieces go on as the upstream cut them, and who
does not read slows down who sends. A client that leaves ends the request to the upstream at once (aiohttp cancels the
handler), and an upstream that breaks off breaks off the client's answer too.

A connection that is kept may be closed by the upstream in the moment in which the next request is sent on it. aiohttp
then sends anew what has no body and may run twice (GET, HEAD, ...); a POST may run already, so its client is told.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from inspector.capture.proxy import refusal
from inspector.capture.proxy.config import ProxyConfig, Upstream
from inspector.capture.proxy.heads import decoded, forwarded
from inspector.capture.proxy.passing_on import PassedOn
from inspector.capture.proxy.raw_request import is_utf8
from inspector.capture.proxy.refusal import Refusal
from inspector.capture.proxy.unread_end import told_of_its_end, unclean_end
from inspector.sessions.exchange import ExchangeEnd, ExchangeObserver, Headers

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


@dataclass(slots=True)
class Forwarding:
    """One exchange; `target` is the raw path with its query below the upstream's address."""

    session: aiohttp.ClientSession
    config: ProxyConfig
    upstream: Upstream
    target: str
    request: web.BaseRequest
    headers: Headers
    observer: ExchangeObserver
    now: Callable[[], float]
    is_stopping: Callable[[], bool]
    _is_too_large: bool = field(default=False, init=False)

    async def run(self) -> web.StreamResponse:
        """Forward the request and pass on its answer; the observer knows how it ended when this returns or raises."""
        try:
            answer = await self._ask()
            return self._refused(answer) if isinstance(answer, Exception) else await self._answer(answer)
        except asyncio.CancelledError:
            if self.is_stopping():
                self._end(ExchangeEnd.NOT_STORED, "The proxy was stopped before the answer was whole.")
            else:
                self._end(ExchangeEnd.CLIENT_LEFT, "The client left before the answer was whole.")
            raise

    async def _ask(self) -> aiohttp.ClientResponse | Exception:
        headers = forwarded(self.headers)
        empty = None if is_utf8(tuple(headers)) else b""  # see `RawRequest`
        try:
            return await self.session.request(
                self.request.method,
                URL(self.upstream.url + self.target, encoded=True),
                headers=headers,
                data=self._body() if self.request.body_exists else empty,
                allow_redirects=False,
            )
        except (aiohttp.ClientError, OSError) as exc:
            return exc

    async def _body(self) -> AsyncIterator[bytes]:
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
                raise ValueError("The body is above the bound.")  # aiohttp ends the request to the upstream
            yield raw

    def _refused(self, fault: Exception) -> web.Response:
        if self.request.transport is None:
            end, answer = ExchangeEnd.CLIENT_LEFT, refusal.dropped(self.upstream.url, "the client left first")
        else:
            end, answer = self._failure(fault)
        self._end(end, answer.message)
        return answer.response(closes=not self.request.content.is_eof())

    def _failure(self, fault: Exception) -> tuple[ExchangeEnd, Refusal]:
        url = self.upstream.url
        if self._is_too_large:
            return ExchangeEnd.NOT_CONNECTED, refusal.too_large(self.config.max_body_bytes)
        match fault:
            case aiohttp.ConnectionTimeoutError():
                return ExchangeEnd.TIMED_OUT, refusal.connect_timed_out(url, self.config.connect_timeout_s)
            case TimeoutError():
                return ExchangeEnd.TIMED_OUT, refusal.read_timed_out(url, self.config.read_timeout_s or 0)
            case aiohttp.ClientConnectorError() | aiohttp.InvalidURL():
                return ExchangeEnd.NOT_CONNECTED, refusal.not_connected(url, words_of(fault))
            case _:
                return ExchangeEnd.UPSTREAM_DROPPED, refusal.dropped(url, words_of(fault))

    async def _answer(self, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        headers = decoded(answer.raw_headers)
        self.observer.answer_began(answer.status, headers, self.now())
        passed_on = PassedOn(self.request, answer, headers)
        try:
            await passed_on.prepare(self.request)
            fault = await self._stream(answer, passed_on)
        except ConnectionResetError:
            self._end(ExchangeEnd.CLIENT_LEFT, "The client left before the answer was whole.")
            return passed_on
        finally:
            answer.close()  # nothing where the answer was whole: its connection is back in the pool
        match fault:
            case None:
                self._end(ExchangeEnd.COMPLETE)
            case TimeoutError():
                self._end(ExchangeEnd.TIMED_OUT, f"The upstream sent nothing for {self.config.read_timeout_s:g} s.")
            case _:
                self._end(ExchangeEnd.UPSTREAM_DROPPED, f"The upstream broke off its answer ({words_of(fault)}).")
        return passed_on

    async def _stream(self, answer: aiohttp.ClientResponse, to: PassedOn) -> Exception | None:
        """Pass on piece by piece; what broke it off, if anything did. Raises ConnectionResetError for the client."""
        content, arrived, now = answer.content, self.observer.answer_arrived, self.now
        fault: Exception | None = None
        with told_of_its_end(answer) as protocol:
            while fault is None:
                try:
                    raw, ends_chunk = await content.readchunk()
                except (aiohttp.ClientError, HttpProcessingError, OSError) as exc:
                    fault = exc
                    # What came with the end of the connection: every public way to it raises the error again.
                    raw, ends_chunk = content._read_nowait(-1), True  # noqa: SLF001  # see above
                if raw:
                    arrived(raw, now())
                    await to.pass_on(raw)
                elif not ends_chunk or content.at_eof():  # the second for a body that cannot be, as of 204
                    fault = unclean_end(protocol)
                    break
        if fault is not None:
            to.cut()
        return fault

    def _end(self, end: ExchangeEnd, message: str = "") -> None:
        self.observer.ended(end, self.now(), message)


def words_of(fault: BaseException) -> str:
    """An error in few words, without the request's target, which aiohttp quotes and which may hold a key."""
    match fault:
        case aiohttp.ClientConnectorError():
            return (fault.os_error.strerror or str(fault.os_error)).rstrip(".").lower()
        case aiohttp.ServerDisconnectedError():
            return "it closed the connection"
        case aiohttp.ClientPayloadError():
            return "the connection ended within the body"
        case aiohttp.ClientResponseError() | HttpProcessingError():
            return "what it sent is no valid HTTP"
        case OSError(strerror=str(words)):
            return words.lower()
        case _:
            return "the connection failed"
