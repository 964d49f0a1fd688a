"""Pi's sessions, and those of programs on Pi's core (Oh My Pi; OpenClaw's transcripts as JSON lines).

A file is one session: entries with an `id` and a `parentId`, a tree. The branch that ends at the last line is the
trace; any other is a fork of it, which begins with the entries that both have. Version 1 has no ids and no branches.
Source: IMPORTS of Pi 0.74 and 1.6 (`session-format.md`, `message-types.md` of its package).
"""

from collections.abc import Iterator

from weaklink.inspector.importers.agents.agent_session import AgentSession
from weaklink.inspector.importers.agents.pi_entries import (
    BranchEntries,
    branch_entries,
    branch_session,
    entry_branches,
)
from weaklink.inspector.importers.agents.session_logs import SessionLogs
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import JsonObject, Skipped
from weaklink.inspector.model import Trace


def _is_header(row: JsonObject) -> bool:
    return row.get("type") == "session" and isinstance(row.get("cwd"), str) and isinstance(row.get("id"), str)


class _PiLog:
    """The rows of one session."""

    def __init__(self, *_: object) -> None:
        self._header: JsonObject = {}
        self._entries: list[Row] = []
        self._main: BranchEntries | None = None

    def add(self, row: Row) -> None:
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


PI = LogSource(
    name="pi",
    signs="a first row `session` with a `cwd`, then entries with a `parentId`",
    is_row=_is_header,
    reader=SessionLogs(_PiLog, lambda row: text_of(row, "id") if _is_header(row) else ""),
)
"""One trace per session, and one per branch that was left."""
