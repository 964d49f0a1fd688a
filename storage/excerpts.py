"""Where in a trace the words of a search stand, and the text around them."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace

import sqlalchemy as sa

from inspector.diagnostics import Location
from inspector.text import Range
from storage import tables
from storage.failures import DAMAGED
from storage.filter import Filter, PhraseTerm
from storage.filter.trees import wanted_words
from storage.packing.blobs import from_blob, text_from_bytes
from storage.packing.escapes import unescaped
from storage.summaries import TraceSummary

_AROUND = 60
_NOWHERE = Range(0, 0)
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A trace that holds what was searched.

    `location` is the first place of the first words, `excerpt` the text around it as it stands there, control
    characters and all, and `found` where in the excerpt the words are. Without words, or where only the text index
    knows them (an accent written as a character of its own), there is no place and the excerpt is empty.
    """

    trace: TraceSummary
    location: Location | None = None
    excerpt: str = ""
    found: Range = _NOWHERE


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The newest traces that hold what was searched; `waiting` traces were not in the text index yet."""

    hits: tuple[SearchHit, ...]
    waiting: int


def hit(connection: sa.Connection, trace: TraceSummary, words: PhraseTerm | None) -> SearchHit:
    """A trace with the first place of `words` in it."""
    pattern = _pattern(words) if words is not None else None
    if pattern is None:
        return SearchHit(trace)
    try:
        return _first_place(connection, trace, pattern)
    except DAMAGED:
        return SearchHit(replace(trace, damaged=True))


def _first_place(connection: sa.Connection, trace: TraceSummary, pattern: re.Pattern[str]) -> SearchHit:
    part = tables.part.c
    wanted = sa.select(part.turn, part.name, part.text).where(part.trace_id == trace.id)
    for turn, name, blob in connection.execute(wanted.order_by(part.turn, part.number)):
        text = text_from_bytes(from_blob(blob))
        match = pattern.search(_without_accents(text))
        if match is not None:
            place = Range(*match.span())
            start = max(0, place.start - _AROUND)
            location = Location(turn, unescaped(name), place)
            return SearchHit(trace, location, text[start : place.end + _AROUND], place.moved(-start))
    return SearchHit(trace)


def held_words(connection: sa.Connection, id_: int, asked: Iterable[PhraseTerm]) -> dict[PhraseTerm, bool]:
    """Which of these words a trace's texts hold; reads them, and asks no index. Where there is no word, all do."""
    patterns = {words: _pattern(words) for words in asked}
    missing = {words: pattern for words, pattern in patterns.items() if pattern is not None}
    part = tables.part.c
    for blob in connection.scalars(sa.select(part.text).where(part.trace_id == id_)) if missing else ():
        text = _without_accents(text_from_bytes(from_blob(blob)))
        missing = {words: pattern for words, pattern in missing.items() if not pattern.search(text)}
    return {words: words not in missing for words in patterns}


def first_words(wanted: Filter) -> PhraseTerm | None:
    """The first words that a filter asks for, and does not ask to be missing."""
    return next(wanted_words(wanted), None)


def _pattern(words: PhraseTerm) -> re.Pattern[str] | None:
    tokens = _WORD.findall(_without_accents(words.phrase))
    if not tokens:
        return None
    end = "" if words.prefix else r"(?![^\W_])"
    return re.compile(r"(?<![^\W_])" + r"[\W_]+".join(map(re.escape, tokens)) + end, re.IGNORECASE)


def _without_accents(text: str) -> str:
    """`text` with as many characters, each without its accents."""
    if text.isascii():
        return text
    return "".join(
        character if character < "\x80" else unicodedata.normalize("NFD", character)[0] for character in text
    )
