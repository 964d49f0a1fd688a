"""Plans each term of a filter: the stored values it matches, its indexes, and its SQL condition."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import floor
from types import MappingProxyType
from typing import Any, assert_never

import sqlalchemy as sa

from inspector.model import Liveness
from inspector.model.trace import EXPERIMENT_SOURCES
from inspector.rules.rule import Severity
from inspector.scanning import lazy_pattern
from storage import tables
from storage.derived_rows import LONGEST_VALUE, value_key
from storage.filter.folding import after_prefix, folded_range
from storage.filter.selectivity import (
    ENOUGH,
    MOST_VALUES,
    IndexScan,
    PlannedTerm,
    bounded_count,
    stored_values,
    unindexed,
)
from storage.filter.terms import ArgumentTerm, ComparisonOperator, Field, FilterKey, NumberTerm, TimeTerm
from storage.filter.wildcards import as_stored, like, matching_values
from storage.liveness import traces_in
from storage.packing.blobs import escaped, key

TABLES = {
    FilterKey.TOOL: (tables.trace_tool, tables.trace_tool.c.name),
    FilterKey.CODE: (tables.trace_code, tables.trace_code.c.code),
}

_CODE_BEGINNING = lazy_pattern(r"[A-Za-z][0-9]{0,2}")
_ENDS_IN_NAME = lazy_pattern(r"\$.*\.(?P<name>[A-Za-z_][\w-]*)(?:\[[0-9]+\])*", re.DOTALL)

_INDEXED = (
    FilterKey.DURATION,
    FilterKey.FIRST_TOKEN,
    FilterKey.GAP,
    FilterKey.TOKENS,
    FilterKey.STEP,
    FilterKey.REWARD,
    FilterKey.ID,
    FilterKey.CONTEXT,
)
"""Numeric keys with an index that is not sorted by time."""

_COUNTED = (FilterKey.ERRORS, FilterKey.WARNINGS, FilterKey.TURNS, FilterKey.CALLS)
"""Numeric keys with an index that is sorted by number and then by time."""


Leaf = Field | NumberTerm | ArgumentTerm | TimeTerm
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
    FilterKey.PROJECT: _trace.project,
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
    FilterKey.CONTEXT: _trace.context_share,
}

_WITH_SOME = {
    severity: IndexScan(tables.trace, (count > sa.literal_column("0"),))
    for severity, count in (
        (Severity.ERROR, _trace.errors),
        (Severity.WARNING, _trace.warnings),
        (Severity.INFO, _trace.infos),
    )
}
"""Scans of partial indexes; their condition must contain the literal number, not a parameter."""
_CONTRARY: Mapping[ComparisonOperator, ComparisonOperator] = MappingProxyType(
    {
        ComparisonOperator.MORE: ComparisonOperator.AT_MOST,
        ComparisonOperator.AT_LEAST: ComparisonOperator.LESS,
        ComparisonOperator.LESS: ComparisonOperator.AT_LEAST,
        ComparisonOperator.AT_MOST: ComparisonOperator.MORE,
        ComparisonOperator.EQUAL: ComparisonOperator.OTHER,
        ComparisonOperator.HOLDS: ComparisonOperator.OTHER,
        ComparisonOperator.OTHER: ComparisonOperator.EQUAL,
    }
)
_SEVERE = {FilterKey.ERRORS: Severity.ERROR, FilterKey.WARNINGS: Severity.WARNING}
_VALUES_ALONE = (ComparisonOperator.EQUAL, ComparisonOperator.OTHER, ComparisonOperator.HOLDS)
_LARGEST = 2.0**62  # databases do not accept larger integers
_HAS_CODE = _trace.break_code.is_not(None)
_BROKEN_WITHOUT_CODE = (_trace.break_code.is_(None), _trace.break_outcome.is_not(None))


def planned_term(connection: sa.Connection, term: Leaf, now_s: float, *, negated: bool = False) -> PlannedTerm:
    """The plan of a term in this database, or of its negation."""
    if negated and isinstance(term, Field) and term.key in COLUMNS and not _names_liveness(term):
        return _column(connection, term, negated=True)
    if negated and isinstance(term, NumberTerm) and term.key in _COUNTED:
        return _figure(connection, NumberTerm(term.key, _CONTRARY[term.comparison], term.number))
    positive = _planned(connection, term, now_s)
    return PlannedTerm(sa.not_(positive.condition)) if negated else positive


def _planned(connection: sa.Connection, term: Leaf, now_s: float) -> PlannedTerm:
    match term:
        case Field(key=name) if name in COLUMNS:
            return _status(connection, term, now_s) if _names_liveness(term) else _column(connection, term)
        case Field(key=name) if name in TABLES:
            return _named(connection, term)
        case Field():
            return _FIELDS[term.key](connection, term)
        case NumberTerm():
            return _figure(connection, term)
        case ArgumentTerm():
            return _arguments(connection, term)
        case TimeTerm():
            return PlannedTerm(time_condition(term, _trace.sort_at_s, now_s))
        case _:
            assert_never(term)


def time_condition(term: TimeTerm, sort_at_s: sa.ColumnElement[float], now_s: float) -> sa.ColumnElement[bool]:
    """The condition that a time is at or after the moment of a term, or before it; false for an unknown time."""
    at_s = now_s - term.at_s if term.is_ago else term.at_s
    if term.key is FilterKey.SINCE:
        return sort_at_s >= at_s
    return sa.and_(sort_at_s > tables.UNKNOWN_TIME_S, sort_at_s < at_s)


def _column(connection: sa.Connection, term: Field, *, negated: bool = False) -> PlannedTerm:
    """A field whose values are in a column of `trace`, with an index that is also sorted by time."""
    column = COLUMNS[term.key]
    stored = stored_values(connection, column)
    if term.key is FilterKey.KIND:
        values = [one for one in stored if matching_values(one.split(","), term.values)]
    else:
        values = matching_values(stored, term.values)
    values = [one for one in stored if one not in set(values)] if negated else values
    found = bounded_count(connection, sa.select(_trace.id).where(column.in_(values))) if values else 0
    return PlannedTerm(
        unindexed(column.in_(values)), found, tuple(IndexScan(tables.trace, (column == one,)) for one in values)
    )


def _names_liveness(term: Field) -> bool:
    return term.key is FilterKey.STATUS and any(value.lower() in set(Liveness) for value in term.values)


def _status(connection: sa.Connection, term: Field, now_s: float) -> PlannedTerm:
    """A status field with `running` or `idle`, which are not in a column."""
    chosen = {value.lower() for value in term.values}
    states = [traces_in(state, now_s) for state in Liveness if state in chosen]
    others = tuple(value for value in term.values if value.lower() not in set(Liveness))
    if not others and len(states) == 1:
        return _ids(connection, states[0])
    conditions = [_has(connection, state) for state in states]
    if others:
        conditions.append(_column(connection, Field(FilterKey.STATUS, others)).condition)
    return PlannedTerm(sa.or_(*conditions))


def _named(connection: sa.Connection, term: Field) -> PlannedTerm:
    """A field with several values per trace, in a table that is clustered by value and time."""
    table, column = TABLES[term.key]
    patterns = term.values if term.key is FilterKey.TOOL else [one if "*" in one else f"{one}*" for one in term.values]
    values = matching_values(stored_values(connection, column), patterns)
    found = (
        bounded_count(connection, sa.select(sa.literal(1)).select_from(table).where(column.in_(values)))
        if values
        else 0
    )
    scans = tuple(IndexScan(table, (column == one,)) for one in values)
    return PlannedTerm(_exists(connection, table, lambda other: other.c[column.name].in_(values)), found, scans)


def _severity(connection: sa.Connection, term: Field) -> PlannedTerm:
    chosen = [Severity(one) for one in matching_values([one.value for one in Severity], term.values)]
    scans = tuple(_WITH_SOME[one] for one in chosen)
    some = sa.or_(sa.false(), *(condition for scan in scans for condition in scan.where))
    found = max((bounded_count(connection, sa.select(_trace.id).where(*scan.where)) for scan in scans), default=0)
    return PlannedTerm(unindexed(some), found, scans)


def _session(connection: sa.Connection, term: Field) -> PlannedTerm:
    external = tables.external_id.c
    candidates: list[tuple[str, tuple[sa.ColumnElement[bool], ...]]] = []
    for value in term.values:
        name, equals, rest = value.partition("=")
        candidates.append((as_stored(value), ()))
        if equals:
            candidates.append((as_stored(rest), (external.name == escaped(name),)))
    matched = [sa.and_(*named, _is_like(external.value, value)) for value, named in candidates]
    condition = _has(connection, sa.select(external.trace_id).where(sa.or_(*matched)))
    ranges = [
        folded_range(connection, external.value, value) if "*" in value else sa.true() for value, _ in candidates
    ]  # without a star, the match is case-sensitive and uses the index of unchanged values
    return _in_ranges(connection, external.trace_id, condition, ranges, matched)


def _name(connection: sa.Connection, term: Field) -> PlannedTerm:
    values = [escaped(value) for value in term.values]
    matched = [_trace.name.ilike(like(value), escape="\\") for value in values]
    ranges = [folded_range(connection, _trace.name, value) for value in values]
    found = _in_ranges(connection, _trace.id, unindexed(sa.or_(*matched)), ranges, matched)
    if found.ids is None or found.may_drive or any("*" in value for value in values):
        return found
    scans = tuple(IndexScan(tables.trace, (one,)) for one in ranges if one is not None)
    return PlannedTerm(found.condition, scans=scans, is_wider=True)


def _in_ranges(
    connection: sa.Connection,
    trace_id: sa.ColumnElement[int],
    condition: sa.ColumnElement[bool],
    ranges: Sequence[sa.ColumnElement[bool] | None],
    matched: Sequence[sa.ColumnElement[bool]],
) -> PlannedTerm:
    """A term whose traces are the `matched` rows in ranges of an index; without an index if a range is None."""
    within = [sa.and_(one, match) for one, match in zip(ranges, matched, strict=True) if one is not None]
    if len(within) < len(matched):
        return PlannedTerm(condition)
    ids = sa.union_all(*(sa.select(trace_id).where(one) for one in within))
    return PlannedTerm(condition, bounded_count(connection, ids), ids=ids)


def _break(connection: sa.Connection, term: Field) -> PlannedTerm:
    """Broken traces by the same reason as in statistics: the code of the first break's rule, else its outcome."""
    patterns = [f"{value}*" if _CODE_BEGINNING.fullmatch(value) else value for value in term.values]
    codes = matching_values(stored_values(connection, _trace.break_code, None, _HAS_CODE), patterns)
    outcomes = matching_values(stored_values(connection, _trace.break_outcome, None, *_BROKEN_WITHOUT_CODE), patterns)
    scans = (
        *(IndexScan(tables.trace, (_trace.break_code == one,)) for one in codes),
        *(IndexScan(tables.trace, (_trace.break_code.is_(None), _trace.break_outcome == one)) for one in outcomes),
    )
    ids = [sa.select(_trace.id).where(*scan.where) for scan in scans]
    found = bounded_count(connection, sa.union_all(*ids)) if ids else 0
    reason = sa.func.coalesce(_trace.break_code, _trace.break_outcome)
    return PlannedTerm(unindexed(reason.in_([*codes, *outcomes])), found, scans)


