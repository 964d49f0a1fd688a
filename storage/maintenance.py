"""Store maintenance: counting, inspecting again, deleting old traces, checking the database for damage.

Theory of the check. Damage is looked for from the bottom upwards, and what rests on something damaged is not compared,
so that each is reported once, by the sentence that says what helps:

1. The file: SQLite's own check of its pages and indexes; rows that refer to a trace that does not exist.
2. The record of each trace: the checksums of its texts, chunks, turns and row (`salvage`), and its recorded requests.
3. The rows that lists and filters read: those of the record are computed again from it and compared; those of the
   inspection too, if this version of weaklink made it and the trace is not being recorded.
4. The sets of tools, which traces share, by their hashes.

A changed number of a turn is found in step 3: `trace 7: its rows in the table `turn` do not match its data; `weaklink
db repair 7` rebuilds them`. A changed text fails its checksum in step 2, and nothing can rebuild it.

Inspecting again takes seconds for a few traces, and recorders write meanwhile. So `reinspect` reads and inspects
without the writers' lock, then takes it, and inspects once more only those traces whose record changed in between.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy import exc

from weaklink.inspector.errors import StoreError
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.model import Trace
from weaklink.inspector.model.trace import EXPERIMENT_SOURCES
from weaklink.inspector.version import __version__
from weaklink.storage import engine, tables
from weaklink.storage.checksums import RECORD_COLUMNS
from weaklink.storage.derived_rows import DerivedRows, derived_rows
from weaklink.storage.exchanges import damaged_exchanges
from weaklink.storage.liveness import with_openness
from weaklink.storage.reading import NOT_INSPECTED, find_id
from weaklink.storage.record_rows import RecordRows, record_rows
from weaklink.storage.repair import (
    RepairReport,
    derived_tables,
    repair_toolsets,
    repair_trace,
    same_rows,
)
from weaklink.storage.salvage import damage_of_row, read_stored, read_stored_inspection
from weaklink.storage.summaries import row_of
from weaklink.storage.tables import Row, in_groups
from weaklink.storage.toolsets import drop_unused_toolsets, load_toolsets
from weaklink.storage.writing import delete_traces, rewrite_derived

_OF_0_2_0 = "it is intact, but the checksum of its turns is one that weaklink 0.2.0 computed incorrectly"
_MAX_FILE_PROBLEMS = 100  # maximum number of problems that SQLite lists

_TURN_COLUMNS = (
    *("number", "role", "requested_model", "answered_model", "finish"),
    *("started_at_s", "ended_at_s", "input_tokens", "output_tokens"),
)

_age = sa.func.coalesce(tables.trace.c.started_at_s, tables.trace.c.imported_at_s)
_TURN_CHARACTERS = 500  # size of a turn besides its text, in characters
_INSPECTED = 20  # traces whose new inspections are written in one transaction


class StoreStats(Struct, frozen=True):
    """Counts over a whole store. `outdated` is the number of traces that another version of weaklink inspected.

    `experiments` of the traces are answers to experiments, which lists and sums leave out.
    """

    traces: int
    experiments: int
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
    """The counts over the whole store; `version` is the version of the running weaklink."""
    trace = tables.trace.c
    sums = [sa.func.coalesce(sa.func.sum(column), 0) for column in _SUMMED]
    counted = connection.execute(sa.select(sa.func.count(), *sums).select_from(tables.trace)).one()
    traces, turns, characters, chunks, tool_calls, errors = map(int, counted)
    statuses = connection.execute(sa.select(trace.status, sa.func.count()).group_by(trace.status))
    return StoreStats(
        traces=traces,
        experiments=count_rows(connection, tables.trace, trace.source.in_(EXPERIMENT_SOURCES)),
        turns=turns,
        characters=characters,
        chunks=chunks,
        tool_calls=tool_calls,
        errors=errors,
        tools=count_rows(connection, tables.tool),
        by_status=dict(statuses.all()),
        not_indexed=count_rows(connection, tables.search_pending),
        outdated=count_rows(connection, tables.trace, trace.inspector_version.not_in((version, NOT_INSPECTED))),
        size_bytes=engine.size_bytes(connection),
    )


class _NewInspection(Struct, frozen=True):
    """The derived rows of a trace, and which version of its record they are of."""

    id: int
    version: tuple[object, ...]
    sort_at_s: float
    derived: DerivedRows


_VERSION = [
    tables.trace.c[name]
    for name in ("fingerprint", "record_checksum", "turns_checksum", "turns", "characters", "chunks")
]


def _versions(connection: sa.Connection, ids: Sequence[int]) -> dict[int, tuple[float, tuple[object, ...]]]:
    """The time by which lists sort each trace, and columns that differ if its record does."""
    trace = tables.trace.c
    rows = connection.execute(sa.select(trace.id, trace.sort_at_s, *_VERSION).where(trace.id.in_(ids)))
    return {id_: (at_s, tuple(version)) for id_, at_s, *version in map(tuple, rows)}


def _inspect(
    connection: sa.Connection,
    location: engine.DatabaseLocation,
    inspect: Callable[[Trace], Inspection],
    ids: Sequence[int],
    on_damaged: Callable[[StoreError], None] | None,
) -> Iterator[_NewInspection]:
    """Inspect each of these traces, except the damaged ones."""
    for id_, (at_s, version) in _versions(connection, ids).items():
        stored = read_stored(connection, id_)
        if stored.damage:
            error = StoreError(f"{location}: trace {id_} is damaged: {stored.damage[0]}")
            if on_damaged is None:
                raise error
            on_damaged(error)
            continue
        trace = stored.trace
        yield _NewInspection(id_, version, at_s, derived_rows(inspect(with_openness(connection, id_, trace)), trace))


class Retention(Struct, frozen=True):
    """Which traces to delete: those before a time, and the oldest ones while the database is larger than `max_bytes`.

    `before_s` is in seconds since 1970-01-01 UTC; a trace whose source gave no time is as old as its import.
    `keep_broken` keeps all broken traces; `keep_ok` also keeps this share (0 to 1) of the others, the same ones every
    time. Traces that are still being recorded stay.
    """

    before_s: float | None = None
    max_bytes: int | None = None
    keep_broken: bool = False
    keep_ok: float = 0.0


def doomed_traces(connection: sa.Connection, retention: Retention) -> list[int]:
    """The ids of the traces to delete, the oldest first."""
    trace = tables.trace.c
    query = sa.select(trace.id, trace.identity, trace.characters + _TURN_CHARACTERS * trace.turns, _age)
    query = query.where(trace.id.not_in(sa.select(tables.live.c.trace_id))).order_by(_age, trace.id)
    if retention.keep_broken or retention.keep_ok:
        query = query.where(trace.status != "broken")
    if retention.before_s is not None and retention.max_bytes is None:
        query = query.where(_age < retention.before_s)
    surplus = _surplus(connection, retention.max_bytes)
    doomed: list[int] = []
    for id_, identity, weight, age_s in connection.execute(query):
        is_old = retention.before_s is not None and age_s < retention.before_s
        if (is_old or surplus > 0) and int.from_bytes(identity[:4], "big") >= retention.keep_ok * 2**32:
            doomed.append(id_)
            surplus -= weight
    return doomed


def _surplus(connection: sa.Connection, max_bytes: int | None) -> float:
    """About how many characters to delete so that the database takes at most `max_bytes`."""
    if max_bytes is None:
        return 0.0
    size = engine.used_bytes(connection)
    trace = tables.trace.c
    weight = connection.scalar(sa.select(sa.func.sum(trace.characters + _TURN_CHARACTERS * trace.turns))) or 0
    return float(weight) * max(size - max_bytes, 0) / max(size, 1)


_SUMMED = tuple(tables.trace.c[name] for name in ("turns", "characters", "chunks", "tool_calls", "errors"))


def count_rows(connection: sa.Connection, table: sa.Table, *conditions: sa.ColumnElement[bool]) -> int:
    """The number of rows of a table that match the conditions."""
    return connection.scalar(sa.select(sa.func.count()).select_from(table).where(*conditions)) or 0


class IntegrityReport(Struct, frozen=True):
    """The result of a check: `problems` are sentences; empty if nothing is damaged.

    `without_checksums` is the number of traces that were stored before there were checksums. `outdated` is the number
    that another version of weaklink inspected; their derived rows were not compared.
    """

    problems: tuple[str, ...]
    traces: int
    turns: int
    toolsets: int
    without_checksums: int
    outdated: int


def check_database(
    connection: sa.Connection, location: engine.DatabaseLocation, advance: Callable[[int], None]
) -> IntegrityReport:
    """Check everything; call `advance` with 1 after each trace. Raises StoreError if too little can be read."""
    problems = list(_check_file(connection))
    try:
        return _check_all(connection, location, advance, problems)
    except exc.DatabaseError as error:
        if not problems:
            raise
        return IntegrityReport((*problems, f"cannot read the rest: {error.orig}"), 0, 0, 0, 0, 0)


def _check_all(
    connection: sa.Connection, location: engine.DatabaseLocation, advance: Callable[[int], None], problems: list[str]
) -> IntegrityReport:
    ids = list(connection.scalars(sa.select(tables.trace.c.id).order_by(tables.trace.c.id)))
    running = set(connection.scalars(sa.select(tables.live.c.trace_id)))
    without = outdated = turns = 0
    for id_ in ids:
        check = _TraceCheck(connection, location, id_, is_running=id_ in running)
        problems += check.problems
        without += check.has_no_checksums
        outdated += check.is_outdated
        turns += check.turns
        advance(1)
    toolsets = connection.execute(sa.select(tables.toolset.c.id, tables.toolset.c.hash)).all()
    problems += chain.from_iterable(_check_toolset(connection, *toolset) for toolset in toolsets)
    return IntegrityReport(tuple(problems), len(ids), turns, len(toolsets), without, outdated)


def _check_file(connection: sa.Connection) -> Iterator[str]:
    """Problems that the database finds in its own pages and indexes, and rows without a parent row."""
    if connection.dialect.name != "sqlite":  # a server checks its pages itself, if it was set up with checksums
        for name in (*(table.name for table in tables.ROWS_OF_TRACES), "search_text"):
            query = f'SELECT count(*) FROM "{name}" AS one WHERE NOT EXISTS (SELECT FROM trace WHERE id = one.trace_id)'
            if count := connection.exec_driver_sql(query).scalar_one():
                rows = "1 row" if count == 1 else f"{count:,} rows"
                verb = "refers" if count == 1 else "refer"
                yield f"{rows} of the table `{name}` {verb} to traces that do not exist"
        return
    for (sentence,) in connection.exec_driver_sql(f"PRAGMA integrity_check({_MAX_FILE_PROBLEMS})"):
        if sentence != "ok":
            yield f"database file: {sentence}"
    for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(_MAX_FILE_PROBLEMS):
        yield f"database file: row {row} of table {table} refers to a row of {parent} that does not exist"


class _TraceCheck:
    """The check of one trace, and the problems it found."""

    def __init__(
        self, connection: sa.Connection, location: engine.DatabaseLocation, id_: int, *, is_running: bool
    ) -> None:
        self._connection, self._id = connection, id_
        self.problems: list[str] = []
        self.has_no_checksums = self.is_outdated = False
        self.turns = 0
        try:
            self._check(is_running=is_running)
        except StoreError as error:
            self.problems.append(str(error).removeprefix(f"{location}: "))
        except exc.SQLAlchemyError as error:
            self.problems.append(f"cannot read trace {id_}: {getattr(error, 'orig', error)}")

    def _check(self, *, is_running: bool) -> None:
        id_ = self._id
        row = row_of(self._connection, id_)
        self.has_no_checksums = row["record_checksum"] is None
        stored = read_stored(self._connection, id_)
        self.turns = len(stored.trace.turns)
        self.problems += [f"trace {id_}: {sentence.rstrip('.')}" for sentence in stored.damage]
        if stored.has_former_sum:
            self.problems.append(f"trace {id_}: {_OF_0_2_0}; `weaklink db repair {id_}` updates it")
        if damage := damage_of_row(self._connection, id_):
            self.problems.append(f"trace {id_}: {damage.rstrip('.')}")
        if stored.is_complete and not stored.damage:
            self._compare_record(stored.trace, row)
        inspection, damage = read_stored_inspection(self._connection, id_, stored)
        if damage:
            self.problems.append(f"trace {id_}: {damage.rstrip('.')}")
        self.problems += damaged_exchanges(self._connection, id_)
        trace = tables.trace.c
        version, certainty = self._connection.execute(
            sa.select(trace.inspector_version, trace.certainty).where(trace.id == id_)
        ).one()
        has_all_columns = certainty != ""  # migration v0018 leaves some empty until the trace is inspected again
        self.is_outdated = version != NOT_INSPECTED and not (version == __version__ and has_all_columns)
        if not is_running and not self.is_outdated and not damage and not stored.damage:
            for table, rows in derived_tables(derived_rows(inspection, stored.trace)):
                self._compare(table, rows)

    def _compare_record(self, trace: Trace, row: sa.RowMapping) -> None:
        """Compare the rows that lists and filters read with the record that they come from."""
        record: RecordRows = record_rows(trace)
        self._compare(tables.turn, [{name: turn[name] for name in _TURN_COLUMNS} for turn in record.turns])
        self._compare(tables.external_id, record.external_ids)
        if not self.has_no_checksums:
            names = [name for name in RECORD_COLUMNS if name not in ("facts", "provenance", "turns_checksum")]
            if any(row[name] != record.trace[name] for name in names):
                self.problems.append(f"trace {self._id}: its row in the table `trace` differs from its record")

    def _compare(self, table: sa.Table, rows: list[Row]) -> None:
        """Add a problem if the trace's rows in this table are not these, in any order."""
        if not same_rows(self._connection, table, self._id, rows):
            self.problems.append(
                f"trace {self._id}: its rows in the table `{table.name}` do not match its data; "
                f"`weaklink db repair {self._id}` rebuilds them"
            )


