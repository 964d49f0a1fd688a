"""`weaklink import`: import log files into the database, and report every file and every skipped record.

With `--to DIR`, write the results of blocks into a folder: the plan, the totals, and the blocks that were set aside.
"""

import stat
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Protocol, TypeAlias

import click
from msgspec import Struct, structs

from weaklink.inspector.importers.records import layout_of
from weaklink.inspector.importers.source import HEAD_BYTES
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json
from weaklink.storage import Store, open_store
from weaklink.ui.cli.console import interrupt_on_signals, line_width, print_lines, print_notice, progress_bar
from weaklink.ui.cli.discovery import discovered_paths
from weaklink.ui.cli.files import STDIN
from weaklink.ui.cli.import_jobs import ImportOptions, job_count, read_in_order
from weaklink.ui.cli.paths import separate_files, with_groups
from weaklink.ui.cli.redaction_options import redactor_of
from weaklink.ui.cli.server_parser_options import kept_table
from weaklink.ui.cli.store_options import LOCK_TIMEOUT_S
from weaklink.ui.importing.block_jobs import collect_rarely, run_blocks
from weaklink.ui.importing.block_records import plan_traces
from weaklink.ui.importing.engine import EngineOptions, engine_of
from weaklink.ui.importing.file_places import PlacedFile, files_below
from weaklink.ui.importing.files import FileReports, FileSaver, report_only
from weaklink.ui.importing.result_tables import BlockImporter, BlockResult, ResultsFolder
from weaklink.ui.importing.unchanged_files import UnchangedFiles
from weaklink.ui.reports.import_report import FileReport, import_lines, report_object
from weaklink.ui.views.styled_text import counted, visible_line

_MOST_NOTES = 6

_FAILED, _COULD_NOT_RUN = 1, 2
_MOST_PRINTED = 20
_ELSEWHERE = "its results are on another machine; name a folder that all nodes share, or a URL"

_UNCHANGED_S = 1.0
_REREAD_FACTOR = 4
_BLOCK = 1 << 16
_POLL_S = 1.0


@click.pass_context
def import_paths(
    ctx: click.Context,
    paths: tuple[str, ...],
    source: str | None,
    where: str | None,
    patterns: tuple[str, ...],
    *,
    discover: bool,
    since: str | None,
    project: str | None,
    no_redact: bool,
    no_content: bool,
    watch: bool,
    dry_run: bool,
    jobs: int | None,
    verbose: bool,
    chat_template: str | None,
    to: str | None,
    engine: str,
    block_size: float,
    ray_address: str | None,
    as_json: bool,
    color: str,
) -> None:
    """`weaklink import`; see its help."""
    discovered = discovered_paths(paths, since, project, lists_only=discover, as_json=as_json, color=color)
    if discover or discovered == ():
        ctx.exit(0 if discover else _COULD_NOT_RUN)
    paths = paths if discovered is None else discovered
    if to is not None:
        if (
            watch
            or dry_run
            or patterns
            or no_redact
            or no_content
            or project is not None
            or chat_template
            or STDIN in paths
        ):
            raise click.UsageError("--to can be combined with PATHs, --source, --jobs, --engine and --json only.")
        import_results(paths, to, source, engine_of(jobs, engine, block_size, ray_address), as_json=as_json)
        return
    if engine != "local":
        raise click.UsageError("--engine ray writes Parquet files; name their folder with --to.")
    if watch and (dry_run or STDIN in paths):
        raise click.UsageError(
            "--watch imports files as they are written; it cannot be combined with --dry-run or `-`."
        )
    redactor_of(patterns, no_redact=no_redact, no_content=no_content)  # fails at once for an invalid pattern
    collect_rarely()
    options = ImportOptions(
        source,
        patterns,
        no_redact=no_redact,
        no_content=no_content,
        project=project,
        format_table=kept_table(chat_template) if chat_template else None,
    )
    put = partial(_put, as_json=as_json, every_file=verbose, color=color)
    if watch:
        with open_store(where, busy_timeout_s=LOCK_TIMEOUT_S) as store:
            watch_paths(store, paths, options, jobs, put)
        return
    _import_once(paths, options, where, jobs, put, dry_run=dry_run)
    if discovered is not None and not dry_run and not as_json:
        print_notice("what broke this week: `weaklink list status:broken since:7d`")


