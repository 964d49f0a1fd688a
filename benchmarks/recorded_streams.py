"""Two hundred streams at once through `weaklink record` into a real database: every chunk is counted there.

`WEAKLINK_BENCH_SECONDS` says how long they last; the streams are recorded by SQLite, and by PostgreSQL where that is.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.measuring import print_line
from benchmarks.postgresql_server import NOT_INSTALLED, new_database, programs, running_server
from benchmarks.streams import ROOT, all_streams, free_port, settled_cpu_s, stop, stream_server, wait_for
from weaklink.storage.store import open_store

_STREAMS, _GAP_US = 200, 100_000
_SECONDS = float(os.environ.get("WEAKLINK_BENCH_SECONDS", "60"))


def recorded_streams() -> None:
    """Record the streams in each kind of database, and say how many of their chunks it holds."""
    with tempfile.TemporaryDirectory() as folder:
        _record("SQLite", str(Path(folder) / "weaklink.db"))
    programs_folder = programs()
    if programs_folder is None:
        print_line(NOT_INSTALLED)
        return
    with running_server(programs_folder) as server, new_database(server) as url:
        _record("PostgreSQL", url)


def _record(name: str, database: str) -> None:
    chunks = max(1, round(_SECONDS * 1e6 / _GAP_US))
    with stream_server() as upstream:
        port = free_port()
        words = [
            "record",
            "--db",
            database,
            "--upstream",
            f"http://127.0.0.1:{upstream}",
            "--port",
            str(port),
            "--quiet",
        ]
        command = [sys.executable, "-c", "from weaklink.command import main; main()", *words]
        recorder = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=ROOT)
        try:
            wait_for(port)
            began_s = time.monotonic()
            received = len(asyncio.run(all_streams(port, _STREAMS, chunks, _GAP_US)))
            took_s, spent_s = time.monotonic() - began_s, settled_cpu_s(recorder.pid)
        finally:
            stop(recorder)
            said = recorder.stderr.read().decode() if recorder.stderr is not None else ""
    sent = _STREAMS * chunks
    with open_store(database, create=False) as store:
        held = Counter(summary.chunks for summary in store.traces(limit=2 * _STREAMS))
    kept = sum(count * traces for count, traces in held.items())
    print_line(f"{name}: {_STREAMS} streams for {took_s:.0f} s, {spent_s * 1e6 / sent:.0f} us of CPU a chunk")
    print_line(
        f"  {sent:,} chunks were sent, {received:,} received, {kept:,} are in the database: {sent - kept:,} lost"
    )
    print_line(f"  {held[chunks]:,} of {_STREAMS:,} traces hold all the {chunks:,} chunks of their stream")
    for line in said.splitlines():
        if line.startswith("weaklink: "):
            print_line(f"  {line}")
