"""Pages of a list: the newest traces first, and every page costs the same however deep it lies."""

import time
from collections.abc import Iterable, Sequence

import sqlalchemy as sa

from storage import tables
from storage.filter import Filter
from storage.filter.sql import Plan, plan_of
from storage.filter.trees import branches
from storage.groups import in_groups
from storage.search import are_cheaper_than, holding, holding_among, holds_phrase, newest_holding
from storage.summaries import ListCursor, TraceSummary, summaries

_FIRST_WINDOW = 100  # traces beyond a page's length that the text index is asked for at first
_WIDE = 5_000  # traces; where a page seems to take more, the text index is read instead of asked


def page(connection: sa.Connection, wanted: Filter, *, limit: int, after: ListCursor | None) -> list[TraceSummary]:
    """The next `limit` traces that the filter lets through, behind `after`."""
    return summaries(connection, newest_ids(connection, wanted, limit=limit, after=after))


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


def _with_words(connection: sa.Connection, plan: Plan, *, limit: int, after: ListCursor | None) -> list[int]:
    """The first traces of the plan that hold its words: of one window after the other, as wide as it seems to take.

    Where windows come up short the text index is read from its newest end. If that leads nowhere, the windows go on,
    each twice as wide as all before, until it seems cheaper to look at every trace that holds the words.
    """
    found: list[int] = []
    asked, window = 0, _FIRST_WINDOW + limit
    read = False
    while True:
        met = _newest(connection, plan, limit=window, after=after)
        found += _fulfilling(connection, plan, [id_ for id_, _ in met])
        if len(found) >= limit or len(met) < window:
            return found[:limit]
        after = ListCursor(met[-1][1], met[-1][0])
        asked += window
        missing = limit - len(found)
        to_ask = missing * asked // len(found) if found else max(missing * asked, _WIDE + 1)
        if to_ask > _WIDE and plan.words:
            if not read:
                read = True
                conditions = (*plan.conditions, *(sa.not_(holds_phrase(connection, one)) for one in plan.without))
                rest = newest_holding(connection, plan.words, conditions, limit=missing, after=after)
                if rest is not None:
                    return found + rest
            if are_cheaper_than(connection, plan.words, to_ask):
                every = plan.driven_by(holding(connection, plan.words))
                return found + _with_words(connection, every, limit=missing, after=after)
        window = min(missing + int(1.1 * to_ask), max(_WIDE, asked))


def _fulfilling(connection: sa.Connection, plan: Plan, ids: Sequence[int]) -> list[int]:
    """Those of these traces, in their order, that hold the plan's words and none of those they shall lack."""
    held = holding_among(connection, ids, plan.words) if plan.words else set(ids)
    for phrase in plan.without:
        held -= holding_among(connection, ids, (phrase,))
    return [id_ for id_ in ids if id_ in held]


def _newest(
    connection: sa.Connection, plan: Plan, *, limit: int, after: ListCursor | None
) -> Sequence[sa.Row[int, float]]:
    """The next traces of the plan, and their times. Each select walks one index from its newest end up to `limit`."""
    selects = plan.selects(after=after, limit=limit)
    if len(selects) == 1:
        return connection.execute(selects[0]).all()
    both = sa.union(*(sa.select(select.subquery()) for select in selects)).subquery()
    newest = sa.select(both.c.id, both.c.sort_at_s).order_by(both.c.sort_at_s.desc(), both.c.id.desc()).limit(limit)
    return connection.execute(newest).all()
