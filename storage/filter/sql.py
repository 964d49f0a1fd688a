"""A filter as SQL: SELECTs that each scan one index from its newest end.

The most selective term of a filter drives the query: its index is scanned, and the other terms are checked for each
trace found. The number of matches of a term is counted up to a bound, which is cheap; common terms are compared by how
far back in time their newest traces reach. So a page costs about the same in a large store as in a small one, whatever
the filter. The driving term may have several values (`code:J1`): then each value gets a separate SELECT. All words of a
filter are one term, which the text index looks up together; if they are common, they are neither the driving term nor
in the SELECTs: the caller queries the text index for many traces at once.

This applies to terms joined with `and`. An `or` at the top level is split into several such filters
(`storage.filter.terms`), whose pages the caller merges; any other `or` is checked for each trace found, with the words
in it. `since` and `before` limit the scans. A term without an index (a star within a name, `violates`, most terms after
`not`) cannot drive the query: if it is rare and the only term, the list is scanned to its end, step by step
(`storage.finding`).
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias, assert_never

import sqlalchemy as sa
from msgspec import Struct, structs

from storage import tables
from storage.filter.planner import planned_term, time_condition
from storage.filter.selectivity import ENOUGH, IndexScan, PlannedTerm, most_selective
from storage.filter.terms import (
    AllTerms,
    AnyTerm,
    ArgumentTerm,
    Field,
    Filter,
    NotTerm,
    NumberTerm,
    PhraseTerm,
    Term,
    TimeTerm,
    negations_inward,
)
from storage.search import Phrase, count_up_to, holds_phrase, ids_holding
from storage.summaries import ListCursor
from storage.tables import in_groups

Page: TypeAlias = sa.Select[int, float]
"""A SELECT of `id` and `sort_at_s`, the newest first."""

_trace = tables.trace.c


class QueryPlan(Struct, frozen=True):
    """How to find a page: the driving term, the conditions to check for each trace, and the common words to look up.

    The traces must contain all `words` and none of `without`. `times` limit when the traces started, and `until` is the
    last position of the list to read. `ids` are the candidate traces, or the SELECT of them, if there is no `driver`.
    """

    driver: PlannedTerm | None
    rest: tuple[sa.ColumnElement[bool], ...]
    words: tuple[Phrase, ...] = ()
    without: tuple[Phrase, ...] = ()
    ids: tuple[int, ...] | sa.Select[int] | None = None
    times: tuple[TimeTerm, ...] = ()
    now_s: float = 0.0
    until: ListCursor | None = None

    @property
    def is_bounded(self) -> bool:
        """Whether a page costs the same in a store of any size: every row read is a result, or there are few."""
        return isinstance(self.ids, tuple) or not (self.words or self.without or self.rest)

    def selects(self, *, after: ListCursor | None, limit: int) -> list[Page]:
        """The SELECTs that together return the next `limit` traces after `after`, without checking the words."""
        if self.ids is not None:
            return [_sorted(self, self.ids, after).limit(limit)]
        scans = self.driver.scans if self.driver is not None else (IndexScan(tables.trace, ()),)
        return [_scanned(self, scan, after).limit(limit) for scan in scans]

    @property
    def conditions(self) -> tuple[sa.ColumnElement[bool], ...]:
        """All conditions on a trace that another query found, except for the words."""
        driving = () if self.driver is None else (self.driver.condition,)
        return (*self.rest, *driving, *self.within(_trace.sort_at_s, _trace.id))

    def within(self, sort_at_s: sa.ColumnElement[float], id_: sa.ColumnElement[int]) -> list[sa.ColumnElement[bool]]:
        """The conditions that a trace is within `times` and `until`."""
        bounds = [time_condition(one, sort_at_s, self.now_s) for one in self.times]
        if self.until is not None:
            bounds.append(sa.tuple_(sort_at_s, id_) >= sa.tuple_(self.until.sort_at_s, self.until.id))
        return bounds

    def driven_by(self, words: sa.Select[int]) -> "QueryPlan":
        """The same plan, driven by the ids of all traces that contain `words`."""
        return structs.replace(self, driver=None, rest=self.conditions, words=(), ids=words, times=(), until=None)


def plan_of(connection: sa.Connection, terms: Filter, after: ListCursor | None, now_s: float) -> QueryPlan | None:
    """The plan for a filter without `or` at its top level, for traces after `after`; None if nothing can match.

    `now_s` is the reference time of terms such as `since:2h`.
    """
    planned = [_planned_terms(connection, term, now_s) for term in terms if not _is_separate(term)]
    times = tuple(term for term in terms if isinstance(term, TimeTerm))
    words = tuple(Phrase(term.phrase, term.prefix) for term in terms if isinstance(term, PhraseTerm))
    without = tuple(Phrase(words.phrase, words.prefix) for words in _excluded_words(terms))
    if not all(term.found for term in planned):
        return None
    driver = most_selective(connection, planned, after)
    count = count_up_to(connection, words, ENOUGH) if words else ENOUGH
    if not count:
        return None
    if count < min(ENOUGH, driver.found if driver else ENOUGH):
        ids = tuple(connection.scalars(ids_holding(connection, words).limit(ENOUGH)))
        return QueryPlan(None, tuple(term.condition for term in planned), (), without, ids, times, now_s)
    rest = tuple(term.condition for term in planned if term is not driver)
    if driver is not None and not driver.scans and driver.ids is not None:
        return QueryPlan(None, rest, words, without, tuple(set(connection.scalars(driver.ids))), times, now_s)
    if driver is not None and driver.is_wider:
        rest = (*rest, driver.condition)
    return QueryPlan(driver, rest, words, without, None, times, now_s)


def _is_separate(term: Term) -> bool:
    """Whether a term is planned separately, not as a condition on a trace's row: words, excluded words, and times."""
    return isinstance(term.term if isinstance(term, NotTerm) else term, PhraseTerm) or isinstance(term, TimeTerm)


