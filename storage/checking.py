"""Looks through a whole database for damage: the file itself, and every trace with all that is derived from it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

import sqlalchemy as sa
from sqlalchemy import exc

from inspector.errors import StoreError
from inspector.inspection import Inspection
from inspector.model import Trace
from inspector.version import __version__
from storage import tables
from storage.checksums import CHECKED_COLUMNS, RECORD_COLUMNS, check_row
from storage.derived_rows import DerivedRows, derived_rows
from storage.failures import DAMAGED, reading
from storage.location import DatabaseLocation
from storage.packing.blobs import from_blob
from storage.packing.sums import unpack_sums
from storage.reading import NOT_INSPECTED, read_inspection, read_trace
from storage.record_rows import RecordRows, record_rows
from storage.rows import Row
from storage.summaries import row_of
from storage.toolsets import load_toolsets

_MOST_OF_FILE = 100  # problems that SQLite lists
_TURN_COLUMNS = (
    *("number", "role", "requested_model", "answered_model", "finish"),
    *("started_at_s", "ended_at_s", "input_tokens", "output_tokens"),
)


@dataclass(frozen=True, slots=True)
class IntegrityReport:
    """What a check found: `problems` are sentences, none where all is as it was written.

    `without_checksums` of the `traces` were stored before there were any, `outdated` were inspected by another version
    of weaklink, so that what is derived from them was not compared.
    """

    problems: tuple[str, ...]
    traces: int
    turns: int
    toolsets: int
    without_checksums: int
    outdated: int


def check_database(
    connection: sa.Connection, place: DatabaseLocation, advance: Callable[[int], None]
) -> IntegrityReport:
    """Check everything; `advance` is called with 1 behind each trace. StoreError where too little can be read."""
    problems = list(_of_file(connection))
    try:
        return _of_all(connection, place, advance, problems)
    except exc.DatabaseError as error:
        if not problems:
            raise
        return IntegrityReport((*problems, f"the rest cannot be read: {error.orig}"), 0, 0, 0, 0, 0)


def _of_all(
    connection: sa.Connection, place: DatabaseLocation, advance: Callable[[int], None], problems: list[str]
) -> IntegrityReport:
    ids = list(connection.scalars(sa.select(tables.trace.c.id).order_by(tables.trace.c.id)))
    running = set(connection.scalars(sa.select(tables.live.c.trace_id)))
    without = outdated = turns = 0
    for id_ in ids:
        found = _OfTrace(connection, place, id_, is_running=id_ in running)
        problems += found.problems
        without += found.has_no_checksums
        outdated += found.is_outdated
        turns += found.turns
        advance(1)
    toolsets = connection.execute(sa.select(tables.toolset.c.id, tables.toolset.c.hash)).all()
    problems += chain.from_iterable(_of_toolset(connection, *one) for one in toolsets)
    problems += _of_rollups(connection)
    return IntegrityReport(tuple(problems), len(ids), turns, len(toolsets), without, outdated)


def _of_file(connection: sa.Connection) -> Iterator[str]:
    """What the database says of its own pages and indexes, and rows that belong to nothing."""
    if connection.dialect.name != "sqlite":
        return  # a server checks its pages itself, where it was set up with checksums
    for (sentence,) in connection.exec_driver_sql(f"PRAGMA integrity_check({_MOST_OF_FILE})"):
        if sentence != "ok":
            yield f"the file: {sentence}"
    for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(_MOST_OF_FILE):
        yield f"the file: row {row} of table {table} belongs to a row of {parent} that is not there"


class _OfTrace:
    """What is wrong with one trace."""

    def __init__(self, connection: sa.Connection, place: DatabaseLocation, id_: int, *, is_running: bool) -> None:
        self._connection, self._place, self._id = connection, place, id_
        self.problems: list[str] = []
        self.has_no_checksums = self.is_outdated = False
        self.turns = 0
        try:
            self._check(is_running=is_running)
        except StoreError as error:
            self.problems.append(str(error).removeprefix(f"{place}: "))
        except exc.SQLAlchemyError as error:
            self.problems.append(f"trace {id_} cannot be read: {getattr(error, 'orig', error)}")

    def _check(self, *, is_running: bool) -> None:
        with reading(self._place, f"trace {self._id}"):
            row = row_of(self._connection, self._id)
            self.has_no_checksums = row["record_checksum"] is None
            check_row([*(row[name] for name in CHECKED_COLUMNS), row["digest"]])
            trace = read_trace(self._connection, self._id)
            self.turns = len(trace.turns)
            self._compare_record(trace)
        with reading(self._place, f"the inspection of trace {self._id}"):
            inspection = read_inspection(self._connection, self._id, trace)
        version = self._connection.scalar(
            sa.select(tables.trace.c.inspector_version).where(tables.trace.c.id == self._id)
        )
        self.is_outdated = version not in (__version__, NOT_INSPECTED)
        if not is_running and not self.is_outdated:
            self._compare_derived(inspection, trace)

    def _compare_record(self, trace: Trace) -> None:
        """The rows that lists and filters read, beside the record that they come from."""
        record: RecordRows = record_rows(trace)
        self._compare(tables.turn, [{name: turn[name] for name in _TURN_COLUMNS} for turn in record.turns])
        self._compare(tables.external_id, record.external_ids)
        if not self.has_no_checksums:
            kept = row_of(self._connection, self._id)
            names = [name for name in RECORD_COLUMNS if name not in ("facts", "provenance", "turns_checksum")]
            if any(kept[name] != record.trace[name] for name in names):
                self.problems.append(f"trace {self._id}: what lists show of it is not what its record says")

    def _compare_derived(self, inspection: Inspection, trace: Trace) -> None:
        made: DerivedRows = derived_rows(inspection, trace)
        for table, rows in (
            *((tables.call, made.calls), (tables.diagnostic, made.diagnostics), (tables.trace_tool, made.tools)),
            *((tables.trace_code, made.codes), (tables.argument, made.arguments), (tables.figures, [made.figures])),
            (tables.violation, made.violations),
        ):
            self._compare(table, rows)

    def _compare(self, table: sa.Table, rows: list[Row]) -> None:
        """A problem where a table's rows of the trace are not these, in whatever order."""
        names = list(rows[0]) if rows else [column.name for column in table.primary_key.columns]
        kept = self._connection.execute(
            sa.select(*(table.c[name] for name in names)).where(table.c.trace_id == self._id)
        )
        if sorted(map(repr, map(tuple, kept))) != sorted(repr(tuple(row[name] for name in names)) for row in rows):
            self.problems.append(
                f"trace {self._id}: its rows in the table `{table.name}` are not those that were written; "
                f"`weaklink reinspect {self._id}` writes what is derived again"
            )


def _of_toolset(connection: sa.Connection, id_: int, digest: bytes) -> Iterator[str]:
    try:
        load_toolsets(connection, {id_: digest})
    except DAMAGED as error:
        yield f"the set of tools {id_}: {error}"


def _of_rollups(connection: sa.Connection) -> Iterator[str]:
    for row in connection.execute(sa.select(tables.rollup)):
        try:
            unpack_sums(from_blob(row.body))
        except DAMAGED as error:
            yield f"the sums of block {row.block} for `{row.question[:80]}`: {error}"
