"""The newest traces that hold some words, read off an FTS5 index from its newest end.

Such an index goes by id, a list by time, and mostly the two agree: traces come in as they happen, or file by file. So
ids are taken in stretches of 4,096; an index says of each when its traces were, at the earliest and at the latest.
Stretches are read from the one that reaches furthest towards the newest end, each from its highest id down, and where
stretch follows stretch in one statement. Once as many traces are found as a page holds, only those of the rest are
asked that are newer than the oldest found; so the page is there soon, wherever in the store the words stand. Where
ids and times have nothing to do with each other those are many, so it is given up after a bounded number of rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from storage import tables
from storage.groups import in_groups
from storage.search.asking import holding_among
from storage.search.phrases import SQLITE, Phrase, match
from storage.summaries import ListCursor

_STRETCH = 4_096  # ids; the index that migration v0003 makes has it too
_MOST = 5_000  # rows of the text index that are read before it is given up
_STATEMENT = 100  # what a statement costs, in rows
_HIGHEST = 2**63 - 1
_trace = tables.trace.c

_TIMES = """
WITH RECURSIVE stretch (number) AS (
    SELECT {first} / {size} UNION ALL SELECT number + 1 FROM stretch WHERE number < {last} / {size}
)
SELECT number,
    (SELECT min(sort_at_s) FROM trace WHERE id / {size} = number),
    (SELECT max(sort_at_s) FROM trace WHERE id / {size} = number)
FROM stretch
"""


@dataclass(frozen=True, slots=True, order=True)
class _IdRange:
    """Ids up to `last`, of traces up to `newest_at_s`; the stretch that reaches furthest is the greatest."""

    newest_at_s: float
    last: int

    @property
    def first(self) -> int:
        """The lowest id of the stretch in which `last` lies."""
        return self.last - self.last % _STRETCH


def newest_holding(
    connection: sa.Connection,
    phrases: Sequence[Phrase],
    conditions: Sequence[sa.ColumnElement[bool]],
    *,
    limit: int,
    after: ListCursor | None,
) -> list[int] | None:
    """The newest `limit` traces behind `after` that hold these phrases and fulfil these conditions on `trace`.

    None where that cannot be read off the index within a bound, and from an index that has no order.
    """
    if connection.dialect.name != "sqlite":
        return None
    best: list[tuple[float, int]] = []
    visited = 0
    for run in _runs(_stretches(connection, phrases, after)):
        left = run
        while left and len(best) < limit:
            if visited > _MOST:
                return None
            step = limit + _STATEMENT + visited
            ids = _held(connection, phrases, left[-1].first, left[0].last, step)
            met = sa.select(_trace.sort_at_s, _trace.id).where(*conditions, *_behind(after))
            for group in in_groups(ids):
                best += _places(connection, met.where(_trace.id.in_(group)))
            best = sorted(best, reverse=True)[:limit]
            visited += len(ids) + _STATEMENT
            left = _rest(left, ids[-1]) if len(ids) == step else []
        for stretch in left:
            if best[-1] >= (stretch.newest_at_s, stretch.last):
                break
            if visited > _MOST:
                return None
            newer = _places(connection, _newer(stretch, best[-1]).where(*conditions, *_behind(after)).limit(_MOST))
            held = holding_among(connection, [id_ for _, id_ in newer], phrases)
            best = sorted([*best, *(place for place in newer if place[1] in held)], reverse=True)[:limit]
            visited += len(newer) + _STATEMENT
    return [id_ for _, id_ in best]


def _stretches(connection: sa.Connection, phrases: Sequence[Phrase], after: ListCursor | None) -> list[_IdRange]:
    """The stretches that may hold the words behind `after`, the newest first, each said to end there at the latest."""
    ends = [_held(connection, phrases, 0, _HIGHEST, 1, down=down) for down in (False, True)]
    if not all(ends):
        return []
    (first,), (last,) = ends
    latest = float("inf") if after is None else after.sort_at_s
    times = connection.exec_driver_sql(_TIMES.format(size=_STRETCH, first=first, last=last))
    return sorted(
        (
            _IdRange(min(newest, latest), (number + 1) * _STRETCH - 1)
            for number, oldest, newest in times
            if oldest is not None and oldest <= latest
        ),
        reverse=True,
    )


def _runs(stretches: Sequence[_IdRange]) -> Iterator[list[_IdRange]]:
    """The stretches in their order, those together that follow each other down the ids without a gap."""
    run: list[_IdRange] = []
    for stretch in stretches:
        if run and stretch.last != run[-1].first - 1:
            yield run
            run = []
        run.append(stretch)
    if run:
        yield run


def _rest(run: Sequence[_IdRange], reached: int) -> list[_IdRange]:
    """What of a run lies below the id down to which it has been read."""
    below = [stretch for stretch in run if stretch.first < reached]
    return [_IdRange(below[0].newest_at_s, min(below[0].last, reached - 1)), *below[1:]] if below else []


def _held(
    connection: sa.Connection, phrases: Sequence[Phrase], first: int, last: int, most: int, *, down: bool = True
) -> Sequence[int]:
    """Ids of this range that the text index holds under these phrases, from its upper end down or from below."""
    rowid = SQLITE.c.rowid
    held = sa.select(rowid).where(match(phrases), rowid.between(first, last))
    return connection.scalars(held.order_by(rowid.desc() if down else rowid).limit(most)).all()


def _newer(stretch: _IdRange, place: tuple[float, int]) -> sa.Select[float, int]:
    """The traces of a stretch that a list puts before this place."""
    number = sa.literal_column(f"trace.id / {_STRETCH}", sa.Integer)
    newer = sa.select(_trace.sort_at_s, _trace.id).where(number == stretch.first // _STRETCH)
    return newer.where(_trace.id <= stretch.last, sa.tuple_(_trace.sort_at_s, _trace.id) > sa.tuple_(*place))


def _places(connection: sa.Connection, wanted: sa.Select[float, int]) -> list[tuple[float, int]]:
    return [(at_s, id_) for at_s, id_ in connection.execute(wanted)]


def _behind(after: ListCursor | None) -> list[sa.ColumnElement[bool]]:
    place = sa.tuple_(_trace.sort_at_s, _trace.id)
    return [] if after is None else [place < sa.tuple_(after.sort_at_s, after.id)]
