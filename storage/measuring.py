"""Fills in what tables of an older version do not hold: the measures, the steps of calls, arguments and figures.

Nothing is inspected again: all of it stands in the traces and inspections that are kept.
"""

import msgspec
import sqlalchemy as sa

from inspector.errors import StoreError
from inspector.model import Outcome
from storage import tables
from storage.derived_rows import DerivedRows, derived_rows
from storage.failures import reading
from storage.groups import in_groups
from storage.inserting import rewrite_derived, update_traces
from storage.location import Place
from storage.packing.blobs import from_blob
from storage.packing.values import unpack
from storage.reading import read_inspection, read_trace
from storage.record_rows import outcome_columns
from storage.rows import Row
from storage.totals import sum_of, totals_of

_AT_ONCE = 200


def measure_all(connection: sa.Connection, place: Place) -> None:
    """Fill in what a database of tables before v0005 does not hold; what is damaged stays without."""
    trace = tables.trace.c
    every = connection.execute(sa.select(trace.id, trace.sort_at_s).order_by(trace.id)).all()
    for group in in_groups(every, _AT_ONCE):
        records: list[Row] = []
        derived: list[tuple[int, float, DerivedRows]] = []
        for id_, at_s in group:
            try:
                record, found = _measured(connection, place, id_)
            except StoreError:
                continue  # that it is damaged is said when it is read
            records.append(record)
            derived.append((id_, at_s, found))
        update_traces(connection, records)
        rewrite_derived(connection, derived)


def keep_outcomes(connection: sa.Connection) -> None:
    """Fill in the source's outcome of every trace, which a database before v0007 holds in its facts alone."""
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


def _measured(connection: sa.Connection, place: Place, id_: int) -> tuple[Row, DerivedRows]:
    with reading(place, f"trace {id_}"):
        trace = read_trace(connection, id_)
        totals = totals_of(trace.turns)
        record = {
            "trace_id": id_,
            "tokens": sum_of((totals.input_tokens, totals.output_tokens)),
            "first_token_s": totals.first_token_s,
            "max_gap_s": totals.max_gap_s,
            "prompt_hash": totals.prompt_hash,
        }
        return record, derived_rows(read_inspection(connection, id_, trace), trace)
