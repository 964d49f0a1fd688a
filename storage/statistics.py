"""Statistics over many traces as sums in the database: no trace is read.

Theory of operation. A query is a set of sums over groups of traces, which the database computes, and a result computed
from the sums. `TraceStatistics` runs the queries over the traces that a filter selects.

Only integers are summed, so that sums over disjoint sets of traces add up exactly: a query over two files, or over the
blocks of one, is the query over all their traces. A mean needs the sum and the number; its interval also needs the
squares, because the calls of one trace resemble each other. Hence a measure with hits and trials (for example valid
calls of all calls) is a `Tally` of six sums. Sums that several measures share are computed once: the square of a column
that is 0 or 1 is the column itself, and the number of traces is `count(*)`.

For figures by model, the database computes one row of sums for each model:

    SELECT trace.model, count(*), sum(is_ok), ..., sum(well_formed * well_formed), ... GROUP BY trace.model
    ("claude-demo-1", 2, 0, ..., 29, ...)

`sums_of` makes the key and the integers of each row a `GroupSums`, which adds rows with the same key:

    {("claude-demo-1",): (2, 0, ..., 29, ...)}

and `FiguresBy.answer` looks up the six sums of every measure by their indices:

    GroupFigures(("claude-demo-1",), {"well_formed": Tally(traces=2, hits=7, trials=7, hits_squared=29, both=29,
                                                           trials_squared=29), ...})
"""

import time
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from functools import lru_cache
from itertools import takewhile
from math import floor
from operator import add
from typing import Any, Protocol, TypeAlias, TypeVar

import sqlalchemy as sa
from msgspec import Struct

from weaklink.inspector.chain import metrics_groups
from weaklink.inspector.chain.metrics import MEASURES, TALLIED, Measure, MeasureKind, Tally
from weaklink.inspector.chain.metrics_figures import TOOL_NUMBERS, TRACE_NUMBERS
from weaklink.inspector.checks.schema_complexity import SchemaComplexity, schema_complexity
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.model import Role, Trace
from weaklink.storage import tables
from weaklink.storage.derived_rows import measure_columns
from weaklink.storage.engine import Database, damage_errors
from weaklink.storage.filter import parse_filter
from weaklink.storage.filter.sql import conditions_of, with_default_terms
from weaklink.storage.packing.blobs import from_blob, unescaped
from weaklink.storage.packing.blobs import key as stored_key
from weaklink.storage.packing.derived_values import texts_of
from weaklink.storage.packing.records import tool_from
from weaklink.storage.packing.values import unpack
from weaklink.storage.record_rows import at_s, totals_of
from weaklink.storage.salvage import read_stored
from weaklink.storage.tables import in_groups

DAY_S = 86_400.0
"""Seconds per day."""

A_BIT = 1e-9
"""Fraction of a day (a tenth of a millisecond): midnight belongs to the new day however a database rounds."""

_HEAD, _MAX_SHOWN_CHARS = 1_000, 80
_EPOCH = date(1970, 1, 1)
GroupSums: TypeAlias = dict[tuple[str, ...], tuple[int, ...]]
"""Integers by the values of their group's keys."""
Conditions: TypeAlias = Sequence[sa.ColumnElement[bool]]
_Answer = TypeVar("_Answer")
Answer_co = TypeVar("Answer_co", covariant=True)
_TRACE_COLUMNS = tables.trace.c

_KEYS: dict[metrics_groups.GroupKey, sa.ColumnElement[str]] = {
    metrics_groups.GroupKey.MODEL: _TRACE_COLUMNS.model,
    metrics_groups.GroupKey.FORMAT: _TRACE_COLUMNS.format,
    metrics_groups.GroupKey.SOURCE: _TRACE_COLUMNS.source,
    metrics_groups.GroupKey.REASONING: _TRACE_COLUMNS.reasoning,
    metrics_groups.GroupKey.PROMPT: _TRACE_COLUMNS.prompt_hash,
    metrics_groups.GroupKey.TOOL: tables.trace_tool.c.name,
    metrics_groups.GroupKey.CODE: tables.trace_code.c.code,
}


def _of_codes(key: metrics_groups.GroupKey) -> sa.Subquery:
    """The values of a key that are derived from codes, each once per trace."""
    codes = tables.trace_code.c
    values = metrics_groups.VALUES_OF_CODES[key]
    value = sa.case(values, value=codes.code).label("value")
    select = sa.select(codes.trace_id, value).where(codes.code.in_(values)).distinct()
    return select.subquery(key.value)


