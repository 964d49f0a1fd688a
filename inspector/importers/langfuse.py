"""Langfuse: traces with their observations, as the UI and the API give them, and tables of observations.

A trace is an object with a list `observations`, or `{"trace": {...}, "observations": [...]}`. A table has an
observation a row, or pages of them (`{"data": [...]}`). Whatever a framework wrote as input and output is read by
`inspector.importers.framework_requests` and its neighbours.
"""

from collections.abc import Iterable, Iterator

from inspector.importers.framework_messages import KnownMessages
from inspector.importers.identity import text_of
from inspector.importers.langfuse_observations import KINDS, member, read_observation, word
from inspector.importers.rows import Row, read_rows
from inspector.importers.source import JsonObject, Sample, Skipped, SourceFile
from inspector.importers.span_rows import SESSION, TRACE, RowShelf
from inspector.importers.span_sessions import session_traces
from inspector.importers.spans import TracedSpan
from inspector.model import ExternalId, Trace

_NEITHER = "this is neither a trace nor an observation of Langfuse"


class LangfuseImporter:
    """The traces of each session: one for each conversation that its generations make up."""

    name = "langfuse"
    signs = "observations with a `traceId`, or a trace that holds them"

    def recognises(self, sample: Sample) -> float:
        """By a trace with observations, or by rows that have a trace's id, a type of Langfuse's and a start."""
        return 0.9 if any(_observations(row) is not None or _listed(row) for row in sample.rows) else 0.0

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The traces of each document as it is read, then those of the rows of a table, which wait until then."""
        with RowShelf(_trace_of, _session_of) as shelf:
            for row in read_rows(file):
                if isinstance(row, Skipped):
                    yield row
                elif (observations := _observations(row.value)) is not None:
                    yield from _traces(row, observations)
                else:
                    yield from _shelved(row, shelf)
            for own, rows in shelf.sessions():
                yield from session_traces(_spans(rows), own)


def _shelved(row: Row, shelf: RowShelf) -> Iterator[Skipped]:
    """The observations of a row put aside; a Skipped where it has none."""
    rows = _listed(row.value)
    if not rows:
        yield Skipped(row.record, _NEITHER)
    for one in rows:
        try:
            shelf.put(f"{_trace_of(one)} {word(one, 'id')}", one)
        except ValueError as error:
            yield Skipped(row.record, str(error))


def _traces(row: Row, observations: list[JsonObject]) -> Iterator[Trace | Skipped]:
    inner = row.value.get("trace")
    told = inner if isinstance(inner, dict) else row.value
    first = observations[0]
    session = _session_of(told) or _session_of(first)
    own = ExternalId(SESSION, session) if session else ExternalId(TRACE, _trace_of(first) or text_of(told, "id"))
    return session_traces(_spans(observations), own, row.record)


def _spans(rows: Iterable[JsonObject]) -> Iterator[TracedSpan]:
    known = KnownMessages()
    return (read_observation(row, known) for row in rows)


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


def _trace_of(row: JsonObject) -> str:
    return word(row, "traceId")


def _session_of(row: JsonObject) -> str:
    """The session that a trace or an observation names: it has a trace for each of the user's messages."""
    return word(row, "sessionId") or word(row, "traceSessionId")
