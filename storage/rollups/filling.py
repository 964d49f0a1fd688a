"""Rollups are made after import, block by block, the small ones first, of which the large ones are then added up."""

from collections.abc import Collection, Iterator

import sqlalchemy as sa

from storage import tables
from storage.blocks import TraceBlock, around
from storage.packing.blobs import to_blob
from storage.packing.sums import pack_sums
from storage.rollups.answering import ids_there, summed_within
from storage.rollups.questions import QUESTIONS, kept_under

_MOST_GROUPS = 4_096  # of an answer that is kept: a larger one is read no faster than it is summed
_rollup, _trace = tables.rollup.c, tables.trace.c


def not_summed(connection: sa.Connection) -> list[TraceBlock]:
    """The blocks that rollups are to be made of, in the order in which they are: none before those that make it."""
    there = ids_there(connection)
    kept = _kept(connection)
    outermost = () if there is None else around(there.start, there.end - 1)
    return [block for outer in outermost for block in _missing(connection, outer, kept)]


def sum_up(connection: sa.Connection, block: TraceBlock) -> bool:
    """Make the rollups of a block, where it has none yet; whether it had none. To be called as the only writer."""
    there = ids_there(connection)
    if there is None or block in _kept(connection):
        return False
    rows = []
    for question in QUESTIONS:
        sums = summed_within(connection, question, block.ids, there)
        if len(sums) <= _MOST_GROUPS:
            place = {"question": kept_under(question), "level": block.level, "block": block.number}
            rows.append(place | {"body": to_blob(pack_sums(sums))})
    connection.execute(sa.insert(tables.rollup), rows)
    return True


def _kept(connection: sa.Connection) -> set[TraceBlock]:
    wanted = sa.select(_rollup.level, _rollup.block).where(_rollup.question == kept_under(QUESTIONS[0]))
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
