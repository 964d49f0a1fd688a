"""Finds the newest traces that a filter lets through: a page at once, or step by step, each in bounded time.

Theory of operation. A page whose every term has an index costs the same in a store of any size, and is found at once.
Any other may lead through the whole list: what a name holds within, what `not` is before, words that few of the
newest traces hold. A scan looks at so many traces of the list, whatever the filter finds among them, and says where it
goes on; nothing is held between two steps, so whoever scans can stop, show progress, or go on later. The first
step has `FIRST_STEP` traces. Each following one has twice as many where the last took little time, half as many
where it took long. Concatenated, the steps are what a page without a limit holds.

The text index is queried for all traces of a window together. Where the first step finds too few, the index is read
from its newest end instead, if that leads to the page within a bound.
"""

import time
from collections.abc import Iterable, Sequence

import sqlalchemy as sa
from msgspec import Struct, structs

from storage import search, tables
from storage.filter import Filter
from storage.filter.sql import QueryPlan, plan_of
from storage.filter.terms import branches
from storage.summaries import ListCursor
from storage.tables import in_groups

FIRST_STEP = 1_000
"""Traces of the list that a scan looks at first."""

_NARROWEST, _WIDEST = 500, 200_000  # traces of any other step
_QUICK_S, _SLOW_S = 0.05, 0.2
_FIRST_WINDOW = 100  # traces beyond a page's length that the text index is asked for at first
_WIDE = 5_000  # traces; where a page seems to take more, the text index is read instead of asked
_trace = tables.trace.c


class ScanPlace(Struct, frozen=True):
    """Where a scan goes on: behind `after`, with `looked_at` of the `total` traces of the list behind it.

    `total` is 0 until the second step, since to count takes longer than the first.
    `rank` is 1 in the first part of a list that has the broken traces first. `width` is how many traces the next
    step has, 0 before the first and where no steps are needed.
    """

    after: ListCursor | None = None
    rank: int = 0
    looked_at: int = 0
    total: int = 0
    width: int = 0


