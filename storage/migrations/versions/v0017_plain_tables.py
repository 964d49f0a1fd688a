"""Plain tables: no partitions, no stored sums of statistics, no indexes that only weaklink's own planner read.

Earlier versions had split the rows of traces on PostgreSQL by time. The rows are copied, in the order of their traces,
into a table that takes the name of the partitioned one.
"""

import sqlalchemy as sa
from alembic import op

revision = "v0017"
down_revision = "v0016"
branch_labels = None
depends_on = None

_TABLES = (
    *("external_id", "turn", "part", "inspection", "call", "diagnostic", "trace_tool", "trace_code", "argument"),
    *("figures", "violation", "exchange", "search_text"),
)
_WITH_SOME = ("errors", "warnings", "infos")
_PARTITIONED = "SELECT relname FROM pg_class WHERE relkind = 'p' AND relnamespace = current_schema()::regnamespace"
_CONSTRAINTS = """
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = '"{name}"'::regclass ORDER BY contype DESC
"""
_INDEXES = """
SELECT pg_get_indexdef(indexrelid) FROM pg_index
WHERE indrelid = '"{name}"'::regclass AND NOT indisprimary ORDER BY indexrelid
"""


def upgrade() -> None:
    op.drop_table("rollup")
    op.drop_index("ix_external_id_folded_value", "external_id")
    for name in _WITH_SOME:
        op.drop_index(f"ix_trace_with_{name}", "trace")
    if op.get_bind().dialect.name != "postgresql":
        op.drop_index("search_text_times", "trace")
        return
    partitioned = _query(_PARTITIONED)
    for name in _TABLES:
        if (name,) in partitioned:
            _make_plain(name)
            op.execute(f'ANALYZE "{name}"')


def downgrade() -> None:
    """The versions before work on plain tables too."""
    op.create_table(
        "rollup",
        sa.Column("question", sa.Text, primary_key=True),
        sa.Column("level", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("block", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_rollup_level_block", "rollup", ["level", "block"])
    for name in _WITH_SOME:
        where = sa.text(f"{name} > 0")
        op.create_index(
            f"ix_trace_with_{name}", "trace", ["sort_at_s", "id"], sqlite_where=where, postgresql_where=where
        )
    if op.get_bind().dialect.name == "postgresql":
        op.execute('CREATE INDEX ix_external_id_folded_value ON external_id (lower(value) COLLATE "C", trace_id)')
    else:
        op.execute("CREATE INDEX ix_external_id_folded_value ON external_id (value COLLATE NOCASE, trace_id)")
        op.execute("CREATE INDEX search_text_times ON trace (id / 4096, sort_at_s)")


def _make_plain(name: str) -> None:
    """Replace a partitioned table by a plain one with the same rows, constraints and indexes."""
    constraints, indexes = _query(_CONSTRAINTS.format(name=name)), _query(_INDEXES.format(name=name))
    op.execute(f'CREATE TABLE "{name}_plain" (LIKE "{name}" INCLUDING DEFAULTS INCLUDING STORAGE)')
    op.execute(f'INSERT INTO "{name}_plain" SELECT * FROM "{name}" ORDER BY trace_id')
    op.execute(f'DROP TABLE "{name}"')
    op.execute(f'ALTER TABLE "{name}_plain" RENAME TO "{name}"')
    for key, definition in constraints:
        op.execute(f'ALTER TABLE "{name}" ADD CONSTRAINT "{key}" {definition}')
    for (definition,) in indexes:
        op.execute(definition.replace(" ON ONLY ", " ON ", 1))  # so PostgreSQL shows the index of a partitioned table


def _query(statement: str) -> list[tuple[str, ...]]:
    rows = op.get_bind().execute(sa.text(statement.replace("::", "\\:\\:")))
    return [tuple(map(str, row)) for row in rows]
