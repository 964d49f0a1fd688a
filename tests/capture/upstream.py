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
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from tests.capture.answer import Answer, Drop, Framing, Gap, Pause, Piece, Raw
from tests.capture.connection import Connection, Received

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


Chooses: TypeAlias = Callable[[Received], Answer]


class Upstream:
    """The running upstream; made by `running_upstream`."""

    def __init__(self, choose: Chooses) -> None:
        self.url = ""
        self.requests: list[Received] = []
        self.connections = 0
        self._choose = choose
        self._loop = asyncio.new_event_loop()
        self._open: set[Connection] = set()
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

    def opened(self, connection: Connection) -> int:
        self._open.add(connection)
        self.connections += 1
        self.changed()
        return self.connections

    def closed(self, connection: Connection) -> None:
        self._open.discard(connection)
        self.changed()

    def run(self, ready: threading.Event) -> None:
        """Serve until the loop is stopped; the body of the thread."""
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(self._loop.create_server(lambda: Connection(self), "127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        ready.set()
        self._loop.run_forever()
        # asyncio of Python 3.11 leaks a socket that it has just accepted when the server closes: no more are accepted,
        # and those that were open first.
        self._loop.remove_reader(server.sockets[0].fileno())
        self._loop.run_until_complete(self._abort_all())
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
