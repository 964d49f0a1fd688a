"""How long a stream's chunk waits in the proxy while a giant body passes: forwarding never waits for the recording.

A client reads a stream with a chunk every 5 ms. Meanwhile another client gets an answer of so many megabytes in one
JSON body, in one that is all structure, or in one server-sent event, or sends such a request. The longest way of a
chunk through `weaklink record` is compared with that through the proxy alone, whose observer keeps the bytes and
decodes nothing: both pass the same giant on, between the same servers and clients, taking turns. Streams and giants
come from servers of their own, since making a giant body holds its server up.

On a busy machine that is mostly waiting for a core. So the CPU time that the recording takes of the proxy's event loop
is measured too: the longest of the steps in which it puts a giant body into the recorder's pipe, and all of them.
"""

import asyncio
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measuring import print_line
from benchmarks.streams import ROOT, WORDS, all_streams, free_port, giant_answer, stop, stream_server, wait_for
from weaklink.inspector.capture.recorder import Recorder
from weaklink.inspector.capture.recorder_process import ForwarderConnection, RecorderProcess, RecorderReport
from weaklink.inspector.capture.trace_file_sink import TracesInMemory
from weaklink.inspector.sessions.exchange import ExchangeEnd, RequestHead

_MEGABYTES = int(os.environ.get("WEAKLINK_BENCH_BODY_MB", "60"))
_CHUNKS, _GAP_US = 1_600, 5_000
_AFTER_S = 0.5  # from the first chunk of the stream to the giant body
_REST_S = 3.0  # after a giant body, for the recorder to finish it
_ROUNDS = 5
_PIECE_BYTES, _POLL_S = 1 << 18, 0.01
_KINDS = ("none", "answer", "choices", "event", "request")


def large_bodies() -> None:
    """Print the event loop's steps, and the longest way of a chunk for each kind of giant body and each proxy."""
    asyncio.run(_print_steps())
    with tempfile.TemporaryDirectory() as folder, _ports(Path(folder)) as ports:
        for kind in _KINDS:
            waited_ms: dict[str, list[float]] = {name: [] for name in ports}
            for _ in range(_ROUNDS):
                for name, port in ports.items():
                    waited_ms[name].append(asyncio.run(_longest_way_ms(port, kind)))
                    time.sleep(_REST_S)
            for name, rounds in waited_ms.items():
                every = ", ".join(f"{way:.0f}" for way in sorted(rounds))
                print_line(
                    f"giant {kind + ',':9}{name + ':':12} longest way of a chunk {min(rounds):.0f} ms (rounds: {every})"
                )


async def _print_steps() -> None:
    """Report giant answers to a recorder's process, and print the CPU time that this takes of the event loop."""
    process = _MeasuredProcess(_record_in_memory, on_trouble=print_line)
    for kind in ("answer", "choices", "event"):
        body = giant_answer(kind.encode(), _MEGABYTES)
        observer = process.began(RequestHead("POST", "/v1/chat/completions"))
        for start in range(0, len(body), _PIECE_BYTES):
            observer.answer_arrived(body[start : start + _PIECE_BYTES], None)
            await asyncio.sleep(0)
        observer.ended(ExchangeEnd.COMPLETE, None)
        while process.is_busy:
            await asyncio.sleep(_POLL_S)
        steps_ms, process.steps_ms = process.steps_ms, []
        took = f"{sum(steps_ms):.0f} ms in {len(steps_ms)} steps, the longest {max(steps_ms):.2f} ms"
        print_line(f"giant {kind + ',':9}{len(body) >> 20} MB into the recorder's pipe: {took}")
    process.close()


class _MeasuredProcess(RecorderProcess):
    """Keeps the CPU time of each step of the event loop."""

    steps_ms: list[float]

    def _write(self) -> None:
        began_s = time.thread_time()
        super()._write()
        self.steps_ms = [*getattr(self, "steps_ms", ()), (time.thread_time() - began_s) * 1e3]

    @property
    def is_busy(self) -> bool:
        """Whether something is waiting for the pipe."""
        return bool(self._queue or self._unsent)


def _record_in_memory(connection: ForwarderConnection) -> RecorderReport:
    connection.report(RecorderReport(target="memory"))
    recorder = Recorder(TracesInMemory())
    connection.observe(recorder)
    recorder.close()
    return RecorderReport(target="memory", is_last=True)


@contextmanager
def _ports(folder: Path) -> Iterator[dict[str, int]]:
    """The ports of both proxies."""
    with stream_server() as streams, stream_server() as giants:
        upstreams = [f"http://127.0.0.1:{streams}", f"/giant=http://127.0.0.1:{giants}"]
        port = free_port()
        options = ["record", "--db", str(folder / "w.db"), "--port", str(port), "--quiet"]
        options += [word for upstream in upstreams for word in ("--upstream", upstream)]
        recording = [sys.executable, "-c", "from weaklink.command import main; main()", *options]
        forwarding = [sys.executable, "-m", "benchmarks.forwarding_proxy", *upstreams]
        with (
            subprocess.Popen(recording, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT) as recorder,
            subprocess.Popen(forwarding, stdout=subprocess.PIPE, cwd=ROOT) as forwarder,
        ):
            try:
                assert forwarder.stdout is not None
                ports = {"forwarding": int(forwarder.stdout.readline()), "recording": port}
                wait_for(port)
                yield ports
            finally:
                stop(forwarder)
                stop(recorder)


async def _longest_way_ms(port: int, kind: str) -> float:
    stream = asyncio.create_task(all_streams(port, 1, _CHUNKS, _GAP_US))
    await asyncio.sleep(_AFTER_S)
    if kind != "none":
        giant = [sys.executable, "-m", "benchmarks.large_bodies", str(port), kind, str(_MEGABYTES)]
        await asyncio.to_thread(subprocess.run, giant, check=True, cwd=ROOT)
    return max(await stream) / 1e3


def _pass_giant(port: int, kind: str, megabytes: int) -> None:
    """Send and receive the giant body; a process of its own, since building it holds the interpreter."""
    text = WORDS * ((megabytes << 20) // len(WORDS)) if kind == "request" else "Hi"
    body = json.dumps({"model": "m", "stream": kind == "event", "messages": [{"role": "user", "content": text}]})
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    path = f"/giant/v1/chat/completions?giant={kind}&mb={megabytes}"
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    connection.getresponse().read()


if __name__ == "__main__":
    _pass_giant(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
