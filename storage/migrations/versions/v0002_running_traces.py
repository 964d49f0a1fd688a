"""Traces that are still being recorded."""

import sqlalchemy as sa
from alembic import op

revision = "v0002"
down_revision = "v0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "live",
        sa.Column("trace_id", sa.Integer(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("beat_at_s", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name="fk_live_trace_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("trace_id", name="pk_live"),
    )
    op.create_table(
        "live_piece",
        sa.Column("trace_id", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name="fk_live_piece_trace_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("trace_id", "turn", "number", name="pk_live_piece"),
    )


def downgrade() -> None:
    op.drop_table("live_piece")
    op.drop_table("live")
