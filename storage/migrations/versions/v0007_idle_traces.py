"""From when on an open trace is idle."""

import sqlalchemy as sa
from alembic import op

revision = "v0007"
down_revision = "v0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("live", sa.Column("idle_at_s", sa.Double(), nullable=True))


def downgrade() -> None:
    op.drop_column("live", "idle_at_s")
