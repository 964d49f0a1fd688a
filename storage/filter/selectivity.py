"""How to find the traces of a term: with index scans, or as a few ids; and which term is the most selective."""

from collections.abc import Sequence
from typing import TypeVar

import sqlalchemy as sa
from msgspec import Struct

from storage import tables
from storage.summaries import ListCursor

_Value = TypeVar("_Value")

ENOUGH = 2_000
"""A term with this many traces is common; counts stop here."""

MOST_VALUES = 50
"""Maximum number of values of a field whose index scans are merged."""

_SAMPLE, _LEAST_SAMPLE = 400, 10  # traces whose times are sampled: of each common field, and at least of each value

_trace = tables.trace.c


class IndexScan(Struct, frozen=True):
    """A range of an index that is sorted by time: the rows of `table` that match `where`.

    With `repeats`, it may contain a trace several times.
    """

    table: sa.Table
    where: tuple[sa.ColumnElement[bool], ...]
    repeats: bool = False

    @property
    def sort_at_s(self) -> sa.ColumnElement[float]:
        """The column of the time by which lists sort a row's trace."""
        return self.table.c.sort_at_s

    @property
    def trace_id(self) -> sa.ColumnElement[int]:
        """The column of the id of a row's trace."""
        return self.table.c.id if self.table is tables.trace else self.table.c.trace_id


class PlannedTerm(Struct, frozen=True):
    """The plan of a term: the condition on a trace, the number of matches up to the bound, and how to find them.

    `scans` find the matching traces, and others too if `is_wider`; `ids` selects all of them, unsorted. A term without
    both has no index.
    """

    condition: sa.ColumnElement[bool]
    found: int = ENOUGH
    scans: tuple[IndexScan, ...] = ()
    ids: sa.Select[int] | sa.CompoundSelect[int] | None = None
    is_wider: bool = False

    @property
    def may_drive(self) -> bool:
        """Whether the traces can be found with this term: with a few index scans, or as a few ids."""
        return 0 < len(self.scans) <= MOST_VALUES or (self.ids is not None and self.found < ENOUGH)


def bounded_count(connection: sa.Connection, query: sa.Select[int] | sa.CompoundSelect[int]) -> int:
    """The number of rows, at most `ENOUGH`."""
    return connection.scalar(sa.select(sa.func.count()).select_from(query.limit(ENOUGH).subquery())) or 0


def most_selective(
    connection: sa.Connection, terms: Sequence[PlannedTerm], after: ListCursor | None
) -> PlannedTerm | None:
    """The term with the fewest traces, of those that may drive the query; None if there is none.

    Common terms are compared by their density after `after`: the further back the same number of traces reaches, the
    rarer they are at the position of the page.
    """
    usable = [one for one in terms if one.may_drive]
    least = min((one.found for one in usable), default=0)
    candidates = [one for one in usable if one.found == least]
    if len(candidates) < 2 or least < ENOUGH:
        return candidates[0] if candidates else None
    densities = _densities(connection, candidates, after)
    return candidates[densities.index(min(densities))]


def _densities(connection: sa.Connection, terms: Sequence[PlannedTerm], after: ListCursor | None) -> list[float]:
    """The number of traces per second of each term, among the newest after `after`."""
    start = sa.select(sa.func.max(_trace.sort_at_s)).scalar_subquery() if after is None else sa.literal(after.sort_at_s)
    reaches = [_reach(scan, _sample(one), after) for one in terms for scan in one.scans]
    starts_at_s, *reached = connection.execute(sa.select(start, *reaches)).one()
    found: list[float] = []
    for one in terms:
        times, reached = reached[: len(one.scans)], reached[len(one.scans) :]
        spans = [starts_at_s - at_s for at_s in times if at_s is not None]
        found.append(sum(_sample(one) / span if span > 0 else float("inf") for span in spans))
    return found


def _reach(scan: IndexScan, sample: int, after: ListCursor | None) -> sa.ScalarSelect[float]:
    """The time of the last of the sampled newest traces; NULL if there are fewer."""
    bounds = [] if after is None else [scan.sort_at_s <= after.sort_at_s]
    newest = sa.select(scan.sort_at_s).where(*scan.where, *bounds).order_by(scan.sort_at_s.desc())
    return newest.limit(1).offset(sample).scalar_subquery()


def _sample(term: PlannedTerm) -> int:
    return max(_LEAST_SAMPLE, _SAMPLE // len(term.scans))


def stored_values(
    connection: sa.Connection,
    column: sa.ColumnElement[_Value],
    most: int | None = None,
    *where: sa.ColumnElement[bool],
) -> Sequence[_Value]:
    """The distinct values of an indexed column, found by jumping along the index: DISTINCT would read it completely.

    `where` is a range of the index, or the condition that it has.
    """
    values = sa.select(sa.func.min(column).label("value")).where(*where).cte("stored_values", recursive=True)
    following = (
        sa.select(sa.func.min(column)).where(column > values.c.value, *where).correlate(values).scalar_subquery()
    )
    values = values.union_all(sa.select(following).where(values.c.value.is_not(None)))
    query = sa.select(values.c.value).where(values.c.value.is_not(None))
    return connection.scalars(query if most is None else query.limit(most)).all()


def unindexed(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """The condition, false instead of NULL; SQLite uses no index for it, PostgreSQL assumes that it is common."""
    return sa.case((condition, sa.true()), else_=sa.false())
