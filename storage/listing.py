"""Lists of traces in pages: newest first or sorted, with counts.

Theory of operation. A list is never read with OFFSET, which would read all rows before the page. A page starts after a
cursor, the sort value and the id of the last trace before it:

    SELECT id, sort_at_s FROM trace WHERE <filter> AND (sort_at_s, id) < (1700000000.0, 41)
    ORDER BY sort_at_s DESC, id DESC LIMIT 50

So a page at depth 900,000 costs as much as the first one, and traces that arrive meanwhile move nothing. The same
comparison the other way round finds the trace some positions before a cursor.

An index has the order by time. The order `broken` has three ranks, each of them such a list: a page takes what is left
of the rank of its cursor, and goes on with the next rank. The other orders sort all traces that match, once for each
page; `section` therefore finds the cursors at the ends of all pages in one query.

A screen of a million rows needs to know where its pages begin, not what is in them. `section` returns that for some
thousand traces at a time, as a `ListSection`, so that counting can go on while the first page is shown.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from types import MappingProxyType

import sqlalchemy as sa
from msgspec import Struct, structs

from weaklink.inspector.capture.events import RECORDING_PART
from weaklink.inspector.chain.steps import Status, VerdictCertainty
from weaklink.inspector.model import Liveness
from weaklink.storage import tables
from weaklink.storage.filter import Filter, parse_filter
from weaklink.storage.filter.reading import read_field
from weaklink.storage.filter.sql import conditions_of, with_default_terms
from weaklink.storage.filter.terms import NotTerm
from weaklink.storage.liveness import traces_in
from weaklink.storage.summaries import ListCursor, TraceSummary, summaries
from weaklink.storage.tables import in_groups

_UNKNOWN = -1.0
_MAX_SCAN_TRACES = 200  # that a scan reads at once
_trace = tables.trace.c
_BROKEN, _GUESSED = read_field("status:broken", 0), read_field("certainty:low", 0)
_RANKS: Mapping[int, Filter] = MappingProxyType(
    {2: (_BROKEN, NotTerm(_GUESSED)), 1: (_BROKEN, _GUESSED), 0: (NotTerm(_BROKEN),)}
)
"""The parts of a list with broken traces first, in order."""
_CERTAINTY_RANK = sa.case({"high": 2.0, "low": 1.0}, value=tables.trace.c.certainty, else_=0.0)


class Order(StrEnum):
    """The sort key of a list, in descending order.

    `broken` lists the surely broken traces, then those whose break is a guess, then the others, each newest first;
    `certainty` the sure verdicts of any status first. With `time` and `broken`, an index has this order; with the
    others, each page sorts all traces that match.
    """

    TIME = "time"
    BROKEN = "broken"
    CERTAINTY = "certainty"
    DURATION = "duration"
    TOKENS = "tokens"
    ERRORS = "errors"


class Listed(Struct, frozen=True):
    """A trace in a list, and the cursor right after it, whose `sort_at_s` is the value of the list's sort key."""

    summary: TraceSummary
    cursor: ListCursor


class ListSection(Struct, frozen=True):
    """A section of a list: its number of traces, and the cursor at the end of each of its pages.

    The last cursor is that of the section's last trace, where the next section starts; `is_last` is true if this is the
    last section.
    """

    count: int
    edges: tuple[ListCursor, ...]
    is_last: bool


class StoreVersion(Struct, frozen=True):
    """A cheap sign that a store has changed: its newest id, and the traces that are being recorded."""

    newest_id: int
    running: frozenset[int]
    idle: frozenset[int] = frozenset()

    @property
    def open(self) -> frozenset[int]:
        """The traces that are being recorded, running or idle."""
        return self.running | self.idle


