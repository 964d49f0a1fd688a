"""A model server for the proxy's benchmark: streams that bear the time at which each chunk was sent.

`python -m benchmarks.stream_server` prints its port, then answers chat completions whose query says `chunks=N&gap_us=N`
until it is stopped: so many chunks in so many microseconds each, without any gap where that is 0. A query
`giant=KIND&mb=N` is answered with so many megabytes in one JSON body (`answer`), in one of a quarter of that which is
all structure, some 17,000 choices a megabyte (`choices`), or in one event (`event`).
"""

import asyncio
import re
import time

CHUNK = b'data: {"sent_ns":"%020d","choices":[{"index":0,"delta":{"content":" the"},"finish_reason":null}]}\n\n'
_LENGTH = re.compile(rb"(?i)content-length: *(\d+)")
_WANTED = re.compile(rb"chunks=(\d+)&gap_us=(\d+)")
_GIANT = re.compile(rb"giant=(\w+)&mb=(\d+)")
WORDS = 'x, y: [1] {2} and \\"words\\" '
_WHOLE = b'{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"%b"},'
_WHOLE += b'"finish_reason":"stop"}]}'
_EVENT = b'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"%b"}}]}\n\n'
_CHOICE = b'{"index":%d,"message":{"role":"assistant","content":"a"}},'
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            await reader.readexactly(int(_LENGTH.findall(head)[0]))
            await _answer(head, writer)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def _answer(head: bytes, writer: asyncio.StreamWriter) -> None:
    if giant := _GIANT.search(head):
        await _answer_giant(giant[1], int(giant[2]), writer)
        return
    chunks, gap_us = map(int, _WANTED.findall(head)[0])
    writer.write(_HEAD)
    due = time.monotonic()
    for _ in range(chunks):
        if gap_us:
            due += gap_us / 1e6
            await asyncio.sleep(max(0.0, due - time.monotonic()))
        body = CHUNK % time.monotonic_ns()
        writer.write(b"%x\r\n%b\r\n" % (len(body), body))
        await writer.drain()
    writer.write(b"0\r\n\r\n")


async def _answer_giant(kind: bytes, megabytes: int, writer: asyncio.StreamWriter) -> None:
    body = giant_answer(kind, megabytes)
    media = b"text/event-stream" if kind == b"event" else b"application/json"
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n" % (media, len(body)))
    for start in range(0, len(body), 1 << 18):
        writer.write(body[start : start + (1 << 18)])
        await writer.drain()


def giant_answer(kind: bytes, megabytes: int) -> bytes:
    """The body of a giant answer; a small one to a giant `request`."""
    if kind == b"choices":
        return _choices(megabytes << 18)
    text = (WORDS * ((megabytes << 20) // len(WORDS))).encode() if kind != b"request" else b"Hi"
    return (_EVENT if kind == b"event" else _WHOLE) % text


def _choices(size: int) -> bytes:
    choices = b"".join([_CHOICE % number for number in range(size // len(_CHOICE))])
    return b'{"object":"chat.completion","choices":[%b]}' % choices[:-1]


async def _main() -> None:
    server = await asyncio.start_server(_serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main())