def _import_once(
    paths: tuple[str, ...],
    options: ImportOptions,
    where: str | None,
    jobs: int | None,
    put: Callable[[list[FileReport]], object],
    *,
    dry_run: bool,
) -> None:
    """Import the files once, and report each; exits with 2 if none could be read."""
    reports: list[FileReport] = []
    with separate_files(paths) as files:
        order = {file.name: number for number, file in enumerate(files)}
        try:
            is_empty = not any(file.is_readable for file in files)  # if so, no database is created
            with nullcontext() if dry_run or is_empty else open_store(where) as store:
                import_new(store, files, options, jobs, reports)
            reports.sort(key=lambda report: order.get(report.path, 0))
        except KeyboardInterrupt:
            sys.stderr.write(f"weaklink: {_interrupted(len(reports), len(files), dry_run=dry_run)}\n")
            raise
        finally:
            put(reports)
    if dry_run:
        sys.stderr.write("weaklink: dry run: nothing was written\n")
    if not files:
        sys.stderr.write(f"weaklink: there are no files in {visible_line(', '.join(paths))}\n")
    if all(report.refused is not None for report in reports):
        click.get_current_context().exit(_COULD_NOT_RUN)


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


def _interrupted(done: int, files: int, *, dry_run: bool) -> str:
    if dry_run:
        return f"interrupted; {counted(done, 'file')} of {files:,} {'was' if done == 1 else 'were'} read."
    if done == files:
        return "interrupted while the text was indexed; every file is in the database."
    kept = f"{counted(done, 'file')} of {files:,} {'is' if done == 1 else 'are'} in the database"
    return f"interrupted; {kept}, nothing of the rest. Run the same command again to continue."


def _put(reports: list[FileReport], *, as_json: bool, every_file: bool, color: str) -> None:
    if as_json:
        sys.stdout.write(write_json(report_object(reports)) + "\n")
        sys.stdout.flush()
    elif reports:
        most_notes = None if every_file else _MOST_NOTES
        lines = import_lines(reports, width=line_width(), every_file=every_file, most_notes=most_notes)
        print_lines(lines, color=color)


def import_results(paths: Sequence[str], to: str, source: str | None, jobs: EngineOptions, *, as_json: bool) -> None:
    """Write the results of every block that is not in the manifest yet, and print the totals of all.

    Exits with 1 if a block was set aside, and with 2 if no trace could be read.
    """
    blocks = plan_traces(paths, source, jobs.block_bytes)
    folder = ResultsFolder(to)
    folder.begin(blocks, repr(source))
    finished = folder.finished()
    missing = [block for block in blocks if block.number not in finished]
    set_aside: list[tuple[str, str]] = []
    fresh: dict[int, BlockResult] = {}
    with progress_bar("Inspecting", len(missing)) as advance:
        for piece in run_blocks(missing, BlockImporter(to, source), jobs):
            for answer in piece.answers:
                fresh[piece.block.number] = answer
            if piece.failed:
                set_aside.append((piece.block.name, piece.failed))
            advance(piece.is_last)
    for number in sorted(fresh.keys() - folder.entries() if fresh else ()):
        del fresh[number]
        set_aside.append((blocks[number].name, _ELSEWHERE))
    if not set_aside:
        folder.remove_unfinished()
    totals = _Totals()
    for block in blocks:
        if result := finished.get(block.number) or fresh.get(block.number):
            totals.add(block.path, result)
    for name, why in set_aside:
        print_notice(f"{name} was set aside: {why}; the same command tries it again")
    totals.report(to, resumed=len(finished), set_aside=set_aside, as_json=as_json)
    if set_aside or not totals.rows["traces"]:
        click.get_current_context().exit(_FAILED if totals.rows["traces"] else _COULD_NOT_RUN)


class _Totals:
    """The sums over the results of blocks; the first notices are printed as they come."""

    def __init__(self) -> None:
        self.rows: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self.skipped = self.refused = self._printed = 0

    def add(self, path: str, result: BlockResult) -> None:
        self.rows.update(result.rows)
        self.statuses.update(result.statuses)
        self.skipped += result.skipped
        self.refused += result.refused is not None
        for notice in (*result.notices, *([result.refused] if result.refused else [])):
            self._printed += 1
            if self._printed <= _MOST_PRINTED:
                print_notice(notice if notice == result.refused else f"{path}: {notice}")

    def report(self, to: str, *, resumed: int, set_aside: list[tuple[str, str]], as_json: bool) -> None:
        if self.skipped + self.refused > _MOST_PRINTED:
            print_notice(f"{self.skipped:,} records were skipped, {self.refused:,} files refused; the first are listed")
        if as_json:
            aside: list[Json] = [{"block": name, "reason": why} for name, why in set_aside]
            value: dict[str, Json] = {
                "rows": dict(sorted(self.rows.items())),
                "statuses": dict(sorted(self.statuses.items())),
                "skipped": self.skipped,
                "refused": self.refused,
                "finished_before": resumed,
                "set_aside": aside,
            }
            sys.stdout.write(write_json(value) + "\n")
            return
        shown = ", ".join(f"{count:,} {status}" for status, count in sorted(self.statuses.items()))
        sys.stdout.write(f"{to}: {counted(self.rows['traces'], 'trace')}{f' ({shown})' if shown else ''}\n")


