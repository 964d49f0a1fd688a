"""The expiry time of an access token."""

import sqlalchemy as sa
from alembic import op

revision = "v0014"
down_revision = "v0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("access_token", sa.Column("expires_at_s", sa.Double()))


def downgrade() -> None:
    op.drop_column("access_token", "expires_at_s")
