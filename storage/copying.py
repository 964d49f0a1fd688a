"""Copies traces from one database into another, SQLite or PostgreSQL, row by row, and compares the copies.

A trace is copied whole, in one transaction: its record, its inspection, its exchanges and its marks. So a copy that
was interrupted goes on where it stopped: what is there already is not copied again.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import sqlalchemy as sa
from msgspec import Struct

from storage import tables
from storage.checksums import DERIVED_COLUMNS, RECORD_COLUMNS
from storage.record_rows import TraceExtent
from storage.search import remove_from_index
from storage.store import Store
from storage.tables import Row, in_groups
from storage.toolsets import copy_toolsets, toolset_hashes
from storage.writing import delete_rows, insert_rows, insert_trace_rows, update_traces

_GROUP, _GROUP_CHARACTERS = 200, 8 << 20  # traces of one transaction, and about how many characters they have
_COPIED = (*tables.RECORD, *tables.DERIVED, tables.exchange)
_Rows: TypeAlias = dict[int, list[Row]]
"""Rows by the id of their trace in the source, without it."""


class CopyReport(Struct, frozen=True):
    """What became of the traces of the source.

    `present` were in the target already, as they are or in a longer version; `replaced` in a shorter one. `running`
    are still being recorded, and were left out; so were the valid access tokens, for a token opens one database alone.
    `problems` are sentences about copies that are not like their original.
    """

    copied: int = 0
    replaced: int = 0
    present: int = 0
    running: int = 0
    tokens_left_out: int = 0
    problems: tuple[str, ...] = ()


def copy_traces(source: Store, target: Store, advance: Callable[[int], None] = lambda _: None) -> CopyReport:
    """Copy all traces that ended into another store, then compare each with its copy.

    A trace comes with its inspection, marks and exchanges, and keeps its id where the target never gave it to another.
    What the target has already is not copied again, so a copy that was interrupted can be continued. `advance` is
    called with the number of traces that were copied or compared: each counts twice. What was copied before a
    StoreError stays.
    """
    trace = tables.trace.c
    copied = replaced = present = 0
    problems: list[str] = []
    with source._database.reading() as reader:  # noqa: SLF001  # rows never leave this package
        running = set(reader.scalars(sa.select(tables.live.c.trace_id)))
        sizes = reader.execute(sa.select(trace.id, trace.characters).order_by(trace.id)).all()
        groups = list(_groups([(id_, size) for id_, size in sizes if id_ not in running]))
        for group in groups:
            with target._database.writing() as writer:  # noqa: SLF001
                done = _CopiedGroup(reader, writer, group)
            copied, replaced, present = copied + done.copied, replaced + done.replaced, present + done.present
            advance(len(group))
        for group in groups:
            with target._database.reading() as copies:  # noqa: SLF001
                problems += _differences(reader, copies, group)
            advance(len(group))
    target.statistics.sum_pending()
    tokens = sum(one.is_valid(time.time()) for one in source.tokens.all())
    return CopyReport(copied, replaced, present, len(running), tokens, tuple(problems))


def _groups(sizes: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    group: list[int] = []
    characters = 0
    for id_, size in sizes:
        group.append(id_)
        characters += size
        if len(group) == _GROUP or characters >= _GROUP_CHARACTERS:
            yield group
            group, characters = [], 0
    if group:
        yield group


class _CopiedGroup:
    """The copy of some traces in one transaction of the target."""

    def __init__(self, source: sa.Connection, target: sa.Connection, ids: Sequence[int]) -> None:
        self._source, self._target = source, target
        self.copied = self.replaced = self.present = 0
        traces = _trace_rows(source, ids)
        known = _known(target, [bytes(row["identity"]) for row in traces.values()])
        new_ids: dict[int, int] = {}
        added: list[Row] = []
        last = last_id = _last_id(target)
        for id_, row in traces.items():
            held = known.get(bytes(row["identity"]))
            if held is None:
                last = new_ids[id_] = id_ if id_ > last else last + 1
                added.append({**row, "id": last})
            elif _is_longer(row, held):
                new_ids[id_] = held["id"]
                self._replace(held["id"], row)
            else:
                self.present += 1
        self.copied, self.replaced = len(added), len(new_ids) - len(added)
        if added:
            insert_trace_rows(target, added)
            _set_last_id(target, last_id, last)
        for table in _COPIED:
            self._copy(table, new_ids)
        insert_rows(target, tables.search_pending, [(new_id, [{}]) for new_id in new_ids.values()])
        self._copy_marks(_counterparts(traces, known) | new_ids)

    def _replace(self, id_: int, row: Row) -> None:
        """Take away what the target has of a trace, but its marks; its row gets the new values."""
        remove_from_index(self._target, [id_])
        delete_rows(self._target, (*_COPIED, tables.search_pending), [id_])
        update_traces(self._target, [{**row, "trace_id": id_}])

    def _copy(self, table: sa.Table, new_ids: dict[int, int]) -> None:
        rows = _rows_of(self._source, table, list(new_ids))
        if table is tables.turn:
            self._copy_toolsets(rows)
        insert_rows(self._target, table, [(new_ids[id_], some) for id_, some in rows.items()])

    def _copy_toolsets(self, turns: _Rows) -> None:
        wanted = {row["toolset_id"] for some in turns.values() for row in some} - {None}
        _set_toolsets(turns, copy_toolsets(self._source, self._target, wanted))

    def _copy_marks(self, new_ids: dict[int, int]) -> None:
        """Marks at places where the target has none."""
        there = {
            (id_, row["turn"], row["step"])
            for id_, some in _rows_of(self._target, tables.mark, list(new_ids.values())).items()
            for row in some
        }
        new = [
            {name: value for name, value in row.items() if name != "id"} | {"trace_id": new_ids[id_]}
            for id_, some in _rows_of(self._source, tables.mark, list(new_ids)).items()
            for row in some
            if (new_ids[id_], row["turn"], row["step"]) not in there
        ]
        if new:
            self._target.execute(sa.insert(tables.mark), new)


def _trace_rows(connection: sa.Connection, ids: Sequence[int]) -> dict[int, Row]:
    """The rows of traces without their ids, by id."""
    found: dict[int, Row] = {}
    for group in in_groups(ids):
        wanted = sa.select(tables.trace).where(tables.trace.c.id.in_(group)).order_by(tables.trace.c.id)
        for row in connection.execute(wanted).mappings():
            found[row["id"]] = {name: value for name, value in row.items() if name != "id"}
    return found


def _known(connection: sa.Connection, identities: Sequence[bytes]) -> dict[bytes, Row]:
    """What a database holds of traces with these identities, by identity."""
    trace = tables.trace.c
    columns = (trace.id, trace.identity, trace.fingerprint, trace.turns, trace.characters, trace.chunks)
    return {
        bytes(row["identity"]): dict(row)
        for group in in_groups(identities)
        for row in connection.execute(sa.select(*columns).where(trace.identity.in_(group))).mappings()
    }


def _counterparts(traces: dict[int, Row], known: dict[bytes, Row]) -> dict[int, int]:
    return {id_: known[key]["id"] for id_, row in traces.items() if (key := bytes(row["identity"])) in known}


def _is_longer(row: Row, held: Row) -> bool:
    """Whether a trace is another than the one that is there, and holds as much or more, as when it is imported."""
    extents = [TraceExtent(one["turns"], one["characters"], one["chunks"]) for one in (row, held)]
    return bytes(row["fingerprint"]) != bytes(held["fingerprint"]) and extents[0] >= extents[1]


def _rows_of(connection: sa.Connection, table: sa.Table, ids: Sequence[int]) -> _Rows:
    found: _Rows = {}
    for group in in_groups(ids):
        wanted = sa.select(table).where(table.c.trace_id.in_(group)).order_by(*table.primary_key.columns)
        for row in connection.execute(wanted).mappings():
            values = {name: value for name, value in row.items() if name != "trace_id"}
            found.setdefault(row["trace_id"], []).append(values)
    return found


def _last_id(connection: sa.Connection) -> int:
    """The highest id that any trace of a database ever had."""
    if connection.dialect.name == "sqlite":
        found = connection.exec_driver_sql("SELECT seq FROM sqlite_sequence WHERE name = 'trace'").scalar()
    else:
        name = connection.exec_driver_sql("SELECT pg_get_serial_sequence('trace', 'id')").scalar_one()
        found = connection.exec_driver_sql(
            f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {name}"
        ).scalar()
    return int(found or 0)


def _set_last_id(connection: sa.Connection, before: int, last: int) -> None:
    """Let the next trace get an id behind `last`; SQLite sees to that itself."""
    if connection.dialect.name != "sqlite" and last > before:
        connection.exec_driver_sql(f"SELECT setval(pg_get_serial_sequence('trace', 'id'), {last})")


def _differences(source: sa.Connection, target: sa.Connection, ids: Sequence[int]) -> Iterator[str]:
    """A sentence for each trace that is not in the target as it is in the source.

    A longer version of it may be there instead. What is derived is compared where the same weaklink derived it.
    """
    traces = _trace_rows(source, ids)
    known = _known(target, [bytes(row["identity"]) for row in traces.values()])
    new_ids = _counterparts(traces, known)
    copies = _trace_rows(target, list(new_ids.values()))
    same: dict[int, int] = {}
    inspected: dict[int, int] = {}
    for id_, row in traces.items():
        if id_ not in new_ids:
            yield f"trace {id_} is not in the copy"
            continue
        copy = copies[new_ids[id_]]
        if bytes(copy["fingerprint"]) != bytes(row["fingerprint"]):
            continue
        same[id_] = new_ids[id_]
        names: tuple[str, ...] = RECORD_COLUMNS
        if copy["inspector_version"] == row["inspector_version"]:
            inspected[id_] = new_ids[id_]
            names += DERIVED_COLUMNS
        if any(_plain(row[name]) != _plain(copy[name]) for name in names):
            yield _difference(id_, new_ids[id_], tables.trace)
    for table in _COPIED:
        compared = inspected if table in tables.DERIVED else same
        own = _rows_of(source, table, list(compared))
        other = _rows_of(target, table, list(compared.values()))
        if table is tables.turn:
            _name_toolsets(source, own)
            _name_toolsets(target, other)
        for id_, new_id in compared.items():
            if _comparable(own.get(id_, ())) != _comparable(other.get(new_id, ())):
                yield _difference(id_, new_id, table)


def _difference(id_: int, copy: int, table: sa.Table) -> str:
    return f"trace {id_} differs from its copy, trace {copy}, in its rows of the table `{table.name}`"


def _name_toolsets(connection: sa.Connection, turns: _Rows) -> None:
    """Put the hash of a set of tools in the place of its id, which is another in every database."""
    _set_toolsets(
        turns, toolset_hashes(connection, {row["toolset_id"] for some in turns.values() for row in some} - {None})
    )


def _set_toolsets(turns: _Rows, instead: Mapping[int, object]) -> None:
    for some in turns.values():
        for row in some:
            row["toolset_id"] = instead.get(row["toolset_id"])


def _comparable(rows: Sequence[Row]) -> list[tuple[Any, ...]]:
    """Rows as plain values, in an order that does not depend on how a database sorts text."""
    return sorted((tuple(map(_plain, row.values())) for row in rows), key=repr)


def _plain(value: object) -> object:
    return bytes(value) if isinstance(value, memoryview) else value
