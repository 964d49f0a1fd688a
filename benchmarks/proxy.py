"""The recording proxy beside mitmdump, in one run: CPU time a chunk, and what it adds to each chunk's way.

`make bench-proxy` installs mitmproxy into build/mitmproxy for this alone. Every proxy is a process of its own between
the same server and the same client, taking turns. CPU time is the scheduler's own count (`/proc`, Linux only).

mitmdump 11, the newest for Python 3.11, either streams a body or stores it: what it stores it holds until the body is
whole. So CPU time is compared with the one, and the way of a chunk with the other, which is the harder of the two.
"""

import asyncio
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from statistics import quantiles

from benchmarks.timing import goal, say

_ROOT = Path(__file__).parents[1]
_MITMDUMP = _ROOT / "build" / "mitmproxy" / "bin" / "mitmdump"
_STREAMS, _CHUNKS, _GAP_US = 40, 250, 20_000
_FLOOD_STREAMS, _FLOOD_CHUNKS = 8, 10_000
_ROUNDS = 3
_STAMP = re.compile(rb'"sent_ns":"(\d{20})"')
_BODY = b'{"model": "Hermes-4-70B", "stream": true, "messages": [{"role": "user", "content": "Stream %d"}]}'
_REQUEST = (
    b"POST /v1/chat/completions?chunks=%d&gap_us=%d HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
)
_FRAMING = re.compile(rb"\r\n[0-9a-f]+\r\n")  # where TCP cuts a chunk, a proxy may make two of it
_DEADLINE_S = 60.0
_DIRECT, _STREAMING, _STORING = "direct", "mitmdump, streaming", "mitmdump, storing"


@dataclass(slots=True)
class _Measured:
    """The best of the rounds: CPU time a chunk (paced, flooded), how long a chunk was on its way, chunks a second."""

    cpu_us: float = float("inf")
    flood_cpu_us: float = float("inf")
    p50_us: float = float("inf")
    p99_us: float = float("inf")
    rate: float = 0.0


@dataclass(slots=True)
class _Way:
    """One way from the client to the server."""

    port: int
    pid: int | None = None
    measured: _Measured = field(default_factory=_Measured)


def proxy() -> None:
    """Measure all that are there, and print what weaklink takes against mitmdump's storing mode."""
    with tempfile.TemporaryDirectory() as folder, _server() as port, _ways(port, Path(folder)) as ways:
        for _ in range(_ROUNDS):
            for way in ways.values():
                _measure(way)
        _tell(ways)


def _tell(ways: dict[str, _Way]) -> None:
    say(f"{_STREAMS} paced streams, and a flood of {_FLOOD_STREAMS}; the best of {_ROUNDS} rounds")
    direct = ways[_DIRECT].measured
    say(f"{'':34}{'CPU us/chunk':>14}{'flooded':>9}{'added p50 us':>14}{'added p99 us':>14}{'chunks/s':>12}")
    for name, way in ways.items():
        one = way.measured
        added = (one.p50_us - direct.p50_us, one.p99_us - direct.p99_us)
        cpu = (one.cpu_us, one.flood_cpu_us) if way.pid is not None else (0.0, 0.0)
        say(f"{name:34}{cpu[0]:14.0f}{cpu[1]:9.0f}{added[0]:14.0f}{added[1]:14.0f}{one.rate:12,.0f}")
    if _STORING not in ways:
        say("mitmdump: not measured; `make bench-proxy` installs it.")
        return
    storing, streaming = ways[_STORING].measured, ways[_STREAMING].measured
    for name in [name for name in ways if name.startswith("weaklink")]:
        own = ways[name].measured
        say(f"{name}, CPU a chunk against {_STORING}: {goal(own.cpu_us / storing.cpu_us, 1 / 3, at_least=False)}")
        say(f"{name}, p99 against {_STREAMING}: {goal(own.p99_us / streaming.p99_us, 1, at_least=False)}")


@contextmanager
def _ways(port: int, folder: Path) -> Iterator[dict[str, _Way]]:
    upstream = f"http://127.0.0.1:{port}"
    python = [sys.executable, "-m"]
    calls: dict[str, list[str]] = {"weaklink, forwarding": [*python, "benchmarks.forwarding_proxy", upstream]}
    if find_spec("ui.cli.record") is not None:
        recorded = ["record", "--db", str(folder / "weaklink.db"), "--upstream", upstream, "--port", "PORT", "--quiet"]
        calls["weaklink record"] = [sys.executable, "-c", "from ui.cli.main import main; main()", *recorded]
    if _MITMDUMP.exists():
        mode = f"reverse:{upstream}@127.0.0.1:PORT"
        mitmdump = [str(_MITMDUMP), "-q", "--mode", mode]
        calls[_STREAMING] = [*mitmdump, "--set", "stream_large_bodies=1"]
        calls[_STORING] = [*mitmdump, "-w", str(folder / "flows")]
    running: list[subprocess.Popen[bytes]] = []
    ways = {_DIRECT: _Way(port)}
    try:
        for name, call in calls.items():
            free = _free_port()
            words = [word.replace("PORT", str(free)) for word in call]
            one = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=_ROOT)
            running.append(one)
            own = "PORT" not in " ".join(call)
            ways[name] = _Way(int(one.stdout.readline()) if own and one.stdout else free, one.pid)
            _wait_for(ways[name].port)
        yield ways
    finally:
        for one in running:
            _stop(one)


@contextmanager
def _server() -> Iterator[int]:
    call = [sys.executable, "-m", "benchmarks.stream_server"]
    one = subprocess.Popen(call, stdout=subprocess.PIPE, cwd=_ROOT)
    try:
        assert one.stdout is not None
        yield int(one.stdout.readline())
    finally:
        _stop(one)


def _measure(way: _Way) -> None:
    best = way.measured
    cpu_s, waited_us, _ = _run(way, _STREAMS, _CHUNKS, _GAP_US)
    centiles = quantiles(waited_us, n=100)
    best.cpu_us = min(best.cpu_us, cpu_s * 1e6 / len(waited_us))
    best.p50_us, best.p99_us = min(best.p50_us, centiles[49]), min(best.p99_us, centiles[98])
    cpu_s, waited_us, took_s = _run(way, _FLOOD_STREAMS, _FLOOD_CHUNKS, 0)
    best.flood_cpu_us = min(best.flood_cpu_us, cpu_s * 1e6 / len(waited_us))
    best.rate = max(best.rate, len(waited_us) / took_s)


def _run(way: _Way, streams: int, chunks: int, gap_us: int) -> tuple[float, list[float], float]:
    before_s, started = _cpu_s(way.pid), time.perf_counter()
    waited_us = asyncio.run(_all_streams(way.port, streams, chunks, gap_us))
    took_s = time.perf_counter() - started
    assert len(waited_us) == streams * chunks, f"{len(waited_us)} of {streams * chunks} chunks came"
    return _cpu_s(way.pid) - before_s, waited_us, took_s


async def _all_streams(port: int, streams: int, chunks: int, gap_us: int) -> list[float]:
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


def _cpu_s(pid: int | None) -> float:
    if pid is None:
        return 0.0
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + _DEADLINE_S
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError(f"Nothing listens at port {port}.")


def _stop(one: subprocess.Popen[bytes]) -> None:
    one.terminate()
    try:
        one.wait(10)
    except subprocess.TimeoutExpired:
        one.kill()
        one.wait()
    if one.stdout is not None:
        one.stdout.close()
