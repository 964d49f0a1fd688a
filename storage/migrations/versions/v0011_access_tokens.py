"""Access tokens of users and recorders, and the author of a mark."""

import sqlalchemy as sa
from alembic import op

revision = "v0011"
down_revision = "v0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "access_token",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("made_at_s", sa.Double(), nullable=False),
        sa.Column("revoked_at_s", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_access_token"),
        sa.UniqueConstraint("digest", name="uq_access_token_digest"),
    )
    op.add_column("mark", sa.Column("author", sa.Text(), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("mark", "author")
    op.drop_table("access_token")
