"""Full-text search: each kind of database has its own index, filled from the parts' texts after import.

SQLite: an FTS5 table without content, one row a trace. PostgreSQL: pieces of a trace as tsvector under a GIN index.
The migrations make them.
Both know words without case, accents and punctuation; both find a word however it was cut into chunks.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from storage import tables
from storage.groups import in_groups
from storage.packing.blobs import from_blob, text_from_bytes

_PIECE = 100_000  # characters; PostgreSQL bounds a tsvector to 1 MB
_CLOSE = 100  # see `holding_among`
_SAMPLE, _COMMON_IN_SAMPLE = 500, 25  # one trace in twenty
_BETWEEN_PARTS = "\n\ue000\n"  # a word of its own, so that no phrase reaches over two parts
_NOT_INDEXED = re.compile("[\0\ud800-\udfff]")
_NO_WORD = re.compile(r"[\W_]+")

_sqlite = sa.table("search_text", sa.column("rowid"), sa.column("body"), sa.column("search_text"))
_postgresql = sa.table("search_text", sa.column("trace_id"), sa.column("piece"), sa.column("body"))

def index_some(connection: sa.Connection, most: int) -> int:
    """Read traces that are waiting into the index, at most so many; how many."""
    pending = tables.search_pending
    ids = connection.scalars(sa.select(pending.c.trace_id).order_by(pending.c.trace_id).limit(most)).all()
    if ids:
        _index(connection, ids)
        for group in in_groups(ids):
            connection.execute(sa.delete(pending).where(pending.c.trace_id.in_(group)))
    return len(ids)


def forget(connection: sa.Connection, ids: Sequence[int]) -> None:
    """Take these traces out of the index; to be called while their parts are still there."""
    if connection.dialect.name != "sqlite":
        for group in in_groups(ids):
            connection.execute(sa.delete(_postgresql).where(_postgresql.c.trace_id.in_(group)))
        return
    pending = tables.search_pending.c.trace_id
    for group in in_groups(ids):
        waiting = set(connection.scalars(sa.select(pending).where(pending.in_(group))))
        documents = _documents(connection, [id_ for id_ in group if id_ not in waiting])
        # An FTS5 table without content does not know what it holds: it must be told the very text to take out.
        rows = [{"search_text": "delete", "rowid": id_, "body": text} for id_, text in documents.items()]
        if rows:
            connection.execute(sa.insert(_sqlite), rows)


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that stand one behind the other; with `prefix` the last may go on."""

    words: str
    prefix: bool = False


def holding(connection: sa.Connection, phrases: Sequence[Phrase]) -> sa.Select[int]:
    """The ids of the traces that hold all these phrases."""
    if connection.dialect.name == "sqlite":
        return sa.select(_sqlite.c.rowid).where(_match(phrases))
    each = (sa.select(_postgresql.c.trace_id).where(_found(phrase)) for phrase in phrases)
    return sa.select(sa.intersect(*each).subquery().c.trace_id)


def count_up_to(connection: sa.Connection, phrases: Sequence[Phrase], enough: int) -> int:
    """How many traces hold all these phrases: exact below `enough`, and `enough` from there on or where likely.

    An FTS5 index is read until it is enough. A GIN index gives all that it holds or nothing, so the newest traces are
    asked first, and words that are common among them count as common.
    """
    if connection.dialect.name == "postgresql":
        newest = sa.select(tables.trace.c.id).order_by(tables.trace.c.sort_at_s.desc(), tables.trace.c.id.desc())
        sample = connection.scalars(newest.limit(_SAMPLE)).all()
        if len(holding_among(connection, sample, phrases)) >= _COMMON_IN_SAMPLE:
            return enough
    found = holding(connection, phrases).limit(enough).subquery()
    return connection.scalar(sa.select(sa.func.count()).select_from(found)) or 0


