"""Alembic's way in: runs the scripts on the connection that `storage.schema` hands over."""

from alembic import context

from storage.schema import VERSION_TABLE
from storage.tables import metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,  # SQLite alters a table by making it anew
)
with context.begin_transaction():
    context.run_migrations()
