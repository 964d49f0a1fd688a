"""A filter as SQL: selects that each walk one index from its newest end.

Of what a filter asks, the rarest thing drives: its index is walked, and the rest is looked up for each trace met. How
rare a thing is, is counted up to a bound, which is cheap; so a page costs about the same in a large store as in a
small one, whatever the filter. What drives may be several values (`code:J1`): then each gets a select of its own.
All the words of a filter are one thing, which the text index knows together; where they are common they neither drive
nor stand in the selects, but are left to the caller, who asks the text index for many traces at once.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import sqlalchemy as sa

from inspector.chain.steps import Status
from storage import tables
from storage.filter.terms import Field, Filter, Key, Words
from storage.packing.escapes import key as key_of
from storage.search import Phrase, count_up_to, holding
from storage.summaries import Cursor

Page: TypeAlias = sa.Select[int, float]
"""Selects `id` and `sort_at_s`, the newest first."""

_ENOUGH = 2_000  # what is found this often is common
_MOST_BRANCHES = 50
_trace = tables.trace.c
_COLUMNS = {Key.STATUS: _trace.status, Key.MODEL: _trace.model, Key.SOURCE: _trace.source, Key.FORMAT: _trace.format}
_TABLES = {
    Key.TOOL: (tables.trace_tool, tables.trace_tool.c.name),
    Key.CODE: (tables.trace_code, tables.trace_code.c.code),
}


@dataclass(frozen=True, slots=True)
class _Asked:
    """A field that is asked for, and how often it is found, up to the bound; `values` are its stored spellings."""

    field: Field
    found: int
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """How a page is found: what drives, what is asked of each trace met, and the common words to ask of all those.

    `ids` are the traces that hold the words, where those drive.
    """

    drives: _Asked | None
    rest: tuple[sa.ColumnElement[bool], ...]
    words: tuple[Phrase, ...] = ()
    ids: tuple[int, ...] | None = None

    def selects(self, *, after: Cursor | None, limit: int) -> list[Page]:
        """The selects that together give the next `limit` traces behind `after`, but for `words`."""
        return [select.limit(limit) for select in _walks(self, after)]


def plan_of(connection: sa.Connection, wanted: Filter) -> Plan | None:
    """How to find what the filter lets through; None where it lets nothing through."""
    fields = [_asked(connection, term) for term in wanted if isinstance(term, Field)]
    words = tuple(Phrase(term.phrase, term.prefix) for term in wanted if isinstance(term, Words))
    drives = min(fields, key=lambda one: one.found, default=None)
    if drives is not None and not drives.found:
        return None
    held = count_up_to(connection, words, _ENOUGH) if words else _ENOUGH
    if not held:
        return None
    if held < min(_ENOUGH, drives.found if drives else _ENOUGH):
        ids = tuple(connection.scalars(holding(connection, words).limit(_ENOUGH)))
        return Plan(None, tuple(map(_condition, fields)), ids=ids)
    if drives is not None and len(drives.values) > _MOST_BRANCHES:
        drives = None
    return Plan(drives, tuple(_condition(one) for one in fields if one is not drives), words)


def _asked(connection: sa.Connection, term: Field) -> _Asked:
    values = _spellings(connection, term)
    if not values:
        return _Asked(term, 0, ())
    found = sa.select(sa.literal(1)).where(_column(term.key).in_(values))
    return _Asked(term, _count(connection, found), values)


def _count(connection: sa.Connection, found: sa.Select[int]) -> int:
    bounded = found.limit(_ENOUGH).subquery()
    return connection.scalar(sa.select(sa.func.count()).select_from(bounded)) or 0


def _walks(plan: Plan, after: Cursor | None) -> list[Page]:
    match plan.drives:
        case _Asked(Field(Key.TOOL | Key.CODE as key), values=values):
            table, column = _TABLES[key]
            source: sa.FromClause = table
            if plan.rest:
                source = table.join(tables.trace, _trace.id == table.c.trace_id)
            return [
                _walk(source, table.c.sort_at_s, table.c.trace_id, [column == value, *plan.rest], after)
                for value in values
            ]
        case _Asked(Field(key), values=values):
            starts = [[_COLUMNS[key] == value] for value in values]
        case _:
            starts = [[]] if plan.ids is None else [[_trace.id.in_(plan.ids)]]
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


def _condition(asked: _Asked) -> sa.ColumnElement[bool]:
    """What a trace that was met elsewhere must fulfil, said so that no index tempts the database to begin here."""
    key = asked.field.key
    if key not in _TABLES:
        return _opaque(_COLUMNS[key].in_(asked.values))
    table, column = _TABLES[key]
    other = table.alias()
    named = _opaque(other.c[column.name].in_(asked.values))
    return sa.exists().select_from(other).where(other.c.trace_id == _trace.id, named)


def _opaque(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """The same condition; SQLite finds no index for it, and PostgreSQL takes it for neither rare nor common."""
    return sa.case((condition, sa.true()), else_=sa.false())


def _column(key: Key) -> sa.ColumnElement[str]:
    return _TABLES[key][1] if key in _TABLES else _COLUMNS[key]


def _spellings(connection: sa.Connection, term: Field) -> tuple[str, ...]:
    """The stored values that a field means."""
    value = key_of(term.value)
    if term.key is Key.CODE and "*" not in value:
        value += "*"
    pattern = re.compile(".*".join(map(re.escape, value.split("*"))), re.IGNORECASE | re.DOTALL)
    stored = tuple(Status) if term.key is Key.STATUS else _distinct(connection, _column(term.key))
    return tuple(str(one) for one in stored if pattern.fullmatch(one))


def _distinct(connection: sa.Connection, column: sa.ColumnElement[str]) -> Sequence[str]:
    """The different values of an indexed column, by jumps along the index: DISTINCT would read it whole."""
    values = sa.select(sa.func.min(column).label("value")).cte("stored_values", recursive=True)
    following = sa.select(sa.func.min(column)).where(column > values.c.value).correlate(values).scalar_subquery()
    values = values.union_all(sa.select(following).where(values.c.value.is_not(None)))
    return connection.scalars(sa.select(values.c.value).where(values.c.value.is_not(None))).all()
