"""Finds the newest traces that match a filter: a page in one call, or step by step, each step in bounded time.

Theory of operation. A page costs the same in a store of any size if every term of the filter has an index; it is found
in one call. Any other filter may need the whole list: substrings of names, terms after `not`, words that few of the
newest traces contain. One step of a scan reads a number of traces of the list, whatever matches among them, and
returns the place where the scan continues. Nothing is held between two steps, so the caller can stop, show progress, or
continue later. The first step reads `FIRST_STEP` traces; each following step reads twice as many if the last one was
fast, half as many if it was slow. Concatenated, the steps are the same as a page without a limit.

The text index is queried for all traces of a window together. If the first step finds too few, the index is read from
its newest end instead, provided that this completes the page within a bound.
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
"""Number of traces that the first step of a scan reads."""

_NARROWEST, _WIDEST = 500, 200_000  # number of traces in any other step
_QUICK_S, _SLOW_S = 0.05, 0.2
_FIRST_WINDOW = 100  # traces, besides a page's length, of the first window
_WIDE = 5_000  # traces; if a page seems to need more, the text index is scanned instead of queried by id
_trace = tables.trace.c


class ScanPlace(Struct, frozen=True):
    """The place where a scan continues: after `after`, with `looked_at` of the `total` traces of the list read.

    `total` is 0 until the second step, because counting takes longer than the first step. `rank` is 1 in the first part
    of a list that shows broken traces first. `width` is the number of traces that the next step reads; it is 0 before
    the first step, and if no steps are needed.
    """

    after: ListCursor | None = None
    rank: int = 0
    looked_at: int = 0
    total: int = 0
    width: int = 0


def next_step(
    connection: sa.Connection, terms: Filter, place: ScanPlace, *, limit: int
) -> tuple[list[int], ScanPlace | None]:
    """The next matching traces, at most `limit` and maybe none, and the place where the scan continues.

    The place is None at the end of the list.
    """
    now_s = time.time()
    plans = [plan_of(connection, one, place.after, now_s) for one in branches(terms)]
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
            *_after_cursor(place.after), sa.tuple_(_trace.sort_at_s, _trace.id) >= _place(last)
        )
        looked_at = place.looked_at + _count(connection, passed)
        return ids, structs.replace(place, after=last, looked_at=looked_at, total=total, width=width)
    if until is None:
        return ids, None
    took_s = time.monotonic() - began_s
    wider = min(2 * width, _WIDEST) if took_s < _QUICK_S else max(width // 2, _NARROWEST) if took_s > _SLOW_S else width
    return ids, structs.replace(place, after=until, looked_at=place.looked_at + width, total=total, width=wider)


def _merged(connection: sa.Connection, plans: Sequence[QueryPlan], after: ListCursor | None, limit: int) -> list[int]:
    """The next traces of all plans, newest first."""
    pages = [_in_windows(connection, one, limit=limit, after=after) for one in plans]
    return pages[0] if len(pages) == 1 else _merge(connection, pages)[:limit]


def _in_windows(connection: sa.Connection, plan: QueryPlan, *, limit: int, after: ListCursor | None) -> list[int]:
    """The next traces of a plan; its words are queried window by window, each twice as wide, up to `_WIDE`."""
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
    """The next traces that contain a plan's words, read from the text index; None if a scan is better."""
    if not plan.words or search.are_common_after(connection, plan.words, after):
        return None
    if connection.dialect.name == "sqlite":
        return search.newest_holding(connection, plan.words, _conditions(connection, plan), limit=limit, after=after)
    if plan.without:
        return None
    by_words = plan.driven_by(search.ids_holding(connection, plan.words))
    return [id_ for id_, _ in _newest(connection, by_words, limit=limit, after=after)]


def _conditions(connection: sa.Connection, plan: QueryPlan) -> tuple[sa.ColumnElement[bool], ...]:
    """The plan's other conditions on a trace that contains its words."""
    return (*plan.conditions, *(sa.not_(search.holds_phrase(connection, one)) for one in plan.without))


def _end_of_step(connection: sa.Connection, after: ListCursor | None, width: int) -> ListCursor | None:
    """The cursor of the last of the next `width` traces; None if the list ends before it."""
    newest = sa.select(_trace.sort_at_s, _trace.id).where(*_after_cursor(after))
    row = connection.execute(
        newest.order_by(_trace.sort_at_s.desc(), _trace.id.desc()).limit(1).offset(width - 1)
    ).one_or_none()
    return None if row is None else ListCursor(*row)


def _cursor(connection: sa.Connection, id_: int) -> ListCursor:
    return ListCursor(connection.scalars(sa.select(_trace.sort_at_s).where(_trace.id == id_)).one(), id_)


