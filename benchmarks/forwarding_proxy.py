"""The proxy alone, with an observer that keeps times and bytes of one exchange and decodes nothing.

`python -m benchmarks.forwarding_proxy UPSTREAM ...` prints its port and runs until it is stopped.
"""

import asyncio
import sys

from weaklink.inspector.capture.proxy import BoundAddress, ProxyConfig, parse_upstream, run_proxy
from weaklink.inspector.sessions.exchange import ExchangeEnd, Headers, RequestHead


class _Keeps:
    """What a recorder does while the traffic flows: append and return."""

    def __init__(self) -> None:
        self._arrived: list[tuple[float | None, bytes]] = []

    def began(self, head: RequestHead) -> "_Keeps":
        return _Keeps()

    def request_arrived(self, raw: bytes) -> None:
        self._arrived.append((None, raw))

    def answer_began(self, status: int, headers: Headers, at_s: float | None) -> None:
        pass

    def answer_arrived(self, raw: bytes, at_s: float | None) -> None:
        self._arrived.append((at_s, raw))

    def ended(self, end: ExchangeEnd, at_s: float | None, message: str = "") -> None:
        pass


def _say(address: BoundAddress) -> None:
    print(address.port, flush=True)


if __name__ == "__main__":
    config = ProxyConfig(tuple(map(parse_upstream, sys.argv[1:])), port=0)
    asyncio.run(run_proxy(config, _Keeps(), until=asyncio.Event(), on_bound=_say))
