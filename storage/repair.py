"""Rebuilds what can be rebuilt of a damaged trace: `weaklink db repair`.

What a trace recorded is in packed values, each with its own checksum: its facts, its provenance, and the facts, texts
and chunks of its turns. They cannot be rebuilt; everything else is computed from them. So:

* If all of them can be read, the columns, rows and checksums of the record are written anew. If a row was lost or a
  value was changed, as only the sum of the turns tells, the provenance says so from then on: the new sum would hide it.
* If they agree with a sum that weaklink 0.2.0 computed (`storage.salvage`), nothing is lost, and nothing is said.
* The inspection and the rows that filters and statistics read are computed again if they differ from what they come
  from. Inspections by another version of weaklink stay as they are if they can be read (`weaklink db reinspect`).
* If a packed value is damaged, the trace stays as it is: it is shown as far as it can be read, and a backup may have
  the rest. The verdict in lists is still that on the intact trace.
"""

from collections.abc import Callable
from hashlib import sha256

import sqlalchemy as sa
from msgspec import Struct

from weaklink.inspector.inspected import Inspection
from weaklink.inspector.model import Trace
from weaklink.inspector.version import __version__
from weaklink.storage import tables
from weaklink.storage.checksums import RECORD_COLUMNS
from weaklink.storage.derived_rows import DerivedRows, derived_rows
from weaklink.storage.engine import DAMAGE_ERRORS
from weaklink.storage.exchanges import damaged_exchanges
from weaklink.storage.packing.blobs import escaped, from_blob
from weaklink.storage.packing.values import pack
from weaklink.storage.record_rows import RecordRows, record_rows
from weaklink.storage.salvage import SalvagedTrace, damage_of_row, read_stored, read_stored_inspection, with_damage
from weaklink.storage.search import remove_from_index
from weaklink.storage.summaries import row_of
from weaklink.storage.tables import Row
from weaklink.storage.toolsets import load_toolsets
from weaklink.storage.writing import (
    delete_rows,
    imported_at_s,
    insert_records,
    rewrite_derived,
    sort_at_s,
    update_traces,
)

_LOST = "The stored turns did not match their checksum when they were repaired: a row was lost, or a value was changed."


class RepairReport(Struct, frozen=True):
    """What a repair did: sentences on what was rebuilt, and on what could not be rebuilt."""

    repaired: tuple[str, ...]
    left: tuple[str, ...]


def repair_trace(
    connection: sa.Connection, inspect: Callable[[Trace], Inspection], id_: int
) -> tuple[list[str], list[str]]:
    """Repair one trace: sentences on what was rebuilt, and on what could not be. A trace that is recorded stays."""
    if connection.scalar(sa.select(tables.live.c.trace_id).where(tables.live.c.trace_id == id_)) is not None:
        return [], []
    stored = read_stored(connection, id_)
    left = damaged_exchanges(connection, id_)
    if not stored.is_complete:
        left += [f"trace {id_}: {sentence}" for sentence in stored.damage]
        return [], left
    repaired: list[str] = []
    trace = with_damage(stored.trace, (_LOST,)) if stored.damage else stored.trace
    record = record_rows(trace)
    if stored.damage or stored.has_former_sum or _differs(connection, id_, record):
        _rewrite_record(connection, id_, record)
        repaired.append(f"trace {id_}: its record was rebuilt" + (f", but {stored.damage[0]}" if stored.damage else ""))
    if (
        derived := _new_derived(connection, id_, SalvagedTrace(trace, stored.damage, is_complete=True), inspect)
    ) is not None:
        at_s = sort_at_s(record, imported_at_s(connection, id_))
        rewrite_derived(connection, [(id_, at_s, derived)])
        repaired.append(f"trace {id_}: its inspection was computed again")
    return repaired, left


