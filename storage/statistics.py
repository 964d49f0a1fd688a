"""Metrics as sums in the database: no trace is read, whatever there is of them.

What is summed are the counts in `figures` and `trace_tool`, their squares and products, from which intervals follow
(`inspector.chain.metrics_tallies`); all of it whole numbers, so that the sums are those that Python would make.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import sqlalchemy as sa

from inspector.chain.metrics_figures import TOOL_NUMBERS, TRACE_NUMBERS
from inspector.chain.metrics_groups import (
    Aspect,
    GroupFigures,
    GroupKey,
    Slice,
    check_keys,
    check_slices,
    in_order,
    sorted_slices,
)
from inspector.chain.metrics_measures import MEASURES, Kind, Measure
from inspector.chain.metrics_tallies import TALLIED, Tally
from storage import tables
from storage.packing.escapes import unescaped
from storage.statistics_keys import A_BIT, DAY_S, day_named

Number: TypeAlias = sa.ColumnElement[int]
Conditions: TypeAlias = Sequence[sa.ColumnElement[bool]]

_trace = tables.trace.c
_KEYS: dict[GroupKey, sa.ColumnElement[str]] = {
    GroupKey.MODEL: _trace.model,
    GroupKey.FORMAT: _trace.format,
    GroupKey.SOURCE: _trace.source,
    GroupKey.REASONING: _trace.reasoning,
    GroupKey.PROMPT: _trace.prompt_hash,
    GroupKey.TOOL: tables.trace_tool.c.name,
    GroupKey.CODE: tables.trace_code.c.code,
}
_ASPECTS: dict[Aspect, sa.ColumnElement[str]] = {
    Aspect.STEP: sa.cast(_trace.break_step, sa.Text),
    Aspect.CODE: sa.func.coalesce(_trace.break_code, _trace.break_outcome),
    Aspect.TOOL: sa.func.coalesce(_trace.break_tool, ""),
    Aspect.OUTCOME: _trace.break_outcome,
    Aspect.REACTION: sa.func.coalesce(_trace.break_reaction, ""),
    Aspect.ABORT: _trace.abort_reason,
}


@dataclass(frozen=True, slots=True)
class Violations:
    """How often, and in how many traces, calls of a tool broke its schema at a place by a rule."""

    tool: str
    path: str
    code: str
    times: int
    traces: int


def group_figures(connection: sa.Connection, by: Sequence[GroupKey], conditions: Conditions) -> list[GroupFigures]:
    """The figures of the traces that fulfil the conditions, in groups; those of the most traces first."""
    check_keys(by)
    source, counts = _source(by, is_filtered=bool(conditions))
    measures = [one for one in MEASURES if one.hits in counts and one.trials in counts]
    sums = _Sums(counts)
    wanted = {measure.name: sums.of(measure) for measure in measures}
    keys = [_key(key).label(f"key_{at}") for at, key in enumerate(by)]
    select = sa.select(*keys, *sums.columns).select_from(source).where(*conditions).group_by(*keys)
    if GroupKey.TOOL in by:
        select = select.where(tables.trace_tool.c.calls > 0)
    groups = []
    rows: Sequence[Sequence[Any]] = connection.execute(select).all()
    for row in rows:
        values, summed = row[: len(keys)], [int(one or 0) for one in row[len(keys) :]]
        tallies = {name: Tally(*(summed[at] for at in places)) for name, places in wanted.items()}
        group = GroupFigures(tuple(_value(key, value) for key, value in zip(by, values, strict=True)), tallies)
        if group.traces:
            groups.append(group)
    return in_order(iter(groups))


def slices(connection: sa.Connection, aspect: Aspect, by: Sequence[GroupKey], conditions: Conditions) -> list[Slice]:
    """How many of the traces that fulfil the conditions show which value of an aspect."""
    check_slices(by)
    value = _ASPECTS[aspect].label("value")
    keys = [_key(key).label(f"key_{at}") for at, key in enumerate(by)]
    ended = _trace.abort_reason if aspect is Aspect.ABORT else _trace.break_step
    select = sa.select(*keys, value, sa.func.count()).select_from(tables.trace).where(ended.is_not(None), *conditions)
    counted = sa.exists().where(tables.figures.c.trace_id == _trace.id)
    rows: list[tuple[Any, ...]] = [
        tuple(row) for row in connection.execute(select.where(counted).group_by(*keys, value))
    ]
    found = [
        Slice(tuple(_value(key, one) for key, one in zip(by, row, strict=False)), unescaped(row[-2]), row[-1])
        for row in rows
    ]
    return sorted_slices(found, aspect)


def violations(connection: sa.Connection, conditions: Conditions, limit: int) -> list[Violations]:
    """The places of schemas that were broken most often in the traces that fulfil the conditions."""
    violation = tables.violation
    source = violation.join(tables.trace, _trace.id == violation.c.trace_id) if conditions else violation
    place = (violation.c.tool, violation.c.path, violation.c.code)
    times = sa.func.sum(violation.c.times)
    select = sa.select(*place, times, sa.func.count()).select_from(source).where(*conditions)
    rows = connection.execute(select.group_by(*place).order_by(times.desc(), *place).limit(limit))
    return [Violations(unescaped(tool), unescaped(path), code, int(n), traces) for tool, path, code, n, traces in rows]


def uncounted(connection: sa.Connection, conditions: Conditions) -> int:
    """How many of the traces that fulfil the conditions have no figures, since what they hold is damaged."""
    counted = sa.exists().where(tables.figures.c.trace_id == _trace.id)
    return connection.scalar(sa.select(sa.func.count()).select_from(tables.trace).where(~counted, *conditions)) or 0


class _Sums:
    """The sums that a statement asks for, each once."""

    def __init__(self, counts: dict[str, Number]) -> None:
        self._counts = counts
        self._places: dict[tuple[str, ...], int] = {}
        self.columns: list[sa.ColumnElement[int]] = []

    def of(self, measure: Measure) -> tuple[int, ...]:
        """The places of the sums that make a measure's tally, in the order of its members."""
        hits, trials = measure.hits, measure.trials
        sums: dict[str, tuple[str, ...]]
        if measure.kind is Kind.SHARE_OF_TRACES:  # 1 and 0 are their own squares, and there is no hit without a trial
            sums = {"traces": (trials,), "hits": (hits,), "trials": (trials,)}
            sums |= {"hits_squared": (hits,), "both": (hits,), "trials_squared": (trials,)}
        else:
            sums = {"traces": ("any", trials), "hits": (hits,), "trials": (trials,)}
            sums |= {"hits_squared": (hits, hits), "both": (hits, trials), "trials_squared": (trials, trials)}
        return tuple(self._place(sums[name]) for name in TALLIED)

    def _place(self, factors: tuple[str, ...]) -> int:
        if len(factors) == 2 and "traces" in factors:  # every trace is one
            factors = tuple(one for one in factors if one not in ("traces", "any")) or ("traces",)
        factors = factors if factors[0] == "any" else tuple(sorted(factors))
        if factors not in self._places:
            self._places[factors] = len(self.columns)
            self.columns.append(self._sum(factors))
        return self._places[factors]

    def _sum(self, factors: tuple[str, ...]) -> sa.ColumnElement[int]:
        if factors == ("traces",):
            return sa.func.count()
        if factors[0] == "any":
            return sa.func.sum(sa.case((self._counts[factors[1]] > 0, 1), else_=0))
        product = self._counts[factors[0]]
        for name in factors[1:]:
            product *= self._counts[name]
        return sa.func.sum(product)


