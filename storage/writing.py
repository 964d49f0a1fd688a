"""Writes traces and inspections: adds new ones, and replaces shorter versions with longer ones.

Theory of operation. A trace has an identity (its source and session id, or the hash of its record) and a fingerprint of
all that the record says. A query finds the stored versions of a batch, and a verdict on each draft follows:

    nothing stored                                    added
    the same fingerprint                              unchanged; an inspection that differs is written alone
    another one, as long as the stored or longer      replaced
    another one, and shorter                          unchanged: an older copy of the session

The extent that is compared is (turns, characters, chunks). After a rewind a session is shorter and newer; whoever knows
that says `is_newer`. A batch may have a trace twice, so each draft is compared with the one before it, and only the
last is written.

A trace that is replaced keeps its row, its id and its marks. If the draft knows that its first turns are those that
were written for the stored fingerprint (`WrittenTurns`), their rows stay too: a session of 12 MB that grows by a line
writes a turn. Rows go out table by table, one statement for each, parents first (`trace`, then what refers to it), all
in the caller's transaction.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import sqlalchemy as sa
from msgspec import Struct, structs

from weaklink.inspector.inspected import Inspection
from weaklink.inspector.model import Trace
from weaklink.inspector.version import __version__
from weaklink.storage import tables
from weaklink.storage.derived_rows import DerivedRows, derived_rows, inspect_trace
from weaklink.storage.exchanges import replace_exchanges
from weaklink.storage.packing.blobs import escaped, unescaped
from weaklink.storage.record_rows import RecordRows, TraceExtent, record_rows
from weaklink.storage.saved import Saved, Verdict
from weaklink.storage.search import remove_from_index
from weaklink.storage.tables import Row, in_groups
from weaklink.storage.toolsets import intern_toolsets

_PLAIN_NAME = 300  # code points


class WrittenTurns(Struct, frozen=True):
    """How many of a record's first turns have the rows that were written for the record with this fingerprint."""

    fingerprint: bytes
    turns: int


class TraceRows(Struct, frozen=True):
    """A trace and its inspection as rows, ready to be written.

    `is_newer` means that it is known to be a later version than the stored one, even if it contains less of its session
    (after a rewind, or where a session goes on from an earlier branch). `written` are the turns that need not be
    written again where that version is still the stored one.
    """

    record: RecordRows
    derived: DerivedRows
    is_newer: bool = False
    written: WrittenTurns | None = None

    @property
    def size(self) -> int:
        """About how many bytes the rows take."""
        return sum(len(part["text"]) for part in self.record.parts)


def trace_rows(trace: Trace, inspection: Inspection) -> TraceRows:
    """A trace and its inspection as rows."""
    return TraceRows(record_rows(trace), derived_rows(inspection, trace))


def sort_at_s(record: RecordRows, imported_at_s: float) -> float:
    """The time by which lists sort a trace: its start, or its import if the source gives no time."""
    started: float | None = record.trace["started_at_s"]
    return imported_at_s if started is None else started


def imported_at_s(connection: sa.Connection, id_: int) -> float:
    """When a stored trace was imported."""
    return float(
        connection.execute(sa.select(tables.trace.c.imported_at_s).where(tables.trace.c.id == id_)).scalar_one()
    )


class UninspectedRows(Struct, frozen=True):
    """A trace that was not inspected again: the database already had this version of it with its inspection.

    `trace` is needed if the database has changed by the time the trace is written.
    """

    record: RecordRows
    trace: Trace

    @property
    def size(self) -> int:
        """About how many bytes the rows take."""
        return sum(len(part["text"]) for part in self.record.parts)

    def inspected(self) -> TraceRows:
        """Inspect the trace; its rows with the inspection."""
        return TraceRows(self.record, derived_rows(inspect_trace(self.trace), self.trace))


TraceDraft: TypeAlias = TraceRows | UninspectedRows
"""A trace on its way into the database."""


class StoredInspection(Struct, frozen=True):
    """The stored part of a trace's inspection: each call's turn and name, and the number of diagnostics by rule code.

    A name is `""` if it is unreadable.
    """

    calls: tuple[tuple[int, str], ...]
    codes: Mapping[str, int]


class _Known(NamedTuple):
    """The stored version of a trace."""

    id: int
    fingerprint: bytes
    extent: TraceExtent
    digest: bytes | None
    imported_at_s: float


