"""A real proxy in a thread of its own, and an observer that keeps what it is told; for tests of the proxy."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.capture.upstream import DEADLINE_S, Upstream
from weaklink.inspector.capture.proxy import BoundAddress, ProxyConfig, parse_upstream, run_proxy
from weaklink.inspector.sessions.exchange import ExchangeEnd, Headers, Observes, RequestHead


@dataclass(slots=True)
class Seen:
    """All that an observer was told of one exchange."""

    head: RequestHead
    changed: threading.Condition
    request: bytearray = field(default_factory=bytearray)
    status: int | None = None
    headers: Headers = ()
    chunks: list[bytes] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    ends: list[ExchangeEnd] = field(default_factory=list)
    message: str = ""

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)

    def request_arrived(self, raw: bytes) -> None:
        self.request += raw
        self._tell()

    def answer_began(self, status: int, headers: Headers, at_s: float | None) -> None:
        self.status, self.headers = status, headers
        self._tell(at_s)

    def answer_arrived(self, raw: bytes, at_s: float | None) -> None:
        self.chunks.append(raw)
        self._tell(at_s)

    def ended(self, end: ExchangeEnd, at_s: float | None, message: str = "") -> None:
        self.ends.append(end)
        self.message = message
        self._tell(at_s)

    def _tell(self, at_s: float | None = None) -> None:
        with self.changed:
            if at_s is not None:
                self.times.append(at_s)
            self.changed.notify_all()


class Keeps:
    """An `Observes` that keeps everything; `exchanges` in the order in which they began."""

    def __init__(self) -> None:
        self.exchanges: list[Seen] = []
        self._changed = threading.Condition()

    def began(self, head: RequestHead) -> Seen:
        seen = Seen(head, self._changed)
        with self._changed:
            self.exchanges.append(seen)
            self._changed.notify_all()
        return seen

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait until it holds, and fail where it does not within the deadline."""
        with self._changed:
            assert self._changed.wait_for(condition, DEADLINE_S), "The observer was not told what was expected."

    def one(self) -> Seen:
        """The only exchange, after it ended."""
        self.wait_until(lambda: len(self.exchanges) == 1 and bool(self.exchanges[0].ends))
        return self.exchanges[0]


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy that runs, what its observer kept, and `stop`, which stops it gracefully and waits for that."""

    address: BoundAddress
    seen: Keeps
    stop: Callable[[], None]

    @property
    def url(self) -> str:
        return self.address.url


@contextmanager
def recording(
    *upstreams: Upstream | str,
    observes: Observes | None = None,
    **options: Any,
) -> Iterator[Proxy]:
    """A proxy before these upstreams (a scripted one, or what `--upstream` takes), on a free port.

    `observes` is told of the exchanges in the place of the one that keeps what it sees.
    """
    named = tuple(parse_upstream(upstream if isinstance(upstream, str) else upstream.url) for upstream in upstreams)
    config = ProxyConfig(named, **{"port": 0, "grace_s": 0.2, **options})
    seen, bound, ready, loop = Keeps(), list[BoundAddress](), threading.Event(), asyncio.new_event_loop()
    until = asyncio.Event()

    def on_bound(address: BoundAddress) -> None:
        bound.append(address)
        ready.set()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(run_proxy(config, observes or seen, until=until, on_bound=on_bound))

    thread = threading.Thread(target=run, name="proxy")
    thread.start()

    def stop() -> None:
        if thread.is_alive():
            loop.call_soon_threadsafe(until.set)
        thread.join(DEADLINE_S)
        assert not thread.is_alive()

    try:
        assert ready.wait(DEADLINE_S), "The proxy did not start."
        yield Proxy(bound[0], seen, stop)
    finally:
        stop()
