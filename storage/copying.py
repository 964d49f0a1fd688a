"""Copies traces from one database into another, SQLite or PostgreSQL, row by row, and compares the copies.

Each trace is copied in one transaction: its record, its inspection, its exchanges and its marks. So an interrupted copy
can be resumed: traces that the target already has are not copied again.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import sqlalchemy as sa
from msgspec import Struct

from weaklink.storage import tables
from weaklink.storage.checksums import DERIVED_COLUMNS, RECORD_COLUMNS
from weaklink.storage.record_rows import TraceExtent
from weaklink.storage.search import remove_from_index
from weaklink.storage.store import Store
from weaklink.storage.tables import Row, in_groups
from weaklink.storage.toolsets import copy_toolsets, toolset_hashes
from weaklink.storage.writing import delete_rows, insert_rows, insert_trace_rows, update_traces

_GROUP, _GROUP_CHARACTERS = 200, 8 << 20  # traces of one transaction, and about how many characters they have
_COPIED = (*tables.RECORD, *tables.DERIVED, tables.exchange)
_Rows: TypeAlias = dict[int, list[Row]]
"""Rows by the id of their trace in the source; the rows themselves have no `trace_id`."""


class CopyReport(Struct, frozen=True):
    """The result of a copy: counts of the source's traces, and problems.

    `present` traces were already in the target, in the same or a longer version; `replaced` ones in a shorter version.
    `running` traces are still being recorded and were left out; so were the valid access tokens (`tokens_left_out`),
    because a token is valid for one database only. `problems` are sentences about copies that differ from the original.
    """

    copied: int = 0
    replaced: int = 0
    present: int = 0
    running: int = 0
    tokens_left_out: int = 0
    problems: tuple[str, ...] = ()


def copy_traces(source: Store, target: Store, advance: Callable[[int], None] = lambda _: None) -> CopyReport:
    """Copy all traces that ended into another store, then compare each with its copy.

    A trace is copied with its inspection, marks and exchanges. It keeps its id if the target has not used that id or a
    higher one yet. Traces that the target already has are not copied again, so an interrupted copy can be resumed.
    `advance` is called with the number of traces that were copied or compared: each trace counts twice. Traces that
    were copied before a StoreError stay.
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
    tokens = sum(token.is_valid(time.time()) for token in source.tokens.all())
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
            stored = known.get(bytes(row["identity"]))
            if stored is None:
                last = new_ids[id_] = id_ if id_ > last else last + 1
                added.append({**row, "id": last})
            elif _is_longer(row, stored):
                new_ids[id_] = stored["id"]
                self._replace(stored["id"], row)
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
        """Delete the rows that the target has of a trace, except its marks, and update the trace's row."""
        remove_from_index(self._target, [id_])
        delete_rows(self._target, (*_COPIED, tables.search_pending), [id_])
        update_traces(self._target, [{**row, "trace_id": id_}])

    def _copy(self, table: sa.Table, new_ids: dict[int, int]) -> None:
        rows = _rows_of(self._source, table, list(new_ids))
        if table is tables.turn:
            self._copy_toolsets(rows)
        insert_rows(self._target, table, [(new_ids[id_], trace_rows) for id_, trace_rows in rows.items()])

    def _copy_toolsets(self, turns: _Rows) -> None:
        toolset_ids = {row["toolset_id"] for some in turns.values() for row in some} - {None}
        _set_toolsets(turns, copy_toolsets(self._source, self._target, toolset_ids))

    def _copy_marks(self, new_ids: dict[int, int]) -> None:
        """Copy the marks of turns and steps that have no mark in the target."""
        marked = {
            (id_, row["turn"], row["step"])
            for id_, some in _rows_of(self._target, tables.mark, list(new_ids.values())).items()
            for row in some
        }
        new = [
            {name: value for name, value in row.items() if name != "id"} | {"trace_id": new_ids[id_]}
            for id_, some in _rows_of(self._source, tables.mark, list(new_ids)).items()
            for row in some
            if (new_ids[id_], row["turn"], row["step"]) not in marked
        ]
        if new:
            self._target.execute(sa.insert(tables.mark), new)


