"""Rollups are made after import, block by block, the small ones first, of which the large ones are then added up."""

from collections.abc import Iterator

import sqlalchemy as sa

from storage import tables
from storage.blocks import Block, smallest, tree
from storage.packing.blobs import to_blob
from storage.packing.sums import pack_sums
from storage.rollups.answering import kept_blocks, summed_within
from storage.rollups.questions import QUESTIONS, kept_under

_MOST_GROUPS = 4_096  # of an answer that is kept: a larger one is read no faster than it is summed
_rollup, _trace = tables.rollup.c, tables.trace.c


def not_summed(connection: sa.Connection) -> list[Block]:
    """The blocks that rollups are to be made of, in the order in which they are."""
    kept = set(kept_blocks(connection, QUESTIONS[0]))
    return [block for block in tree(_leaves(connection)) if block not in kept]


def sum_up(connection: sa.Connection, block: Block) -> bool:
    """Make the rollups of a block, where it has none yet; whether it had none. To be called as the only writer."""
    newest = connection.scalar(sa.select(sa.func.max(_trace.id)))
    if newest is None or block in kept_blocks(connection, QUESTIONS[0]):
        return False
    rows = []
    for question in QUESTIONS:
        sums = summed_within(connection, question, block.ids, newest)
        if len(sums) <= _MOST_GROUPS:
            place = {"question": kept_under(question), "level": block.level, "block": block.number}
            rows.append(place | {"body": to_blob(pack_sums(sums))})
    connection.execute(sa.insert(tables.rollup), rows)
    return True


def _leaves(connection: sa.Connection) -> Iterator[Block]:
    """The blocks of level 0 that hold traces; steps from each to the next, however many traces there are."""
    start = 0
    while (id_ := connection.scalar(sa.select(sa.func.min(_trace.id)).where(_trace.id >= start))) is not None:
        block = smallest(id_)
        yield block
        start = block.ids.end