class Paging:
    """Queries for screens that show long lists. `Store.paging` returns it; several threads may use it.

    Methods with a filter raise FilterError.
    """

    def __init__(self, reads: Callable[[], AbstractContextManager[sa.Connection]]) -> None:
        self._reads = reads

    def page(
        self,
        filter: str,  # noqa: A002  # as in `Store.traces`
        order: Order = Order.TIME,
        *,
        limit: int,
        after: ListCursor | None = None,
    ) -> list[Listed]:
        """The next `limit` traces after `after`."""
        with self._reads() as connection:
            terms = with_default_terms(connection, parse_filter(filter))
            if order in BY_TIME:
                ranks = _by_time(connection, terms, order, limit=limit, after=after)
                listed = summaries(connection, list(ranks))
                return [Listed(summary, structs.replace(summary.cursor, rank=ranks[summary.id])) for summary in listed]
            rows = connection.execute(_sorted(connection, terms, order, after).limit(limit)).all()
            cursors = {row.id: ListCursor(row.value, row.id) for row in rows}
            return [Listed(summary, cursors[summary.id]) for summary in summaries(connection, list(cursors))]

    def before(
        self,
        filter: str,  # noqa: A002  # as in `Store.traces`
        order: Order = Order.TIME,
        *,
        start: ListCursor,
        steps: int = 1,
    ) -> Listed | None:
        """The trace `steps` positions before a cursor; None if fewer traces are before it."""
        with self._reads() as connection:
            terms = with_default_terms(connection, parse_filter(filter))
            if order is not Order.BROKEN:
                rows = _before(connection, terms, order, start, steps=steps)
            else:
                rows = _before_in_ranks(connection, terms, start, steps=steps)
            if len(rows) < steps:
                return None
            return Listed(summaries(connection, [rows[-1].id])[0], rows[-1])

    def count(self, filter: str = "") -> int:  # noqa: A002  # as in `Store.traces`
        """The number of traces that match a filter; reads all of them."""
        with self._reads() as connection:
            terms = with_default_terms(connection, parse_filter(filter))
            subquery = _sorted(connection, terms, Order.TIME, None).order_by(None).subquery()
            return connection.scalar(sa.select(sa.func.count()).select_from(subquery)) or 0

    def short_turns(self) -> int:
        """The number of turns of running traces that are marked as incomplete, because a part could not be stored.

        Losses that a killed recorder, or one whose database was full, could not record are not counted.
        """
        part, live = tables.part.c, tables.live.c
        incomplete = sa.select(sa.func.count()).where(
            part.name == RECORDING_PART, part.trace_id.in_(sa.select(live.trace_id))
        )
        with self._reads() as connection:
            return connection.scalar(incomplete) or 0

    def scan(
        self,
        filter: str,  # noqa: A002  # as in `Store.traces`
        order: Order = Order.TIME,
        *,
        limit: int,
    ) -> Iterator[list[Listed]]:
        """Yield the first `limit` traces in pages; stop iterating to end the scan."""
        after: ListCursor | None = None
        while limit > 0:
            rows = self.page(filter, order, limit=min(limit, _MAX_SCAN_TRACES), after=after)
            if rows:
                yield rows
            if len(rows) < _MAX_SCAN_TRACES:
                return
            limit -= len(rows)
            after = rows[-1].cursor

    def section(
        self,
        filter: str,  # noqa: A002  # as in `Store.traces`
        order: Order = Order.TIME,
        *,
        limit: int,
        page: int,
        after: ListCursor | None = None,
    ) -> ListSection:
        """The next `limit` traces after `after` as a section of pages of `page` traces; all, if not sorted by time."""
        with self._reads() as connection:
            terms = with_default_terms(connection, parse_filter(filter))
            if order not in BY_TIME:
                return _all_sorted(connection, _sorted(connection, terms, order, after), page)
            ranks = _by_time(connection, terms, order, limit=limit, after=after)
            ids = list(ranks)
            ends = ids[page - 1 :: page]
            if ids and (not ends or ends[-1] != ids[-1]):
                ends.append(ids[-1])
            edges = tuple(structs.replace(cursor, rank=ranks[cursor.id]) for cursor in _cursors(connection, ends))
            return ListSection(len(ids), edges, len(ids) < limit)

    def version(self) -> StoreVersion:
        """The current version, to compare with an earlier one."""
        with self._reads() as connection:
            newest = connection.scalar(sa.select(sa.func.max(_trace.id)))
            now_s = time.time()
            states = (connection.scalars(traces_in(state, now_s)) for state in (Liveness.RUNNING, Liveness.IDLE))
            return StoreVersion(newest or 0, *map(frozenset, states))

    def status_counts(self, filter: str = "") -> dict[str, int]:  # noqa: A002  # as in `Store.traces`
        """The number of matching traces with each status, or `running` or `idle`; each trace is counted once.

        Without a filter this scans one index.
        """
        terms = parse_filter(filter)
        now_s = time.time()
        with self._reads() as connection:
            terms = with_default_terms(connection, terms)
            matching = conditions_of(connection, terms, now_s)
            ended = _trace.id.not_in(sa.select(tables.live.c.trace_id))
            by_status = sa.select(_trace.status, sa.func.count()).where(ended, *matching).group_by(_trace.status)
            counts: dict[str, int] = dict(connection.execute(by_status).all())
            for state in (Liveness.RUNNING, Liveness.IDLE):
                in_state = sa.select(sa.func.count()).where(_trace.id.in_(traces_in(state, now_s)), *matching)
                counts[state.value] = connection.scalar(in_state) or 0
        return {status: count for status, count in counts.items() if count}

    def call_counts(self, ids: Sequence[int]) -> dict[int, tuple[int, int]]:
        """The number of successful calls and of all calls, by trace; traces without calls are left out."""
        tool = tables.trace_tool.c
        sums = sa.select(tool.trace_id, sa.func.sum(tool.calls), sa.func.sum(tool.failed)).group_by(tool.trace_id)
        counts: dict[int, tuple[int, int]] = {}
        with self._reads() as connection:
            for group in in_groups(ids):
                for id_, calls, failed in connection.execute(sums.where(tool.trace_id.in_(group))):
                    counts[id_] = (int(calls - failed), int(calls))
        return counts