def stored_inspection(connection: sa.Connection, record: RecordRows) -> StoredInspection | None:
    """The stored inspection of exactly this record; None if it is not stored, or has to be inspected again."""
    trace, call, code = tables.trace.c, tables.call.c, tables.trace_code.c
    same = (trace.identity == record.identity) & (trace.fingerprint == record.fingerprint)
    id_ = connection.scalar(sa.select(trace.id).where(same, trace.inspector_version == escaped(__version__)))
    if id_ is None:
        return None
    calls = connection.execute(sa.select(call.turn, call.name).where(call.trace_id == id_).order_by(call.number)).all()
    if any(len(name or "") > _PLAIN_NAME for _, name in calls):  # longer names are stored truncated
        return None
    codes = connection.execute(sa.select(code.code, code.diagnostics).where(code.trace_id == id_).order_by(code.code))
    return StoredInspection(tuple((turn, unescaped(name or "")) for turn, name in calls), dict(codes.all()))


def write(connection: sa.Connection, drafts: Sequence[TraceDraft], now_s: float) -> list[Saved]:
    """Write the drafts; the result of each, in order. `now_s` is the time of import."""
    known = _known(connection, [draft.record.identity for draft in drafts])
    last: dict[bytes, TraceRows] = {}  # a batch may contain a trace twice: only its longest version is written
    verdicts: list[Verdict] = []
    for draft in drafts:
        identity = draft.record.identity
        before = last.get(identity)
        verdict = _verdict(draft, known.get(identity), before)
        if isinstance(draft, UninspectedRows):
            if verdict is Verdict.UNCHANGED:
                verdicts.append(verdict)
                continue
            draft = draft.inspected()  # noqa: PLW2901  # another process has changed the database since it was read
        if verdict is not Verdict.UNCHANGED or (before is None and _has_new_result(draft, known[identity])):
            last[identity] = draft
        elif before is not None and before.record.fingerprint == draft.record.fingerprint:
            last[identity] = structs.replace(before, derived=draft.derived)
        verdicts.append(verdict)
    ids = {identity: stored.id for identity, stored in known.items()} | _write(connection, last, known, now_s)
    return [Saved(ids[draft.record.identity], verdict) for draft, verdict in zip(drafts, verdicts, strict=True)]


def _known(connection: sa.Connection, identities: Sequence[bytes]) -> dict[bytes, _Known]:
    trace, inspection = tables.trace.c, tables.inspection.c
    known: dict[bytes, _Known] = {}
    for group in in_groups(identities):
        query = (
            sa.select(
                trace.identity,
                trace.id,
                trace.fingerprint,
                trace.turns,
                trace.characters,
                trace.chunks,
                inspection.digest,
                trace.imported_at_s,
            )
            .select_from(tables.trace.outerjoin(tables.inspection))
            .where(trace.identity.in_(group))
        )
        for identity, id_, fingerprint, turns, characters, chunks, digest, at_s in connection.execute(query):
            extent = TraceExtent(turns, characters, chunks)
            known[bytes(identity)] = _Known(id_, bytes(fingerprint), extent, digest, at_s)
    return known


def _verdict(draft: TraceDraft, known: _Known | None, before: TraceRows | None) -> Verdict:
    stored = before.record if before is not None else known
    if stored is None:
        return Verdict.ADDED
    is_newer = isinstance(draft, TraceRows) and draft.is_newer and before is None
    differs = draft.record.fingerprint != stored.fingerprint
    return Verdict.REPLACED if differs and (is_newer or draft.record.extent >= stored.extent) else Verdict.UNCHANGED


def _has_new_result(draft: TraceRows, known: _Known) -> bool:
    """Whether a new inspection of the same record gave another result, which then replaces the stored one."""
    return draft.record.fingerprint == known.fingerprint and draft.derived.digest != known.digest


def _write(
    connection: sa.Connection, drafts: dict[bytes, TraceRows], known: dict[bytes, _Known], now_s: float
) -> dict[bytes, int]:
    """Write one draft for each identity; the ids of the new ones."""
    added = {identity: draft for identity, draft in drafts.items() if identity not in known}
    ids = insert_traces(connection, added, now_s)
    records = [(ids[identity], draft.record) for identity, draft in added.items()]
    derived = [(ids[identity], sort_at_s(draft.record, now_s), draft.derived) for identity, draft in added.items()]
    replaced: list[tuple[int, RecordRows]] = []
    kept_turns: dict[int, int] = {}
    inspected: list[tuple[int, float, DerivedRows]] = []
    updates: list[Row] = []
    for identity, draft in drafts.items():
        if identity in added:
            continue
        stored = known[identity]
        at_s = sort_at_s(draft.record, stored.imported_at_s)
        if draft.record.fingerprint != stored.fingerprint:
            written = draft.written if draft.written and draft.written.fingerprint == stored.fingerprint else None
            kept_turns[stored.id] = written.turns if written is not None else 0
            replaced.append((stored.id, draft.record if written is None else _without_turns(draft.record, written)))
            fingerprint = {"fingerprint": draft.record.fingerprint, "sort_at_s": at_s}
            updates.append(draft.record.trace | fingerprint | {"trace_id": stored.id})
        inspected.append((stored.id, at_s, draft.derived))
    remove_from_index(connection, list(kept_turns))
    delete_rows(connection, (tables.external_id, tables.search_pending), list(kept_turns))
    _delete_turns(connection, kept_turns)
    update_traces(connection, updates)
    insert_records(connection, records + replaced)
    insert_derived(connection, derived)
    rewrite_derived(connection, inspected)
    return ids


