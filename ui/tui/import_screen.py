"""The import dialog: a path is typed and completed, or found logs of agents are chosen, and a report shows the result.

The logs of the agents on this machine are looked for when the dialog opens, and again after an import. Nothing is shown
of them before there are some.
"""

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from os.path import commonprefix
from pathlib import Path
from threading import Event
from typing import ClassVar

from msgspec import Struct, field
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from weaklink.inspector.errors import StoreError, WeaklinkError
from weaklink.storage.store import open_store
from weaklink.ui.importing.discovered_logs import (
    LOG_COLUMNS,
    NUMBER_COLUMNS,
    LogGroup,
    discovered_logs,
    found_sentence,
    import_in_turn,
)
from weaklink.ui.importing.input_files import InputFile, files_below
from weaklink.ui.reports.import_report import FileReport, import_lines, sum_line
from weaklink.ui.tui.commands import Command, bindings
from weaklink.ui.tui.dialogs import ClosesOnce
from weaklink.ui.tui.line_bar import LineBar
from weaklink.ui.tui.line_view import LineList, LineView
from weaklink.ui.tui.store_access import error_sentence, start_work
from weaklink.ui.views.styled_text import (
    Line,
    Run,
    Style,
    counted,
    quoted,
    table_lines,
    visible_line,
    width_of,
    wrapped,
)
from weaklink.ui.views.triage import bar

IMPORT_COMMANDS = (
    Command("import.start", "Import", "Read the files at the path.", ("enter",), footer="Import"),
    Command(
        "import.complete",
        "Complete",
        "Complete the path; press again for the next candidate.",
        ("tab",),
        footer="Complete",
    ),
    Command("import.logs", "Logs", "Choose among the logs of agents on this machine.", ("down",)),
    Command("import.leave", "Leave", "Stop after the current file, then close.", ("escape",), footer="Leave"),
)
"""The scope `import`."""

_TIMEOUT_S = 5.0
_POLL_S = 0.1
_BAR_CELLS = 20
_KEYS = "enter imports, tab completes, esc leaves"
_LIST_KEYS = "enter imports, tab returns to the path, esc leaves"
_MAX_LOG_LINES = 8
_LOG_HEADS = LOG_COLUMNS[:-1]  # a folder needs more room than a dialog has

_ABOUT = (
    "A file, a folder, or a pattern like `logs/**/*.jsonl`. Keys and passwords are replaced before anything is saved."
)

_MAX_COMPLETIONS = 200
_MAX_ENTRIES = 5_000


class FileProgress(Struct):
    """The progress of an import; written by the thread that reads, read by any thread. Set `stopped` to stop it."""

    files: int = 0
    done: int = 0
    traces: int = 0
    path: str = ""
    is_indexing: bool = False
    reports: list[FileReport] = field(default_factory=list)
    stopped: Event = field(default_factory=Event)


def import_files(
    where: str | None, paths: Iterable[str], progress: FileProgress, wake: Callable[[], object] = lambda: None
) -> None:
    """Import files into the database `where`, which is created if it does not exist.

    Keys, tokens and passwords are replaced first; what the database has already is not read again. Calls `wake` after
    each file. Raises StoreError if the store refuses; the files before that are then in the database.
    """

    def begin(files: int, file: InputFile) -> None:
        progress.files, progress.path = files, file.name

    def count_trace() -> None:
        progress.traces += 1

    with open_store(where, busy_timeout_s=_TIMEOUT_S) as store:
        with closing(import_in_turn(store, paths, on_file=begin, on_trace=count_trace)) as imported:
            for reports in imported:
                progress.reports.extend(reports)
                progress.done += 1
                wake()
                if progress.stopped.is_set():
                    return
        progress.is_indexing = True
        _index(store.search.index_pending, progress)


def _index(index: Callable[..., int], progress: FileProgress) -> None:
    """Add the new texts to the text index, until the import is stopped; the next search adds the rest."""
    try:
        while not progress.stopped.is_set() and index(limit=200):
            pass
    except StoreError:
        return  # the next search adds them, and then shows what is wrong