def _break_tool(_connection: sa.Connection, term: Field) -> PlannedTerm:
    tool = sa.func.coalesce(_trace.break_tool, "")
    named = sa.or_(*(tool.ilike(like(escaped(value)), escape="\\") for value in term.values))
    return PlannedTerm(unindexed(sa.and_(_trace.break_step.is_not(None), named)))


def _violates(connection: sa.Connection, term: Field) -> PlannedTerm:
    """Traces with a call that broke its tool's schema: the rule, the tool and the argument, separated by spaces."""
    broken = tables.violation.c
    place = sa.func.rtrim(broken.code + " " + broken.tool + " " + broken.path)
    values = [like(escaped(value.rstrip(" "))) for value in term.values]
    ids = sa.select(broken.trace_id).where(sa.or_(*(place.ilike(one, escape="\\") for one in values)))
    return PlannedTerm(_has(connection, ids))


def _marked(connection: sa.Connection, term: Field) -> PlannedTerm:
    chosen = set(matching_values(["yes", "no"], term.values))
    if len(chosen) != 1:
        return PlannedTerm(sa.true() if chosen else sa.false())
    marked = _ids(connection, sa.select(_mark.trace_id))
    return marked if "yes" in chosen else PlannedTerm(sa.not_(marked.condition))


def _forks(connection: sa.Connection, term: Field) -> PlannedTerm:
    """All traces with `yes`; without those of experiments with `no`."""
    chosen = matching_values(["yes", "no"], term.values)
    if not chosen or "yes" in chosen:
        return PlannedTerm(sa.true() if chosen else sa.false())
    return PlannedTerm(_trace.source.not_in(EXPERIMENT_SOURCES))


