"""A scripted upstream on loopback that sends exactly the bytes it is told to, and keeps what it received.

It is raw asyncio in a thread of its own, so that synchronous clients, asynchronous ones and processes can all talk to
it, and so that framing, splits, pauses and broken endings are exactly as scripted:

    with running_upstream(scripted_answers.chat_stream("Hello", " world")) as upstream:
        client = openai.OpenAI(base_url=upstream.url + "/v1", api_key="none", max_retries=0)
        ...
        assert upstream.requests[0].target == "/v1/chat/completions"

* `running_upstream(*answers)` gives the answers in the order in which requests come, and the last one again and again;
  one callable instead chooses by the request, `running_upstream(lambda request: ...)`: it is asked when the head came,
  and again when the whole body did.
* An `Answer` is a status, headers and pieces. A piece of bytes is sent at once and on its own: as one chunk where the
  framing is `CHUNKED`, else bare. `answer.body` is what a client must have received in the end.
* `Pause("name")` waits until the test calls `upstream.release("name")`; a test releases it when its client has seen
  what came before, so splits on the wire are certain and no test depends on time. `Pause()` without a name stalls for
  good: until the client leaves or the upstream stops. A name that was released stays released.
* `Gap(seconds)` paces a stream, for load; no test may judge by it.
* `Raw(bytes)` are bytes outside of the framing: half a chunk, a wrong length, trailers, a broken status line.
* `Drop()` ends the connection at once: by a reset, or with `reset=False` by a plain FIN.
* `bare=True` sends no head and no end of chunks: `Raw` pieces are all that is sent.
* `early=True` answers before the request's body was read, and closes the connection afterwards.
* `upstream.requests` are the requests in the order in which their heads came: `body` grows while it arrives,
  `is_whole` says that all of it did, `left` that the client was gone before the answer was sent whole.
* `upstream.wait_until(lambda: ...)` waits for a condition with a deadline; it looks again at whatever happens here.
"""

import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.capture.answer import Answer, Drop, Framing, Gap, Pause, Piece, Raw

__all__ = [
    "DEADLINE_S",
    "Answer",
    "Drop",
    "Framing",
    "Gap",
    "Pause",
    "Piece",
    "Raw",
    "Received",
    "Upstream",
    "running_upstream",
]

_TURNS_OF_THE_LOOP = 10
DEADLINE_S = 20.0
"""How long whoever waits goes on before it fails: far more than a slow machine needs, for no test judges by time."""


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


Chooses: TypeAlias = Callable[[Received], Answer]


class Upstream:
    """The running upstream; made by `running_upstream`."""

    def __init__(self, choose: Chooses) -> None:
        self.url = ""
        self.requests: list[Received] = []
        self.connections = 0
        self._choose = choose
        self._loop = asyncio.new_event_loop()
        self._open: set[_Connection] = set()
        self._released: dict[str, asyncio.Event] = {}
        self._changed = threading.Condition()

    def release(self, name: str) -> None:
        """Let every answer that waits for `name` go on, now and later."""
        self._loop.call_soon_threadsafe(lambda: self.released(name).set())

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait until it holds, and fail where it does not within the deadline."""
        with self._changed:
            assert self._changed.wait_for(condition, DEADLINE_S), "The upstream did not come to see what was expected."

    def released(self, name: str) -> asyncio.Event:
        """The event of a name; only for the upstream's own thread."""
        return self._released.setdefault(name, asyncio.Event())

    def choose(self, request: Received) -> Answer:
        return self._choose(request)

    def changed(self) -> None:
        """Tell whoever waits that something happened."""
        with self._changed:
            self._changed.notify_all()

    def opened(self, connection: "_Connection") -> int:
        self._open.add(connection)
        self.connections += 1
        self.changed()
        return self.connections

    def closed(self, connection: "_Connection") -> None:
        self._open.discard(connection)
        self.changed()

    def run(self, ready: threading.Event) -> None:
        """Serve until the loop is stopped; the body of the thread."""
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(self._loop.create_server(lambda: _Connection(self), "127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        ready.set()
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.run_until_complete(self._abort_all())
        self._loop.close()

    async def _abort_all(self) -> None:
        """End every connection, those that are just being accepted too."""
        for _ in range(_TURNS_OF_THE_LOOP):
            for connection in list(self._open):
                connection.transport.abort()
            await asyncio.sleep(0)

    def stop(self) -> None:
        """End every connection and the thread's loop."""
        self._loop.call_soon_threadsafe(self._loop.stop)


class _GoneError(Exception):
    """The client left."""


class _Connection(asyncio.Protocol):
    """One connection: requests are read and answered one after the other."""

    transport: asyncio.Transport

    def __init__(self, upstream: Upstream) -> None:
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
        waits = [asyncio.ensure_future(one.wait()) for one in (event, self._gone)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waits:
                one.cancel()

    async def _until(self, end: bytes) -> bytes:
        while (at := self._buffer.find(end)) < 0:
            await self._more()
        return await self._take(at + len(end))

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


def in_order(answers: Sequence[Answer]) -> Chooses:
    """One answer a request, in this order; the last one again for every further request."""
    order: dict[int, Answer] = {}

    def choose(request: Received) -> Answer:
        return order.setdefault(id(request), answers[min(len(order), len(answers) - 1)])

    return choose


@contextmanager
def running_upstream(*answers: Answer | Chooses) -> Iterator[Upstream]:
    """An upstream that gives these answers in order, or those that one callable chooses; stopped at the end."""
    first = answers[0]
    plain = [answer for answer in answers if isinstance(answer, Answer)]
    upstream = Upstream(in_order(plain) if isinstance(first, Answer) else first)
    ready = threading.Event()
    thread = threading.Thread(target=upstream.run, args=(ready,), name="scripted upstream")
    thread.start()
    assert ready.wait(DEADLINE_S)
    try:
        yield upstream
    finally:
        upstream.stop()
        thread.join(DEADLINE_S)
