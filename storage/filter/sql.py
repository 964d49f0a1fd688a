"""A filter as SQL: conditions on a row of `trace`, which the database's own planner arranges.

Theory of operation. Each term is one condition. A value of the trace itself is compared in its column (`status:broken`
becomes `trace.status IN ('broken')`), a value of another table by the ids of the traces that have it (`tool:search`
becomes `trace.id IN (SELECT trace_id FROM trace_tool WHERE name IN ('search'))`), and words by the ids that the text
index gives. So the database may begin with the rarest of them or read the list in its order, as its statistics advise.
Wildcards of short lists of values (models, tools, rules, ...) are compared in Python with the values that are stored;
all others are patterns of ILIKE. What a value means is in `wildcards`.

A condition of a column that is NULL is NULL, which SQL neither accepts nor, after NOT, refuses: `not` counts it as
false.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import floor
from typing import Any, TypeVar, assert_never

import sqlalchemy as sa

from weaklink.inspector.model import Liveness
from weaklink.inspector.model.trace import EXPERIMENT_SOURCES
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.scanning import lazy_pattern
from weaklink.storage import tables
from weaklink.storage.derived_rows import MAX_VALUE_CHARS, value_key
from weaklink.storage.filter.terms import (
    AllTerms,
    AnyTerm,
    ArgumentTerm,
    ComparisonOperator,
    Field,
    Filter,
    FilterKey,
    NotTerm,
    NumberTerm,
    PhraseTerm,
    Term,
    TimeTerm,
)
from weaklink.storage.filter.wildcards import as_stored, like, matching_values
from weaklink.storage.liveness import traces_in
from weaklink.storage.packing.blobs import escaped, key
from weaklink.storage.search import Phrase, ids_holding
from weaklink.storage.tables import in_groups

_Value = TypeVar("_Value")
_Condition = sa.ColumnElement[bool]

TABLES = {
    FilterKey.TOOL: (tables.trace_tool, tables.trace_tool.c.name),
    FilterKey.CODE: (tables.trace_code, tables.trace_code.c.code),
}
"""Keys of which a trace has several values, in a table of their own."""

_trace, _mark, _argument = tables.trace.c, tables.mark.c, tables.argument.c

COLUMNS = {
    FilterKey.STATUS: _trace.status,
    FilterKey.CERTAINTY: _trace.certainty,
    FilterKey.MODEL: _trace.model,
    FilterKey.SOURCE: _trace.source,
    FilterKey.FORMAT: _trace.format,
    FilterKey.KIND: _trace.kinds,
    FilterKey.REASONING: _trace.reasoning,
    FilterKey.PROMPT: _trace.prompt_hash,
    FilterKey.OUTCOME: _trace.outcome,
    FilterKey.PROJECT: _trace.project,
}
"""Keys of which a trace has one value, of few."""

_NUMBERS: dict[FilterKey, sa.ColumnElement[float]] = {
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
_BY_SEVERITY = {Severity.ERROR: _trace.errors, Severity.WARNING: _trace.warnings, Severity.INFO: _trace.infos}

_CODE_BEGINNING = lazy_pattern(r"[A-Za-z][0-9]{0,2}")
_ENDS_IN_NAME = lazy_pattern(r"\$.*\.(?P<name>[A-Za-z_][\w-]*)(?:\[[0-9]+\])*", re.DOTALL)
_MAX_NUMBER = 2.0**62  # databases do not accept larger integers
_EXPLICIT = frozenset(
    {FilterKey.FORKS, FilterKey.SOURCE, FilterKey.SESSION, FilterKey.ID, FilterKey.MARKED, FilterKey.NOTE}
)
_WITHOUT_FORKS = Field(FilterKey.FORKS, ("no",))


def conditions_of(connection: sa.Connection, terms: Iterable[Term], now_s: float) -> list[_Condition]:
    """The conditions that a row of `trace` matches a filter; `now_s` is the reference of times such as `since:2h`.

    The words that every trace must contain are looked up together.
    """
    terms = list(_joined(terms))
    words = [Phrase(term.phrase, term.prefix) for term in terms if isinstance(term, PhraseTerm)]
    elements = [_condition(connection, term, now_s) for term in terms if not isinstance(term, PhraseTerm)]
    return [_trace.id.in_(ids_holding(connection, words)), *elements] if words else elements


def _joined(terms: Iterable[Term]) -> Iterator[Term]:
    for term in terms:
        if isinstance(term, AllTerms):
            yield from _joined(term.terms)
        else:
            yield term


def with_default_terms(connection: sa.Connection, terms: Filter) -> Filter:
    """The filter, without the traces of weaklink's own experiments if it does not decide about them and there are any.

    `weaklink ask`, `doctor` and `replay` record what they send and receive. Hundreds of answers to one request would
    change every rate of the sessions that were recorded for their own sake. A filter that names traces (by `session`,
    `id`, `source`, `marked` or `note`) or has `forks:` decides itself. A database without such traces costs a look-up.
    """
    keys = {key for term in terms for key in _keys(term)}
    return terms if keys & _EXPLICIT or not _has_experiments(connection) else (*terms, _WITHOUT_FORKS)


def _has_experiments(connection: sa.Connection) -> bool:
    return connection.scalar(sa.select(sa.literal(1)).where(_trace.source.in_(EXPERIMENT_SOURCES)).limit(1)) is not None


def _keys(term: Term) -> Iterator[FilterKey]:
    match term:
        case Field(key) | NumberTerm(key):
            yield key
        case NotTerm(inner):
            yield from _keys(inner)
        case AllTerms(terms) | AnyTerm(terms):
            for part in terms:
                yield from _keys(part)
        case PhraseTerm() | ArgumentTerm() | TimeTerm():
            return
        case _:
            assert_never(term)


def matching(connection: sa.Connection, terms: Sequence[Term], ids: Sequence[int], now_s: float) -> set[int]:
    """Which of these traces match a filter; its words are looked up in the text index."""
    conditions = conditions_of(connection, terms, now_s)
    matched: set[int] = set()
    for group in in_groups(ids):
        matched |= set(connection.scalars(sa.select(_trace.id).where(_trace.id.in_(group), *conditions)))
    return matched


def _condition(connection: sa.Connection, term: Term, now_s: float) -> _Condition:
    match term:
        case PhraseTerm() | AllTerms():
            return sa.and_(sa.true(), *conditions_of(connection, [term], now_s))
        case AnyTerm(terms):
            return sa.or_(sa.false(), *(_condition(connection, term, now_s) for term in terms))
        case NotTerm(inner):
            return sa.not_(sa.func.coalesce(_condition(connection, inner, now_s), sa.false()))
        case Field():
            return _field(connection, term, now_s)
        case NumberTerm():
            return _compared(_NUMBERS[term.key], term.comparison, term.number)
        case ArgumentTerm():
            return _has_argument(term)
        case TimeTerm():
            return _at(term, now_s)
        case _:
            assert_never(term)


def _at(term: TimeTerm, now_s: float) -> _Condition:
    """The condition that a trace started at or after a moment, or before it; false for an unknown time."""
    at_s = now_s - term.at_s if term.is_ago else term.at_s
    is_dated = _trace.started_at_s.is_not(None)  # `sort_at_s`, which has the index, may be the import's
    if term.key is FilterKey.SINCE:
        return sa.and_(_trace.sort_at_s >= at_s, is_dated)
    return sa.and_(_trace.sort_at_s < at_s, is_dated)


def _field(connection: sa.Connection, term: Field, now_s: float) -> _Condition:
    if term.key is FilterKey.STATUS:
        return _status(connection, term, now_s)
    if term.key in COLUMNS:
        return _column(connection, term)
    if term.key in TABLES:
        table, column = TABLES[term.key]
        patterns = [value if "*" in value or term.key is FilterKey.TOOL else f"{value}*" for value in term.values]
        values = matching_values(stored_values(connection, column), patterns)
        return _trace.id.in_(sa.select(table.c.trace_id).where(column.in_(values)))
    return _FIELDS[term.key](connection, term)


def _column(connection: sa.Connection, term: Field) -> _Condition:
    column = COLUMNS[term.key]
    stored = stored_values(connection, column)
    if term.key is FilterKey.KIND:
        return column.in_([value for value in stored if matching_values(value.split(","), term.values)])
    return column.in_(matching_values(stored, term.values))


def _status(connection: sa.Connection, term: Field, now_s: float) -> _Condition:
    """A status, or `running` or `idle`, which are not in a column."""
    chosen = {value.lower() for value in term.values}
    states = [_trace.id.in_(traces_in(state, now_s)) for state in Liveness if state in chosen]
    return sa.or_(_column(connection, term), *states)


def _severity(_connection: sa.Connection, term: Field) -> _Condition:
    chosen = matching_values([severity.value for severity in Severity], term.values)
    return sa.or_(sa.false(), *(_BY_SEVERITY[Severity(word)] > 0 for word in chosen))


def _session(_connection: sa.Connection, term: Field) -> _Condition:
    external = tables.external_id.c
    matched = []
    for value in term.values:
        name, equals, rest = value.partition("=")
        matched.append(_is_like(external.value, as_stored(value)))
        if equals:
            matched.append(sa.and_(external.name == escaped(name), _is_like(external.value, as_stored(rest))))
    return _trace.id.in_(sa.select(external.trace_id).where(sa.or_(*matched)))


def _name(_connection: sa.Connection, term: Field) -> _Condition:
    return sa.or_(*(_matches_without_case(_trace.name, escaped(value)) for value in term.values))


def _break(connection: sa.Connection, term: Field) -> _Condition:
    """Broken traces by the same reason as in statistics: the code of the first break's rule, else its outcome."""
    patterns = [f"{value}*" if _CODE_BEGINNING.fullmatch(value) else value for value in term.values]
    has_code = _trace.break_code.is_not(None)
    codes = matching_values(stored_values(connection, _trace.break_code, has_code), patterns)
    without = (_trace.break_code.is_(None), _trace.break_outcome.is_not(None))
    outcomes = matching_values(stored_values(connection, _trace.break_outcome, *without), patterns)
    coded, uncoded = _trace.break_code.in_(codes), sa.and_(*without, _trace.break_outcome.in_(outcomes))
    if not outcomes:  # with an OR, the database sorts all that match; without, its index has them in the list's order
        return coded
    return sa.or_(coded, uncoded) if codes else uncoded


