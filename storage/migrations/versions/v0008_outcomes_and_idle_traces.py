"""The source's own outcome of a trace for filters, its comparison with the chain for statistics, and idle times.

`storage.schema` fills in `trace.outcome` and `trace.reward` from the stored facts.
"""

import sqlalchemy as sa
from alembic import op

revision = "v0008"
down_revision = "v0007"
branch_labels = None
depends_on = None

_UNBROKEN = "(is_ok + is_recovered)"
_FAILED = "(is_judged - is_judged_success)"
_NEW_FIGURES = {
    "is_unknown": "0",  # the next inspection sets the status `unknown`
    "is_unbroken_success": f"{_UNBROKEN} * is_judged_success",
    "is_unbroken_failure": f"{_UNBROKEN} * {_FAILED}",
    "is_broken_success": "is_broken * is_judged_success",
    "is_broken_failure": f"is_broken * {_FAILED}",
}


def upgrade() -> None:
    op.add_column("live", sa.Column("idle_at_s", sa.Double(), nullable=True))
    op.add_column("trace", sa.Column("outcome", sa.Text(), nullable=False, server_default="unknown"))
    op.add_column("trace", sa.Column("reward", sa.Double()))
    op.create_index("ix_trace_outcome_sort_at_s_id", "trace", ["outcome", "sort_at_s", "id"])
    op.create_index("ix_trace_reward", "trace", ["reward"])
    for name in _NEW_FIGURES:
        op.add_column("figures", sa.Column(name, sa.BigInteger(), nullable=False, server_default="0"))
    said = ", ".join(f"{name} = {value}" for name, value in _NEW_FIGURES.items())
    op.execute(sa.text(f"UPDATE figures SET {said}"))


def downgrade() -> None:
    op.drop_column("live", "idle_at_s")
    for name in reversed(_NEW_FIGURES):
        op.drop_column("figures", name)
    op.drop_index("ix_trace_reward", "trace")
    op.drop_index("ix_trace_outcome_sort_at_s_id", "trace")
    op.drop_column("trace", "reward")
    op.drop_column("trace", "outcome")
