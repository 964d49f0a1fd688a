"""Imports files into the store in their order, once or repeatedly while folders are watched, with a progress bar."""

import signal
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from inspector.importers.records import layout_of
from inspector.importers.source import HEAD_BYTES
from storage import Store
from ui.cli.console import print_notice
from ui.cli.import_jobs import ImportOptions, job_count, read_in_order
from ui.importing.file_places import PlacedFile, files_below
from ui.importing.files import FileReports, FileSaver, report_only
from ui.reports.import_report import FileReport
from ui.views.styled_text import visible_line

_UNCHANGED_S = 1.0
_PATIENCE = 4
_BLOCK = 1 << 16
_EVERY_S = 1.0


class _FileState(Struct, frozen=True):
    """What the file system says of a file; another one is another content."""

    inode: int
    size_bytes: int
    modified_ns: int


class _ReadFile(Struct, frozen=True):
    """What was handed out of a file: as it was then, how much of it, and when it may be looked at again."""

    state: _FileState
    size_bytes: int
    again_at_s: float = 0.0

    def is_all_of(self, state: _FileState) -> bool:
        """Whether nothing has come since."""
        return self.state == state and self.size_bytes == state.size_bytes


class PathWatcher:
    """Finds what is to be imported below some paths; a path may come to be there later.

    A file is handed out when it is at rest, unchanged since the last look; one of JSON lines also while it grows, as
    far as its lines are whole. A large file that grows all the time is not read again before four times as long has
    passed as reading it took. `clock` counts seconds and never goes back.
    """

    def __init__(self, paths: Sequence[str], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._paths = paths
        self._clock = clock
        self._seen: dict[str, _FileState] = {}
        self._taken: dict[str, _ReadFile] = {}

    def due(self) -> list[PlacedFile]:
        """What has appeared or grown since it was last handed out."""
        now_s = self._clock()
        seen: dict[str, _FileState] = {}
        found = []
        for path in files_below(self._paths):
            state = _state(path)
            if state is None or path in seen:
                continue
            seen[path] = state
            file = self._if_due(path, state, now_s)
            if file is not None:
                found.append(file)
        self._seen = seen
        return found

    def took(self, file: PlacedFile, seconds: float) -> None:
        """Reading a file took so long."""
        known = self._taken.get(file.path)
        if known is not None:
            self._taken[file.path] = replace(known, again_at_s=self._clock() + _PATIENCE * seconds)

    def forget(self) -> None:
        """Everything is to be imported again."""
        self._taken.clear()

    def _if_due(self, path: str, state: _FileState, now_s: float) -> PlacedFile | None:
        taken = self._taken.get(path)
        if taken is not None and (now_s < taken.again_at_s or taken.is_all_of(state)):
            return None
        before = self._seen.get(path)
        is_at_rest = before == state or (before is None and time.time() - state.modified_ns / 1e9 > _UNCHANGED_S)
        size_bytes = state.size_bytes if is_at_rest else _whole_lines_bytes(path, state.size_bytes)
        has_more = taken is None or taken.state.inode != state.inode or taken.size_bytes != size_bytes
        if not size_bytes or not (has_more or is_at_rest):
            return None
        self._taken[path] = _ReadFile(state, size_bytes)
        return PlacedFile(path, size_bytes=size_bytes)


def _state(path: str) -> _FileState | None:
    try:
        found = Path(path).stat()
    except (OSError, ValueError):  # ValueError: a path that no file can have
        return None
    if not stat.S_ISREG(found.st_mode):  # a pipe has no size, and opening it may wait forever
        return None
    return _FileState(found.st_ino, found.st_size, found.st_mtime_ns)


def _whole_lines_bytes(path: str, size_bytes: int) -> int:
    """How many bytes of a file of JSON lines end with a line; 0 for a file of another layout, and where none does."""
    try:
        with Path(path).open("rb") as stream:
            head = stream.read(min(HEAD_BYTES, size_bytes))
            if not head.startswith(b"{") or layout_of(head) != "line":
                return 0
            end = size_bytes
            while end > 0:
                start = max(end - _BLOCK, 0)
                stream.seek(start)
                at = stream.read(end - start).rfind(b"\n")
                if at >= 0:
                    return start + at + 1
                end = start
    except OSError:
        return 0
    return 0


FileCallback: TypeAlias = Callable[[PlacedFile, FileReport], object]


def import_round(
    store: Store | None, files: Sequence[PlacedFile], wanted: ImportOptions, jobs: int | None, done: FileCallback
) -> None:
    """Read the files into the store, or only read them where there is none, and call `done` for each with its report.

    Without `jobs` as many processes read as are worth it. StoreError where the store refuses.
    """
    wanted = replace(wanted, database=None if store is None else store.place.address)
    with read_in_order(files, wanted, jobs or job_count(files)) as read, import_progress(len(files)) as progress:
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
        progress.begin("text index")
        store.catch_up()


def _report(done: FileCallback, file: PlacedFile, reports: FileReports) -> None:
    for one, report in zip((file, *map(PlacedFile, file.with_it)), reports, strict=True):
        done(one, report)


def watch_paths(
    store: Store,
    paths: Sequence[str],
    wanted: ImportOptions,
    jobs: int | None,
    put: Callable[[list[FileReport]], object],
) -> None:
    """Import what appears or grows, until Ctrl-C or SIGTERM; `put` is called with the reports of each round.

    A file that is refused again and again for the same reason is told once. Where the database is moved away or deleted
    a new one is made, and everything is imported again.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    print_notice(f"watching {', '.join(paths)}; Ctrl-C ends it")
    watch = PathWatcher(paths)
    imported = 0
    refused: dict[str, str | None] = {}

    def put_news(reports: list[FileReport]) -> None:
        news = [one for one in reports if one.refused is None or refused.get(one.path) != one.refused]
        refused.update((one.path, one.refused) for one in reports)
        if news:
            put(news)

    try:
        while True:
            if store.make_again_if_gone():
                print_notice("the database was moved away or deleted; a new one is filled")
                watch.forget()
            files = watch.due()
            imported += _round(store, files, watch, wanted=wanted, jobs=jobs, put=put_news)
            if not files:
                time.sleep(_EVERY_S)
    except KeyboardInterrupt:
        print_notice(f"no longer watching; imports of files: {imported:,}")


def _round(
    store: Store,
    files: Sequence[PlacedFile],
    watch: PathWatcher,
    *,
    wanted: ImportOptions,
    jobs: int | None,
    put: Callable[[list[FileReport]], object],
) -> int:
    """How many files were read."""
    reports: list[FileReport] = []
    began_s = time.monotonic()

    def done(file: PlacedFile, report: FileReport) -> None:
        nonlocal began_s
        now_s = time.monotonic()
        watch.took(file, now_s - began_s)
        began_s = now_s
        reports.append(report)

    if not files:
        return 0
    try:
        import_round(store, files, wanted, jobs, done)
    finally:
        if reports:
            put(reports)
    return sum(report.refused is None for report in reports)


class ImportProgress(Protocol):
    """Is told how far the import is."""

    def begin(self, path: str) -> None:
        """The next file, or what else comes next."""
        ...

    def advance(self) -> None:
        """One more trace."""
        ...


@contextmanager
def import_progress(files: int) -> Iterator[ImportProgress]:
    """Shows how far an import of this many files is, on stderr where that is a terminal."""
    if not sys.stderr.isatty():
        yield _NoProgress()
        return
    from rich.console import Console  # noqa: PLC0415  # Rich takes 50 ms, and only a terminal needs it
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415  # the same

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[traces]} traces"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=files, traces=0)

        class ProgressBarReport:
            traces = 0
            done = -1

            def begin(self, path: str) -> None:
                self.done += 1
                bar.update(task, description=visible_line(path)[-40:], completed=self.done)

            def advance(self) -> None:
                self.traces += 1
                bar.update(task, traces=self.traces)

        yield ProgressBarReport()


class _NoProgress:
    def begin(self, path: str) -> None:
        """Nothing to show."""

    def advance(self) -> None:
        """Nothing to show."""
