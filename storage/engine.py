"""Connections to the database: its location, the settings of each kind of database, and readable error messages.

Theory of operation. There are two kinds of transactions, and whoever has a `Database` uses one of them:

    reading    the database as it was at the first statement, whatever others write meanwhile
    writing    the only writer from the first statement on; committed completely or not at all

                  SQLite                                       PostgreSQL
    reading       BEGIN on a file with a write-ahead log       REPEATABLE READ
    writing       BEGIN IMMEDIATE, after at most               READ COMMITTED, behind one advisory lock for all
                  `busy_timeout_s`                             writers of weaklink
    read-only     the file is opened so, and refuses           the transaction is READ ONLY

Writers wait for each other on PostgreSQL too, though it would let them write at once: a batch reads which versions are
stored and then decides, and of two that decide to add the same trace at the same time one would fail.

Errors of the driver become one sentence about what the user can do (`database_errors`); errors while stored bytes are
unpacked are DAMAGE_ERRORS, which are reported with the value that is damaged.
"""

import os
import selectors
import shutil
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy import event, exc
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import OperationalError

from weaklink.inspector.errors import StoreError
from weaklink.storage.database_file import database_file, named_database, open_file
from weaklink.storage.packing.blobs import DamagedBlobError

_BUSY_TIMEOUT_S = 10.0
_PAGE_BYTES = 4_096
CONNECTIONS = 10
"""Maximum number of simultaneous connections of an open store to a server; half of them stay open."""
_WORK_MEM = "64MB"  # so that PostgreSQL hashes the ids of a condition that half a million traces match
_STALE_S = 1_800  # after this time, a firewall or a pooler may have dropped the connection
_ANSWER_TIMEOUT_S = 2.0  # a server that runs answers `SELECT 1` in a millisecond; a loaded one has a second connection
_CONNECT_TIMEOUT_S = 10  # psycopg waits 130 s
_WRITES, _BARE = "weaklink_writes", "weaklink_bare"  # options of a connection: BEGIN IMMEDIATE, no BEGIN at all
_ONLY_READS = "weaklink_only_reads"  # option of an engine
_WRITERS_LOCK = 0x7765616B  # "weak": writers of one PostgreSQL database wait for each other, as SQLite's do

_SQLITE = {
    sqlite3.SQLITE_BUSY: "the database is locked: another program is writing to it; try again when it has finished",
    sqlite3.SQLITE_LOCKED: "the database is locked: another program is writing to it; try again when it has finished",
    sqlite3.SQLITE_READONLY: "the database is read-only",
    sqlite3.SQLITE_PERM: "permission denied: this user may not open the database",
    sqlite3.SQLITE_CANTOPEN: (
        "cannot open the database; if its folder is not writable, copy the database to another folder and open the copy"
    ),
    sqlite3.SQLITE_FULL: "the disk is full; try again when it has free space",
    sqlite3.SQLITE_IOERR: "the disk could not be read or written (I/O error)",
    sqlite3.SQLITE_CORRUPT: "the database is damaged (see `weaklink db check`); restore a backup, or import again",
    sqlite3.SQLITE_NOTADB: "the file is not a database",
    sqlite3.SQLITE_TOOBIG: "a value is too large for the database",
}


class DatabaseLockedError(StoreError):
    """Another program is writing to the database; trying again may succeed."""


class ServerUnreachableError(StoreError):
    """The database's server cannot be reached, does not answer or has ended the connection; it may come back."""


_LOCK_NOT_AVAILABLE = "55P03"  # the SQLSTATE of PostgreSQL if a lock was not acquired within `lock_timeout`

DAMAGE_ERRORS = (
    DamagedBlobError,
    msgspec.MsgspecError,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    AttributeError,
    AssertionError,
)
"""Exceptions that reading damaged bytes may raise."""


