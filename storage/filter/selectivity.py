"""How a term of a filter is found: by walks along an index, or as a handful of ids; and which term is the rarest."""

from collections.abc import Sequence
from typing import TypeVar

import sqlalchemy as sa
from msgspec import Struct

from storage import tables
from storage.summaries import ListCursor

_Value = TypeVar("_Value")

ENOUGH = 2_000
"""What is found this often is common."""

MOST_VALUES = 50
"""So many values of a field are walked beside each other, and no more."""

_SAMPLE, _LEAST_SAMPLE = 400, 10  # traces of each common field whose times are looked at; of each value at least

_trace = tables.trace.c


class IndexScan(Struct, frozen=True):
    """A stretch of an index that goes by time: the rows of `table`, which is clustered or sorted so, that fulfil this.

    With `repeats` a trace may be in it several times.
    """

    table: sa.Table
    where: tuple[sa.ColumnElement[bool], ...]
    repeats: bool = False

    @property
    def sort_at_s(self) -> sa.ColumnElement[float]:
        """When the trace of a row is in lists."""
        return self.table.c.sort_at_s

    @property
    def trace_id(self) -> sa.ColumnElement[int]:
        """The trace of a row."""
        return self.table.c.id if self.table is tables.trace else self.table.c.trace_id


class PlannedTerm(Struct, frozen=True):
    """A term that is asked for: what a trace must fulfil, how often it is found, up to the bound, and by which way.

    `walks` find the traces, and where it `is_wider` others too; `ids` selects them all, in no order. A term without
    either has no index.
    """

    condition: sa.ColumnElement[bool]
    found: int = ENOUGH
    walks: tuple[IndexScan, ...] = ()
    ids: sa.Select[int] | sa.CompoundSelect[int] | None = None
    is_wider: bool = False

    @property
    def may_drive(self) -> bool:
        """Whether the traces can be found from here: along few walks, or as a handful of ids."""
        return 0 < len(self.walks) <= MOST_VALUES or (self.ids is not None and self.found < ENOUGH)


def bounded_count(connection: sa.Connection, wanted: sa.Select[int] | sa.CompoundSelect[int]) -> int:
    """How many rows there are, up to the bound."""
    return connection.scalar(sa.select(sa.func.count()).select_from(wanted.limit(ENOUGH).subquery())) or 0


def most_selective(
    connection: sa.Connection, terms: Sequence[PlannedTerm], after: ListCursor | None
) -> PlannedTerm | None:
    """The term that the fewest traces have, of those that may drive; None where there is none.

    Common terms are distinguished by their density behind `after`: the further back the same number of traces reaches,
    the rarer they are where the page is looked for.
    """
    able = [one for one in terms if one.may_drive]
    least = min((one.found for one in able), default=0)
    candidates = [one for one in able if one.found == least]
    if len(candidates) < 2 or least < ENOUGH:
        return candidates[0] if candidates else None
    densities = _densities(connection, candidates, after)
    return candidates[densities.index(min(densities))]


def _densities(connection: sa.Connection, terms: Sequence[PlannedTerm], after: ListCursor | None) -> list[float]:
    """How many traces a second have each term, of the newest behind `after`."""
    start = sa.select(sa.func.max(_trace.sort_at_s)).scalar_subquery() if after is None else sa.literal(after.sort_at_s)
    reaches = [_reach(walk, _sample(one), after) for one in terms for walk in one.walks]
    starts_at_s, *reached = connection.execute(sa.select(start, *reaches)).one()
    found: list[float] = []
    for one in terms:
        mine, reached = reached[: len(one.walks)], reached[len(one.walks) :]
        spans = [starts_at_s - at_s for at_s in mine if at_s is not None]
        found.append(sum(_sample(one) / span if span > 0 else float("inf") for span in spans))
    return found


def _reach(walk: IndexScan, sample: int, after: ListCursor | None) -> sa.ScalarSelect[float]:
    """When the last of the newest traces was that are looked at; NULL where there are not as many."""
    behind = [] if after is None else [walk.sort_at_s <= after.sort_at_s]
    newest = sa.select(walk.sort_at_s).where(*walk.where, *behind).order_by(walk.sort_at_s.desc())
    return newest.limit(1).offset(sample).scalar_subquery()


def _sample(one: PlannedTerm) -> int:
    return max(_LEAST_SAMPLE, _SAMPLE // len(one.walks))


def stored_values(
    connection: sa.Connection,
    column: sa.ColumnElement[_Value],
    most: int | None = None,
    *where: sa.ColumnElement[bool],
) -> Sequence[_Value]:
    """The different values of an indexed column, by jumps along the index: DISTINCT would read it whole.

    `where` is a range of the index, or the condition that it has.
    """
    values = sa.select(sa.func.min(column).label("value")).where(*where).cte("stored_values", recursive=True)
    following = (
        sa.select(sa.func.min(column)).where(column > values.c.value, *where).correlate(values).scalar_subquery()
    )
    values = values.union_all(sa.select(following).where(values.c.value.is_not(None)))
    wanted = sa.select(values.c.value).where(values.c.value.is_not(None))
    return connection.scalars(wanted if most is None else wanted.limit(most)).all()


def unindexed(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """The same condition, false where it is NULL; SQLite finds no index for it, PostgreSQL takes it for common."""
    return sa.case((condition, sa.true()), else_=sa.false())
