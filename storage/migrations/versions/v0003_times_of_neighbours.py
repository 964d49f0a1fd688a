"""When the traces of one stretch of ids began and ended to be: where a text index that goes by id has to look.

PostgreSQL's text index gives all it holds at once, in no order, so it has no use for this.
"""

from alembic import op

revision = "v0003"
down_revision = "v0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.execute("CREATE INDEX search_text_times ON trace (id / 4096, sort_at_s)")


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP INDEX search_text_times")
