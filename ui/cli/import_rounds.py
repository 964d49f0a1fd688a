"""Imports files into the database once: those of which it has another version or none."""

import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from weaklink.storage import Store
from weaklink.ui.cli.import_jobs import job_count, read_in_order
from weaklink.ui.cli.paths import with_groups
from weaklink.ui.importing.file_places import PlacedFile
from weaklink.ui.importing.files import FileReports, FileSaver, report_only
from weaklink.ui.importing.unchanged_files import ImportOptions, UnchangedFiles
from weaklink.ui.reports.import_report import FileReport
from weaklink.ui.views.styled_text import visible_line

if TYPE_CHECKING:
    from rich.progress import Progress


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


def _report(done: FileCallback, file: PlacedFile, reports: FileReports) -> None:
    for one, report in zip((file, *map(PlacedFile, file.with_it)), reports, strict=True):
        done(one, report)


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
