"""A PostgreSQL database with a store's tables, which tests use one after the other."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Self

import psycopg
from psycopg import sql

from benchmarks.postgresql_server import new_database
from weaklink.storage.store import open_store

_VERSION_TABLE = "weaklink_version"  # what the migrations wrote
_WAITS_MS = 2_000

# Everything but rows that a test may leave behind. Names and definitions of tables, columns, indexes, triggers and
# functions; settings of the database; the schema's version.
_SHAPE = f"""
SELECT string_agg(line, '\n' ORDER BY line) FROM (
    SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable AS line
    FROM information_schema.columns WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
    UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL SELECT tgname FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT conrelid::regclass || conname FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg_%'
    UNION ALL SELECT relname || coalesce(relacl::text, '') FROM pg_class WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT setconfig::text FROM pg_db_role_setting
    UNION ALL SELECT 'version ' || to_jsonb(kept)::text FROM {_VERSION_TABLE} AS kept
) AS lines
"""


class EmptiedDatabase:
    """Lends one database after another's use: emptied, or made anew where more than rows was changed in it."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._made = ExitStack()
        self._url: str | None = None
        self._shape = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._made.close()

    @contextmanager
    def lent(self) -> Iterator[str]:
        """The URL of a database with the tables and no rows, for one test."""
        if self._url is None:
            self._url = self._made.enter_context(new_database(self._server))
            with open_store(self._url):
                pass
            with psycopg.connect(self._url) as connection:
                self._shape = _shape(connection)
        try:
            yield self._url
        finally:
            if not self._was_emptied(self._url):
                self._made.close()
                self._url = None

    def _was_emptied(self, url: str) -> bool:
        try:
            with psycopg.connect(url, autocommit=True, options=f"-c lock_timeout={_WAITS_MS}") as connection:
                _empty(connection)
                return _shape(connection) == self._shape
        except psycopg.Error:
            return False


def _shape(connection: psycopg.Connection) -> str:
    row = connection.execute(_SHAPE.encode()).fetchone()
    return row[0] if row is not None else ""


def _empty(connection: psycopg.Connection) -> None:
    names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    tables = [name for (name,) in names if name != _VERSION_TABLE]
    rows_of_table = sql.SQL("SELECT {} WHERE EXISTS (SELECT FROM {})")
    having_rows = sql.SQL(" UNION ALL ").join(rows_of_table.format(name, sql.Identifier(name)) for name in tables)
    full = [sql.Identifier(name) for (name,) in connection.execute(having_rows).fetchall()]
    if full:
        connection.execute(sql.SQL("TRUNCATE {} CASCADE").format(sql.SQL(", ").join(full)))
    used = connection.execute("SELECT sequencename FROM pg_sequences WHERE last_value IS NOT NULL").fetchall()
    for (name,) in used:
        connection.execute(sql.SQL("ALTER SEQUENCE {} RESTART").format(sql.Identifier(name)))
