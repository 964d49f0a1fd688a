"""Rollups go with the first change of a block, before anybody can read what is no longer true."""

from collections.abc import Iterable

import sqlalchemy as sa

from storage import tables
from storage.blocks import LEVELS, smallest

SUMMED = (tables.trace, tables.figures, tables.trace_tool, tables.trace_code, tables.violation)
"""The tables whose rows are summed."""
_FORGOTTEN = "weaklink_forgotten"  # a mark on a connection: its transaction, and the blocks that have no rollup in it
_rollup = tables.rollup.c


def forget_sums(connection: sa.Connection, ids: Iterable[int]) -> None:
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
        conditions.append(sa.and_(_rollup.level == min(level).level, _rollup.block.in_(numbers)))
        level = {block.above for block in level}
    connection.execute(sa.delete(tables.rollup).where(sa.or_(*conditions)))