def _break_tool(_connection: sa.Connection, term: Field) -> _Condition:
    named = _means_any(tables.trace, lambda trace: sa.func.coalesce(trace.c.break_tool, ""), term.values)
    return sa.and_(_trace.break_step.is_not(None), named)


def _violates(_connection: sa.Connection, term: Field) -> _Condition:
    """Traces with a call that broke its tool's schema: the rule, the tool and the argument, separated by spaces."""
    named = _means_any(tables.violation, _violation_key, [value.rstrip(" ") for value in term.values])
    return _trace.id.in_(sa.select(tables.violation.c.trace_id).where(named))


def _violation_key(violation: sa.FromClause) -> sa.ColumnElement[str]:
    return sa.func.rtrim(violation.c.code + " " + violation.c.tool + " " + violation.c.path)


def _marked(_connection: sa.Connection, term: Field) -> _Condition:
    chosen = set(matching_values(["yes", "no"], term.values))
    is_marked = _trace.id.in_(sa.select(_mark.trace_id))
    return sa.or_(
        sa.false(), *([is_marked] if "yes" in chosen else []), *([sa.not_(is_marked)] if "no" in chosen else [])
    )


def _forks(_connection: sa.Connection, term: Field) -> _Condition:
    """All traces with `yes`; without those of experiments with `no`."""
    chosen = matching_values(["yes", "no"], term.values)
    if not chosen or "yes" in chosen:
        return sa.true() if chosen else sa.false()
    return _trace.source.not_in(EXPERIMENT_SOURCES)