def _excluded_words(terms: Filter) -> Iterator[PhraseTerm]:
    for term in terms:
        if isinstance(term, NotTerm) and isinstance(term.term, PhraseTerm):
            yield term.term


def matching(connection: sa.Connection, terms: Filter, ids: Sequence[int], now_s: float) -> set[int]:
    """Which of these traces match a filter; its words are looked up in the text index."""
    conditions = [condition_of(connection, negations_inward(term), now_s) for term in terms]
    found: set[int] = set()
    for group in in_groups(ids):
        found |= set(connection.scalars(sa.select(_trace.id).where(_trace.id.in_(group), *conditions)))
    return found


def condition_of(connection: sa.Connection, term: Term, now_s: float) -> sa.ColumnElement[bool]:
    """The SQL condition of a term in which `not` is only before leaves (see `negations_inward`)."""
    match term:
        case PhraseTerm(phrase, prefix):
            return holds_phrase(connection, Phrase(phrase, prefix))
        case AllTerms(terms):
            return sa.and_(sa.true(), *(condition_of(connection, one, now_s) for one in terms))
        case AnyTerm(terms):
            return sa.or_(sa.false(), *(condition_of(connection, one, now_s) for one in terms))
        case NotTerm(PhraseTerm() as words):
            return sa.not_(condition_of(connection, words, now_s))
        case NotTerm():
            return _planned_terms(connection, term, now_s).condition
        case Field() | NumberTerm() | ArgumentTerm() | TimeTerm():
            return planned_term(connection, term, now_s).condition
        case _:
            assert_never(term)


def _planned_terms(connection: sa.Connection, term: Term, now_s: float) -> PlannedTerm:
    match term:
        case Field() | NumberTerm() | ArgumentTerm() | TimeTerm():
            return planned_term(connection, term, now_s)
        case NotTerm(Field() | NumberTerm() | ArgumentTerm() | TimeTerm() as leaf):
            return planned_term(connection, leaf, now_s, negated=True)
        case NotTerm(inner):
            return PlannedTerm(sa.not_(condition_of(connection, inner, now_s)))
        case _:
            return PlannedTerm(condition_of(connection, term, now_s))


def _scanned(plan: QueryPlan, scan: IndexScan, after: ListCursor | None) -> Page:
    """The traces of a range of an index, newest first."""
    source: sa.FromClause = scan.table
    if plan.rest and scan.table is not tables.trace:
        source = scan.table.join(tables.trace, _trace.id == scan.trace_id)
    sort_at_s, id_ = scan.sort_at_s, scan.trace_id
    select = sa.select(id_.label("id"), sort_at_s.label("sort_at_s")).select_from(source)
    if scan.repeats:
        select = select.distinct()
    conditions = (*scan.where, *plan.rest, *plan.within(sort_at_s, id_), *_after_cursor(sort_at_s, id_, after))
    return select.where(*conditions).order_by(sort_at_s.desc(), id_.desc())


def _sorted(plan: QueryPlan, ids: tuple[int, ...] | sa.Select[int], after: ListCursor | None) -> Page:
    """These traces, newest first; written so that the database does not start with the index of times."""
    conditions = (*plan.rest, *plan.within(_trace.sort_at_s, _trace.id))
    named = sa.select(_trace.id, _trace.sort_at_s).where(_trace.id.in_(ids), *conditions)
    found = named.cte("found").prefix_with("MATERIALIZED").c
    bounds = _after_cursor(found.sort_at_s, found.id, after)
    return sa.select(found.id, found.sort_at_s).where(*bounds).order_by(found.sort_at_s.desc(), found.id.desc())


def _after_cursor(
    sort_at_s: sa.ColumnElement[float], id_: sa.ColumnElement[int], after: ListCursor | None
) -> list[sa.ColumnElement[bool]]:
    return [] if after is None else [sa.tuple_(sort_at_s, id_) < sa.tuple_(after.sort_at_s, after.id)]
