"""Opens one trace of results: the results record its file and block, and only that block is read again."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeAlias

import streamlit as st
from msgspec import DecodeError
from msgspec.json import decode

from weaklink.inspector.chain.endings import abort_words
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.errors import StoreError, UnreadableFileError
from weaklink.inspector.importers.blocks import Block
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Trace
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.text import Range
from weaklink.storage.console import QueryResult
from weaklink.storage.console.sql_executor import Value, ask_tables, query_tables
from weaklink.storage.summaries import ListCursor, TraceSummary
from weaklink.ui.importing.block_records import placed_block
from weaklink.ui.importing.result_tables import TABLES, ResultsFolder, place_of_block, records_of_block
from weaklink.ui.views.dissect.dissection import Dissection
from weaklink.ui.views.styled_text import visible_line
from weaklink.ui.web.markup import put_sentence
from weaklink.ui.web.navigation import go_to_page, parameter, set_parameters
from weaklink.ui.web.pages.trace import put_head, put_stream, put_tabs, selected_location
from weaklink.ui.web.stores import ShownTrace, current_options, put_page_name
from weaklink.ui.web.trace_listing import title_of
from weaklink.ui.web.watching import put_part

_CACHED_TRACES = 8  # traces; each may be large
_OPENED: dict[int, tuple[str, str]] = {}
_LOCK = Lock()
_ID_BITS = 52  # integers in a browser are exact up to 53

_MAX_TITLE_CHARS = 80
_OF_THE_STORE = frozenset({"notes"})

Selection: TypeAlias = Mapping[str, Value]
_PAGE_SECONDS = 60.0
_FRESH_S = 3600
_COUNTS_CACHE_SIZE = 256
_MAX_SELECTION_CHARS = 4_000
_IN_TRACES = ("status", "break_code", "break_tool", "break_step", "model", "day", "source", "success")
# The tables in which a trace must have a matching row, and the columns to match, by the key in the selection.
_IN_ROWS = {
    "calls": {"tool": "tool", "valid": "valid"},
    "steps": {"step_tool": "tool", "outcome": "outcome"},
    "diagnostics": {"rule": "code"},
}


def opened_trace(file: str, record: str) -> ShownTrace:
    """The trace of a row of `traces`.

    Raises StoreError if there is no such row (an address may come from anybody: no other file is read), or if its file
    no longer contains the trace.
    """
    rows = query_rows(
        "SELECT block, source, status, turns FROM traces WHERE file = ? AND record = ?", file, record
    ).rows
    if not rows:
        raise StoreError("the results do not contain this trace")
    block, source, status, turns = rows[0]
    id_ = _id_of(file, record)
    with _LOCK:
        _OPENED[id_] = file, record
    shown = _read(file, record, str(block), str(source or ""), id_)
    if (shown.summary.status.value, shown.summary.turns) != (status, turns):
        raise StoreError(
            f"{visible_line(file)} has changed since it was imported: {visible_line(record)} is now a different trace"
        )
    return shown


def opened_again(id_: int | str) -> ShownTrace:
    """A trace that a page has opened, by its id. Raises StoreError if none has."""
    with _LOCK:
        known = _OPENED.get(int(id_))
    if known is None:
        raise StoreError("this trace is not open")
    return opened_trace(*known)


def _id_of(file: str, record: str) -> int:
    digest = hashlib.sha256(json.dumps([file, record]).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - _ID_BITS)


@st.cache_resource(show_spinner="Reading the trace from its file …", max_entries=_CACHED_TRACES, ttl=600)
def _read(file: str, record: str, block: str, source: str, id_: int) -> ShownTrace:
    try:
        record_block = place_of_block(file, decode(block))
    except (DecodeError, TypeError, ValueError) as error:
        raise StoreError(
            "the results do not record where the trace is; import it again with this version of weaklink"
        ) from error
    try:
        record_trace = next(
            (
                candidate
                for name in (None, source)
                for candidate in _records(record_block, name)
                if _name_of(candidate) == record
            ),
            None,
        )
    except (OSError, UnreadableFileError) as error:
        raise StoreError(f"the trace cannot be read from its file: {visible_line(str(error))}") from error
    if record_trace is None:
        raise StoreError(f"{visible_line(file)} no longer contains {visible_line(record)}; import it again")
    trace = Redactor().trace(record_trace)
    dissection = Dissection(trace, inspect_trace(trace))
    return ShownTrace(_summary(dissection, file, record, id_), dissection, f"{id_}.{dissection.inspection.version}")


def _records(block: Block, source: str | None) -> Iterator[Trace]:
    with placed_block(block) as file:
        yield from (record for record in records_of_block(file, source or None) if not isinstance(record, Skipped))


def _name_of(trace: Trace) -> str:
    return trace.provenance.record.encode("utf-8", "replace").decode()


def _summary(dissection: Dissection, file: str, record: str, id_: int) -> TraceSummary:
    """The summary of the trace; fields that only lists show are empty."""
    trace, inspection = dissection.trace, dissection.inspection
    severities = [diagnostic.rule.severity for diagnostic in inspection.diagnostics]
    generations = [turn.generation for turn in trace.turns if turn.generation is not None]
    model = next((generation.answered_model or generation.requested_model for generation in generations), "")
    return TraceSummary(
        id=id_,
        name=trace.name,
        source=trace.provenance.source,
        file=file,
        record=record,
        external_ids={},
        model=trace.model or model,
        format="",
        started_at_s=trace.started.at_s if trace.started is not None else None,
        imported_at_s=0.0,
        duration_s=None,
        turns=len(trace.turns),
        characters=sum(len(part.text) for turn in trace.turns for part in turn.parts),
        chunks=0,
        input_tokens=None,
        output_tokens=None,
        tool_calls=len(inspection.chain.steps),
        errors=severities.count(Severity.ERROR),
        warnings=severities.count(Severity.WARNING),
        status=inspection.chain.status,
        certainty=inspection.chain.certainty,
        abort_reason=inspection.chain.abort_reason,
        abort_message=abort_words(trace),
        broken=inspection.chain.broken,
        cursor=ListCursor(0.0, id_),
        outcome=trace.outcome,
    )


def show() -> None:
    """Draw the trace whose file and record are in the address."""
    if not parameter("file") or not parameter("record"):
        st.title("Trace", anchor=False)
        st.info("No trace selected. Choose one in the list of traces.")
        if st.button("Show traces"):
            go_to_page("traces")
        return
    shown = opened_trace(parameter("file"), parameter("record"))
    put_page_name(f"{shown.summary.record} {title_of(shown.summary)}")
    put_part(_body)


def _body() -> None:
    shown = opened_trace(parameter("file"), parameter("record"))
    selected = selected_location(shown)
    put_head(f"{shown.summary.record} · {title_of(shown.summary)[:_MAX_TITLE_CHARS]}", shown, selected, None)
    put_sentence(shown.summary.file)
    done = put_stream(shown, selected)
    put_tabs(shown, selected, without=_OF_THE_STORE)
    if done.needed is not None:
        needed = done.needed
        location = Location(needed["turn"], needed["part"], Range(needed["start"], needed["end"]))
        characters = {"start": location.range.start, "end": location.range.end}
        set_parameters(turn=location.turn, part=location.part, **characters)
        st.rerun(scope="fragment")


def results_folder() -> ResultsFolder:
    """The folder that the pages show."""
    return ResultsFolder(current_options().results)


def query_rows(statement: str, *parameters: Value, limit: int = 1_000) -> QueryResult:
    """The rows of one of our own statements, cached until another block is finished."""
    folder = results_folder()
    return _cached_rows(folder.where, str(len(folder.entries())), statement, json.dumps(parameters), limit)


@st.cache_resource(show_spinner="Reading the results …", max_entries=_COUNTS_CACHE_SIZE, ttl=_FRESH_S)
def _cached_rows(where: str, version: str, statement: str, parameters: str, limit: int) -> QueryResult:
    return run_statement(statement, json.loads(parameters), limit=limit, seconds=_PAGE_SECONDS)


def run_statement(
    statement: str, parameters: list[Value] | None = None, *, limit: int = 1_000, seconds: float = 10.0
) -> QueryResult:
    """The rows of a statement of ours over the tables. Raises StoreError, also if DuckDB is not installed."""
    with _results_tables() as tables:
        return query_tables(tables, statement, parameters=parameters or (), limit=limit, seconds=seconds)


def run_user_statement(statement: str) -> QueryResult:
    """The rows of a user's statement, with a limit of memory. Raises the same error."""
    with _results_tables() as tables:
        return ask_tables(tables, statement)


