"""Rollups: the sums of whole blocks of traces, kept so that statistics over all traces need not visit each.

A rollup holds the sums of a query over the traces of one block (`storage.blocks`) and exists only as long as it is
true: whatever writes rows that are summed drops the rollups of their blocks in the same transaction.
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

_MADE = 1  # to be raised when a question comes to mean something else
_MOST_GROUPS = 4_096  # of an answer that is kept: a larger one is read no faster than it is summed
SUMMED = (tables.trace, tables.figures, tables.trace_tool, tables.trace_code, tables.violation)
"""The tables whose rows are summed."""

_FORGOTTEN = "weaklink_forgotten"  # a mark on a connection: its transaction, and the blocks that have no rollup in it
AnyStatisticsQuery: TypeAlias = StatisticsQuery[Any]

ROLLUP_QUERIES: tuple[AnyStatisticsQuery, ...] = (
    FiguresBy(),
    *(FiguresBy((key,)) for key in GroupKey),
    FiguresBy((GroupKey.MODEL, GroupKey.CODE)),
    *(BreaksBy(aspect) for aspect in Aspect),
    BrokenSchemas(),
    Uncounted(),
)
"""Of the first, which has one group, every block that is summed up has a rollup."""

_NAMES = {question.name for question in ROLLUP_QUERIES}
_MEANING = [_MADE, TRACE_NUMBERS, TOOL_NUMBERS, [(one.name, one.kind.value, one.hits, one.trials) for one in MEASURES]]
_EDITION = blake2b(repr(_MEANING).encode(), digest_size=4).hexdigest()


def rollup_name(question: AnyStatisticsQuery) -> str:
    """What stands in `rollup` for a question; that of a weaklink that sums up something else is another."""
    return f"{question.name} {_EDITION}"


def has_rollups(question: AnyStatisticsQuery) -> bool:
    """Whether there are rollups of a question."""
    return question.name in _NAMES


_rollup, _trace = tables.rollup.c, tables.trace.c


def summed_query(connection: sa.Connection, question: AnyStatisticsQuery) -> GroupSums:
    """The sums over all traces, in one snapshot of the database."""
    there = stored_ids(connection) if has_rollups(question) else None
    if there is None:
        return question.sums(connection)
    return summed_in_block(connection, question, ids_up_to(there.end - 1), there)


def summed_in_block(connection: sa.Connection, question: AnyStatisticsQuery, ids: IdRange, there: IdRange) -> GroupSums:
    """The sums over the traces with these ids; all that there are lie in `there`."""
    taken, left = cover(ids, _outermost(connection, question, ids, there))
    parts = _kept_sums(connection, question, taken)
    parts += [question.sums(connection, (), None if some.holds(there) else some) for some in left if some.meets(there)]
    return added_sums(parts)


def stored_ids(connection: sa.Connection) -> IdRange | None:
    """From the lowest id to the highest; None where there is no trace."""
    lowest, highest = sa.select(sa.func.min(_trace.id)), sa.select(sa.func.max(_trace.id))
    # Each by itself is one look into an index, both from one table are a scan of it.
    first, last = connection.execute(sa.select(lowest.scalar_subquery(), highest.scalar_subquery())).one()
    return None if first is None else IdRange(first, last + 1)


def _outermost(
    connection: sa.Connection, question: AnyStatisticsQuery, ids: IdRange, there: IdRange
) -> list[TraceBlock]:
    """The blocks of these ids that there is a rollup of, but for those within a larger one that has one too.

    Looked for from the largest down, and further only within those that have none: of millions of traces, a few keys
    are asked for.
    """
    found: list[TraceBlock] = []
    left = enclosing_blocks(ids.start, ids.end - 1)
    while left:
        level = left[0].level
        kept: set[int] = set()
        for group in in_groups(block.number for block in left):
            wanted = sa.select(_rollup.block).where(_rollup.question == rollup_name(question), _rollup.level == level)
            kept |= set(connection.scalars(wanted.where(_rollup.block.in_(group))))
        found += [block for block in left if block.number in kept]
        missing = [block for block in left if block.number not in kept]
        left = [smaller for block in missing for smaller in block.below if smaller.ids.meets(there)]
    return found


def _kept_sums(connection: sa.Connection, question: AnyStatisticsQuery, blocks: list[TraceBlock]) -> list[GroupSums]:
    found: list[GroupSums] = []
    for group in in_groups(blocks):
        wanted = sa.tuple_(_rollup.level, _rollup.block).in_([(block.level, block.number) for block in group])
        bodies = sa.select(_rollup.body).where(_rollup.question == rollup_name(question), wanted)
        found += [unpack_sums(from_blob(body)) for body in connection.scalars(bodies)]
    return found


def blocks_without_rollups(connection: sa.Connection) -> list[TraceBlock]:
    """The blocks that rollups are to be made of, in the order in which they are: none before those that make it."""
    there = stored_ids(connection)
    kept = _kept(connection)
    outermost = () if there is None else enclosing_blocks(there.start, there.end - 1)
    return [block for outer in outermost for block in _missing(connection, outer, kept)]


def make_rollups(connection: sa.Connection, block: TraceBlock) -> bool:
    """Make the rollups of a block, where it has none yet; whether it had none. To be called as the only writer."""
    there = stored_ids(connection)
    if there is None or block in _kept(connection):
        return False
    rows = []
    for question in ROLLUP_QUERIES:
        sums = summed_in_block(connection, question, block.ids, there)
        if len(sums) <= _MOST_GROUPS:
            place = {"question": rollup_name(question), "level": block.level, "block": block.number}
            rows.append(place | {"body": to_blob(pack_sums(sums))})
    connection.execute(sa.insert(tables.rollup), rows)
    return True


def _kept(connection: sa.Connection) -> set[TraceBlock]:
    wanted = sa.select(_rollup.level, _rollup.block).where(_rollup.question == rollup_name(ROLLUP_QUERIES[0]))
    return {TraceBlock(level, number) for level, number in connection.execute(wanted)}


def _missing(connection: sa.Connection, block: TraceBlock, kept: Collection[TraceBlock]) -> Iterator[TraceBlock]:
    """The blocks in this one that hold traces and have no rollup, and it itself; a larger one makes up for its own."""
    if block in kept:
        return
    within = sa.select(_trace.id).where(_trace.id >= block.ids.start, _trace.id < block.ids.end).limit(1)
    if connection.scalar(within) is None:
        return
    for smaller in block.below:
        yield from _missing(connection, smaller, kept)
    yield block


_rollup_columns = tables.rollup.c


def drop_rollups(connection: sa.Connection, ids: Iterable[int]) -> None:
    """Delete the rollups of all blocks that hold these traces; to be called wherever rows of `SUMMED` are written."""
    now = connection.get_transaction()
    before, forgotten = connection.info.get(_FORGOTTEN, (None, frozenset()))
    if now is None or before is not now:
        forgotten = frozenset()
    level = {smallest(id_) for id_ in ids} - forgotten
    if not level:
        return
    connection.info[_FORGOTTEN] = now, forgotten | level
    conditions = []
    for _ in range(LEVELS):
        numbers = sorted({block.number for block in level})
        conditions.append(sa.and_(_rollup_columns.level == min(level).level, _rollup_columns.block.in_(numbers)))
        level = {block.above for block in level}
    connection.execute(sa.delete(tables.rollup).where(sa.or_(*conditions)))


def drop_rollups_between(connection: sa.Connection, ids: IdRange) -> None:
    """The same for all ids of a range, however many there are."""
    first, last = smallest(ids.start), smallest(ids.end - 1)
    for _ in range(LEVELS):
        is_met = sa.and_(_rollup_columns.level == first.level, _rollup_columns.block.between(first.number, last.number))
        connection.execute(sa.delete(tables.rollup).where(is_met))
        first, last = first.above, last.above
