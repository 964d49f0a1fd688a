"""Indexes for filters by counts, by names and external ids with a star at their end, and by what broke a trace."""

import sqlalchemy as sa
from alembic import op

revision = "v0016"
down_revision = "v0015"
branch_labels = None
depends_on = None

_NAME, _VALUE = "ix_trace_folded_name", "ix_external_id_folded_value"
_COUNTS = ("turns", "tool_calls", "errors", "warnings")
_PARTIAL = {
    "ix_trace_with_warnings": (["sort_at_s", "id"], "warnings > 0"),
    "ix_trace_with_infos": (["sort_at_s", "id"], "infos > 0"),
    "ix_trace_break_code": (["break_code", "sort_at_s", "id"], "break_code IS NOT NULL"),
    "ix_trace_break_outcome": (
        ["break_outcome", "sort_at_s", "id"],
        "break_code IS NULL AND break_outcome IS NOT NULL",
    ),
}


def upgrade() -> None:
    for column in _COUNTS:
        op.create_index(f"ix_trace_{column}_sort_at_s_id", "trace", [column, "sort_at_s", "id"])
    op.create_index("ix_trace_context_share", "trace", ["context_share"])
    for name, (columns, where) in _PARTIAL.items():
        op.create_index(name, "trace", columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))
    # Case-insensitive and ordered by code point, so that a prefix is a range of the index. PostgreSQL does not index
    # long texts, and its collations have different orders.
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f'CREATE INDEX {_NAME} ON trace (lower("left"(name, 200)) COLLATE "C", sort_at_s, id)')
        op.execute(f'CREATE INDEX {_VALUE} ON external_id (lower(value) COLLATE "C", trace_id)')
    else:
        op.execute(f"CREATE INDEX {_NAME} ON trace (name COLLATE NOCASE, sort_at_s, id)")
        op.execute(f"CREATE INDEX {_VALUE} ON external_id (value COLLATE NOCASE, trace_id)")


def downgrade() -> None:
    op.drop_index(_VALUE, "external_id")
    op.drop_index(_NAME, "trace")
    for name in _PARTIAL:
        op.drop_index(name, "trace")
    op.drop_index("ix_trace_context_share", "trace")
    for column in _COUNTS:
        op.drop_index(f"ix_trace_{column}_sort_at_s_id", "trace")
