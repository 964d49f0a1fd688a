"""The database tables, of two kinds: the record of traces, and rows that are derived from it and can be rebuilt.

The record is `trace`, `external_id`, `turn`, `part`, and the tools in requests. A part's text is stored once,
compressed, with its packed chunks in a separate column.

`storage.schema` creates them in a new database, with what SQLAlchemy's tables cannot say: the text index. An option for
PostgreSQL (such as the `WHERE` of an index) would load its dialect, 0.05 s, in each command that opens an SQLite file:
`storage.schema` takes SQLite's.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeAlias, TypeVar

import sqlalchemy as sa

from weaklink.inspector.chain.metrics_figures import TOOL_NUMBERS, TRACE_NUMBERS

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

Row: TypeAlias = dict[str, Any]
"""One row's values by column name; it never leaves `storage`."""
Toolset: TypeAlias = tuple[tuple[str, bytes], ...]
"""The tools of a request, in order: the name of each, and its packed definition."""
_Item = TypeVar("_Item")


def of_trace(*, key: bool = True) -> sa.Column[int]:
    """The id of the row's trace, with cascading deletes; part of the primary key by default."""
    return sa.Column("trace_id", sa.ForeignKey("trace.id", ondelete="CASCADE"), primary_key=key, nullable=False)


def number(name: str = "number") -> sa.Column[int]:
    """A number that is part of the primary key."""
    return sa.Column(name, sa.Integer, primary_key=True, autoincrement=False)


def text(name: str, *, nullable: bool = False) -> sa.Column[str]:
    """A column of escaped text."""
    return sa.Column(name, sa.Text, nullable=nullable)


def count(name: str, *, nullable: bool = False) -> sa.Column[int]:
    """A column of integers."""
    return sa.Column(name, sa.BigInteger, nullable=nullable)


def blob(name: str, *, nullable: bool = False) -> sa.Column[bytes]:
    """A column of packed bytes."""
    return sa.Column(name, sa.LargeBinary, nullable=nullable)


inspection = sa.Table("inspection", metadata, of_trace(), blob("digest"), blob("body"))

call = sa.Table(
    "call",
    metadata,
    of_trace(),
    number(),
    count("turn"),
    text("part"),
    count("start"),
    count("end"),
    text("name", nullable=True),
    sa.Column("valid", sa.Boolean, nullable=False),
    sa.Column("recovered", sa.Boolean, nullable=False),
    text("outcome", nullable=True),
    text("certainty", nullable=True),
    count("step", nullable=True),
    text("recovery", nullable=True),
    count("recovered_by", nullable=True),
    text("result_kind", nullable=True),
    text("said", nullable=True),
    sqlite_with_rowid=False,
)

diagnostic = sa.Table(
    "diagnostic",
    metadata,
    of_trace(),
    number(),
    count("turn"),
    text("part"),
    count("start"),
    count("end"),
    text("code"),
    text("severity"),
    sqlite_with_rowid=False,
)

trace_tool = sa.Table(
    "trace_tool",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("sort_at_s", sa.Double, primary_key=True, autoincrement=False),
    of_trace(),
    *(count(name) for name in TOOL_NUMBERS),
    sa.Index(None, "trace_id"),
    sqlite_with_rowid=False,
)

trace_code = sa.Table(
    "trace_code",
    metadata,
    sa.Column("code", sa.Text, primary_key=True),
    sa.Column("sort_at_s", sa.Double, primary_key=True, autoincrement=False),
    of_trace(),
    count("diagnostics"),
    sa.Index(None, "trace_id"),
    sqlite_with_rowid=False,
)

figures = sa.Table(
    "figures",
    metadata,
    of_trace(),
    *(count(name) for name in TRACE_NUMBERS),
)

violation = sa.Table(
    "violation",
    metadata,
    of_trace(),
    sa.Column("tool", sa.Text, primary_key=True),
    sa.Column("path", sa.Text, primary_key=True),
    sa.Column("code", sa.Text, primary_key=True),
    count("times"),
    sqlite_with_rowid=False,
)