def holding_among(connection: sa.Connection, ids: Sequence[int], phrases: Sequence[Phrase]) -> set[int]:
    """Which of these traces hold all these phrases.

    An FTS5 index is read along ids that lie close together, and asked for single ids only where they lie alone: to ask
    costs as much as to read on over a hundred. A GIN index would be read whole, so each trace's own row is asked.
    """
    if connection.dialect.name == "postgresql":
        return set.intersection(*(_holding_among(connection, ids, phrase) for phrase in phrases))
    held: set[int] = set()
    alone: list[int] = []
    for run in _runs(sorted(ids)):
        if len(run) == 1:
            alone += run
        else:
            between = _sqlite.c.rowid.between(run[0], run[-1])
            held.update(connection.scalars(sa.select(_sqlite.c.rowid).where(_match(phrases), between)))
    for group in in_groups(alone):
        held.update(connection.scalars(sa.select(_sqlite.c.rowid).where(_match(phrases), _sqlite.c.rowid.in_(group))))
    return held.intersection(ids)


def _holding_among(connection: sa.Connection, ids: Sequence[int], phrase: Phrase) -> set[int]:
    id_, found = _postgresql.c.trace_id, sa.case((_found(phrase), sa.true()), else_=sa.false())
    held: set[int] = set()
    for group in in_groups(ids):
        held.update(connection.scalars(sa.select(id_).where(id_.in_(group), found)))
    return held


def _runs(ids: Sequence[int]) -> Iterator[list[int]]:
    """Ascending ids in runs without a wide gap."""
    run: list[int] = []
    for id_ in ids:
        if run and id_ - run[-1] > _CLOSE:
            yield run
            run = []
        run.append(id_)
    if run:
        yield run


def _index(connection: sa.Connection, ids: Sequence[int]) -> None:
    documents = _documents(connection, ids)
    if connection.dialect.name == "sqlite":
        rows = [{"rowid": id_, "body": text} for id_, text in documents.items()]
        connection.execute(sa.insert(_sqlite), rows)
    else:
        pieces = [
            {"trace_id": id_, "piece": number, "body": piece}
            for id_, text in documents.items()
            for number, piece in enumerate(
                piece for part in text.split(_BETWEEN_PARTS) for piece in _pieces(_words(part))
            )
        ]
        body = sa.func.to_tsvector("simple", sa.bindparam("body"))
        connection.execute(sa.insert(_postgresql).values(body=body), pieces)


def _match(phrases: Sequence[Phrase]) -> sa.ColumnElement[bool]:
    quoted = (
        '"' + _NOT_INDEXED.sub(" ", phrase.words).replace('"', " ") + '"' + "*" * phrase.prefix for phrase in phrases
    )
    return _sqlite.c.search_text.op("MATCH")(" AND ".join(quoted))


def _found(phrase: Phrase) -> sa.ColumnElement[bool]:
    words = _words(phrase.words).split()
    query = " <-> ".join(words) + ":*" * (phrase.prefix and bool(words))
    return _postgresql.c.body.op("@@")(sa.func.to_tsquery("simple", query))


def _documents(connection: sa.Connection, ids: Sequence[int]) -> dict[int, str]:
    """The text of each trace that is searched, always the same for the same parts."""
    part = tables.part.c
    found: dict[int, list[str]] = {id_: [] for id_ in ids}
    for group in in_groups(ids):
        wanted = sa.select(part.trace_id, part.text).where(part.trace_id.in_(group))
        for id_, blob in connection.execute(wanted.order_by(part.trace_id, part.turn, part.number)):
            found[id_].append(_NOT_INDEXED.sub(" ", text_from_bytes(from_blob(blob))))
    return {id_: _BETWEEN_PARTS.join(texts) for id_, texts in found.items()}


def _words(text: str) -> str:
    """`text` as PostgreSQL's parser shall see it: words alone, as FTS5 cuts them, without accents."""
    if not text.isascii():
        plain = unicodedata.normalize("NFKD", text)
        text = "".join(character for character in plain if not unicodedata.combining(character))
    return _NO_WORD.sub(" ", text)


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while True:
        end = text.rfind(" ", start, start + _PIECE) if len(text) - start > _PIECE else len(text)
        end = end if end > start else start + _PIECE
        yield text[start:end]
        if end >= len(text):
            return
        start = end
