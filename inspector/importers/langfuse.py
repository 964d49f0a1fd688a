"""Langfuse: traces with their observations, as the UI and the API give them, and tables of observations.

A trace is an object with a list `observations`, or `{"trace": {...}, "observations": [...]}`. A table has an
observation a row, or pages of them (`{"data": [...]}`). Whatever a framework wrote as input and output is read by
`inspector.importers.framework_requests` and its neighbours.
"""

from collections.abc import Iterator

from inspector.importers.identity import text_of
from inspector.importers.langfuse_observations import KINDS, member, read_observation, word
from inspector.importers.rows import Row, read_rows
from inspector.importers.source import JsonObject, Sample, Skipped, SourceFile
from inspector.importers.span_sessions import SpanSessions, session_traces
from inspector.model import ExternalId, Trace

_NEITHER = "this is neither a trace nor an observation of Langfuse"


class LangfuseImporter:
    """The traces of each session: one for each conversation that its generations make up."""

    name = "langfuse"

    def recognises(self, sample: Sample) -> float:
        """By a trace with observations, or by rows that have a trace's id, a type of Langfuse's and a start."""
        return 0.9 if any(_observations(row) is not None or _listed(row) for row in sample.rows) else 0.0

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The traces of each document as it is read, then those of the rows of a table, which are held until then."""
        table = SpanSessions()
        for row in read_rows(file):
            if isinstance(row, Skipped):
                yield row
            elif (observations := _observations(row.value)) is not None:
                yield from _traces(row, observations)
            elif rows := _listed(row.value):
                for one in rows:
                    full = table.take(row, _ids(one, one), read_observation(one), size=len(row.raw) // len(rows))
                    if full is not None:
                        yield full
                        yield from table.traces()
                        return
            else:
                yield Skipped(row.record, _NEITHER)
        yield from table.traces()


def _traces(row: Row, observations: list[JsonObject]) -> Iterator[Trace | Skipped]:
    inner = row.value.get("trace")
    told = inner if isinstance(inner, dict) else row.value
    ids = _ids(told, observations[0] if observations else {})
    return session_traces(map(read_observation, observations), ids, row.record)


def _observations(row: JsonObject) -> list[JsonObject] | None:
    """The observations of a row that is a trace; None where it is none."""
    inner = row.get("trace")
    for holder in (row, inner if isinstance(inner, dict) else {}):
        listed = holder.get("observations")
        if isinstance(listed, list) and (isinstance(inner, dict) or holder.keys() & {"timestamp", "projectId"}):
            found = [one for one in listed if isinstance(one, dict)]
            if found and any(map(_is_observation, found)):
                return found
    return None


def _listed(row: JsonObject) -> list[JsonObject]:
    """The observations of a row of a table, or of a page; none where it is neither."""
    if _is_observation(row):
        return [row]
    listed = row.get("data", row.get("messages"))
    if not isinstance(listed, list):
        return []
    return [one for one in listed if isinstance(one, dict) and _is_observation(one)]


def _is_observation(row: object) -> bool:
    if not isinstance(row, dict):
        return False
    kind = row.get("type")
    return (
        isinstance(kind, str)
        and kind in KINDS
        and bool(word(row, "traceId") and word(row, "id"))
        and bool(member(row, "startTime"))
    )


def _ids(trace: JsonObject, observation: JsonObject) -> tuple[ExternalId, ...]:
    """The session's id where there is one, else the trace's: a session has a trace for each of the user's messages."""
    session = word(trace, "sessionId") or word(observation, "sessionId") or word(observation, "traceSessionId")
    if session:
        return (ExternalId("session_id", session),)
    return (ExternalId("trace_id", word(observation, "traceId") or text_of(trace, "id")),)
