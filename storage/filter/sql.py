"""A filter as SQL: selects that each walk one index from its newest end.

Of what a filter asks, the rarest thing drives: its index is walked, and the rest is looked up for each trace met. How
rare a thing is, is counted up to a bound, which is cheap, and beyond the bound seen from how far back its newest
traces reach; so a page costs about the same in a large store as in a small one, whatever the filter. What drives may
be several values (`code:J1`): then each gets a select of its own. All the words of a filter are one thing, which the
text index knows together; where they are common they neither drive nor stand in the selects, but are left to the
caller, who asks the text index for many traces at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import sqlalchemy as sa

from storage import tables
from storage.filter.asked import COLUMNS, ENOUGH, MOST_VALUES, TABLES, Asked, asked, rarest
from storage.filter.terms import Field, Filter, Key, Words
from storage.groups import in_groups
from storage.search import Phrase, count_up_to, holding
from storage.summaries import Cursor

Page: TypeAlias = sa.Select[int, float]
"""Selects `id` and `sort_at_s`, the newest first."""

_trace = tables.trace.c


@dataclass(frozen=True, slots=True)
class Plan:
    """How a page is found: what drives, what is asked of each trace met, and the common words to ask of all those.

    `ids` are the traces that hold the words, or what selects them, where those drive.
    """

    drives: Asked | None
    rest: tuple[sa.ColumnElement[bool], ...]
    words: tuple[Phrase, ...] = ()
    ids: tuple[int, ...] | sa.Select[int] | None = None

    def selects(self, *, after: Cursor | None, limit: int) -> list[Page]:
        """The selects that together give the next `limit` traces behind `after`, but for `words`."""
        return [select.limit(limit) for select in _walks(self, after)]

    @property
    def conditions(self) -> tuple[sa.ColumnElement[bool], ...]:
        """What a trace must fulfil that was met elsewhere, but for `words`."""
        return self.rest if self.drives is None else (*self.rest, _condition(self.drives))

    def driven_by(self, words: sa.Select[int]) -> "Plan":
        """The same, found from the ids of all traces that hold the words."""
        return replace(self, drives=None, rest=self.conditions, words=(), ids=words)


def plan_of(connection: sa.Connection, wanted: Filter, after: Cursor | None) -> Plan | None:
    """How to find what the filter lets through behind `after`; None where it lets nothing through."""
    fields = [asked(connection, term) for term in wanted if isinstance(term, Field)]
    words = tuple(Phrase(term.phrase, term.prefix) for term in wanted if isinstance(term, Words))
    drives = rarest(connection, fields, after)
    if drives is not None and not drives.found:
        return None
    held = count_up_to(connection, words, ENOUGH) if words else ENOUGH
    if not held:
        return None
    if held < min(ENOUGH, drives.found if drives else ENOUGH):
        ids = tuple(connection.scalars(holding(connection, words).limit(ENOUGH)))
        return Plan(None, tuple(map(_condition, fields)), ids=ids)
    if drives is not None and len(drives.values) > MOST_VALUES:
        drives = None
    return Plan(drives, tuple(_condition(one) for one in fields if one is not drives), words)


def matching(connection: sa.Connection, wanted: Filter, ids: Sequence[int]) -> set[int]:
    """Which of these traces have the fields that the filter asks for; its words are left to the caller."""
    fields = [_condition(asked(connection, term)) for term in wanted if isinstance(term, Field)]
    found: set[int] = set()
    for group in in_groups(ids):
        found |= set(connection.scalars(sa.select(_trace.id).where(_trace.id.in_(group), *fields)))
    return found


def _walks(plan: Plan, after: Cursor | None) -> list[Page]:
    match plan.drives:
        case Asked(Field(Key.TOOL | Key.CODE as key), values=values):
            table, column = TABLES[key]
            source: sa.FromClause = table
            if plan.rest:
                source = table.join(tables.trace, _trace.id == table.c.trace_id)
            return [
                _walk(source, table.c.sort_at_s, table.c.trace_id, [column == value, *plan.rest], after)
                for value in values
            ]
        case Asked(Field(key), values=values):
            starts = [[COLUMNS[key] == value] for value in values]
        case _:
            if plan.ids is not None:
                return [_sorted(plan.ids, plan.rest, after)]
            starts = [[]]
    return [_walk(tables.trace, _trace.sort_at_s, _trace.id, [*start, *plan.rest], after) for start in starts]


def _walk(
    source: sa.FromClause,
    sort_at_s: sa.ColumnElement[float],
    id_: sa.ColumnElement[int],
    conditions: Sequence[sa.ColumnElement[bool]],
    after: Cursor | None,
) -> Page:
    behind = [] if after is None else [sa.tuple_(sort_at_s, id_) < sa.tuple_(after.sort_at_s, after.id)]
    select = sa.select(id_.label("id"), sort_at_s.label("sort_at_s")).select_from(source)
    return select.where(*conditions, *behind).order_by(sort_at_s.desc(), id_.desc())


def _sorted(
    ids: tuple[int, ...] | sa.Select[int], conditions: Sequence[sa.ColumnElement[bool]], after: Cursor | None
) -> Page:
    """These traces from the newest on; said so that no index tempts the database to begin with the time."""
    named = sa.select(_trace.id, _trace.sort_at_s).where(_trace.id.in_(ids), *conditions)
    found = named.cte("found").prefix_with("MATERIALIZED")
    return _walk(found, found.c.sort_at_s, found.c.id, [], after)


def _condition(asked: Asked) -> sa.ColumnElement[bool]:
    """What a trace that was met elsewhere must fulfil, said so that no index tempts the database to begin here."""
    key = asked.field.key
    if key not in TABLES:
        return _opaque(COLUMNS[key].in_(asked.values))
    table, column = TABLES[key]
    other = table.alias()
    named = _opaque(other.c[column.name].in_(asked.values))
    return sa.exists().select_from(other).where(other.c.trace_id == _trace.id, named)


def _opaque(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """The same condition; SQLite finds no index for it, and PostgreSQL takes it for neither rare nor common."""
    return sa.case((condition, sa.true()), else_=sa.false())
