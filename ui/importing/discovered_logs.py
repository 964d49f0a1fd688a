"""The logs of agents on this machine by agent and project, with how many of them the database does not have yet.

One list for `import --discover`, the dashboard's page *Imports* and the terminal's import dialog.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from weaklink.inspector.importers.places import FoundLog, found_logs
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.storage.schema import NoDatabaseYetError
from weaklink.storage.store import Store, open_store
from weaklink.ui.importing.files import FileReports, read_file, save_file
from weaklink.ui.importing.input_files import InputFile, files_to_read
from weaklink.ui.importing.unchanged_files import ImportOptions, UnchangedFiles
from weaklink.ui.views.styled_text import Line, Run, Style, counted, short_age, visible_line

_NO_PROJECT = "-"
LOG_COLUMNS = ("agent", "project", "logs", "new", "newest", "where")
"""The titles of `LogGroup.cells`."""

NUMBER_COLUMNS = (2, 3, 4)
"""The indices of the right-aligned ones."""


class LogGroup(Struct, frozen=True):
    """The logs of an agent that begin in the same project; the project is `""` if they do not say.

    A log is a file: a session, or the database of an agent with all of its sessions. `new` is how many are not in the
    database as they are now.
    """

    source: str
    project: str
    logs: tuple[FoundLog, ...]
    new: int

    @property
    def name(self) -> str:
        """The agent and the project, for a sentence."""
        return f"{self.source}, {visible_line(self.project)}" if self.project else self.source

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of its logs."""
        return tuple(log.path for log in self.logs)

    def cells(self, now_s: float) -> tuple[Line, ...]:
        """A row of the list; the last cell is the folder of the newest log. `now_s` is in seconds since 1970."""
        newest = max(self.logs, key=lambda log: log.modified_s)
        return (
            (Run(self.source, Style.STRONG),),
            (Run(visible_line(self.project) or _NO_PROJECT),),
            (Run(f"{len(self.logs):,}"),),
            (Run(f"{self.new:,}", Style.PLAIN if self.new else Style.DIM),),
            (Run(f"{short_age(max(now_s - newest.modified_s, 0))} ago"),),
            (Run(visible_line(str(Path(newest.path).parent)), Style.DIM),),
        )


def discovered_logs(where: str | None) -> list[LogGroup]:
    """The groups of all agents on this machine, compared with the database `where`; see `log_groups`."""
    return log_groups(list(found_logs()), where)


def log_groups(logs: Sequence[FoundLog], where: str | None) -> list[LogGroup]:
    """Logs by agent and project, in their order; without a database, all of them are new. Raises StoreError."""
    new = _new_paths([log.path for log in logs], where)
    groups: dict[tuple[str, str], list[FoundLog]] = {}
    for log in logs:
        groups.setdefault((log.source, log.project), []).append(log)
    return [
        LogGroup(source, project, tuple(members), sum(log.path in new for log in members))
        for (source, project), members in groups.items()
    ]


def _new_paths(paths: Sequence[str], where: str | None) -> set[str]:
    if not paths:
        return set()
    try:
        store = open_store(where, read_only=True)
    except NoDatabaseYetError:
        return set(paths)
    with store:
        checked = UnchangedFiles(store, ImportOptions()).reports([InputFile(path) for path in paths])
        return {file.path for file, report in checked if report is None}


def found_sentence(groups: Sequence[LogGroup]) -> str:
    """How many logs there are, and how many of them are new."""
    logs, new = sum(len(group.logs) for group in groups), sum(group.new for group in groups)
    return f"{counted(logs, 'log')} of {', '.join(dict.fromkeys(group.source for group in groups))}; {new:,} new"


def import_in_turn(
    store: Store,
    paths: Iterable[str],
    *,
    on_file: Callable[[int, InputFile], object] = lambda _, __: None,
    on_trace: Callable[[], object] = lambda: None,
) -> Generator[FileReports, None, None]:
    """Import the files of which the database has another version or none, redacted; yields the reports of each file.

    `on_file` gets the number of all files and the file that is read next. A caller that stops taking reports has those
    files in the database that it got reports of. Raises StoreError if the store refuses.
    """
    files, redactor = files_to_read(paths), Redactor()
    unchanged = UnchangedFiles(store, ImportOptions())
    try:
        for file, known in unchanged.reports(files):
            on_file(len(files), file)
            if known is not None:
                yield (known,)
                continue
            reports = save_file(store, read_file(file, None, redactor), on_trace=on_trace)
            unchanged.add(file, reports[0])
            yield reports
    finally:
        unchanged.flush()