def _without_turns(record: RecordRows, written: WrittenTurns) -> RecordRows:
    """The record without the rows of its turns that are written."""
    parts = [row for row in record.parts if row["turn"] > written.turns]
    return structs.replace(record, turns=record.turns[written.turns :], parts=parts)


def _delete_turns(connection: sa.Connection, kept_turns: Mapping[int, int]) -> None:
    """Delete the turns of these traces, but the first ones of each, and their parts."""
    turn, part = tables.turn.c, tables.part.c
    delete_rows(connection, (tables.turn, tables.part), [id_ for id_, kept in kept_turns.items() if not kept])
    for id_, kept in kept_turns.items():
        if kept:
            connection.execute(sa.delete(tables.turn).where(turn.trace_id == id_, turn.number > kept))
            connection.execute(sa.delete(tables.part).where(part.trace_id == id_, part.turn > kept))


def rewrite(connection: sa.Connection, id_: int, draft: TraceRows) -> None:
    """Replace the record and the inspection of a stored trace, also if its texts were changed to other ones."""
    identity = draft.record.identity
    taken = connection.scalar(sa.select(tables.trace.c.id).where(tables.trace.c.identity == identity))
    at_s = sort_at_s(draft.record, imported_at_s(connection, id_))
    columns = {"fingerprint": draft.record.fingerprint, "sort_at_s": at_s, "trace_id": id_}
    remove_from_index(connection, [id_])
    delete_rows(connection, (*tables.RECORD, tables.search_pending), [id_])
    update_traces(connection, [draft.record.trace | columns])
    if taken is None:
        connection.execute(sa.update(tables.trace).where(tables.trace.c.id == id_).values(identity=identity))
    insert_records(connection, [(id_, draft.record)])
    rewrite_derived(connection, [(id_, at_s, draft.derived)])


def insert_traces(connection: sa.Connection, drafts: dict[bytes, TraceRows], now_s: float) -> dict[bytes, int]:
    """Insert the rows of new traces; their ids by identity. `now_s` is the time of import."""
    rows = [
        draft.record.trace
        | draft.derived.trace
        | {"identity": identity, "fingerprint": draft.record.fingerprint}
        | {"imported_at_s": now_s, "sort_at_s": sort_at_s(draft.record, now_s)}
        for identity, draft in drafts.items()
    ]
    if not rows:
        return {}
    _insert(connection, tables.trace, list(rows[0]), [tuple(row.values()) for row in rows])
    trace = tables.trace.c
    return {
        bytes(identity): id_
        for group in in_groups(drafts)
        for identity, id_ in connection.execute(sa.select(trace.identity, trace.id).where(trace.identity.in_(group)))
    }


def insert_trace_rows(connection: sa.Connection, rows: Sequence[Row]) -> None:
    """Insert rows of traces that already have ids; call it before any other rows of these traces are inserted."""
    _insert(connection, tables.trace, list(rows[0]), [tuple(row.values()) for row in rows])


def insert_records(connection: sa.Connection, records: Sequence[tuple[int, RecordRows]]) -> None:
    """Insert the records of traces whose `trace` rows already exist."""
    toolset_ids = intern_toolsets(connection, {h: t for _, record in records for h, t in record.toolsets.items()})
    turns = [(id_, [_turn_row(row, toolset_ids) for row in record.turns]) for id_, record in records]
    insert_rows(connection, tables.external_id, [(id_, record.external_ids) for id_, record in records])
    insert_rows(connection, tables.turn, turns)
    insert_rows(connection, tables.part, [(id_, record.parts) for id_, record in records])
    insert_rows(connection, tables.search_pending, [(id_, [{}]) for id_, _ in records])
    for id_, record in records:
        if record.exchanges:
            replace_exchanges(connection, id_, record.exchanges)


