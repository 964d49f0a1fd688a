"""An upstream's answer on its way to the client, with exactly the upstream's head, framing and bytes.

aiohttp's own responses add headers (Date, Server, Content-Type) and always end cleanly; here nothing is added, and an
answer whose upstream broke off ends so that no client can take it for whole.
"""

import socket
import struct
from enum import Enum, auto

from aiohttp import ClientResponse, web
from aiohttp.abc import AbstractStreamWriter

from inspector.capture.proxy.heads import answer_head
from inspector.sessions.exchange import Headers

_RESET = struct.pack("ii", 1, 0)
"""Lingering for no time, by which closing sends a reset (POSIX; what Python's sockets offer for it)."""


class ResponseFraming(Enum):
    """How the client learns where the body ends."""

    NO_BODY = auto()
    LENGTH = auto()
    CHUNKED = auto()
    CLOSE = auto()


class PassedOn(web.StreamResponse):
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
        """Whether the client's connection takes another request afterwards."""
        return self._stays_open and not self._is_cut

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Send the head, once. Raises ConnectionResetError where the client has left."""
        if self._to is None:
            self._to = request.writer
            if request.transport is None or request.transport.is_closing():
                raise ConnectionResetError("The client left before the answer began.")
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
        """End the answer as the upstream did; nothing where it was cut."""
        if self._to is not None and not self._is_cut and self._framing is ResponseFraming.CHUNKED:
            await self._to.write_eof(data)

    def cut(self) -> None:
        """Close the client's connection after what was sent, without the end of the body.

        Where only the closing tells the end, it has to be a reset: a plain closing would be a whole answer.
        """
        self._is_cut = True
        transport = self._request.transport
        if transport is None:
            return
        if self._framing is ResponseFraming.CLOSE and (own := transport.get_extra_info("socket")) is not None:
            own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
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
