"""HTTP exchanges of recorded traces, for a replay."""

import sqlalchemy as sa
from alembic import op

revision = "v0010"
down_revision = "v0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "exchange",
        sa.Column("trace_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name="fk_exchange_trace_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("trace_id", "number", name="pk_exchange"),
    )


def downgrade() -> None:
    op.drop_table("exchange")