class PathInput(Input):
    """The input for a path."""

    BINDINGS: ClassVar[list[BindingType]] = []


class ImportScreen(ClosesOnce[None], ModalScreen[None]):
    """Imports into the database `where`; calls `imported` when traces were imported."""

    ACTIONS: ClassVar[tuple[Command, ...]] = IMPORT_COMMANDS
    # The input handles enter itself.
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings([command for command in IMPORT_COMMANDS if command.id != "import.start"])
    ]
    DEFAULT_CSS = """
    ImportScreen { align: center middle; }
    ImportScreen > Vertical {
        width: 95%; max-width: 140; height: auto; max-height: 90%;
        background: $surface; border: round $border; padding: 0 1;
    }
    ImportScreen Input { border: none; height: 1; padding: 0; background: $background; }
    ImportScreen LineBar { background: $surface; }
    ImportScreen #hints { max-height: 5; }
    ImportScreen #heads { display: none; }
    ImportScreen LineView { height: auto; background: $surface; display: none; }
    """

    def __init__(self, where: str | None, database: str, imported: Callable[[], None]) -> None:
        super().__init__()
        self._where = where
        self._database = database
        self._imported = imported
        self._progress: FileProgress | None = None
        self._offered: list[str] = []
        self._at = 0
        self._groups: Sequence[LogGroup] = ()
        self._lead: list[Line] = []
        self._reports: Sequence[FileReport] = ()

    def compose(self) -> ComposeResult:
        """The path, its completions, the progress, and the report."""
        with Vertical() as box:
            box.border_subtitle = _KEYS
            box.border_title = f"import into {visible_line(self._database.rpartition('/')[2])}"
            yield PathInput(compact=True, placeholder="path")
            yield LineBar(id="hints", classes="wrapped")
            yield LineBar(id="heads")
            yield LineView(id="logs")
            yield LineBar(id="progress")
            yield LineView(id="report")

    @property
    def is_reading(self) -> bool:
        """Whether files are being read."""
        return self._progress is not None

    def on_mount(self) -> None:
        """Focus the path, and look for the logs of agents."""
        self._hint(*quoted(_ABOUT, Style.DIM))
        self.query_one(PathInput).focus()
        start_work(self, self._discover, "discover")

    def on_resize(self) -> None:
        """Lay the lines out for the new width."""
        self.call_after_refresh(self._refresh_status)

    def on_unmount(self) -> None:
        """Stop after the current file."""
        if self._progress is not None:
            self._progress.stopped.set()

    def on_input_changed(self) -> None:
        """Discard the completions of another path."""
        if self.query_one(PathInput).value not in self._offered:
            self._offered = []
            self._hint(*quoted(_ABOUT, Style.DIM))

    def on_input_submitted(self) -> None:
        """Import."""
        self.action_start()

    def action_start(self) -> None:
        """Read the files at the path."""
        typed = self.query_one(PathInput).value.strip()
        if self.is_reading:
            return
        wrong = _wrong_with(typed)
        if wrong is not None:
            self._hint(Run("✖ ", Style.ERROR), *quoted(wrong))
        else:
            self._import(files_below([str(Path(typed).expanduser())]))

    def action_logs(self) -> None:
        """Choose among the logs of agents, if there are any."""
        if self._groups:
            self.query_one("#logs").focus()

    def on_line_view_chosen(self, event: LineView.Chosen) -> None:
        """Import the chosen logs."""
        if event.view.id == "logs" and not self.is_reading:
            chosen = self._groups if event.index == 0 else self._groups[event.index - 1 : event.index]
            self._import([path for group in chosen for path in group.paths])

    def on_descendant_focus(self) -> None:
        """Show the keys of the path, or of the list."""
        if not self.is_reading:
            self._say_keys(_LIST_KEYS if self.query_one("#logs").has_focus else _KEYS)

    async def action_complete(self) -> None:
        """Complete the path; if it is completed as far as possible, insert the next candidate."""
        line = self.query_one(PathInput)
        if not line.has_focus:
            line.focus()
            return
        if self._offered and line.value in self._offered:
            self._at = (self._offered.index(line.value) + 1) % len(self._offered)
            self._put(self._offered[self._at])
            return
        paths = await asyncio.to_thread(completions, line.value)
        if not paths:
            self._hint(Run("✖ ", Style.ERROR), *quoted(f"No path begins with `{line.value}`."))
            return
        common = commonprefix(paths)  # noqa: RUF071  # of what is typed, not of whole folders
        if len(paths) > 1:
            self._offered = [common, *paths]
            names = "  ".join(map(_last, paths))
            self._hint(Run(f"{counted(len(paths), 'path')}:  ", Style.STRONG), Run(names, Style.DIM))
        else:
            self._hint(*quoted(_ABOUT, Style.DIM))
        self._put(common)

    def action_leave(self) -> None:
        """Stop after the current file; if nothing is being read, close."""
        if self._progress is not None and not self._progress.stopped.is_set():
            self._progress.stopped.set()
            self._say_progress()
        else:
            self.workers.cancel_node(self)
            self.dismiss(None)

    def _put(self, path: str) -> None:
        line = self.query_one(PathInput)
        with self.prevent(Input.Changed):
            line.value = path
        line.cursor_position = len(path)

    def _hint(self, *line: Run) -> None:
        for hints in self.query("#hints").results(LineBar):  # none while the dialog closes
            hints.display = bool(line)
            hints.show_lines([line])

    def _import(self, paths: Iterable[str]) -> None:
        start_work(self, partial(self._read, paths), "import")

    async def _discover(self) -> None:
        """Show the logs of agents on this machine; if the database cannot be read, the import reports why."""
        try:
            self._groups = await asyncio.to_thread(discovered_logs, self._where)
        except StoreError:
            self._groups = ()
        self._refresh_logs()

    def _refresh_logs(self) -> None:
        for view in self.query("#logs").results(LineView):  # none while the dialog closes
            now_s = time.time()
            rows = [group.cells(now_s)[:-1] for group in self._groups]
            width = max(self.query_one("#progress").size.width - 1, 40)  # one cell for the scrollbar
            lines = list(table_lines(rows, width=width, heads=_LOG_HEADS, numbers=NUMBER_COLUMNS, widest=24))
            everything: Line = (Run("all", Style.STRONG), Run(f"  {found_sentence(self._groups)}"))
            heads = self.query_one("#heads", LineBar)
            heads.show_lines(lines[:1])
            heads.display = view.display = bool(rows)
            view.styles.height = min(len(lines), _MAX_LOG_LINES)
            view.show(LineList([everything, *lines[1:]]), cursor=view.cursor)

    async def _read(self, paths: Iterable[str]) -> None:
        progress = self._progress = FileProgress()
        self.query_one(PathInput).disabled = True
        self._hint()
        self._say_keys("esc stops after the current file")
        work = asyncio.create_task(asyncio.to_thread(import_files, self._where, paths, progress))
        work.add_done_callback(lambda task: task.cancelled() or task.exception())  # even if no task awaits it
        try:
            while not work.done():
                self._say_progress()
                await asyncio.wait([work], timeout=_POLL_S)
            self._report(progress, work.exception())
        finally:
            progress.stopped.set()
            self._progress = None
            if progress.traces:
                self._imported()
        await self._discover()

    def _report(self, progress: FileProgress, error: BaseException | None) -> None:
        if error is not None and not isinstance(error, WeaklinkError):
            raise error
        line = self.query_one(PathInput)
        line.disabled = False
        line.focus()
        self._say_keys(_KEYS)
        lead: list[Line] = []
        if error is not None:
            lead.append((Run("✖ ", Style.ERROR), *quoted(error_sentence(error, self._database))))
        if progress.done < progress.files:
            kept = f"{counted(progress.done, 'file')} of {progress.files:,} read; nothing of the others was saved."
            lead.append((Run("… ", Style.WARNING), Run(kept)))
        if not progress.files and error is None:
            lead.append((Run("▲ ", Style.WARNING), Run("There are no files there.")))
        self._lead, self._reports = lead, progress.reports
        view = self.query_one("#report", LineView)
        view.display = True
        self._refresh_report()
        if progress.reports:
            view.focus()

    def _refresh_status(self) -> None:
        self._refresh_logs()
        if self._lead or self._reports:
            self._refresh_report()

    def _refresh_report(self) -> None:
        """Show the report of each file; above a report that must be scrolled, also its totals."""
        for view in self.query("#report").results(LineView):  # none while the dialog closes
            width = max(self.query_one("#progress").size.width - 1, 40)  # one cell for the scrollbar
            lead = [row for line in self._lead for row in wrapped(line, width, indent=2)]
            lines = [*lead, *(import_lines(self._reports, width=width) if self._reports else ())]
            logs = min(len(self._groups) + 1, _MAX_LOG_LINES) + 1 if self._groups else 0
            room = max(self.size.height * 9 // 10 - 5 - logs, 4)
            view.styles.height = min(len(lines), room)
            view.show(LineList(lines), cursor=view.cursor)
            self.query_one("#progress", LineBar).show_lines([sum_line(self._reports)] if len(lines) > room else [])

    def _say_progress(self) -> None:
        progress = self._progress
        if progress is None:
            return
        share = progress.done / progress.files if progress.files else 0.0
        files = f"{progress.done:,}/{progress.files:,}"
        text = f"{bar(share, _BAR_CELLS):<{_BAR_CELLS}} {files}  {counted(progress.traces, 'trace')}  "
        what = "stopping after " if progress.stopped.is_set() else "text index" if progress.is_indexing else ""
        lead = (Run(text, Style.INFO), Run(what, Style.WARNING))
        line = self.query_one("#progress", LineBar)
        name = "" if progress.is_indexing else visible_line(progress.path)
        fits = width_of((*lead, Run(name))) <= line.size.width
        line.show_lines([(*lead, Run(name if fits else f"…/{_last(progress.path)}"))])

    def _say_keys(self, keys: str) -> None:
        self.query_one(Vertical).border_subtitle = keys


def _last(path: str) -> str:
    """The last part of a path; for a folder with its `/`."""
    return visible_line(path.rstrip("/").rpartition("/")[2] + "/" * path.endswith("/"))


def _wrong_with(path: str) -> str | None:
    """A sentence on what is wrong with a path to import; None if it is valid."""
    if not path:
        return "Enter the path of a file or folder."
    first = next(files_below([str(Path(path).expanduser())]), None)
    if first is None:
        return f"There are no files in `{path}`."
    try:
        is_there = Path(first).exists()
    except (OSError, ValueError):  # ValueError: a name that no file can have
        is_there = False
    return None if is_there else f"There is no file or folder `{path}`."


def completions(typed: str) -> list[str]:
    """The paths that begin with `typed`, folders first and with a final `/`; hidden ones only after a typed dot."""
    folder, _, begun = typed.rpartition("/")
    directory = Path(f"{folder}/" if folder or typed.startswith("/") else ".").expanduser()
    lead = typed[: len(typed) - len(begun)]
    entries = sorted(_entries(directory, begun), key=lambda entry: (not entry.endswith("/"), entry))
    return [f"{lead}{entry}" for entry in entries[:_MAX_COMPLETIONS]]


def _entries(directory: Path, begun: str) -> Iterator[str]:
    try:
        with os.scandir(directory) as entries:
            for _, entry in zip(range(_MAX_ENTRIES), entries, strict=False):
                if entry.name.startswith(begun) and (begun.startswith(".") or not entry.name.startswith(".")):
                    yield f"{entry.name}/" if entry.is_dir() else entry.name
    except (OSError, ValueError):  # ValueError: a name that no file can have
        return
