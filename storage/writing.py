"""Traces and inspections into the database: new ones added, longer versions in the place of shorter ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

import sqlalchemy as sa

from storage import tables
from storage.derived_rows import DerivedRows
from storage.drafts import Draft
from storage.groups import in_groups
from storage.identity import TraceExtent
from storage.inserting import (
    delete_rows,
    insert_derived,
    insert_records,
    insert_traces,
    rewrite_derived,
    update_traces,
)
from storage.record_rows import RecordRows
from storage.rows import Row
from storage.search import forget


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


class _Known(NamedTuple):
    """What the database holds of a trace."""

    id: int
    fingerprint: bytes
    extent: TraceExtent
    digest: bytes | None


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
                inspection.digest,
            )
            .select_from(tables.trace.outerjoin(tables.inspection))
            .where(trace.identity.in_(group))
        )
        for identity, id_, fingerprint, turns, characters, chunks, digest in connection.execute(wanted):
            found[bytes(identity)] = _Known(id_, bytes(fingerprint), TraceExtent(turns, characters, chunks), digest)
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
    ids = insert_traces(connection, added, now_s)
    records = [(ids[identity], one.record) for identity, one in added.items()]
    derived = [(ids[identity], one.sort_at_s, one.derived) for identity, one in added.items()]
    replaced: list[tuple[int, RecordRows]] = []
    inspected: list[tuple[int, float, DerivedRows]] = []
    updates: list[Row] = []
    for identity, one in drafts.items():
        if identity in added:
            continue
        held = known[identity]
        if one.record.fingerprint != held.fingerprint:
            replaced.append((held.id, one.record))
            fingerprint = {"fingerprint": one.record.fingerprint, "sort_at_s": one.sort_at_s}
            updates.append(one.record.trace | fingerprint | {"trace_id": held.id})
        inspected.append((held.id, one.sort_at_s, one.derived))
    forget(connection, [id_ for id_, _ in replaced])
    delete_rows(connection, (*tables.RECORD, tables.search_pending), [id_ for id_, _ in replaced])
    update_traces(connection, updates)
    insert_records(connection, records + replaced)
    insert_derived(connection, derived)
    rewrite_derived(connection, inspected)
    return ids
