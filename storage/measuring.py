"""Fills in what tables of an older version do not hold: the measures, the steps of calls, arguments and figures.

Nothing is inspected again: all of it stands in the traces and inspections that are kept.
"""

import sqlalchemy as sa

from inspector.errors import StoreError
from storage import tables
from storage.arguments import argument_rows
from storage.derived_rows import call_rows, filter_columns
from storage.failures import reading
from storage.groups import in_groups
from storage.inserting import insert_rows, update_traces
from storage.location import Place
from storage.reading import read_inspection, read_trace
from storage.rows import Row
from storage.totals import sum_of, totals_of

_AT_ONCE = 200
_OF_CALLS = ("step", "recovery", "recovered_by")


def measure_all(connection: sa.Connection, place: Place) -> None:
    """Fill in what a database of tables before v0005 does not hold; what is damaged stays without."""
    trace = tables.trace.c
    every = connection.execute(sa.select(trace.id, trace.sort_at_s).order_by(trace.id)).all()
    for group in in_groups(every, _AT_ONCE):
        measured: list[Row] = []
        calls: list[Row] = []
        arguments: list[tuple[int, list[Row]]] = []
        for id_, at_s in group:
            try:
                columns, of_calls, leaves = _measured(connection, place, id_)
            except StoreError:
                continue  # that it is damaged is said when it is read
            measured.append(columns)
            calls += of_calls
            arguments.append((id_, [row | {"sort_at_s": at_s} for row in leaves]))
        update_traces(connection, measured)
        _update_calls(connection, calls)
        insert_rows(connection, tables.argument, arguments)


def _measured(connection: sa.Connection, place: Place, id_: int) -> tuple[Row, list[Row], list[Row]]:
    """The columns of a trace, of its calls that are steps, and the rows of its arguments."""
    with reading(place, f"trace {id_}"):
        trace = read_trace(connection, id_)
        inspection = read_inspection(connection, id_, trace)
        totals = totals_of(trace.turns)
        columns: Row = {
            "trace_id": id_,
            "tokens": sum_of((totals.input_tokens, totals.output_tokens)),
            "first_token_s": totals.first_token_s,
            "max_gap_s": totals.max_gap_s,
            "prompt_hash": totals.prompt_hash,
        }
        calls = [
            {"of_trace": id_, "at": row["number"]} | {name: row[name] for name in _OF_CALLS}
            for row in call_rows(inspection)
            if row["step"] is not None
        ]
        return columns | filter_columns(inspection, trace), calls, argument_rows(inspection.parts)


def _update_calls(connection: sa.Connection, rows: list[Row]) -> None:
    call = tables.call.c
    at = (call.trace_id == sa.bindparam("of_trace"), call.number == sa.bindparam("at"))
    if rows:
        values: dict[str, sa.BindParameter[object]] = {name: sa.bindparam(name) for name in _OF_CALLS}
        connection.execute(sa.update(tables.call).where(*at).values(values), rows)