class DatabaseLocation(Struct, frozen=True):
    """The location of a database; `path` is None for a database on a server."""

    url: sa.URL
    path: Path | None = None

    @property
    def address(self) -> str:
        """The path, or the URL with its password; `location_of` returns the same location for it."""
        return str(self.path) if self.path is not None else self.url.render_as_string(hide_password=False)

    def __str__(self) -> str:
        """The path, or the URL without its password."""
        if self.path is not None:
            return str(self.path)
        shown = self.url.set(drivername=self.url.get_backend_name(), query={})
        return shown.render_as_string(hide_password=True)


def location_of(where: str | Path | None) -> DatabaseLocation:
    """The location of a path or a database URL; None means WEAKLINK_DB or else a file in the user's data folder.

    StoreError for an invalid URL, or for a kind of database that weaklink does not support.
    """
    path = database_file(where)
    return _by_url(named_database(where)) if path is None else _at_path(path)


def file_identity(location: DatabaseLocation) -> tuple[int, int] | None:
    """Device and inode, which differ if the file is replaced by another; None for a server, or without a file."""
    try:
        status = location.path.stat() if location.path is not None else None
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if status is not None else None


def file_stamp(location: DatabaseLocation) -> tuple[tuple[int, int], ...]:
    """Size and time of change of the file and of its write-ahead log: another one after each write; () for a server."""
    if location.path is None:
        return ()
    stamps = []
    for path in (location.path, location.path.with_name(f"{location.path.name}-wal")):
        with suppress(OSError):  # there is no log, or no file any more
            status = path.stat()
            stamps.append((status.st_size, status.st_mtime_ns))
    return tuple(stamps)


def _by_url(text: str) -> DatabaseLocation:
    scheme = text.partition("://")[0]
    try:
        url = sa.make_url(text)
        backend = {"postgres": "postgresql"}.get(url.drivername, url.get_backend_name())
    except (exc.ArgumentError, ValueError) as error:
        raise StoreError(f"invalid database URL (starts with `{scheme}://`)") from error
    if backend == "sqlite":
        if not url.database or url.database == ":memory:":
            raise StoreError("in-memory databases are not supported; name a file")
        return _at_path(Path(url.database).absolute())
    if backend == "postgresql":
        return DatabaseLocation(url.set(drivername="postgresql+psycopg"))
    raise StoreError(f"unsupported database `{scheme}`: weaklink supports SQLite files and PostgreSQL")


def _at_path(path: Path) -> DatabaseLocation:
    return DatabaseLocation(sa.URL.create("sqlite", database=str(path)), path)


def new_engine(
    location: DatabaseLocation, *, busy_timeout_s: float = _BUSY_TIMEOUT_S, read_only: bool = False
) -> sa.Engine:
    """An engine for the location; nothing is opened yet. StoreError if the driver is missing.

    With `read_only`, the database itself refuses every change.
    """
    marks = {_ONLY_READS: read_only}
    if location.path is None:
        try:
            engine = sa.create_engine(
                location.url,
                hide_parameters=True,
                execution_options=marks,
                pool_size=CONNECTIONS // 2,
                max_overflow=CONNECTIONS - CONNECTIONS // 2,
                pool_timeout=busy_timeout_s,
                pool_recycle=_STALE_S,
                connect_args={} if _has_connect_timeout(location.url) else {"connect_timeout": _CONNECT_TIMEOUT_S},
            )
        except ModuleNotFoundError as error:
            raise StoreError(
                f"{location}: the PostgreSQL driver is not installed; run `pip install 'weaklink[postgres]'`"
            ) from error
        event.listen(engine, "checkout", partial(_check_answers, engine.dialect.loaded_dbapi.Error))
        event.listen(engine, "begin", partial(_begin_postgresql, busy_timeout_s=busy_timeout_s, read_only=read_only))
        return engine
    opening = partial(open_file, location.path, busy_timeout_s, read_only=read_only)
    engine = sa.create_engine(location.url, hide_parameters=True, execution_options=marks, creator=opening)
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    event.listen(engine, "invalidate", _roll_back_sqlite)
    return engine


