"""What sums come to over whole blocks of traces; `Store.sum_pending` fills it in."""

import sqlalchemy as sa
from alembic import op

revision = "v0006"
down_revision = "v0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "rollup",
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("level", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("block", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("question", "level", "block", name="pk_rollup"),
    )
    op.create_index("ix_rollup_level_block", "rollup", ["level", "block"])


def downgrade() -> None:
    op.drop_table("rollup")
