"""Metrics as sums in the database: no trace is read, whatever there is of them.

What is summed are the counts in `figures` and `trace_tool`, their squares and products, from which intervals follow
(`inspector.chain.metrics_tallies`); all of it whole numbers, so that the sums are those that Python would make.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import sqlalchemy as sa

from inspector.chain.metrics_figures import TOOL_NUMBERS, TRACE_NUMBERS
from inspector.chain.metrics_groups import GroupFigures, GroupKey, check_keys, in_order
from inspector.chain.metrics_measures import MEASURES, Measure, MeasureKind
from inspector.chain.metrics_tallies import TALLIED, Tally
from storage import tables
from storage.blocks import Ids
from storage.packing.sums import Sums
from storage.statistics_questions import Conditions, key_columns, sums_of, within

_Number: TypeAlias = sa.ColumnElement[int]

_trace = tables.trace.c


@dataclass(frozen=True, slots=True)
class FiguresBy:
    """The figures of traces in groups, those of the most traces first; ValueError for keys that do not go together."""

    by: tuple[GroupKey, ...] = ()

    def __post_init__(self) -> None:
        check_keys(self.by)

    @property
    def name(self) -> str:
        """See `Question`."""
        return " ".join(("figures", *self.by))

    def sums(self, connection: sa.Connection, conditions: Conditions = (), ids: Ids | None = None) -> Sums:
        """See `Question`."""
        source, id_, counts = _source(self.by, is_filtered=bool(conditions))
        keys = key_columns(self.by)
        columns = _Sums(tuple(counts)).columns(counts)
        select = sa.select(*keys, *columns).select_from(source).where(*conditions, *within(id_, ids))
        if GroupKey.TOOL in self.by:
            select = select.where(tables.trace_tool.c.calls > 0)
        return sums_of(connection.execute(select.group_by(*keys)), self.by)

    def answer(self, sums: Sums) -> list[GroupFigures]:
        """See `Question`."""
        places = _Sums(_counts_of(self.by)).places
        groups = (
            GroupFigures(key, {name: Tally(*(summed[at] for at in some)) for name, some in places.items()})
            for key, summed in sums.items()
        )
        return in_order(group for group in groups if group.traces)


class _Sums:
    """The sums that are asked for of these counts, each once; `places` are those that make the tally of a measure."""

    def __init__(self, counts: tuple[str, ...]) -> None:
        self._factors: dict[tuple[str, ...], int] = {}
        measures = [one for one in MEASURES if one.hits in counts and one.trials in counts]
        self.places = {measure.name: self._of(measure) for measure in measures}

    def columns(self, counts: dict[str, _Number]) -> list[_Number]:
        """The sums in their order, of counts in the database."""
        return [_sum(factors, counts) for factors in self._factors]

    def _of(self, measure: Measure) -> tuple[int, ...]:
        """The places of the sums that make a measure's tally, in the order of its members."""
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
        return tuple(self._place(sums[name]) for name in TALLIED)

    def _place(self, factors: tuple[str, ...]) -> int:
        if len(factors) == 2 and "traces" in factors:  # every trace is one
            factors = tuple(one for one in factors if one not in ("traces", "any")) or ("traces",)
        factors = factors if factors[0] == "any" else tuple(sorted(factors))
        return self._factors.setdefault(factors, len(self._factors))


def _sum(factors: tuple[str, ...], counts: dict[str, _Number]) -> _Number:
    if factors == ("traces",):
        return sa.func.count()
    if factors[0] == "any":
        return sa.func.sum(sa.case((counts[factors[1]] > 0, 1), else_=0))
    product = counts[factors[0]]
    for name in factors[1:]:
        product *= counts[name]
    return sa.func.sum(product)


def _counts_of(by: Sequence[GroupKey]) -> tuple[str, ...]:
    """The names of the counts that there are of what is grouped so."""
    return ("traces", *(TOOL_NUMBERS if GroupKey.TOOL in by else TRACE_NUMBERS))


def _source(by: Sequence[GroupKey], *, is_filtered: bool) -> tuple[sa.FromClause, _Number, dict[str, _Number]]:
    """What is summed over, its trace's id, and its counts by name; `trace` is joined only where it is asked."""
    counted = tables.trace_tool if GroupKey.TOOL in by else tables.figures
    counts: dict[str, _Number] = {
        name: sa.literal(1) if name == "traces" else counted.c[name] for name in _counts_of(by)
    }
    source: sa.FromClause = counted
    if GroupKey.CODE in by:
        source = source.join(tables.trace_code, tables.trace_code.c.trace_id == counted.c.trace_id)
    if is_filtered or set(by) - {GroupKey.CODE, GroupKey.TOOL}:
        source = source.join(tables.trace, _trace.id == counted.c.trace_id)
    id_: _Number = counted.c.trace_id
    return source, id_, counts