_OF_CODES = {key: _of_codes(key) for key in metrics_groups.VALUES_OF_CODES}
_KEYS |= {key: subquery.c.value for key, subquery in _OF_CODES.items()}


class StatisticsQuery(Protocol[Answer_co]):
    """A query over many traces; the sums over disjoint sets of traces add up to those over all of them."""

    @property
    def name(self) -> str:
        """A unique name of the query, a few words."""
        ...

    def sums(self, connection: sa.Connection, conditions: Conditions = ()) -> GroupSums:
        """The sums over the traces that match the conditions."""
        ...

    def answer(self, sums: GroupSums) -> Answer_co:
        """The sorted result, computed from the sums over all selected traces."""
        ...


def key_columns(by: Sequence[metrics_groups.GroupKey]) -> list[sa.Label[Any]]:
    """The columns with the values of these keys."""
    return [_column(key).label(f"key_{index}") for index, key in enumerate(by)]


def sums_of(rows: Iterable[Sequence[Any]], by: Sequence[metrics_groups.GroupKey], *, texts: int = 0) -> GroupSums:
    """Rows as sums: key values, `texts` more texts, then integers; all days outside the calendar share one key."""
    keys = len(by) + texts
    sums: GroupSums = {}
    for row in rows:
        group = (
            *(_value(key, value) for key, value in zip(by, row, strict=False)),
            *map(unescaped, row[len(by) : keys]),
        )
        numbers = tuple(int(number or 0) for number in row[keys:])
        sums[group] = tuple(map(add, sums[group], numbers)) if group in sums else numbers
    return sums


def _column(key: metrics_groups.GroupKey) -> sa.ColumnElement[Any]:
    if key is metrics_groups.GroupKey.DAY:
        # `round` of half a day less is `floor`, which some SQLite builds do not have.
        return sa.func.round(_TRACE_COLUMNS.started_at_s / DAY_S - 0.5 + A_BIT)
    return _KEYS[key]


def _value(key: metrics_groups.GroupKey, value: Any) -> str:
    """A key's value as in `inspector.chain.metrics_groups`."""
    if key is metrics_groups.GroupKey.DAY:
        return "" if value is None else day_named(int(value))
    return unescaped(value)


_Number: TypeAlias = sa.ColumnElement[int]
_trace = tables.trace.c


class FiguresBy(Struct, frozen=True):
    """The figures of groups of traces, the largest group first; ValueError for keys that cannot be combined."""

    by: tuple[metrics_groups.GroupKey, ...] = ()

    def __post_init__(self) -> None:
        metrics_groups.check_keys(self.by)

    @property
    def name(self) -> str:
        """See `StatisticsQuery`."""
        return " ".join(("figures", *self.by))

    def sums(self, connection: sa.Connection, conditions: Conditions = ()) -> GroupSums:
        """See `StatisticsQuery`."""
        source = _source(self.by, is_filtered=bool(conditions))
        keys = key_columns(self.by)
        select = sa.select(*keys, sa.text(_sums_sql(self.by))).select_from(source).where(*conditions)
        if metrics_groups.GroupKey.TOOL in self.by:
            select = select.where(tables.trace_tool.c.calls > 0)
        return sums_of(connection.execute(select.group_by(*keys)), self.by)

    def answer(self, sums: GroupSums) -> list[metrics_groups.GroupFigures]:
        """See `StatisticsQuery`."""
        indices = _Sums(_counts_of(self.by)).indices
        groups = (
            metrics_groups.GroupFigures(
                key, {name: Tally(*(summed[index] for index in some)) for name, some in indices.items()}
            )
            for key, summed in sums.items()
        )
        return metrics_groups.in_order(group for group in groups if group.traces)


