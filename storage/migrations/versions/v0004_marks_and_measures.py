"""Marks; the measures of a trace, which `storage.measuring` fills in for traces that are there; arguments by value."""

import sqlalchemy as sa
from alembic import op

revision = "v0004"
down_revision = "v0003"
branch_labels = None
depends_on = None

_KEYS = ("kinds", "reasoning", "prompt_hash")
_NUMBERS = ("duration_s", "first_token_s", "max_gap_s", "tokens", "break_step")


def upgrade() -> None:
    op.create_table(
        "mark",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("trace_id", sa.Integer(), nullable=False),
        sa.Column("turn", sa.BigInteger(), nullable=True),
        sa.Column("step", sa.BigInteger(), nullable=True),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("folded", sa.Text(), nullable=False),
        sa.Column("marked_at_s", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name="fk_mark_trace_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_mark"),
    )
    op.create_index("ix_mark_trace_id", "mark", ["trace_id"])

    op.create_table(
        "argument",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("sort_at_s", sa.Double(), autoincrement=False, nullable=False),
        sa.Column("trace_id", sa.Integer(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("number", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name="fk_argument_trace_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("name", "value", "sort_at_s", "trace_id", "path", name="pk_argument"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_argument_trace_id", "argument", ["trace_id"])
    op.create_index(
        "ix_argument_name_number",
        "argument",
        ["name", "number"],
        sqlite_where=sa.text("number IS NOT NULL"),
        postgresql_where=sa.text("number IS NOT NULL"),
    )

    op.add_column("trace", sa.Column("tokens", sa.BigInteger(), nullable=True))
    op.add_column("trace", sa.Column("first_token_s", sa.Double(), nullable=True))
    op.add_column("trace", sa.Column("max_gap_s", sa.Double(), nullable=True))
    for name in ("prompt_hash", "kinds", "reasoning"):
        op.add_column("trace", sa.Column(name, sa.Text(), nullable=False, server_default=""))
    for name in ("infos", "steps", "steps_ok", "steps_failed", "steps_recovered"):
        op.add_column("trace", sa.Column(name, sa.BigInteger(), nullable=False, server_default="0"))
    for name in _KEYS:
        op.create_index(f"ix_trace_{name}_sort_at_s_id", "trace", [name, "sort_at_s", "id"])
    for name in _NUMBERS:
        op.create_index(f"ix_trace_{name}", "trace", [name])
    op.add_column("call", sa.Column("step", sa.BigInteger(), nullable=True))
    op.add_column("call", sa.Column("recovery", sa.Text(), nullable=True))
    op.add_column("call", sa.Column("recovered_by", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    for name in ("recovered_by", "recovery", "step"):
        op.drop_column("call", name)
    for name in _NUMBERS:
        op.drop_index(f"ix_trace_{name}", "trace")
    for name in _KEYS:
        op.drop_index(f"ix_trace_{name}_sort_at_s_id", "trace")
    for name in ("steps_recovered", "steps_failed", "steps_ok", "steps", "infos"):
        op.drop_column("trace", name)
    for name in ("reasoning", "kinds", "prompt_hash", "max_gap_s", "first_token_s", "tokens"):
        op.drop_column("trace", name)
    op.drop_table("argument")
    op.drop_table("mark")
