"""The counts that metrics are made of, of each trace and of each tool in it; `storage.measuring` fills them in."""

import sqlalchemy as sa
from alembic import op

revision = "v0005"
down_revision = "v0004"
branch_labels = None
depends_on = None

_OF_CALLS = (
    *("calls", "well_formed", "checked", "compliant", "answered", "error_results"),
    *("failed", "recovered", "timed", "latency_ms"),
)
_OF_TRACES = (
    *("calling_turns", "parallel_turns", "is_ok", "is_recovered", "is_broken", "is_aborted"),
    *("is_multi_step", "is_multi_step_success", "is_judged", "is_judged_success"),
)
_NEW_OF_TOOLS = (
    *("well_formed", "checked", "compliant", "answered", "error_results"),
    *("recovered", "timed", "latency_ms", "is_broken"),
)


def upgrade() -> None:
    op.create_table(
        "figures",
        sa.Column("trace_id", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in (*_OF_CALLS, *_OF_TRACES)),
        sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name="fk_figures_trace_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("trace_id", name="pk_figures"),
    )
    op.create_table(
        "violation",
        sa.Column("trace_id", sa.Integer(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("times", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name="fk_violation_trace_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("trace_id", "tool", "path", "code", name="pk_violation"),
        sqlite_with_rowid=False,
    )
    for name in _NEW_OF_TOOLS:
        op.add_column("trace_tool", sa.Column(name, sa.BigInteger(), nullable=False, server_default="0"))


def downgrade() -> None:
    for name in reversed(_NEW_OF_TOOLS):
        op.drop_column("trace_tool", name)
    op.drop_table("violation")
    op.drop_table("figures")
