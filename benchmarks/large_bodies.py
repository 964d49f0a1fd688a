"""The worst gap of a stream through `weaklink record` while a giant body passes: nobody waits for the recording.

A client reads a stream with a chunk every 5 ms. Meanwhile another client gets an answer of so many megabytes in one
JSON body or in one server-sent event, or sends such a request. A recorder that held the interpreter to decode or to
redact that body in one piece would stop the stream for as long. The gap without a giant body shows what the machine
itself adds.
"""

import asyncio
import http.client
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.stream_server import WORDS
from benchmarks.streams import ROOT, all_streams, free_port, stop, stream_server, wait_for
from benchmarks.timing import say

_MEGABYTES = int(os.environ.get("WEAKLINK_BENCH_BODY_MB", "60"))
_CHUNKS, _GAP_US = 1_600, 5_000
_AFTER_S = 0.5  # from the first chunk of the stream to the giant body
_ROUNDS = 3
_GOAL_MS = 100.0
_KINDS = ("none", "answer", "event", "request")


def large_bodies() -> None:
    """Print the worst gap for each kind of giant body, the best of some rounds."""
    with tempfile.TemporaryDirectory() as folder, stream_server() as upstream:
        port = free_port()
        words = ["record", "--db", str(Path(folder) / "w.db"), "--upstream", f"http://127.0.0.1:{upstream}", "--quiet"]
        start = [sys.executable, "-c", "from weaklink.command import main; main()", *words, "--port", str(port)]
        with subprocess.Popen(start, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT) as recorder:
            try:
                wait_for(port)
                for kind in _KINDS:
                    gaps_ms = [asyncio.run(_worst_gap_ms(port, kind)) for _ in range(_ROUNDS)]
                    rounds = ", ".join(f"{gap:.0f}" for gap in gaps_ms)
                    say(f"giant {kind}: worst gap {min(gaps_ms):.0f} ms of at most {_GOAL_MS:.0f} (rounds: {rounds})")
            finally:
                stop(recorder)


async def _worst_gap_ms(port: int, kind: str) -> float:
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
    path = f"/v1/chat/completions?giant={kind}&mb={megabytes}"
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    connection.getresponse().read()


if __name__ == "__main__":
    _pass_giant(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
