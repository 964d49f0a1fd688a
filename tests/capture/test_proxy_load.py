"""Two hundred streams at once: no chunk is lost, changed or mixed up, on the way to the client or to the observer.

`WEAKLINK_LOAD_SECONDS` says how long the streams last: a moment in the suite, 60 before a release.
"""

import asyncio
import os

import aiohttp

from tests.capture import scripted_answers as scripted
from tests.capture.proxies import recording
from tests.capture.upstream import Answer, Gap, Received, running_upstream
from weaklink.inspector.sessions.exchange import ExchangeEnd

STREAMS = 200
GAP_S = 0.1
CHUNKS = max(10, int(float(os.environ.get("WEAKLINK_LOAD_SECONDS", "1")) / GAP_S))


def _pieces(stream: str) -> list[bytes]:
    return [scripted.chat_chunk({"content": f"{stream}/{number} 🌧"}) for number in range(CHUNKS)]


def test_two_hundred_streams_at_once_lose_no_chunk() -> None:
    def answer(request: Received) -> Answer:
        stream = request.target.removeprefix("/v1/")
        return scripted.sse(*(part for piece in _pieces(stream) for part in (piece, Gap(GAP_S))))

    async def stream(session: aiohttp.ClientSession, url: str) -> list[bytes]:
        async with session.post(url, data=b"{}") as got:
            return [raw async for raw, _ in got.content.iter_chunks() if raw]

    async def all_streams(url: str) -> list[list[bytes]]:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=NO_LIMIT) as session:
            return await asyncio.gather(*(stream(session, f"{url}/v1/{number}") for number in range(STREAMS)))

    with running_upstream(answer) as upstream, recording(upstream) as proxy:
        received = asyncio.run(all_streams(proxy.url))
        proxy.seen.wait_until(lambda: sum(len(seen.ends) for seen in proxy.seen.exchanges) == STREAMS)
        seen = {exchange.head.target.removeprefix("/v1/"): exchange for exchange in proxy.seen.exchanges}
    assert sum(len(turn_seen.chunks) for turn_seen in seen.values()) >= STREAMS * CHUNKS
    for number, got in enumerate(received):
        expected, told = b"".join(_pieces(str(number))), seen[str(number)]
        assert b"".join(got) == expected
        assert told.body == expected
        assert told.ends == [ExchangeEnd.COMPLETE]


NO_LIMIT = aiohttp.ClientTimeout(total=None)
