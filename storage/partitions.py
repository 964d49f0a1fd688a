"""Partitions by time, on PostgreSQL: the tables with the rows of traces are split by the trace's id.

Theory of operation. Ids count traces in the order of their arrival, so a range of ids is a range of time. Partition `n`
of each of `PARTITIONED` has the rows of traces whose ids are from `n * STEP` up to `(n + 1) * STEP`; the first one also
has all lower ids. Every key contains the trace's id, so no table needs another column, and a query by id reads one
partition.

Before new traces get their ids, `prepare_ids` reads the newest trace. If that trace arrived in an earlier period (a
week, or the number of days in the database's setting `weaklink.partition_days`) and its partition has enough traces to
justify a separate table, the sequence of ids is advanced to the next partition. A period with more traces than a
partition has ids takes several partitions. The bounds are known in advance, so `AHEAD` empty partitions always exist:
the next writer creates those that are missing, in its own transaction. Attaching an empty table blocks neither readers
nor writers.

`drop_partition` drops the tables of a range, at a cost that does not depend on the number of rows. `trace` itself is
not partitioned: its identity is unique over all times, and lists sort the whole table by time. On PostgreSQL no table
has a foreign key to `trace`: deleting a trace would query every partition of every table. Instead,
`storage.writing.delete_traces` deletes the rows, and `weaklink db check` finds rows that belong to no trace.
"""

import re
from collections.abc import Collection

import sqlalchemy as sa

from inspector.errors import StoreError
from inspector.scanning import lazy_pattern
from storage import tables
from storage.blocks import IdRange
from storage.engine import Database, analyze, database_errors

STEP = 1_000_000
"""Ids per partition; the migration that creates the first partitions has the same number."""
AHEAD = 2
"""Number of empty partitions to create in advance."""
_MIN_TRACES = 10_000  # traces; a smaller partition is used further, whatever its age: it is fast to delete
_DAYS = 7
PARTITIONED = (*(table.name for table in (*tables.RECORD, *tables.DERIVED, tables.exchange)), "search_text")
"""The names of the partitioned tables."""

_STATE = sa.text(
    """
SELECT coalesce(nullif(current_setting('weaklink.partition_days', true), '')::double precision, :days) AS days,
    coalesce(pg_sequence_last_value(pg_get_serial_sequence('trace', 'id')::regclass), 0) AS last,
    newest.id AS newest, newest.imported_at_s,
    (SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = 'part'::regclass) AS is_owner
FROM (VALUES (1)) AS one LEFT JOIN (SELECT id, imported_at_s FROM trace ORDER BY id DESC LIMIT 1) AS newest ON true
""".replace("::", "\\:\\:")
)
_IS_DUE = sa.text(
    "SELECT coalesce(last_analyze < now() - make_interval(days => :days), true)"
    " AND EXISTS (SELECT FROM trace OFFSET :worth LIMIT 1)"
    " FROM pg_stat_user_tables WHERE relid = 'search_text'\\:\\:regclass"
)
_NAMES = sa.text(
    "SELECT relname FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = 'part'\\:\\:regclass"
)
_NAME: re.Pattern[str] = lazy_pattern(r"part_p(\d+)")


def prepare_ids(connection: sa.Connection, count: int, now_s: float) -> None:
    """Prepare the ids and partitions of the next `count` traces, in this period; the caller must be the only writer."""
    if connection.dialect.name != "postgresql":
        return
    state = connection.execute(_STATE, {"days": _DAYS}).one()
    existing = _numbers(connection)
    number, used = divmod(state.last, STEP)
    is_over = (
        state.newest is not None
        and state.newest // STEP == number
        and _period(state.imported_at_s, state.days) < _period(now_s, state.days)
    )
    if is_over and used >= _MIN_TRACES and (state.is_owner or number + 1 in existing):
        number, used = number + 1, 0
        connection.execute(
            sa.text("SELECT setval(pg_get_serial_sequence('trace', 'id'), :last)"), {"last": number * STEP}
        )
    _create(connection, {number, number + (used + count) // STEP}, existing, is_owner=state.is_owner)


def prepare_partitions(connection: sa.Connection, ids: Collection[int]) -> None:
    """Create the partitions of traces that already have ids; the caller must be the only writer."""
    if connection.dialect.name == "postgresql" and ids:
        is_owner = connection.execute(_STATE, {"days": _DAYS}).one().is_owner
        _create(connection, {id_ // STEP for id_ in ids}, _numbers(connection), is_owner=is_owner)


def past_partitions(connection: sa.Connection) -> list[IdRange]:
    """The ids of each partition that gets no new traces any more, the oldest first; none on SQLite."""
    if connection.dialect.name != "postgresql":
        return []
    current = connection.execute(_STATE, {"days": _DAYS}).one().last // STEP
    numbers = [number for number in sorted(_numbers(connection)) if number < current]
    starts = [0, *((number * STEP) for number in numbers[1:])]
    return [IdRange(start, (number + 1) * STEP) for start, number in zip(starts, numbers, strict=False)]


def analyze_partitioned(database: Database) -> bool:
    """Run ANALYZE on the partitioned tables if the last run is too old; whether it ran.

    PostgreSQL analyzes each partition by itself, but not the partitioned tables, whose statistics it needs for joins.
    """
    if database.engine.dialect.name != "postgresql":
        return False
    with database.reading() as connection:
        is_due = bool(connection.scalar(_IS_DUE, {"worth": _MIN_TRACES, "days": _DAYS}))
    if is_due:
        with database_errors(database.place):
            analyze(database.engine, PARTITIONED)
    return is_due


def drop_partition(connection: sa.Connection, ids: IdRange) -> None:
    """Drop the rows of the traces of one of `past_partitions` from all partitioned tables; their `trace` rows stay.

    Waits until nobody reads `trace`, the first table that every reader reads.
    """
    connection.exec_driver_sql("LOCK TABLE trace IN ACCESS EXCLUSIVE MODE")
    for name in PARTITIONED:
        connection.exec_driver_sql(f'DROP TABLE "{name}_p{ids.end // STEP - 1}"')


def _period(at_s: float, days: float) -> int:
    return int(at_s // (max(days, 1.0) * 86_400.0))


def _numbers(connection: sa.Connection) -> set[int]:
    """The numbers of the existing partitions."""
    return {int(found[1]) for name in connection.scalars(_NAMES) if (found := _NAME.fullmatch(name))}


def _create(connection: sa.Connection, needed: set[int], existing: set[int], *, is_owner: bool) -> None:
    """Create the needed partitions that do not exist yet, and those in advance."""
    last = max(needed)
    if not is_owner:
        if needed - existing:
            raise StoreError("the database has no partition for new traces; its owner must run `weaklink db upgrade`")
        return
    for number in sorted((needed | set(range(last, last + AHEAD + 1))) - existing):
        bounds = f"FROM ({number * STEP}) TO ({(number + 1) * STEP})"
        for name in PARTITIONED:
            connection.exec_driver_sql(f'CREATE TABLE "{name}_p{number}" (LIKE "{name}" INCLUDING ALL)')
            connection.exec_driver_sql(f'ALTER TABLE "{name}" ATTACH PARTITION "{name}_p{number}" FOR VALUES {bounds}')
