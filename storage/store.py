"""The store: the interface to traces and their inspections in a database."""

import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Self

import sqlalchemy as sa

from weaklink.inspector.errors import StoreError
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.model import Trace, Turn
from weaklink.inspector.spool import RecordSpool, SpoolPosition
from weaklink.storage import tables
from weaklink.storage.access_tokens import AccessTokens
from weaklink.storage.derived_rows import inspect_trace
from weaklink.storage.engine import (
    Database,
    DatabaseLocation,
    damage_errors,
    database_errors,
    file_identity,
    file_stamp,
    location_of,
    new_engine,
    prepare_file,
    server_stamp,
)
from weaklink.storage.exchanges import Exchanges
from weaklink.storage.filter import FilterCompletion, complete_filter, parse_filter
from weaklink.storage.imported_files import ImportedFiles
from weaklink.storage.listing import Paging, newest_summaries
from weaklink.storage.liveness import IDLE_AFTER_S
from weaklink.storage.maintenance import Maintenance
from weaklink.storage.marks import Bookmarks
from weaklink.storage.probe_runs import ProbeRuns
from weaklink.storage.reading import find_id, find_ids
from weaklink.storage.record_rows import RecordRows
from weaklink.storage.running.following import Following
from weaklink.storage.running.rows import end_orphaned_trace, orphaned_traces, read_open_turns, write_steps
from weaklink.storage.running.session import SessionWrite
from weaklink.storage.salvage import (
    damage_of_row,
    read_stored,
    read_stored_inspection,
    read_stored_turns,
    with_damage,
)
from weaklink.storage.saved import Saved
from weaklink.storage.schema import check_file, ensure_current, upgrade
from weaklink.storage.search import merge_index
from weaklink.storage.search_queries import TextSearch
from weaklink.storage.statistics import TraceStatistics
from weaklink.storage.summaries import ListCursor, TraceSummary, summaries
from weaklink.storage.toolsets import drop_unused_toolsets
from weaklink.storage.writing import (
    StoredInspection,
    TraceDraft,
    TraceRows,
    delete_traces,
    rewrite,
    stored_inspection,
    trace_rows,
    write,
)

_GROUP, _GROUP_BYTES = 200, 32 << 20  # traces whose rows are in memory at a time, and about how large their texts are
_SPOOL_BYTES = 4 << 20  # of packed rows in memory
_RECOVERED = 5  # traces to recover in one transaction


def upgrade_store(where: str | Path | None = None) -> bool:
    """Upgrade the database to this weaklink's version of the tables; whether that changed it.

    Records stay as they are. A trace whose inspection has the layout of another version of weaklink is inspected
    whenever it is read, until `db reinspect` stores a new inspection. Raises StoreError like `open_store`.
    """
    location = location_of(where)
    check_file(location, create=False)
    engine = new_engine(location)
    try:
        with database_errors(location):
            return upgrade(engine, location)
    finally:
        engine.dispose()


def open_store(
    where: str | Path | None = None, *, create: bool = True, read_only: bool = False, busy_timeout_s: float = 10.0
) -> "Store":
    """The store in a file or at a database URL; None means WEAKLINK_DB or else a file in the user's data folder.

    With `create`, a missing database is created, its file readable by this user only; with `read_only` none is created,
    and all methods that write raise StoreError. `busy_timeout_s` is how long a writer waits for another one, and on
    PostgreSQL also how long a reader waits for a locked table. StoreError if the database cannot be opened, is not
    weaklink's, or has another version; for an older one, the message says to run `weaklink db upgrade`.
    """
    location = location_of(where)
    create = create and not read_only
    check_file(location, create=create)
    if create:
        prepare_file(location)
    engine = new_engine(location, busy_timeout_s=busy_timeout_s, read_only=read_only)
    try:
        with database_errors(location):
            ensure_current(engine, location, create=create, read_only=read_only)
    except BaseException:
        engine.dispose()
        raise
    return Store(Database(engine, location))