def _after_cursor(after: ListCursor | None) -> list[sa.ColumnElement[bool]]:
    return [] if after is None else [sa.tuple_(_trace.sort_at_s, _trace.id) < _place(after)]


def _place(cursor: ListCursor) -> sa.Tuple:
    return sa.tuple_(cursor.sort_at_s, cursor.id)


def _count(connection: sa.Connection, query: sa.Select[int]) -> int:
    return connection.scalar(sa.select(sa.func.count()).select_from(query.subquery())) or 0


def newest_ids(connection: sa.Connection, terms: Filter, *, limit: int, after: ListCursor | None) -> list[int]:
    """The ids of the next `limit` matching traces after `after`."""
    now_s = time.time()
    pages = [_ids(connection, one, now_s, limit=limit, after=after) for one in branches(terms)]
    return pages[0] if len(pages) == 1 else _merge(connection, pages)[:limit]


def _ids(connection: sa.Connection, terms: Filter, now_s: float, *, limit: int, after: ListCursor | None) -> list[int]:
    """The next traces that match a filter without `or` at its top level."""
    plan = plan_of(connection, terms, after, now_s)
    if plan is None:
        return []
    if plan.words or plan.without:
        return _with_words(connection, plan, limit=limit, after=after)
    return [id_ for id_, _ in _newest(connection, plan, limit=limit, after=after)]


def _merge(connection: sa.Connection, pages: Iterable[Sequence[int]]) -> list[int]:
    """The traces of several pages merged into one, newest first."""
    trace = tables.trace.c
    times: dict[int, float] = {}
    for group in in_groups({id_ for page_ids in pages for id_ in page_ids}):
        times |= dict(connection.execute(sa.select(trace.id, trace.sort_at_s).where(trace.id.in_(group))).all())
    return sorted(times, key=lambda id_: (times[id_], id_), reverse=True)


def _with_words(connection: sa.Connection, plan: QueryPlan, *, limit: int, after: ListCursor | None) -> list[int]:
    """The first traces of the plan that contain its words, window by window; windows are as wide as seems necessary.

    If a page seems to need many traces, the text index is read from its newest end. If that fails, windows continue,
    each at most as wide as all before it together (or `_WIDE`), until reading every trace with these words seems
    cheaper.
    """
    found: list[int] = []
    examined, window = 0, _FIRST_WINDOW + limit
    index_read = False
    while True:
        ids, after = _window(connection, plan, window, after)
        found += ids
        if after is None or len(found) >= limit:
            return found[:limit]
        examined += window
        missing = limit - len(found)
        to_examine = missing * examined // len(found) if found else max(missing * examined, _WIDE + 1)
        if to_examine > _WIDE and plan.words:
            if not index_read:
                index_read = True
                conditions = _conditions(connection, plan)
                rest = search.newest_holding(connection, plan.words, conditions, limit=missing, after=after)
                if rest is not None:
                    return found + rest
            if search.are_cheaper_than(connection, plan.words, to_examine):
                by_words = plan.driven_by(search.ids_holding(connection, plan.words))
                return found + _with_words(connection, by_words, limit=missing, after=after)
        window = min(missing + int(1.1 * to_examine), max(_WIDE, examined))


def _window(
    connection: sa.Connection, plan: QueryPlan, width: int, after: ListCursor | None
) -> tuple[list[int], ListCursor | None]:
    """Those of the next `width` traces of a plan that match its words, and the cursor after them; None at the end."""
    traces = _newest(connection, plan, limit=width, after=after)
    end = ListCursor(traces[-1][1], traces[-1][0]) if len(traces) == width else None
    return _fulfilling(connection, plan, [id_ for id_, _ in traces]), end


def _fulfilling(connection: sa.Connection, plan: QueryPlan, ids: Sequence[int]) -> list[int]:
    """Those of these traces, in order, that contain the plan's words and none of its excluded words."""
    matches = search.holding_among(connection, ids, plan.words) if plan.words else set(ids)
    for phrase in plan.without:
        matches -= search.holding_among(connection, ids, (phrase,))
    return [id_ for id_ in ids if id_ in matches]


def _newest(
    connection: sa.Connection, plan: QueryPlan, *, limit: int, after: ListCursor | None
) -> Sequence[sa.Row[int, float]]:
    """The next traces of the plan, and their times. Each SELECT scans one index from its newest end, up to `limit`."""
    selects = plan.selects(after=after, limit=limit)
    if len(selects) == 1:
        return connection.execute(selects[0]).all()
    both = sa.union(*(sa.select(select.subquery()) for select in selects)).subquery()
    newest = sa.select(both.c.id, both.c.sort_at_s).order_by(both.c.sort_at_s.desc(), both.c.id.desc()).limit(limit)
    return connection.execute(newest).all()
