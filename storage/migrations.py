"""The steps that upgrade a database of an earlier version, one a version; `storage.schema` creates new databases.

A step changes the tables as its version had them, and stays as it is when the code changes: it names tables and columns
as text, and uses nothing of weaklink. Where stored facts have to be read, `storage.schema.upgrade` does it after the
last step. A step is for SQLite and PostgreSQL; Alembic's operations write the SQL of both.

Example: a database of version `v0017` runs `_v0018`, `_v0019` and `_v0020`, in one transaction.
"""

from collections.abc import Callable, Mapping

import sqlalchemy as sa
from alembic.operations import Operations


def _v0007(op: Operations) -> None:
    """Checksums of the rows of a trace; existing traces get none."""
    for name in ("turns_checksum", "record_checksum", "derived_checksum"):
        op.add_column("trace", sa.Column(name, sa.BigInteger(), nullable=True))


def _v0008(op: Operations) -> None:
    """The source's own outcome of a trace for filters, its comparison with the chain for statistics, and idle times.

    `storage.schema` fills in `trace.outcome` and `trace.reward` from the stored facts.
    """
    op.add_column("live", sa.Column("idle_at_s", sa.Double(), nullable=True))
    op.add_column("trace", sa.Column("outcome", sa.Text(), nullable=False, server_default="unknown"))
    op.add_column("trace", sa.Column("reward", sa.Double()))
    op.create_index("ix_trace_outcome_sort_at_s_id", "trace", ["outcome", "sort_at_s", "id"])
    op.create_index("ix_trace_reward", "trace", ["reward"])
    unbroken, failed = "(is_ok + is_recovered)", "(is_judged - is_judged_success)"
    new_figures = {
        "is_unknown": "0",  # the next inspection sets the status `unknown`
        "is_unbroken_success": f"{unbroken} * is_judged_success",
        "is_unbroken_failure": f"{unbroken} * {failed}",
        "is_broken_success": "is_broken * is_judged_success",
        "is_broken_failure": f"is_broken * {failed}",
    }
    for name in new_figures:
        op.add_column("figures", sa.Column(name, sa.BigInteger(), nullable=False, server_default="0"))
    values = ", ".join(f"{name} = {value}" for name, value in new_figures.items())
    op.execute(sa.text(f"UPDATE figures SET {values}"))