def _differs(connection: sa.Connection, id_: int, record: RecordRows) -> bool:
    """Whether the stored rows of the record are not these."""
    if damage_of_row(connection, id_):
        return True
    row = row_of(connection, id_)
    names = [name for name in RECORD_COLUMNS if name not in ("facts", "provenance", "turns_checksum")]
    if row["record_checksum"] is not None and any(row[name] != record.trace[name] for name in names):
        return True
    turns = [{name: turn[name] for name in turn if name not in ("toolset", "facts")} for turn in record.turns]
    return not (
        same_rows(connection, tables.turn, id_, turns)
        and same_rows(connection, tables.external_id, id_, record.external_ids)
    )


def same_rows(connection: sa.Connection, table: sa.Table, id_: int, rows: list[Row]) -> bool:
    """Whether the trace's rows in this table are these, in any order."""
    names = list(rows[0]) if rows else [column.name for column in table.primary_key.columns]
    query = sa.select(*(table.c[name] for name in names)).where(table.c.trace_id == id_)
    stored = sorted(map(repr, map(tuple, connection.execute(query))))
    return stored == sorted(repr(tuple(row[name] for name in names)) for row in rows)


def _rewrite_record(connection: sa.Connection, id_: int, record: RecordRows) -> None:
    remove_from_index(connection, [id_])
    delete_rows(connection, (*tables.RECORD, tables.search_pending), [id_])
    at_s = sort_at_s(record, imported_at_s(connection, id_))
    columns = {"fingerprint": record.fingerprint, "sort_at_s": at_s, "trace_id": id_}
    update_traces(connection, [record.trace | columns])
    insert_records(connection, [(id_, record)])


def _new_derived(
    connection: sa.Connection, id_: int, stored: SalvagedTrace, inspect: Callable[[Trace], Inspection]
) -> DerivedRows | None:
    """New rows of the inspection, if those that are stored are damaged or differ from it; else None."""
    inspection, problem = read_stored_inspection(connection, id_, stored)
    if problem or stored.damage or damage_of_row(connection, id_):
        return derived_rows(inspect(stored.trace), stored.trace)
    version = connection.scalar(sa.select(tables.trace.c.inspector_version).where(tables.trace.c.id == id_))
    if version != escaped(__version__):
        return None
    new = derived_rows(inspection, stored.trace)
    is_same = all(same_rows(connection, table, id_, rows) for table, rows in derived_tables(new))
    return None if is_same else new


def derived_tables(new: DerivedRows) -> tuple[tuple[sa.Table, list[Row]], ...]:
    """The tables that filters and statistics read of an inspection, each with these rows."""
    return (
        *((tables.call, new.calls), (tables.diagnostic, new.diagnostics), (tables.trace_tool, new.tools)),
        *((tables.trace_code, new.codes), (tables.argument, new.arguments), (tables.figures, [new.figures])),
        (tables.violation, new.violations),
    )


def repair_toolsets(connection: sa.Connection) -> None:
    """Compute the hash of each set of tools again whose tools can all be read, but do not have this hash.

    If a tool is missing, not the hash was damaged; the sums of the turns that have this set then differ.
    """
    toolset, link, tool = tables.toolset, tables.toolset_tool, tables.tool
    known = {bytes(digest): id_ for id_, digest in connection.execute(sa.select(toolset.c.id, toolset.c.hash))}
    for digest, id_ in list(known.items()):
        try:
            load_toolsets(connection, {id_: digest})
        except DAMAGE_ERRORS:
            bodies = sa.select(tool.c.body).join(link, link.c.tool_id == tool.c.id).where(link.c.toolset_id == id_)
            try:
                packed = [from_blob(body) for body in connection.scalars(bodies.order_by(link.c.number))]
            except DAMAGE_ERRORS:
                continue
            new = sha256(pack(packed)).digest()
            if new in known:
                connection.execute(
                    sa.update(tables.turn).where(tables.turn.c.toolset_id == id_).values(toolset_id=known[new])
                )
            else:
                connection.execute(sa.update(toolset).where(toolset.c.id == id_).values(hash=new))
