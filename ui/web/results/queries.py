"""What the pages over results ask DuckDB, and the selections of traces that their numbers lead to.

A selection is a JSON object in the address, such as `{"status": "broken", "break_code": "J101"}`. It is compiled to
conditions whose values are parameters, so a value of a trace is never part of a statement. A page's numbers and the
list behind each use the same conditions: they agree.
"""

import json
from collections.abc import Iterator, Mapping
from typing import TypeAlias

import streamlit as st

from inspector.errors import StoreError
from storage.console import QueryResult
from storage.console.duckdb_reader import query_tables
from storage.console.sql_executor import Value
from ui.importing.result_tables import TABLES, ResultsFolder
from ui.web.stores import current_options

Selection: TypeAlias = Mapping[str, Value]

_PAGE_SECONDS = 60.0
_FRESH_S = 3600
_KEPT = 256
_LONGEST = 4_000
_IN_TRACES = ("status", "break_code", "break_tool", "break_step", "model", "day", "source", "success")
# The tables whose rows a trace must have one of, and the columns that this row is selected by.
_IN_ROWS = {
    "calls": {"tool": "tool", "valid": "valid"},
    "steps": {"step_tool": "tool", "outcome": "outcome"},
    "diagnostics": {"rule": "code"},
}


def results_folder() -> ResultsFolder:
    """The folder that the pages show."""
    return ResultsFolder(current_options().results)


def ask(statement: str, *parameters: Value, limit: int = 1_000) -> QueryResult:
    """The rows of one of our own statements, kept while no further block is finished."""
    folder = results_folder()
    return _asked(folder.where, _version(folder), statement, json.dumps(parameters), limit)


@st.cache_resource(show_spinner="Reading the results …", max_entries=_KEPT, ttl=_FRESH_S)
def _asked(where: str, version: str, statement: str, parameters: str, limit: int) -> QueryResult:
    return run_statement(statement, json.loads(parameters), limit=limit, seconds=_PAGE_SECONDS)


def run_statement(
    statement: str, parameters: list[Value] | None = None, *, limit: int = 1_000, seconds: float = 10.0
) -> QueryResult:
    """The rows of a statement over the tables. StoreError in a sentence, also where DuckDB is not installed."""
    folder = results_folder()
    try:
        tables = {name: folder.dataset(name) for name in TABLES}
        return query_tables(tables, statement, parameters=parameters or (), limit=limit, seconds=seconds)
    except ImportError as error:
        raise StoreError("`weaklink web --on` needs `duckdb` and `pyarrow`: pip install 'weaklink[duckdb]'") from error


def _version(folder: ResultsFolder) -> str:
    return str(len(folder.entries()))


# ---------------------------------------------------------------- selections


def read_selection(text: str) -> dict[str, Value]:
    """The selection of an address; StoreError where it is none."""
    try:
        found = json.loads(text[:_LONGEST]) if text else {}
    except ValueError as error:
        raise StoreError("the address selects traces by something that is not JSON") from error
    known = {*_IN_TRACES, *(key for columns in _IN_ROWS.values() for key in columns)}
    plain = isinstance(found, dict) and all(value is None or isinstance(value, str | int) for value in found.values())
    if not plain or not found.keys() <= known:
        raise StoreError("the address selects traces by something that results do not have")
    return dict(found)


def selection_text(selection: Selection) -> str:
    """The selection as an address has it."""
    return json.dumps(dict(selection), ensure_ascii=False) if selection else ""


def conditions(selection: Selection) -> tuple[str, list[Value]]:
    """What a row of `traces` must fulfil, as SQL behind WHERE, and its parameters."""
    said: list[str] = []
    parameters: list[Value] = []
    for condition, value in _column_conditions(selection, {name: name for name in _IN_TRACES}):
        said.append(condition)
        parameters.append(value)
    for table, columns in _IN_ROWS.items():
        inner = list(_column_conditions(selection, columns))
        if inner:
            where = " AND ".join(condition for condition, _ in inner)
            said.append(f"(file, record) IN (SELECT (file, record) FROM {table} WHERE {where})")
            parameters += (value for _, value in inner)
    return " AND ".join(said) or "true", parameters


def _column_conditions(selection: Selection, columns: Mapping[str, str]) -> Iterator[tuple[str, Value]]:
    for key, column in columns.items():
        if key in selection:
            yield f"{column} IS NOT DISTINCT FROM ?", selection[key]
