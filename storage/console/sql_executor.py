"""Runs a user's SQL over the views, on a connection that can do nothing else, for a bounded time."""

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy.dialects import postgresql, sqlite

from inspector.errors import StoreError
from inspector.scanning import lazy_pattern
from storage.console import sqlite_reader
from storage.console.postgresql_reader import read_postgresql
from storage.console.sqlite_reader import QueryReply, SqlRequest
from storage.console.views import VIEWS
from storage.engine import DatabaseLocation

MOST_ROWS = 1_000
VALUE_BYTES = 100_000
"""Bytes of one value that are shown; what is longer is cut."""

TOTAL_BYTES = 10_000_000
"""Bytes of all values that are shown."""

_SECONDS = 10.0
_TO_START_S = 5.0  # a process may take so long to start and end on a busy machine
_FIRST_WORD = lazy_pattern(r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?(?:\*/|\Z)|\()*(\w*)", re.DOTALL)
_BEGINS = ("select", "with", "values")
_LONGEST = 100_000
Value: TypeAlias = str | int | float | None


class QueryResult(Struct, frozen=True):
    """The columns' names and the rows; `notes` are sentences on what was left out of them."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    notes: tuple[str, ...] = ()


def ask(place: DatabaseLocation, text: str, *, limit: int = MOST_ROWS, seconds: float = _SECONDS) -> QueryResult:
    """The first `limit` rows of a statement over the views, up to TOTAL_BYTES.

    StoreError, in a sentence, for a statement that does not read, reads anything but the views, cannot be understood,
    needs too much room, or takes longer than `seconds`.
    """
    check_words(text)
    request = SqlRequest(
        path=str(place.path),
        views=_selects(sqlite if place.path is not None else postgresql),
        allowed=_allowed(),
        statement=text,
        rows=limit,
        value_bytes=VALUE_BYTES,
        total_bytes=TOTAL_BYTES,
        seconds=seconds,
    )
    reply = _read_sqlite(request) if place.path is not None else read_postgresql(place, request)
    rows = tuple(map(tuple, reply["rows"]))
    return QueryResult(tuple(reply["columns"]), rows, tuple(_notes(reply, len(rows))))


def _selects(database: ModuleType) -> dict[str, str]:
    dialect: sa.Dialect = database.dialect()
    return {view.name: str(view.select().compile(dialect=dialect)) for view in VIEWS}


def _allowed() -> dict[str, list[str]]:
    """The columns behind the views, by table."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for view in VIEWS:
        for column in view.columns:
            found[column.source.table.name].append(column.source.name)
    return dict(found)


def _read_sqlite(request: SqlRequest) -> QueryReply:
    """The reply of a process of its own, which is killed where it does not end in time."""
    command = [sys.executable, "-I", "-S", str(Path(sqlite_reader.__file__))]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(request).encode(),
            capture_output=True,
            timeout=request["seconds"] + _TO_START_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise StoreError(f"the statement took longer than {request['seconds']:g} seconds and was stopped") from error
    if done.returncode != 0:
        raise StoreError("the statement needed more memory than it may have and was stopped")
    reply = json.loads(done.stdout)
    if "refused" in reply:
        raise StoreError(reply["refused"])
    found: QueryReply = reply
    return found


def _notes(reply: QueryReply, rows: int) -> list[str]:
    notes = []
    if reply["left_out"] == "rows":
        notes.append(f"More rows follow: these are the first {rows:,}. Write LIMIT to choose which.")
    if reply["left_out"] == "bytes":
        notes.append(f"The result is larger than {TOTAL_BYTES // 1_000_000} MB: these are its first {rows:,} rows.")
    if cut := reply["cut_values"]:
        notes.append(f"Values of more than {VALUE_BYTES:,} bytes are cut; here {cut:,} of them.")
    return notes


def check_words(text: str) -> None:
    """StoreError where a text is not the beginning of a statement that reads; what it reads, the database decides."""
    if len(text) > _LONGEST:
        raise StoreError(f"the statement has {len(text):,} characters; {_LONGEST:,} are read")
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise StoreError("the statement holds NUL or a lone surrogate, which no database reads")
    found = _FIRST_WORD.match(text)
    if found is None or found[1].lower() not in _BEGINS:
        raise StoreError("write one statement that reads: it begins with SELECT, WITH or VALUES")
