"""The version of a database's tables: made when it is new, refused when it is not ours, lifted when asked."""


import sqlalchemy as sa

from inspector.errors import StoreError
from storage.engine import writing
from storage.location import Place

VERSION_TABLE = "weaklink_version"
REVISIONS = ("v0001",)
"""Every version of the tables, oldest first; a new one comes with its script in `migrations/versions`."""

_version = sa.table(VERSION_TABLE, sa.column("version_num", sa.String))


def ensure_current(engine: sa.Engine, place: Place, *, create: bool) -> None:
    """Make the tables of a new database if `create`; StoreError for any that this weaklink cannot work with."""
    with engine.connect() as connection:
        version = _version_of(connection)
        empty = version is None and _is_empty(connection)
    if version == REVISIONS[-1]:
        return
    if empty and create:
        upgrade(engine, place)
    elif empty:
        raise StoreError(f"{place}: the database is empty; `weaklink import` fills it")
    elif version is None:
        raise StoreError(f"{place}: this is a database, but not one of weaklink's")
    elif version in REVISIONS:
        raise StoreError(f"{place}: the database was made by an older weaklink; run `weaklink db upgrade`")
    else:
        raise StoreError(f"{place}: the database was made by a newer weaklink; upgrade weaklink to read it")


def upgrade(engine: sa.Engine, place: Place, *, to: str = "head") -> str | None:
    """Lift the tables to a version, in one transaction; the version that they had before, None for a new database.

    StoreError for a database that is not weaklink's, or of a newer weaklink.
    """
    # Only here: Alembic takes 80 ms to load, and a database is upgraded once.
    from storage.migrating import migrate  # noqa: PLC0415

    with writing(engine) as connection:
        before = _version_of(connection)
        if before is None and not _is_empty(connection):
            raise StoreError(f"{place}: this is a database, but not one of weaklink's")
        if before is not None and before not in REVISIONS:
            raise StoreError(f"{place}: the database was made by a newer weaklink; upgrade weaklink to read it")
        migrate(connection, to)
    return before


def _version_of(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.scalar(sa.select(_version.c.version_num))


def _is_empty(connection: sa.Connection) -> bool:
    return not sa.inspect(connection).get_table_names()