class _FileState(Struct, frozen=True):
    """A file's state in the file system; if it differs, so does the content."""

    inode: int
    size_bytes: int
    modified_ns: int


class _ReadFile(Struct, frozen=True):
    """A file when it was last returned: its state, how much of it was due, and when it may be read again."""

    state: _FileState
    size_bytes: int
    again_at_s: float = 0.0

    def is_all_of(self, state: _FileState) -> bool:
        """Whether the file has not changed since."""
        return self.state == state and self.size_bytes == state.size_bytes


class PathWatcher:
    """Finds the files below some paths that are due for import; a path may appear later.

    A file is due when it is unchanged since the last call. A file of JSON lines is due also while it grows, up to its
    last complete line. A large file that grows all the time is not due again before four times as long has passed as
    reading it took. `clock` returns monotonic seconds.
    """

    def __init__(self, paths: Sequence[str], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._paths = paths
        self._clock = clock
        self._seen: dict[str, _FileState] = {}
        self._taken: dict[str, _ReadFile] = {}

    def due(self) -> list[PlacedFile]:
        """The files that have appeared or grown since they were last returned."""
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
        """Record how long reading a file took."""
        known = self._taken.get(file.path)
        if known is not None:
            self._taken[file.path] = structs.replace(known, again_at_s=self._clock() + _REREAD_FACTOR * seconds)

    def forget(self) -> None:
        """Forget all files, so that everything is imported again."""
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
    """The size of the complete lines of a JSON lines file; 0 for a file of another layout or without any."""
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
    store: Store | None, files: Sequence[PlacedFile], options: ImportOptions, jobs: int | None, done: FileCallback
) -> None:
    """Import files into the store, or only read them without a store; call `done` with each file and its report.

    Without `jobs`, `job_count` decides how many processes read. Raises StoreError if the store refuses.
    """
    options = structs.replace(options, database=None if store is None else store.place.address)
    with read_in_order(files, options, jobs or job_count(files)) as read, import_progress(len(files)) as progress:
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
        store.search.index_pending()


def _report(done: FileCallback, file: PlacedFile, reports: FileReports) -> None:
    for one, report in zip((file, *map(PlacedFile, file.with_it)), reports, strict=True):
        done(one, report)


def watch_paths(
    store: Store,
    paths: Sequence[str],
    options: ImportOptions,
    jobs: int | None,
    put: Callable[[list[FileReport]], object],
) -> None:
    """Import files that appear or grow, until Ctrl-C or SIGTERM; call `put` with the reports of each round.

    A file that is refused repeatedly for the same reason is reported once. If the database is moved away or deleted, a
    new one is created, and everything is imported again.
    """
    interrupt_on_signals()
    watch = PathWatcher(paths)
    imported = 0
    refused: dict[str, str | None] = {}

    def put_news(reports: list[FileReport]) -> None:
        news = [one for one in reports if one.refused is None or refused.get(one.path) != one.refused]
        refused.update((one.path, one.refused) for one in reports)
        if news:
            put(news)

    try:
        print_notice(f"watching {', '.join(paths)}; Ctrl-C ends it")
        while True:
            if store.recreate_if_missing():
                print_notice("the database was moved or deleted; a new one is created")
                watch.forget()
            files = watch.due()
            imported += _round(store, files, watch, options=options, jobs=jobs, put=put_news)
            if not files:
                time.sleep(_POLL_S)
    except KeyboardInterrupt:
        print_notice(f"stopped watching; imports of files: {imported:,}")


def _round(
    store: Store,
    files: Sequence[PlacedFile],
    watch: PathWatcher,
    *,
    options: ImportOptions,
    jobs: int | None,
    put: Callable[[list[FileReport]], object],
) -> int:
    """Import the files, and return how many were read."""
    reports: list[FileReport] = []
    unchanged = UnchangedFiles(store, options)
    due = [file for file, known in unchanged.reports(files) if known is None]
    began_s = time.monotonic()

    def done(file: PlacedFile, report: FileReport) -> None:
        nonlocal began_s
        now_s = time.monotonic()
        watch.took(file, now_s - began_s)
        began_s = now_s
        reports.append(report)
        unchanged.add(file, report)

    if not due:
        return 0
    try:
        import_round(store, due, options, jobs, done)
    finally:
        unchanged.flush()
        if reports:
            put(reports)
    return sum(report.refused is None for report in reports)


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