def _check_toolset(connection: sa.Connection, id_: int, digest: bytes) -> Iterator[str]:
    try:
        load_toolsets(connection, {id_: digest})
    except engine.DAMAGE_ERRORS as error:
        yield f"tool set {id_}: {error}"


class Maintenance:
    """Operations on a whole store: `Store.maintenance`. They raise the same errors as `Store`."""

    def __init__(self, database: engine.Database) -> None:
        self._database = database

    def reinspect(
        self,
        inspect: Callable[[Trace], Inspection],
        ids: Iterable[int | str] | None = None,
        *,
        on_damaged: Callable[[StoreError], None] | None = None,
    ) -> int:
        """Inspect traces again, all of them without `ids`, and store the result; the number of traces inspected.

        Others write meanwhile; a trace that one of them changed is inspected once more, while they wait. A damaged
        trace stays as it is, and `on_damaged` is called with its StoreError; without it the error is raised.
        """
        done = 0
        with self._database.reading() as connection:
            all_ids = sa.select(tables.trace.c.id).order_by(tables.trace.c.id)
            selected = list(connection.scalars(all_ids)) if ids is None else [find_id(connection, id_) for id_ in ids]
        for group in in_groups(selected, _INSPECTED):
            with self._database.reading() as connection:
                inspected = list(_inspect(connection, self._database.location, inspect, group, on_damaged))
            with self._database.writing() as connection:
                now = _versions(connection, group)
                changed = [trace.id for trace in inspected if trace.id in now and now[trace.id][1] != trace.version]
                inspected = [trace for trace in inspected if trace.id in now and trace.id not in changed]
                inspected += _inspect(connection, self._database.location, inspect, changed, on_damaged)
                rewrite_derived(connection, [(trace.id, trace.sort_at_s, trace.derived) for trace in inspected])
            done += len(inspected)
        return done

    def ended_ids(self) -> list[int]:
        """The ids of all traces that are not being recorded, in order."""
        trace = tables.trace.c
        running = sa.select(tables.live.c.trace_id)
        with self._database.reading() as connection:
            return list(connection.scalars(sa.select(trace.id).where(trace.id.not_in(running)).order_by(trace.id)))

    def count_to_prune(self, retention: Retention) -> int:
        """The number of traces that `prune` would delete."""
        with self._database.reading() as connection:
            return len(doomed_traces(connection, retention))

    def prune(self, retention: Retention) -> int:
        """Delete the traces that `retention` selects; the number of traces deleted."""
        with self._database.writing() as connection:
            ids = doomed_traces(connection, retention)
            delete_traces(connection, ids)
            drop_unused_toolsets(connection)
        return len(ids)

    def stats(self) -> StoreStats:
        """The counts over the whole store."""
        with self._database.reading() as connection:
            return stats_of(connection, version=__version__)

    def check(self, advance: Callable[[int], None] = lambda _: None) -> IntegrityReport:
        """Check everything for damage; call `advance` with 1 after each trace."""
        with self._database.reading() as connection:
            return check_database(connection, self._database.location, advance)

    def repair(
        self,
        inspect: Callable[[Trace], Inspection],
        ids: Iterable[int | str] | None = None,
        advance: Callable[[int], None] = lambda _: None,
    ) -> RepairReport:
        """Rebuild what can be rebuilt of damaged traces, all of them without `ids`; see `storage.repair`.

        Calls `advance` with 1 after each trace. Each trace is repaired in its own transaction.
        """
        with self._database.writing() as connection:
            repair_toolsets(connection)
        with self._database.reading() as connection:
            all_ids = sa.select(tables.trace.c.id).order_by(tables.trace.c.id)
            selected = list(connection.scalars(all_ids)) if ids is None else [find_id(connection, id_) for id_ in ids]
        repaired: list[str] = []
        left: list[str] = []
        for id_ in selected:
            with self._database.writing() as connection:
                done, not_done = repair_trace(connection, inspect, id_)
            repaired += done
            left += not_done
            advance(1)
        return RepairReport(tuple(repaired), tuple(left))

    def back_up(self, file: Path) -> None:
        """Copy the database into a new file while others may write to it; raises StoreError for a server database."""
        engine.back_up(self._database.location, file)

    def vacuum(self) -> None:
        """Free the space that deleted traces took."""
        with engine.database_errors(self._database.location):
            engine.vacuum(self._database.engine)