def _trace_rows(connection: sa.Connection, ids: Sequence[int]) -> dict[int, Row]:
    """The rows of traces without their ids, by id."""
    rows: dict[int, Row] = {}
    for group in in_groups(ids):
        query = sa.select(tables.trace).where(tables.trace.c.id.in_(group)).order_by(tables.trace.c.id)
        for row in connection.execute(query).mappings():
            rows[row["id"]] = {name: value for name, value in row.items() if name != "id"}
    return rows


def _known(connection: sa.Connection, identities: Sequence[bytes]) -> dict[bytes, Row]:
    """The id, fingerprint and size of the traces with these identities, by identity."""
    trace = tables.trace.c
    columns = (trace.id, trace.identity, trace.fingerprint, trace.turns, trace.characters, trace.chunks)
    return {
        bytes(row["identity"]): dict(row)
        for group in in_groups(identities)
        for row in connection.execute(sa.select(*columns).where(trace.identity.in_(group))).mappings()
    }


def _counterparts(traces: dict[int, Row], known: dict[bytes, Row]) -> dict[int, int]:
    return {id_: known[key]["id"] for id_, row in traces.items() if (key := bytes(row["identity"])) in known}


def _is_longer(row: Row, stored: Row) -> bool:
    """Whether a trace differs from the stored one and is at least as long: the same rule as for imports."""
    extents = [TraceExtent(trace["turns"], trace["characters"], trace["chunks"]) for trace in (row, stored)]
    return bytes(row["fingerprint"]) != bytes(stored["fingerprint"]) and extents[0] >= extents[1]


def _rows_of(connection: sa.Connection, table: sa.Table, ids: Sequence[int]) -> _Rows:
    rows: _Rows = {}
    for group in in_groups(ids):
        query = sa.select(table).where(table.c.trace_id.in_(group)).order_by(*table.primary_key.columns)
        for row in connection.execute(query).mappings():
            values = {name: value for name, value in row.items() if name != "trace_id"}
            rows.setdefault(row["trace_id"], []).append(values)
    return rows


def _last_id(connection: sa.Connection) -> int:
    """The highest id that any trace of a database ever had."""
    if connection.dialect.name == "sqlite":
        last = connection.exec_driver_sql("SELECT seq FROM sqlite_sequence WHERE name = 'trace'").scalar()
    else:
        name = connection.exec_driver_sql("SELECT pg_get_serial_sequence('trace', 'id')").scalar_one()
        last = connection.exec_driver_sql(f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {name}").scalar()
    return int(last or 0)


def _set_last_id(connection: sa.Connection, before: int, last: int) -> None:
    """Let the next trace get an id after `last`; SQLite does this by itself."""
    if connection.dialect.name != "sqlite" and last > before:
        connection.exec_driver_sql(f"SELECT setval(pg_get_serial_sequence('trace', 'id'), {last})")


def _differences(source: sa.Connection, target: sa.Connection, ids: Sequence[int]) -> Iterator[str]:
    """A sentence for each trace that is missing in the target, or differs from its copy there.

    The target may have a longer version instead. Derived rows are compared only if the same version of weaklink wrote
    them.
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
        source_rows = _rows_of(source, table, list(compared))
        target_rows = _rows_of(target, table, list(compared.values()))
        if table is tables.turn:
            _name_toolsets(source, source_rows)
            _name_toolsets(target, target_rows)
        for id_, new_id in compared.items():
            if _comparable(source_rows.get(id_, ())) != _comparable(target_rows.get(new_id, ())):
                yield _difference(id_, new_id, table)


def _difference(id_: int, copy: int, table: sa.Table) -> str:
    return f"trace {id_} differs from its copy, trace {copy}, in its rows of the table `{table.name}`"


def _name_toolsets(connection: sa.Connection, turns: _Rows) -> None:
    """Replace the id of each set of tools, which differs between databases, with its hash."""
    _set_toolsets(
        turns, toolset_hashes(connection, {row["toolset_id"] for some in turns.values() for row in some} - {None})
    )


def _set_toolsets(turns: _Rows, replacements: Mapping[int, object]) -> None:
    for trace_rows in turns.values():
        for row in trace_rows:
            row["toolset_id"] = replacements.get(row["toolset_id"])


def _comparable(rows: Sequence[Row]) -> list[tuple[Any, ...]]:
    """Rows as plain values, in an order that does not depend on how a database sorts text."""
    return sorted((tuple(map(_plain, row.values())) for row in rows), key=repr)


def _plain(value: object) -> object:
    return bytes(value) if isinstance(value, memoryview) else value
