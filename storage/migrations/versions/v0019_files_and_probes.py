"""The files that were imported, so that an unchanged one is not read again, and the results of `weaklink probe`."""

import sqlalchemy as sa
from alembic import op

revision = "v0019"
down_revision = "v0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "imported_file",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("place", sa.LargeBinary(), nullable=False),
        sa.Column("settings", sa.LargeBinary(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("modified_ns", sa.BigInteger(), nullable=True),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("report", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_imported_file"),
        sa.UniqueConstraint("place", name="uq_imported_file_place"),
    )
    keys = [
        sa.ForeignKeyConstraint(["file_id"], ["imported_file.id"], name="fk_imported_trace_file_id", ondelete="CASCADE")
    ]
    if op.get_bind().dialect.name != "postgresql":  # see v0013
        keys.append(
            sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name="fk_imported_trace_trace_id", ondelete="CASCADE")
        )
    op.create_table(
        "imported_trace",
        sa.Column("trace_id", sa.Integer(), nullable=False),
        sa.Column("file_id", sa.Integer(), nullable=False),
        *keys,
        sa.PrimaryKeyConstraint("trace_id", "file_id", name="pk_imported_trace"),
    )
    op.create_index("ix_imported_trace_file_id", "imported_trace", ["file_id"])
    op.create_table(
        "probe_run",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("at_s", sa.Double(), nullable=False),
        sa.Column("session", sa.Text(), nullable=False),
        sa.Column("summary", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_probe_run"),
    )


def downgrade() -> None:
    op.drop_table("probe_run")
    op.drop_table("imported_trace")
    op.drop_table("imported_file")
