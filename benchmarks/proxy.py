"""The recording proxy beside mitmdump, in one run: CPU time a chunk, and what it adds to each chunk's way.

`make bench-proxy` installs mitmproxy into build/mitmproxy for this alone. Every proxy is a process of its own between
the same server and the same client, taking turns. CPU time is the scheduler's own count (`/proc`, Linux only), up to
the moment when the proxy rests: what is decoded and stored after the client's last byte belongs to the work.

mitmdump 11, the newest for Python 3.11, either streams a body or stores it: what it stores it holds until the body is
whole. So CPU time is compared with the one, and the way of a chunk with the other, which is the harder of the two.
"""

import asyncio
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

from benchmarks.measuring import goal, print_line
from benchmarks.redaction import redaction_share
from benchmarks.streams import ROOT, all_streams, free_port, settled_cpu_s, stop, stream_server, wait_for

_MITMDUMP = ROOT / "build" / "mitmproxy" / "bin" / "mitmdump"
_STREAMS, _CHUNKS, _GAP_US = 40, 250, 20_000
_FLOOD_STREAMS, _FLOOD_CHUNKS = 8, 10_000
_ROUNDS = 3
_MOST_CPU = {"weaklink, forwarding": 0.33, "weaklink record": 0.6}
"""CPU time a chunk, of mitmdump's that stores."""
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
    """Measure all that are there, and print what weaklink takes against mitmdump's, and redaction of it."""
    redaction_share()
    with tempfile.TemporaryDirectory() as folder, stream_server() as port, _ways(port, Path(folder)) as ways:
        for _ in range(_ROUNDS):
            for way in ways.values():
                _measure(way)
        _tell(ways)


def _tell(ways: dict[str, _Way]) -> None:
    print_line(f"{_STREAMS} paced streams, and a flood of {_FLOOD_STREAMS}; the best of {_ROUNDS} rounds")
    direct = ways[_DIRECT].measured
    print_line(f"{'':34}{'CPU us/chunk':>14}{'flooded':>9}{'added p50 us':>14}{'added p99 us':>14}{'chunks/s':>12}")
    for name, way in ways.items():
        measured = way.measured
        added = (measured.p50_us - direct.p50_us, measured.p99_us - direct.p99_us)
        cpu = (measured.cpu_us, measured.flood_cpu_us) if way.pid is not None else (0.0, 0.0)
        print_line(f"{name:34}{cpu[0]:14.0f}{cpu[1]:9.0f}{added[0]:14.0f}{added[1]:14.0f}{measured.rate:12,.0f}")
    if _STORING not in ways:
        print_line("mitmdump: not measured; `make bench-proxy` installs it.")
        return
    storing, streaming = ways[_STORING].measured, ways[_STREAMING].measured
    for name in [name for name in ways if name.startswith("weaklink")]:
        own, most = ways[name].measured, _MOST_CPU[name]
        print_line(f"{name}, CPU a chunk against {_STORING}: {goal(own.cpu_us / storing.cpu_us, most, at_least=False)}")
        print_line(f"{name}, p99 against {_STREAMING}: {goal(own.p99_us / streaming.p99_us, 1, at_least=False)}")


@contextmanager
def _ways(port: int, folder: Path) -> Iterator[dict[str, _Way]]:
    upstream = f"http://127.0.0.1:{port}"
    python = [sys.executable, "-m"]
    calls: dict[str, list[str]] = {"weaklink, forwarding": [*python, "benchmarks.forwarding_proxy", upstream]}
    if find_spec("weaklink.ui.cli.record") is not None:
        recorded = ["record", "--db", str(folder / "weaklink.db"), "--upstream", upstream, "--port", "PORT", "--quiet"]
        calls["weaklink record"] = [sys.executable, "-c", "from weaklink.command import main; main()", *recorded]
    if _MITMDUMP.exists():
        mode = f"reverse:{upstream}@127.0.0.1:PORT"
        mitmdump = [str(_MITMDUMP), "-q", "--mode", mode]
        calls[_STREAMING] = [*mitmdump, "--set", "stream_large_bodies=1"]
        calls[_STORING] = [*mitmdump, "-w", str(folder / "flows")]
    running: list[subprocess.Popen[bytes]] = []
    ways = {_DIRECT: _Way(port)}
    try:
        for name, call in calls.items():
            free = free_port()
            words = [word.replace("PORT", str(free)) for word in call]
            process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT)
            running.append(process)
            own = "PORT" not in " ".join(call)
            ways[name] = _Way(int(process.stdout.readline()) if own and process.stdout else free, process.pid)
            wait_for(ways[name].port)
        yield ways
    finally:
        for process in running:
            stop(process)


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
    before_s, started = settled_cpu_s(way.pid), time.perf_counter()
    waited_us = asyncio.run(all_streams(way.port, streams, chunks, gap_us))
    took_s = time.perf_counter() - started
    assert len(waited_us) == streams * chunks, f"{len(waited_us)} of {streams * chunks} chunks came"
    return settled_cpu_s(way.pid) - before_s, waited_us, took_s