argument = sa.Table(
    "argument",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, primary_key=True),
    sa.Column("sort_at_s", sa.Double, primary_key=True, autoincrement=False),
    of_trace(),
    sa.Column("path", sa.Text, primary_key=True),
    sa.Column("number", sa.Double),
    sa.Index(None, "trace_id"),
    sa.Index(None, "name", "number", sqlite_where=sa.text("number IS NOT NULL")),
    sqlite_with_rowid=False,
)

trace = sa.Table(
    "trace",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    blob("identity"),
    blob("fingerprint"),
    text("name"),
    text("source"),
    text("file"),
    text("record"),
    text("model"),
    sa.Column("started_at_s", sa.Double),
    sa.Column("imported_at_s", sa.Double, nullable=False),
    sa.Column("sort_at_s", sa.Double, nullable=False),
    sa.Column("duration_s", sa.Double),
    count("turns"),
    count("characters"),
    count("chunks"),
    count("input_tokens", nullable=True),
    count("output_tokens", nullable=True),
    count("tokens", nullable=True),
    sa.Column("first_token_s", sa.Double),
    sa.Column("max_gap_s", sa.Double),
    text("prompt_hash"),
    text("outcome"),
    sa.Column("reward", sa.Double),
    text("project"),
    blob("facts"),
    blob("provenance"),
    count("turns_checksum", nullable=True),
    count("record_checksum", nullable=True),
    # derived
    count("derived_checksum", nullable=True),
    text("inspector_version"),
    text("format"),
    text("status"),
    text("abort_reason", nullable=True),
    count("tool_calls"),
    count("errors"),
    count("warnings"),
    count("infos"),
    sa.Column("context_share", sa.Double),
    sa.Column("certainty", sa.Text, nullable=False, server_default=""),
    text("kinds"),
    text("reasoning"),
    count("steps"),
    count("steps_ok"),
    count("steps_failed"),
    count("steps_recovered"),
    count("break_step", nullable=True),
    count("break_turn", nullable=True),
    text("break_tool", nullable=True),
    text("break_outcome", nullable=True),
    text("break_code", nullable=True),
    text("break_message", nullable=True),
    text("break_reaction", nullable=True),
    sa.UniqueConstraint("identity"),
    sqlite_autoincrement=True,  # ids of deleted traces are never reused
)


sa.Index(None, trace.c.sort_at_s, trace.c.id)


for _name in (
    *("status", "model", "source", "format", "kinds", "reasoning", "prompt_hash", "outcome", "project", "certainty"),
    *("turns", "tool_calls", "errors", "warnings"),
):
    sa.Index(None, trace.c[_name], trace.c.sort_at_s, trace.c.id)


for _name in ("duration_s", "first_token_s", "max_gap_s", "tokens", "break_step", "reward", "context_share"):
    sa.Index(None, trace.c[_name])


_has_code = trace.c.break_code.is_not(None)
_is_broken_without_code = sa.and_(trace.c.break_code.is_(None), trace.c.break_outcome.is_not(None))
sa.Index("ix_trace_break_code", trace.c.break_code, trace.c.sort_at_s, trace.c.id, sqlite_where=_has_code)
sa.Index(
    "ix_trace_break_outcome",
    trace.c.break_outcome,
    trace.c.sort_at_s,
    trace.c.id,
    sqlite_where=_is_broken_without_code,
)

mark = sa.Table(
    "mark",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("trace_id", sa.ForeignKey("trace.id", ondelete="CASCADE"), nullable=False, index=True),
    count("turn", nullable=True),
    count("step", nullable=True),
    text("note"),
    text("folded"),
    sa.Column("marked_at_s", sa.Double, nullable=False),
    sa.Column("author", sa.Text, nullable=False, server_default=""),
)

access_token = sa.Table(
    "access_token",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    text("name"),
    text("role"),
    blob("digest"),
    sa.Column("made_at_s", sa.Double, nullable=False),
    sa.Column("revoked_at_s", sa.Double, nullable=True),
    sa.Column("expires_at_s", sa.Double),
    sa.UniqueConstraint("digest"),
)

