"""A filter as SQL: selects that each walk one index from its newest end.

Of what a filter asks, the rarest thing drives: its index is walked, and the rest is looked up for each trace met. How
rare a thing is, is counted up to a bound, which is cheap, and beyond the bound seen from how far back its newest
traces reach; so a page costs about the same in a large store as in a small one, whatever the filter. What drives may
be several values (`code:J1`): then each gets a select of its own. All the words of a filter are one thing, which the
text index knows together; where they are common they neither drive nor are in the selects, but are left to the
caller, who asks the text index for many traces at once.

So it is for terms that must all hold. A choice at the top is several such filters (`storage.filter.terms`), whose
pages the caller puts together; any other choice is looked up for each trace met, words in it too. `since` and
`before` bound the walks. A term without an index (a star within a name, `violates`, most of what `not` is before)
drives nothing: where it is rare and is alone, the list is walked to its end (step by step: `storage.finding`).
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
"""Selects `id` and `sort_at_s`, the newest first."""

_trace = tables.trace.c


class QueryPlan(Struct, frozen=True):
    """How a page is found: what drives, what is asked of each trace met, and the common words to ask of all those.

    They shall hold all `words` and none of `without`. `times` bound when the traces were, and `until` is the last place
    of the list that is looked at. `ids` are the traces to look at, or what selects them, where those drive.
    """

    drives: PlannedTerm | None
    rest: tuple[sa.ColumnElement[bool], ...]
    words: tuple[Phrase, ...] = ()
    without: tuple[Phrase, ...] = ()
    ids: tuple[int, ...] | sa.Select[int] | None = None
    times: tuple[TimeTerm, ...] = ()
    now_s: float = 0.0
    until: ListCursor | None = None

    @property
    def is_bounded(self) -> bool:
        """Whether a page takes the same in a store of any size: each row that is met is on it, or there are few."""
        return isinstance(self.ids, tuple) or not (self.words or self.without or self.rest)

    def selects(self, *, after: ListCursor | None, limit: int) -> list[Page]:
        """The selects that together give the next `limit` traces behind `after`, but for the words."""
        if self.ids is not None:
            return [_sorted(self, self.ids, after).limit(limit)]
        walks = self.drives.walks if self.drives is not None else (IndexScan(tables.trace, ()),)
        return [_walked(self, walk, after).limit(limit) for walk in walks]

    @property
    def conditions(self) -> tuple[sa.ColumnElement[bool], ...]:
        """What a trace must fulfil that was met elsewhere, but for the words."""
        met = () if self.drives is None else (self.drives.condition,)
        return (*self.rest, *met, *self.within(_trace.sort_at_s, _trace.id))

    def within(self, sort_at_s: sa.ColumnElement[float], id_: sa.ColumnElement[int]) -> list[sa.ColumnElement[bool]]:
        """That a trace is within the bounds."""
        bounds = [time_condition(one, sort_at_s, self.now_s) for one in self.times]
        if self.until is not None:
            bounds.append(sa.tuple_(sort_at_s, id_) >= sa.tuple_(self.until.sort_at_s, self.until.id))
        return bounds

    def driven_by(self, words: sa.Select[int]) -> "QueryPlan":
        """The same, found from the ids of all traces that hold `words`."""
        return structs.replace(self, drives=None, rest=self.conditions, words=(), ids=words, times=(), until=None)


def plan_of(connection: sa.Connection, wanted: Filter, after: ListCursor | None, now_s: float) -> QueryPlan | None:
    """How to find what lets through a filter without a choice at its top, behind `after`; None where nothing is.

    `now_s` is the time that `since:2h` counts from.
    """
    terms = [_planned_terms(connection, term, now_s) for term in wanted if not _is_apart(term)]
    times = tuple(term for term in wanted if isinstance(term, TimeTerm))
    words = tuple(Phrase(term.phrase, term.prefix) for term in wanted if isinstance(term, PhraseTerm))
    without = tuple(Phrase(words.phrase, words.prefix) for words in _unwanted(wanted))
    if not all(term.found for term in terms):
        return None
    drives = most_selective(connection, terms, after)
    held = count_up_to(connection, words, ENOUGH) if words else ENOUGH
    if not held:
        return None
    if held < min(ENOUGH, drives.found if drives else ENOUGH):
        ids = tuple(connection.scalars(ids_holding(connection, words).limit(ENOUGH)))
        return QueryPlan(None, tuple(term.condition for term in terms), (), without, ids, times, now_s)
    rest = tuple(term.condition for term in terms if term is not drives)
    if drives is not None and not drives.walks and drives.ids is not None:
        return QueryPlan(None, rest, words, without, tuple(set(connection.scalars(drives.ids))), times, now_s)
    if drives is not None and drives.is_wider:
        rest = (*rest, drives.condition)
    return QueryPlan(drives, rest, words, without, None, times, now_s)


def _is_apart(term: Term) -> bool:
    """Whether a term is no condition on a trace's row: words that it holds or lacks, and when it was."""
    return isinstance(term.term if isinstance(term, NotTerm) else term, PhraseTerm) or isinstance(term, TimeTerm)


def _unwanted(wanted: Filter) -> Iterator[PhraseTerm]:
    for term in wanted:
        if isinstance(term, NotTerm) and isinstance(term.term, PhraseTerm):
            yield term.term


def matching(connection: sa.Connection, wanted: Filter, ids: Sequence[int], now_s: float) -> set[int]:
    """Which of these traces a filter lets through; its words are asked of the text index."""
    conditions = [condition_of(connection, negations_inward(term), now_s) for term in wanted]
    found: set[int] = set()
    for group in in_groups(ids):
        found |= set(connection.scalars(sa.select(_trace.id).where(_trace.id.in_(group), *conditions)))
    return found


def condition_of(connection: sa.Connection, term: Term, now_s: float) -> sa.ColumnElement[bool]:
    """What a trace must fulfil, with `not` before leaves alone."""
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


def _walked(plan: QueryPlan, walk: IndexScan, after: ListCursor | None) -> Page:
    """The traces of a stretch of an index, from the newest on."""
    source: sa.FromClause = walk.table
    if plan.rest and walk.table is not tables.trace:
        source = walk.table.join(tables.trace, _trace.id == walk.trace_id)
    sort_at_s, id_ = walk.sort_at_s, walk.trace_id
    select = sa.select(id_.label("id"), sort_at_s.label("sort_at_s")).select_from(source)
    if walk.repeats:
        select = select.distinct()
    conditions = (*walk.where, *plan.rest, *plan.within(sort_at_s, id_), *_behind(sort_at_s, id_, after))
    return select.where(*conditions).order_by(sort_at_s.desc(), id_.desc())


def _sorted(plan: QueryPlan, ids: tuple[int, ...] | sa.Select[int], after: ListCursor | None) -> Page:
    """These traces from the newest on; said so that no index tempts the database to begin with the time."""
    conditions = (*plan.rest, *plan.within(_trace.sort_at_s, _trace.id))
    named = sa.select(_trace.id, _trace.sort_at_s).where(_trace.id.in_(ids), *conditions)
    found = named.cte("found").prefix_with("MATERIALIZED").c
    behind = _behind(found.sort_at_s, found.id, after)
    return sa.select(found.id, found.sort_at_s).where(*behind).order_by(found.sort_at_s.desc(), found.id.desc())


def _behind(
    sort_at_s: sa.ColumnElement[float], id_: sa.ColumnElement[int], after: ListCursor | None
) -> list[sa.ColumnElement[bool]]:
    return [] if after is None else [sa.tuple_(sort_at_s, id_) < sa.tuple_(after.sort_at_s, after.id)]
