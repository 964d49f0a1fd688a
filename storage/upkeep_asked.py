"""Upkeep, as a store is asked for it: traces inspected again or deleted, room given back, and what there is counted."""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path

import sqlalchemy as sa

from inspector.errors import StoreError
from inspector.inspection import Inspection
from inspector.model import Trace
from inspector.version import __version__
from storage import tables
from storage.checking import IntegrityReport, check_database
from storage.engine import back_up, vacuum, writing
from storage.failures import sentences
from storage.groups import in_groups
from storage.inserting import delete_traces
from storage.location import DatabaseLocation
from storage.reading import find_id
from storage.toolsets import drop_unused_toolsets
from storage.upkeep import StoreStats, inspect_again, prune, stats_of

_INSPECTED = 20  # traces that are inspected while other writers wait


class KeptUp:
    """What is done to a store as a whole; `Store` is one, and says which errors are raised."""

    _engine: sa.Engine
    place: DatabaseLocation

    @abstractmethod
    def _reads(self) -> AbstractContextManager[sa.Connection]: ...

    def reinspect(
        self,
        inspect: Callable[[Trace], Inspection],
        ids: Iterable[int | str] | None = None,
        *,
        on_damaged: Callable[[StoreError], None] | None = None,
    ) -> int:
        """Inspect traces again, all where no ids are named, and keep what was found; how many there were.

        A trace that is damaged is left as it is and given to `on_damaged`; without that its StoreError is raised.
        """
        done = 0
        with self._reads() as connection:
            every = sa.select(tables.trace.c.id).order_by(tables.trace.c.id)
            wanted = list(connection.scalars(every)) if ids is None else [find_id(connection, one) for one in ids]
        for group in in_groups(wanted, _INSPECTED):
            with sentences(self.place), writing(self._engine) as connection:
                done += inspect_again(connection, self.place, inspect, group, on_damaged)
        return done

    def delete(self, ids: Iterable[int | str]) -> int:
        """Delete traces; how many."""
        with sentences(self.place), writing(self._engine) as connection:
            numbers = sorted({find_id(connection, one) for one in ids})
            delete_traces(connection, numbers)
            drop_unused_toolsets(connection)
        return len(numbers)

    def prune(self, *, before_s: float, keep_broken: bool = False) -> int:
        """Delete the traces from before a time (seconds since 1970-01-01 UTC); how many there were."""
        with sentences(self.place), writing(self._engine) as connection:
            return prune(connection, before_s=before_s, keep_broken=keep_broken)

    def stats(self) -> StoreStats:
        """What the store holds."""
        with self._reads() as connection:
            return stats_of(connection, version=__version__)

    def check(self, advance: Callable[[int], None] = lambda _: None) -> IntegrityReport:
        """Look through everything for damage; `advance` is called with 1 behind each trace."""
        with self._reads() as connection:
            return check_database(connection, self.place, advance)

    def back_up(self, file: Path) -> None:
        """Copy the database into a new file while others may write to it; StoreError for one on a server."""
        back_up(self.place, file)

    def vacuum(self) -> None:
        """Give back the room that deleted traces took."""
        with sentences(self.place):
            vacuum(self._engine)
