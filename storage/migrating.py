"""Upgrades of the tables: runs Alembic on an open connection, and fills in columns that a migration added."""

from pathlib import Path

import msgspec
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from inspector.model import Outcome
from storage import tables
from storage.packing.blobs import from_blob
from storage.packing.values import unpack
from storage.record_rows import outcome_columns
from storage.rows import Row, in_groups
from storage.writing import update_traces

_AT_ONCE = 200
SCRIPTS = Path(__file__).parent / "migrations"


def migrate(connection: sa.Connection, to: str) -> None:
    """Lift or lower the tables to a version, within the connection's transaction."""
    lower = to == "base"
    (command.downgrade if lower else command.upgrade)(config(connection), to)


def config(connection: sa.Connection | None = None) -> Config:
    """What Alembic asks for: the folder of scripts, and the connection they run on."""
    settings = Config(attributes={"connection": connection})
    settings.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    settings.set_main_option("path_separator", "os")
    return settings


def fill_in_outcomes(connection: sa.Connection) -> None:
    """Fill in the source's outcome of every trace, which a database before v0008 holds in its facts alone."""
    trace = tables.trace.c
    ids = connection.scalars(sa.select(trace.id).order_by(trace.id)).all()
    for group in in_groups(ids, _AT_ONCE):
        rows: list[Row] = []
        for id_, facts in connection.execute(sa.select(trace.id, trace.facts).where(trace.id.in_(group))):
            try:
                said = unpack(from_blob(facts)).get("outcome")
                rows.append({"trace_id": id_, **outcome_columns(Outcome(*said) if said else None)})
            except (msgspec.MsgspecError, ValueError, TypeError):
                continue  # that it is damaged is said when it is read
        update_traces(connection, rows)
