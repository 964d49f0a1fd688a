"""Runs a user's SQL statement in DuckDB over result tables in Parquet; it can read nothing else.

The tables are passed as Arrow data sets, so DuckDB itself needs no file: access to files, the network, extensions,
Python variables and settings is disabled before the statement is parsed. Only a single SELECT runs, within the limits
of the SQL console: rows, bytes, seconds and memory.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from inspector.errors import StoreError
from storage.console.sql_executor import MOST_ROWS, TOTAL_BYTES, VALUE_BYTES, QueryResult, Value

_SECONDS = 10.0
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "python_scan_all_frames": "false",
    "memory_limit": "1GB",
    "max_temp_directory_size": "0KB",
    "threads": "2",
}


def query_tables(
    tables: Mapping[str, Any],
    statement: str,
    *,
    parameters: Sequence[Value] = (),
    limit: int = MOST_ROWS,
    seconds: float = _SECONDS,
) -> QueryResult:
    """The first `limit` rows of a SELECT over Arrow data sets by name, up to TOTAL_BYTES; `parameters` are for its `?`.

    StoreError, with a readable message, for a statement that is not a single SELECT, reads anything else, needs too
    much memory, or takes longer than `seconds`; ImportError without DuckDB.
    """
    import duckdb  # noqa: PLC0415  # 100 ms, and optional

    connection = duckdb.connect(":memory:", config=_CONFIG)
    timer = threading.Timer(seconds, connection.interrupt)
    try:
        for name, table in tables.items():
            connection.register(name, table)
        connection.execute("SET lock_configuration = true")
        parsed = connection.extract_statements(statement)
        if len(parsed) != 1 or parsed[0].type != duckdb.StatementType.SELECT:
            raise StoreError("only a single read-only statement is allowed: SELECT, WITH or VALUES")
        timer.start()
        found = connection.execute(parsed[0], list(parameters))
        columns = tuple(one[0] for one in found.description or ())
        rows, note = _collect(iter(lambda: found.fetchmany(100), []), limit)
    except duckdb.InterruptException as error:
        raise StoreError(f"the statement took longer than {seconds:g} seconds and was stopped") from error
    except duckdb.OutOfMemoryException as error:
        raise StoreError("the statement exceeded the memory limit and was stopped") from error
    except duckdb.Error as error:
        raise StoreError(f"DuckDB: {' '.join(str(error).split('LINE 1')[0].split())}") from error
    finally:
        timer.cancel()
        connection.close()
    return QueryResult(columns, tuple(rows), note)


def _collect(batches: Iterable[list[tuple[Any, ...]]], limit: int) -> tuple[list[tuple[Value, ...]], tuple[str, ...]]:
    kept: list[tuple[Value, ...]] = []
    total = 0
    for row in _rows(batches):
        if len(kept) == limit:
            return kept, (f"There are more rows; only the first {limit:,} are shown. Use LIMIT to choose which.",)
        shown = tuple(map(_value, row))
        total += sum(len(one) if isinstance(one, str) else 8 for one in shown)
        if total > TOTAL_BYTES:
            return kept, (
                f"The result is larger than {TOTAL_BYTES:,} bytes; only the first {len(kept):,} rows are shown.",
            )
        kept.append(shown)
    return kept, ()


def _rows(batches: Iterable[list[tuple[Any, ...]]]) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        yield from batch


def _value(value: Any) -> Value:
    match value:
        case None | int() | float():
            return value
        case Decimal():
            return float(value)
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= VALUE_BYTES else text[:VALUE_BYTES] + "…"
