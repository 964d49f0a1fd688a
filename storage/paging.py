"""Long lists without their rows: where their pages begin, how much they hold, and what has come meanwhile."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import sqlalchemy as sa

from storage import tables
from storage.filter import parse_filter
from storage.groups import in_groups
from storage.listing import newest_ids
from storage.summaries import Cursor

_trace = tables.trace.c


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of a list: how many traces it holds, and the cursors of every so many of them.

    The last cursor is that of the stretch's last trace, where the next one goes on; `is_last` says that there is none.
    """

    count: int
    edges: tuple[Cursor, ...]
    is_last: bool


@dataclass(frozen=True, slots=True)
class Pulse:
    """What tells that a store has changed, at next to no cost: its newest id, and the traces that are running."""

    newest_id: int
    running: frozenset[int]


class Paging:
    """Reads what a screen needs that shows long lists. Made by `Store.paging`; may be used from several threads."""

    def __init__(self, reads: Callable[[], AbstractContextManager[sa.Connection]]) -> None:
        self._reads = reads

    def stretch(self, filter: str, *, limit: int, page: int, after: Cursor | None = None) -> Stretch:  # noqa: A002  # as in `Store.traces`
        """The next `limit` traces behind `after` as the cursor of the last of every `page` of them; FilterError."""
        wanted = parse_filter(filter)
        with self._reads() as connection:
            ids = newest_ids(connection, wanted, limit=limit, after=after)
            ends = ids[page - 1 :: page]
            if ids and (not ends or ends[-1] != ids[-1]):
                ends.append(ids[-1])
            return Stretch(len(ids), _cursors(connection, ends), len(ids) < limit)

    def pulse(self) -> Pulse:
        """What tells that the store has changed."""
        with self._reads() as connection:
            newest = connection.scalar(sa.select(sa.func.max(_trace.id)))
            return Pulse(newest or 0, frozenset(connection.scalars(sa.select(tables.live.c.trace_id))))

    def status_counts(self) -> dict[str, int]:
        """How many traces ended in each status: a walk along one index."""
        counted = sa.select(_trace.status, sa.func.count()).group_by(_trace.status)
        with self._reads() as connection:
            return dict(connection.execute(counted).all())

    def call_counts(self, ids: Sequence[int]) -> dict[int, tuple[int, int]]:
        """How many of their calls went well, and how many there were, by trace; those without calls are left out."""
        tool = tables.trace_tool.c
        sums = sa.select(tool.trace_id, sa.func.sum(tool.calls), sa.func.sum(tool.failed)).group_by(tool.trace_id)
        found: dict[int, tuple[int, int]] = {}
        with self._reads() as connection:
            for group in in_groups(ids):
                for id_, calls, failed in connection.execute(sums.where(tool.trace_id.in_(group))):
                    found[id_] = (int(calls - failed), int(calls))
        return found


def _cursors(connection: sa.Connection, ids: Sequence[int]) -> tuple[Cursor, ...]:
    times: dict[int, float] = {}
    for group in in_groups(ids):
        times |= dict(connection.execute(sa.select(_trace.id, _trace.sort_at_s).where(_trace.id.in_(group))).all())
    return tuple(Cursor(times[id_], id_) for id_ in ids if id_ in times)