def next_step(
    connection: sa.Connection, wanted: Filter, place: ScanPlace, *, limit: int
) -> tuple[list[int], ScanPlace | None]:
    """The next traces that the filter lets through, at most `limit` and maybe none, and where the scan goes on.

    There is no such place where the list is at its end.
    """
    now_s = time.time()
    plans = [plan_of(connection, one, place.after, now_s) for one in branches(wanted)]
    possible = [plan for plan in plans if plan is not None]
    if not possible:
        return [], None
    if not place.width and all(plan.is_bounded for plan in possible):
        ids = _merged(connection, possible, place.after, limit)
        return ids, structs.replace(place, after=_cursor(connection, ids[-1])) if len(ids) == limit else None
    began_s = time.monotonic()
    width = place.width or FIRST_STEP
    until = _end_of_step(connection, place.after, width)
    ids = _merged(connection, [structs.replace(plan, until=until) for plan in possible], place.after, limit)
    if len(ids) < limit and until is not None and not place.width and len(possible) == 1:
        rest = _read_off_index(connection, possible[0], until, limit=limit - len(ids))
        if rest is not None:
            ids += rest
            return ids, structs.replace(place, after=_cursor(connection, ids[-1])) if len(ids) == limit else None
    total = place.total or (_count(connection, sa.select(_trace.id)) if place.width else 0)
    if len(ids) == limit:
        last = _cursor(connection, ids[-1])
        passed = sa.select(_trace.id).where(
            *_behind(place.after), sa.tuple_(_trace.sort_at_s, _trace.id) >= _place(last)
        )
        looked_at = place.looked_at + _count(connection, passed)
        return ids, structs.replace(place, after=last, looked_at=looked_at, total=total, width=width)
    if until is None:
        return ids, None
    took_s = time.monotonic() - began_s
    wider = min(2 * width, _WIDEST) if took_s < _QUICK_S else max(width // 2, _NARROWEST) if took_s > _SLOW_S else width
    return ids, structs.replace(place, after=until, looked_at=place.looked_at + width, total=total, width=wider)


def _merged(connection: sa.Connection, plans: Sequence[QueryPlan], after: ListCursor | None, limit: int) -> list[int]:
    """The traces of all plans, as far as each goes."""
    ways = [_in_windows(connection, one, limit=limit, after=after) for one in plans]
    return ways[0] if len(ways) == 1 else _together(connection, ways)[:limit]


def _in_windows(connection: sa.Connection, plan: QueryPlan, *, limit: int, after: ListCursor | None) -> list[int]:
    """The next traces of a plan; its words are asked of one window after the other, each twice as wide."""
    if not (plan.words or plan.without):
        return [id_ for id_, _ in _newest(connection, plan, limit=limit, after=after)]
    found: list[int] = []
    window = _FIRST_WINDOW + limit
    while True:
        ids, after = _window(connection, plan, window, after)
        found += ids
        if after is None or len(found) >= limit:
            return found[:limit]
        window = min(2 * window, _WIDE)


def _read_off_index(connection: sa.Connection, plan: QueryPlan, after: ListCursor, *, limit: int) -> list[int] | None:
    """The next traces that hold a plan's words, where the text index leads to them; None where a scan is better."""
    if not plan.words or search.are_common_behind(connection, plan.words, after):
        return None
    if connection.dialect.name == "sqlite":
        return search.newest_holding(connection, plan.words, _conditions(connection, plan), limit=limit, after=after)
    if plan.without:
        return None
    every = plan.driven_by(search.ids_holding(connection, plan.words))
    return [id_ for id_, _ in _newest(connection, every, limit=limit, after=after)]


def _conditions(connection: sa.Connection, plan: QueryPlan) -> tuple[sa.ColumnElement[bool], ...]:
    """What a trace must fulfil that holds the plan's words."""
    return (*plan.conditions, *(sa.not_(search.holds_phrase(connection, one)) for one in plan.without))


def _end_of_step(connection: sa.Connection, after: ListCursor | None, width: int) -> ListCursor | None:
    """The last place of the next `width` traces; None where the list ends before."""
    newest = sa.select(_trace.sort_at_s, _trace.id).where(*_behind(after))
    row = connection.execute(
        newest.order_by(_trace.sort_at_s.desc(), _trace.id.desc()).limit(1).offset(width - 1)
    ).one_or_none()
    return None if row is None else ListCursor(*row)


def _cursor(connection: sa.Connection, id_: int) -> ListCursor:
    return ListCursor(connection.scalars(sa.select(_trace.sort_at_s).where(_trace.id == id_)).one(), id_)


def _behind(after: ListCursor | None) -> list[sa.ColumnElement[bool]]:
    return [] if after is None else [sa.tuple_(_trace.sort_at_s, _trace.id) < _place(after)]


def _place(cursor: ListCursor) -> sa.Tuple:
    return sa.tuple_(cursor.sort_at_s, cursor.id)


def _count(connection: sa.Connection, wanted: sa.Select[int]) -> int:
    return connection.scalar(sa.select(sa.func.count()).select_from(wanted.subquery())) or 0


def newest_ids(connection: sa.Connection, wanted: Filter, *, limit: int, after: ListCursor | None) -> list[int]:
    """The ids of the next `limit` traces that the filter lets through, behind `after`."""
    now_s = time.time()
    ways = [_ids(connection, one, now_s, limit=limit, after=after) for one in branches(wanted)]
    return ways[0] if len(ways) == 1 else _together(connection, ways)[:limit]


def _ids(connection: sa.Connection, wanted: Filter, now_s: float, *, limit: int, after: ListCursor | None) -> list[int]:
    """The next traces that a filter without a choice at its top lets through."""
    plan = plan_of(connection, wanted, after, now_s)
    if plan is None:
        return []
    if plan.words or plan.without:
        return _with_words(connection, plan, limit=limit, after=after)
    return [id_ for id_, _ in _newest(connection, plan, limit=limit, after=after)]


def _together(connection: sa.Connection, ways: Iterable[Sequence[int]]) -> list[int]:
    """The traces of several pages in one, from the newest on."""
    trace = tables.trace.c
    times: dict[int, float] = {}
    for group in in_groups({id_ for way in ways for id_ in way}):
        times |= dict(connection.execute(sa.select(trace.id, trace.sort_at_s).where(trace.id.in_(group))).all())
    return sorted(times, key=lambda id_: (times[id_], id_), reverse=True)


def _with_words(connection: sa.Connection, plan: QueryPlan, *, limit: int, after: ListCursor | None) -> list[int]:
    """The first traces of the plan that hold its words: of one window after the other, as wide as it seems to take.

    Where windows come up short the text index is read from its newest end. If that leads nowhere, the windows go on,
    each twice as wide as all before, until it seems cheaper to look at every trace that holds the words.
    """
    found: list[int] = []
    asked, window = 0, _FIRST_WINDOW + limit
    read = False
    while True:
        ids, after = _window(connection, plan, window, after)
        found += ids
        if after is None or len(found) >= limit:
            return found[:limit]
        asked += window
        missing = limit - len(found)
        to_ask = missing * asked // len(found) if found else max(missing * asked, _WIDE + 1)
        if to_ask > _WIDE and plan.words:
            if not read:
                read = True
                conditions = _conditions(connection, plan)
                rest = search.newest_holding(connection, plan.words, conditions, limit=missing, after=after)
                if rest is not None:
                    return found + rest
            if search.are_cheaper_than(connection, plan.words, to_ask):
                every = plan.driven_by(search.ids_holding(connection, plan.words))
                return found + _with_words(connection, every, limit=missing, after=after)
        window = min(missing + int(1.1 * to_ask), max(_WIDE, asked))


def _window(
    connection: sa.Connection, plan: QueryPlan, width: int, after: ListCursor | None
) -> tuple[list[int], ListCursor | None]:
    """Those of the next `width` traces of a plan that fulfil its words, and where the rest begins; None at the end."""
    met = _newest(connection, plan, limit=width, after=after)
    end = ListCursor(met[-1][1], met[-1][0]) if len(met) == width else None
    return _fulfilling(connection, plan, [id_ for id_, _ in met]), end


def _fulfilling(connection: sa.Connection, plan: QueryPlan, ids: Sequence[int]) -> list[int]:
    """Those of these traces, in their order, that hold the plan's words and none of those they shall lack."""
    held = search.holding_among(connection, ids, plan.words) if plan.words else set(ids)
    for phrase in plan.without:
        held -= search.holding_among(connection, ids, (phrase,))
    return [id_ for id_ in ids if id_ in held]


def _newest(
    connection: sa.Connection, plan: QueryPlan, *, limit: int, after: ListCursor | None
) -> Sequence[sa.Row[int, float]]:
    """The next traces of the plan, and their times. Each select walks one index from its newest end up to `limit`."""
    selects = plan.selects(after=after, limit=limit)
    if len(selects) == 1:
        return connection.execute(selects[0]).all()
    both = sa.union(*(sa.select(select.subquery()) for select in selects)).subquery()
    newest = sa.select(both.c.id, both.c.sort_at_s).order_by(both.c.sort_at_s.desc(), both.c.id.desc()).limit(limit)
    return connection.execute(newest).all()