class _Sums:
    """The sums of these counts, each once; `indices` has the indices of the sums that form each measure's tally."""

    def __init__(self, counts: tuple[str, ...]) -> None:
        self._factors: dict[tuple[str, ...], int] = {}
        measures = [measure for measure in MEASURES if measure.hits in counts and measure.trials in counts]
        self.indices = {measure.name: self._of(measure) for measure in measures}

    def sql(self, table: str) -> str:
        """The SQL of the sums in order, over the counts in a table."""
        return ", ".join(_sum(factors, table) for factors in self._factors)

    def _of(self, measure: Measure) -> tuple[int, ...]:
        """The indices of the sums that form a measure's tally, in the order of the tally's fields."""
        hits, trials = measure.hits, measure.trials
        sums: dict[str, tuple[str, ...]]
        if (
            measure.kind is MeasureKind.SHARE_OF_TRACES
        ):  # 1 and 0 are their own squares, and there is no hit without a trial
            sums = {"traces": (trials,), "hits": (hits,), "trials": (trials,)}
            sums |= {"hits_squared": (hits,), "both": (hits,), "trials_squared": (trials,)}
        else:
            sums = {"traces": ("any", trials), "hits": (hits,), "trials": (trials,)}
            sums |= {"hits_squared": (hits, hits), "both": (hits, trials), "trials_squared": (trials, trials)}
        return tuple(self._index_of(sums[name]) for name in TALLIED)

    def _index_of(self, factors: tuple[str, ...]) -> int:
        if len(factors) == 2 and "traces" in factors:  # the count of traces is 1 in every row
            factors = tuple(factor for factor in factors if factor not in ("traces", "any")) or ("traces",)
        factors = factors if factors[0] == "any" else tuple(sorted(factors))
        return self._factors.setdefault(factors, len(self._factors))


def _sum(factors: tuple[str, ...], table: str) -> str:
    if factors == ("traces",):
        return "count(*)"
    if factors[0] == "any":
        return f"sum(CASE WHEN {table}.{factors[1]} > 0 THEN 1 ELSE 0 END)"
    return f"sum({' * '.join(f'{table}.{name}' for name in factors)})"


@lru_cache(64)
def _sums_sql(by: tuple[metrics_groups.GroupKey, ...]) -> str:
    """The sums of all counts for this grouping as SQL text: SQLAlchemy would take 60 ms to compile expressions."""
    return _Sums(_counts_of(by)).sql(_counted_in(by).name)


def _counts_of(by: Sequence[metrics_groups.GroupKey]) -> tuple[str, ...]:
    """The names of the counts for this grouping."""
    return ("traces", *(TOOL_NUMBERS if metrics_groups.GroupKey.TOOL in by else TRACE_NUMBERS))


def _counted_in(by: Sequence[metrics_groups.GroupKey]) -> sa.Table:
    return tables.trace_tool if metrics_groups.GroupKey.TOOL in by else tables.figures


def _source(by: Sequence[metrics_groups.GroupKey], *, is_filtered: bool) -> sa.FromClause:
    """The FROM clause to sum over; `trace` is joined only if it is needed."""
    counted = _counted_in(by)
    source: sa.FromClause = counted
    if metrics_groups.GroupKey.CODE in by:
        source = source.join(tables.trace_code, tables.trace_code.c.trace_id == counted.c.trace_id)
    for subquery in (_OF_CODES[key] for key in by if key in _OF_CODES):
        source = source.join(subquery, subquery.c.trace_id == counted.c.trace_id)
    if is_filtered or set(by) - set(metrics_groups.MANY_VALUED):
        source = source.join(tables.trace, _trace.id == counted.c.trace_id)
    return source


_ASPECTS: dict[metrics_groups.Aspect, sa.ColumnElement[str]] = {
    metrics_groups.Aspect.STEP: sa.cast(_trace.break_step, sa.Text),
    metrics_groups.Aspect.CODE: sa.func.coalesce(_trace.break_code, _trace.break_outcome),
    metrics_groups.Aspect.TOOL: sa.func.coalesce(_trace.break_tool, ""),
    metrics_groups.Aspect.OUTCOME: _trace.break_outcome,
    metrics_groups.Aspect.REACTION: sa.func.coalesce(_trace.break_reaction, ""),
    metrics_groups.Aspect.ABORT: _trace.abort_reason,
}

_counted = sa.exists().where(tables.figures.c.trace_id == _trace.id)


class Violations(Struct, frozen=True):
    """The number of violations of a tool's schema, at one path and by one rule, and the number of traces with them."""

    tool: str
    path: str
    code: str
    times: int
    traces: int


