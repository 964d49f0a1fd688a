"""No foreign keys to `trace` on PostgreSQL: `storage.writing.delete_traces` deletes the rows of a trace by itself.

Earlier versions of weaklink also split these tables into partitions by time here; `v0017` makes them plain tables.
"""

import sqlalchemy as sa
from alembic import op

revision = "v0013"
down_revision = "v0012"
branch_labels = None
depends_on = None

_TABLES = (
    *("external_id", "turn", "part", "inspection", "call", "diagnostic", "trace_tool", "trace_code", "argument"),
    *("figures", "violation", "exchange", "search_text", "mark", "search_pending", "live", "live_piece"),
)
_KEYS = """
SELECT conname FROM pg_constraint
WHERE conrelid = '"{name}"'::regclass AND contype = 'f' AND confrelid = 'trace'::regclass
"""


def upgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    for name in _TABLES:
        for key in op.get_bind().scalars(sa.text(_KEYS.format(name=name).replace("::", "\\:\\:"))).all():
            op.execute(f'ALTER TABLE "{name}" DROP CONSTRAINT "{key}"')


def downgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    for name in _TABLES:
        key = f'CONSTRAINT "fk_{name}_trace_id" ' if name != "search_text" else ""
        op.execute(f'ALTER TABLE "{name}" ADD {key}FOREIGN KEY (trace_id) REFERENCES trace (id) ON DELETE CASCADE')
