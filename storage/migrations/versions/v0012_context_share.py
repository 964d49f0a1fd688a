"""The largest share of the context window that a turn used; existing traces get 131,072 tokens as their window."""

import sqlalchemy as sa
from alembic import op

revision = "v0012"
down_revision = "v0011"
branch_labels = None
depends_on = None

_TAKEN = "SELECT MAX(input_tokens + COALESCE(output_tokens, 0)) FROM turn WHERE turn.trace_id = trace.id"


def upgrade() -> None:
    op.add_column("trace", sa.Column("context_share", sa.Double()))
    op.execute(sa.text(f"UPDATE trace SET context_share = ({_TAKEN}) / 131072.0"))


def downgrade() -> None:
    op.drop_column("trace", "context_share")
