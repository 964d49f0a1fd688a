"""LangSmith: exports of runs, and the bodies of its ingestion, multipart or as JSON.

A run a row or an entry, runs with their children in them (`child_runs`), pages of them (`{"runs": [...]}`), or what an
SDK sends: `{"post": [...], "patch": [...]}` and multipart bodies. A run is complete only with all that was told of it.
"""

from collections.abc import Iterable, Iterator

from inspector.importers.framework_messages import KnownMessages
from inspector.importers.identity import text_of
from inspector.importers.langsmith_multipart import is_multipart, read_parts
from inspector.importers.langsmith_runs import read_run, session_of, trace_of
from inspector.importers.rows import read_rows
from inspector.importers.source import JsonObject, Sample, Skipped, SourceFile
from inspector.importers.span_rows import RowShelf
from inspector.importers.span_sessions import session_traces
from inspector.importers.spans import TracedSpan
from inspector.model import Json, Trace

_NEITHER = "this is no run of LangSmith, and no page of them"
_TRACE = ("trace_id", "dotted_order")
_LISTS = ("runs", "post", "patch", "messages")


class LangSmithImporter:
    """The traces of each session: one for each conversation that its runs of models make up."""

    name = "langsmith"
    signs = "runs with a `run_type`, or the parts of an ingestion's body"

    def recognises(self, sample: Sample) -> float:
        """By the head of a multipart body, or by rows with a run's type and the id of its trace."""
        if is_multipart(sample.head):
            return 1.0
        return 0.9 if any(_runs(row) for row in sample.rows) else 0.0

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The traces of all sessions, in the order in which these began; their runs wait until the file's end."""
        with RowShelf(trace_of, session_of) as shelf:
            for told in _told(file):
                if isinstance(told, Skipped):
                    yield told
                    continue
                record, run = told
                try:
                    shelf.put(text_of(run, "id"), run)
                except ValueError as error:
                    yield Skipped(record, str(error))
            for own, runs in shelf.sessions():
                yield from session_traces(_spans(runs), own)


def _spans(runs: Iterable[JsonObject]) -> Iterator[TracedSpan]:
    known = KnownMessages()
    return (read_run(run, known) for run in runs)


def _told(file: SourceFile) -> Iterator[tuple[str, JsonObject] | Skipped]:
    """What each record tells of a run."""
    if is_multipart(file.head):
        for part in read_parts(file):
            yield part if isinstance(part, Skipped) else (part.record, part.members)
        return
    for row in read_rows(file):
        if isinstance(row, Skipped):
            yield row
        elif runs := _runs(row.value):
            for run in runs:
                yield row.record, run
        else:
            yield Skipped(row.record, _NEITHER)


def _runs(row: JsonObject) -> list[JsonObject]:
    """The runs of a row with those within them, parents first; none where it has none."""
    listed = [row] if _is_run(row) else []
    if not listed:
        for key in _LISTS:
            within = row.get(key)
            entries: list[Json] = within if isinstance(within, list) else []
            listed += [one for one in entries if isinstance(one, dict) and _may_be_run(one, key)]
    found: list[JsonObject] = []
    waiting = listed[::-1]
    while waiting:
        run = waiting.pop()
        children = run.get("child_runs")
        found.append({key: value for key, value in run.items() if key != "child_runs"})
        entries = children if isinstance(children, list) else []
        waiting += [one for one in reversed(entries) if isinstance(one, dict) and _is_run(one)]
    return found


def _may_be_run(value: JsonObject, key: str) -> bool:
    """Whether it is a run, or what is told later of one."""
    return _is_run(value) or (key == "patch" and bool(text_of(value, "id") and text_of(value, *_TRACE)))


def _is_run(value: JsonObject) -> bool:
    return bool(text_of(value, "run_type") and text_of(value, "id") and text_of(value, *_TRACE))
