"""Fills in the source's outcome of traces that tables from before v0008 hold in their facts alone."""

import msgspec
import sqlalchemy as sa

from inspector.model import Outcome
from storage import tables
from storage.groups import in_groups
from storage.inserting import update_traces
from storage.packing.blobs import from_blob
from storage.packing.values import unpack
from storage.record_rows import outcome_columns
from storage.rows import Row

_AT_ONCE = 200


def keep_outcomes(connection: sa.Connection) -> None:
    """Fill in the source's outcome of every trace, which a database before v0008 holds in its facts alone."""
    trace = tables.trace.c
    ids = connection.scalars(sa.select(trace.id).order_by(trace.id)).all()
    for group in in_groups(ids, _AT_ONCE):
        rows: list[Row] = []
        for id_, facts in connection.execute(sa.select(trace.id, trace.facts).where(trace.id.in_(group))):
            try:
                said = unpack(from_blob(facts)).get("outcome")
                rows.append({"trace_id": id_, **outcome_columns(Outcome(*said) if said else None)})
            except (msgspec.MsgspecError, ValueError, TypeError):
                continue  # that it is damaged is said when it is read
        update_traces(connection, rows)
