"""The spans in Phoenix's SQLite database, session by session.

Attributes are nested JSON there; times are UTC. Source: Arize-ai/phoenix, src/phoenix/db/models.py.
"""

from collections.abc import Iterator

from inspector.importers.llm_tables import LlmTables
from inspector.importers.otlp_span import OtlpSpan, lenient_json
from inspector.importers.phoenix_spans import read_phoenix_span
from inspector.importers.source import JsonObject
from inspector.model import ExternalId, Json

TABLES = frozenset({"projects", "traces", "spans"})
"""What such a database has, in every version."""

_SESSIONS = "project_sessions"


def sessions_in(tables: LlmTables) -> Iterator[tuple[ExternalId, Iterator[OtlpSpan]]]:
    """The id of each session and its spans; sessions first, in the order of their ids, then the traces without one.

    One session's spans are in memory, and some numbers for every span. Errors as `LlmTables` has them.
    """
    tables.refuse_generated((*TABLES, _SESSIONS))
    rows: dict[Json, list[Json]] = {}
    for row in tables.numbers("SELECT id, trace_rowid FROM spans ORDER BY id"):
        rows.setdefault(row.get("trace_rowid"), []).append(row.get("id"))
    sessions: dict[ExternalId, list[JsonObject]] = {}
    for trace in tables.rows(_traces_query(tables)):
        session = trace.get("session_id")
        named = ExternalId("session.id", session) if isinstance(session, str) else None
        sessions.setdefault(named or ExternalId("trace_id", str(trace.get("trace_id"))), []).append(trace)
    for id_, traces in sessions.items():
        tables.begin_trace()  # of which the lists above are kept
        yield id_, _spans(tables, traces, rows)


def _traces_query(tables: LlmTables) -> str:
    if _SESSIONS not in tables.names:
        return "SELECT id, trace_id FROM traces ORDER BY id"
    return (
        f"SELECT traces.id, traces.trace_id, {_SESSIONS}.session_id AS session_id FROM traces"
        f" LEFT JOIN {_SESSIONS} ON {_SESSIONS}.id = traces.project_session_rowid"
        f" ORDER BY {_SESSIONS}.id IS NULL, {_SESSIONS}.id, traces.start_time, traces.id"
    )


def _spans(tables: LlmTables, traces: list[JsonObject], rows: dict[Json, list[Json]]) -> Iterator[OtlpSpan]:
    for trace in traces:
        for id_ in rows.get(trace.get("id"), ()):
            for row in tables.rows("SELECT * FROM spans WHERE id = ?", id_):
                held = {**row, "context": {"trace_id": trace.get("trace_id"), "span_id": row.get("span_id")}}
                held |= {key: lenient_json(row.get(key)) for key in ("attributes", "events")}
                yield read_phoenix_span(held)
