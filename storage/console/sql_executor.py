"""Runs a user's SQL over the views, on a connection that can do nothing else, for a bounded time.

PostgreSQL has no authorizer, and names cannot be checked by their spelling: common table expressions shadow them,
`U&` and quotes spell them differently, and functions such as `query_to_xml` run SQL from a string. So PostgreSQL itself
resolves the statement. It is prepared (which accepts only a single statement, and runs nothing) and becomes the body of
a temporary view. In the view's stored tree (`pg_rewrite.ev_action`), every relation, function, operator and type is a
number. These numbers are compared with what is allowed: the relations of our views, built-in operators, a list of
types, and built-in functions that depend only on their arguments (`immutable`) or are listed here. A text in the
statement that looks like such a number can only cause a refusal. Then that view is read, in a read-only transaction
that is rolled back.

A read-only statement can still exhaust the server's memory: `repeat('a', 500000000)` is a value of 500 MB, and
PostgreSQL has no limit for a session. So nothing may build a large value from a small one. Functions whose result is
longer than their arguments, and aggregates that collect values, are refused, as are types that are containers (JSON,
records, bytes) and lists of anything but constants. What is left is `||`, which at most doubles the longest text: a
statement may contain it a few times, fewer the longer the statement is, and not in a recursion. So a text has at most
`_JOINED_BYTES`, or a stored text times the same factor. Sorting and hashing use `work_mem` and then the disk, for
which there is a limit if the role may set one. Every statement has a time limit.
"""

import json
import pickle
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias, cast

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy import exc
from sqlalchemy.dialects import postgresql, sqlite

from weaklink.inspector.errors import StoreError
from weaklink.storage.console import statement_reader
from weaklink.storage.console.statement_reader import (
    MAX_COLUMNS,
    QueryReply,
    SqlRequest,
    TablesRequest,
    collect,
    tables_reply_to,
)
from weaklink.storage.console.views import VIEWS
from weaklink.storage.engine import DatabaseLocation, database_errors

