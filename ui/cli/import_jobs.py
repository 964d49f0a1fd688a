"""Reads files in several processes, and yields their records in the order in which one process would.

Each worker reads some of the files, and every N-th trace of a file that is a large part of them all: it reads the whole
file, which is cheap, and inspects its share. An agent's session is one trace in its file, so of many sessions each is
read by one worker. Workers send traces as rows, so that the writing process has little left to do, and in
batches, so that column names are sent once per batch. The writing process takes files and traces in order; traces that
a worker has ready early wait, at most `_MAX_READ_AHEAD` batches of `_BATCH_RECORDS` traces.
"""

import pickle
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import lru_cache
from itertools import cycle
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeAlias

from weaklink.inspector.formats.format_table import register_table
from weaklink.storage import open_store
from weaklink.ui.cli.format_options import register_configured_formats
from weaklink.ui.cli.redaction_options import redactor_of
from weaklink.ui.importing.file_places import PlacedFile
from weaklink.ui.importing.files import (
    FileRecord,
    ReadEnd,
    ReadItem,
    ReadRecord,
    RecordShare,
    no_inspection,
    read_records,
    with_reports,
)
from weaklink.ui.importing.unchanged_files import ImportOptions
from weaklink.ui.importing.worker_process import WorkerProcess, available_cores, outbox_to

_BATCH_RECORDS, _BATCH_BYTES = 16, 1 << 18  # records that are sent at once, and bytes of their texts
_MAX_READ_AHEAD = 16  # so that a worker goes on with small files while another one reads a large one
_LARGE_BYTES = 1 << 20
_POLL_S = 0.01
_MIN_BYTES_PER_PROCESS = 4 << 20
_MAX_JOBS = 6  # writing takes a sixth to a fifth of the time of reading, in one process
_SHARED_BYTES = 1 << 20  # size from which several processes may read a file
_FILE_BYTES = 4_096  # cost of opening and recognising a file, as bytes read


_redactor = lru_cache(1)(redactor_of)
"""A redactor knows the texts without secrets: of a session that grew only the new ones are searched."""

ReadTask: TypeAlias = tuple[PlacedFile, RecordShare]
"""A file, and the share of its records to inspect."""


