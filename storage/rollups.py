"""Rollups: stored sums of whole blocks of traces, so that statistics over all traces need not read each trace.

A rollup contains the sums of a statistics query over the traces of one block (`storage.blocks`). It exists only while
it is valid: every write of rows that are summed drops the rollups of their blocks in the same transaction.
"""

from collections.abc import Collection, Iterable, Iterator
from hashlib import blake2b
from typing import Any, TypeAlias

import sqlalchemy as sa

from inspector.chain.metrics import MEASURES
from inspector.chain.metrics_figures import TOOL_NUMBERS, TRACE_NUMBERS
from inspector.chain.metrics_groups import Aspect, GroupKey
from storage import tables
from storage.blocks import LEVELS, IdRange, TraceBlock, cover, enclosing_blocks, ids_up_to, smallest
from storage.packing.blobs import from_blob, to_blob
from storage.packing.values import GroupSums, added_sums, pack_sums, unpack_sums
from storage.statistics import BreaksBy, BrokenSchemas, FiguresBy, StatisticsQuery, Uncounted
from storage.tables import in_groups

_MADE = 1  # increase it when the meaning of a query changes
_MOST_GROUPS = 4_096  # of a stored result: reading a larger one is no faster than summing it again
SUMMED = (tables.trace, tables.figures, tables.trace_tool, tables.trace_code, tables.violation)
"""The tables whose rows are summed."""

_DROPPED = "weaklink_forgotten"  # key in Connection.info: the transaction, and the blocks whose rollups it has dropped
AnyStatisticsQuery: TypeAlias = StatisticsQuery[Any]

ROLLUP_QUERIES: tuple[AnyStatisticsQuery, ...] = (
    FiguresBy(),
    *(FiguresBy((key,)) for key in GroupKey),
    FiguresBy((GroupKey.MODEL, GroupKey.CODE)),
    *(BreaksBy(aspect) for aspect in Aspect),
    BrokenSchemas(),
    Uncounted(),
)
"""Every summed block has a rollup of the first query, which has a single group."""

_NAMES = {question.name for question in ROLLUP_QUERIES}
_MEANING = [_MADE, TRACE_NUMBERS, TOOL_NUMBERS, [(one.name, one.kind.value, one.hits, one.trials) for one in MEASURES]]
_EDITION = blake2b(repr(_MEANING).encode(), digest_size=4).hexdigest()


def rollup_name(query: AnyStatisticsQuery) -> str:
    """The name of a query in the table `rollup`; it differs between versions of weaklink that sum different things."""
    return f"{query.name} {_EDITION}"


def has_rollups(query: AnyStatisticsQuery) -> bool:
    """Whether rollups are stored for a query."""
    return query.name in _NAMES


_rollup, _trace = tables.rollup.c, tables.trace.c


def summed_query(connection: sa.Connection, query: AnyStatisticsQuery) -> GroupSums:
    """The sums over all traces, in one snapshot of the database."""
    stored = stored_ids(connection) if has_rollups(query) else None
    if stored is None:
        return query.sums(connection)
    return summed_in_block(connection, query, ids_up_to(stored.end - 1), stored)


def summed_in_block(connection: sa.Connection, query: AnyStatisticsQuery, ids: IdRange, stored: IdRange) -> GroupSums:
    """The sums over the traces with these ids; `stored` is the range of all existing ids."""
    blocks, rest = cover(ids, _outermost(connection, query, ids, stored))
    parts = _stored_sums(connection, query, blocks)
    parts += [query.sums(connection, (), None if some.holds(stored) else some) for some in rest if some.meets(stored)]
    return added_sums(parts)


def stored_ids(connection: sa.Connection) -> IdRange | None:
    """From the lowest id to the highest; None if there is no trace."""
    lowest, highest = sa.select(sa.func.min(_trace.id)), sa.select(sa.func.max(_trace.id))
    # Each subquery is one index lookup; both aggregates in one SELECT would scan the table.
    first, last = connection.execute(sa.select(lowest.scalar_subquery(), highest.scalar_subquery())).one()
    return None if first is None else IdRange(first, last + 1)


