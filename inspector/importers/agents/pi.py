"""Pi's sessions, and those of programs on Pi's core (Oh My Pi; OpenClaw's transcripts as JSON lines).

A file is one session: entries with an `id` and a `parentId`, a tree. The branch that ends at the last line is the
trace; any other is a fork of it, which begins with the entries that both have. Version 1 has no ids and no branches.
Source: IMPORTS of Pi 0.74 and 1.6 (`session-format.md`, `message-types.md` of its package).
"""

from collections.abc import Iterator
from functools import partial

from weaklink.inspector.importers.agents.agent_session import AgentSession
from weaklink.inspector.importers.agents.pi_entries import (
    BranchEntries,
    branch_entries,
    branch_session,
    entry_branches,
)
from weaklink.inspector.importers.growing_rows import read_growing
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.memory import RECORD_MEMORY, TOO_MANY_ROWS, estimated_memory
from weaklink.inspector.model import Trace


def _is_header(row: JsonObject) -> bool:
    return row.get("type") == "session" and isinstance(row.get("cwd"), str) and isinstance(row.get("id"), str)


class _PiLog:
    """The rows of one session."""

    def __init__(self) -> None:
        self.id = ""
        self.left = RECORD_MEMORY
        self._header: JsonObject = {}
        self._entries: list[Row] = []
        self._main: BranchEntries | None = None

    def add(self, row: Row) -> None:
        """Add a row."""
        if row.value.get("type") != "session":
            self._entries.append(row)
        elif not self._header:
            self._header, self._main = row.value, None

    def traces(self) -> Iterator[Trace | Skipped]:
        """The branch of the last line first, then the others in the order of their ends."""
        for number, (branch, shared) in enumerate(entry_branches(self._entries)):
            session = branch_session(self._header, branch, shared) if number else self._main_session(branch)
            yield session.trace()

    def _main_session(self, branch: list[Row]) -> AgentSession:
        """The main branch; if it only grew, its known turns stay."""
        known = self._main
        if known is None or branch[: len(known.rows)] != known.rows:
            self._main = branch_entries(self._header, branch, 0)
            return self._main.session
        for row in branch[len(known.rows) :]:
            known.add(row)
        return known.session


class _PiReader:
    """Reads the rows of a file into its sessions, one after another."""

    def __init__(self, _: SourceFile) -> None:
        self.is_full = False
        self._log = _PiLog()

    def add(self, row: Row | Skipped) -> Iterator[Trace | Skipped]:
        """Add a row; the session before, if another one begins, and what cannot be read."""
        if isinstance(row, Skipped):
            yield row
            return
        named = text_of(row.value, "id") if _is_header(row.value) else ""
        if named and self._log.id and named != self._log.id:
            yield from self.end()
            self._log = _PiLog()
        self._log.id = named or self._log.id
        self._log.left -= estimated_memory(row.raw)
        if self._log.left < 0:
            self.is_full = True
            yield Skipped(row.record, TOO_MANY_ROWS)
        else:
            self._log.add(row)

    def end(self) -> Iterator[Trace | Skipped]:
        """The traces of the last session."""
        return self._log.traces()


PI = LogSource(
    name="pi",
    signs="a first row `session` with a `cwd`, then entries with a `parentId`",
    is_row=_is_header,
    reader=partial(read_growing, begin=_PiReader),
)
"""One trace per session, and one per branch that was left."""