def _source(by: Sequence[GroupKey], *, is_filtered: bool) -> tuple[sa.FromClause, dict[str, Number]]:
    """What is summed over, and its counts by name; `trace` is joined only where it is asked."""
    every: dict[str, Number] = {"traces": sa.literal(1)}
    if GroupKey.TOOL in by:
        tool = tables.trace_tool
        counts = every | {name: tool.c[name] for name in TOOL_NUMBERS}
        needs_trace = is_filtered or len(by) > 1
        return (tool.join(tables.trace, _trace.id == tool.c.trace_id) if needs_trace else tool), counts
    figures = tables.figures
    counts = every | {name: figures.c[name] for name in TRACE_NUMBERS}
    source: sa.FromClause = figures
    if GroupKey.CODE in by:
        source = source.join(tables.trace_code, tables.trace_code.c.trace_id == figures.c.trace_id)
    if is_filtered or set(by) - {GroupKey.CODE}:
        source = source.join(tables.trace, _trace.id == figures.c.trace_id)
    return source, counts


def _key(key: GroupKey) -> sa.ColumnElement[Any]:
    if key is GroupKey.DAY:
        # `round` of half a day less is `floor`, which SQLite need not have.
        return sa.func.round(_trace.started_at_s / DAY_S - 0.5 + A_BIT)
    return _KEYS[key]


def _value(key: GroupKey, value: Any) -> str:
    """A key's value as `inspector.chain.metrics_groups` gives it."""
    if key is GroupKey.DAY:
        return "" if value is None else day_named(int(value))
    return unescaped(value)
