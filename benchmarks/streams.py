"""Many streams of the benchmark's model server at once, and what stands between it and their readers."""

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


@contextmanager
def stream_server() -> Iterator[int]:
    """A model server of its own process; its port."""
    call = [sys.executable, "-m", "benchmarks.stream_server"]
    one = subprocess.Popen(call, stdout=subprocess.PIPE, cwd=ROOT)
    try:
        assert one.stdout is not None
        yield int(one.stdout.readline())
    finally:
        stop(one)


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


def stop(one: subprocess.Popen[bytes]) -> None:
    """End a process, which may end what it does."""
    one.terminate()
    try:
        one.wait(10)
    except subprocess.TimeoutExpired:
        one.kill()
        one.wait()
    if one.stdout is not None:
        one.stdout.close()
