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

While a trace is recorded it has a row in `live`, with its recorder, when that last gave a sign of life, and from when
on the trace is idle if nothing more comes (NULL while a turn is open); what came of its open turns lies in
`live_piece`, in the order it arrived. Both go when it ends.

Text columns hold escaped text (`packing.escapes`), those with an index its bounded key; blobs hold the exact values.
The checksums in a trace's row say whether it is as it was written: see `storage.checksums`.
`sort_at_s` is when a trace started; lists go from the newest down, and those whose source gave no time come last, with
`UNKNOWN_TIME_S`: a keyset needs a value that compares.
"""

import sqlalchemy as sa

from storage.columns import blob, count, metadata, number, of_trace, text
from storage.derived_tables import (
    argument,
    call,
    diagnostic,
    figures,
    inspection,
    rollup,
    trace_code,
    trace_tool,
    violation,
)

UNKNOWN_TIME_S = -1e18
"""The `sort_at_s` of a trace whose source gave no time: before every moment that can be written down."""

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
    sqlite_autoincrement=True,  # an id that was once shown never comes to mean another trace
)
sa.Index(None, trace.c.sort_at_s, trace.c.id)
for _name in ("status", "model", "source", "format", "kinds", "reasoning", "prompt_hash", "outcome"):
    sa.Index(None, trace.c[_name], trace.c.sort_at_s, trace.c.id)
for _name in ("duration_s", "first_token_s", "max_gap_s", "tokens", "break_step", "reward"):
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
    count("turn", nullable=True),
    count("step", nullable=True),
    text("note"),
    text("folded"),
    sa.Column("marked_at_s", sa.Double, nullable=False),
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

live_piece = sa.Table("live_piece", metadata, of_trace(), number("turn"), number(), blob("body"))

RECORD = (external_id, turn, part)
"""What goes when a trace is replaced; `search_pending` says which traces the text index has yet to read."""

DERIVED = (inspection, call, diagnostic, trace_tool, trace_code, argument, figures, violation)
"""What goes when a trace is inspected again."""

__all__ = [
    "DERIVED",
    "RECORD",
    "argument",
    "call",
    "diagnostic",
    "external_id",
    "figures",
    "inspection",
    "live",
    "live_piece",
    "mark",
    "metadata",
    "part",
    "rollup",
    "search_pending",
    "tool",
    "toolset",
    "toolset_tool",
    "trace",
    "trace_code",
    "trace_tool",
    "turn",
    "violation",
]
