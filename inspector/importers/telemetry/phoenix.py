"""Phoenix's traces: the spans that its REST API lists, its OTLP exports, and its SQLite database.

Phoenix keeps OpenInference's attributes: flat under dotted names in the API, nested in the database, and under
`attributes.` in exported dataframes. Source: Arize-ai/phoenix, src/phoenix/db/models.py.
"""

from collections.abc import Iterator

from weaklink.inspector.importers.identity import seconds_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import read_rows
from weaklink.inspector.importers.source import FileSample, JsonObject, Skipped, SourceFile
from weaklink.inspector.importers.sqlite_tables import DAMAGE, MAGIC, LogTables, open_tables, tables_score, unread_rest
from weaklink.inspector.importers.telemetry.otlp import TOO_DEEP, spooled_sessions, traces_in
from weaklink.inspector.importers.telemetry.otlp_json import span_of
from weaklink.inspector.importers.telemetry.otlp_span import ERROR, OtlpEvent, OtlpSpan, flattened, objects
from weaklink.inspector.json_text import word_of
from weaklink.inspector.model import ExternalId, Json, Trace
from weaklink.inspector.scanning import lazy_pattern

_COLUMNS = (b"project_session_rowid", b"cumulative_llm_token_count_prompt")
_LISTED = lazy_pattern(r'\{\s*"data"\s*:\s*\[\s*\{')
_SPAN_WORDS = lazy_pattern(r'"span_kind"\s*:|"string_value"\s*:')
_NO_SPAN = "the row is not a span: a span has a `context` with a `span_id`, and a `span_kind`"
TABLES = frozenset({"projects", "traces", "spans"})
"""The tables that every version of the database has."""

_SESSIONS = "project_sessions"
_ATTRIBUTES = "attributes."


def _score(sample: FileSample) -> float:
    """By the names of a database's tables, or by the beginning of a list of spans."""
    if sample.head.startswith(MAGIC):
        return tables_score(sample, (TABLES,), _COLUMNS)
    listed = _LISTED.match(sample.text.lstrip("\ufeff \t\r\n"))
    return 0.8 if listed and not sample.rows and _SPAN_WORDS.search(sample.text) else 0.0


def _of_database(file: SourceFile) -> Iterator[Trace | Skipped]:
    try:
        with open_tables(file) as tables:
            yield from traces_in(sessions_in(tables), tables.take_damage)
    except DAMAGE as error:
        yield unread_rest(error)


def _traces(file: SourceFile) -> Iterator[Trace | Skipped]:
    return spooled_sessions(_of_rows(file))


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
    """The spans of a row: the row itself, the list in its member `data`, or a list of spans in one line."""
    if is_span(row):
        yield read_phoenix_span(row)
        return
    for message in objects(row.get("data", row.get("messages"))):
        if is_span(message):
            yield read_phoenix_span(message)
        elif is_otlp_span(message):
            yield span_of(message)


def sessions_in(tables: LogTables) -> Iterator[tuple[ExternalId, Iterator[OtlpSpan]]]:
    """The id of each session and its spans; sessions first, in the order of their ids, then the traces without one.

    One session's spans are in memory, and a few numbers for every span. Errors as for `LogTables`.
    """
    tables.reject_generated_columns((*TABLES, _SESSIONS))
    rows: dict[Json, list[Json]] = {}
    for row in tables.numbers("SELECT id, trace_rowid FROM spans ORDER BY id"):
        rows.setdefault(row.get("trace_rowid"), []).append(row.get("id"))
    sessions: dict[ExternalId, list[JsonObject]] = {}
    for trace in tables.rows(_traces_query(tables)):
        session = trace.get("session_id")
        named = ExternalId("session.id", session) if isinstance(session, str) else None
        sessions.setdefault(named or ExternalId("trace_id", str(trace.get("trace_id"))), []).append(trace)
    for id_, traces in sessions.items():
        tables.begin_trace()  # the lists above stay in memory
        yield id_, _session_spans(tables, traces, rows)


