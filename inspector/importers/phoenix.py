"""Phoenix's traces: the spans that its REST API lists, its OTLP of them, its exports, and its SQLite database.

Phoenix keeps OpenInference's attributes: flat under names with dots in the API, nested in the database, and under
`attributes.` in what its dataframes write.
"""

import re
import sqlite3
from collections.abc import Iterator

from inspector.importers.llm_tables import opened
from inspector.importers.otlp import TOO_DEEP, put_aside, session_traces, traces_in
from inspector.importers.otlp_json import span_of
from inspector.importers.otlp_shelf import SpanShelf
from inspector.importers.otlp_span import OtlpSpan, objects
from inspector.importers.phoenix_database import TABLES, sessions_in
from inspector.importers.phoenix_spans import is_otlp_span, is_span, read_phoenix_span
from inspector.importers.rows import read_rows
from inspector.importers.source import JsonObject, Sample, Skipped, SourceFile
from inspector.model import Trace

_MAGIC = b"SQLite format 3\0"
_DAMAGE = (sqlite3.Error, UnicodeDecodeError)  # SQLite quotes broken names in its messages as they are
_COLUMNS = (b"project_session_rowid", b"cumulative_llm_token_count_prompt")
_LISTED = re.compile(r'\{\s*"data"\s*:\s*\[\s*\{')
_SPAN_WORDS = re.compile(r'"span_kind"\s*:|"string_value"\s*:')
_NO_SPAN = "the row is no span: it has no `context` with a `span_id` beside a `span_kind`"


class PhoenixImporter:
    """One trace a session, or a trace of spans where there is no session."""

    name = "phoenix"
    signs = "spans with a `context` and a `span_kind`, or Phoenix's own database"

    def recognises(self, sample: Sample) -> float:
        """By the members that a span has here, or the names of the database's tables."""
        if sample.head.startswith(_MAGIC):
            return _is_database(sample)
        if any(any(True for _ in _spans(row)) for row in sample.rows):
            return 0.9
        listed = _LISTED.match(sample.text.lstrip("\ufeff \t\r\n"))
        return 0.8 if listed and not sample.rows and _SPAN_WORDS.search(sample.text) else 0.0

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The sessions in the order of their first spans; in a database, of their ids."""
        if file.head.startswith(_MAGIC):
            yield from _of_database(file)
            return
        with SpanShelf() as shelf:
            yield from put_aside(_of_rows(file), shelf)
            yield from traces_in(shelf)


def _is_database(sample: Sample) -> float:
    try:
        with opened(sample.file) as tables:
            return 0.9 if tables.names >= TABLES else 0.0
    except _DAMAGE:  # its beginning may still tell
        return 0.5 if any(column in sample.head for column in _COLUMNS) else 0.0


def _of_database(file: SourceFile) -> Iterator[Trace | Skipped]:
    without = 0
    try:
        with opened(file) as tables:
            for id_, spans in sessions_in(tables):
                traces = session_traces(id_, spans)
                first = next(traces, None)
                without += first is None
                yield from () if first is None else (first,)
                yield from traces
    except _DAMAGE as error:
        yield Skipped("database", f"the database cannot be read further: {error}")
    if without:
        said = f"{without} of the traces in this file tell of no request to a model"
        yield Skipped("other spans", said, is_irrelevant=True)


def _of_rows(file: SourceFile) -> Iterator[OtlpSpan | Skipped]:
    for row in read_rows(file):
        if isinstance(row, Skipped):
            yield row
            continue
        found = False
        try:
            for span in _spans(row.value):
                found = True
                yield span
        except RecursionError:
            yield Skipped(row.record, TOO_DEEP)
            continue
        if not found:
            yield Skipped(row.record, _NO_SPAN)


def _spans(row: JsonObject) -> Iterator[OtlpSpan]:
    """The spans of a row: it is one, or lists them under `data`, or is a list of them that stands in one line."""
    if is_span(row):
        yield read_phoenix_span(row)
        return
    for one in objects(row.get("data", row.get("messages"))):
        if is_span(one):
            yield read_phoenix_span(one)
        elif is_otlp_span(one):
            yield span_of(one)