def _note(connection: sa.Connection, term: Field) -> PlannedTerm:
    """Traces with a mark whose note contains one of the values."""
    conditions = [_holds(_mark.folded, escaped(value.casefold())) for value in term.values]
    return _ids(connection, sa.select(_mark.trace_id).where(sa.or_(*conditions)))


_FIELDS: dict[FilterKey, Callable[[sa.Connection, Field], PlannedTerm]] = {
    FilterKey.SEVERITY: _severity,
    FilterKey.SESSION: _session,
    FilterKey.NAME: _name,
    FilterKey.BREAK: _break,
    FilterKey.BREAK_TOOL: _break_tool,
    FilterKey.VIOLATES: _violates,
    FilterKey.FORKS: _forks,
    FilterKey.MARKED: _marked,
    FilterKey.NOTE: _note,
}


def _figure(connection: sa.Connection, term: NumberTerm) -> PlannedTerm:
    column = _FIGURES[term.key]
    matches = _compared(column, term.comparison, term.number)
    condition = unindexed(matches)
    if term.key not in (*_INDEXED, *_COUNTED):
        return PlannedTerm(condition)
    ids: sa.Select[int] | sa.CompoundSelect[int] = sa.select(_trace.id).where(matches)
    if term.comparison is ComparisonOperator.OTHER:  # one condition would read both ranges of the index
        sides = (ComparisonOperator.LESS, ComparisonOperator.MORE)
        ids = sa.union_all(*(sa.select(_trace.id).where(_compared(column, side, term.number)) for side in sides))
    found = bounded_count(connection, ids)
    if term.key not in _COUNTED or 0 < found < ENOUGH:
        return PlannedTerm(condition, found, ids=ids)
    scans = _scans_of_counts(connection, column, term, matches)
    if not scans and term.key in _SEVERE and term.comparison is ComparisonOperator.MORE:
        return PlannedTerm(condition, found, scans=(_WITH_SOME[_SEVERE[term.key]],), is_wider=True)
    return PlannedTerm(condition, found, scans)


