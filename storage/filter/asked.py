"""What a filter's fields mean in the database: the stored values, how often they are found, and which is rarest."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from inspector.chain.steps import Status
from storage import tables
from storage.filter.terms import Field, Key
from storage.packing.escapes import key as key_of
from storage.summaries import Cursor

ENOUGH = 2_000
"""What is found this often is common."""
MOST_VALUES = 50
"""So many values of a field are walked beside each other, and no more."""
_SAMPLE, _LEAST_SAMPLE = 400, 10  # traces of each common field whose times are looked at; of each value at least
_trace = tables.trace.c
COLUMNS = {Key.STATUS: _trace.status, Key.MODEL: _trace.model, Key.SOURCE: _trace.source, Key.FORMAT: _trace.format}
TABLES = {
    Key.TOOL: (tables.trace_tool, tables.trace_tool.c.name),
    Key.CODE: (tables.trace_code, tables.trace_code.c.code),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A field that is asked for, and how often it is found, up to the bound; `values` are its stored spellings."""

    field: Field
    found: int
    values: tuple[str, ...]


def asked(connection: sa.Connection, term: Field) -> Asked:
    """What a field of a filter means in this database."""
    values = _spellings(connection, term)
    if not values:
        return Asked(term, 0, ())
    bounded = sa.select(sa.literal(1)).where(_column(term.key).in_(values)).limit(ENOUGH).subquery()
    found = connection.scalar(sa.select(sa.func.count()).select_from(bounded)) or 0
    return Asked(term, found, values)


def rarest(connection: sa.Connection, fields: Sequence[Asked], after: Cursor | None) -> Asked | None:
    """The field that the fewest traces have; None where there are no fields.

    Common fields are told apart by their density behind `after`: the further back the same number of traces reaches,
    the rarer they are where the page is looked for.
    """
    least = min((one.found for one in fields), default=0)
    candidates = [one for one in fields if one.found == least]
    if len(candidates) < 2 or least < ENOUGH:
        return candidates[0] if candidates else None
    few = [one for one in candidates if len(one.values) <= MOST_VALUES] or candidates[:1]
    densities = _densities(connection, few, after)
    return few[densities.index(min(densities))]


def _densities(connection: sa.Connection, fields: Sequence[Asked], after: Cursor | None) -> list[float]:
    """How many traces a second have each field, of the newest behind `after`."""
    start = sa.select(sa.func.max(_trace.sort_at_s)).scalar_subquery() if after is None else sa.literal(after.sort_at_s)
    reaches = [_reach(one, value, after) for one in fields for value in one.values]
    starts_at_s, *reached = connection.execute(sa.select(start, *reaches)).one()
    found: list[float] = []
    for one in fields:
        mine, reached = reached[: len(one.values)], reached[len(one.values) :]
        spans = [starts_at_s - at_s for at_s in mine if at_s is not None]
        found.append(sum(_sample(one) / span if span > 0 else float("inf") for span in spans))
    return found


def _reach(one: Asked, value: str, after: Cursor | None) -> sa.ScalarSelect[float]:
    """When the last of the newest traces was that are looked at; NULL where there are not as many."""
    key = one.field.key
    sort_at_s = TABLES[key][0].c.sort_at_s if key in TABLES else _trace.sort_at_s
    behind = [] if after is None else [sort_at_s <= after.sort_at_s]
    newest = sa.select(sort_at_s).where(_column(key) == value, *behind).order_by(sort_at_s.desc())
    return newest.limit(1).offset(_sample(one)).scalar_subquery()


def _sample(one: Asked) -> int:
    return max(_LEAST_SAMPLE, _SAMPLE // len(one.values))


def _column(key: Key) -> sa.ColumnElement[str]:
    return TABLES[key][1] if key in TABLES else COLUMNS[key]


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