def prepare_file(location: DatabaseLocation) -> None:
    """Create the file of an SQLite database, and its folder, for this user only; StoreError if that fails."""
    path = location.path
    if path is None or path.exists():
        return
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StoreError(f"{location}: cannot create the database: {error.strerror}") from error


def write_ahead(engine: sa.Engine) -> None:
    """Enable write-ahead logging, so that readers and a writer do not block each other; the setting is permanent.

    Call it only once the database is known to be weaklink's: it writes to the file.
    """
    if engine.dialect.name != "sqlite":
        return
    with engine.connect().execution_options(**{_BARE: True}) as connection:
        if connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal":
            return
        try:
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        except OperationalError as error:
            code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
            if code not in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
                raise

            # A database that cannot be written can still be read.


@contextmanager
def snapshot(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction that reads the database as it was at its first statement, unaffected by concurrent writes."""
    options = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {}
    with engine.connect().execution_options(**options) as connection:
        yield connection


@contextmanager
def writing(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A write transaction: the only writer from its first statement on, and committed completely or not at all.

    StoreError if the engine is read-only.
    """
    _refuse_reader(engine)
    is_postgresql = engine.dialect.name == "postgresql"
    # Whatever the server's default is: each statement must see what the previous writer has committed.
    options = {"isolation_level": "READ COMMITTED"} if is_postgresql else {}
    with engine.connect().execution_options(**{_WRITES: True}, **options) as connection, connection.begin():
        if is_postgresql:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_WRITERS_LOCK)))
        yield connection


class Database(Struct, frozen=True):
    """An open database. Its transactions raise StoreError for errors of the database."""

    engine: sa.Engine
    location: DatabaseLocation

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A read transaction; see `snapshot`."""
        with database_errors(self.location), snapshot(self.engine) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A write transaction; see `writing`."""
        with database_errors(self.location), writing(self.engine) as connection:
            yield connection

    @contextmanager
    def erasing(self) -> Iterator[sa.Connection]:
        """A transaction like that of `writing` that overwrites what it deletes from an SQLite file.

        Raises StoreError after the commit if a reader prevents the old pages from being removed from the write-ahead
        log.
        """
        is_file = self.engine.dialect.name == "sqlite"
        with self.writing() as connection:
            if is_file:
                connection.exec_driver_sql("PRAGMA secure_delete = ON")
            try:
                yield connection
            finally:
                if is_file:
                    connection.exec_driver_sql("PRAGMA secure_delete = OFF")
        if is_file:
            with database_errors(self.location), self.engine.connect().execution_options(**{_BARE: True}) as connection:
                if connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()[0]:
                    raise StoreError(
                        f"{self.location}: deleted, but the deleted text stays in the write-ahead log because another "
                        "program is reading the database; it is removed when the last program closes the database"
                    )


