"""Pi's sessions, and those of programs on Pi's core (Oh My Pi; OpenClaw's transcripts as JSON lines).

A file is one session: entries with an `id` and a `parentId`, a tree. The branch that ends at the last line is the
trace; any other is a fork of it, which begins with the entries that both have. Version 1 has no ids and no branches.
Source: IMPORTS of Pi 0.74 and 1.6 (`session-format.md`, `message-types.md` of its package).
"""

from collections.abc import Iterator

from weaklink.inspector.importers.agents.agent_session import logs_of
from weaklink.inspector.importers.agents.pi_entries import branch_session, entry_branches
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.model import Trace


def _is_header(row: JsonObject) -> bool:
    return row.get("type") == "session" and isinstance(row.get("cwd"), str) and isinstance(row.get("id"), str)


def _sessions(file: SourceFile) -> Iterator[Trace | Skipped]:
    """Of each session the branch of the last line first, then the others in the order of their ends."""
    for rows in logs_of(file, lambda row: text_of(row, "id") if _is_header(row) else ""):
        header: JsonObject = {}
        entries: list[Row] = []
        for row in rows:
            if isinstance(row, Skipped):
                yield row
            elif row.value.get("type") == "session":
                header = header or row.value
            else:
                entries.append(row)
        for number, (branch, shared) in enumerate(entry_branches(entries)):
            yield branch_session(header, branch, shared if number else 0).trace()


PI = LogSource(
    name="pi",
    signs="a first row `session` with a `cwd`, then entries with a `parentId`",
    is_row=_is_header,
    reader=_sessions,
)
"""One trace per session, and one per branch that was left."""
