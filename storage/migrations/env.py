"""Alembic's entry point: runs the scripts on the connection that `storage.schema` provides."""

from alembic import context

from weaklink.storage.database_file import VERSION_TABLE
from weaklink.storage.tables import metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,  # SQLite cannot alter tables: Alembic creates each one again
)
with context.begin_transaction():
    context.run_migrations()