def _note(_connection: sa.Connection, term: Field) -> _Condition:
    """Traces with a mark whose note contains one of the values."""
    contains = (_contains(_mark.folded, escaped(value.casefold())) for value in term.values)
    return _trace.id.in_(sa.select(_mark.trace_id).where(sa.or_(*contains)))


_FIELDS: Mapping[FilterKey, Callable[[sa.Connection, Field], _Condition]] = {
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


def _compared(column: sa.ColumnElement[Any], comparison: ComparisonOperator, number: float) -> _Condition:
    if isinstance(column.type, sa.Integer) and abs(number) < _MAX_NUMBER:
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


def _compared_whole(column: sa.ColumnElement[int], comparison: ComparisonOperator, number: float) -> _Condition:
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


def _has_argument(term: ArgumentTerm) -> _Condition:
    """Traces with such an argument; the key that contains it is indexed, by itself and with its value."""
    conditions: list[_Condition] = []
    if (name := _last_name(term.path)) is not None:
        conditions.append(_argument.name == name)
    if term.path.startswith("$"):
        conditions.append(_is_like(_argument.path, escaped(term.path)))
    elif name is None:
        conditions.append(_is_like(_argument.name, key(term.path, longest=MAX_VALUE_CHARS)))
    return _trace.id.in_(sa.select(_argument.trace_id).where(*conditions, _has_value(term)))


def _last_name(path: str) -> str | None:
    """The name of the key that contains the value at a path; None if the path does not determine it."""
    if "*" in path:
        return None
    if not path.startswith("$"):
        return key(path, longest=MAX_VALUE_CHARS)
    match = _ENDS_IN_NAME.fullmatch(path)
    return key(match["name"], longest=MAX_VALUE_CHARS) if match else None


def _has_value(term: ArgumentTerm) -> _Condition:
    value = _argument.value
    match term.comparison:
        case None:
            return sa.true()
        case ComparisonOperator.EQUAL:
            return _is_any_value(value, term.values)
        case ComparisonOperator.OTHER:
            return sa.not_(_is_any_value(value, term.values))
        case ComparisonOperator.HOLDS:
            return sa.or_(*(_contains(value, escaped(searched.casefold())) for searched in term.values))
        case _:
            return _compared(_argument.number, term.comparison, term.number)


def _is_any_value(column: sa.ColumnElement[str], values: Iterable[str]) -> _Condition:
    return sa.or_(
        *(_is_like(column, escaped(value.casefold()) if "*" in value else value_key(value)) for value in values)
    )


def _means_any(
    table: sa.Table, text_of: Callable[[sa.FromClause], sa.ColumnElement[str]], values: Iterable[str]
) -> _Condition:
    """Whether the text of a row is what one of these values means: that very text if any row of the table has it."""
    text, another = text_of(table), text_of(table.alias())
    return sa.or_(
        *(
            sa.or_(text == value, sa.and_(_matches_without_case(text, value), ~sa.exists().where(another == value)))
            for value in map(escaped, values)
        )
    )


def _matches_without_case(text: sa.ColumnElement[str], pattern: str) -> _Condition:
    return text.ilike(like(pattern), escape="\\")


def _is_like(column: sa.ColumnElement[str], value: str) -> _Condition:
    return column.ilike(like(value), escape="\\") if "*" in value else column == value


def _contains(column: sa.ColumnElement[str], value: str) -> _Condition:
    return column.contains(value, autoescape=True)


def stored_values(
    connection: sa.Connection, column: sa.ColumnElement[_Value], *where: _Condition, most: int | None = None
) -> Sequence[_Value]:
    """The distinct values of an indexed column, found by jumping along the index: DISTINCT would read all of it.

    `where` is the condition of a partial index.
    """
    values = sa.select(sa.func.min(column).label("value")).where(*where).cte("stored_values", recursive=True)
    following = (
        sa.select(sa.func.min(column)).where(column > values.c.value, *where).correlate(values).scalar_subquery()
    )
    values = values.union_all(sa.select(following).where(values.c.value.is_not(None)))
    query = sa.select(values.c.value).where(values.c.value.is_not(None)).limit(most)
    return connection.scalars(query).all()
