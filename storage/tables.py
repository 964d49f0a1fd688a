"""The tables. Two kinds: the record (what came in), and what is derived from it and can be made again.

The record: `trace`, `external_id`, `turn`, `part`, and the tools offered. A part's text lies once, compressed, with
its chunks packed beside it. Tools are kept once however many turns offer them: a turn names a `toolset`. A `mark` is
the user's own: it goes with its trace alone, and stays when a longer version of the session comes or it is inspected
again.

Derived: the derived columns of `trace`, and `inspection`, which holds everything an inspection says in one blob a
trace. A row per span would be ten million rows for a million sessions, read one session at a time and never
searched; packed with their calls and diagnostics they are a tenth of the bytes and one read. What is searched stands
in rows besides: `call` (with what became of it) and `diagnostic`; and `trace_tool`, `trace_code` and `argument`, once
per trace and clustered by name (and value) and time, so that the newest traces with a tool, a code or an argument's
value are a walk along one index. `figures` holds the counts of each trace that metrics are made of, `trace_tool` those
over the calls of each tool, `violation` which places of a tool's schema were broken: metrics are sums over them.
`rollup` keeps what such a sum comes to over a whole block of traces, until one of them changes (`storage.rollups`).

While a trace is recorded it has a row in `live`, with its recorder and when that last gave a sign of life; what came
of its open turns lies in `live_piece`, in the order it arrived. Both go when it ends.

Text columns hold escaped text (`packing.escapes`), those with an index its bounded key; blobs hold the exact values.
`sort_at_s` is when a trace started, or was imported where no start is known; lists go from the newest down.
"""

import sqlalchemy as sa

from inspector.chain.metrics_figures import TOOL_NUMBERS, TRACE_NUMBERS

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _of_trace(*, key: bool = True) -> sa.Column[int]:
    return sa.Column("trace_id", sa.ForeignKey("trace.id", ondelete="CASCADE"), primary_key=key, nullable=False)


def _number(name: str = "number") -> sa.Column[int]:
    return sa.Column(name, sa.Integer, primary_key=True, autoincrement=False)


def _text(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=nullable)


def _count(name: str, *, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=nullable)


def _blob(name: str, *, nullable: bool = False) -> sa.Column[bytes]:
    return sa.Column(name, sa.LargeBinary, nullable=nullable)


trace = sa.Table(
    "trace",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    _blob("identity"),
    _blob("fingerprint"),
    _text("name"),
    _text("source"),
    _text("file"),
    _text("record"),
    _text("model"),
    sa.Column("started_at_s", sa.Double),
    sa.Column("imported_at_s", sa.Double, nullable=False),
    sa.Column("sort_at_s", sa.Double, nullable=False),
    sa.Column("duration_s", sa.Double),
    _count("turns"),
    _count("characters"),
    _count("chunks"),
    _count("input_tokens", nullable=True),
    _count("output_tokens", nullable=True),
    _count("tokens", nullable=True),
    sa.Column("first_token_s", sa.Double),
    sa.Column("max_gap_s", sa.Double),
    _text("prompt_hash"),
    _blob("facts"),
    _blob("provenance"),
    # derived
    _text("inspector_version"),
    _text("format"),
    _text("status"),
    _text("abort_reason", nullable=True),
    _count("tool_calls"),
    _count("errors"),
    _count("warnings"),
    _count("infos"),
    _text("kinds"),
    _text("reasoning"),
    _count("steps"),
    _count("steps_ok"),
    _count("steps_failed"),
    _count("steps_recovered"),
    _count("break_step", nullable=True),
    _count("break_turn", nullable=True),
    _text("break_tool", nullable=True),
    _text("break_outcome", nullable=True),
    _text("break_code", nullable=True),
    _text("break_message", nullable=True),
    _text("break_reaction", nullable=True),
    sa.UniqueConstraint("identity"),
    sqlite_autoincrement=True,  # an id that was once shown never comes to mean another trace
)
sa.Index(None, trace.c.sort_at_s, trace.c.id)
for _name in ("status", "model", "source", "format", "kinds", "reasoning", "prompt_hash"):
    sa.Index(None, trace.c[_name], trace.c.sort_at_s, trace.c.id)
for _name in ("duration_s", "first_token_s", "max_gap_s", "tokens", "break_step"):
    sa.Index(None, trace.c[_name])
sa.Index(
    "ix_trace_with_errors",
    trace.c.sort_at_s,
    trace.c.id,
    sqlite_where=trace.c.errors > 0,
    postgresql_where=trace.c.errors > 0,
)

mark = sa.Table(
    "mark",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("trace_id", sa.ForeignKey("trace.id", ondelete="CASCADE"), nullable=False, index=True),
    _count("turn", nullable=True),
    _count("step", nullable=True),
    _text("note"),
    _text("folded"),
    sa.Column("marked_at_s", sa.Double, nullable=False),
)

external_id = sa.Table(
    "external_id",
    metadata,
    _of_trace(),
    _number(),
    _text("name"),
    _text("value"),
    sa.Index(None, "value", "trace_id"),
    sqlite_with_rowid=False,
)

