"""Databases whose figures can be read only while no gate is shut: a question really waits, within the database."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import sleep

from sqlalchemy import Engine, event

_EVERY_S = 0.02
_COUNTED = ("figures", "trace_tool")


def gated(database: Path, copy: Path) -> Path:
    """A copy of a database whose figures wait for the gate beside it; lists of traces do not."""
    shutil.copyfile(database, copy)
    with closing(sqlite3.connect(copy)) as connection:
        connection.executescript(
            "".join(
                f"PRAGMA legacy_alter_table = ON; ALTER TABLE {table} RENAME TO {table}_kept;"
                f"CREATE VIEW {table} AS SELECT * FROM {table}_kept WHERE weaklink_gate();"
                for table in _COUNTED
            )
        )
    return copy


def gate_of(database: Path) -> Path:
    """The file that shuts the gate of a database while it is there."""
    return database.with_suffix(".gate")


def mind() -> None:
    """Teach the connections of this process to wait at the gates of their databases, from now on."""
    event.listen(Engine, "connect", _teach)


@contextmanager
def minding() -> Iterator[None]:
    """Teach the connections that are made meanwhile."""
    mind()
    try:
        yield
    finally:
        event.remove(Engine, "connect", _teach)


def _teach(connection: sqlite3.Connection, _record: object) -> None:
    gate = gate_of(Path(connection.execute("PRAGMA database_list").fetchone()[2]))

    def is_open() -> bool:
        while gate.exists():
            sleep(_EVERY_S)
        return True

    connection.create_function("weaklink_gate", 0, is_open)


def lose_newest(database: Path) -> None:
    """Take the newest trace out of a database, which changes what its figures are."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("DELETE FROM trace WHERE id = (SELECT max(id) FROM trace)")
        connection.commit()


def break_figures(database: Path) -> None:
    """Take away what the figures of a gated database are read from: whoever counts after that is refused."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("DROP TABLE figures_kept")
        connection.commit()
