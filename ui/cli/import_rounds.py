"""Imports files into the database once: those of which it has another version or none.

One process writes; it reads, too, or others do. Each worker reads some of the files, and every N-th trace of a file
that is a large part of them all: it reads the whole file, which is cheap, and inspects its share. An agent's session is
one trace in its file, so of many sessions each is read by one worker. Workers send traces as rows, so that the writing
process has little left to do, and in batches, so that column names are sent once per batch. The writing process takes
files and traces in order; traces that a worker has ready early wait, at most `_MAX_READ_AHEAD` batches of
`_BATCH_RECORDS` traces.
"""

import pickle
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from functools import lru_cache, partial
from itertools import chain, cycle
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from weaklink.inspector.errors import StoreError
from weaklink.inspector.formats.format_table import register_table
from weaklink.storage.store import Store, open_store
from weaklink.ui.cli.format_options import register_configured_formats
from weaklink.ui.cli.paths import with_groups
from weaklink.ui.cli.redaction_options import redactor_of
from weaklink.ui.importing.files import (
    FileRecord,
    FileReports,
    FileSaver,
    ReadEnd,
    ReadItem,
    ReadRecord,
    RecordShare,
    no_inspection,
    read_records,
    report_only,
    with_reports,
)
from weaklink.ui.importing.input_files import InputFile
from weaklink.ui.importing.unchanged_files import ImportOptions, UnchangedFiles
from weaklink.ui.importing.worker_process import WorkerProcess, available_cores, outbox_to
from weaklink.ui.reports.import_report import FileReport
from weaklink.ui.views.styled_text import visible_line

if TYPE_CHECKING:
    from rich.progress import Progress

_BATCH_RECORDS, _BATCH_BYTES = 16, 1 << 18  # records that are sent at once, and bytes of their texts
_MAX_READ_AHEAD = 16  # so that a worker goes on with small files while another one reads a large one
_LARGE_BYTES = 1 << 20
_POLL_S = 0.01
_MIN_BYTES_PER_PROCESS = 4 << 20
_MAX_JOBS = 6  # writing and the text index, in one process, take an eighth of the rest (2026-11-30)
_SHARED_BYTES = 1 << 20  # size from which several processes may read a file
_FILE_BYTES = 4_096  # cost of opening and recognising a file, as bytes read


_redactor = lru_cache(1)(redactor_of)
"""A redactor knows the texts without secrets: of a session that grew only the new ones are searched."""

ReadTask: TypeAlias = tuple[InputFile, RecordShare]
"""A file, and the share of its records to inspect."""


def import_new(
    store: Store | None,
    files: Sequence[InputFile],
    options: ImportOptions,
    jobs: int | None,
    reports: list[FileReport],
) -> None:
    """Import the files of which the database has another version or none, and add the reports of all."""
    if store is None:
        grouped = with_groups(files, options.source)
        import_round(None, grouped, options, jobs, lambda _, report: reports.append(report))
        return
    unchanged = UnchangedFiles(store, options)
    due: list[InputFile] = []
    for file, report in unchanged.reports(files):
        if report is None:
            due.append(file)
        else:
            reports.append(report)

    def done(file: InputFile, report: FileReport) -> None:
        reports.append(report)
        unchanged.add(file, report)

    try:
        import_round(store, with_groups(due, options.source), options, jobs, done)
    finally:
        unchanged.flush()


FileCallback: TypeAlias = Callable[[InputFile, FileReport], object]


def import_round(
    store: Store | None,
    files: Sequence[InputFile],
    options: ImportOptions,
    jobs: int | None,
    done: FileCallback,
    *,
    index: bool = True,
) -> None:
    """Import files into the store, or only read them without a store; call `done` with each file and its report.

    Without `jobs`, `job_count` decides how many processes read. Without `index`, the text index is left to the caller.
    Raises StoreError if the store refuses.
    """
    database = None if store is None else store.location.address
    jobs = jobs or job_count(files)
    if store is not None and jobs > 1:
        store.close()  # workers are copies of this process
    with (
        read_in_order(files, options, jobs, database) as read,
        closing(ImportProgress(len(files))) as progress,
    ):
        if store is None:
            for file, items in zip(files, read, strict=True):
                progress.begin(file.name)
                _report(done, file, report_only(items, on_trace=progress.advance))
            return
        saver = FileSaver(store, partial(_report, done))
        try:
            for file, items in zip(files, read, strict=True):
                progress.begin(file.name)
                saver.save(file, items, on_trace=progress.advance)
        finally:  # Ctrl-C keeps what is finished
            saver.flush()
        if index:
            progress.begin("text index")
            store.search.index_pending()


def _report(done: FileCallback, file: InputFile, reports: FileReports) -> None:
    for each_file, report in zip((file, *map(InputFile, file.with_it)), reports, strict=True):
        done(each_file, report)


class ImportProgress:
    """Shows the progress of an import of this many files on stderr, if that is a terminal, until it is closed."""

    def __init__(self, files: int) -> None:
        self._files, self._traces = -1, 0
        self._bar: Progress | None = None
        if not sys.stderr.isatty():
            return
        from rich import progress  # noqa: PLC0415  # Rich takes 50 ms, and only a terminal needs it
        from rich.console import Console  # noqa: PLC0415  # the same

        columns = (
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TextColumn("{task.fields[traces]} traces"),
        )
        self._bar = progress.Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("", total=files, traces=0)
        self._bar.start()

    def begin(self, path: str) -> None:
        """Begin the next file, or another step."""
        self._files += 1
        if self._bar is not None:
            self._bar.update(self._task, description=visible_line(path)[-40:], completed=self._files)

    def advance(self) -> None:
        """Count a trace."""
        self._traces += 1
        if self._bar is not None:
            self._bar.update(self._task, traces=self._traces)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()


