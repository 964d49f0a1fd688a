"""The schema version of a database: creates new tables, refuses foreign ones, and upgrades old ones with Alembic."""

import msgspec
import sqlalchemy as sa

from weaklink.inspector.errors import StoreError
from weaklink.storage import tables
from weaklink.storage.database_file import REVISIONS, VERSION_TABLE, database_file
from weaklink.storage.engine import DatabaseLocation, write_ahead, writing
from weaklink.storage.packing.blobs import from_blob, key
from weaklink.storage.packing.records import trace_from, unpack_facts
from weaklink.storage.record_rows import outcome_columns
from weaklink.storage.tables import Row, in_groups
from weaklink.storage.writing import update_traces

_GROUP_ROWS = 200
_WAYS = "`weaklink run -- COMMAND` or `weaklink import` (`--discover` lists what that would read)"
_DEMO = "; `weaklink demo` keeps its traces in a database of its own"
_NEVER_RELEASED = ("v0001", "v0002", "v0003", "v0004", "v0005")
_WITHOUT_FACTS = REVISIONS[: REVISIONS.index("v0015")]


class NoDatabaseYetError(StoreError):
    """There is no database at a location, or an empty one, and none was to be created."""


class DatabaseGoneError(NoDatabaseYetError):
    """The file of a database that was open is no longer there."""

    def __init__(self, location: DatabaseLocation) -> None:
        super().__init__(
            f"{location}: the database was removed or renamed while it was open; {_WAYS} creates a new one"
        )


_version = sa.Table(
    VERSION_TABLE,
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name=f"{VERSION_TABLE}_pkc"),
)
_BY_HAND = {
    "sqlite": (
        "CREATE VIRTUAL TABLE search_text USING fts5(body, content='', tokenize='unicode61 remove_diacritics 2')",
        "CREATE INDEX ix_trace_folded_name ON trace (name COLLATE NOCASE, sort_at_s, id)",
    ),
    "postgresql": (
        """CREATE TABLE search_text (
            trace_id INTEGER NOT NULL,
            piece INTEGER NOT NULL,
            body TSVECTOR NOT NULL,
            PRIMARY KEY (trace_id, piece)
        )""",
        "CREATE INDEX ix_search_text_body ON search_text USING gin (body)",
        # PostgreSQL does not index long texts, and its collations have different orders.
        """CREATE INDEX ix_trace_folded_name ON trace (lower("left"(name, 200)) COLLATE "C", sort_at_s, id)""",
    ),
}
"""What `storage.tables` cannot say: the text index, and the index of names, which ignores case and is ordered by code
point, so that a prefix is a range of it."""


def check_file(location: DatabaseLocation, *, create: bool) -> None:
    """StoreError if the path is not a file, or if there is no file and none is to be created."""
    path = location.path
    if path is None:
        return
    try:
        if path.is_dir():
            raise StoreError(f"{location}: this is a folder; name a file in it")
        if not create and not path.exists():
            raise NoDatabaseYetError(f"{location}: there is no database yet; {_WAYS} creates one{_DEMO}")
    except OSError as error:
        raise StoreError(f"{location}: cannot open the database: {error.strerror}") from error


def ensure_current(engine: sa.Engine, location: DatabaseLocation, *, create: bool, read_only: bool = False) -> None:
    """Create the tables of a new database if `create`; StoreError for a version that this weaklink does not support.

    With `read_only`, nothing is written, not even the journal mode.
    """
    with engine.connect() as connection:
        state = _state(connection)
    if state == "" and not create:
        raise NoDatabaseYetError(f"{location}: the database is empty; {_WAYS} fills it{_DEMO}")
    if state in REVISIONS[:-1]:
        option = "" if location.path == database_file(None) else " with the same `--db`"
        raise StoreError(
            f"{location}: the database was created by an older version of weaklink; run `weaklink db upgrade`{option}"
        )
    _refuse_foreign(state, location)
    if read_only:
        return
    write_ahead(engine)
    if state != REVISIONS[-1]:
        upgrade(engine, location)


def upgrade(engine: sa.Engine, location: DatabaseLocation) -> bool:
    """Upgrade the tables to the newest version, in one transaction; whether that changed them.

    StoreError for a database that is not weaklink's, or was created by a newer weaklink.
    """
    with writing(engine) as connection:
        state = _state(connection)
        _refuse_foreign(state, location)
        if state == REVISIONS[-1]:
            return False
        if state:
            _migrate(connection, state)
            connection.execute(sa.update(_version).values(version_num=REVISIONS[-1]))
        else:
            _create_tables(connection)
            connection.execute(sa.insert(_version).values(version_num=REVISIONS[-1]))
    return True


def _create_tables(connection: sa.Connection) -> None:
    if connection.dialect.name == "postgresql":
        for index in (index for table in tables.metadata.tables.values() for index in table.indexes):
            index.dialect_options["postgresql"]["where"] = index.dialect_options["sqlite"]["where"]
    for metadata in (tables.metadata, _version.metadata):
        metadata.create_all(connection, checkfirst=False)
    for statement in _BY_HAND[connection.dialect.name]:
        connection.exec_driver_sql(statement)


def _migrate(connection: sa.Connection, state: str) -> None:
    """Upgrade the tables from this version, within the connection's transaction."""
    from alembic.operations import Operations  # noqa: PLC0415  # 100 ms, and a database is upgraded once
    from alembic.runtime.migration import MigrationContext  # noqa: PLC0415

    from weaklink.storage.migrations import UPGRADE_STEPS  # noqa: PLC0415  # imports Alembic

    operations = Operations(MigrationContext.configure(connection))
    for version, step in UPGRADE_STEPS.items():
        if version > state:
            step(operations)
    if state in _WITHOUT_FACTS:
        _fill_in_facts(connection)


def _fill_in_facts(connection: sa.Connection) -> None:
    """Fill in the columns for the outcome and project of every trace; older databases have them only in its facts."""
    trace = tables.trace.c
    ids = connection.scalars(sa.select(trace.id).order_by(trace.id)).all()
    for group in in_groups(ids, _GROUP_ROWS):
        rows: list[Row] = []
        for id_, facts in connection.execute(sa.select(trace.id, trace.facts).where(trace.id.in_(group))):
            try:
                stored = trace_from(unpack_facts(from_blob(facts)), {}, ())
                rows.append({"trace_id": id_, "project": key(stored.project), **outcome_columns(stored.outcome)})
            except (msgspec.MsgspecError, ValueError, TypeError):
                continue  # reading the trace reports the damage
        update_traces(connection, rows)


def _refuse_foreign(state: str | None, location: DatabaseLocation) -> None:
    if state is None:
        raise StoreError(f"{location}: not a weaklink database")
    if state in _NEVER_RELEASED:
        raise StoreError(
            f"{location}: the database was created by a version of weaklink before the first release, which is not "
            "supported; move it away and import again"
        )
    if state and state not in REVISIONS:
        raise StoreError(
            f"{location}: the database was created by a newer version of weaklink; upgrade weaklink to read it"
        )


def _state(connection: sa.Connection) -> str | None:
    """The version of the tables; `""` if there are no tables, None if the tables are not weaklink's."""
    names = sa.inspect(connection).get_table_names()
    if VERSION_TABLE in names:
        return connection.scalar(sa.select(_version.c.version_num)) or "unknown"
    return None if names else ""
