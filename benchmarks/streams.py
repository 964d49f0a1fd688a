"""A model server whose streams bear the time at which each chunk was sent, and the readers of many of them at once.

`python -m benchmarks.streams` prints the server's port, then answers chat completions whose query says
`chunks=N&gap_us=N` until it is stopped: so many chunks in so many microseconds each, without any gap where that is 0. A
query `giant=KIND&mb=N` is answered with so many megabytes in one JSON body (`answer`), in one of a quarter of that
which is all structure, some 17,000 choices a megabyte (`choices`), or in one event (`event`).
"""

import asyncio
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
"""Where the benchmarks' processes run."""

_STAMP = re.compile(rb'"sent_ns":"(\d{20})"')
_BODY = b'{"model": "Hermes-4-70B", "stream": true, "messages": [{"role": "user", "content": "Stream %d"}]}'
_REQUEST = (
    b"POST /v1/chat/completions?chunks=%d&gap_us=%d HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
)
_FRAMING = re.compile(rb"\r\n[0-9a-f]+\r\n")  # where TCP cuts a chunk, a proxy may make two of it
_DEADLINE_S = 60.0
_REST_S, _IDLE_SHARE = 1.0, 0.02

_CHUNK = b'data: {"sent_ns":"%020d","choices":[{"index":0,"delta":{"content":" the"},"finish_reason":null}]}\n\n'
_LENGTH = re.compile(rb"(?i)content-length: *(\d+)")
_WANTED = re.compile(rb"chunks=(\d+)&gap_us=(\d+)")
_GIANT = re.compile(rb"giant=(\w+)&mb=(\d+)")
WORDS = 'x, y: [1] {2} and \\"words\\" '
_WHOLE = b'{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"%b"},'
_WHOLE += b'"finish_reason":"stop"}]}'
_EVENT = b'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"%b"}}]}\n\n'
_CHOICE = b'{"index":%d,"message":{"role":"assistant","content":"a"}},'
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


@contextmanager
def stream_server() -> Iterator[int]:
    """A model server of its own process; its port."""
    call = [sys.executable, "-m", "benchmarks.streams"]
    process = subprocess.Popen(call, stdout=subprocess.PIPE, cwd=ROOT)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        stop(process)


async def all_streams(port: int, streams: int, chunks: int, gap_us: int) -> list[float]:
    """Ask for so many streams at once and read them whole; how long each chunk that came was on its way."""
    waited_us: list[float] = []

    async def one(number: int) -> None:
        await asyncio.sleep(number * gap_us / streams / 1e6)  # so that the streams do not beat together
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(_REQUEST % (chunks, gap_us, len(_BODY % number), _BODY % number))
        held, is_whole = b"", False
        while not is_whole and (piece := await reader.read(1 << 18)):
            now, last = time.monotonic_ns(), 0
            held += piece
            is_whole = held.endswith(b"\r\n0\r\n\r\n")
            held = _FRAMING.sub(b"", held)
            for stamp in _STAMP.finditer(held):
                waited_us.append((now - int(stamp[1])) / 1e3)
                last = stamp.end()
            held = held[last:]
        writer.close()

    await asyncio.gather(*(one(number) for number in range(streams)))
    return waited_us


def cpu_s(pid: int | None) -> float:
    """The CPU time that a process and its children have taken, as the scheduler counts it; 0 where there is none."""
    if pid is None:
        return 0.0
    own_s = 0.0
    for task in Path(f"/proc/{pid}/task").iterdir():
        own_s += int((task / "schedstat").read_text().split()[0]) / 1e9
        own_s += sum(cpu_s(int(child)) for child in (task / "children").read_text().split())
    return own_s


def settled_cpu_s(pid: int | None) -> float:
    """The CPU time that a process has taken once it rests: what it still had to do after its last byte counts."""
    taken_s = cpu_s(pid)
    deadline = time.monotonic() + _DEADLINE_S
    while pid is not None and time.monotonic() < deadline:
        time.sleep(_REST_S)
        before_s, taken_s = taken_s, cpu_s(pid)
        if taken_s - before_s < _IDLE_SHARE * _REST_S:
            break
    return taken_s


def free_port() -> int:
    """A port of loopback at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def wait_for(port: int) -> None:
    """Return once somebody listens at the port; TimeoutError where nobody does for a minute."""
    deadline = time.monotonic() + _DEADLINE_S
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError(f"Nothing listens at port {port}.")


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process, which may end what it does."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


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
        body = _CHUNK % time.monotonic_ns()
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