def job_count(files: Sequence[PlacedFile]) -> int:
    """The number of processes that pays off: one a core, as far as there is enough to read; 1 for less than 4 MB."""
    size = sum(map(_size, files))
    jobs = max(size // _MIN_BYTES_PER_PROCESS, 2) if size >= _MIN_BYTES_PER_PROCESS else 1
    return min(jobs, available_cores(), _MAX_JOBS)


@contextmanager
def read_in_order(
    files: Sequence[PlacedFile], options: ImportOptions, jobs: int, database: str | None = None
) -> Iterator[Iterator[Iterator[ReadItem]]]:
    """The items of each file (see `read_file`), in order; consume those of a file before requesting the next.

    Traces that `database` has are not inspected again. With one job this process reads, with more jobs that many
    workers read. If an input is not a file, this process reads everything. A worker that dies loses its current file,
    not the rest.
    """
    if jobs == 1 or any(file.content is not None for file in files):
        yield map(with_reports, files, _read(((file, RecordShare()) for file in files), options, database))
        return
    readers = _readers(files, jobs)
    count = max((number + 1 for numbers in readers for number in numbers), default=0)
    with ExitStack() as running:
        workers = []
        for number in range(count):
            tasks = [
                (file, RecordShare(numbers.index(number), len(numbers)))
                for file, numbers in zip(files, readers, strict=True)
                if number in numbers
            ]
            workers.append(_Worker(tasks, options, database))
            running.callback(workers[-1].stop)
        yield (
            with_reports(file, _in_turn([workers[number] for number in numbers]))
            for file, numbers in zip(files, readers, strict=True)
        )


def _read(tasks: Iterable[ReadTask], options: ImportOptions, database: str | None) -> Iterator[Iterator[FileRecord]]:
    """The records of each task, read in this process."""
    redacts = _redactor(options.patterns, no_redact=options.no_redact, no_content=options.no_content)
    register_configured_formats(Path.cwd())  # for a worker, which has just begun
    table = options.format_table
    format = "" if table is None else register_table(table, table.name)
    with nullcontext() if database is None else open_store(database, read_only=True) as store:
        kept = no_inspection if store is None or not store.traces(limit=1) else store.stored_inspection
        for file, share in tasks:
            yield read_records(file, options.source, redacts, kept, share, project=options.project, format=format)


def _readers(files: Sequence[PlacedFile], jobs: int) -> list[range]:
    """The workers that read each file: all of them one that is large beside the others, else the least loaded one."""
    found: list[range] = []
    loads = [0] * jobs
    sizes = [_size(file) for file in files]
    shared_bytes = max(_SHARED_BYTES, sum(sizes) // (2 * jobs))
    for size in sizes:
        if size >= shared_bytes:
            found.append(range(jobs))
        else:
            least = loads.index(min(loads))
            loads[least] += size + _FILE_BYTES
            found.append(range(least, least + 1))
    return found


def _in_turn(workers: Sequence["_Worker"]) -> Iterator[FileRecord]:
    """The records of a file in order, taken from its workers in turn, and the file's end."""
    reading = [worker.next_task() for worker in workers]
    for records in cycle(reading):
        record = next(records)
        if isinstance(record, ReadEnd):
            for rest in reading:  # empty, unless one of the processes died
                deque(rest, maxlen=0)
            yield record
            return
        yield record


def _size(file: PlacedFile) -> int:
    try:
        return Path(file.path).stat().st_size
    except (OSError, ValueError):  # ValueError: a path that no file can have
        return 0


class _Worker:
    """A worker process, and the tasks that it still has to do."""

    def __init__(self, tasks: Sequence[ReadTask], options: ImportOptions, database: str | None) -> None:
        self._left = deque(tasks)
        self._options, self._database = options, database
        self._start()

    def _start(self) -> None:
        self._process = WorkerProcess(_read_tasks, list(self._left), self._options, self._database)

    def next_task(self) -> Iterator[FileRecord]:
        """The records of the next task; a ReadEnd that refuses its file if the process dies."""
        file, _ = self._left.popleft()
        records: Sequence[FileRecord] = ()
        while not (records and isinstance(records[-1], ReadEnd)):
            try:
                records = self._process.receive()
            except (EOFError, OSError):
                ended = f"the process that read it exited unexpectedly ({self._process.ended()})"
                refused = f"{file.name}: {ended}; `--jobs 1` reads it in the main process"
                records = (ReadEnd(refused=refused),)
                self._start()
            yield from records

    def stop(self) -> None:
        """Terminate the process, whatever it is doing."""
        self._process.stop()


def _read_tasks(tasks: Sequence[ReadTask], options: ImportOptions, database: str | None, pipe: Connection) -> None:
    """The main function of a worker process."""
    with outbox_to(pipe, _MAX_READ_AHEAD) as outbox:
        for records in _read(tasks, options, database):
            for batch in _batches(records):
                pickled = pickle.dumps(batch, pickle.HIGHEST_PROTOCOL)
                while len(pickled) > _LARGE_BYTES and outbox.qsize():
                    time.sleep(_POLL_S)  # a large batch is queued only if no other one waits
                outbox.put(pickled)


def _batches(records: Iterable[FileRecord]) -> Iterator[list[FileRecord]]:
    """The records of a file in batches; the last batch contains the file's end."""
    batch: list[FileRecord] = []
    size = 0
    for record in records:
        batch.append(record)
        size += record.draft.size if isinstance(record, ReadRecord) and record.draft is not None else 0
        if len(batch) >= _BATCH_RECORDS or size > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
