"""The schema version of a database: creates new tables, refuses foreign ones, and upgrades old ones with Alembic."""

from pathlib import Path
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from alembic.config import Config

_AT_ONCE = 200
SCRIPTS = Path(__file__).parent / "migrations"


def migrate(connection: sa.Connection, to: str) -> None:
    """Upgrade or downgrade the tables to a version, within the connection's transaction."""
    from alembic import command  # noqa: PLC0415  # 100 ms, and a database is upgraded once

    is_downgrade = to == "base"
    (command.downgrade if is_downgrade else command.upgrade)(config(connection), to)


def config(connection: sa.Connection | None = None) -> "Config":
    """The configuration of Alembic: the folder of scripts, and the connection to run them on."""
    from alembic.config import Config  # noqa: PLC0415  # 100 ms, and a database is upgraded once

    settings = Config(attributes={"connection": connection})
    settings.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    settings.set_main_option("path_separator", "os")
    return settings


def fill_in_facts(connection: sa.Connection) -> None:
    """Fill in the columns for the outcome and project of every trace; older databases have them only in its facts."""
    trace = tables.trace.c
    ids = connection.scalars(sa.select(trace.id).order_by(trace.id)).all()
    for group in in_groups(ids, _AT_ONCE):
        rows: list[Row] = []
        for id_, facts in connection.execute(sa.select(trace.id, trace.facts).where(trace.id.in_(group))):
            try:
                stored = trace_from(unpack_facts(from_blob(facts)), {}, ())
                rows.append({"trace_id": id_, "project": key(stored.project), **outcome_columns(stored.outcome)})
            except (msgspec.MsgspecError, ValueError, TypeError):
                continue  # reading the trace reports the damage
        update_traces(connection, rows)


_WAYS = "`weaklink run -- COMMAND` or `weaklink import` (`--discover` lists what that would read)"
_DEMO = "; `weaklink demo` keeps its traces in a database of its own"
_NEVER_RELEASED = ("v0001", "v0002", "v0003", "v0004", "v0005")
_WITHOUT_FACTS = REVISIONS[: REVISIONS.index("v0015")]


class NoDatabaseYetError(StoreError):
    """There is no database at a location, or an empty one, and none was to be created."""


_version = sa.table(VERSION_TABLE, sa.column("version_num", sa.String))


def check_file(place: DatabaseLocation, *, create: bool) -> None:
    """StoreError if the path is not a file, or if there is no file and none is to be created."""
    path = place.path
    if path is None:
        return
    try:
        if path.is_dir():
            raise StoreError(f"{place}: this is a folder; name a file in it")
        if not create and not path.exists():
            raise NoDatabaseYetError(f"{place}: there is no database yet; {_WAYS} creates one{_DEMO}")
    except OSError as error:
        raise StoreError(f"{place}: cannot open the database: {error.strerror}") from error


def ensure_current(engine: sa.Engine, place: DatabaseLocation, *, create: bool, read_only: bool = False) -> None:
    """Create the tables of a new database if `create`; StoreError for a version that this weaklink does not support.

    With `read_only`, nothing is written, not even the journal mode.
    """
    with engine.connect() as connection:
        state = _state(connection)
    if state == "" and not create:
        raise NoDatabaseYetError(f"{place}: the database is empty; {_WAYS} fills it{_DEMO}")
    if state in REVISIONS[:-1]:
        option = "" if place.path == database_file(None) else " with the same `--db`"
        raise StoreError(
            f"{place}: the database was created by an older version of weaklink; run `weaklink db upgrade`{option}"
        )
    _refuse_foreign(state, place)
    if read_only:
        return
    write_ahead(engine)
    if state != REVISIONS[-1]:
        upgrade(engine, place)


def upgrade(engine: sa.Engine, place: DatabaseLocation) -> bool:
    """Upgrade the tables to the newest version, in one transaction; whether that changed them.

    StoreError for a database that is not weaklink's, or was created by a newer weaklink.
    """
    with writing(engine) as connection:
        state = _state(connection)
        _refuse_foreign(state, place)
        migrate(connection, REVISIONS[-1])
        if state in _WITHOUT_FACTS:
            fill_in_facts(connection)
    return state != REVISIONS[-1]


def _refuse_foreign(state: str | None, place: DatabaseLocation) -> None:
    if state is None:
        raise StoreError(f"{place}: not a weaklink database")
    if state in _NEVER_RELEASED:
        raise StoreError(
            f"{place}: the database was created by a version of weaklink before the first release, which is not "
            "supported; move it away and import again"
        )
    if state and state not in REVISIONS:
        raise StoreError(
            f"{place}: the database was created by a newer version of weaklink; upgrade weaklink to read it"
        )


def _state(connection: sa.Connection) -> str | None:
    """The version of the tables; `""` if there are no tables, None if the tables are not weaklink's."""
    names = sa.inspect(connection).get_table_names()
    if VERSION_TABLE in names:
        return connection.scalar(sa.select(_version.c.version_num)) or "unknown"
    return None if names else ""
