"""Traces whose source gave no time are sorted by their import again, which lists show in place of their start."""

import sqlalchemy as sa
from alembic import op

revision = "v0020"
down_revision = "v0019"
branch_labels = None
depends_on = None

_UNKNOWN_TIME_S = -1e18
_BY_TRACE = ("trace_code", "trace_tool", "argument")
_WITHOUT_TIME = "SELECT id FROM trace WHERE started_at_s IS NULL"


def upgrade() -> None:
    _place("trace", "started_at_s IS NULL", "imported_at_s")
    for table in _BY_TRACE:
        imported = f"(SELECT imported_at_s FROM trace WHERE trace.id = {table}.trace_id)"
        _place(table, f"trace_id IN ({_WITHOUT_TIME})", imported)


def downgrade() -> None:
    """Sort these traces last again."""
    for table in _BY_TRACE:
        _place(table, f"trace_id IN ({_WITHOUT_TIME})", f"{_UNKNOWN_TIME_S!r}")
    _place("trace", "started_at_s IS NULL", f"{_UNKNOWN_TIME_S!r}")


def _place(table: str, condition: str, at_s: str) -> None:
    op.execute(sa.text(f"UPDATE {table} SET sort_at_s = {at_s} WHERE {condition}"))
