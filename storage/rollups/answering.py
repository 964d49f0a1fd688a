"""What a question comes to: rollups where there are any, and the sums over the traces of all other blocks."""

import sqlalchemy as sa

from storage import tables
from storage.blocks import FAN, Ids, TraceBlock, cover, up_to
from storage.groups import in_groups
from storage.packing.blobs import from_blob
from storage.packing.sums import Sums, added, unpack_sums
from storage.rollups.questions import AnyQuestion, is_kept, kept_under

_rollup, _trace = tables.rollup.c, tables.trace.c


def summed(connection: sa.Connection, question: AnyQuestion) -> Sums:
    """The sums over all traces, in one snapshot of the database."""
    there = ids_there(connection) if is_kept(question) else None
    if there is None:
        return question.sums(connection)
    return summed_within(connection, question, up_to(there.end - 1), there)


def summed_within(connection: sa.Connection, question: AnyQuestion, ids: Ids, there: Ids) -> Sums:
    """The sums over the traces with these ids; all that there are lie in `there`."""
    taken, left = cover(ids, _outermost(connection, question))
    parts = _kept_sums(connection, question, taken)
    parts += [question.sums(connection, (), None if some.holds(there) else some) for some in left if some.meets(there)]
    return added(parts)


def ids_there(connection: sa.Connection) -> Ids | None:
    """From the lowest id to the highest; None where there is no trace."""
    lowest, highest = sa.select(sa.func.min(_trace.id)), sa.select(sa.func.max(_trace.id))
    # Each by itself is one look into an index, both from one table are a scan of it.
    first, last = connection.execute(sa.select(lowest.scalar_subquery(), highest.scalar_subquery())).one()
    return None if first is None else Ids(first, last + 1)


def _outermost(connection: sa.Connection, question: AnyQuestion) -> list[TraceBlock]:
    """The blocks that there is a rollup of, but for those within the next larger one that has one too."""
    larger = tables.rollup.alias("larger").c
    is_within = sa.exists().where(
        larger.question == _rollup.question, larger.level == _rollup.level + 1, larger.block == _rollup.block // FAN
    )
    wanted = sa.select(_rollup.level, _rollup.block).where(_rollup.question == kept_under(question), ~is_within)
    return [TraceBlock(level, number) for level, number in connection.execute(wanted)]


def _kept_sums(connection: sa.Connection, question: AnyQuestion, blocks: list[TraceBlock]) -> list[Sums]:
    found: list[Sums] = []
    for group in in_groups(blocks):
        wanted = sa.tuple_(_rollup.level, _rollup.block).in_([(block.level, block.number) for block in group])
        bodies = sa.select(_rollup.body).where(_rollup.question == kept_under(question), wanted)
        found += [unpack_sums(from_blob(body)) for body in connection.scalars(bodies)]
    return found
