"""Searches over the texts of traces: hits with the matching words and the text around them."""

import re
import time
import unicodedata
from collections.abc import Iterable

import sqlalchemy as sa
from msgspec import Struct

from weaklink.inspector.diagnostics import Location
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import Range
from weaklink.storage import tables
from weaklink.storage.engine import DAMAGE_ERRORS, Database, damage_errors
from weaklink.storage.filter import Filter, PhraseTerm, parse_filter
from weaklink.storage.filter.terms import required_words
from weaklink.storage.listing import newest_summaries
from weaklink.storage.maintenance import count_rows
from weaklink.storage.packing.blobs import from_blob, salvaged_text, text_from_bytes, unescaped
from weaklink.storage.search import index_waiting
from weaklink.storage.summaries import ListCursor, TraceSummary

_CONTEXT_CHARS = 60
_NOWHERE = Range(0, 0)
_WORD = lazy_pattern(r"[^\W_]+")
_GROUP = 200  # traces that are indexed in one transaction
_PAUSE_S = 0.02  # between transactions: SQLite does not queue writers, each tries again ten times a second


class SearchHit(Struct, frozen=True):
    """A trace that matches a search.

    `location` is the first match of the first words, `excerpt` the unchanged text around it (with control characters),
    and `match` the range of the match in the excerpt. Without words, or if only the text index finds them (an accent
    written as a separate character), there is no location and the excerpt is empty.
    """

    trace: TraceSummary
    location: Location | None = None
    excerpt: str = ""
    match: Range = _NOWHERE


class SearchResults(Struct, frozen=True):
    """The newest traces that match a search; `waiting` is the number of traces not in the text index yet."""

    hits: tuple[SearchHit, ...]
    waiting: int


def search_hit(connection: sa.Connection, trace: TraceSummary, words: PhraseTerm | None) -> SearchHit:
    """A trace with the first match of `words` in it."""
    pattern = _pattern(words) if words is not None else None
    if pattern is None:
        return SearchHit(trace)
    return _first_match(connection, trace, pattern)


def _first_match(connection: sa.Connection, trace: TraceSummary, pattern: re.Pattern[str]) -> SearchHit:
    part = tables.part.c
    query = sa.select(part.turn, part.name, part.text).where(part.trace_id == trace.id)
    for turn, name, blob in connection.execute(query.order_by(part.turn, part.number)):
        text = _readable(blob)
        match = pattern.search(_without_accents(text))
        if match is not None:
            bounds = Range(*match.span())
            start = max(0, bounds.start - _CONTEXT_CHARS)
            location = Location(turn, unescaped(name), bounds)
            return SearchHit(trace, location, text[start : bounds.end + _CONTEXT_CHARS], bounds.moved(-start))
    return SearchHit(trace)


def _readable(blob: bytes) -> str:
    """A text, of a damaged one as much as can be read."""
    try:
        return text_from_bytes(from_blob(blob))
    except DAMAGE_ERRORS:
        return salvaged_text(blob)


def held_words(connection: sa.Connection, id_: int, terms: Iterable[PhraseTerm]) -> dict[PhraseTerm, bool]:
    """Which of these words a trace's texts contain; reads the texts, not the index. Terms without words match."""
    patterns = {term: _pattern(term) for term in terms}
    missing = {term: pattern for term, pattern in patterns.items() if pattern is not None}
    part = tables.part.c
    for blob in connection.scalars(sa.select(part.text).where(part.trace_id == id_)) if missing else ():
        text = _without_accents(_readable(blob))
        missing = {term: pattern for term, pattern in missing.items() if not pattern.search(text)}
    return {term: term not in missing for term in patterns}


def first_words(filter_: Filter) -> PhraseTerm | None:
    """The first words that a filter requires a trace to contain."""
    return next(required_words(filter_), None)


def _pattern(words: PhraseTerm) -> re.Pattern[str] | None:
    tokens = _WORD.findall(_without_accents(words.phrase))
    if not tokens:
        return None
    end = "" if words.prefix else r"(?![^\W_])"
    return re.compile(r"(?<![^\W_])" + r"[\W_]+".join(map(re.escape, tokens)) + end, re.IGNORECASE)


def _without_accents(text: str) -> str:
    """`text` with the same number of characters, each without its accents."""
    if text.isascii():
        return text
    return "".join(
        character if character < "\x80" else unicodedata.normalize("NFD", character)[0] for character in text
    )


class TextSearch:
    """Searches over the texts of a store: `Store.search`. Raises the same errors as `Store`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, words: str, *, limit: int = 20, after: ListCursor | None = None) -> SearchResults:
        """The newest traces that contain these words, with the location of the first match; accepts any filter.

        Raises FilterError. The result has the number of traces that are not indexed yet: see `index_pending`.
        """
        terms = parse_filter(words)
        with self._database.reading() as connection, damage_errors(self._database.location, "a trace"):
            traces = newest_summaries(connection, terms, limit=limit, after=after)
            hits = tuple(search_hit(connection, trace, first_words(terms)) for trace in traces)
            return SearchResults(hits, count_rows(connection, tables.search_pending))

    def hits(self, words: str, traces: Iterable[TraceSummary]) -> list[SearchHit]:
        """Traces that a search for these words found (with `Paging.scan`), each with the first match.

        Raises FilterError.
        """
        first = first_words(parse_filter(words))
        with self._database.reading() as connection, damage_errors(self._database.location, "a trace"):
            return [search_hit(connection, trace, first) for trace in traces]

    def index_pending(self, *, limit: int | None = None) -> int:
        """Index traces that the text index does not contain yet, all or at most `limit`; the number indexed."""
        done = 0
        while (limit is None or done < limit) and self.waiting():
            count = _GROUP if limit is None else min(_GROUP, limit - done)
            if done:
                time.sleep(_PAUSE_S)
            with self._database.writing() as connection:
                done += index_waiting(connection, count)
        return done

    def waiting(self) -> int:
        """The number of traces that are not indexed yet."""
        with self._database.reading() as connection:
            return count_rows(connection, tables.search_pending)