def _by_time(
    connection: sa.Connection, terms: Filter, order: Order, *, limit: int, after: ListCursor | None
) -> dict[int, int]:
    """The ids of the next `limit` traces of a list that is sorted by time, in order, and the rank of each."""
    if order is Order.TIME:
        return dict.fromkeys(newest_ids(connection, terms, limit=limit, after=after), 0)
    ranks: dict[int, int] = {}
    for rank, part in _RANKS.items():
        if after is not None and after.rank < rank:
            continue
        start = after if after is not None and after.rank == rank else None
        ids = newest_ids(connection, (*terms, *part), limit=limit - len(ranks), after=start)
        ranks |= dict.fromkeys(ids, rank)
        if len(ranks) >= limit:
            break
    return ranks


def rank_of(summary: TraceSummary) -> int:
    """The rank of a trace in a list with broken traces first."""
    if summary.status is not Status.BROKEN or summary.running:
        return 0
    return 1 if summary.certainty is VerdictCertainty.LOW else 2


def newest_summaries(
    connection: sa.Connection, terms: Filter, *, limit: int, after: ListCursor | None
) -> list[TraceSummary]:
    """The next `limit` traces after `after` that match the filter; those of experiments only if it decides so."""
    terms = with_default_terms(connection, terms)
    return summaries(connection, newest_ids(connection, terms, limit=limit, after=after))


def newest_ids(connection: sa.Connection, terms: Filter, *, limit: int, after: ListCursor | None) -> list[int]:
    """The ids of the next `limit` matching traces after `after`."""
    return [row.id for row in connection.execute(_sorted(connection, terms, Order.TIME, after).limit(limit))]


def _before(
    connection: sa.Connection, terms: Filter, order: Order, start: ListCursor | None, *, steps: int, rank: int = 0
) -> list[ListCursor]:
    """Up to `steps` traces before a cursor, or before the end of the list without one, the nearest first."""
    value = _VALUES[order]
    select = _sorted(connection, terms, order, None).order_by(None)
    if start is not None:
        select = select.where(sa.tuple_(value, _trace.id) > sa.tuple_(start.sort_at_s, start.id))
    rows = connection.execute(select.order_by(sa.asc("value"), _trace.id.asc()).limit(steps))
    return [ListCursor(row.value, row.id, rank) for row in rows]


def _before_in_ranks(connection: sa.Connection, terms: Filter, cursor: ListCursor, *, steps: int) -> list[ListCursor]:
    """The same in a list with broken traces first."""
    rows: list[ListCursor] = []
    for rank in sorted(rank for rank in _RANKS if rank >= cursor.rank):
        start = cursor if rank == cursor.rank else None
        part = (*terms, *_RANKS[rank])
        rows += _before(connection, part, Order.TIME, start, steps=steps - len(rows), rank=rank)
        if len(rows) >= steps:
            break
    return rows


def _sorted(connection: sa.Connection, terms: Filter, order: Order, after: ListCursor | None) -> sa.Select[int, float]:
    """The ids of all matching traces after a cursor, and their sort values; unknown values come last."""
    value = _VALUES[order]
    conditions = conditions_of(connection, terms, time.time())
    if after is not None:
        conditions.append(sa.tuple_(value, _trace.id) < sa.tuple_(after.sort_at_s, after.id))
    select = sa.select(_trace.id, value.label("value")).where(*conditions)
    return select.order_by(sa.desc("value"), _trace.id.desc())


def _all_sorted(connection: sa.Connection, select: sa.Select[int, float], page: int) -> ListSection:
    """The last cursors of all pages, in one query, so that the list is sorted only once."""
    rows = select.order_by(None).subquery()
    number = sa.func.row_number().over(order_by=(rows.c.value.desc(), rows.c.id.desc()))
    numbered = sa.select(rows, number.label("number"), sa.func.count().over().label("count")).subquery()
    at_edge = sa.or_(numbered.c.number % page == 0, numbered.c.number == numbered.c.count)
    edges = connection.execute(sa.select(numbered).where(at_edge).order_by(numbered.c.number)).all()
    return ListSection(
        edges[-1].number if edges else 0, tuple(ListCursor(row.value, row.id) for row in edges), is_last=True
    )


def _cursors(connection: sa.Connection, ids: Sequence[int]) -> tuple[ListCursor, ...]:
    times: dict[int, float] = {}
    for group in in_groups(ids):
        times |= dict(connection.execute(sa.select(_trace.id, _trace.sort_at_s).where(_trace.id.in_(group))).all())
    return tuple(ListCursor(times[id_], id_) for id_ in ids if id_ in times)


_tokens = sa.func.coalesce(_trace.input_tokens, 0) + sa.func.coalesce(_trace.output_tokens, 0)

_VALUES: Mapping[Order, sa.ColumnElement[float]] = MappingProxyType(
    {
        Order.TIME: _trace.sort_at_s,
        Order.CERTAINTY: _CERTAINTY_RANK,
        Order.DURATION: sa.func.coalesce(_trace.duration_s, _UNKNOWN),
        Order.TOKENS: sa.cast(_tokens, sa.Double),
        Order.ERRORS: sa.cast(_trace.errors, sa.Double),
    }
)
BY_TIME = frozenset({Order.TIME, Order.BROKEN})
"""The orders that an index has."""
