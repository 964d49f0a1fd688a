"""Stores of many traces to measure on: a thousand different ones saved, the others copied from them in the database.

A copy differs from its original by its id, identity, and time; everything else of it is what `Store.save` wrote, so
the rows are as many, as long and as varied as those of traces that came in one by one.
"""

from pathlib import Path

import sqlalchemy as sa

from benchmarks.many_traces import APART_S, OLD, OLDEST_SHARE, ORIGINALS, originals, rare
from weaklink.inspector.inspection import inspect_trace
from weaklink.storage import open_store, place_of, tables, upgrade_store
from weaklink.storage.engine import new_engine
from weaklink.storage.packing.blobs import from_blob, text_from_bytes

_MAKE = 4
"""Which stores these are: to be raised with every change of what is put into them."""


def made_store(traces: int, folder: Path) -> Path:
    """A file with a store of so many traces, made where there is none yet."""
    path = folder / f"store-{_MAKE}-{traces}.db"
    if path.exists():
        upgrade_store(path)
        return path
    folder.mkdir(parents=True, exist_ok=True)
    unready = path.with_suffix(".unready")
    unready.unlink(missing_ok=True)
    fill(str(unready), traces)
    unready.rename(path)
    return path


def fill(where: str, traces: int) -> None:
    """Put so many traces into a new store, indexed, summed up, and with the database's statistics of a store in use."""
    with open_store(where) as store:
        store.save((one, inspect_trace(one)) for one in originals(traces))
        store.search.index_pending()
    engine = new_engine(place_of(where))
    with engine.begin() as connection:
        _copy(connection, traces // min(ORIGINALS, traces))
    if engine.dialect.name == "postgresql":
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM (ANALYZE)")  # the server does so by itself, but later
    engine.dispose()
    with open_store(where) as store:
        store.save((one, inspect_trace(one)) for one in rare(traces))
        store.search.index_pending()


def _copy(connection: sa.Connection, times: int) -> None:
    """Copy the first traces, so that there are `times` as many; all within the database."""
    if times < 2:
        return
    connection.exec_driver_sql("CREATE TEMP TABLE copy (k INTEGER PRIMARY KEY)")
    connection.execute(sa.text("INSERT INTO copy VALUES (:k)"), [{"k": k} for k in range(1, times)])
    copy = sa.table("copy", sa.column("k", sa.Integer))
    later = copy.c.k * ORIGINALS
    for table in (tables.trace, *tables.RECORD, *tables.DERIVED):
        changed = {
            "id": table.c.get("id", later) + later,
            "trace_id": table.c.get("trace_id", later) + later,
            "identity": _bytes_for_this_row(connection),
            "fingerprint": _bytes_for_this_row(connection),
            "sort_at_s": table.c.get("sort_at_s", later) + later * APART_S,
        }
        columns = [changed.get(column.name, column) for column in table.c]
        rows = sa.select(*columns).select_from(table.join(copy, sa.true()))
        key = [changed.get(column.name, column) for column in table.primary_key]
        connection.execute(sa.insert(table).from_select([column.name for column in table.c], rows.order_by(*key)))
    copy_text_index = _copy_vectors if connection.dialect.name == "postgresql" else _copy_texts
    copy_text_index(connection, int(times * OLDEST_SHARE))


def _bytes_for_this_row(connection: sa.Connection) -> sa.ColumnElement[bytes]:
    if connection.dialect.name == "postgresql":
        return sa.func.uuid_send(sa.func.gen_random_uuid())
    return sa.func.randomblob(32)


def _copy_texts(connection: sa.Connection, old: int) -> None:
    part = tables.part.c
    texts: dict[int, list[str]] = {}
    wanted = sa.select(part.trace_id, part.text).where(part.trace_id <= ORIGINALS)
    for id_, blob in connection.execute(wanted.order_by(part.trace_id, part.turn, part.number)):
        texts.setdefault(id_, []).append(text_from_bytes(from_blob(blob)))
    connection.exec_driver_sql("CREATE TEMP TABLE body (id INTEGER PRIMARY KEY, body TEXT)")
    bodies = [{"id": id_, "body": "\n\ue000\n".join(some)} for id_, some in texts.items()]
    connection.execute(sa.text("INSERT INTO body VALUES (:id, :body)"), bodies)
    body = f"CASE WHEN k < {old} THEN body ELSE replace(body, '{OLD} ', '') END"
    connection.exec_driver_sql(
        f"INSERT INTO search_text (rowid, body) SELECT id + k * {ORIGINALS}, {body} FROM copy, body ORDER BY k, id"
    )


def _copy_vectors(connection: sa.Connection, old: int) -> None:
    body = f"CASE WHEN k < {old} THEN body ELSE ts_delete(body, '{OLD}') END"
    connection.exec_driver_sql(
        "INSERT INTO search_text (trace_id, piece, body)"
        f" SELECT trace_id + k * {ORIGINALS}, piece, {body} FROM copy, search_text ORDER BY k, trace_id, piece"
    )
    connection.exec_driver_sql("SELECT setval(pg_get_serial_sequence('trace', 'id'), (SELECT max(id) FROM trace))")
