"""What the database refuses, as a sentence that names the place."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from sqlalchemy import exc

from inspector.errors import StoreError
from storage.location import DatabaseLocation
from storage.packing.blobs import DamagedBlobError

_SQLITE = {
    sqlite3.SQLITE_BUSY: "another program is writing to the database; try again when it has ended",
    sqlite3.SQLITE_LOCKED: "another program is writing to the database; try again when it has ended",
    sqlite3.SQLITE_READONLY: "the database is read-only",
    sqlite3.SQLITE_PERM: "the database may not be opened by this user",
    sqlite3.SQLITE_CANTOPEN: (
        "the database cannot be opened; where its folder may not be written, a copy in another folder can be read"
    ),
    sqlite3.SQLITE_FULL: "the disk is full; nothing of this batch was kept",
    sqlite3.SQLITE_IOERR: "the disk failed; nothing of this batch was kept",
    sqlite3.SQLITE_CORRUPT: "the database is damaged (see `weaklink db check`); restore a copy of it, or import again",
    sqlite3.SQLITE_NOTADB: "the file is not a database",
    sqlite3.SQLITE_TOOBIG: "one value is larger than the database can hold",
}
_LOCK_NOT_AVAILABLE = "55P03"  # what PostgreSQL says when a lock was not given within `lock_timeout`
DAMAGED = (
    DamagedBlobError,
    msgspec.MsgspecError,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    AttributeError,
    AssertionError,
)
"""What reading damaged bytes may raise."""


@contextmanager
def sentences(place: DatabaseLocation) -> Iterator[None]:
    """Turns what the database raises into StoreError."""
    try:
        yield
    except exc.StatementError as error:  # what the driver raises, and what cannot be handed to it
        raise StoreError(f"{place}: {_why(error.orig or error)}") from error
    except UnicodeDecodeError as error:  # what SQLite says of a schema that is no text any more
        raise StoreError(f"{place}: {_SQLITE[sqlite3.SQLITE_CORRUPT]}") from error
    except exc.SQLAlchemyError as error:
        raise StoreError(f"{place}: {_first_line(error)}") from error


@contextmanager
def reading(place: DatabaseLocation, what: str, *, remedy: str = "") -> Iterator[None]:
    """Turns what unpacking raises for damaged bytes into StoreError; `remedy` is the command that makes it again."""
    try:
        yield
    except DAMAGED as error:
        hint = f"; {remedy} makes it again" if remedy else ""
        raise StoreError(f"{place}: {what} is damaged: {_first_line(error)}{hint}") from error


def _why(error: BaseException) -> str:
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the lowest byte is the primary code
        return _SQLITE.get(code, _first_line(error))
    if getattr(error, "sqlstate", None) == _LOCK_NOT_AVAILABLE:
        return _SQLITE[sqlite3.SQLITE_BUSY]
    return _first_line(error)


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
