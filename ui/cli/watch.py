"""`weaklink watch` and `import --watch`: import logs while agents write them, and print chains as they break.

There is no thread and no service of the operating system: a round asks for the state of every file (a glob and a
`stat`), imports those that changed, newest first and at most `_ROUND_BYTES` of them, and sleeps nine times as long as
looking took, at least `_MIN_PAUSE_S` and at most `_MAX_PAUSE_S`, or until a session that grew before grows again. So
the logs of a new session are found like the lines of a known one, a folder may appear later, and neither a long history
nor many logs delay what happens now.

A session that grows is imported as a whole for each line, and by itself, so that its break is printed at once. That is
fast, because what was found out about its known turns is remembered (`inspector.memoized`) until it rests for a minute
or two. Sessions of `_MAX_REMEMBERED_BYTES` in all are remembered, those that grew first, and one of any size; another
one that grows beside them takes as long as its first import for each line, until one of them rests. Reading a session
is followed by as much rest, on average: it may run `_BURST_S` ahead, so a line that comes now and then is read at once.

A file of JSON lines is read up to its last complete line, an SQLite database whenever it or its write-ahead log
changed (its transactions are whole), any other file once it did not change between two rounds, nor the folder beside it
whose files are read with it. If another program
locks weaklink's database, the files of the round stay due. Several watchers may run: each reads what changes, and the
database keeps one version of each trace.

A session that grows is not in the text index before the next pause, and the index is updated once in `_INDEX_AFTER_S`
at most: removing and adding a session of 3.5 MB takes a tenth of its import (2026-11-29). Searches in a terminal index
what is missing.
"""

import stat
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from glob import has_magic
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import click
from msgspec import Struct, structs

from weaklink.inspector.chain.steps import Status
from weaklink.inspector.importers.places import log_paths, sources_with_places
from weaklink.inspector.importers.records import layout_of
from weaklink.inspector.importers.source import HEAD_BYTES, folder_beside, is_url
from weaklink.inspector.importers.sqlite_tables import MAGIC
from weaklink.inspector.memoized import RecentValues, forget_unused, memoizing
from weaklink.storage.engine import DatabaseLockedError
from weaklink.storage.saved import Verdict
from weaklink.storage.store import Store, open_store
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import interrupt_on_signals, print_lines, print_notice
from weaklink.ui.cli.discovery import notice_unknown_agents
from weaklink.ui.cli.import_rounds import import_round
from weaklink.ui.cli.redaction_options import redaction_options, redactor_of
from weaklink.ui.cli.store_options import LOCK_TIMEOUT_S
from weaklink.ui.cli.suggestions import suggested
from weaklink.ui.importing.input_files import InputFile, files_below
from weaklink.ui.importing.unchanged_files import ImportOptions, UnchangedFiles
from weaklink.ui.importing.worker_process import collect_rarely
from weaklink.ui.reports.import_report import FileReport
from weaklink.ui.views.styled_text import Line, Run, Style, counted, visible_line
from weaklink.ui.views.trace_summary import break_words

_UNCHANGED_S = 1.0
_BLOCK = 1 << 16
_REFUSAL_DELAY_S = 3.0  # longer than a client takes between two parts of a log's first line
_MIN_PAUSE_S, _MAX_PAUSE_S, _PAUSE_FACTOR = 0.2, 1.0, 9
_MIN_GLANCE_S, _GLANCE_FACTOR = 0.05, 3  # between two looks at the files that grow; the factor as for the pause
_TICK_NS = 10_000_000  # a time of change is that of the kernel's last tick, 1 to 10 ms ago
_INDEX_AFTER_S = 5.0
_FORGET_AFTER_S = 60.0
_BURST_S = 5.0
_MAX_REMEMBERED_BYTES = 48 << 20  # of the files of all remembered sessions; memory takes up to ten times as much
_MAX_RUNNING = 8  # sessions that are imported one by one in a round
_RECENT_NS = 600 * 10**9  # a session that was written since may go on
_MAX_SESSIONS = 8  # of a file; one with more has a conversation a line, and lines do not grow
_ROUND_BYTES = 8 << 20  # read in about a second

