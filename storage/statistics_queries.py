"""The statistics that a store answers: figures, where chains broke, which schemas were violated."""

import time
from collections.abc import Sequence
from typing import TypeVar

import sqlalchemy as sa

from inspector.chain.metrics_groups import Aspect, GroupFigures, GroupKey, Slice
from inspector.checks.schema_complexity import SchemaComplexity, schema_complexity
from storage import statistics, tables
from storage.blocks import TraceBlock
from storage.engine import Database, damage_errors
from storage.filter import PhraseTerm, parse_filter
from storage.filter.sql import condition_of
from storage.filter.terms import negations_inward
from storage.packing.blobs import from_blob, key
from storage.packing.records import tool_from
from storage.packing.values import unpack
from storage.reading import read_trace
from storage.rollups import blocks_without_rollups, make_rollups, summed_query
from storage.search import Phrase, ids_holding
from storage.tables import in_groups

_Answer = TypeVar("_Answer")


class TraceStatistics:
    """Figures over the traces of a store: `Store.statistics`. Every answer is aggregates in the database.

    Without a filter, answers are put together from those that `sum_pending` keeps of whole blocks of traces; they are
    the same without it, only that each trace is then counted again, at a microsecond a trace and question.
    A `filter` chooses the traces, as in `Store.traces`; FilterError where it cannot be read. `by` names what they are
    grouped by; ValueError where that cannot be done at once. Running traces count as what they have come to.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def figures(self, filter: str = "", *, by: Sequence[GroupKey] = ()) -> list[GroupFigures]:  # noqa: A002  # as in `traces`
        """What the traces come to, group by group, the group of the most traces first; none where there are none.

        `figures(by=(GroupKey.MODEL, GroupKey.CODE))` is a heat map, `by=(GroupKey.DAY,)` a course of time. Of each
        group `inspector.chain.metrics.estimate(measure, group.tally(measure.name))` is a measure with its interval.
        """
        return self._answer(statistics.FiguresBy(tuple(by)), filter)

    def breakdown(self, aspect: Aspect, filter: str = "", *, by: Sequence[GroupKey] = ()) -> list[Slice]:  # noqa: A002  # as in `traces`
        """How many traces show which value of an aspect.

        Steps come in their order, anything else with the most frequent first. Tools and codes are aspects of their own,
        and nothing to group breaks by: ValueError.
        """
        return self._answer(statistics.BreaksBy(aspect, tuple(by)), filter)

    def violations(self, filter: str = "", *, limit: int = 100) -> list[statistics.Violations]:  # noqa: A002  # as in `traces`
        """Which places of which tools' schemas were broken by which rule, the most frequent first."""
        return self._answer(statistics.BrokenSchemas(), filter)[:limit]

    def uncounted(self, filter: str = "") -> int:  # noqa: A002  # as in `traces`
        """How many traces no figure counts, since what is derived from them is missing."""
        return self._answer(statistics.Uncounted(), filter)

    def sum_pending(self, *, limit: int | None = None) -> int:
        """Keep what pages ask about all traces of those blocks that changed, all or `limit` of them; how many.

        A block holds 4,096 traces, or is put together from eight others. Other writers wait while one is summed up,
        for about a tenth of a second.
        """
        done = 0
        for block in self._not_summed()[:limit]:
            with self._database.writing() as connection, damage_errors(self._database.place, "a rollup"):
                done += make_rollups(connection, block)
        return done

    def _not_summed(self) -> list[TraceBlock]:
        """Asked before writing, which a reader may not be allowed."""
        with self._database.reading() as connection:
            return blocks_without_rollups(connection)

    def _answer(self, question: statistics.StatisticsQuery[_Answer], wanted: str) -> _Answer:
        with self._database.reading() as connection:
            conditions = _conditions(connection, wanted)
            if conditions:
                return question.answer(question.sums(connection, conditions))
            with damage_errors(self._database.place, "a rollup"):
                return question.answer(summed_query(connection, question))

    def prompts(self, hashes: Sequence[str]) -> dict[str, statistics.Prompt]:
        """What the prompts with these hashes are known by; one trace of each is read."""
        trace = tables.trace.c
        found: dict[str, statistics.Prompt] = {}
        with self._database.reading() as connection:
            for one in hashes:
                wanted = sa.select(trace.id).where(trace.prompt_hash == one).order_by(trace.sort_at_s.desc()).limit(1)
                for id_ in connection.scalars(wanted):
                    with damage_errors(self._database.place, f"trace {id_}"):
                        found[one] = statistics.prompt_of(read_trace(connection, id_))
        return found

    def schemas(self, tools: Sequence[str]) -> dict[str, SchemaComplexity]:
        """How intricate the schemas of these tools are, as requests last offered them; those of texts alone lack."""
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
    """What the traces fulfil that a filter lets through; words that all must hold are looked up together."""
    wanted = parse_filter(filter)
    words = [Phrase(term.phrase, term.prefix) for term in wanted if isinstance(term, PhraseTerm)]
    held = (tables.trace.c.id.in_(ids_holding(connection, words)),) if words else ()
    now_s = time.time()
    rest = (
        condition_of(connection, negations_inward(term), now_s) for term in wanted if not isinstance(term, PhraseTerm)
    )
    return (*held, *rest)