def insert_new(connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert the rows that do not violate a unique constraint."""
    if not rows:
        return
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql  # noqa: PLC0415  # 0.05 s, and most databases are SQLite files

        connection.execute(postgresql.insert(table).on_conflict_do_nothing(), rows)
    else:
        connection.execute(sqlite.insert(table).on_conflict_do_nothing(), rows)


def vacuum(engine: sa.Engine) -> None:
    """Free the space of deleted rows, and update the statistics of the query planner."""
    _refuse_reader(engine)
    if engine.dialect.name == "postgresql":
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT", **{_BARE: True}) as connection:
            connection.exec_driver_sql("VACUUM (FULL, ANALYZE)")
        return
    with engine.connect().execution_options(**{_BARE: True}) as connection:
        connection.exec_driver_sql("VACUUM")
        connection.exec_driver_sql("ANALYZE")


def back_up(location: DatabaseLocation, file: Path) -> None:
    """Copy an SQLite database into a new file, as of one moment, while others read and write it.

    Only this user may access the new file. StoreError if the file exists or cannot be written, or if the database is on
    a server.
    """
    if location.path is None:
        raise StoreError(
            f"{location}: cannot back up a database on a server; use `pg_dump --format=custom --file=FILE URL`"
        )
    if file.exists():
        raise StoreError(f"{file}: the file already exists; choose another name")
    part = file.with_name(f"{file.name}.part")
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        try:
            with (
                closing(open_file(location.path, _BUSY_TIMEOUT_S, read_only=True)) as source,
                closing(sqlite3.connect(part)) as copy,
            ):
                source.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")  # a single file that can be moved by itself
            part.rename(file)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{file}: cannot write the copy: {error.strerror}") from error
    except sqlite3.Error as error:
        raise StoreError(f"{location}: cannot copy the database: {error}") from error


_WRITTEN_ROWS = sa.text(
    "SELECT tup_inserted + tup_updated + tup_deleted FROM pg_stat_database WHERE datname = current_database()"
)


def server_stamp(connection: sa.Connection) -> tuple[tuple[int, int], ...]:
    """How many rows were ever written to the server's database: another number at most ten seconds after each write.

    A program that exits has its writes counted at once, one that stays idle after ten seconds (PostgreSQL 15 and later;
    `PGSTAT_IDLE_INTERVAL` in its source). () where the server does not count.
    """
    written = connection.scalar(_WRITTEN_ROWS)
    return () if written is None else ((written, 0),)


def size_bytes(connection: sa.Connection) -> int:
    """The size of the database."""
    if connection.dialect.name == "postgresql":
        return int(connection.scalar(sa.select(sa.func.pg_database_size(sa.func.current_database()))) or 0)
    pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    return int(pages * connection.exec_driver_sql("PRAGMA page_size").scalar_one())


def used_bytes(connection: sa.Connection) -> int:
    """The size of the rows, without the free pages of a file, and without the system tables of a server."""
    if connection.dialect.name == "postgresql":
        sizes = "SELECT sum(pg_total_relation_size(relid)) FROM pg_catalog.pg_statio_user_tables"
        return int(connection.exec_driver_sql(sizes).scalar() or 0)
    pages = connection.exec_driver_sql("PRAGMA freelist_count").scalar_one()
    return size_bytes(connection) - int(pages * connection.exec_driver_sql("PRAGMA page_size").scalar_one())


def _refuse_reader(engine: sa.Engine) -> None:
    if engine.get_execution_options()[_ONLY_READS]:
        raise StoreError("the database was opened read-only and cannot be changed")


def _set_up_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # SQLAlchemy begins the transactions; the driver would begin them too late
    connection.text_factory = _readable_text
    for pragma in ("foreign_keys = ON", "synchronous = NORMAL"):
        connection.execute(f"PRAGMA {pragma}")


def _roll_back_sqlite(connection: sqlite3.Connection, _record: object, _error: BaseException | None) -> None:
    """Release the lock of a connection that SQLAlchemy discards, as after Ctrl-C within a statement.

    Closing it is not enough: while the traceback of the interrupt keeps the cursor, SQLite keeps the transaction.
    """
    with suppress(sqlite3.Error):
        connection.rollback()


_readable_text = partial(str, encoding="utf-8", errors="replace")
"""A text of an SQLite database. Of a damaged one, what is not UTF-8 becomes U+FFFD: it is shown, and its checksum tells
that it is damaged. The driver itself would refuse every row of the statement (0.1 µs a text, CPython 3.11)."""


def _has_connect_timeout(url: sa.URL) -> bool:
    return "connect_timeout" in url.query or "PGCONNECT_TIMEOUT" in os.environ


def _check_answers(driver_error: type[Exception], connection: Any, _record: object, _fairy: object) -> None:
    """Replace all pooled connections if the server has closed this one, or does not answer on it in time.

    SQLAlchemy's own ping (`pool_pre_ping`) waits for ever for a server that is frozen, or behind a firewall that forgot
    the connection.
    """
    try:
        answers = _answers(connection.pgconn, time.monotonic() + _ANSWER_TIMEOUT_S)
    except driver_error as error:
        raise exc.InvalidatePoolError(first_line(error)) from error
    if not answers:
        raise exc.InvalidatePoolError("the server does not answer")


def _answers(connection: Any, until_s: float) -> bool:
    """Whether the server answers on this connection, a `psycopg.pq.PGconn`; raises psycopg.Error if it is closed."""
    connection.send_query(b"SELECT 1")
    with selectors.DefaultSelector() as selector:
        selector.register(connection.socket, selectors.EVENT_READ)
        while True:
            while connection.is_busy():
                if not selector.select(max(until_s - time.monotonic(), 0.0)):
                    return False
                connection.consume_input()
            result = connection.get_result()
            if result is None:
                return True
            if result.error_message:  # such as that an administrator ended this connection
                return False


def _begin_postgresql(connection: sa.Connection, *, busy_timeout_s: float, read_only: bool) -> None:
    if connection.get_execution_options().get(_BARE):
        return
    # Set in every transaction: a pooler before the server may send each transaction to a different session.
    lock_timeout_ms = max(round(busy_timeout_s * 1000), 1)
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {lock_timeout_ms}; SET LOCAL work_mem = '{_WORK_MEM}'")
    if read_only:
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")


def _begin_sqlite(connection: sa.Connection) -> None:
    options = connection.get_execution_options()
    if options.get(_BARE):
        return
    writes = options.get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def database_errors(location: DatabaseLocation) -> Iterator[None]:
    """Turns errors of the database into StoreError."""
    try:
        yield
    except exc.StatementError as error:  # errors of the driver, and values that it does not accept
        why = _why(error.orig or error, location)
        raise _kind(error, why)(f"{location}: {why}") from error
    except UnicodeDecodeError as error:  # SQLite, if the stored schema is not valid text any more
        raise StoreError(f"{location}: {_SQLITE[sqlite3.SQLITE_CORRUPT]}") from error
    except exc.TimeoutError as error:
        raise StoreError(
            f"{location}: all {CONNECTIONS} connections of this program to the server are in use; try again later"
        ) from error
    except exc.SQLAlchemyError as error:
        raise StoreError(f"{location}: {first_line(error)}") from error


@contextmanager
def damage_errors(location: DatabaseLocation, what: str) -> Iterator[None]:
    """Turns errors from unpacking the damaged bytes of `what` into StoreError."""
    try:
        yield
    except DAMAGE_ERRORS as error:
        raise StoreError(f"{location}: {what} is damaged: {first_line(error)}") from error


def _kind(error: exc.StatementError, why: str) -> type[StoreError]:
    if why == _SQLITE[sqlite3.SQLITE_BUSY]:
        return DatabaseLockedError
    is_server = isinstance(error, exc.DBAPIError) and not isinstance(error.orig, sqlite3.Error)
    if is_server and (error.connection_invalidated or getattr(error.orig, "sqlstate", "") is None):
        return ServerUnreachableError  # psycopg knows no SQLSTATE of a connection that it could not make
    return StoreError


def _why(error: BaseException, location: DatabaseLocation) -> str:
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the lowest byte is the primary code
        is_full = code == sqlite3.SQLITE_IOERR and _is_disk_full(location)
        return _SQLITE.get(sqlite3.SQLITE_FULL if is_full else code, first_line(error))
    if getattr(error, "sqlstate", None) == _LOCK_NOT_AVAILABLE:
        return _SQLITE[sqlite3.SQLITE_BUSY]
    if type(error).__name__ == "ConnectionTimeout":  # of psycopg, which is optional
        return "the server does not answer; try again when it does"
    return first_line(error)


def _is_disk_full(location: DatabaseLocation) -> bool:
    """Whether no page fits: SQLite then fails to make the index of its log, even to read, and reports an I/O error."""
    try:
        return location.path is not None and shutil.disk_usage(location.path.parent).free < _PAGE_BYTES
    except OSError:
        return False


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or its type."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