def _traces_query(tables: LogTables) -> str:
    if _SESSIONS not in tables.names:
        return "SELECT id, trace_id FROM traces ORDER BY id"
    return (
        f"SELECT traces.id, traces.trace_id, {_SESSIONS}.session_id AS session_id FROM traces"
        f" LEFT JOIN {_SESSIONS} ON {_SESSIONS}.id = traces.project_session_rowid"
        f" ORDER BY {_SESSIONS}.id IS NULL, {_SESSIONS}.id, traces.start_time, traces.id"
    )


def _session_spans(tables: LogTables, traces: list[JsonObject], rows: dict[Json, list[Json]]) -> Iterator[OtlpSpan]:
    for trace in traces:
        for id_ in rows.get(trace.get("id"), ()):
            for row in tables.rows("SELECT * FROM spans WHERE id = ?", id_):
                merged = {**row, "context": {"trace_id": trace.get("trace_id"), "span_id": row.get("span_id")}}
                record = f"span {row.get('span_id')}"
                attributes = tables.json_object(row, "attributes", record)
                events: list[Json] = [*(tables.json_objects(row, "events", record, is_optional=True) or ())]
                if attributes is not None:  # without them it would be an empty answer
                    yield read_phoenix_span({**merged, "attributes": attributes, "events": events})


def is_span(row: JsonObject) -> bool:
    """Whether a row is a span: `context` with ids, as an object or under names with dots, and a `span_kind`."""
    context = row.get("context")
    has_ids = isinstance(context, dict) and isinstance(context.get("span_id"), str)
    return "span_kind" in row and (has_ids or isinstance(row.get("context.span_id"), str))


def is_otlp_span(row: JsonObject) -> bool:
    """Whether a row is a span of OTLP in snake_case, as `/spans/otlpv1` lists them."""
    return isinstance(row.get("span_id"), str) and "start_time_unix_nano" in row


def read_phoenix_span(row: JsonObject) -> OtlpSpan:
    """A row of the API or of a dataframe as a span."""
    context = row.get("context")
    ids = context if isinstance(context, dict) else {key: row.get(f"context.{key}") for key in ("trace_id", "span_id")}
    nested = row.get("attributes")
    attributes = {key.removeprefix(_ATTRIBUTES): value for key, value in row.items() if key.startswith(_ATTRIBUTES)}
    if isinstance(nested, dict):
        attributes |= dict(flattened(nested))
    kind = row.get("span_kind")
    if isinstance(kind, str):
        attributes.setdefault("openinference.span.kind", kind)
    return OtlpSpan(
        word_of(ids.get("trace_id")),
        word_of(ids.get("span_id")),
        word_of(row.get("parent_id")),
        word_of(row.get("name")),
        seconds_of(row.get("start_time")),
        seconds_of(row.get("end_time")),
        {key: value for key, value in attributes.items() if value is not None},
        events_of(row.get("events")),
        ERROR if row.get("status_code") == "ERROR" else 0,
        word_of(row.get("status_message")),
    )


def events_of(listed: Json) -> tuple[OtlpEvent, ...]:
    """The events of a span, with `timestamp` as their time."""
    return tuple(
        OtlpEvent(
            word_of(one.get("name")),
            seconds_of(one.get("timestamp")),
            held if isinstance(held := one.get("attributes"), dict) else {},
        )
        for one in objects(listed)
    )


PHOENIX = LogSource(
    name="phoenix",
    signs="spans with a `context` and a `span_kind`, or Phoenix's own database",
    is_row=lambda row: any(True for _ in _spans(row)),
    confidence=0.9,
    score=_score,
    reader=_traces,
    table_reader=_of_database,
)
"""One trace per session, or per trace of spans without one, in the order of first spans; in a database, of ids."""