def _turn_row(row: Row, toolset_ids: Mapping[bytes, int]) -> Row:
    """The row of a turn, with the id of its set of tools instead of the hash."""
    columns = {"toolset_id": toolset_ids.get(row["toolset"]), **row}
    del columns["toolset"]
    return columns


def insert_derived(connection: sa.Connection, inspections: Sequence[tuple[int, float, DerivedRows]]) -> None:
    """Insert inspections: for each, the trace id, the time by which lists sort it, and its rows."""
    insert_rows(connection, tables.inspection, [(id_, [derived.inspection]) for id_, _, derived in inspections])
    insert_rows(connection, tables.call, [(id_, derived.calls) for id_, _, derived in inspections])
    insert_rows(connection, tables.diagnostic, [(id_, derived.diagnostics) for id_, _, derived in inspections])
    insert_rows(connection, tables.figures, [(id_, [derived.figures]) for id_, _, derived in inspections])
    insert_rows(connection, tables.violation, [(id_, derived.violations) for id_, _, derived in inspections])
    times = {id_: at_s for id_, at_s, _ in inspections}
    insert_rows(connection, tables.trace_tool, [(id_, derived.tools) for id_, _, derived in inspections], times)
    insert_rows(connection, tables.trace_code, [(id_, derived.codes) for id_, _, derived in inspections], times)
    insert_rows(connection, tables.argument, [(id_, derived.arguments) for id_, _, derived in inspections], times)


def rewrite_derived(connection: sa.Connection, inspections: Iterable[tuple[int, float, DerivedRows]]) -> None:
    """Replace inspections: for each, the trace id, the time by which lists sort it, and its new rows."""
    rows = list(inspections)
    delete_rows(connection, tables.DERIVED, [id_ for id_, _, _ in rows])
    update_traces(connection, [derived.trace | {"trace_id": id_} for id_, _, derived in rows])
    insert_derived(connection, rows)


def delete_traces(connection: sa.Connection, ids: Sequence[int]) -> None:
    """Delete traces and all rows that belong to them, except the sets of tools; their files will be read again."""
    for group in in_groups(ids):
        remove_from_index(connection, group)
        of_group = tables.imported_trace.c.trace_id.in_(group)
        files = sa.select(tables.imported_trace.c.file_id).where(of_group)
        connection.execute(sa.delete(tables.imported_file).where(tables.imported_file.c.id.in_(files)))
        delete_rows(connection, tables.ROWS_OF_TRACES, group)
        connection.execute(sa.delete(tables.trace).where(tables.trace.c.id.in_(group)))


def update_traces(connection: sa.Connection, rows: Sequence[Row]) -> None:
    """Update traces: every row has `trace_id` and the same columns to set."""
    if rows:
        columns = [name for name in rows[0] if name != "trace_id"]
        statement = sa.update(tables.trace).where(tables.trace.c.id == sa.bindparam("trace_id"))
        connection.execute(statement.values({name: sa.bindparam(name) for name in columns}), rows)


def delete_rows(connection: sa.Connection, some: Iterable[sa.Table], ids: Sequence[int]) -> None:
    """Delete the rows of these traces from these tables."""
    for table in some:
        for group in in_groups(ids):
            connection.execute(sa.delete(table).where(table.c.trace_id.in_(group)))


def insert_rows(
    connection: sa.Connection,
    table: sa.Table,
    rows: Iterable[tuple[int, Sequence[Row]]],
    times_s: Mapping[int, float] | None = None,
) -> None:
    """Insert rows into one table, each with its trace's id, and with that trace's time from `times_s` if given."""
    filled = [(id_, some) for id_, some in rows if some]
    if not filled:
        return
    columns = list(filled[0][1][0])
    names = ["trace_id", *(() if times_s is None else ("sort_at_s",)), *columns]
    values_of = itemgetter(*columns) if len(columns) > 1 else lambda row: tuple(row[name] for name in columns)
    values = [
        (id_, *(() if times_s is None else (times_s[id_],)), *values_of(row)) for id_, some in filled for row in some
    ]
    _insert(connection, table, names, values)


def _insert(connection: sa.Connection, table: sa.Table, names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    if connection.dialect.name == "sqlite":  # SQLAlchemy takes longer to prepare the values than SQLite to insert them
        connection.exec_driver_sql(_insert_statement(table.name, tuple(names)), list(rows))
    else:
        connection.execute(sa.insert(table), [dict(zip(names, row, strict=True)) for row in rows])


@lru_cache
def _insert_statement(table: str, names: tuple[str, ...]) -> str:
    columns = ", ".join(f'"{name}"' for name in names)
    return f'INSERT INTO "{table}" ({columns}) VALUES ({", ".join("?" * len(names))})'
