"""A worker that is a copy of its parent ends with it, and by the signals that end any worker."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.ui.conftest import environment

_WORKERS = """
import signal, sys
from weaklink.ui.importing.worker_process import WorkerProcess, outbox_to

def flood(pipe):
    with outbox_to(pipe, 1) as outbox:
        while True:
            outbox.put(b"a long answer" * 1_000)

signal.signal(signal.SIGTERM, signal.default_int_handler)
for _ in range(100):
    WorkerProcess(flood, is_copy=True).stop()  # before it has its own handlers, now and then
workers = [WorkerProcess(flood, is_copy=True) for _ in range(2)]
print("started", flush=True)
sys.stdin.readline()
for worker in workers:
    worker.stop()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, no worker is a copy")
@pytest.mark.parametrize("is_killed", [True, False])
def test_no_worker_outlives_its_parent(is_killed: bool, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _WORKERS],
        env=environment(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"started\n"
        if is_killed:
            os.kill(parent.pid, signal.SIGKILL)
            parent.wait(60)
        else:
            assert parent.communicate(b"\n", timeout=60) == (b"", b"")  # without a word of a worker that was ended
        until_s = time.monotonic() + 60
        while _has_processes(parent.pid) and time.monotonic() < until_s:
            time.sleep(0.05)
        assert not _has_processes(parent.pid)


def _has_processes(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
