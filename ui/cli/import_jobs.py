"""Files read by several processes at once, and handed over in their order, as one process would.

Each worker reads some of the small files, and of a large file every N-th trace: it reads all of the file, which costs
little, and inspects its own share. It sends the traces as rows, so that the process that writes has little to do with
them, several at once: their columns' names are sent once then. That process takes files and traces in their order: what
a worker has ready early waits, at most `_MAX_READ_AHEAD` times `_TOGETHER` traces.

Workers are spawned. A server to fork them from (`forkserver`) finds modules by its own path, not by that of this
process, and fails in a folder with an `inspector/` of its own.
"""

import gc
import os
import pickle
import signal
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from itertools import cycle
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import TypeAlias

from msgspec import Struct

from storage import open_store
from ui.cli.redaction_options import redactor_of
from ui.importing.file_places import PlacedFile
from ui.importing.files import (
    FileRecord,
    ReadEnd,
    ReadItem,
    ReadRecord,
    RecordShare,
    nothing_kept,
    read_records,
    with_reports,
)

_TOGETHER, _BYTES_TOGETHER = 16, 1 << 18  # records that are sent at once, and bytes of their texts
_MAX_READ_AHEAD = 64 // _TOGETHER
_LARGE_BYTES = 1 << 20
_POLL_S = 0.01
_MIN_BYTES_PER_PROCESS = 4 << 20
_SHARED_BYTES = 1 << 20  # of a file that is worth several processes
_FILE_BYTES = 4_096  # what opening and recognising a file costs, in bytes to read
_ALLOCATIONS = 50_000
_CONTEXT = get_context("spawn")  # a forked process would share the progress bar's threads and the database


ReadTask: TypeAlias = tuple[PlacedFile, RecordShare]
"""A file, and which of its records are to be inspected."""


class ImportOptions(Struct, frozen=True):
    """How files are read, as the command's options say it."""

    source: str | None = None
    patterns: tuple[str, ...] = ()
    no_redact: bool = False
    no_content: bool = False
    database: str | None = None

    def read(self, tasks: Iterable[ReadTask]) -> Iterator[Iterator[FileRecord]]:
        """What each task gives, in this process. What the `database` keeps already is not inspected again."""
        redacts = redactor_of(self.patterns, no_redact=self.no_redact, no_content=self.no_content)
        with nullcontext() if self.database is None else open_store(self.database, read_only=True) as store:
            kept = nothing_kept if store is None or not store.traces(limit=1) else store.kept_inspection
            for file, share in tasks:
                yield read_records(file, self.source, redacts, kept, share)


def collect_rarely() -> None:
    """Let the garbage collector look for cycles rarely: traces have none, and looking takes a twelfth of the time."""
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS)


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
        yield map(with_reports, files, wanted.read((file, RecordShare()) for file in files))
        return
    readers = _readers(files, jobs)
    count = max((number + 1 for some in readers for number in some), default=0)
    with ExitStack() as running:
        workers = [
            running.enter_context(_worker(list(_tasks(files, readers, number)), wanted)) for number in range(count)
        ]
        yield (
            with_reports(file, _in_turn([workers[number] for number in some]))
            for file, some in zip(files, readers, strict=True)
        )


def _readers(files: Sequence[PlacedFile], jobs: int) -> list[range]:
    """The workers that read each file: all of them a large one, a small one that which has the least to read so far."""
    found: list[range] = []
    loads = [0] * jobs
    for file in files:
        size = _size(file)
        if size >= _SHARED_BYTES:
            found.append(range(jobs))
        else:
            least = loads.index(min(loads))
            loads[least] += size + _FILE_BYTES
            found.append(range(least, least + 1))
    return found


def _tasks(files: Sequence[PlacedFile], readers: Sequence[range], number: int) -> Iterator[ReadTask]:
    """What one worker reads."""
    for file, some in zip(files, readers, strict=True):
        if number in some:
            yield file, RecordShare(some.index(number), len(some))


def _in_turn(workers: Sequence["_Worker"]) -> Iterator[FileRecord]:
    """The records of a file, of which each worker reads every so many, in their order, and the file's end."""
    reading = [worker.next_task() for worker in workers]
    for records in cycle(reading):
        record = next(records)
        if isinstance(record, ReadEnd):
            for rest in reading:  # nothing, unless one of the processes died
                deque(rest, maxlen=0)
            yield record
            return
        yield record


def _size(file: PlacedFile) -> int:
    try:
        return Path(file.path).stat().st_size
    except (OSError, ValueError):  # ValueError: a path that no file can have
        return 0


@contextmanager
def _worker(tasks: Sequence[ReadTask], wanted: ImportOptions) -> Iterator["_Worker"]:
    worker = _Worker(tasks, wanted)
    try:
        yield worker
    finally:
        worker.stop()


class _Worker:
    """Another process, and the tasks that it still has to do."""

    def __init__(self, tasks: Sequence[ReadTask], wanted: ImportOptions) -> None:
        self._left = deque(tasks)
        self._wanted = wanted
        self._start()

    def next_task(self) -> Iterator[FileRecord]:
        """What the next task gives; an end that refuses its file where the process dies on it."""
        file, _ = self._left.popleft()
        records: Sequence[FileRecord] = ()
        while not (records and isinstance(records[-1], ReadEnd)):
            try:
                records = pickle.loads(self._inbox.recv_bytes())
            except (EOFError, OSError):
                records = (ReadEnd(refused=f"{file.name}: {self._ended()}"),)
                self._start()
            yield from records

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


def _work(tasks: Sequence[ReadTask], wanted: ImportOptions, outbox: Connection) -> None:
    """The life of a worker."""
    ready: Queue[bytes | None] = Queue(_MAX_READ_AHEAD)
    sender = Thread(target=_send, args=(ready, outbox), daemon=True)
    sender.start()
    collect_rarely()
    for records in wanted.read(tasks):
        for some in _together(records):
            written = pickle.dumps(some, pickle.HIGHEST_PROTOCOL)
            while len(written) > _LARGE_BYTES and ready.qsize():
                time.sleep(_POLL_S)  # of large ones only one waits
            ready.put(written)
    ready.put(None)
    sender.join()


def _together(records: Iterable[FileRecord]) -> Iterator[list[FileRecord]]:
    """The records of a file, several at once, the last of them with its end."""
    some: list[FileRecord] = []
    size = 0
    for record in records:
        some.append(record)
        size += record.draft.size if isinstance(record, ReadRecord) and record.draft is not None else 0
        if len(some) >= _TOGETHER or size > _BYTES_TOGETHER:
            yield some
            some, size = [], 0
    if some:
        yield some


def _send(ready: "Queue[bytes | None]", outbox: Connection) -> None:
    try:
        while (item := ready.get()) is not None:
            outbox.send_bytes(item)
    except OSError:  # nobody takes it any more
        os._exit(0)
