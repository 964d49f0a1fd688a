"""The log database of Simon Willison's `llm`: `logs.db`, an SQLite file, in both of its schemas.

A database that was migrated has the tables of both (`inspector.importers.llm_threads` and `llm_conversations`); a
conversation that is a thread too is read once, as the thread.
"""

import sqlite3
from collections.abc import Iterator

from inspector.importers.llm_conversations import read_conversations
from inspector.importers.llm_tables import NEW_SCHEMA, OLD_SCHEMA, opened
from inspector.importers.llm_threads import read_threads
from inspector.importers.source import Sample, Skipped, SourceFile
from inspector.model import Trace

_MAGIC = b"SQLite format 3\0"
_DAMAGE = (sqlite3.Error, UnicodeDecodeError)  # SQLite quotes broken names in its messages as they are
_COLUMNS = (b"tip_message_hash", b"prompt_json")


class LlmDatabaseImporter:
    """One trace a thread or conversation, and one for each response that belongs to none."""

    name = "llm-database"
    signs = "an SQLite database with the tables of `llm`"

    def recognises(self, sample: Sample) -> float:
        """By SQLite's magic bytes and the names of the tables."""
        if not sample.head.startswith(_MAGIC):
            return 0.0
        try:
            with opened(sample.file) as tables:
                known = tables.names >= NEW_SCHEMA or tables.names >= OLD_SCHEMA
                return 0.9 if known else 0.0
        except _DAMAGE:  # its beginning may still tell
            return 0.5 if any(column in sample.head for column in _COLUMNS) else 0.0

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The threads, then the conversations, in the order of their ids; damage ends them with a Skipped."""
        try:
            with opened(file) as tables:
                tables.index()
                if tables.names >= NEW_SCHEMA:
                    yield from read_threads(tables)
                if tables.names >= OLD_SCHEMA:
                    yield from read_conversations(tables)
        except _DAMAGE as error:
            yield Skipped("database", f"the database cannot be read further: {error}")
