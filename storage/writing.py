"""Traces and inspections into the database: new ones added, longer versions in the place of shorter ones."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

import sqlalchemy as sa

from inspector.inspection import Inspection
from inspector.model import Trace
from storage import tables
from storage.derived_rows import DerivedRows, derived_rows
from storage.groups import in_groups
from storage.identity import Extent
from storage.packing.inspections import texts_of
from storage.record_rows import RecordRows, record_rows
from storage.rows import Row
from storage.search import forget
from storage.toolsets import intern_toolsets


class Verdict(StrEnum):
    """What became of a trace that was handed to the store."""

    ADDED = "added"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Saved:
    """A trace that was handed to the store: the id it is kept under, and what became of it."""

    id: int
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Draft:
    """A trace and its inspection as rows, ready to be written."""

    record: RecordRows
    derived: DerivedRows


class _Known(NamedTuple):
    """What the database holds of a trace."""

    id: int
    fingerprint: bytes
    extent: Extent
    imported_at_s: float
    digest: bytes | None


def draft(trace: Trace, inspection: Inspection) -> Draft:
    """A trace and its inspection as rows."""
    return Draft(record_rows(trace), derived_rows(inspection, texts_of(trace)))


def write(connection: sa.Connection, drafts: Sequence[Draft], now_s: float) -> list[Saved]:
    """Write the drafts; what became of each, in order. `now_s` is the time of import."""
    known = _known(connection, [one.record.identity for one in drafts])
    last: dict[bytes, Draft] = {}  # a trace may come twice in one batch: only its longest version is written
    verdicts: list[Verdict] = []
    for one in drafts:
        identity = one.record.identity
        before = last.get(identity)
        verdict = _verdict(one, known.get(identity), before)
        if verdict is not Verdict.UNCHANGED or (before is None and _found_anew(one, known[identity])):
            last[identity] = one
        elif before is not None and before.record.fingerprint == one.record.fingerprint:
            last[identity] = replace(before, derived=one.derived)
        verdicts.append(verdict)
    ids = {identity: held.id for identity, held in known.items()} | _write(connection, last, known, now_s)
    return [Saved(ids[one.record.identity], verdict) for one, verdict in zip(drafts, verdicts, strict=True)]


def rewrite_derived(connection: sa.Connection, found: Iterable[tuple[int, float, DerivedRows]]) -> None:
    """Put new inspections in the place of the old: trace id, its time in lists, and the rows of each."""
    rows = list(found)
    _delete(connection, tables.DERIVED, [id_ for id_, _, _ in rows])
    _update(connection, [derived.trace | {"trace_id": id_} for id_, _, derived in rows])
    _insert_derived(connection, rows)


def delete_traces(connection: sa.Connection, ids: Sequence[int]) -> None:
    """Delete traces with all that hangs on them, but the tools they were offered."""
    for group in in_groups(ids):
        forget(connection, group)
        _delete(connection, (*tables.RECORD, *tables.DERIVED, tables.search_pending), group)
        connection.execute(sa.delete(tables.trace).where(tables.trace.c.id.in_(group)))


def _known(connection: sa.Connection, identities: Sequence[bytes]) -> dict[bytes, _Known]:
    trace, inspection = tables.trace.c, tables.inspection.c
    found: dict[bytes, _Known] = {}
    for group in in_groups(identities):
        wanted = (
            sa.select(
                trace.identity,
                trace.id,
                trace.fingerprint,
                trace.turns,
                trace.characters,
                trace.chunks,
                trace.imported_at_s,
                inspection.digest,
            )
            .select_from(tables.trace.outerjoin(tables.inspection))
            .where(trace.identity.in_(group))
        )
        for identity, id_, fingerprint, turns, characters, chunks, at_s, digest in connection.execute(wanted):
            found[bytes(identity)] = _Known(id_, bytes(fingerprint), Extent(turns, characters, chunks), at_s, digest)
    return found


def _verdict(one: Draft, known: _Known | None, before: Draft | None) -> Verdict:
    held = before.record if before is not None else known
    if held is None:
        return Verdict.ADDED
    longer = one.record.fingerprint != held.fingerprint and one.record.extent >= held.extent
    return Verdict.REPLACED if longer else Verdict.UNCHANGED


def _found_anew(one: Draft, known: _Known) -> bool:
    """Whether the same record was inspected with another outcome, which then counts."""
    return one.record.fingerprint == known.fingerprint and one.derived.digest != known.digest


def _write(
    connection: sa.Connection, drafts: dict[bytes, Draft], known: dict[bytes, _Known], now_s: float
) -> dict[bytes, int]:
    """Write one draft for each identity; the ids of the new ones."""
    added = {identity: one for identity, one in drafts.items() if identity not in known}
    ids = _insert_traces(connection, added, now_s)
    records = [(ids[identity], one) for identity, one in added.items()]
    derived = [(ids[identity], _sort_at_s(one, now_s), one.derived) for identity, one in added.items()]
    replaced: list[tuple[int, Draft]] = []
    inspected: list[tuple[int, float, DerivedRows]] = []
    updates: list[Row] = []
    for identity, one in drafts.items():
        if identity in added:
            continue
        held = known[identity]
        at_s = _sort_at_s(one, held.imported_at_s)
        if one.record.fingerprint != held.fingerprint:
            replaced.append((held.id, one))
            fingerprint = {"fingerprint": one.record.fingerprint, "sort_at_s": at_s}
            updates.append(one.record.trace | fingerprint | {"trace_id": held.id})
        inspected.append((held.id, at_s, one.derived))
    forget(connection, [id_ for id_, _ in replaced])
    _delete(connection, (*tables.RECORD, tables.search_pending), [id_ for id_, _ in replaced])
    _update(connection, updates)
    _insert_records(connection, records + replaced)
    _insert_derived(connection, derived)
    rewrite_derived(connection, inspected)
    return ids


def _insert_traces(connection: sa.Connection, drafts: dict[bytes, Draft], now_s: float) -> dict[bytes, int]:
    rows = [
        one.record.trace
        | one.derived.trace
        | {"identity": identity, "fingerprint": one.record.fingerprint}
        | {"imported_at_s": now_s, "sort_at_s": _sort_at_s(one, now_s)}
        for identity, one in drafts.items()
    ]
    if not rows:
        return {}
    trace = tables.trace
    inserted = connection.execute(
        sa.insert(trace).returning(trace.c.identity, trace.c.id, sort_by_parameter_order=True), rows
    )
    return {bytes(identity): id_ for identity, id_ in inserted}


def _insert_records(connection: sa.Connection, drafts: Sequence[tuple[int, Draft]]) -> None:
    records = [(id_, one.record) for id_, one in drafts]
    toolset_ids = intern_toolsets(connection, {h: t for _, record in records for h, t in record.toolsets.items()})
    turns = [(id_, record.turns) for id_, record in records]
    for _, rows in turns:
        for row in rows:
            row["toolset_id"] = toolset_ids.get(row.pop("toolset"))
    _insert(connection, tables.external_id, [(id_, record.external_ids) for id_, record in records])
    _insert(connection, tables.turn, turns)
    _insert(connection, tables.part, [(id_, record.parts) for id_, record in records])
    _insert(connection, tables.search_pending, [(id_, [{}]) for id_, _ in records])


def _insert_derived(connection: sa.Connection, found: Sequence[tuple[int, float, DerivedRows]]) -> None:
    _insert(connection, tables.inspection, [(id_, [one.inspection]) for id_, _, one in found])
    _insert(connection, tables.call, [(id_, one.calls) for id_, _, one in found])
    _insert(connection, tables.diagnostic, [(id_, one.diagnostics) for id_, _, one in found])
    for table, rows in (
        (tables.trace_tool, [(id_, at_s, one.tools) for id_, at_s, one in found]),
        (tables.trace_code, [(id_, at_s, one.codes) for id_, at_s, one in found]),
    ):
        _insert(connection, table, [(id_, [row | {"sort_at_s": at_s} for row in some]) for id_, at_s, some in rows])


def _insert(connection: sa.Connection, table: sa.Table, rows: Iterable[tuple[int, Sequence[Row]]]) -> None:
    whole = [row | {"trace_id": id_} for id_, some in rows for row in some]
    if whole:
        connection.execute(sa.insert(table), whole)


def _update(connection: sa.Connection, rows: Sequence[Row]) -> None:
    if rows:
        columns = [name for name in rows[0] if name != "trace_id"]
        statement = sa.update(tables.trace).where(tables.trace.c.id == sa.bindparam("trace_id"))
        connection.execute(statement.values({name: sa.bindparam(name) for name in columns}), rows)


def _delete(connection: sa.Connection, some: Iterable[sa.Table], ids: Sequence[int]) -> None:
    for table in some:
        for group in in_groups(ids):
            connection.execute(sa.delete(table).where(table.c.trace_id.in_(group)))


def _sort_at_s(one: Draft, imported_at_s: float) -> float:
    started: float | None = one.record.trace["started_at_s"]
    return imported_at_s if started is None else started
