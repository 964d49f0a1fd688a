"""A program that runs one SQL statement, on a SQLite file or in DuckDB on Arrow tables, and can read nothing else.

It reads a request from standard input (`SqlRequest` as JSON, or `TablesRequest` pickled) and writes a `QueryReply` or a
`SqlRefusal` to standard output. It is a separate process, because a single built-in function can take gigabytes, or run
for minutes without a point at which the database can be interrupted: the process has a limit of memory, and its parent
process kills it. For SQLite it imports only the standard library, and starts in a few hundredths of a second.

DuckDB gets the tables as Arrow data sets, so it needs no file by itself: access to files, the network, extensions,
Python variables and settings is disabled before the statement is parsed, and only a single SELECT runs.

In SQLite, three checks decide what a statement may read, each based on SQLite's own resolution of names and never on
their spelling. The views are temporary views on a read-only connection. SQLite calls the authorizer for every column
that is read, with the table it really belongs to: only the columns that the views show are allowed. (The authorizer's
last argument, the innermost view, is not used: a common table expression may have any name.) A table without any column
that is read, as in `count(*)`, is known only by its name in the statement. So there, every name of a table, virtual
table or module that no view reads is refused.
"""

import json
import pickle
import resource
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from decimal import Decimal
from itertools import chain
from typing import Any, TypedDict
from urllib.parse import quote

MAX_COLUMNS = 100
_MAX_MADE_BYTES = 1_000_000  # bytes of one value that a statement may create
_MAX_PATTERN_BYTES = 1_000  # bytes of a pattern of LIKE and GLOB
_MEMORY = 512 << 20  # bytes
_TEMPORARY = 256 << 20  # bytes of a file for sorting
_STEPS = 1_000  # of SQLite's virtual machine between two checks of the time
_DUCKDB_DATA = 1 << 30  # bytes of data; the address space that DuckDB, Arrow and their threads reserve is not counted
_DUCKDB_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "python_scan_all_frames": "false",
    "memory_limit": f"{_MEMORY >> 20}MiB",
    "max_temp_directory_size": "0KB",
    "threads": "2",
}
_TABLE_FUNCTIONS = frozenset({"json_each", "json_tree"})
_FUNCTIONS = """
    -> ->> abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling char coalesce concat concat_ws cos cosh count
    cume_dist current_date current_time current_timestamp date datetime degrees dense_rank exp first_value floor format
    glob group_concat hex ifnull if iif instr json json_array json_array_length json_each json_extract json_group_array
    json_group_object json_insert json_object json_patch json_quote json_remove json_replace json_set json_tree
    json_type json_valid julianday lag last_value lead length like likelihood likely ln log log10 log2 lower ltrim max
    min mod nth_value ntile nullif octet_length percent_rank pi pow power printf quote radians random randomblob rank
    replace round row_number rtrim sign sin sinh soundex sqrt strftime string_agg substr substring sum tan tanh time
    timediff total trim trunc typeof unicode unixepoch unlikely upper zeroblob
"""  # functions that depend only on their arguments, and date and random functions


class SqlRequest(TypedDict):
    """A statement to run; `views` are the SELECTs of the views by name, `allowed` the columns they read, by table."""

    path: str
    views: dict[str, str]
    allowed: dict[str, list[str]]
    statement: str
    rows: int
    value_bytes: int
    total_bytes: int
    seconds: float


class TablesRequest(TypedDict):
    """A statement to run on Arrow data sets by name; `parameters` are for its `?`."""

    tables: dict[str, Any]
    statement: str
    parameters: list[str | int | float | None]
    rows: int
    value_bytes: int
    total_bytes: int
    seconds: float


class QueryReply(TypedDict):
    """The result. `left_out` is `rows` or `bytes` if that limit was reached, else empty."""

    columns: list[str]
    rows: list[list[str | int | float | None]]
    left_out: str
    cut_values: int


class SqlRefusal(TypedDict):
    """The reason why there is no result, as a sentence."""

    refused: str


def reply_to(request: SqlRequest) -> QueryReply | SqlRefusal:
    """Run the statement; returns its rows, or the reason for an error."""
    until = time.monotonic() + request["seconds"]
    try:
        address = f"file:{quote(request['path'])}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as connection:
            forbidden = _names(connection) - request["allowed"].keys()
            for name, select in request["views"].items():
                connection.execute(f'CREATE TEMP VIEW "{name}" AS {select}')
            connection.execute(
                "SELECT 1 FROM json_each('[]'), json_tree('[]')"
            )  # creates the virtual tables, which is not allowed later
            _restrict(connection)
            connection.set_authorizer(_authorizer(request, forbidden))
            connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
            cursor = connection.execute(request["statement"])
            return collect([column[0] for column in cursor.description or ()], cursor, request)
    except sqlite3.Error as error:
        return {"refused": _sentence(error, request)}
    except MemoryError:
        return {"refused": f"the statement needs more than {_MEMORY >> 20} MB of memory and was stopped"}


