"""One connection of the scripted upstream: requests are read and answered one after the other, as they are scripted."""

import asyncio
import socket
import struct
from dataclasses import dataclass, field
from typing import Protocol

from tests.capture.answer import Answer, Drop, Framing, Gap, Pause, Piece, Raw


@dataclass(slots=True)
class Received:
    """A request as it came: `head` the raw bytes up to the empty line, `body` without its framing."""

    head: bytes
    connection: int
    body: bytearray = field(default_factory=bytearray)
    chunks: list[bytes] = field(default_factory=list)
    is_whole: bool = False
    is_answered: bool = False
    left: bool = False

    @property
    def method(self) -> str:
        return self.head.split(b" ", 1)[0].decode()

    @property
    def target(self) -> str:
        return self.head.split(b" ", 2)[1].decode()

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Names and values in their order, as they were sent."""
        pairs = (line.split(":", 1) for line in self.head.decode("latin-1").split("\r\n")[1:] if line)
        return [(name, value.strip()) for name, value in pairs]

    def header(self, name: str) -> str | None:
        """The first value of a header, by its name without case."""
        return next((value for own, value in self.headers if own.lower() == name.lower()), None)


class Serves(Protocol):
    """The upstream, as its connections know it."""

    requests: list[Received]

    def opened(self, connection: "Connection") -> int: ...
    def closed(self, connection: "Connection") -> None: ...
    def changed(self) -> None: ...
    def choose(self, request: Received) -> Answer: ...
    def released(self, name: str) -> asyncio.Event: ...


class _GoneError(Exception):
    """The client left."""


class Connection(asyncio.Protocol):
    """One connection: requests are read and answered one after the other."""

    transport: asyncio.Transport

    def __init__(self, upstream: Serves) -> None:
        self._upstream = upstream
        self._buffer = bytearray()
        self._moved = asyncio.Event()
        self._may_write = asyncio.Event()
        self._gone = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._may_write.set()
        self._number = self._upstream.opened(self)
        self._task = asyncio.get_running_loop().create_task(self._serve())

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._moved.set()

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone.set()
        self._moved.set()
        self._may_write.set()
        self._upstream.closed(self)

    async def _serve(self) -> None:
        try:
            while True:
                head = await self._until(b"\r\n\r\n")
                request = Received(head, self._number)
                self._upstream.requests.append(request)
                self._upstream.changed()
                await self._exchange(request)
        except _GoneError:
            return

    async def _exchange(self, request: Received) -> None:
        try:
            if not (answer := self._upstream.choose(request)).early:
                await self._read_body(request)
                answer = self._upstream.choose(request)
            await self._answer(request, answer)
        except _GoneError:
            request.left = True
            self._upstream.changed()
            raise
        if answer.early or answer.framing is Framing.CLOSE:
            self.transport.close()
            raise _GoneError

    async def _read_body(self, request: Received) -> None:
        if (request.header("Expect") or "").lower() == "100-continue":
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if (request.header("Transfer-Encoding") or "").lower() == "chunked":
            while size := int(await self._until(b"\r\n"), 16):
                self._came(request, (await self._take(size + 2))[:-2])
            while await self._until(b"\r\n") != b"\r\n":
                pass
        else:
            left = int(request.header("Content-Length") or 0)
            while left:
                piece = await self._some(left)
                left -= len(piece)
                self._came(request, piece)
        request.is_whole = True
        self._upstream.changed()

    def _came(self, request: Received, piece: bytes) -> None:
        request.body += piece
        request.chunks.append(piece)
        self._upstream.changed()

    async def _answer(self, request: Received, answer: Answer) -> None:
        if not answer.bare:
            self.transport.write(answer.head())
        for piece in answer.pieces:
            await self._play(answer, piece)
        if answer.framing is Framing.CHUNKED and not answer.bare:
            await self._play(answer, Raw(b"0\r\n\r\n"))
        request.is_answered = True
        self._upstream.changed()

    async def _play(self, answer: Answer, piece: Piece) -> None:
        match piece:
            case bytes():
                self.transport.write(answer.framed(piece))
            case Raw(raw):
                self.transport.write(raw)
            case Pause(name):
                await self._first(self._upstream.released(name) if name else asyncio.Event())
            case Gap(seconds):
                await asyncio.sleep(seconds)
            case Drop(reset):
                if reset:  # what asyncio's abort does not send by itself
                    own = self.transport.get_extra_info("socket")
                    own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.transport.close()
                raise _GoneError
        await self._may_write.wait()
        if self._gone.is_set():
            raise _GoneError

    async def _first(self, event: asyncio.Event) -> None:
        """Wait for the event, or for the client to leave."""
        waits = [asyncio.ensure_future(closable.wait()) for closable in (event, self._gone)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waits:
                task.cancel()

    async def _until(self, end: bytes) -> bytes:
        while (position := self._buffer.find(end)) < 0:
            await self._more()
        return await self._take(position + len(end))

    async def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            await self._more()
        return await self._some(size)

    async def _some(self, at_most: int) -> bytes:
        while not self._buffer:
            await self._more()
        taken = bytes(self._buffer[:at_most])
        del self._buffer[:at_most]
        return taken

    async def _more(self) -> None:
        if self._gone.is_set():
            raise _GoneError
        self._moved.clear()
        await self._moved.wait()
