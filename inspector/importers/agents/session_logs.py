"""Files of lines that hold one session after another: `SessionLogs` reads one, and gives each row to the log it is of.

A file that grows is read on from where it was read to (`growing_rows`): a log is then asked for its traces repeatedly.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Protocol

from msgspec import Struct

from weaklink.inspector.importers.agents.agent_session import AgentSession, SessionIds, ids_of
from weaklink.inspector.importers.growing_rows import read_growing
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.memory import RECORD_MEMORY, TOO_MANY_ROWS, estimated_memory
from weaklink.inspector.model import Trace


class SessionLog(Protocol):
    """The rows of one session, and of its sub-agents and branches."""

    def add(self, row: Row) -> Iterable[Trace | Skipped] | None:
        """Add a row; returns what is complete now or cannot be read."""
        ...

    def traces(self) -> Iterable[Trace | Skipped]:
        """What the rows so far are; more may follow, so nothing that was added may be changed."""
        ...


class SessionLogs(Struct, frozen=True):
    """The `reader` of a source of such files.

    `begin` makes a log, of the file and of its number in the file, from 0. `begins` returns the id of the session that
    a row begins, True for a session without one, and `""` for any other row; `repeats` tells whether it is one whose
    rows the log repeats. A log may take `RECORD_MEMORY`.
    """

    begin: Callable[[SourceFile, int], SessionLog]
    begins: Callable[[JsonObject], str | bool] = lambda _: ""
    repeats: Callable[[Any, str | bool], bool] = lambda log, id_: False

    def __call__(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The traces of all logs in a file, in their order."""
        return read_growing(file, self._rows)

    def _rows(self, file: SourceFile) -> "_LogRows":
        return _LogRows(self, file)


class _LogRows:
    """Divides the rows of a file into logs."""

    def __init__(self, logs: SessionLogs, file: SourceFile) -> None:
        self.is_full = False
        self._logs, self._file = logs, file
        self._number, self._left = 0, RECORD_MEMORY
        self._id: str | bool = ""
        self._log: SessionLog | None = None

    def add(self, row: Row | Skipped) -> Iterator[Trace | Skipped]:
        """Add a row; the traces of the log before, if another one begins, and what cannot be read."""
        named = self._logs.begins(row.value) if isinstance(row, Row) else ""
        may_end = named and self._id and (named is True or named != self._id)
        if may_end and not self._logs.repeats(self._log, named):
            yield from self.end()
            self._number, self._left, self._log = self._number + 1, RECORD_MEMORY, None
        self._id = named or self._id
        if self._log is None:
            self._log = self._logs.begin(self._file, self._number)
        if isinstance(row, Skipped):
            yield row
            return
        self._left -= estimated_memory(row.raw)
        if self._left < 0:
            self.is_full = True
            yield Skipped(row.record, TOO_MANY_ROWS)
        else:
            yield from self._log.add(row) or ()

    def end(self) -> Iterable[Trace | Skipped]:
        """The traces of the last log."""
        return () if self._log is None else self._log.traces()


def sessions_in_rows(
    id_of: Callable[[JsonObject], str],
    begin: Callable[[Row, SessionIds], AgentSession],
    take: Callable[[JsonObject, AgentSession], None],
) -> SessionLogs:
    """The reader of logs that are one session each: `begin` makes it, given the ids of its place (`ids_of`).

    A log begins with the row that has its id, or with its first row if none has one. `take` adds a row to a session.
    """
    return SessionLogs(partial(_OneSession, id_of, begin, take), id_of)


class _OneSession:
    """A log that is one session."""

    def __init__(
        self,
        id_of: Callable[[JsonObject], str],
        begin: Callable[[Row, SessionIds], AgentSession],
        take: Callable[[JsonObject, AgentSession], None],
        file: SourceFile,
        number: int,
    ) -> None:
        self._id_of, self._begin, self._take = id_of, begin, take
        self._ids = ids_of("", file, number)
        self._session: AgentSession | None = None

    def add(self, row: Row) -> None:
        if self._session is None or (not self._session.turns and self._id_of(row.value)):
            self._session = self._begin(row, self._ids)
        self._take(row.value, self._session)

    def traces(self) -> Iterator[Trace | Skipped]:
        if self._session is not None:
            yield self._session.trace()