def job_count(files: Sequence[InputFile]) -> int:
    """The number of processes that pays off: one a core, as far as there is enough to read; 1 for less than 4 MB."""
    size = sum(map(_size, files))
    jobs = max(size // _MIN_BYTES_PER_PROCESS, 2) if size >= _MIN_BYTES_PER_PROCESS else 1
    return min(jobs, available_cores(), _MAX_JOBS)


@contextmanager
def read_in_order(
    files: Sequence[InputFile], options: ImportOptions, jobs: int, database: str | None = None
) -> Iterator[Iterator[Iterator[ReadItem]]]:
    """The items of each file (see `read_file`), in order; consume those of a file before requesting the next.

    Traces that `database` has are not inspected again. With one job this process reads, with more jobs that many
    workers read, but for a small first file: the workers are copies of this process, with the patterns that it compiled
    for that one. If an input is not a file, this process reads everything. A worker that dies loses its current file,
    not the rest. Raises StoreError if the database cannot be read.
    """
    if jobs == 1 or any(file.content is not None for file in files):
        yield map(with_reports, files, _read(((file, RecordShare()) for file in files), options, database))
        return
    _load()
    first = [file for file in files[:1] if _size(file) <= _SHARED_BYTES]
    reading = _read([(file, RecordShare()) for file in first], options, database) if first else ()
    records = [list(read) for read in reading]
    files = files[len(first) :]
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
        rest = (
            with_reports(file, _in_turn([workers[number] for number in numbers]))
            for file, numbers in zip(files, readers, strict=True)
        )
        yield chain(map(with_reports, first, records), rest)


def _load() -> None:
    """Load what reading a file loads, so that the copies of this process need not."""
    from weaklink.inspector.importers.registry import importers  # noqa: PLC0415  # heavy, and with one job loaded late
    from weaklink.inspector.inspection import inspect_trace  # noqa: F401, PLC0415  # the same

    importers()


def _read(tasks: Iterable[ReadTask], options: ImportOptions, database: str | None) -> Iterator[Iterator[FileRecord]]:
    """The records of each task, read in this process."""
    redacts = _redactor(options.patterns, no_redact=options.no_redact, no_content=options.no_content)
    register_configured_formats(Path.cwd())  # for a worker, which has just begun
    table = options.format_table
    format = "" if table is None else register_table(table, table.name)
    with nullcontext() if database is None else open_store(database, read_only=True) as store:
        is_empty = store is None or not store.paging().version().newest_id
        stored = no_inspection if store is None or is_empty else store.stored_inspection
        for file, share in tasks:
            yield read_records(file, options.source, redacts, stored, share, project=options.project, format=format)


def _readers(files: Sequence[InputFile], jobs: int) -> list[range]:
    """The workers that read each file: all of them one that is large beside the others, else the least loaded one."""
    shares: list[range] = []
    loads = [0] * jobs
    sizes = [_size(file) for file in files]
    shared_bytes = max(_SHARED_BYTES, sum(sizes) // (2 * jobs))
    for size in sizes:
        if size >= shared_bytes:
            shares.append(range(jobs))
        else:
            least = loads.index(min(loads))
            loads[least] += size + _FILE_BYTES
            shares.append(range(least, least + 1))
    return shares


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


def _size(file: InputFile) -> int:
    try:
        return Path(file.path).stat().st_size
    except (OSError, ValueError):  # ValueError: a path that no file can have
        return 0


class _Worker:
    """A worker process, and the tasks that it still has to do."""

    def __init__(self, tasks: Sequence[ReadTask], options: ImportOptions, database: str | None) -> None:
        self._left = deque(tasks)
        self._options, self._database = options, database
        self._process = self._started(is_copy=True)

    def _started(self, *, is_copy: bool = False) -> WorkerProcess:
        return WorkerProcess(_read_tasks, list(self._left), self._options, self._database, is_copy=is_copy)

    def next_task(self) -> Iterator[FileRecord]:
        """The records of the next task; a ReadEnd that refuses its file if the process dies.

        Raises StoreError if the process cannot read the database.
        """
        file, _ = self._left.popleft()
        records: Sequence[FileRecord] = ()
        while not (records and isinstance(records[-1], ReadEnd)):
            try:
                answer: Sequence[FileRecord] | StoreError = self._process.receive()
                if isinstance(answer, StoreError):
                    raise answer
                records = answer
            except (EOFError, OSError):
                ended = f"the process that read it exited unexpectedly ({self._process.ended()})"
                refused = f"{file.name}: {ended}; `--jobs 1` reads it in the main process"
                records = (ReadEnd(refused=refused),)
                self._process = self._started()
            yield from records

    def stop(self) -> None:
        """Terminate the process, whatever it is doing."""
        self._process.stop()


def _read_tasks(tasks: Sequence[ReadTask], options: ImportOptions, database: str | None, pipe: Connection) -> None:
    """The main function of a worker process; if it cannot read the database, the StoreError is its last answer."""
    with outbox_to(pipe, _MAX_READ_AHEAD) as outbox:
        try:
            for records in _read(tasks, options, database):
                for batch in _batches(records):
                    pickled = pickle.dumps(batch, pickle.HIGHEST_PROTOCOL)
                    while len(pickled) > _LARGE_BYTES and outbox.qsize():
                        time.sleep(_POLL_S)  # a large batch is queued only if no other one waits
                    outbox.put(pickled)
        except StoreError as error:
            outbox.put(pickle.dumps(error))


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
