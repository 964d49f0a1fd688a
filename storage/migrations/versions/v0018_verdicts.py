"""The certainty of verdicts, kinds of results, and what agents said of them; `weaklink db reinspect` fills them in."""

import sqlalchemy as sa
from alembic import op

revision = "v0018"
down_revision = "v0017"
branch_labels = None
depends_on = None

_OF_CALLS = ("result_kind", "said")


def upgrade() -> None:
    op.add_column("trace", sa.Column("certainty", sa.Text(), nullable=False, server_default=""))
    op.create_index("ix_trace_certainty_sort_at_s_id", "trace", ["certainty", "sort_at_s", "id"])
    for name in _OF_CALLS:
        op.add_column("call", sa.Column(name, sa.Text(), nullable=True))


def downgrade() -> None:
    for name in _OF_CALLS:
        op.drop_column("call", name)
    op.drop_index("ix_trace_certainty_sort_at_s_id", "trace")
    op.drop_column("trace", "certainty")