class Store:
    """Traces and inspections in a database. `open_store` returns it; several threads may use it at the same time.

    Every method raises StoreError for errors of the database; in that case it has written nothing. An `id` may be a
    trace's number, or an external id that only one trace has; StoreError for any other.
    """

    marks: Bookmarks
    tokens: AccessTokens
    statistics: TraceStatistics
    search: TextSearch
    maintenance: Maintenance
    exchanges: Exchanges
    imported_files: ImportedFiles
    probe_runs: ProbeRuns

    def __init__(self, database: Database) -> None:
        self._database = database
        self._file_identity = file_identity(database.location)
        self.marks = Bookmarks(database)
        self.tokens = AccessTokens(database)
        self.statistics = TraceStatistics(database)
        self.search = TextSearch(database)
        self.maintenance = Maintenance(database)
        self.exchanges = Exchanges(database)
        self.imported_files = ImportedFiles(database)
        self.probe_runs = ProbeRuns(database)

    @property
    def location(self) -> DatabaseLocation:
        """The location of the database."""
        return self._database.location

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections to the database."""
        self._database.engine.dispose()

    def save(self, items: Iterable[tuple[Trace, Inspection]]) -> list[Saved]:
        """Save traces with their inspections, in one transaction; the result of each, in order.

        A version of a stored trace (see `storage.record_rows`) replaces it under the same id if it is at least as long;
        otherwise the stored one stays. If the record is the same, only a new inspection is stored. `items` is consumed
        lazily, so it may be long, and before anything is written: other writers wait only while rows that are ready are
        written, half a millisecond for each trace of 6 kB (2026-11-30).
        """
        return self.save_drafts(trace_rows(trace, inspection) for trace, inspection in items)

    def stored_inspection(self, record: RecordRows) -> StoredInspection | None:
        """The stored inspection of exactly this record; None if this version of weaklink has not inspected it yet.

        `storage.record_rows.record_rows` makes `record`. Save a trace whose inspection is stored as `UninspectedRows`.
        """
        with self._database.reading() as connection:
            return stored_inspection(connection, record)

    def save_drafts(self, items: Iterable[TraceDraft]) -> list[Saved]:
        """Like `save`, for traces that `storage.writing.trace_rows` has already converted to rows, in any process."""
        now_s = time.time()
        with closing(RecordSpool(_SPOOL_BYTES)) as spool:
            groups = _spooled(_batches(items), spool)
            first = next(groups, None)
            if first is None:
                return []
            with self._database.writing() as connection:
                return [saved for group in chain((first,), groups) for saved in write(connection, group, now_s)]

    def delete(self, ids: Iterable[int | str]) -> int:
        """Delete traces; the number of traces deleted."""
        with self._database.writing() as connection:
            numbers = sorted({find_id(connection, id_) for id_ in ids})
            delete_traces(connection, numbers)
            drop_unused_toolsets(connection)
        return len(numbers)

    def ids_of(self, words: Iterable[int | str]) -> list[int]:
        """The sorted ids of the traces with these numbers or external ids; several traces may share an external id.

        StoreError for a word that names no trace.
        """
        with self._database.reading() as connection:
            return sorted({id_ for word in words for id_ in find_ids(connection, word)})

    def erase(self, ids: Sequence[int]) -> None:
        """Delete traces so that none of their text is left in the file of an SQLite database.

        On a server, it does the same as `delete`. It takes as long as rewriting the whole text index.
        """
        with self._database.erasing() as connection:
            delete_traces(connection, ids)
            drop_unused_toolsets(connection)
            merge_index(connection)

    def rewrite(self, drafts: Mapping[int, TraceRows]) -> None:
        """Replace stored traces, by id, so that none of their former text is left in the file of an SQLite database.

        On a server, former rows stay until it removes them (`VACUUM`). Recorded exchanges of a draft replace the stored
        ones. It takes as long as rewriting the whole text index.
        """
        with self._database.erasing() as connection:
            for id_, draft in drafts.items():
                rewrite(connection, id_, draft)
            drop_unused_toolsets(connection)
            merge_index(connection)

    def recreate_if_missing(self) -> bool:
        """Create a new database if the file of this one was moved, deleted or replaced; whether it was."""
        if not self.is_gone():
            return False
        check_file(self.location, create=True)
        prepare_file(self.location)
        self._database.engine.dispose()
        with database_errors(self.location):
            ensure_current(self._database.engine, self.location, create=True)
        self._file_identity = file_identity(self.location)
        return True

    def is_gone(self) -> bool:
        """Whether the opened file is no longer the one at its path; anything written to it would be lost."""
        return file_identity(self.location) != self._file_identity

    def stamp(self) -> tuple[tuple[int, int], ...]:
        """A cheap sign of writes by any process, another one after each; on PostgreSQL it is up to ten seconds late."""
        if self.location.path is not None:
            return file_stamp(self.location)
        with self._database.reading() as connection:
            return server_stamp(connection)

    def keep_running(
        self, owner: str, steps: Sequence[SessionWrite], *, idle_after_s: float = IDLE_AFTER_S
    ) -> list[int | None]:
        """Write the steps of the sessions that `owner` records, in one transaction, for `storage.live.StoreSink`.

        Returns the trace id of each session; None if the trace was deleted, so that its step was not written. A trace
        is idle if it had no event for `idle_after_s` seconds and no turn is open.
        """
        with self._database.writing() as connection:
            return write_steps(connection, owner, steps, time.time(), idle_after_s=idle_after_s)

    def open_turns(self, id: int | str) -> dict[int, Turn]:
        """The open turns of a running trace, by number, truncated at the end of what is written."""
        with self._database.reading() as connection:
            return read_open_turns(connection, find_id(connection, id))

    def follow(self, filter: str = "", *, from_start: bool = False, most: int | None = None) -> Following:  # noqa: A002  # as in `traces`
        """Follow the traces that match a filter from now on, whatever process records them.

        `Following.poll` returns the record events since the last call, with the trace's id as their key: the start of a
        trace, the start of a turn, chunks as they are written, the ended turn, the end of the trace. A trace that
        matches the filter only later is reported from then on, with all its turns since now; a trace that was saved
        whole is reported with its end. `from_start` also reports the turns of traces that are already running: the last
        `most` ended turns of each, or all. A trace that is deleted, or merged into a stored one, ends. Raises
        FilterError.
        """
        return Following(self._following, parse_filter(filter), from_start=from_start, most=most)

    def turns_of_running(self, id: int) -> tuple[Turn, ...] | None:
        """The ended turns of a running trace; None if it is not running, or does not exist."""
        with self._database.reading() as connection:
            live = tables.live.c.trace_id
            if connection.scalar(sa.select(live).where(live == id)) is None:
                return None
            return read_stored_turns(connection, id)

    def recover(self, inspect: Callable[[Trace], Inspection] = inspect_trace) -> int:
        """End the running traces whose recorder was killed, and truncate their open turns; the number of traces.

        A recorder is dead if its process on this machine does not exist, or if it had no heartbeat for a minute.
        """
        done = 0
        while self._orphaned():
            with self._database.writing() as connection:
                for id_ in orphaned_traces(connection, time.time())[:_RECOVERED]:
                    end_orphaned_trace(connection, inspect, id_, time.time())
                    done += 1
        return done

    def trace(self, id: int | str) -> Trace:
        """The trace, equal to the one that was saved.

        A damaged trace is returned as far as it can be read. Sentences on what could not be read are in the part
        `wire:recording` of its turn, and among the warnings of the trace's provenance (`storage.salvage`).
        """
        with self._database.reading() as connection:
            return read_stored(connection, find_id(connection, id)).shown

    def inspection(self, id: int | str) -> Inspection:
        """The inspection of a trace, equal to the one that was saved."""
        return self.inspected(id)[1]

    def inspected(self, id: int | str, *, may_lag: bool = False) -> tuple[Trace, Inspection]:
        """A trace and its inspection, read together; a running trace whose inspection is out of date is inspected.

        With `may_lag`, for screens, the inspection of a long running trace covers only the turns that its recorder has
        inspected.

        A damaged trace is returned as by `trace`, and is inspected as far as it can be read; so is a trace whose stored
        inspection is damaged. The warnings of its provenance then have a sentence on that too.
        """
        with self._database.reading() as connection:
            number = find_id(connection, id)
            stored = read_stored(connection, number)
            inspection, problem = read_stored_inspection(connection, number, stored, may_lag=may_lag)
            sentences = filter(None, (problem, damage_of_row(connection, number)))
            return with_damage(stored.shown, tuple(sentences)), inspection

    def summary(self, id: int | str) -> TraceSummary:
        """The summary of one trace."""
        with self._database.reading() as connection:
            return summaries(connection, [find_id(connection, id)])[0]

    def summaries(self, ids: Sequence[int]) -> list[TraceSummary]:
        """The summaries of these traces, in this order; traces that do not exist are left out."""
        with self._database.reading() as connection:
            return summaries(connection, ids)

    def traces(self, filter: str = "", *, limit: int = 100, after: ListCursor | None = None) -> list[TraceSummary]:  # noqa: A002  # it is what users call it
        """The newest traces that match a filter, or the next ones after `after`, the cursor of the last one.

        Those that `weaklink ask`, `doctor`, `replay` and `probe` recorded are left out, unless the filter names traces
        or has `forks:`. Raises FilterError for a filter that cannot be parsed. Words are looked up in the text index;
        `search.index_pending` updates it.
        """
        terms = parse_filter(filter)
        with self._database.reading() as connection:
            return newest_summaries(connection, terms, limit=limit, after=after)

    def newest(self, filter: str = "") -> TraceSummary | None:  # noqa: A002  # as in `traces`
        """The newest trace that matches a filter; one without a time is as new as its import.

        Raises FilterError for a filter that cannot be parsed.
        """
        terms = parse_filter(filter)
        with self._database.reading() as connection:
            return next(iter(newest_summaries(connection, terms, limit=1, after=None)), None)

    def paging(self) -> Paging:
        """Queries for screens that show long lists, page by page."""
        return Paging(self._database.reading)

    def complete(self, filter: str, cursor: int | None = None) -> list[FilterCompletion]:  # noqa: A002  # as in `traces`
        """Completions at the cursor in a filter, or at its end, the likeliest first; at most 50."""
        with self._database.reading() as connection:
            return complete_filter(connection, filter, len(filter) if cursor is None else cursor)

    def _orphaned(self) -> list[int]:
        """The traces to recover; a separate query, because the user may not have permission to write."""
        with self._database.reading() as connection:
            return orphaned_traces(connection, time.time())

    @contextmanager
    def _following(self) -> Iterator[sa.Connection]:
        with self._database.reading() as connection, damage_errors(self.location, "a running trace"):
            yield connection


def _spooled(batches: Iterator[list[TraceDraft]], spool: RecordSpool) -> Iterator[list[TraceDraft]]:
    """The batches, the first when all of them have been read; the others wait in the spool. Raises StoreError."""
    first = next(batches, None)
    if first is None:
        return
    positions: list[SpoolPosition] = []
    for batch in batches:
        packed = pickle.dumps(batch, pickle.HIGHEST_PROTOCOL)
        with _spool_errors():
            positions.append(spool.put(packed))
    yield first
    for position in positions:
        with _spool_errors():
            packed = spool.get(position)
        yield pickle.loads(packed)


@contextmanager
def _spool_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(error.strerror or str(error)) from error


def _batches(drafts: Iterable[TraceDraft]) -> Iterator[list[TraceDraft]]:
    """The drafts in lists of bounded size, none of them empty."""
    batch: list[TraceDraft] = []
    size = 0
    for draft in drafts:
        batch.append(draft)
        size += draft.size
        if len(batch) == _GROUP or size > _GROUP_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
