"""What a question comes to: rollups where there are any, and the sums over the traces of all other blocks."""

import sqlalchemy as sa

from storage import tables
from storage.blocks import Block, Ids, cover, up_to
from storage.groups import in_groups
from storage.packing.blobs import from_blob
from storage.packing.sums import Sums, added, unpack_sums
from storage.rollups.questions import AnyQuestion, is_kept, kept_under

_rollup, _trace = tables.rollup.c, tables.trace.c


def summed(connection: sa.Connection, question: AnyQuestion) -> Sums:
    """The sums over all traces, in one snapshot of the database."""
    newest = connection.scalar(sa.select(sa.func.max(_trace.id))) if is_kept(question) else None
    if newest is None:
        return question.sums(connection)
    return summed_within(connection, question, up_to(newest), newest)


def summed_within(connection: sa.Connection, question: AnyQuestion, ids: Ids, newest: int) -> Sums:
    """The sums over the traces with these ids; `newest` is the highest id that there is."""
    taken, left = cover(ids, kept_blocks(connection, question))
    parts = _kept_sums(connection, question, taken)
    if not parts and ids == up_to(newest):
        return question.sums(connection)
    parts += [question.sums(connection, (), some) for some in left if some.start <= newest]
    return added(parts)


def kept_blocks(connection: sa.Connection, question: AnyQuestion) -> list[Block]:
    """The blocks that there is a rollup of, for one question."""
    wanted = sa.select(_rollup.level, _rollup.block).where(_rollup.question == kept_under(question))
    return [Block(level, number) for level, number in connection.execute(wanted)]


def _kept_sums(connection: sa.Connection, question: AnyQuestion, blocks: list[Block]) -> list[Sums]:
    found: list[Sums] = []
    for group in in_groups(blocks):
        wanted = sa.tuple_(_rollup.level, _rollup.block).in_([(block.level, block.number) for block in group])
        bodies = sa.select(_rollup.body).where(_rollup.question == kept_under(question), wanted)
        found += [unpack_sums(from_blob(body)) for body in connection.scalars(bodies)]
    return found
