"""`weaklink record` as its users run it, in a process of its own; for the tests that go through it."""

import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.capture.upstream import DEADLINE_S
from tests.ui.conftest import START, environment

_BOUND = re.compile(r"records at (http://\S+)")


@dataclass(slots=True)
class RecordProcess:
    """The running command: where it listens, and what it said so far."""

    process: "subprocess.Popen[str]"
    url: str = ""
    said: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    ready: threading.Event = field(default_factory=threading.Event)

    def stop(self, how: signal.Signals = signal.SIGINT) -> int:
        """End it as a user would, and wait; its exit code."""
        self.process.send_signal(how)
        return self.process.wait(DEADLINE_S)

    def hear(self) -> None:
        """Read what it says, to its end; the body of a thread."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if match := _BOUND.search(line):
                self.url = match[1]
                self.ready.set()
        self.ready.set()

    def read(self) -> None:
        """Read its lines about requests, to its end; the body of a thread."""
        assert self.process.stdout is not None
        self.lines += self.process.stdout


@contextmanager
def recording_process(home: Path, *words: str, **variables: str) -> Iterator[RecordProcess]:
    """`weaklink record` with these words, on a free port; it listens when this gives it, and is gone afterwards."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [*START, "record", "--port", "0", *words],
        stdin=subprocess.DEVNULL,
        stdout=pipe,
        stderr=pipe,
        text=True,
        cwd=home,
        env=environment(home, **variables),
        start_new_session=True,
    )
    running = RecordProcess(process)
    threads = [threading.Thread(target=running.hear), threading.Thread(target=running.read)]
    for thread in threads:
        thread.start()
    try:
        assert running.ready.wait(DEADLINE_S)
        assert running.url, "".join(running.said)
        yield running
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(DEADLINE_S)
        for thread in threads:
            thread.join(DEADLINE_S)
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            stream.close()
