"""Pages of a list: the newest traces first, and every page costs the same however deep it lies."""

from collections.abc import Sequence

import sqlalchemy as sa

from storage.filter import Filter
from storage.filter.sql import Plan, plan_of
from storage.search import holding_among
from storage.summaries import Cursor, TraceSummary, summaries

_FIRST_WINDOW, _LARGEST_WINDOW = 100, 5_000  # traces that the text index is asked for at once, at least and at most


def page(connection: sa.Connection, wanted: Filter, *, limit: int, after: Cursor | None) -> list[TraceSummary]:
    """The next `limit` traces that the filter lets through, behind `after`."""
    plan = plan_of(connection, wanted)
    if plan is None:
        return []
    if plan.words:
        return summaries(connection, _with_words(connection, plan, limit=limit, after=after))
    return summaries(connection, [id_ for id_, _ in _newest(connection, plan, limit=limit, after=after)])


def _with_words(connection: sa.Connection, plan: Plan, *, limit: int, after: Cursor | None) -> list[int]:
    """The first traces of the plan that hold its words: of one window after the other, as wide as it seems to take."""
    found: list[int] = []
    asked, window = 0, _FIRST_WINDOW + limit
    while len(found) < limit:
        met = _newest(connection, plan, limit=window, after=after)
        held = holding_among(connection, [id_ for id_, _ in met], plan.words)
        found += [id_ for id_, _ in met if id_ in held]
        if len(met) < window:
            break
        after = Cursor(met[-1][1], met[-1][0])
        asked += window
        missing = (limit - len(found)) * asked / max(len(found), 1)
        window = min(limit + int(1.1 * missing), _LARGEST_WINDOW)
    return found[:limit]


def _newest(connection: sa.Connection, plan: Plan, *, limit: int, after: Cursor | None) -> Sequence[sa.Row[int, float]]:
    """The next traces of the plan, and their times. Each select walks one index from its newest end up to `limit`."""
    selects = plan.selects(after=after, limit=limit)
    if len(selects) == 1:
        return connection.execute(selects[0]).all()
    both = sa.union(*(sa.select(select.subquery()) for select in selects)).subquery()
    newest = sa.select(both.c.id, both.c.sort_at_s).order_by(both.c.sort_at_s.desc(), both.c.id.desc()).limit(limit)
    return connection.execute(newest).all()
