"""Imports files into the database once: those of which it has another version or none."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Protocol, TypeAlias

from weaklink.storage import Store
from weaklink.ui.cli.import_jobs import job_count, read_in_order
from weaklink.ui.cli.paths import with_groups
from weaklink.ui.importing.file_places import PlacedFile
from weaklink.ui.importing.files import FileReports, FileSaver, report_only
from weaklink.ui.importing.unchanged_files import ImportOptions, UnchangedFiles
from weaklink.ui.reports.import_report import FileReport
from weaklink.ui.views.styled_text import visible_line


def import_new(
    store: Store | None,
    files: Sequence[PlacedFile],
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
    due: list[PlacedFile] = []
    for file, report in unchanged.reports(files):
        if report is None:
            due.append(file)
        else:
            reports.append(report)

    def done(file: PlacedFile, report: FileReport) -> None:
        reports.append(report)
        unchanged.add(file, report)

    try:
        import_round(store, with_groups(due, options.source), options, jobs, done)
    finally:
        unchanged.flush()


FileCallback: TypeAlias = Callable[[PlacedFile, FileReport], object]


def import_round(
    store: Store | None,
    files: Sequence[PlacedFile],
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
    database = None if store is None else store.place.address
    with (
        read_in_order(files, options, jobs or job_count(files), database) as read,
        import_progress(len(files)) as progress,
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


def _report(done: FileCallback, file: PlacedFile, reports: FileReports) -> None:
    for one, report in zip((file, *map(PlacedFile, file.with_it)), reports, strict=True):
        done(one, report)


class ImportProgress(Protocol):
    """Receives the progress of an import."""

    def begin(self, path: str) -> None:
        """Begin the next file, or another step."""
        ...

    def advance(self) -> None:
        """Count a trace."""
        ...


@contextmanager
def import_progress(files: int) -> Iterator[ImportProgress]:
    """Show the progress of an import of this many files on stderr, if that is a terminal."""
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
