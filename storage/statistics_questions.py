"""What a question about many traces is: sums over groups of them, which a database makes, and an answer from those."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import sqlalchemy as sa

from inspector.chain.metrics_groups import GroupKey
from storage import tables
from storage.blocks import Ids
from storage.packing.escapes import unescaped
from storage.packing.sums import Sums, added
from storage.statistics_keys import A_BIT, DAY_S, day_named

Conditions: TypeAlias = Sequence[sa.ColumnElement[bool]]
Answer_co = TypeVar("Answer_co", covariant=True)

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


class StatisticsQuery(Protocol[Answer_co]):
    """A question about many traces; the sums over parts of them add up to those over the whole."""

    @property
    def name(self) -> str:
        """What it asks for, in a few words; no other question has the same."""
        ...

    def sums(self, connection: sa.Connection, conditions: Conditions = (), ids: Ids | None = None) -> Sums:
        """The sums over the traces that fulfil the conditions, or over those of them with these ids."""
        ...

    def answer(self, sums: Sums) -> Answer_co:
        """What is answered, in its order, from the sums over all traces that are asked about."""
        ...


def within(column: sa.ColumnElement[int], ids: Ids | None) -> Conditions:
    """The condition that a trace's id is one of these."""
    return () if ids is None else (column >= ids.start, column < ids.end)


def key_columns(by: Sequence[GroupKey]) -> list[sa.Label[Any]]:
    """The columns that hold the values of these keys."""
    return [_column(key).label(f"key_{at}") for at, key in enumerate(by)]


def sums_of(rows: Iterable[Sequence[Any]], by: Sequence[GroupKey], *, texts: int = 0) -> Sums:
    """Rows as sums: values of the keys, so many texts, and whole numbers; days that no calendar has are one."""
    keys = len(by) + texts
    return added(
        {
            (*(_value(key, one) for key, one in zip(by, row, strict=False)), *map(unescaped, row[len(by) : keys])): (
                tuple(int(one or 0) for one in row[keys:])
            )
        }
        for row in rows
    )


def _column(key: GroupKey) -> sa.ColumnElement[Any]:
    if key is GroupKey.DAY:
        # `round` of half a day less is `floor`, which SQLite need not have.
        return sa.func.round(_trace.started_at_s / DAY_S - 0.5 + A_BIT)
    return _KEYS[key]


def _value(key: GroupKey, value: Any) -> str:
    """A key's value as `inspector.chain.metrics_groups` gives it."""
    if key is GroupKey.DAY:
        return "" if value is None else day_named(int(value))
    return unescaped(value)