toolset = sa.Table(
    "toolset", metadata, sa.Column("id", sa.Integer, primary_key=True), _blob("hash"), sa.UniqueConstraint("hash")
)

tool = sa.Table(
    "tool",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    _blob("hash"),
    _text("name"),
    _blob("body"),
    sa.UniqueConstraint("hash"),
    sa.Index(None, "name"),
)

toolset_tool = sa.Table(
    "toolset_tool",
    metadata,
    sa.Column("toolset_id", sa.ForeignKey("toolset.id", ondelete="CASCADE"), primary_key=True),
    _number(),
    sa.Column("tool_id", sa.ForeignKey("tool.id"), nullable=False, index=True),
    sqlite_with_rowid=False,
)

turn = sa.Table(
    "turn",
    metadata,
    _of_trace(),
    _number(),
    _text("role"),
    _text("requested_model"),
    _text("answered_model"),
    _text("finish", nullable=True),
    sa.Column("started_at_s", sa.Double),
    sa.Column("ended_at_s", sa.Double),
    _count("input_tokens", nullable=True),
    _count("output_tokens", nullable=True),
    sa.Column("toolset_id", sa.ForeignKey("toolset.id"), index=True),
    _blob("facts"),
)

part = sa.Table(
    "part",
    metadata,
    _of_trace(),
    _number("turn"),
    _number(),
    _text("name"),
    _count("characters"),
    _count("chunk_count", nullable=True),
    _blob("text"),
    _blob("chunks", nullable=True),
)

inspection = sa.Table("inspection", metadata, _of_trace(), _blob("digest"), _blob("body"))

call = sa.Table(
    "call",
    metadata,
    _of_trace(),
    _number(),
    _count("turn"),
    _text("part"),
    _count("start"),
    _count("end"),
    _text("name", nullable=True),
    sa.Column("valid", sa.Boolean, nullable=False),
    sa.Column("recovered", sa.Boolean, nullable=False),
    _text("outcome", nullable=True),
    _text("certainty", nullable=True),
    _count("step", nullable=True),
    _text("recovery", nullable=True),
    _count("recovered_by", nullable=True),
    sqlite_with_rowid=False,
)

diagnostic = sa.Table(
    "diagnostic",
    metadata,
    _of_trace(),
    _number(),
    _count("turn"),
    _text("part"),
    _count("start"),
    _count("end"),
    _text("code"),
    _text("severity"),
    sqlite_with_rowid=False,
)

trace_tool = sa.Table(
    "trace_tool",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("sort_at_s", sa.Double, primary_key=True, autoincrement=False),
    _of_trace(),
    *(_count(name) for name in TOOL_NUMBERS),
    sa.Index(None, "trace_id"),
    sqlite_with_rowid=False,
)

trace_code = sa.Table(
    "trace_code",
    metadata,
    sa.Column("code", sa.Text, primary_key=True),
    sa.Column("sort_at_s", sa.Double, primary_key=True, autoincrement=False),
    _of_trace(),
    _count("diagnostics"),
    sa.Index(None, "trace_id"),
    sqlite_with_rowid=False,
)

figures = sa.Table(
    "figures",
    metadata,
    _of_trace(),
    *(_count(name) for name in TRACE_NUMBERS),
)

violation = sa.Table(
    "violation",
    metadata,
    _of_trace(),
    sa.Column("tool", sa.Text, primary_key=True),
    sa.Column("path", sa.Text, primary_key=True),
    sa.Column("code", sa.Text, primary_key=True),
    _count("times"),
    sqlite_with_rowid=False,
)

rollup = sa.Table(
    "rollup",
    metadata,
    sa.Column("question", sa.Text, primary_key=True),
    _number("level"),
    _number("block"),
    _blob("body"),
    sa.Index(None, "level", "block"),
)

argument = sa.Table(
    "argument",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, primary_key=True),
    sa.Column("sort_at_s", sa.Double, primary_key=True, autoincrement=False),
    _of_trace(),
    sa.Column("path", sa.Text, primary_key=True),
    sa.Column("number", sa.Double),
    sa.Index(None, "trace_id"),
    sa.Index(
        None,
        "name",
        "number",
        sqlite_where=sa.text("number IS NOT NULL"),
        postgresql_where=sa.text("number IS NOT NULL"),
    ),
    sqlite_with_rowid=False,
)

search_pending = sa.Table("search_pending", metadata, _of_trace())

live = sa.Table("live", metadata, _of_trace(), _text("owner"), sa.Column("beat_at_s", sa.Double, nullable=False))

live_piece = sa.Table("live_piece", metadata, _of_trace(), _number("turn"), _number(), _blob("body"))

RECORD = (external_id, turn, part)
"""What goes when a trace is replaced; `search_pending` says which traces the text index has yet to read."""

DERIVED = (inspection, call, diagnostic, trace_tool, trace_code, argument, figures, violation)
"""What goes when a trace is inspected again."""