MAX_ROWS = 1_000
VALUE_BYTES = 100_000
"""Maximum bytes of a value in a result; longer values are truncated."""
TOTAL_BYTES = 10_000_000
"""Maximum bytes of all values in a result."""
_TIMEOUT_S = 10.0
_TO_START_S, _DUCKDB_TO_START_S = 5.0, 15.0  # time for the process to start and end on a busy machine
_FIRST_WORD = re.compile(r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?(?:\*/|\Z)|\()*(\w*)", re.DOTALL)
_BEGINS = ("select", "with", "values")
_MAX_STATEMENT_CHARS = 100_000
Value: TypeAlias = str | int | float | None
_NAME = "weaklink_statement"
_COMMAND_OK = 1  # libpq: PGRES_COMMAND_OK
_QUERY_CANCELED, _LIMIT_EXCEEDED = "57014", "53400"
_FIRST_OF_OTHERS = 16_384  # PostgreSQL: FirstNormalObjectId; objects with lower numbers are built in
_LEAST_TYPE = 16  # lower numbers after such a key are members of enumerations
_SHORT = frozenset({"bool", "int2", "int4", "int8", "float4", "float8"})
_TYPES = (
    *_SHORT,
    *("numeric", "text", "varchar", "unknown", "uuid"),
    *("date", "time", "timetz", "timestamp", "timestamptz", "interval"),
)
_HARMLESS = """
    age clock_timestamp date date_add date_bin date_part date_subtract date_trunc extract now random statement_timestamp
    text time timestamp timestamptz timezone to_char to_date to_number to_timestamp transaction_timestamp
"""  # functions that are not immutable, but read and change nothing
_GROWING = """
    array_agg array_append array_cat array_fill array_prepend generate_series lpad overlay quote_ident quote_literal
    regexp_replace regexp_split_to_array repeat replace rpad string_agg string_to_array
"""  # immutable functions whose result can be much longer than their arguments, or that collect values
_JOINS = "textcat textanycat anytextcat array_cat array_append array_prepend"  # the functions of `||`
_JOINED_BYTES = 1 << 20
_MEMORY_SETTINGS = ("work_mem = '16MB'", "max_parallel_workers_per_gather = 0", "jit = off")
_DISK_MB = 256
_DISK_SETTING = f"temp_file_limit = '{_DISK_MB}MB'"  # only some roles may set it
_RECURSION = ":cterecursive true"
_CALL = re.compile(r":funcid (\d+)")  # an operator has its function too, which is not counted again
_OF_ROWS = re.compile(r"\{(?:VAR|PARAM|SUBLINK|AGGREF|WINDOWFUNC|GROUPINGFUNC)\b")
_LISTS = re.compile(r"\{ARRAYEXPR\b")
_BRACE = re.compile(r"(?s)\\.|[{}]")
_RELATION = re.compile(r":relid (\d+)")
_OPERATOR = re.compile(r":(?:opno|eqop|sortop|ltop|opnos) (?:(\d+)|\(o ([\d ]+)\))")
_FUNCTION = re.compile(r":(?:funcid|opfuncid|aggfnoid|winfnoid|tsmhandler) (\d+)")
_TYPE = re.compile(r":\w*(?:type|typeid|typeId|types|Types) (?:(\d+)|\(o ([\d ]+)\))")


class QueryResult(Struct, frozen=True):
    """The column names and the rows; `notes` are sentences about rows and values that were left out."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    notes: tuple[str, ...] = ()


def ask(location: DatabaseLocation, text: str, *, limit: int = MAX_ROWS, seconds: float = _TIMEOUT_S) -> QueryResult:
    """The first `limit` rows of a statement over the views, up to TOTAL_BYTES.

    StoreError, with a readable message, for a statement that is not a query, reads anything but the views, is invalid,
    needs too much memory or disk, or takes longer than `seconds`.
    """
    check_words(text)
    request = SqlRequest(
        path=str(location.path),
        views=_selects(sqlite if location.path is not None else postgresql),
        allowed=_allowed(),
        statement=text,
        rows=limit,
        value_bytes=VALUE_BYTES,
        total_bytes=TOTAL_BYTES,
        seconds=seconds,
    )
    return _result(_read_sqlite(request) if location.path is not None else read_postgresql(location, request))


def query_tables(
    tables: Mapping[str, Any],
    statement: str,
    *,
    parameters: Sequence[Value] = (),
    limit: int = MAX_ROWS,
    seconds: float = _TIMEOUT_S,
) -> QueryResult:
    """The first `limit` rows of a SELECT of ours over Arrow data sets by name; `parameters` are for its `?`.

    StoreError, with a readable message, for a statement that is not a single SELECT, reads anything else, or takes
    longer than `seconds`; ImportError without DuckDB.
    """
    return _result(_not_refused(tables_reply_to(_tables_request(tables, statement, parameters, limit, seconds))))


def ask_tables(
    tables: Mapping[str, Any], statement: str, *, limit: int = MAX_ROWS, seconds: float = _TIMEOUT_S
) -> QueryResult:
    """The same for a user's statement, in a separate process, whose memory is limited too. Raises the same errors."""
    import duckdb  # noqa: F401, PLC0415  # the process needs it; 100 ms, and optional

    request = _tables_request(tables, statement, (), limit, seconds)
    command = [sys.executable, "-I", str(Path(statement_reader.__file__)), "tables"]
    return _result(_reply_of(command, pickle.dumps(request), seconds, _DUCKDB_TO_START_S))


def _tables_request(
    tables: Mapping[str, Any], statement: str, parameters: Sequence[Value], limit: int, seconds: float
) -> TablesRequest:
    return TablesRequest(
        tables=dict(tables),
        statement=statement,
        parameters=list(parameters),
        rows=limit,
        value_bytes=VALUE_BYTES,
        total_bytes=TOTAL_BYTES,
        seconds=seconds,
    )


def _result(reply: QueryReply) -> QueryResult:
    rows = tuple(map(tuple, reply["rows"]))
    return QueryResult(tuple(reply["columns"]), rows, tuple(_notes(reply, len(rows))))


def _selects(database: ModuleType) -> dict[str, str]:
    dialect: sa.Dialect = database.dialect()
    return {view.name: str(view.select().compile(dialect=dialect)) for view in VIEWS}


def _allowed() -> dict[str, list[str]]:
    """The columns that the views read, by table."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    for view in VIEWS:
        for column in view.columns:
            names[column.source.table.name].append(column.source.name)
    return dict(names)


def _read_sqlite(request: SqlRequest) -> QueryReply:
    command = [sys.executable, "-I", "-S", str(Path(statement_reader.__file__))]
    return _reply_of(command, json.dumps(request).encode(), request["seconds"], _TO_START_S)


def _reply_of(command: Sequence[str], request: bytes, seconds: float, to_start_s: float) -> QueryReply:
    """The reply of a separate process, which is killed if it does not end in time."""
    try:
        done = subprocess.run(command, input=request, capture_output=True, timeout=seconds + to_start_s, check=False)
    except subprocess.TimeoutExpired as error:
        raise StoreError(f"the statement took longer than {seconds:g} seconds and was stopped") from error
    if done.returncode != 0:
        raise StoreError("the statement exceeded the memory limit and was stopped")
    return _not_refused(json.loads(done.stdout))


def _not_refused(reply: Mapping[str, Any]) -> QueryReply:
    if "refused" in reply:
        raise StoreError(reply["refused"])
    return cast("QueryReply", reply)


def _notes(reply: QueryReply, rows: int) -> list[str]:
    notes = []
    if reply["left_out"] == "rows":
        notes.append(f"There are more rows; only the first {rows:,} are shown. Use LIMIT to choose which.")
    if reply["left_out"] == "bytes":
        notes.append(
            f"The result is larger than {TOTAL_BYTES // 1_000_000} MB; only its first {rows:,} rows are shown."
        )
    if cut := reply["cut_values"]:
        notes.append(f"Values of more than {VALUE_BYTES:,} bytes are truncated ({cut:,} in this result).")
    return notes


def check_words(text: str) -> None:
    """Raise StoreError for text that does not start a query; the database checks what the query reads."""
    if len(text) > _MAX_STATEMENT_CHARS:
        raise StoreError(f"the statement has {len(text):,} characters; the maximum is {_MAX_STATEMENT_CHARS:,}")
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise StoreError("the statement contains NUL or a lone surrogate, which no database accepts")
    match = _FIRST_WORD.match(text)
    if match is None or match[1].lower() not in _BEGINS:
        raise StoreError("write a single read-only statement that starts with SELECT, WITH or VALUES")


def read_postgresql(location: DatabaseLocation, request: SqlRequest) -> QueryReply:
    """Run the statement; StoreError for a refused statement, or one that takes too long."""
    try:
        with _transaction(location) as connection:
            return _reply(connection, request)
    except StoreError as error:
        cause = error.__cause__
        state = getattr(cause.orig, "sqlstate", None) if isinstance(cause, exc.DBAPIError) else None
        if state == _QUERY_CANCELED:
            raise StoreError(_too_long(request)) from error
        if state == _LIMIT_EXCEEDED:
            raise StoreError(f"the statement needs more than {_DISK_MB} MB of disk space to sort") from error
        raise


@contextmanager
def _transaction(location: DatabaseLocation) -> Iterator[sa.Connection]:
    """A transaction that is always rolled back, which removes its views."""
    engine = sa.create_engine(location.url, hide_parameters=True, poolclass=sa.NullPool)
    try:
        with database_errors(location), engine.connect() as connection:
            yield connection
            connection.rollback()
    finally:
        engine.dispose()


def _reply(connection: sa.Connection, request: SqlRequest) -> QueryReply:
    until = time.monotonic() + request["seconds"]
    connection.exec_driver_sql("SET LOCAL client_encoding = 'UTF8'")
    connection.exec_driver_sql(f"SET LOCAL statement_timeout = {max(round(request['seconds'] * 1000), 1)}")
    _limit_memory(connection)
    for name, select in request["views"].items():
        connection.exec_driver_sql(f'CREATE TEMP VIEW "{name}" AS {select}')
    connection.exec_driver_sql("SET LOCAL search_path = pg_temp")
    columns = _prepared(connection, request["statement"])
    listed = ", ".join(f"c{number}" for number in range(len(columns)))
    view = f"CREATE TEMP VIEW {_NAME} ({listed}) AS {request['statement']}"
    connection.exec_driver_sql(view.replace("%", "%%"))  # the driver reads a single `%` as a parameter
    _refuse_others(connection, request)
    connection.exec_driver_sql("SET TRANSACTION READ ONLY")
    at_once = max(1, request["total_bytes"] // (len(columns) * request["value_bytes"]))
    streamed = connection.execution_options(stream_results=True, max_row_buffer=at_once)
    select = ", ".join(_bounded(f"c{number}", type_, request) for number, (_, type_) in enumerate(columns))
    with streamed.exec_driver_sql(f"SELECT {select} FROM {_NAME}") as result:
        return collect([name for name, _ in columns], _until(result, until, request), request)


def _limit_memory(connection: sa.Connection) -> None:
    for setting in _MEMORY_SETTINGS:
        connection.exec_driver_sql(f"SET LOCAL {setting}")
    with suppress(exc.DBAPIError), connection.begin_nested():
        connection.exec_driver_sql(f"SET LOCAL {_DISK_SETTING}")


def _prepared(connection: sa.Connection, statement: str) -> list[tuple[str, str]]:
    """The names and types of a statement's columns; StoreError if it is not a single statement that returns rows."""
    raw: Any = connection.connection.driver_connection
    done = raw.pgconn.prepare(b"", statement.encode())
    if done.status != _COMMAND_OK:
        lines = done.error_message.decode(errors="replace").strip().splitlines()
        raise StoreError(f"PostgreSQL: {(lines or ['cannot parse the statement'])[0].removeprefix('ERROR:').strip()}")
    shape = raw.pgconn.describe_prepared(b"")
    if not shape.nfields:
        raise StoreError("the statement returns no columns")
    if shape.nfields > MAX_COLUMNS:
        raise StoreError(f"the statement returns {shape.nfields:,} columns; the maximum is {MAX_COLUMNS}")
    typed = connection.exec_driver_sql("SELECT oid::bigint, typname FROM pg_catalog.pg_type")
    types: dict[int, str] = dict(iter(typed))
    return [
        (shape.fname(number).decode(errors="replace"), types.get(shape.ftype(number), ""))
        for number in range(shape.nfields)
    ]


def _bounded(column: str, type_: str, request: SqlRequest) -> str:
    """A column truncated to one character more than can be shown, a sign that the value was longer."""
    return column if type_ in _SHORT else f"left({column}::text, {request['value_bytes'] + 1})"


def _refuse_others(connection: sa.Connection, request: SqlRequest) -> None:
    """Raise StoreError if the view of the statement reads, calls or creates anything that is not allowed."""
    tree: str = connection.scalar(
        sa.text("SELECT ev_action::text FROM pg_catalog.pg_rewrite WHERE ev_class = CAST(:name AS regclass)"),
        {"name": f"pg_temp.{_NAME}"},
    )
    ours = [*request["views"], _NAME]
    types = {number for number in _numbers(_TYPE, tree) if number >= _LEAST_TYPE}
    if _not_among(connection, _OUR_RELATIONS, _numbers(_RELATION, tree), ours):
        raise StoreError("only the views may be read")
    if any(number >= _FIRST_OF_OTHERS for number in _numbers(_OPERATOR, tree)):
        raise StoreError("only PostgreSQL's built-in operators are allowed")
    if refused := _not_among(connection, _ALLOWED_FUNCTIONS, _numbers(_FUNCTION, tree), _HARMLESS.split()):
        raise StoreError(f"the statement calls {_named(connection, 'regproc', refused)}, which is not allowed")
    if refused := _not_among(connection, _ALLOWED_TYPES, types, _TYPES):
        raise StoreError(
            f"the statement creates a value of type {_named(connection, 'regtype', refused)}, which is not allowed"
        )

    _refuse_growth(connection, tree, len(request["statement"].encode()))


def _refuse_growth(connection: sa.Connection, tree: str, size_bytes: int) -> None:
    """Raise StoreError if the statement may build a value much larger than the texts in it and in the views."""
    growing = {"numbers": list(_numbers(_FUNCTION, tree)), "names": _GROWING.split()}
    if refused := set(connection.scalars(sa.text(_FUNCTIONS_NAMED), growing)):
        raise StoreError(
            f"the statement calls {_named(connection, 'regproc', refused)}, which can build a value that exceeds the "
            "server's memory"
        )
    if any(_OF_ROWS.search(node) for node in _nodes(_LISTS, tree)):
        raise StoreError("a list (`ARRAY[...]` or `IN (...)`) may only contain constants")
    called = [int(match[1]) for match in _CALL.finditer(tree)]
    used = [int(match[1]) for match in _OPERATOR.finditer(tree) if match[1]]
    joining = set(connection.scalars(sa.text(_FUNCTIONS_NAMED), {"numbers": called, "names": _JOINS.split()}))
    joining_operators = set(connection.scalars(sa.text(_OPERATORS_NAMED), {"numbers": used, "name": "||"}))
    joins = sum(number in joining for number in called) + sum(number in joining_operators for number in used)
    if joins and _RECURSION in tree:
        raise StoreError("a recursive statement may not join texts with `||`, since they could grow without a limit")
    if size_bytes << joins > _JOINED_BYTES:
        raise StoreError(f"the statement joins texts with `||` too often for its length ({joins} times)")


def _nodes(begin: re.Pattern[str], tree: str) -> Iterator[str]:
    """The nodes of a stored tree that begin like this, each up to its closing brace; names escape braces."""
    for match in begin.finditer(tree):
        depth = 0
        for brace in _BRACE.finditer(tree, match.start()):
            depth += {"{": 1, "}": -1}.get(brace[0], 0)
            if not depth:
                yield tree[match.start() : brace.end()]
                break


def _numbers(pattern: re.Pattern[str], tree: str) -> set[int]:
    lists = (" ".join(filter(None, match.groups())) for match in pattern.finditer(tree))
    return {int(number) for numbers in lists for number in numbers.split()}


def _not_among(connection: sa.Connection, allowed: str, numbers: Iterable[int], names: Sequence[str]) -> set[int]:
    """Those of these numbers that the query `allowed` does not return for these numbers and names."""
    checked = set(numbers) - {0}  # the function of an operator is 0 until the query is planned
    return checked - set(connection.scalars(sa.text(allowed), {"numbers": list(checked), "names": list(names)}))


def _named(connection: sa.Connection, kind: str, numbers: Iterable[int]) -> str:
    named = sa.text(f"SELECT CAST(CAST(:number AS oid) AS {kind})::text")
    return f"`{connection.scalar(named, {'number': min(numbers)})}`"


_OUR_RELATIONS = """SELECT oid::bigint FROM pg_catalog.pg_class
WHERE oid = ANY(CAST(:numbers AS oid[])) AND relnamespace = pg_my_temp_schema() AND relname = ANY(:names)"""

_ALLOWED_FUNCTIONS = f"""SELECT oid::bigint FROM pg_catalog.pg_proc AS called
WHERE oid = ANY(CAST(:numbers AS oid[])) AND oid < {_FIRST_OF_OTHERS}
AND pronamespace = 'pg_catalog'::regnamespace AND prokind IN ('f', 'a', 'w')
AND (provolatile = 'i' OR proname = ANY(:names) OR provolatile = 's' AND EXISTS (
    SELECT 1 FROM pg_catalog.pg_operator WHERE pg_operator.oid < {_FIRST_OF_OTHERS} AND oprcode = called.oid))"""

_ALLOWED_TYPES = """SELECT type.oid::bigint FROM pg_catalog.pg_type AS type
LEFT JOIN pg_catalog.pg_type AS element ON element.oid = type.typelem AND type.typcategory = 'A'
WHERE type.oid = ANY(CAST(:numbers AS oid[])) AND type.typnamespace = 'pg_catalog'::regnamespace
AND coalesce(element.typname, type.typname) = ANY(:names)"""

_FUNCTIONS_NAMED = """SELECT oid::bigint FROM pg_catalog.pg_proc
WHERE oid = ANY(CAST(:numbers AS oid[])) AND proname = ANY(:names)"""

_OPERATORS_NAMED = """SELECT oid::bigint FROM pg_catalog.pg_operator
WHERE oid = ANY(CAST(:numbers AS oid[])) AND oprname = :name"""


def _until(rows: Iterable[Any], until: float, request: SqlRequest) -> Iterator[Any]:
    for row in rows:
        if time.monotonic() > until:
            raise StoreError(_too_long(request))
        yield row


def _too_long(request: SqlRequest) -> str:
    return f"the statement took longer than {request['seconds']:g} seconds and was stopped"
