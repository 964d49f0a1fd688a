"""Statistics queries of a store: figures, where chains broke, which schemas were violated."""

import time
from collections.abc import Sequence
from typing import TypeVar

import sqlalchemy as sa

from weaklink.inspector.chain.metrics_groups import Aspect, GroupFigures, GroupKey, Slice
from weaklink.inspector.checks.schema_complexity import SchemaComplexity, schema_complexity
from weaklink.storage import statistics, tables
from weaklink.storage.engine import Database, damage_errors
from weaklink.storage.filter import parse_filter
from weaklink.storage.filter.experiments import with_default_terms
from weaklink.storage.filter.sql import conditions_of
from weaklink.storage.packing.blobs import from_blob, key
from weaklink.storage.packing.records import tool_from
from weaklink.storage.packing.values import unpack
from weaklink.storage.salvage import read_stored
from weaklink.storage.tables import in_groups

_Answer = TypeVar("_Answer")


class TraceStatistics:
    """Figures over the traces of a store: `Store.statistics`. The database aggregates every result.

    `filter` selects the traces, as in `Store.traces`; FilterError if it cannot be parsed. `by` are the keys to group
    by; ValueError if they cannot be combined. A running trace counts with its turns so far.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def figures(self, filter: str = "", *, by: Sequence[GroupKey] = ()) -> list[GroupFigures]:  # noqa: A002  # as in `traces`
        """The figures of each group, the group with the most traces first; an empty list without traces.

        `figures(by=(GroupKey.MODEL, GroupKey.CODE))` is a heat map, `by=(GroupKey.DAY,)` a time series.
        `inspector.chain.metrics.estimate(measure, group.tally(measure.name))` is a group's measure with its interval.
        """
        return self._run(statistics.FiguresBy(tuple(by)), filter)

    def breakdown(self, aspect: Aspect, filter: str = "", *, by: Sequence[GroupKey] = ()) -> list[Slice]:  # noqa: A002  # as in `traces`
        """The number of traces for each value of an aspect.

        Steps are sorted by number, all other values by frequency. Breaks cannot be grouped by tool or code, which are
        aspects themselves: ValueError.
        """
        return self._run(statistics.BreaksBy(aspect, tuple(by)), filter)

    def violations(self, filter: str = "", *, limit: int = 100) -> list[statistics.Violations]:  # noqa: A002  # as in `traces`
        """The violations of tools' schemas by tool, path and rule, the most frequent first."""
        return self._run(statistics.BrokenSchemas(), filter)[:limit]

    def verdicts_of_calls(self, filter: str = "") -> statistics.CallVerdicts:  # noqa: A002  # as in `traces`
        """The number of calls by the kind of their result and what the agent said of it."""
        return self._run(statistics.VerdictsOfCalls(), filter)

    def uncounted(self, filter: str = "") -> int:  # noqa: A002  # as in `traces`
        """The number of traces that the figures do not count, because their derived rows are missing."""
        return self._run(statistics.Uncounted(), filter)

    def _run(self, query: statistics.StatisticsQuery[_Answer], filter_: str) -> _Answer:
        with self._database.reading() as connection:
            return query.answer(query.sums(connection, _conditions(connection, filter_)))

    def prompts(self, hashes: Sequence[str]) -> dict[str, statistics.Prompt]:
        """Descriptions of the prompts with these hashes; reads one trace for each."""
        trace = tables.trace.c
        found: dict[str, statistics.Prompt] = {}
        with self._database.reading() as connection:
            for hash_ in hashes:
                query = sa.select(trace.id).where(trace.prompt_hash == hash_).order_by(trace.sort_at_s.desc()).limit(1)
                for id_ in connection.scalars(query):
                    found[hash_] = statistics.prompt_of(read_stored(connection, id_).trace)
        return found

    def schemas(self, tools: Sequence[str]) -> dict[str, SchemaComplexity]:
        """The complexity of these tools' latest schemas in requests; tools defined only in texts are left out."""
        tool = tables.tool.c
        named = {key(name): name for name in tools}
        found: dict[str, SchemaComplexity] = {}
        with self._database.reading() as connection, damage_errors(self._database.place, "the definition of a tool"):
            for group in in_groups(named):
                rows = connection.execute(sa.select(tool.name, tool.body).where(tool.name.in_(group)).order_by(tool.id))
                for name, body in dict(rows.all()).items():
                    found[named[name]] = schema_complexity(tool_from(unpack(from_blob(body))))
        return found


def _conditions(connection: sa.Connection, filter: str) -> statistics.Conditions:  # noqa: A002  # as in `traces`
    return conditions_of(connection, with_default_terms(connection, parse_filter(filter)), time.time())