Reports: TypeAlias = Callable[[list[FileReport]], object]


class _FileState(Struct, frozen=True):
    """A file's state in the file system; if it differs, so does the content.

    `log` is the size and time of the write-ahead log beside a database, or of the folder that is read with the file.
    """

    inode: int
    size_bytes: int
    modified_ns: int
    log: tuple[int, int] = (0, 0)

    @property
    def changed_ns(self) -> int:
        """When the file, or its log, was written last."""
        return max(self.modified_ns, self.log[1])


class _ReadFile(Struct, frozen=True):
    """A file when it was last returned: its state, how much of it was due, and until when it should rest.

    `is_again` is whether it had been returned before.
    """

    state: _FileState
    size_bytes: int
    is_again: bool
    rests_until_s: float = 0.0

    def is_all_of(self, state: _FileState) -> bool:
        """Whether the file has not changed since."""
        return self.state == state and self.size_bytes == state.size_bytes


class PathWatcher:
    """Finds the files below some paths that are due for import; a path may appear later.

    A file is due when it is unchanged since the last call; JSON lines and databases also while they grow. A file rests
    for as long as reading it took, so that reading one that grows all the time takes half of the time at most; reading
    may run `_BURST_S` ahead of that. `paths` returns the files that there are now. `clock` returns monotonic seconds.
    """

    def __init__(self, paths: Callable[[], Iterable[str]], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._paths = paths
        self._clock = clock
        self.pause_s = _MIN_PAUSE_S
        self._look_s = self._read_s = 0.0  # how long the last look took, and the longest of the reads after it
        self._seen: dict[str, _FileState] = {}
        self._taken: dict[str, _ReadFile] = {}

    def due(self, max_bytes: int | None = None) -> list[InputFile]:
        """The files that appeared or grew since they were returned, newest first; of `max_bytes`, but at least one."""
        now_s = self._clock()
        seen: dict[str, _FileState] = {}
        due: list[tuple[InputFile, _FileState]] = []
        for path in self._paths():
            state = _state(path)
            if state is None or path in seen:
                continue
            seen[path] = state
            file = self._if_due(path, state, now_s)
            if file is not None:
                due.append((file, state))
        self._seen = seen
        due.sort(key=lambda item: -item[1].changed_ns)
        left = max_bytes
        files: list[InputFile] = []
        for file, state in due:
            if left is not None and left < 0:
                break
            left = None if left is None else left - state.size_bytes
            assert file.size_bytes is not None
            before = self._taken.get(file.path)
            rests_until_s = now_s if before is None else before.rests_until_s
            self._taken[file.path] = _ReadFile(state, file.size_bytes, before is not None, rests_until_s)
            files.append(file)
        if files:
            self._read_s = 0.0
        self._look_s = self._clock() - now_s
        self.pause_s = min(max(_PAUSE_FACTOR * self._look_s, _MIN_PAUSE_S), _MAX_PAUSE_S)
        return files

    def wait(self) -> None:
        """Sleep for `pause_s`, or until a file that has grown before changes: the sooner, the longer reading it takes.

        A session of 12 MB takes the most of a second for each line.
        """
        until_s = self._clock() + self.pause_s
        glance_s = max(_MIN_PAUSE_S - self._read_s, _GLANCE_FACTOR * self._look_s, _MIN_GLANCE_S)
        while (left_s := until_s - self._clock()) > 0:
            time.sleep(min(glance_s, left_s))
            if self._has_grown():
                return

    def _has_grown(self) -> bool:
        """Whether a file that has grown before, and should not rest, has changed since the last look."""
        now_s = self._clock()
        growing = (
            path for path, file in self._taken.items() if file.is_again and now_s >= file.rests_until_s - _BURST_S
        )
        return any(_state(path) not in (None, self._seen.get(path)) for path in growing)

    def took(self, file: InputFile, seconds: float) -> None:
        """Record how long reading a file took; one that is read for the first time is due again at once."""
        self._read_s = max(self._read_s, seconds)
        known = self._taken.get(file.path)
        if known is not None and known.is_again:
            rests_until_s = max(known.rests_until_s, self._clock()) + seconds
            self._taken[file.path] = structs.replace(known, rests_until_s=rests_until_s)

    def retry(self, file: InputFile) -> None:
        """A file that was returned was not imported: it is due again."""
        self._taken.pop(file.path, None)

    def changed_since(self, path: str, time_ns: int) -> bool:
        """Whether a file that was returned had changed since then."""
        taken = self._taken.get(path)
        return taken is not None and taken.state.changed_ns >= time_ns

    def forget(self) -> None:
        """Forget all files, so that everything is imported again."""
        self._taken.clear()

    def _if_due(self, path: str, state: _FileState, now_s: float) -> InputFile | None:
        taken = self._taken.get(path)
        if taken is not None and (now_s < taken.rests_until_s - _BURST_S or taken.is_all_of(state)):
            return None
        before = self._seen.get(path)
        is_at_rest = before == state or (before is None and time.time() - state.changed_ns / 1e9 > _UNCHANGED_S)
        size_bytes = state.size_bytes if is_at_rest else _readable_bytes(path, state.size_bytes)
        has_more = taken is None or (taken.state.inode, taken.size_bytes, taken.state.log) != (
            state.inode,
            size_bytes,
            state.log,
        )
        return InputFile(path, size_bytes=size_bytes) if size_bytes and (has_more or is_at_rest) else None


def _state(path: str) -> _FileState | None:
    try:
        state = Path(path).stat()
    except (OSError, ValueError):  # ValueError: a path that no file can have
        return None
    if not stat.S_ISREG(state.st_mode):  # a pipe has no size, and opening it may wait forever
        return None
    try:
        log = Path(folder_beside(path) or f"{path}-wal").stat()
    except OSError:
        return _FileState(state.st_ino, state.st_size, state.st_mtime_ns)
    return _FileState(state.st_ino, state.st_size, state.st_mtime_ns, (log.st_size, log.st_mtime_ns))


def _has_content(path: str) -> bool:
    state = _state(path)
    return state is not None and state.size_bytes > 0


def _readable_bytes(path: str, size_bytes: int) -> int:
    """How much of a file that is being written is whole: complete JSON lines, a whole database; 0 if nothing is."""
    try:
        with Path(path).open("rb") as stream:
            head = stream.read(min(HEAD_BYTES, size_bytes))
            if head.startswith(MAGIC):
                return size_bytes
            if not head.startswith(b"{") or layout_of(head) != "line":
                return 0
            end = size_bytes
            while end > 0:
                start = max(end - _BLOCK, 0)
                stream.seek(start)
                line_end = stream.read(end - start).rfind(b"\n")
                if line_end >= 0:
                    return start + line_end + 1
                end = start
    except OSError:
        return 0
    return 0


class LiveImport:
    """Imports what is due, round by round, with the same options; `clock` is that of `PathWatcher`."""

    def __init__(
        self,
        store: Store,
        paths: Callable[[], Iterable[str]],
        options: ImportOptions,
        jobs: int | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._options, self._jobs = store, options, jobs
        self.files = PathWatcher(paths, clock=clock)
        self._clock = clock
        self._index_at_s: float | None = None  # None if everything is indexed
        self._forget_at_s = 0.0
        self._began_ns = time.time_ns() - _TICK_NS
        self._is_locked = False
        self.databases = 1
        """How many there were: the numbers of traces are those of the last one."""

    def round(self, put: Reports) -> bool:
        """Import what is due, and call `put` with its reports; whether there was anything.

        If the database is moved away or deleted, a new one is created, and everything is imported again.
        """
        if self._store.recreate_if_missing():
            print_notice("the database was moved or deleted; a new one is created")
            self.files.forget()
            self.databases += 1
        self._forget_when_due()
        files = self.files.due(_ROUND_BYTES)
        if not files:
            self._index_when_due()
            return False
        unread = {file.path: file for file in files}
        try:
            self._import(files, unread, put)
            self._is_locked = False
        except DatabaseLockedError as error:
            for file in unread.values():
                self.files.retry(file)
            if not self._is_locked:
                print_notice(f"{error}; weaklink keeps trying")
            self._is_locked = True
        return True

    @property
    def began_s(self) -> float:
        """When the watch began, in seconds since 1970."""
        return self._began_ns / 1e9

    def is_new(self, report: FileReport) -> bool:
        """Whether a file was written since the watch began."""
        return self.files.changed_since(report.path, self._began_ns)

    def _import(self, files: Sequence[InputFile], unread: dict[str, InputFile], put: Reports) -> None:
        unchanged = UnchangedFiles(self._store, self._options)
        for file, known in unchanged.reports(files):
            if known is None:
                unread[file.path] = file
            elif not self.files.changed_since(file.path, self._began_ns):  # what another watcher read is read here, too
                del unread[file.path]
        due = list(unread.values())
        reports: list[FileReport] = []
        began_s = time.monotonic()

        def done(file: InputFile, report: FileReport) -> None:
            nonlocal began_s
            now_s = time.monotonic()
            self.files.took(file, now_s - began_s)
            began_s = now_s
            if report.refused is None or _has_content(file.path):  # else it was deleted or emptied while this read it
                reports.append(report)
            unchanged.add(file, report)
            unread.pop(file.path, None)

        recent_ns = time.time_ns() - _RECENT_NS
        running = [file for file in due if file.is_grown or self.files.changed_since(file.path, recent_ns)]
        running = running if len(running) <= _MAX_RUNNING else []  # more were copied here, or grew before the watch
        history = [file for file in due if file not in running]
        for some, is_running in (*(([file], True) for file in running), *([(history, False)] if history else [])):
            jobs = self._jobs or (1 if is_running else None)  # starting a process takes longer than reading a session
            try:
                with memoizing(is_on=is_running and _is_remembered(some[0])):
                    import_round(self._store, some, self._options, jobs, done, index=not is_running)
                unchanged.flush()
            finally:
                if is_running and self._index_at_s is None:
                    self._index_at_s = self._clock() + _INDEX_AFTER_S
                if reports:
                    put(reports)
                    reports = []

    def _forget_when_due(self) -> None:
        """Forget what was not used for a while."""
        if self._clock() >= self._forget_at_s:
            forget_unused()
            self._forget_at_s = self._clock() + _FORGET_AFTER_S

    def _index_when_due(self) -> None:
        if self._index_at_s is None or self._clock() < self._index_at_s:
            return
        self._index_at_s = self._clock() + _INDEX_AFTER_S
        with suppress(DatabaseLockedError):  # the next pause tries again
            self._store.search.index_pending()
            self._index_at_s = None


_remembered_sizes: RecentValues[int] = RecentValues()
"""The sizes of the files whose sessions are remembered, by path."""


def _is_remembered(file: InputFile) -> bool:
    """Whether what is found out about a session is remembered: it is the only one, or fits beside the others."""
    size_bytes = file.size_bytes or 0
    others = sum(size for path, size in _remembered_sizes.items().items() if path != file.path)
    if others and others + size_bytes > _MAX_REMEMBERED_BYTES:
        return False
    _remembered_sizes.put(file.path, size_bytes)
    return True


def watch_paths(store: Store, paths: Sequence[str], options: ImportOptions, jobs: int | None, put: Reports) -> None:
    """Import files that appear or grow, until Ctrl-C or SIGTERM; call `put` with the reports of each round.

    A file that is refused repeatedly for the same reason is reported once.
    """
    imported = 0
    refused: dict[str, str | None] = {}

    def put_news(reports: list[FileReport]) -> None:
        nonlocal imported
        imported += sum(report.refused is None for report in reports)
        news = [report for report in reports if report.refused is None or refused.get(report.path) != report.refused]
        refused.update((report.path, report.refused) for report in reports)
        if news:
            put(news)

    try:
        interrupt_on_signals()
        notice_unknown_agents(paths)
        live = LiveImport(store, watched_paths(paths), options, jobs)
        print_notice(f"watching {_places(paths) or 'the usual places'}; Ctrl-C ends it")
        while True:
            if not live.round(put_news):
                live.files.wait()
    except KeyboardInterrupt:
        print_notice(f"stopped watching; imports of files: {imported:,}")


def watched_paths(paths: Sequence[str]) -> Callable[[], Iterable[str]]:
    """Finds the files of agents, of all without any `paths`, and those below paths; a path may appear later."""
    agents = [path for path in paths if path in sources_with_places() and not Path(path).exists()]
    others = [path for path in paths if path not in agents]
    if not paths:
        return log_paths
    return lambda: chain(log_paths(agents) if agents else (), files_below(others))


def _places(paths: Sequence[str]) -> str:
    """The paths and agents; a path that may be misspelt is said not to exist yet."""
    known = {path for path in paths if path in sources_with_places() or has_magic(path) or Path(path).exists()}
    return visible_line(", ".join(path if path in known else f"{path} (does not exist yet)" for path in paths))


def check_paths(paths: Iterable[str]) -> None:
    """Raise BadParameter for a URL: only files of this machine can be seen to change."""
    for path in paths:
        if is_url(path):
            reason = f"{visible_line(path)} is a URL; only paths of this machine can be watched."
            raise click.BadParameter(reason, param_hint="PATH")


def check_source(source: str | None) -> None:
    """Raise BadParameter for a name that is no source's: a watch would refuse every file, one by one, for ever."""
    if source is None:
        return
    from weaklink.inspector.importers.registry import source_names  # noqa: PLC0415  # loads every importer: heavy

    if source not in source_names():
        nearest = get_close_matches(source, source_names(), n=1)
        hint = f"did you mean {nearest[0]}?" if nearest else "docs/sources.md lists them."
        raise click.BadParameter(f"{visible_line(source)} is no source; {hint}", param_hint="--source")


@declaring.command("watch")
@click.argument("paths", metavar="[PATH | AGENT]...", nargs=-1)
@declaring.source_option
@click.option("--project", metavar="NAME", help="Only sessions of this project, the name of the agent's folder.")
@redaction_options
@declaring.database_option
@declaring.color_option
def watch(
    paths: tuple[str, ...],
    source: str | None,
    project: str | None,
    where: str | None,
    patterns: tuple[str, ...],
    *,
    no_redact: bool,
    no_content: bool,
    color: str,
) -> None:
    """Import the logs of agents while they run, and print a line for each chain that breaks.

    Without PATH: all agents of this machine, in their usual places; `watch pi` one of them. New sessions, folders and
    lines are found by themselves. What was there before is imported first, without a line for each break. A line has
    the agent, the project, the number of the trace for `weaklink show`, and the step at which it broke; another one
    follows if the agent recovers. Ctrl-C ends it.
    """
    redactor_of(patterns, no_redact=no_redact, no_content=no_content)  # fails at once for an invalid pattern
    check_paths(paths)
    check_source(source)
    collect_rarely()
    options = ImportOptions(source, patterns, no_redact=no_redact, no_content=no_content, project=project)
    try:
        interrupt_on_signals()
        with _opened(where) as store:
            live = LiveImport(store, watched_paths(paths), options)  # what is written from now on is new
            notice_unknown_agents(paths)
            watched = _places(paths) or f"the usual places of {', '.join(sources_with_places())}"
            print_notice(f"watching {watched}; Ctrl-C ends it")
            _print_breaks(store, live, color)
    except KeyboardInterrupt:
        return


def _opened(where: str | None) -> Store:
    is_told = False
    while True:
        try:
            return open_store(where, busy_timeout_s=LOCK_TIMEOUT_S)
        except DatabaseLockedError as error:
            if not is_told:
                print_notice(f"{error}; weaklink keeps trying")
            is_told = True


def _print_breaks(store: Store, live: LiveImport, color: str) -> None:
    """Print a line for each chain that breaks in a file that is written from now on, until KeyboardInterrupt."""
    news = BreakNews(store)
    backlog = 0

    def put(reports: list[FileReport]) -> None:
        nonlocal backlog
        backlog += sum(len(report.saved) for report in reports if not live.is_new(report))
        print_lines(news.lines(reports, live), color=color)
        sys.stdout.flush()  # a pipe gets the line at once, too

    while True:
        if live.round(put):
            continue
        if backlog:
            command = suggested("list status:broken", store.location)
            print_notice(
                f"imported {counted(backlog, 'trace')} that had been there; `{command}` lists what broke before"
            )
            backlog = 0
        news.print_refusals()
        live.files.wait()


_MAX_REMEMBERED = 1_000  # broken traces, the newest: a session that goes on is one of them


class BreakNews:
    """Which traces are broken, as far as was printed, or as they were before the watch."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        # An earlier watch printed these; a session that goes on while nobody watches is first seen when it has grown.
        self._printed = {trace.id: _break_of(trace) for trace in store.traces("status:broken", limit=_MAX_REMEMBERED)}
        self._before: set[int] = set()  # of files with many sessions that were there; how they were was not looked up
        self._databases = 1
        self._clock = clock
        self._refused: dict[str, tuple[str, float]] = {}
        self._printed_refusals: set[str] = set()

    def print_refusals(self) -> None:
        """Print why a file is refused, once for each, unless it was read or written again in the last seconds."""
        now_s = self._clock()
        for path, (reason, since_s) in tuple(self._refused.items()):
            if now_s - since_s < _REFUSAL_DELAY_S:
                continue
            del self._refused[path]
            if path not in self._printed_refusals:
                self._printed_refusals.add(path)
                print_notice(reason)

    def lines(self, reports: Iterable[FileReport], live: LiveImport) -> Iterable[Line]:
        """A line for each trace that broke at another step than before, or is no longer broken.

        What another watcher imported first is unchanged here. It is looked at nevertheless, but in files with many
        sessions, where each look would be one for every session.
        """
        if self._databases != live.databases:
            self._databases = live.databases
            self._printed.clear()
            self._before.clear()
        reports = list(reports)
        self._remember(report for report in reports if not live.is_new(report))
        for report in reports:
            if not live.is_new(report):
                continue
            self._refused.pop(report.path, None)
            if report.refused is not None:
                self._refused[report.path] = report.refused, self._clock()
            known = self._before if len(report.saved) <= _MAX_SESSIONS else self._before | self._printed.keys()
            for saved in report.saved:
                if saved.verdict is Verdict.UNCHANGED and saved.id in known:
                    continue
                summary = self._store.summary(saved.id)
                is_older = saved.verdict is Verdict.UNCHANGED and summary.imported_at_s < live.began_s
                if is_older and saved.id not in self._printed:
                    self._printed[saved.id] = _break_of(summary)
                    continue
                yield from self._news(summary)

    def _remember(self, reports: Iterable[FileReport]) -> None:
        """How the sessions of files that were there before the watch are; one of any age may go on."""
        ids: list[int] = []
        for report in reports:
            if len(report.saved) > _MAX_SESSIONS:
                self._before.update(saved.id for saved in report.saved)
            else:
                ids.extend(saved.id for saved in report.saved if saved.id not in self._printed)
        self._printed.update((summary.id, _break_of(summary)) for summary in self._store.summaries(ids))

    def _news(self, summary: TraceSummary) -> Iterable[Line]:
        before = self._printed.get(summary.id)
        self._printed[summary.id] = words = _break_of(summary)
        if words == before:
            return
        facts = f"{summary.source}  {visible_line(summary.project) or '-'}  trace {summary.id}  "
        ended: Line = (Run("no longer broken", Style.OK),)
        yield (Run(facts), *((Run("broken at ", Style.ERROR), *words) if words is not None else ended))


def _break_of(summary: TraceSummary) -> Line | None:
    return break_words(summary.broken) if summary.broken is not None and summary.status is Status.BROKEN else None
