"""One round of an import, all files into the store in their order; and round after round, of what is watched."""

import signal
import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

from storage import Store
from ui.cli.import_jobs import ImportOptions, jobs_for, readings
from ui.cli.import_progress import import_progress
from ui.cli.import_watching import PathWatcher
from ui.cli.upkeep import say
from ui.importing.files import report_only, save_file
from ui.importing.placed_file import PlacedFile
from ui.reports.import_report import FileReport

_EVERY_S = 1.0
Done: TypeAlias = Callable[[PlacedFile, FileReport], object]


def import_round(
    store: Store | None, files: Sequence[PlacedFile], wanted: ImportOptions, jobs: int | None, done: Done
) -> None:
    """Read the files into the store, or only read them where there is none, and call `done` for each with its report.

    Without `jobs` as many processes read as are worth it. StoreError where the store refuses.
    """
    with readings(files, wanted, jobs or jobs_for(files)) as read, import_progress(len(files)) as progress:
        for file, items in zip(files, read, strict=True):
            progress.begin(file.name)
            if store is None:
                reports = report_only(items, on_trace=progress.advance)
            else:
                reports = save_file(store, items, on_trace=progress.advance)
            for one, report in zip((file, *map(PlacedFile, file.with_it)), reports, strict=True):
                done(one, report)
        if store is not None:
            progress.begin("text index")
            store.catch_up()


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
    say(f"watching {', '.join(paths)}; Ctrl-C ends it")
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
                say("the database was moved away or deleted; a new one is filled")
                watch.forget()
            files = watch.due()
            imported += _round(store, files, watch, wanted=wanted, jobs=jobs, put=put_news)
            if not files:
                time.sleep(_EVERY_S)
    except KeyboardInterrupt:
        say(f"no longer watching; imports of files: {imported:,}")


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