@contextmanager
def _results_tables() -> Iterator[dict[str, Any]]:
    folder = results_folder()
    try:
        yield {name: folder.dataset(name) for name in TABLES}
    except ImportError as error:
        raise StoreError("`weaklink web --on` needs `duckdb` and `pyarrow`: pip install 'weaklink[duckdb]'") from error


# ---------------------------------------------------------------- selections


def read_selection(text: str) -> dict[str, Value]:
    """Parse the selection in an address. Raises StoreError if it is invalid."""
    try:
        selection = json.loads(text[:_MAX_SELECTION_CHARS]) if text else {}
    except ValueError as error:
        raise StoreError("the selection in the address is not valid JSON") from error
    known = {*_IN_TRACES, *(key for columns in _IN_ROWS.values() for key in columns)}
    plain = isinstance(selection, dict) and all(
        value is None or isinstance(value, str | int) for value in selection.values()
    )
    if not plain or not selection.keys() <= known:
        raise StoreError("the selection in the address has an unknown key or an unsupported value")
    return dict(selection)


def selection_text(selection: Selection) -> str:
    """The selection as text for an address."""
    return json.dumps(dict(selection), ensure_ascii=False) if selection else ""


def conditions(selection: Selection) -> tuple[str, list[Value]]:
    """The condition for rows of `traces`, as SQL to put after WHERE, and its parameters."""
    clauses: list[str] = []
    parameters: list[Value] = []
    for condition, value in _column_conditions(selection, {name: name for name in _IN_TRACES}):
        clauses.append(condition)
        parameters.append(value)
    for table, columns in _IN_ROWS.items():
        inner = list(_column_conditions(selection, columns))
        if inner:
            where = " AND ".join(condition for condition, _ in inner)
            clauses.append(f"(file, record) IN (SELECT (file, record) FROM {table} WHERE {where})")
            parameters += (value for _, value in inner)
    return " AND ".join(clauses) or "true", parameters


def _column_conditions(selection: Selection, columns: Mapping[str, str]) -> Iterator[tuple[str, Value]]:
    for key, column in columns.items():
        if key in selection:
            yield f"{column} IS NOT DISTINCT FROM ?", selection[key]
