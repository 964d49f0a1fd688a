"""Rows into the tables, and out of them again: a statement a table and batch, never one a row.

Rows that are summed are written here alone, so that the rollups of their blocks go with the first change.
"""

from collections.abc import Iterable, Sequence

import sqlalchemy as sa

from storage import tables
from storage.derived_rows import DerivedRows
from storage.drafts import Draft
from storage.groups import in_groups
from storage.record_rows import RecordRows
from storage.rollups import SUMMED, forget_sums
from storage.rows import Row
from storage.search import forget
from storage.toolsets import intern_toolsets


def insert_traces(connection: sa.Connection, drafts: dict[bytes, Draft], now_s: float) -> dict[bytes, int]:
    """The rows of new traces; their ids by identity. `now_s` is the time of import."""
    rows = [
        one.record.trace
        | one.derived.trace
        | {"identity": identity, "fingerprint": one.record.fingerprint}
        | {"imported_at_s": now_s, "sort_at_s": one.sort_at_s}
        for identity, one in drafts.items()
    ]
    if not rows:
        return {}
    trace = tables.trace
    inserted = connection.execute(
        sa.insert(trace).returning(trace.c.identity, trace.c.id, sort_by_parameter_order=True), rows
    )
    ids = {bytes(identity): id_ for identity, id_ in inserted}
    forget_sums(connection, ids.values())
    return ids


def insert_records(connection: sa.Connection, records: Sequence[tuple[int, RecordRows]]) -> None:
    """What came in, of traces whose rows stand already. The same rows can be inserted once."""
    toolset_ids = intern_toolsets(connection, {h: t for _, record in records for h, t in record.toolsets.items()})
    turns = [(id_, record.turns) for id_, record in records]
    for _, rows in turns:
        for row in rows:
            row["toolset_id"] = toolset_ids.get(row.pop("toolset"))
    insert_rows(connection, tables.external_id, [(id_, record.external_ids) for id_, record in records])
    insert_rows(connection, tables.turn, turns)
    insert_rows(connection, tables.part, [(id_, record.parts) for id_, record in records])
    insert_rows(connection, tables.search_pending, [(id_, [{}]) for id_, _ in records])


def insert_derived(connection: sa.Connection, found: Sequence[tuple[int, float, DerivedRows]]) -> None:
    """What was found: trace id, its time in lists, and the rows of each."""
    insert_rows(connection, tables.inspection, [(id_, [one.inspection]) for id_, _, one in found])
    insert_rows(connection, tables.call, [(id_, one.calls) for id_, _, one in found])
    insert_rows(connection, tables.diagnostic, [(id_, one.diagnostics) for id_, _, one in found])
    insert_rows(connection, tables.figures, [(id_, [one.figures]) for id_, _, one in found])
    insert_rows(connection, tables.violation, [(id_, one.violations) for id_, _, one in found])
    for table, rows in (
        (tables.trace_tool, [(id_, at_s, one.tools) for id_, at_s, one in found]),
        (tables.trace_code, [(id_, at_s, one.codes) for id_, at_s, one in found]),
        (tables.argument, [(id_, at_s, one.arguments) for id_, at_s, one in found]),
    ):
        insert_rows(connection, table, [(id_, [row | {"sort_at_s": at_s} for row in some]) for id_, at_s, some in rows])


def rewrite_derived(connection: sa.Connection, found: Iterable[tuple[int, float, DerivedRows]]) -> None:
    """Put new inspections in the place of the old: trace id, its time in lists, and the rows of each."""
    rows = list(found)
    delete_rows(connection, tables.DERIVED, [id_ for id_, _, _ in rows])
    update_traces(connection, [derived.trace | {"trace_id": id_} for id_, _, derived in rows])
    insert_derived(connection, rows)


def delete_traces(connection: sa.Connection, ids: Sequence[int]) -> None:
    """Delete traces with all that hangs on them, but the tools they were offered."""
    for group in in_groups(ids):
        forget(connection, group)
        delete_rows(connection, (*tables.RECORD, *tables.DERIVED, tables.search_pending, tables.mark), group)
        connection.execute(sa.delete(tables.trace).where(tables.trace.c.id.in_(group)))


def update_traces(connection: sa.Connection, rows: Sequence[Row]) -> None:
    """Set columns of traces, the same in every row; `trace_id` says which trace."""
    if rows:
        forget_sums(connection, (row["trace_id"] for row in rows))
        columns = [name for name in rows[0] if name != "trace_id"]
        statement = sa.update(tables.trace).where(tables.trace.c.id == sa.bindparam("trace_id"))
        connection.execute(statement.values({name: sa.bindparam(name) for name in columns}), rows)


def delete_rows(connection: sa.Connection, some: Iterable[sa.Table], ids: Sequence[int]) -> None:
    """Delete from these tables what belongs to these traces."""
    for table in some:
        if table in SUMMED:
            forget_sums(connection, ids)
        for group in in_groups(ids):
            connection.execute(sa.delete(table).where(table.c.trace_id.in_(group)))


def insert_rows(connection: sa.Connection, table: sa.Table, rows: Iterable[tuple[int, Sequence[Row]]]) -> None:
    """Rows of traces, each with the trace's id, into one table."""
    whole = [row | {"trace_id": id_} for id_, some in rows for row in some]
    if whole and table in SUMMED:
        forget_sums(connection, (row["trace_id"] for row in whole))
    if whole:
        connection.execute(sa.insert(table), whole)