def _v0010(op: Operations) -> None:
    """HTTP exchanges of recorded traces, for a replay."""
    op.create_table(
        "exchange",
        sa.Column("trace_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name="fk_exchange_trace_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("trace_id", "number", name="pk_exchange"),
    )


def _v0011(op: Operations) -> None:
    """Access tokens of users and recorders, and the author of a mark."""
    op.create_table(
        "access_token",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("made_at_s", sa.Double(), nullable=False),
        sa.Column("revoked_at_s", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_access_token"),
        sa.UniqueConstraint("digest", name="uq_access_token_digest"),
    )
    op.add_column("mark", sa.Column("author", sa.Text(), nullable=False, server_default=""))


def _v0012(op: Operations) -> None:
    """The largest share of the context window that a turn used; existing traces get 131,072 tokens as their window."""
    op.add_column("trace", sa.Column("context_share", sa.Double()))
    tokens = "SELECT MAX(input_tokens + COALESCE(output_tokens, 0)) FROM turn WHERE turn.trace_id = trace.id"
    op.execute(sa.text(f"UPDATE trace SET context_share = ({tokens}) / 131072.0"))


_WITH_KEYS_TO_TRACE = (
    *("external_id", "turn", "part", "inspection", "call", "diagnostic", "trace_tool", "trace_code", "argument"),
    *("figures", "violation", "exchange", "search_text", "mark", "search_pending", "live", "live_piece"),
)
_KEYS = """
SELECT conname FROM pg_constraint
WHERE conrelid = '"{name}"'::regclass AND contype = 'f' AND confrelid = 'trace'::regclass
"""


def _v0013(op: Operations) -> None:
    """No foreign keys to `trace` on PostgreSQL: `storage.writing.delete_traces` deletes the rows of a trace by itself.

    Earlier versions of weaklink also split these tables into partitions by time here; `_v0017` makes them plain tables.
    """
    if _is_postgresql(op):
        for name in _WITH_KEYS_TO_TRACE:
            for (key,) in _query(op, _KEYS.format(name=name)):
                op.execute(f'ALTER TABLE "{name}" DROP CONSTRAINT "{key}"')


def _v0014(op: Operations) -> None:
    """The expiry time of an access token."""
    op.add_column("access_token", sa.Column("expires_at_s", sa.Double()))


def _v0015(op: Operations) -> None:
    """The project of a trace, for filters; `storage.schema` fills it in from the stored facts."""
    op.add_column("trace", sa.Column("project", sa.Text(), nullable=False, server_default=""))
    op.create_index("ix_trace_project_sort_at_s_id", "trace", ["project", "sort_at_s", "id"])


def _v0016(op: Operations) -> None:
    """Indexes for filters by counts, by names with a star at their end, and by what broke a trace."""
    for column in ("turns", "tool_calls", "errors", "warnings"):
        op.create_index(f"ix_trace_{column}_sort_at_s_id", "trace", [column, "sort_at_s", "id"])
    op.create_index("ix_trace_context_share", "trace", ["context_share"])
    for column, where in (
        ("break_code", "break_code IS NOT NULL"),
        ("break_outcome", "break_code IS NULL AND break_outcome IS NOT NULL"),
    ):
        condition = sa.text(where)
        columns = [column, "sort_at_s", "id"]
        op.create_index(f"ix_trace_{column}", "trace", columns, sqlite_where=condition, postgresql_where=condition)
    # Case-insensitive and ordered by code point, so that a prefix is a range of the index. PostgreSQL does not index
    # long texts, and its collations have different orders.
    folded = 'lower("left"(name, 200)) COLLATE "C"' if _is_postgresql(op) else "name COLLATE NOCASE"
    op.execute(f"CREATE INDEX ix_trace_folded_name ON trace ({folded}, sort_at_s, id)")


_PARTITIONED = "SELECT relname FROM pg_class WHERE relkind = 'p' AND relnamespace = current_schema()::regnamespace"
_CONSTRAINTS = """
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = '"{name}"'::regclass ORDER BY contype DESC
"""
_INDEXES = """
SELECT pg_get_indexdef(indexrelid) FROM pg_index
WHERE indrelid = '"{name}"'::regclass AND NOT indisprimary ORDER BY indexrelid
"""


def _v0017(op: Operations) -> None:
    """Plain tables: no partitions, no stored sums of statistics, no indexes that only weaklink's own planner read.

    Earlier versions had split the rows of traces on PostgreSQL by time. The rows are copied, in the order of their
    traces, into a table that takes the name of the partitioned one.
    """
    op.drop_table("rollup")
    for name in ("ix_external_id_folded_value", "search_text_times"):
        op.execute(f"DROP INDEX IF EXISTS {name}")
    for name in ("errors", "warnings", "infos"):
        op.execute(f"DROP INDEX IF EXISTS ix_trace_with_{name}")
    if _is_postgresql(op):
        partitioned = {name for (name,) in _query(op, _PARTITIONED)}
        for name in _WITH_KEYS_TO_TRACE:
            if name in partitioned:
                _make_plain(op, name)
                op.execute(f'ANALYZE "{name}"')


def _make_plain(op: Operations, name: str) -> None:
    """Replace a partitioned table by a plain one with the same rows, constraints and indexes."""
    constraints, indexes = _query(op, _CONSTRAINTS.format(name=name)), _query(op, _INDEXES.format(name=name))
    op.execute(f'CREATE TABLE "{name}_plain" (LIKE "{name}" INCLUDING DEFAULTS INCLUDING STORAGE)')
    op.execute(f'INSERT INTO "{name}_plain" SELECT * FROM "{name}" ORDER BY trace_id')
    op.execute(f'DROP TABLE "{name}"')
    op.execute(f'ALTER TABLE "{name}_plain" RENAME TO "{name}"')
    for key, definition in constraints:
        op.execute(f'ALTER TABLE "{name}" ADD CONSTRAINT "{key}" {definition}')
    for (definition,) in indexes:
        op.execute(definition.replace(" ON ONLY ", " ON ", 1))  # so PostgreSQL shows the index of a partitioned table


def _v0018(op: Operations) -> None:
    """The certainty of verdicts, kinds of results, and what agents said of them; `db reinspect` fills them in."""
    op.add_column("trace", sa.Column("certainty", sa.Text(), nullable=False, server_default=""))
    op.create_index("ix_trace_certainty_sort_at_s_id", "trace", ["certainty", "sort_at_s", "id"])
    for name in ("result_kind", "said"):
        op.add_column("call", sa.Column(name, sa.Text(), nullable=True))


def _v0019(op: Operations) -> None:
    """The files that were imported, so that an unchanged one is not read again, and the results of `weaklink probe`."""
    op.create_table(
        "imported_file",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("place", sa.LargeBinary(), nullable=False),
        sa.Column("settings", sa.LargeBinary(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("modified_ns", sa.BigInteger(), nullable=True),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("report", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_imported_file"),
        sa.UniqueConstraint("place", name="uq_imported_file_place"),
    )
    keys = [
        sa.ForeignKeyConstraint(["file_id"], ["imported_file.id"], name="fk_imported_trace_file_id", ondelete="CASCADE")
    ]
    if not _is_postgresql(op):  # see `_v0013`
        keys.append(
            sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name="fk_imported_trace_trace_id", ondelete="CASCADE")
        )
    op.create_table(
        "imported_trace",
        sa.Column("trace_id", sa.Integer(), nullable=False),
        sa.Column("file_id", sa.Integer(), nullable=False),
        *keys,
        sa.PrimaryKeyConstraint("trace_id", "file_id", name="pk_imported_trace"),
    )
    op.create_index("ix_imported_trace_file_id", "imported_trace", ["file_id"])
    op.create_table(
        "probe_run",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("at_s", sa.Double(), nullable=False),
        sa.Column("session", sa.Text(), nullable=False),
        sa.Column("summary", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_probe_run"),
    )


def _v0020(op: Operations) -> None:
    """Traces whose source gave no time are sorted by their import, which lists show in place of their start.

    Versions from `v0009` on sorted them last.
    """
    without_time = "SELECT id FROM trace WHERE started_at_s IS NULL"
    op.execute("UPDATE trace SET sort_at_s = imported_at_s WHERE started_at_s IS NULL")
    for table in ("trace_code", "trace_tool", "argument"):
        imported = f"(SELECT imported_at_s FROM trace WHERE trace.id = {table}.trace_id)"
        op.execute(f"UPDATE {table} SET sort_at_s = {imported} WHERE trace_id IN ({without_time})")


def _is_postgresql(op: Operations) -> bool:
    return op.get_bind().dialect.name == "postgresql"


def _query(op: Operations, statement: str) -> list[tuple[str, ...]]:
    rows = op.get_bind().execute(sa.text(statement.replace("::", "\\:\\:")))
    return [tuple(map(str, row)) for row in rows]


UPGRADE_STEPS: Mapping[str, Callable[[Operations], None]] = {
    "v0007": _v0007,
    "v0008": _v0008,
    "v0010": _v0010,  # v0009 only sorted traces without a time last, which v0020 undoes
    "v0011": _v0011,
    "v0012": _v0012,
    "v0013": _v0013,
    "v0014": _v0014,
    "v0015": _v0015,
    "v0016": _v0016,
    "v0017": _v0017,
    "v0018": _v0018,
    "v0019": _v0019,
    "v0020": _v0020,
}
"""The step to each version from the one before it, oldest first; no step changes nothing in the tables."""
