"""Opens one trace of results: the results say in which block of which file it is, and only that block is read again."""

import hashlib
import json
from collections.abc import Iterator
from threading import Lock

import streamlit as st
from msgspec import DecodeError
from msgspec.json import decode

from inspector.errors import StoreError, UnreadableFileError
from inspector.importers.blocks import Block
from inspector.importers.source import Skipped
from inspector.inspection import inspect_trace
from inspector.model import Trace
from inspector.redaction.redactor import Redactor
from inspector.rules.rule import Severity
from storage import TraceSummary
from storage.summaries import ListCursor
from ui.importing.block_records import placed_block
from ui.importing.result_tables import place_of_block, records_of_block
from ui.views.dissect.dissection import Dissection
from ui.views.styled_text import visible_line
from ui.web.results.queries import ask
from ui.web.stores import ShownTrace

_KEPT = 8  # traces; each may be large
_OPENED: dict[int, tuple[str, str]] = {}
_LOCK = Lock()
_ID_BITS = 52  # a browser's numbers hold 53


def opened_trace(file: str, record: str) -> ShownTrace:
    """The trace of a row of `traces`.

    StoreError where there is no such row (an address may come from anybody: no other file is read), or where its file
    no longer has it.
    """
    rows = ask("SELECT block, source, status, turns FROM traces WHERE file = ? AND record = ?", file, record).rows
    if not rows:
        raise StoreError("the results have no such trace")
    block, source, status, turns = rows[0]
    id_ = _id_of(file, record)
    with _LOCK:
        _OPENED[id_] = file, record
    shown = _read(file, record, str(block), str(source or ""), id_)
    if (shown.summary.status.value, shown.summary.turns) != (status, turns):
        raise StoreError(
            f"{visible_line(file)} has changed since it was imported: {visible_line(record)} is another one"
        )
    return shown


def opened_again(id_: int | str) -> ShownTrace:
    """The trace that a page has opened, by its number."""
    with _LOCK:
        known = _OPENED.get(int(id_))
    if known is None:
        raise StoreError("this trace is not open")
    return opened_trace(*known)


def _id_of(file: str, record: str) -> int:
    digest = hashlib.sha256(json.dumps([file, record]).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - _ID_BITS)


@st.cache_resource(show_spinner="Reading the trace from its file …", max_entries=_KEPT, ttl=600)
def _read(file: str, record: str, block: str, source: str, id_: int) -> ShownTrace:
    try:
        place = place_of_block(file, decode(block))
    except (DecodeError, TypeError, ValueError) as error:
        raise StoreError("the results do not say where the trace is; import again with this version") from error
    try:
        found = next((one for name in (None, source) for one in _records(place, name) if _name_of(one) == record), None)
    except (OSError, UnreadableFileError) as error:
        raise StoreError(f"the trace cannot be read from its file: {visible_line(str(error))}") from error
    if found is None:
        raise StoreError(f"{visible_line(file)} no longer has {visible_line(record)}; import it again")
    trace = Redactor().trace(found)
    dissection = Dissection(trace, inspect_trace(trace))
    return ShownTrace(_summary(dissection, file, record, id_), dissection, f"{id_}.{dissection.inspection.version}")


def _records(block: Block, source: str | None) -> Iterator[Trace]:
    with placed_block(block) as file:
        yield from (one for one in records_of_block(file, source or None) if not isinstance(one, Skipped))


def _name_of(trace: Trace) -> str:
    return trace.provenance.record.encode("utf-8", "replace").decode()


def _summary(dissection: Dissection, file: str, record: str, id_: int) -> TraceSummary:
    """What lists say of the trace, as far as one that no list has needs it."""
    trace, inspection = dissection.trace, dissection.inspection
    severities = [one.rule.severity for one in inspection.diagnostics]
    generations = [turn.generation for turn in trace.turns if turn.generation is not None]
    model = next((one.answered_model or one.requested_model for one in generations), "")
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
        abort_reason=inspection.chain.abort_reason,
        broken=inspection.chain.broken,
        cursor=ListCursor(0.0, id_),
        outcome=trace.outcome,
    )