def _scans_of_counts(
    connection: sa.Connection, column: sa.ColumnElement[float], term: NumberTerm, matches: sa.ColumnElement[bool]
) -> tuple[IndexScan, ...]:
    """An index scan for each count that matches; none if there are too many to merge."""
    if term.comparison is ComparisonOperator.EQUAL:
        return (IndexScan(tables.trace, (matches,)),)
    if term.comparison is ComparisonOperator.OTHER:
        stored = stored_values(connection, column, MOST_VALUES + 2)
        counts = [one for one in stored if one != term.number]
    else:
        counts = list(stored_values(connection, column, MOST_VALUES + 1, matches))
    return tuple(IndexScan(tables.trace, (column == one,)) for one in counts) if len(counts) <= MOST_VALUES else ()


def _compared(column: sa.ColumnElement[Any], comparison: ComparisonOperator, number: float) -> sa.ColumnElement[bool]:
    if isinstance(column.type, sa.Integer) and abs(number) < _LARGEST:
        return _compared_whole(column, comparison, number)
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


def _compared_whole(
    column: sa.ColumnElement[int], comparison: ComparisonOperator, number: float
) -> sa.ColumnElement[bool]:
    """The same for integer columns, as integers, since PostgreSQL would not use the index for a float."""
    below = floor(number)
    match comparison:
        case ComparisonOperator.MORE:
            return column > below
        case ComparisonOperator.AT_LEAST:
            return column >= below if below == number else column > below
        case ComparisonOperator.LESS:
            return column < below if below == number else column <= below
        case ComparisonOperator.AT_MOST:
            return column <= below
        case ComparisonOperator.OTHER:
            return column != below if below == number else column.is_not(None)
        case ComparisonOperator.EQUAL | ComparisonOperator.HOLDS:
            return column == below if below == number else sa.false()
        case _:
            assert_never(comparison)


