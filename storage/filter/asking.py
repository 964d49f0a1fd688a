"""Looks up each kind of term: the stored values it means, its indexes, and the condition that it puts on a trace."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any, assert_never

import sqlalchemy as sa

from inspector.model import Liveness
from inspector.rules.rule import Severity
from storage import tables
from storage.arguments import LONGEST_VALUE, value_key
from storage.filter.asked import IndexScan, PlannedTerm, count
from storage.filter.stored import like, meant, stored_values
from storage.filter.terms import Argument, ComparisonOperator, Field, Figure, FilterKey, When
from storage.liveness import traces_in
from storage.packing.escapes import escaped, key

Leaf = Field | Figure | Argument | When

_trace, _mark, _argument = tables.trace.c, tables.mark.c, tables.argument.c
COLUMNS = {
    FilterKey.STATUS: _trace.status,
    FilterKey.MODEL: _trace.model,
    FilterKey.SOURCE: _trace.source,
    FilterKey.FORMAT: _trace.format,
    FilterKey.KIND: _trace.kinds,
    FilterKey.REASONING: _trace.reasoning,
    FilterKey.PROMPT: _trace.prompt_hash,
    FilterKey.OUTCOME: _trace.outcome,
}
TABLES = {
    FilterKey.TOOL: (tables.trace_tool, tables.trace_tool.c.name),
    FilterKey.CODE: (tables.trace_code, tables.trace_code.c.code),
}
_FIGURES: dict[FilterKey, sa.ColumnElement[float]] = {
    FilterKey.STEP: _trace.break_step,
    FilterKey.ERRORS: _trace.errors,
    FilterKey.WARNINGS: _trace.warnings,
    FilterKey.DURATION: _trace.duration_s,
    FilterKey.FIRST_TOKEN: _trace.first_token_s,
    FilterKey.GAP: _trace.max_gap_s,
    FilterKey.TOKENS: _trace.tokens,
    FilterKey.TURNS: _trace.turns,
    FilterKey.CALLS: _trace.tool_calls,
    FilterKey.REWARD: _trace.reward,
    FilterKey.ID: _trace.id,
}
_ENDS_IN_NAME = re.compile(r"\$.*\.(?P<name>[A-Za-z_][\w-]*)(?:\[[0-9]+\])*", re.DOTALL)
_INDEXED = (
    FilterKey.DURATION,
    FilterKey.FIRST_TOKEN,
    FilterKey.GAP,
    FilterKey.TOKENS,
    FilterKey.STEP,
    FilterKey.REWARD,
    FilterKey.ID,
)
_WITH_ERRORS = IndexScan(tables.trace, (sa.literal_column("trace.errors > 0", sa.Boolean),))
_COUNTS = {Severity.ERROR: _trace.errors, Severity.WARNING: _trace.warnings, Severity.INFO: _trace.infos}


def asked(connection: sa.Connection, term: Leaf, now_s: float, *, negated: bool = False) -> PlannedTerm:
    """What a term means in this database, or that it does not hold."""
    if negated and isinstance(term, Field) and term.key in COLUMNS and not _asks_liveness(term):
        return _column(connection, term, negated=True)
    positive = _asked(connection, term, now_s)
    return PlannedTerm(sa.not_(positive.condition)) if negated else positive


def opaque(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """The same condition, false where it is NULL; SQLite finds no index for it, PostgreSQL takes it for common."""
    return sa.case((condition, sa.true()), else_=sa.false())


def _asked(connection: sa.Connection, term: Leaf, now_s: float) -> PlannedTerm:
    match term:
        case Field(key=name) if name in COLUMNS:
            return _status(connection, term, now_s) if _asks_liveness(term) else _column(connection, term)
        case Field(key=name) if name in TABLES:
            return _named(connection, term)
        case Field():
            return _FIELDS[term.key](connection, term)
        case Figure():
            return _figure(connection, term)
        case Argument():
            return _arguments(connection, term)
        case When():
            return PlannedTerm(when(term, _trace.sort_at_s, now_s))
        case _:
            assert_never(term)


def when(term: When, sort_at_s: sa.ColumnElement[float], now_s: float) -> sa.ColumnElement[bool]:
    """That a time is at or after the moment of a term, or before it; an unknown time is neither."""
    at_s = now_s - term.at_s if term.is_ago else term.at_s
    if term.key is FilterKey.SINCE:
        return sort_at_s >= at_s
    return sa.and_(sort_at_s > tables.UNKNOWN_TIME_S, sort_at_s < at_s)


def _column(connection: sa.Connection, term: Field, *, negated: bool = False) -> PlannedTerm:
    """A field whose values stand in a column of `trace`, with an index by time."""
    column = COLUMNS[term.key]
    stored = stored_values(connection, column)
    if term.key is FilterKey.KIND:
        values = [one for one in stored if meant(one.split(","), term.values)]
    else:
        values = meant(stored, term.values)
    values = [one for one in stored if one not in set(values)] if negated else values
    found = count(connection, sa.select(_trace.id).where(column.in_(values))) if values else 0
    return PlannedTerm(
        opaque(column.in_(values)), found, tuple(IndexScan(tables.trace, (column == one,)) for one in values)
    )


def _asks_liveness(term: Field) -> bool:
    return term.key is FilterKey.STATUS and any(value.lower() in set(Liveness) for value in term.values)


def _status(connection: sa.Connection, term: Field, now_s: float) -> PlannedTerm:
    """A status where `running` or `idle` is one that is asked for, which no column holds."""
    wanted = {value.lower() for value in term.values}
    states = [traces_in(state, now_s) for state in Liveness if state in wanted]
    others = tuple(value for value in term.values if value.lower() not in set(Liveness))
    if not others and len(states) == 1:
        return _ids(connection, states[0])
    conditions = [_has(state) for state in states]
    if others:
        conditions.append(_column(connection, Field(FilterKey.STATUS, others)).condition)
    return PlannedTerm(sa.or_(*conditions))


def _named(connection: sa.Connection, term: Field) -> PlannedTerm:
    """A field of which a trace has several values, in a table clustered by value and time."""
    table, column = TABLES[term.key]
    wanted = term.values if term.key is FilterKey.TOOL else [one if "*" in one else f"{one}*" for one in term.values]
    values = meant(stored_values(connection, column), wanted)
    found = count(connection, sa.select(sa.literal(1)).select_from(table).where(column.in_(values))) if values else 0
    walks = tuple(IndexScan(table, (column == one,)) for one in values)
    return PlannedTerm(_exists(table, lambda other: other.c[column.name].in_(values)), found, walks)


def _severity(_connection: sa.Connection, term: Field) -> PlannedTerm:
    wanted = meant([one.value for one in Severity], term.values)
    condition = opaque(sa.or_(*(_COUNTS[Severity(one)] > 0 for one in wanted)) if wanted else sa.false())
    return (
        PlannedTerm(condition, walks=(_WITH_ERRORS,), is_wider=True)
        if wanted == [Severity.ERROR]
        else PlannedTerm(condition)
    )


def _session(connection: sa.Connection, term: Field) -> PlannedTerm:
    external = tables.external_id.c
    ways: list[sa.ColumnElement[bool]] = []
    for value in term.values:
        name, equals, rest = value.partition("=")
        ways.append(_is_like(external.value, key(value)))
        if equals:
            ways.append(sa.and_(external.name == escaped(name), _is_like(external.value, key(rest))))
    return _ids(connection, sa.select(external.trace_id).where(sa.or_(*ways)))


def _name(_connection: sa.Connection, term: Field) -> PlannedTerm:
    return PlannedTerm(opaque(sa.or_(*(_trace.name.ilike(like(escaped(value)), escape="\\") for value in term.values))))


def _marked(connection: sa.Connection, term: Field) -> PlannedTerm:
    wanted = set(meant(["yes", "no"], term.values))
    if wanted == {"yes", "no"}:
        return PlannedTerm(sa.true())
    marked = _ids(connection, sa.select(_mark.trace_id))
    return marked if "yes" in wanted else PlannedTerm(sa.not_(marked.condition))


def _note(connection: sa.Connection, term: Field) -> PlannedTerm:
    """Traces with a mark whose note holds one of the values."""
    held = [_holds(_mark.folded, escaped(value.casefold())) for value in term.values]
    return _ids(connection, sa.select(_mark.trace_id).where(sa.or_(*held)))


_FIELDS: dict[FilterKey, Callable[[sa.Connection, Field], PlannedTerm]] = {
    FilterKey.SEVERITY: _severity,
    FilterKey.SESSION: _session,
    FilterKey.NAME: _name,
    FilterKey.MARKED: _marked,
    FilterKey.NOTE: _note,
}


def _figure(connection: sa.Connection, term: Figure) -> PlannedTerm:
    condition = _compared(_FIGURES[term.key], term.comparison, term.number)
    if term.key is FilterKey.ERRORS and term.comparison is ComparisonOperator.MORE:
        return PlannedTerm(opaque(condition), walks=(_WITH_ERRORS,), is_wider=True)
    if term.key not in _INDEXED:
        return PlannedTerm(opaque(condition))
    ids = sa.select(_trace.id).where(condition)
    return PlannedTerm(opaque(condition), count(connection, ids), ids=ids)


def _compared(column: sa.ColumnElement[Any], comparison: ComparisonOperator, number: float) -> sa.ColumnElement[bool]:
    match comparison:
        case ComparisonOperator.MORE:
            return column > number
        case ComparisonOperator.AT_LEAST:
            return column >= number
        case ComparisonOperator.LESS:
            return column < number
        case ComparisonOperator.AT_MOST:
            return column <= number
        case ComparisonOperator.OTHER:
            return column != number
        case ComparisonOperator.EQUAL | ComparisonOperator.HOLDS:
            return column == number
        case _:
            assert_never(comparison)


def _arguments(connection: sa.Connection, term: Argument) -> PlannedTerm:
    place = partial(_at_path, path=term.path)
    value = partial(_has_value, term=term)
    condition = _exists(tables.argument, lambda other: sa.and_(place(other.c), value(other.c)))
    name = _last_name(term.path)
    if name is None:
        return PlannedTerm(condition)
    at = [_argument.name == name, *([place(_argument)] if term.path.startswith("$") else [])]
    if term.comparison is not ComparisonOperator.EQUAL or any("*" in one for one in term.values):
        ids = sa.select(_argument.trace_id).where(*at, value(_argument))
        return PlannedTerm(condition, count(connection, ids), ids=ids)
    values = list(dict.fromkeys(map(value_key, term.values)))
    walks = tuple(IndexScan(tables.argument, (*at, _argument.value == one), repeats=True) for one in values)
    rows = sa.select(_argument.trace_id).where(*at, _argument.value.in_(values))
    return PlannedTerm(condition, count(connection, rows), walks)


def _last_name(path: str) -> str | None:
    """The name under which the value at a path stands, where that can be told from the path."""
    if "*" in path:
        return None
    if not path.startswith("$"):
        return key(path, longest=LONGEST_VALUE)
    found = _ENDS_IN_NAME.fullmatch(path)
    return key(found["name"], longest=LONGEST_VALUE) if found else None


def _at_path(argument: sa.ColumnCollection[str, sa.ColumnElement[str]], path: str) -> sa.ColumnElement[bool]:
    column = argument["path"] if path.startswith("$") else argument["name"]
    kept = escaped(path) if path.startswith("$") else key(path, longest=LONGEST_VALUE)
    return _is_like(column, kept)


def _has_value(argument: sa.ColumnCollection[str, sa.ColumnElement[str]], term: Argument) -> sa.ColumnElement[bool]:
    value = argument["value"]
    match term.comparison:
        case None:
            return sa.true()
        case ComparisonOperator.EQUAL:
            return sa.or_(*(_is_like(value, _value(one)) for one in term.values))
        case ComparisonOperator.OTHER:
            return sa.not_(sa.or_(*(_is_like(value, _value(one)) for one in term.values)))
        case ComparisonOperator.HOLDS:
            return sa.or_(*(_holds(value, escaped(one.casefold())) for one in term.values))
        case _:
            return _compared(argument["number"], term.comparison, term.number)


def _value(value: str) -> str:
    return escaped(value.casefold()) if "*" in value else value_key(value)


def _is_like(column: sa.ColumnElement[str], value: str) -> sa.ColumnElement[bool]:
    return column.ilike(like(value), escape="\\") if "*" in value else column == value


def _holds(column: sa.ColumnElement[str], value: str) -> sa.ColumnElement[bool]:
    return column.contains(value, autoescape=True)


def _ids(connection: sa.Connection, ids: sa.Select[int]) -> PlannedTerm:
    """A term that few traces have, found all at once."""
    return PlannedTerm(_has(ids), count(connection, ids), ids=ids)


def _has(ids: sa.Select[int]) -> sa.ColumnElement[bool]:
    """That a trace is among those that are selected, asked of each trace that is met."""
    (column,) = ids.selected_columns
    return opaque(sa.exists(ids.where(column == _trace.id).correlate(tables.trace)))


def _exists(table: sa.Table, fulfils: Callable[[sa.FromClause], sa.ColumnElement[bool]]) -> sa.ColumnElement[bool]:
    """That a trace has such a row, said so that no index tempts the database to begin here."""
    other = table.alias()
    return sa.exists().select_from(other).where(other.c.trace_id == _trace.id, opaque(fulfils(other)))
