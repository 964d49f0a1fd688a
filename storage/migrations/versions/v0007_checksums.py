"""Checksums of the rows of a trace; existing traces get none."""

import sqlalchemy as sa
from alembic import op

revision = "v0007"
down_revision = "v0006"
branch_labels = None
depends_on = None

_NAMES = ("turns_checksum", "record_checksum", "derived_checksum")


def upgrade() -> None:
    for name in _NAMES:
        op.add_column("trace", sa.Column(name, sa.BigInteger(), nullable=True))


def downgrade() -> None:
    for name in _NAMES:
        op.drop_column("trace", name)