class BreaksBy(Struct, frozen=True):
    """The number of traces for each value of an aspect, in groups; ValueError for keys that cannot group breaks."""

    aspect: metrics_groups.Aspect
    by: tuple[metrics_groups.GroupKey, ...] = ()

    def __post_init__(self) -> None:
        metrics_groups.check_slices(self.by)

    @property
    def name(self) -> str:
        """See `StatisticsQuery`."""
        return " ".join(("breaks", self.aspect, *self.by))

    def sums(self, connection: sa.Connection, conditions: Conditions = ()) -> GroupSums:
        """See `StatisticsQuery`."""
        value, keys = _ASPECTS[self.aspect].label("value"), key_columns(self.by)
        ended = _trace.abort_reason if self.aspect is metrics_groups.Aspect.ABORT else _trace.break_step
        select = sa.select(*keys, value, sa.func.count()).select_from(tables.trace)
        rows = select.where(ended.is_not(None), *conditions, _counted)
        return sums_of(connection.execute(rows.group_by(*keys, value)), self.by, texts=1)

    def answer(self, sums: GroupSums) -> list[metrics_groups.Slice]:
        """See `StatisticsQuery`."""
        slices: Sequence[metrics_groups.Slice] = [
            metrics_groups.Slice(key[:-1], key[-1], traces) for key, (traces,) in sums.items()
        ]
        return metrics_groups.sorted_slices(slices, self.aspect)


CallVerdicts: TypeAlias = dict[tuple[str, str], int]
"""How many calls have a kind of result and a statement about it, `""` if nothing is known of that."""


class VerdictsOfCalls(Struct, frozen=True):
    """The calls whose result is not as wanted, by the kind of the result and what the agent said of it."""

    @property
    def name(self) -> str:
        """See `StatisticsQuery`."""
        return "verdicts of calls"

    def sums(self, connection: sa.Connection, conditions: Conditions = ()) -> GroupSums:
        """See `StatisticsQuery`."""
        call = tables.call
        keys = (call.c.result_kind, sa.func.coalesce(call.c.said, ""))
        source = call.join(tables.trace, _trace.id == call.c.trace_id) if conditions else call
        select = sa.select(*keys, sa.func.count()).select_from(source).where(call.c.result_kind.is_not(None))
        return sums_of(connection.execute(select.where(*conditions).group_by(*keys)), (), texts=len(keys))

    def answer(self, sums: GroupSums) -> CallVerdicts:
        """See `StatisticsQuery`."""
        return {(kind, said): calls for (kind, said), (calls,) in sums.items()}


class BrokenSchemas(Struct, frozen=True):
    """The violations of schemas by tool, path and rule, the most frequent first."""

    @property
    def name(self) -> str:
        """See `StatisticsQuery`."""
        return "violations"

    def sums(self, connection: sa.Connection, conditions: Conditions = ()) -> GroupSums:
        """See `StatisticsQuery`."""
        violation = tables.violation
        columns = (violation.c.tool, violation.c.path, violation.c.code)
        source = violation.join(tables.trace, _trace.id == violation.c.trace_id) if conditions else violation
        select = sa.select(*columns, sa.func.sum(violation.c.times), sa.func.count()).select_from(source)
        rows = select.where(*conditions)
        return sums_of(connection.execute(rows.group_by(*columns)), (), texts=len(columns))

    def answer(self, sums: GroupSums) -> list[Violations]:
        """See `StatisticsQuery`."""
        groups = [Violations(tool, path, code, *counts) for (tool, path, code), counts in sums.items()]
        return sorted(groups, key=lambda group: (-group.times, group.tool, group.path, group.code))


class Uncounted(Struct, frozen=True):
    """The number of traces without figures, because they are damaged."""

    @property
    def name(self) -> str:
        """See `StatisticsQuery`."""
        return "uncounted"

    def sums(self, connection: sa.Connection, conditions: Conditions = ()) -> GroupSums:
        """See `StatisticsQuery`."""
        select = sa.select(sa.func.count()).select_from(tables.trace)
        return sums_of(connection.execute(select.where(~_counted, *conditions)), ())

    def answer(self, sums: GroupSums) -> int:
        """See `StatisticsQuery`."""
        return sum(traces for (traces,) in sums.values())


def keys_of(trace: Trace, inspection: Inspection) -> metrics_groups.TraceKeys:
    """The keys of a trace and its inspection."""
    totals = totals_of(trace.turns)
    assistant = [number for number, turn in enumerate(trace.turns, 1) if turn.role is Role.ASSISTANT]
    started_s = at_s(trace.started)
    return metrics_groups.TraceKeys(
        model=trace.model or totals.model,
        format=inspection.format,
        source=trace.provenance.source,
        reasoning=measure_columns(inspection, texts_of(trace), assistant)["reasoning"],
        prompt=totals.prompt_hash,
        day="" if started_s is None else day_named(floor(started_s / DAY_S + A_BIT)),
    )


class Prompt(Struct, frozen=True):
    """A description of a prompt version: the first words of its system prompt, and its number of tools."""

    words: str
    tools: int