def _outermost(connection: sa.Connection, query: AnyStatisticsQuery, ids: IdRange, stored: IdRange) -> list[TraceBlock]:
    """The blocks of these ids that have a rollup, without those inside a larger block that has one too.

    Searches from the largest blocks down, and only inside blocks without a rollup: for millions of traces, it queries
    a few keys.
    """
    found: list[TraceBlock] = []
    unresolved = enclosing_blocks(ids.start, ids.end - 1)
    while unresolved:
        level = unresolved[0].level
        existing: set[int] = set()
        for group in in_groups(block.number for block in unresolved):
            numbers = sa.select(_rollup.block).where(_rollup.question == rollup_name(query), _rollup.level == level)
            existing |= set(connection.scalars(numbers.where(_rollup.block.in_(group))))
        found += [block for block in unresolved if block.number in existing]
        missing = [block for block in unresolved if block.number not in existing]
        unresolved = [smaller for block in missing for smaller in block.below if smaller.ids.meets(stored)]
    return found


def _stored_sums(connection: sa.Connection, query: AnyStatisticsQuery, blocks: list[TraceBlock]) -> list[GroupSums]:
    found: list[GroupSums] = []
    for group in in_groups(blocks):
        of_group = sa.tuple_(_rollup.level, _rollup.block).in_([(block.level, block.number) for block in group])
        bodies = sa.select(_rollup.body).where(_rollup.question == rollup_name(query), of_group)
        found += [unpack_sums(from_blob(body)) for body in connection.scalars(bodies)]
    return found


def blocks_without_rollups(connection: sa.Connection) -> list[TraceBlock]:
    """The blocks that need rollups, in the order in which to make them: smaller blocks before larger ones."""
    stored = stored_ids(connection)
    existing = _summed_blocks(connection)
    outermost = () if stored is None else enclosing_blocks(stored.start, stored.end - 1)
    return [block for outer in outermost for block in _missing(connection, outer, existing)]


def make_rollups(connection: sa.Connection, block: TraceBlock) -> bool:
    """Make the rollups of a block if it has none; whether it had none. The caller must be the only writer."""
    stored = stored_ids(connection)
    if stored is None or block in _summed_blocks(connection):
        return False
    rows = []
    for query in ROLLUP_QUERIES:
        sums = summed_in_block(connection, query, block.ids, stored)
        if len(sums) <= _MOST_GROUPS:
            place = {"question": rollup_name(query), "level": block.level, "block": block.number}
            rows.append(place | {"body": to_blob(pack_sums(sums))})
    connection.execute(sa.insert(tables.rollup), rows)
    return True


def _summed_blocks(connection: sa.Connection) -> set[TraceBlock]:
    query = sa.select(_rollup.level, _rollup.block).where(_rollup.question == rollup_name(ROLLUP_QUERIES[0]))
    return {TraceBlock(level, number) for level, number in connection.execute(query)}


def _missing(connection: sa.Connection, block: TraceBlock, existing: Collection[TraceBlock]) -> Iterator[TraceBlock]:
    """This block and those in it that have traces and no rollup; a block's rollup covers the blocks in it."""
    if block in existing:
        return
    within = sa.select(_trace.id).where(_trace.id >= block.ids.start, _trace.id < block.ids.end).limit(1)
    if connection.scalar(within) is None:
        return
    for smaller in block.below:
        yield from _missing(connection, smaller, existing)
    yield block


_rollup_columns = tables.rollup.c


def drop_rollups(connection: sa.Connection, ids: Iterable[int]) -> None:
    """Delete the rollups of all blocks that contain these traces; every write of rows of `SUMMED` calls it."""
    now = connection.get_transaction()
    before, dropped = connection.info.get(_DROPPED, (None, frozenset()))
    if now is None or before is not now:
        dropped = frozenset()
    level = {smallest(id_) for id_ in ids} - dropped
    if not level:
        return
    connection.info[_DROPPED] = now, dropped | level
    conditions = []
    for _ in range(LEVELS):
        numbers = sorted({block.number for block in level})
        conditions.append(sa.and_(_rollup_columns.level == min(level).level, _rollup_columns.block.in_(numbers)))
        level = {block.above for block in level}
    connection.execute(sa.delete(tables.rollup).where(sa.or_(*conditions)))
