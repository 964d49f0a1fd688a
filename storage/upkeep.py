"""What keeps a store in order: counting, inspecting again, deleting what is old."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from inspector.errors import StoreError
from inspector.inspection import Inspection
from inspector.model import Trace
from storage import tables
from storage.derived_rows import DerivedRows, derived_rows
from storage.engine import size_bytes
from storage.failures import reading
from storage.inserting import delete_traces, rewrite_derived
from storage.location import DatabaseLocation
from storage.reading import NOT_INSPECTED, read_trace
from storage.toolsets import drop_unused_toolsets


@dataclass(frozen=True, slots=True)
class StoreStats:
    """What a store holds. `outdated` counts the traces that another version of weaklink inspected."""

    traces: int
    turns: int
    characters: int
    chunks: int
    tool_calls: int
    errors: int
    tools: int
    by_status: dict[str, int]
    not_indexed: int
    outdated: int
    size_bytes: int


def stats_of(connection: sa.Connection, *, version: str) -> StoreStats:
    """What the store holds; `version` is that of the weaklink that asks."""
    trace = tables.trace.c
    sums = [sa.func.coalesce(sa.func.sum(column), 0) for column in _SUMMED]
    counted = connection.execute(sa.select(sa.func.count(), *sums).select_from(tables.trace)).one()
    traces, turns, characters, chunks, tool_calls, errors = map(int, counted)
    statuses = connection.execute(sa.select(trace.status, sa.func.count()).group_by(trace.status))
    return StoreStats(
        traces=traces,
        turns=turns,
        characters=characters,
        chunks=chunks,
        tool_calls=tool_calls,
        errors=errors,
        tools=count_rows(connection, tables.tool),
        by_status=dict(statuses.all()),
        not_indexed=count_rows(connection, tables.search_pending),
        outdated=count_rows(connection, tables.trace, trace.inspector_version.not_in((version, NOT_INSPECTED))),
        size_bytes=size_bytes(connection),
    )


def inspect_again(
    connection: sa.Connection,
    place: DatabaseLocation,
    inspect: Callable[[Trace], Inspection],
    ids: Sequence[int],
    on_damaged: Callable[[StoreError], None] | None,
) -> int:
    """Put a new inspection of each of these traces in the place of the old; of how many."""
    trace = tables.trace.c
    times = dict(connection.execute(sa.select(trace.id, trace.sort_at_s).where(trace.id.in_(ids))).all())
    found: list[tuple[int, float, DerivedRows]] = []
    for id_ in ids:
        try:
            with reading(place, f"trace {id_}"):
                kept = read_trace(connection, id_)
        except StoreError as error:
            if on_damaged is None:
                raise
            on_damaged(error)
            continue
        found.append((id_, times[id_], derived_rows(inspect(kept), kept)))
    rewrite_derived(connection, found)
    return len(found)


def prune(connection: sa.Connection, *, before_s: float, keep_broken: bool) -> int:
    """Delete the traces from before a time, all but the broken ones where those are to be kept; how many went.

    A trace whose source gave no time is as old as its import.
    """
    trace = tables.trace.c
    wanted = sa.select(trace.id).where(sa.func.coalesce(trace.started_at_s, trace.imported_at_s) < before_s)
    if keep_broken:
        wanted = wanted.where(trace.status != "broken")
    ids = list(connection.scalars(wanted))
    delete_traces(connection, ids)
    drop_unused_toolsets(connection)
    return len(ids)


_SUMMED = tuple(tables.trace.c[name] for name in ("turns", "characters", "chunks", "tool_calls", "errors"))


def count_rows(connection: sa.Connection, table: sa.Table, *conditions: sa.ColumnElement[bool]) -> int:
    """How many rows of a table fulfil the conditions."""
    return connection.scalar(sa.select(sa.func.count()).select_from(table).where(*conditions)) or 0
