"""Pages of a list: the newest traces first, and every page costs the same however deep it lies."""

import sqlalchemy as sa

from storage.filter import Filter
from storage.filter.sql import branches
from storage.summaries import Cursor, TraceSummary, summaries


def page(connection: sa.Connection, wanted: Filter, *, limit: int, after: Cursor | None) -> list[TraceSummary]:
    """The next `limit` traces that the filter lets through, behind `after`."""
    selects = branches(connection, wanted, after=after, limit=limit)
    if not selects:
        return []
    # Each branch walks one index from its newest end and stops at `limit`; what they found is put together.
    both = sa.union(*(sa.select(select.subquery()) for select in selects)).subquery()
    newest = sa.select(both.c.id).order_by(both.c.sort_at_s.desc(), both.c.id.desc()).limit(limit)
    return summaries(connection, list(connection.scalars(newest)))
