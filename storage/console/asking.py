"""Runs a user's SQL over the views, on a connection of its own that can do nothing else, for a bounded time."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from inspector.errors import StoreError
from storage.console.views import VIEWS
from storage.console.words import one_reading, refuse_schemas
from storage.failures import sentences
from storage.location import Place

Value: TypeAlias = str | int | float | None
_MOST_ROWS = 1_000
_SECONDS = 10.0
_LONGEST_VALUE = 1_000_000  # bytes of one value that a statement may make
_STEPS = 10_000  # of SQLite's machine between two looks at the clock
_VIEW_NAMES = frozenset(view.name for view in VIEWS)
_READS = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE})


@dataclass(frozen=True, slots=True)
class Answer:
    """The columns' names and the rows; `is_cut` says that there were more."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    is_cut: bool = False


def ask(place: Place, text: str, *, limit: int = _MOST_ROWS, seconds: float = _SECONDS) -> Answer:
    """The first `limit` rows of a statement over the views.

    StoreError, in a sentence, for a statement that does not read, reads anything but the views, cannot be understood,
    or takes longer than `seconds`.
    """
    statement = one_reading(text)
    if place.path is not None:
        return _ask_sqlite(place, statement, limit, seconds)
    return _ask_postgresql(place, statement, limit, seconds)


def _ask_sqlite(place: Place, statement: str, limit: int, seconds: float) -> Answer:
    until = time.monotonic() + seconds
    try:
        with closing(_read_only(place)) as connection:
            for view in VIEWS:
                made = view.select().compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True})
                connection.execute(f"CREATE TEMP VIEW {view.name} AS {made}")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
            connection.set_authorizer(_may)
            connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
            cursor = connection.execute(statement)
            rows = cursor.fetchmany(limit + 1)
            return _answer([column[0] for column in cursor.description or ()], rows, limit)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            raise StoreError(f"the statement took longer than {seconds:g} seconds and was stopped") from error
        raise StoreError(f"SQLite: {error}") from error
    except sqlite3.Error as error:
        refused = "only the views may be read, and nothing changed" if "not authorized" in str(error) else str(error)
        raise StoreError(f"SQLite: {refused}") from error


def _read_only(place: Place) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(place.path))}?mode=ro", uri=True, isolation_level=None)


def _may(action: int, first: str | None, second: str | None, _database: str | None, inner: str | None) -> int:
    """SQLite's question for each thing that a statement would do: reading our views is all there is.

    A read without a column (`count(*)`) names no view, only the table behind it: rows can be counted, never seen.
    """
    if action in _READS:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_READ and (inner in _VIEW_NAMES or first in _VIEW_NAMES or not second):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and second not in ("load_extension", "readfile", "writefile", "edit"):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _ask_postgresql(place: Place, statement: str, limit: int, seconds: float) -> Answer:
    with _postgresql(place) as connection:
        for view in VIEWS:
            made = view.select().compile(connection.engine, compile_kwargs={"literal_binds": True})
            connection.exec_driver_sql(f"CREATE TEMP VIEW {view.name} AS {made}")
        connection.exec_driver_sql(f"SET LOCAL statement_timeout = {max(round(seconds * 1000), 1)}")
        connection.exec_driver_sql("SET LOCAL search_path = pg_temp")
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
        refuse_schemas(statement, connection.execute(sa.text("SELECT nspname FROM pg_catalog.pg_namespace")).scalars())
        streamed = connection.execution_options(stream_results=True, max_row_buffer=limit + 1)
        with streamed.exec_driver_sql(statement.replace("%", "%%")) as found:
            rows = found.fetchmany(limit + 1)
            return _answer(list(found.keys()), [tuple(row) for row in rows], limit)


@contextmanager
def _postgresql(place: Place) -> Iterator[sa.Connection]:
    """A transaction that is always undone, so that the views of its session go with it."""
    engine = sa.create_engine(place.url, hide_parameters=True, poolclass=sa.NullPool)
    try:
        with sentences(place), engine.connect() as connection:
            yield connection
            connection.rollback()
    finally:
        engine.dispose()


def _answer(columns: list[str], rows: list[tuple[object, ...]], limit: int) -> Answer:
    shown = tuple(tuple(map(_value, row)) for row in rows[:limit])
    return Answer(tuple(columns), shown, is_cut=len(rows) > limit)


def _value(value: object) -> Value:
    if value is None or isinstance(value, (str, int, float)):
        return value
    return f"{len(value):,} bytes" if isinstance(value, (bytes, memoryview)) else str(value)
