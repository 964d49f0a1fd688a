"""The store: traces and their inspections in a database, and the only way to it."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import sqlalchemy as sa

from inspector.inspected import Inspection
from inspector.model import Trace, Turn
from storage import tables
from storage.access_tokens import AccessTokens
from storage.derived_rows import inspect_trace
from storage.engine import (
    Database,
    DatabaseLocation,
    damage_errors,
    database_errors,
    mark_of,
    new_engine,
    place_of,
    prepare_file,
)
from storage.exchanges import Exchanges
from storage.filter import FilterCompletion, complete_filter, parse_filter
from storage.listing import Paging, page
from storage.liveness import IDLE_AFTER_S
from storage.maintenance import Maintenance
from storage.marks import Bookmarks
from storage.partitions import analyze_partitioned
from storage.reading import find_id, find_ids, read_inspection, read_trace, read_turns
from storage.record_rows import RecordRows
from storage.running.following import Following
from storage.running.rows import end_orphaned_trace, orphaned_traces, read_open_turns, write_steps
from storage.running.session import SessionWrite
from storage.schema import check_file, ensure_current, upgrade
from storage.search import merge_index
from storage.search_queries import TextSearch
from storage.statistics_queries import TraceStatistics
from storage.summaries import ListCursor, TraceSummary, summaries
from storage.toolsets import drop_unused_toolsets
from storage.writing import KeptInspection, Saved, TraceDraft, delete_traces, kept_inspection, trace_rows, write

_GROUP, _GROUP_BYTES = 200, 32 << 20  # traces whose rows are in memory at a time, and about how much their texts take
_RECOVERED = 5  # the same, where their rows are written one by one


def upgrade_store(where: str | Path | None = None) -> bool:
    """Upgrade the database to this weaklink's version of the tables; whether that changed it.

    What was recorded stays as it is. Inspections that another weaklink packed otherwise are made again when a trace is
    read, until `reinspect` keeps new ones. What pages ask about all traces is summed up.
    StoreError as `open_store` raises it.
    """
    place = place_of(where)
    check_file(place, create=False)
    engine = new_engine(place)
    try:
        with database_errors(place):
            is_changed = upgrade(engine, place)
        Store(Database(engine, place)).statistics.sum_pending()
        analyze_partitioned(Database(engine, place))
        return is_changed
    finally:
        engine.dispose()


def open_store(
    where: str | Path | None = None, *, create: bool = True, read_only: bool = False, busy_timeout_s: float = 10.0
) -> "Store":
    """The store in a file or at a database URL; None asks WEAKLINK_DB, then takes the user's data folder.

    With `create` a database that is not there is made, its file readable by this user only; with `read_only` none is,
    and whatever would write raises StoreError. `busy_timeout_s` is how long a writer waits for another one, and on
    PostgreSQL a reader too for a locked table. StoreError where it cannot be opened, is none of weaklink's, or is of
    another version: an older one says to run `weaklink db upgrade`.
    """
    place = place_of(where)
    create = create and not read_only
    check_file(place, create=create)
    if create:
        prepare_file(place)
    engine = new_engine(place, busy_timeout_s=busy_timeout_s, read_only=read_only)
    try:
        with database_errors(place):
            ensure_current(engine, place, create=create, read_only=read_only)
    except BaseException:
        engine.dispose()
        raise
    return Store(Database(engine, place))


class Store:
    """Traces and inspections in a database. Made by `open_store`; may be used from several threads at once.

    Every method raises StoreError for what the database refuses, and what it then was to write is not there at all.
    An `id` may be a trace's number, or an external id that one trace alone bears; StoreError for any other.
    """

    marks: Bookmarks
    tokens: AccessTokens
    statistics: TraceStatistics
    search: TextSearch
    maintenance: Maintenance
    exchanges: Exchanges

    def __init__(self, database: Database) -> None:
        self._database = database
        self._mark = mark_of(database.place)
        self.marks = Bookmarks(database)
        self.tokens = AccessTokens(database)
        self.statistics = TraceStatistics(database)
        self.search = TextSearch(database)
        self.maintenance = Maintenance(database)
        self.exchanges = Exchanges(database)

    @property
    def place(self) -> DatabaseLocation:
        """Where the database is."""
        return self._database.place

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        self._database.engine.dispose()

    def save(self, items: Iterable[tuple[Trace, Inspection]]) -> list[Saved]:
        """Keep traces with their inspections, in one transaction; what became of each, in order.

        A trace that is there already (see `storage.record_rows`) is replaced, under its id, by one that holds as much
        or more, and left alone otherwise; one that says the same is unchanged, though a new inspection of it counts.
        `items` is read as it goes, so it may be long; what it raises leaves nothing written.
        """
        return self.save_drafts(trace_rows(trace, inspection) for trace, inspection in items)

    def kept_inspection(self, record: RecordRows) -> KeptInspection | None:
        """What is known of the inspection of this very record, None where it is yet to be inspected by this weaklink.

        `record` is made by `storage.record_rows.record_rows`. A trace that is kept so is saved as `KeptRows`.
        """
        with self._database.reading() as connection:
            return kept_inspection(connection, record)

    def save_drafts(self, items: Iterable[TraceDraft]) -> list[Saved]:
        """Keep traces that are rows already, made by `storage.writing.trace_rows` in any process; as `save` does."""
        drafts = _batches(items)
        first = next(drafts, [])
        if not first:
            return []
        now_s = time.time()
        with self._database.writing() as connection:
            saved = write(connection, first, now_s)
            for group in drafts:
                saved += write(connection, group, now_s)
        return saved

    def catch_up(self, *, limit: int | None = None) -> int:
        """Update the text index, then the sums of statistics, for traces that were saved since.

        All of it, or at most `limit` traces or one block; how many traces and blocks, 0 when all is done.
        """
        done = self.search.index_pending(limit=limit)
        if limit is not None:
            return done or self.statistics.sum_pending(limit=1)
        done += self.statistics.sum_pending()
        analyze_partitioned(self._database)
        return done

    def delete(self, ids: Iterable[int | str]) -> int:
        """Delete traces; how many."""
        with self._database.writing() as connection:
            numbers = sorted({find_id(connection, one) for one in ids})
            delete_traces(connection, numbers)
            drop_unused_toolsets(connection)
        return len(numbers)

    def ids_of(self, words: Iterable[int | str]) -> list[int]:
        """The traces that words name, each by its number or by an external id, which several may have; sorted.

        StoreError for a word that names none.
        """
        with self._database.reading() as connection:
            return sorted({one for word in words for one in find_ids(connection, word)})

    def erase(self, ids: Sequence[int]) -> None:
        """Delete traces so that no word of them is left in the file of an SQLite database.

        On a server it is what `delete` is. Takes as long as to write the whole text index anew.
        """
        with self._database.erasing() as connection:
            delete_traces(connection, ids)
            drop_unused_toolsets(connection)
            merge_index(connection)

    def make_again_if_gone(self) -> bool:
        """Make a new database where the file of this one was moved away, deleted or replaced; whether it was."""
        if not self.is_gone():
            return False
        check_file(self.place, create=True)
        prepare_file(self.place)
        self._database.engine.dispose()
        with database_errors(self.place):
            ensure_current(self._database.engine, self.place, create=True)
        self._mark = mark_of(self.place)
        return True

    def is_gone(self) -> bool:
        """Whether the file that was opened is no longer the one at its place; what is written into it is then lost."""
        return mark_of(self.place) != self._mark

    def keep_running(
        self, owner: str, steps: Sequence[SessionWrite], *, idle_after_s: float = IDLE_AFTER_S
    ) -> list[int | None]:
        """Keep what sessions that `owner` records have come to, in one transaction: for `storage.live.StoreSink`.

        The id of each session's trace; None where that is no longer there, and nothing of its step was kept. A trace
        is idle when nothing came for `idle_after_s` seconds and no turn is open.
        """
        with self._database.writing() as connection:
            return write_steps(connection, owner, steps, time.time(), idle_after_s=idle_after_s)

    def open_turns(self, id: int | str) -> dict[int, Turn]:
        """The turns of a running trace that have begun and not ended, by number; cut where what is written ends."""
        with self._database.reading() as connection:
            number = find_id(connection, id)
            with damage_errors(self.place, f"the open turn of trace {number}"):
                return read_open_turns(connection, number)

    def follow(self, filter: str = "", *, from_start: bool = False, most: int | None = None) -> Following:  # noqa: A002  # as in `traces`
        """What happens from now on to the traces that a filter lets through, recorded by whatever process.

        Its `poll` gives the record events since the last call, with a trace's id as their key: a trace that begins, a
        turn that begins, chunks as they are written, the ended turn, the trace's end. A trace comes with all its turns
        from now on once the filter lets it through, which may be late; one that was saved whole comes with its end.
        `from_start` also tells what traces that are running already hold: of each the last `most` turns that ended, or
        all. A trace that is deleted, or turns out to be one that was there already, ends. Raises FilterError.
        """
        return Following(self._following, parse_filter(filter), from_start=from_start, most=most)

    def turns_of_running(self, id: int) -> tuple[Turn, ...] | None:
        """The turns of a running trace that have ended; None where it is not running, or not there."""
        with self._database.reading() as connection, damage_errors(self.place, f"trace {id}"):
            live = tables.live.c.trace_id
            if connection.scalar(sa.select(live).where(live == id)) is None:
                return None
            return read_turns(connection, id)

    def recover(self, inspect: Callable[[Trace], Inspection] = inspect_trace) -> int:
        """End the running traces whose recorder was killed, their open turns cut; how many there were.

        A recorder is gone when its process is, on this machine, or gave no sign of life for a minute.
        """
        done = 0
        while self._broken_off():
            with self._database.writing() as connection:
                for id_ in orphaned_traces(connection, time.time())[:_RECOVERED]:
                    with damage_errors(self.place, f"trace {id_}"):
                        end_orphaned_trace(connection, inspect, id_, time.time())
                    done += 1
        return done

    def trace(self, id: int | str) -> Trace:
        """The trace, equal to the one that was saved."""
        with self._database.reading() as connection:
            number = find_id(connection, id)
            with damage_errors(self.place, f"trace {number}"):
                return read_trace(connection, number)

    def inspection(self, id: int | str) -> Inspection:
        """The inspection of a trace, equal to the one that was saved."""
        return self.inspected(id)[1]

    def inspected(self, id: int | str, *, in_columns: bool = False) -> tuple[Trace, Inspection]:
        """A trace and its inspection, read together; that of a running trace is made here where it lags behind.

        `in_columns` what a wide one holds many of is made where somebody looks, and anew each time: in little memory,
        for screens that show some of it. Else all of it is made at once, for whoever goes through it. In columns the
        inspection of a wide running trace is that of as many turns as its recorder has inspected.
        """
        with self._database.reading() as connection:
            number = find_id(connection, id)
            with damage_errors(self.place, f"trace {number}"):
                trace = read_trace(connection, number, in_columns=in_columns)
            with damage_errors(
                self.place, f"the inspection of trace {number}", remedy=f"`weaklink reinspect {number}`"
            ):
                return trace, read_inspection(connection, number, trace, in_columns=in_columns)

    def summary(self, id: int | str) -> TraceSummary:
        """What a list shows of one trace."""
        with self._database.reading() as connection:
            return summaries(connection, [find_id(connection, id)])[0]

    def traces(self, filter: str = "", *, limit: int = 100, after: ListCursor | None = None) -> list[TraceSummary]:  # noqa: A002  # it is what users call it
        """The newest traces that a filter lets through, or the next ones behind `after`, the last one's cursor.

        Raises FilterError for a filter that cannot be read. Words are looked up in the text index;
        `search.index_pending` updates it.
        """
        wanted = parse_filter(filter)
        with self._database.reading() as connection:
            return page(connection, wanted, limit=limit, after=after)

    def paging(self) -> Paging:
        """What a screen asks that shows long lists, page by page."""
        return Paging(self._database.reading)

    def complete(self, filter: str, cursor: int | None = None) -> list[FilterCompletion]:  # noqa: A002  # as in `traces`
        """What could stand at the cursor in a filter, or at its end, the likeliest first; 50 at most."""
        with self._database.reading() as connection:
            return complete_filter(connection, filter, len(filter) if cursor is None else cursor)

    def _broken_off(self) -> list[int]:
        """Asked before writing, which a reader may not be allowed."""
        with self._database.reading() as connection:
            return orphaned_traces(connection, time.time())

    @contextmanager
    def _following(self) -> Iterator[sa.Connection]:
        with self._database.reading() as connection, damage_errors(self.place, "a running trace"):
            yield connection


def _batches(drafts: Iterable[TraceDraft]) -> Iterator[list[TraceDraft]]:
    """The drafts in lists that take bounded memory, none of them empty."""
    batch: list[TraceDraft] = []
    size = 0
    for one in drafts:
        batch.append(one)
        size += one.size
        if len(batch) == _GROUP or size > _GROUP_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
