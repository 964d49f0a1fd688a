"""What a replay sends: in fifty replays the same bytes in the same pieces to each request, at once or at its pace."""

import asyncio
import json
from itertools import accumulate
from random import Random

from weaklink.inspector.capture.replay_server import ReplayServer
from weaklink.inspector.model.exchange import ExchangeEnd, RecordedExchange
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.inspector.replay.matching import Recording, Replayer
from weaklink.ui.experiments.serving import serving

_PATH = "/v1/chat/completions"
_STREAM, _JSON = (("content-type", "text/event-stream"),), (("content-type", "application/json"),)


def _exchange(
    words: str,
    *pieces: bytes,
    status: int = 200,
    headers: tuple[tuple[str, str], ...] = _STREAM,
    end: ExchangeEnd = ExchangeEnd.COMPLETE,
) -> RecordedExchange:
    request = json.dumps({"messages": [{"role": "user", "content": words}]}).encode()
    ends, offsets_s = tuple(accumulate(map(len, pieces))), tuple(0.5 * number for number in range(1, len(pieces) + 1))
    return RecordedExchange("POST", _PATH, 0.0, status, headers, request, b"".join(pieces), ends, offsets_s, end)


_RECORDED = (
    _exchange("whole", b'{"choices": []}', headers=_JSON),
    _exchange("stream", b"data: \xe2", b"\x82\xac", b"\n\nda", b"ta: [DONE]\n\n"),
    _exchange("again", b'{"error": 1}', status=429, headers=(*_JSON, ("retry-after-ms", "5"), ("x-request-id", "r1"))),
    _exchange("again", b"data: 2\n\n", b"data: 3\n\n"),
    _exchange("again", b"data: 4\n\n"),
    _exchange("dropped", b"data: 5\n\n", b"dat", end=ExchangeEnd.UPSTREAM_DROPPED),
)


def _server(*, is_paced: bool = False) -> ReplayServer:
    replayer = Replayer(Recording(_RECORDED, (None,) * len(_RECORDED)))
    return ReplayServer(replayer, Redactor(), is_paced)


async def _raw_answer(port: int, request: bytes) -> bytes:
    """All that comes for a request on a connection of its own, without the date."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST {_PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: {len(request)}\r\n\r\n"
    writer.write(head.encode() + request)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return b"\r\n".join(line for line in answer.split(b"\r\n") if not line.startswith(b"Date:"))


async def _replayed(server: ReplayServer, order: list[RecordedExchange]) -> dict[str, list[bytes]]:
    """The answers to each request; requests with different words are sent at the same time, equal ones in turn."""
    by_request: dict[bytes, int] = {}
    for exchange in order:
        by_request[exchange.request or b""] = by_request.get(exchange.request or b"", 0) + 1
    answers: dict[str, list[bytes]] = {}

    async def ask(port: int, request: bytes, times: int) -> None:
        words = json.loads(request)["messages"][0]["content"]
        answers[words] = [await _raw_answer(port, request) for _ in range(times)]

    async with serving(server, 0) as variables:
        port = int(variables["OPENAI_BASE_URL"].split(":")[2].partition("/")[0])
        await asyncio.gather(*(ask(port, request, times) for request, times in by_request.items()))
    return answers


def test_fifty_replays_send_the_same_bytes_in_the_same_pieces_to_each_request() -> None:
    first = asyncio.run(_replayed(_server(), list(_RECORDED)))
    assert [answer.partition(b"\r\n")[0] for answer in first["again"]] == [
        b"HTTP/1.1 429 Too Many Requests",
        b"HTTP/1.1 200 OK",
        b"HTTP/1.1 200 OK",
    ]
    assert b"retry-after-ms: 5\r\nx-request-id: r1\r\n" in first["again"][0]
    assert first["whole"][0].endswith(b'\r\n\r\n{"choices": []}')
    pieces = _RECORDED[1].pieces()
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    assert first["stream"][0].endswith(b"\r\n\r\n" + chunks + b"0\r\n\r\n")
    assert first["dropped"][0].endswith(b"\r\n\r\n9\r\ndata: 5\n\n\r\n3\r\ndat\r\n")  # no end of the chunks
    for seed in range(50):
        server = _server()
        assert asyncio.run(_replayed(server, Random(seed).sample(_RECORDED, len(_RECORDED)))) == first
        assert server.replayer.never_made() == ()
        assert server.divergences == []


def test_a_paced_replay_waits_as_long_as_the_recorded_server_did_and_another_does_not_wait() -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    for is_paced, expected in ((True, [0.5] * 4), (False, [])):
        server = _server(is_paced=is_paced)
        server.sleep = sleep
        waits.clear()
        asyncio.run(_replayed(server, [_RECORDED[1]]))
        assert waits == expected