external_id = sa.Table(
    "external_id",
    metadata,
    of_trace(),
    number(),
    text("name"),
    text("value"),
    sa.Index(None, "value", "trace_id"),
    sqlite_with_rowid=False,
)

toolset = sa.Table(
    "toolset", metadata, sa.Column("id", sa.Integer, primary_key=True), blob("hash"), sa.UniqueConstraint("hash")
)

tool = sa.Table(
    "tool",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    blob("hash"),
    text("name"),
    blob("body"),
    sa.UniqueConstraint("hash"),
    sa.Index(None, "name"),
)

toolset_tool = sa.Table(
    "toolset_tool",
    metadata,
    sa.Column("toolset_id", sa.ForeignKey("toolset.id", ondelete="CASCADE"), primary_key=True),
    number(),
    sa.Column("tool_id", sa.ForeignKey("tool.id"), nullable=False, index=True),
    sqlite_with_rowid=False,
)

turn = sa.Table(
    "turn",
    metadata,
    of_trace(),
    number(),
    text("role"),
    text("requested_model"),
    text("answered_model"),
    text("finish", nullable=True),
    sa.Column("started_at_s", sa.Double),
    sa.Column("ended_at_s", sa.Double),
    count("input_tokens", nullable=True),
    count("output_tokens", nullable=True),
    sa.Column("toolset_id", sa.ForeignKey("toolset.id"), index=True),
    blob("facts"),
)

part = sa.Table(
    "part",
    metadata,
    of_trace(),
    number("turn"),
    number(),
    text("name"),
    count("characters"),
    count("chunk_count", nullable=True),
    blob("text"),
    blob("chunks", nullable=True),
)

search_pending = sa.Table("search_pending", metadata, of_trace())

live = sa.Table(
    "live",
    metadata,
    of_trace(),
    text("owner"),
    sa.Column("beat_at_s", sa.Double, nullable=False),
    sa.Column("idle_at_s", sa.Double),
)

exchange = sa.Table("exchange", metadata, of_trace(), number(), blob("body"))
"""HTTP exchanges for a replay; a request that repeats the previous one is stored as the difference."""

imported_file = sa.Table(
    "imported_file",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    blob("place"),
    blob("settings"),
    count("size_bytes"),
    count("modified_ns", nullable=True),
    blob("sha256"),
    blob("report"),
    sa.UniqueConstraint("place"),
)

probe_run = sa.Table(
    "probe_run",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    text("url"),
    text("model"),
    sa.Column("at_s", sa.Double, nullable=False),
    text("session"),
    blob("summary"),
)

imported_trace = sa.Table(
    "imported_trace",
    metadata,
    of_trace(),
    sa.Column("file_id", sa.ForeignKey("imported_file.id", ondelete="CASCADE"), primary_key=True, index=True),
)

live_piece = sa.Table("live_piece", metadata, of_trace(), number("turn"), number(), blob("body"))

for _table in metadata.tables.values():
    for _key in _table.foreign_key_constraints:
        if _key.referred_table is trace:  # none on PostgreSQL, where `delete_traces` deletes the rows of a trace
            _key.ddl_if(dialect="sqlite")

RECORD = (external_id, turn, part)
"""The tables whose rows are deleted when a trace is replaced; `search_pending` lists the traces not yet indexed."""

DERIVED = (inspection, call, diagnostic, trace_tool, trace_code, argument, figures, violation)
"""The tables whose rows are deleted when a trace is inspected again."""

BESIDE = (search_pending, mark, live, live_piece, imported_trace)
"""Other tables with rows of traces: marks, the state of traces that are pending or running, and their files."""

ROWS_OF_TRACES = (*RECORD, *DERIVED, exchange, *BESIDE)
"""All tables with rows of traces, but `trace` itself and the text index."""


def in_groups(items: Iterable[_Item], size: int = 500) -> Iterator[list[_Item]]:
    """The items in lists of at most `size`, in order; databases limit the number of parameters of a statement."""
    rest = iter(items)
    while group := list(islice(rest, size)):
        yield group
