"""Where and by what chains broke, which schemas were broken, and what is in no figure: counts in the database."""

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from inspector.chain.metrics_groups import Aspect, GroupKey, Slice, check_slices, sorted_slices
from storage import tables
from storage.blocks import Ids
from storage.packing.sums import Sums
from storage.statistics_questions import Conditions, key_columns, sums_of, within

_trace = tables.trace.c
_ASPECTS: dict[Aspect, sa.ColumnElement[str]] = {
    Aspect.STEP: sa.cast(_trace.break_step, sa.Text),
    Aspect.CODE: sa.func.coalesce(_trace.break_code, _trace.break_outcome),
    Aspect.TOOL: sa.func.coalesce(_trace.break_tool, ""),
    Aspect.OUTCOME: _trace.break_outcome,
    Aspect.REACTION: sa.func.coalesce(_trace.break_reaction, ""),
    Aspect.ABORT: _trace.abort_reason,
}
_counted = sa.exists().where(tables.figures.c.trace_id == _trace.id)


@dataclass(frozen=True, slots=True)
class Violations:
    """How often, and in how many traces, calls of a tool broke its schema at a place by a rule."""

    tool: str
    path: str
    code: str
    times: int
    traces: int


@dataclass(frozen=True, slots=True)
class BreaksBy:
    """How many traces show which value of an aspect, in groups; ValueError for keys that break nothing down."""

    aspect: Aspect
    by: tuple[GroupKey, ...] = ()

    def __post_init__(self) -> None:
        check_slices(self.by)

    @property
    def name(self) -> str:
        """See `Question`."""
        return " ".join(("breaks", self.aspect, *self.by))

    def sums(self, connection: sa.Connection, conditions: Conditions = (), ids: Ids | None = None) -> Sums:
        """See `Question`."""
        value, keys = _ASPECTS[self.aspect].label("value"), key_columns(self.by)
        ended = _trace.abort_reason if self.aspect is Aspect.ABORT else _trace.break_step
        select = sa.select(*keys, value, sa.func.count()).select_from(tables.trace)
        wanted = select.where(ended.is_not(None), *conditions, *within(_trace.id, ids), _counted)
        return sums_of(connection.execute(wanted.group_by(*keys, value)), self.by, texts=1)

    def answer(self, sums: Sums) -> list[Slice]:
        """See `Question`."""
        slices: Sequence[Slice] = [Slice(key[:-1], key[-1], traces) for key, (traces,) in sums.items()]
        return sorted_slices(slices, self.aspect)


@dataclass(frozen=True, slots=True)
class BrokenSchemas:
    """The places of schemas that were broken, the most frequent first."""

    @property
    def name(self) -> str:
        """See `Question`."""
        return "violations"

    def sums(self, connection: sa.Connection, conditions: Conditions = (), ids: Ids | None = None) -> Sums:
        """See `Question`."""
        violation = tables.violation
        place = (violation.c.tool, violation.c.path, violation.c.code)
        source = violation.join(tables.trace, _trace.id == violation.c.trace_id) if conditions else violation
        select = sa.select(*place, sa.func.sum(violation.c.times), sa.func.count()).select_from(source)
        wanted = select.where(*conditions, *within(violation.c.trace_id, ids))
        return sums_of(connection.execute(wanted.group_by(*place)), (), texts=len(place))

    def answer(self, sums: Sums) -> list[Violations]:
        """See `Question`."""
        found = [Violations(tool, path, code, *counts) for (tool, path, code), counts in sums.items()]
        return sorted(found, key=lambda one: (-one.times, one.tool, one.path, one.code))


@dataclass(frozen=True, slots=True)
class Uncounted:
    """How many traces have no figures, since what they hold is damaged."""

    @property
    def name(self) -> str:
        """See `Question`."""
        return "uncounted"

    def sums(self, connection: sa.Connection, conditions: Conditions = (), ids: Ids | None = None) -> Sums:
        """See `Question`."""
        select = sa.select(sa.func.count()).select_from(tables.trace)
        return sums_of(connection.execute(select.where(~_counted, *conditions, *within(_trace.id, ids))), ())

    def answer(self, sums: Sums) -> int:
        """See `Question`."""
        return sum(traces for (traces,) in sums.values())