def _arguments(connection: sa.Connection, term: ArgumentTerm) -> PlannedTerm:
    place = partial(_at_path, path=term.path)
    value = partial(_has_value, term=term)
    condition = _exists(connection, tables.argument, lambda other: sa.and_(place(other.c), value(other.c)))
    name = _last_name(term.path)
    if name is None:
        return PlannedTerm(condition)
    at = [_argument.name == name, *([place(_argument)] if term.path.startswith("$") else [])]
    if term.comparison is not ComparisonOperator.EQUAL or any("*" in one for one in term.values):
        return _arguments_in_range(connection, term, at, condition)
    values = list(dict.fromkeys(map(value_key, term.values)))
    scans = tuple(IndexScan(tables.argument, (*at, _argument.value == one), repeats=True) for one in values)
    rows = sa.select(_argument.trace_id).where(*at, _argument.value.in_(values))
    return PlannedTerm(condition, bounded_count(connection, rows), scans)


def _arguments_in_range(
    connection: sa.Connection,
    term: ArgumentTerm,
    at: Sequence[sa.ColumnElement[bool]],
    condition: sa.ColumnElement[bool],
) -> PlannedTerm:
    """Argument terms that are not single values: uses a range of an index, or a few rows, if those contain all."""
    rows = sa.select(_argument.trace_id).where(*at)
    ids = rows.where(_has_value(_argument, term))
    if term.comparison in _VALUES_ALONE and bounded_count(connection, rows) == ENOUGH:
        ranges = [_begins_with(connection, one) for one in term.values]
        if term.comparison is not ComparisonOperator.EQUAL or any(one is None for one in ranges):
            return PlannedTerm(condition)
        within = [one for one in ranges if one is not None]
        ids = sa.union_all(*(ids.where(one) for one in within))  # type: ignore[assignment]  # as good as a select
    return PlannedTerm(condition, bounded_count(connection, ids), ids=ids)


def _begins_with(connection: sa.Connection, value: str) -> sa.ColumnElement[bool] | None:
    """The condition that an argument's value is in the index range of a pattern; None if the pattern is not a range.

    On PostgreSQL, the index has the order of the database's collation, which is unknown.
    """
    begin = _value(value).rstrip("*") if "*" in value else _value(value)
    if "*" in begin or not begin or connection.dialect.name != "sqlite":
        return None
    if "*" not in value:
        return _argument.value == begin
    end = after_prefix(begin)
    return _argument.value >= begin if end is None else sa.and_(_argument.value >= begin, _argument.value < end)


def _last_name(path: str) -> str | None:
    """The name of the key that contains the value at a path; None if the path does not determine it."""
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


def _has_value(argument: sa.ColumnCollection[str, sa.ColumnElement[str]], term: ArgumentTerm) -> sa.ColumnElement[bool]:
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
    """A term that few traces match; all of them are found at once."""
    return PlannedTerm(_has(connection, ids), bounded_count(connection, ids), ids=ids)


def _has(connection: sa.Connection, ids: sa.Select[int]) -> sa.ColumnElement[bool]:
    """The condition that a trace is among the selected ones, as a subquery for each trace."""
    (column,) = ids.selected_columns
    return unindexed(sa.exists(_looked_up(connection, ids.where(column == _trace.id).correlate(tables.trace))))


def _exists(
    connection: sa.Connection, table: sa.Table, fulfils: Callable[[sa.FromClause], sa.ColumnElement[bool]]
) -> sa.ColumnElement[bool]:
    """The condition that a trace has such a row, written so that the database does not start with an index of it."""
    other = table.alias()
    rows = sa.select(sa.literal(1)).where(other.c.trace_id == _trace.id, unindexed(fulfils(other)))
    return sa.exists(_looked_up(connection, rows.correlate(tables.trace)))


def _looked_up(connection: sa.Connection, rows: sa.Select[int]) -> sa.Select[int]:
    """The rows of one trace; without OFFSET, PostgreSQL would read those of all traces first."""
    return rows.offset(0) if connection.dialect.name == "postgresql" else rows
