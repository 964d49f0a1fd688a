"""Files read by several processes at once, and handed over in their order, as one process would.

Each worker reads every N-th file and sends the traces as rows, so that the process that writes has little to do with
them. It takes the files in order: what a worker has ready early waits, at most `_AHEAD` traces of it.
"""

import os
import pickle
import signal
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Queue
from threading import Thread

from ui.cli.redaction_options import redactor_of
from ui.importing.file_places import PlacedFile
from ui.importing.files import ReadItem, read_file, refused_reports

_MAX_READ_AHEAD = 64
_LARGE_BYTES = 1 << 20
_POLL_S = 0.01
_MIN_BYTES_PER_PROCESS = 4 << 20
_CONTEXT = get_context("spawn")  # a forked process would share the progress bar's threads and the database


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How files are read, as the command's options say it."""

    source: str | None = None
    patterns: tuple[str, ...] = ()
    no_redact: bool = False
    no_content: bool = False

    def read(self, files: Sequence[PlacedFile]) -> Iterator[Iterator[ReadItem]]:
        """What each file gives, in this process."""
        redacts = redactor_of(self.patterns, no_redact=self.no_redact, no_content=self.no_content)
        return (read_file(file, self.source, redacts) for file in files)


def job_count(files: Sequence[PlacedFile]) -> int:
    """How many processes are worth it: two where there is a second core and more to read than a process costs."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 2 if cores > 1 and sum(map(_size, files)) >= _MIN_BYTES_PER_PROCESS else 1


@contextmanager
def read_in_order(
    files: Sequence[PlacedFile], wanted: ImportOptions, jobs: int
) -> Iterator[Iterator[Iterator[ReadItem]]]:
    """What each file gives (see `read_file`), in order; each is to be gone through before the next one is asked for.

    With one job this process reads, with more so many others do; what is no file, this process reads with all that is
    read with it. A worker that dies costs its file, not the rest.
    """
    if jobs == 1 or any(file.content is not None for file in files):
        yield wanted.read(files)
        return
    count = min(jobs, len(files))
    with ExitStack() as running:
        workers = [running.enter_context(_worker(files[number::count], wanted)) for number in range(count)]
        yield (workers[number % count].next_file() for number in range(len(files)))


def _size(file: PlacedFile) -> int:
    try:
        return Path(file.path).stat().st_size
    except (OSError, ValueError):  # ValueError: a path that no file can have
        return 0


@contextmanager
def _worker(files: Sequence[PlacedFile], wanted: ImportOptions) -> Iterator["_Worker"]:
    worker = _Worker(files, wanted)
    try:
        yield worker
    finally:
        worker.stop()


class _Worker:
    """Another process, and the files that it still has to hand over."""

    def __init__(self, files: Sequence[PlacedFile], wanted: ImportOptions) -> None:
        self._left = deque(files)
        self._wanted = wanted
        self._start()

    def next_file(self) -> Iterator[ReadItem]:
        """What the next file gives; only its reports, with a refusal, where the process dies on it."""
        file = self._left.popleft()
        item: ReadItem | None = None
        while not isinstance(item, tuple):
            try:
                item = pickle.loads(self._inbox.recv_bytes())
            except (EOFError, OSError):
                item = refused_reports(file, f"{file.name}: {self._ended()}")
                self._start()
            assert item is not None
            yield item

    def stop(self) -> None:
        """End the process, whatever it is at."""
        self._inbox.close()
        self._process.terminate()
        self._process.join()

    def _start(self) -> None:
        self._inbox, outbox = _CONTEXT.Pipe(duplex=False)
        self._process = _CONTEXT.Process(target=_work, args=(list(self._left), self._wanted, outbox), daemon=True)
        before = signal.signal(
            signal.SIGINT, signal.SIG_IGN
        )  # Ctrl-C is for the process that writes; this one inherits
        try:
            self._process.start()
        finally:
            signal.signal(signal.SIGINT, before)
        outbox.close()

    def _ended(self) -> str:
        self._process.join()
        code = self._process.exitcode or 0
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"the process that read it ended before its time ({how}); `--jobs 1` reads it in the one that reports"


def _work(files: Sequence[PlacedFile], wanted: ImportOptions, outbox: Connection) -> None:
    """The life of a worker."""
    ready: Queue[bytes | None] = Queue(_MAX_READ_AHEAD)
    sender = Thread(target=_send, args=(ready, outbox), daemon=True)
    sender.start()
    for items in wanted.read(files):
        for item in items:
            written = pickle.dumps(item, pickle.HIGHEST_PROTOCOL)
            while len(written) > _LARGE_BYTES and ready.qsize():
                time.sleep(_POLL_S)  # of large ones only one waits
            ready.put(written)
    ready.put(None)
    sender.join()


def _send(ready: "Queue[bytes | None]", outbox: Connection) -> None:
    try:
        while (item := ready.get()) is not None:
            outbox.send_bytes(item)
    except OSError:  # nobody takes it any more
        os._exit(0)
