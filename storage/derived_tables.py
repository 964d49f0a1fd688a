"""The tables of what is derived from the record, and can be made again; `storage.tables` says what each is for."""

import sqlalchemy as sa

from inspector.chain.metrics_figures import TOOL_NUMBERS, TRACE_NUMBERS
from storage.columns import blob, count, metadata, number, of_trace, text

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

rollup = sa.Table(
    "rollup",
    metadata,
    sa.Column("question", sa.Text, primary_key=True),
    number("level"),
    number("block"),
    blob("body"),
    sa.Index(None, "level", "block"),
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
    sa.Index(
        None,
        "name",
        "number",
        sqlite_where=sa.text("number IS NOT NULL"),
        postgresql_where=sa.text("number IS NOT NULL"),
    ),
    sqlite_with_rowid=False,
)