def prompt_of(trace: Trace) -> Prompt:
    """The prompt at the beginning of a trace; its words are at most 80 code points, on one line."""
    before = list(takewhile(lambda turn: turn.role is not Role.ASSISTANT, trace.turns))
    first = trace.turns[len(before)].generation if len(before) < len(trace.turns) else None
    texts = (part.text[:_HEAD] for turn in before if turn.role is Role.SYSTEM for part in turn.parts)
    words = " ".join(" ".join(texts).split())
    return Prompt(words[:_MAX_SHOWN_CHARS], len(first.tools) if first is not None else 0)


def day_named(day: int) -> str:
    """The ISO date of a day, counted from 1970-01-01; `""` if it is outside the calendar."""
    try:
        return (_EPOCH + timedelta(days=day)).isoformat()
    except OverflowError:
        return ""


class TraceStatistics:
    """Figures over the traces of a store: `Store.statistics`. The database aggregates every result.

    `filter` selects the traces, as in `Store.traces`; FilterError if it cannot be parsed. `by` are the keys to group
    by; ValueError if they cannot be combined. A running trace counts with its turns so far.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def figures(
        self,
        filter: str = "",  # noqa: A002  # as in `traces`
        *,
        by: Sequence[metrics_groups.GroupKey] = (),
    ) -> list[metrics_groups.GroupFigures]:
        """The figures of each group, the group with the most traces first; an empty list without traces.

        `figures(by=(GroupKey.MODEL, GroupKey.CODE))` is a heat map, `by=(GroupKey.DAY,)` a time series.
        `inspector.chain.metrics.estimate(measure, group.tally(measure.name))` is a group's measure with its interval.
        """
        return self._run(FiguresBy(tuple(by)), filter)

    def breakdown(
        self,
        aspect: metrics_groups.Aspect,
        filter: str = "",  # noqa: A002  # as in `traces`
        *,
        by: Sequence[metrics_groups.GroupKey] = (),
    ) -> list[metrics_groups.Slice]:
        """The number of traces for each value of an aspect.

        Steps are sorted by number, all other values by frequency. Breaks cannot be grouped by tool or code, which are
        aspects themselves: ValueError.
        """
        return self._run(BreaksBy(aspect, tuple(by)), filter)

    def violations(self, filter: str = "", *, limit: int = 100) -> list[Violations]:  # noqa: A002  # as in `traces`
        """The violations of tools' schemas by tool, path and rule, the most frequent first."""
        return self._run(BrokenSchemas(), filter)[:limit]

    def verdicts_of_calls(self, filter: str = "") -> CallVerdicts:  # noqa: A002  # as in `traces`
        """The number of calls by the kind of their result and what the agent said of it."""
        return self._run(VerdictsOfCalls(), filter)

    def uncounted(self, filter: str = "") -> int:  # noqa: A002  # as in `traces`
        """The number of traces that the figures do not count, because their derived rows are missing."""
        return self._run(Uncounted(), filter)

    def _run(self, query: StatisticsQuery[_Answer], filter_: str) -> _Answer:
        with self._database.reading() as connection:
            return query.answer(query.sums(connection, _conditions(connection, filter_)))

    def prompts(self, hashes: Sequence[str]) -> dict[str, Prompt]:
        """Descriptions of the prompts with these hashes; reads one trace for each."""
        trace = tables.trace.c
        prompts: dict[str, Prompt] = {}
        with self._database.reading() as connection:
            for hash_ in hashes:
                query = sa.select(trace.id).where(trace.prompt_hash == hash_).order_by(trace.sort_at_s.desc()).limit(1)
                for id_ in connection.scalars(query):
                    prompts[hash_] = prompt_of(read_stored(connection, id_).trace)
        return prompts

    def schemas(self, tools: Sequence[str]) -> dict[str, SchemaComplexity]:
        """The complexity of these tools' latest schemas in requests; tools defined only in texts are left out."""
        tool = tables.tool.c
        named = {stored_key(name): name for name in tools}
        schemas: dict[str, SchemaComplexity] = {}
        with self._database.reading() as connection, damage_errors(self._database.location, "the definition of a tool"):
            for group in in_groups(named):
                rows = connection.execute(sa.select(tool.name, tool.body).where(tool.name.in_(group)).order_by(tool.id))
                for name, body in dict(rows.all()).items():
                    schemas[named[name]] = schema_complexity(tool_from(unpack(from_blob(body))))
        return schemas


def _conditions(connection: sa.Connection, filter: str) -> Conditions:  # noqa: A002  # as in `traces`
    return conditions_of(connection, with_default_terms(connection, parse_filter(filter)), time.time())