def tables_reply_to(request: TablesRequest) -> QueryReply | SqlRefusal:
    """Run the statement in DuckDB; returns its rows, or the reason for an error. ImportError without DuckDB."""
    import duckdb  # noqa: PLC0415  # 100 ms, and optional
    import pyarrow.dataset  # noqa: F401, PLC0415  # DuckDB knows data sets if this module is loaded

    connection = duckdb.connect(":memory:", config=_DUCKDB_CONFIG)
    timer = threading.Timer(request["seconds"], connection.interrupt)
    try:
        for name, table in request["tables"].items():
            connection.register(name, table)
        connection.execute("SET lock_configuration = true")
        parsed = connection.extract_statements(request["statement"])
        if len(parsed) != 1 or parsed[0].type != duckdb.StatementType.SELECT:
            return {"refused": "only a single read-only statement is allowed: SELECT, WITH or VALUES"}
        timer.start()
        result = connection.execute(parsed[0], request["parameters"])
        rows = chain.from_iterable(iter(lambda: result.fetchmany(100), []))
        return collect([column[0] for column in result.description or ()], map(_plain_values, rows), request)
    except duckdb.InterruptException:
        return {"refused": f"the statement took longer than {request['seconds']:g} seconds and was stopped"}
    except (duckdb.OutOfMemoryException, MemoryError):
        return {"refused": "the statement exceeded the memory limit and was stopped"}
    except duckdb.Error as error:
        return {"refused": f"DuckDB: {' '.join(str(error).split('LINE 1')[0].split())}"}
    finally:
        timer.cancel()
        connection.close()


def _plain_values(row: Sequence[Any]) -> list[Any]:
    return [float(value) if isinstance(value, Decimal) else value for value in row]


def collect(columns: Sequence[str], rows: Iterator[Any], request: "SqlRequest | TablesRequest") -> QueryReply:
    """The first rows, up to the limits of the request."""
    kept: list[list[str | int | float | None]] = []
    total = cut = 0
    left_out = ""
    for row in rows:
        if len(kept) == request["rows"]:
            left_out = "rows"
            break
        shown = [_shown(value, request["value_bytes"]) for value in row]
        total += sum(_size(value) for value, _ in shown)
        if total > request["total_bytes"]:
            left_out = "bytes"
            break
        cut += sum(was_cut for _, was_cut in shown)
        kept.append([value for value, _ in shown])
    return {"columns": list(columns), "rows": kept, "left_out": left_out, "cut_values": cut}


def _names(connection: sqlite3.Connection) -> set[str]:
    """The lower-case names of all tables, and of modules that are usable as tables without being created."""
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
    modules = connection.execute("SELECT name FROM pragma_module_list")
    return {str(name).lower() for (name,) in [*tables, *modules]} - _TABLE_FUNCTIONS


def _restrict(connection: sqlite3.Connection) -> None:
    connection.text_factory = lambda raw: raw.decode(errors="replace")  # a statement can create text from any bytes
    for limit, most in (
        (sqlite3.SQLITE_LIMIT_LENGTH, _MAX_MADE_BYTES),
        (sqlite3.SQLITE_LIMIT_COLUMN, MAX_COLUMNS),
        (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, _MAX_PATTERN_BYTES),
        (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
        (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
    ):
        connection.setlimit(limit, most)


def _authorizer(request: SqlRequest, forbidden: set[str]) -> Callable[..., int]:
    views = {name.lower() for name in request["views"]}
    allowed = {table.lower(): {column.lower() for column in columns} for table, columns in request["allowed"].items()}
    functions = frozenset(_FUNCTIONS.split())

    def may_read(table: str, column: str, database: str | None) -> bool:
        if not column:
            return table not in forbidden and not table.startswith(("sqlite_", "pragma_"))
        if table in _TABLE_FUNCTIONS:
            return True
        return (database == "temp" and table in views) or (database == "main" and column in allowed.get(table, ()))

    def decide(action: int, first: str | None, second: str | None, database: str | None, _inner: str | None) -> int:
        match action:
            case sqlite3.SQLITE_SELECT | sqlite3.SQLITE_RECURSIVE:
                ok = True
            case sqlite3.SQLITE_READ:
                ok = may_read((first or "").lower(), (second or "").lower(), database)
            case sqlite3.SQLITE_FUNCTION:
                ok = (second or "").lower() in functions
            case _:
                ok = False
        return sqlite3.SQLITE_OK if ok else sqlite3.SQLITE_DENY

    return decide


def _shown(value: object, most: int) -> tuple[str | int | float | None, bool]:
    """The value to show, and whether it was truncated."""
    if value is None or isinstance(value, int | float):
        return value, False
    if isinstance(value, bytes | memoryview):
        return f"{len(value):,} bytes", False
    text = str(value)
    if len(text) * 4 <= most or len(raw := text.encode(errors="replace")) <= most:
        return text, False
    return f"{raw[:most].decode(errors='ignore')}…", True


def _size(value: str | int | float | None) -> int:
    return len(value.encode(errors="replace")) if isinstance(value, str) else 8


def _sentence(error: sqlite3.Error, request: SqlRequest) -> str:
    text = str(error)
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_INTERRUPT:
        return f"the statement took longer than {request['seconds']:g} seconds and was stopped"
    if code == sqlite3.SQLITE_TOOBIG:
        return f"a value of the statement is longer than {_MAX_MADE_BYTES:,} bytes"
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return f"the statement needs more than {_TEMPORARY >> 20} MB of disk space to sort, or the disk failed"
    if code == sqlite3.SQLITE_NOMEM:
        return f"the statement needs more than {_MEMORY >> 20} MB of memory and was stopped"
    if code == sqlite3.SQLITE_AUTH or "not authorized" in text or "prohibited" in text:
        return f"the statement may only read the views, and may not change anything ({text})"
    return f"SQLite: {text}"


def _main() -> None:
    is_of_tables = sys.argv[1:] == ["tables"]
    memory = (resource.RLIMIT_DATA, _DUCKDB_DATA) if is_of_tables else (resource.RLIMIT_AS, _MEMORY)
    for what, most in (memory, (resource.RLIMIT_FSIZE, _TEMPORARY)):
        resource.setrlimit(what, (most, most))
    # The parent process pickled the request; it also started this program.
    reply = tables_reply_to(pickle.load(sys.stdin.buffer)) if is_of_tables else reply_to(json.load(sys.stdin))
    json.dump(reply, sys.stdout)


if __name__ == "__main__":
    _main()
