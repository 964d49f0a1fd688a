"""The project of a trace, for filters. `storage.schema` fills it in from the stored facts."""

import sqlalchemy as sa
from alembic import op

revision = "v0015"
down_revision = "v0014"
branch_labels = None
depends_on = None

_INDEX = "ix_trace_project_sort_at_s_id"


def upgrade() -> None:
    op.add_column("trace", sa.Column("project", sa.Text(), nullable=False, server_default=""))
    op.create_index(_INDEX, "trace", ["project", "sort_at_s", "id"])


def downgrade() -> None:
    op.drop_index(_INDEX, "trace")
    op.drop_column("trace", "project")
