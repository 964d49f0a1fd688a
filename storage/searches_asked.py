"""Searches over the texts, as the store is asked for them, and the index that they look into."""

from abc import abstractmethod
from contextlib import AbstractContextManager

import sqlalchemy as sa

from storage import tables
from storage.engine import writing
from storage.excerpts import SearchResults, first_words, hit
from storage.failures import reading, sentences
from storage.filter import parse_filter
from storage.listing import page
from storage.location import DatabaseLocation
from storage.search import index_some
from storage.summaries import ListCursor
from storage.upkeep import count_rows

_GROUP = 200  # traces that are read into the index in one transaction


class SearchesTexts:
    """What a store finds in texts; `Store` is one, and says which errors are raised."""

    _engine: sa.Engine
    place: DatabaseLocation

    @abstractmethod
    def _reads(self) -> AbstractContextManager[sa.Connection]: ...

    def search(self, words: str, *, limit: int = 20, after: ListCursor | None = None) -> SearchResults:
        """The newest traces that hold these words, with the place of the first; what a filter takes is taken here too.

        Raises FilterError. How many traces the text index has still to read is said: see `index_pending`.
        """
        wanted = parse_filter(words)
        with self._reads() as connection, reading(self.place, "a trace"):
            traces = page(connection, wanted, limit=limit, after=after)
            hits = tuple(hit(connection, trace, first_words(wanted)) for trace in traces)
            return SearchResults(hits, count_rows(connection, tables.search_pending))

    def index_pending(self, *, limit: int | None = None) -> int:
        """Read traces that the text index does not hold yet, all or at most `limit` of them; how many were read."""
        done = 0
        while (limit is None or done < limit) and self._waiting():
            room = _GROUP if limit is None else min(_GROUP, limit - done)
            with sentences(self.place), writing(self._engine) as connection:
                done += index_some(connection, room)
        return done

    def _waiting(self) -> int:
        """How many traces the text index has still to read; asked before writing, which a reader may not be allowed."""
        with self._reads() as connection:
            return count_rows(connection, tables.search_pending)
