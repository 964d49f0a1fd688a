"""Full-text search: each kind of database has its own index, which the migrations create.

Theory of operation. Both indexes match words and ignore case, accents and punctuation; the words come from the whole
text of a part, so a word that arrived in two chunks is found.

    SQLite        a contentless FTS5 table, one row for each trace: the parts joined by a word that nobody writes
    PostgreSQL    pieces of a trace of at most 100,000 characters as tsvector, since one is bounded to a megabyte

A phrase matches consecutive words of one part (of one piece, on PostgreSQL); all phrases of a query are in one trace.
PostgreSQL's own parser would keep "a.b" as a host name, so it only gets words that were split as FTS5 splits them.

Indexing takes as long as inserting the rows, so a write only adds the trace to `search_pending`. `index_waiting` works
that off in portions of half a second, between which others may write; a search reports how many traces still wait.

A contentless table does not know its texts: to delete a row FTS5 must be given exactly the text that was indexed. So
the text of a trace is always built in the same way, and its row is removed before its parts are. Damaged parts are not
indexed.
"""

import unicodedata
from collections.abc import Iterator, Sequence

import sqlalchemy as sa
from msgspec import Struct

from weaklink.inspector.scanning import lazy_pattern
from weaklink.storage import tables
from weaklink.storage.engine import DAMAGE_ERRORS
from weaklink.storage.packing.blobs import from_blob, text_from_bytes
from weaklink.storage.tables import in_groups

NOT_INDEXED = lazy_pattern("[\0\ud800-\udfff]")
"""Characters that no database accepts; they are replaced with spaces."""

SQLITE = sa.table("search_text", sa.column("rowid"), sa.column("body"), sa.column("search_text"))
POSTGRESQL = sa.table("search_text", sa.column("trace_id"), sa.column("piece"), sa.column("body"))
_NO_WORD = lazy_pattern(r"[\W_]+")
_PIECE = 100_000  # characters; PostgreSQL bounds a tsvector to 1 MB
_TOGETHER = 4_000_000  # characters that are indexed by one statement
_MAX_BATCH_TRACES = 500  # traces, because the number of parameters of a statement is limited
_INDEXED_AT_ONCE = 8_000_000  # characters, in half a second, while other writers wait
_BETWEEN_PARTS = "\n\ue000\n"  # a separate word, so that no phrase matches across two parts


class Phrase(Struct, frozen=True):
    """Consecutive words; with `prefix` the last one is only the beginning of a word."""

    words: str
    prefix: bool = False


def match(phrases: Sequence[Phrase]) -> sa.ColumnElement[bool]:
    """The condition that a row of an FTS5 table contains all these phrases."""
    quoted = (
        '"' + NOT_INDEXED.sub(" ", phrase.words).replace('"', " ") + '"' + "*" * phrase.prefix for phrase in phrases
    )
    return SQLITE.c.search_text.op("MATCH")(" AND ".join(quoted))


def vector_match(phrase: Phrase, table: sa.FromClause = POSTGRESQL) -> sa.ColumnElement[bool]:
    """The condition that a row of a table of tsvectors contains this phrase."""
    words = words_of(phrase.words).split()
    query = " <-> ".join(words) + ":*" * (phrase.prefix and bool(words))
    return table.c.body.op("@@")(sa.func.to_tsquery("simple", query))


def words_of(text: str) -> str:
    """`text` as input for PostgreSQL's parser: only words, separated as FTS5 does, without accents."""
    if not text.isascii():
        plain = unicodedata.normalize("NFKD", text)
        text = "".join(character for character in plain if not unicodedata.combining(character))
    return _NO_WORD.sub(" ", text)


_trace = tables.trace.c


def ids_holding(connection: sa.Connection, phrases: Sequence[Phrase]) -> sa.Select[int]:
    """The ids of the traces that contain all these phrases; an id may occur repeatedly (once per piece)."""
    if connection.dialect.name == "sqlite":
        return sa.select(SQLITE.c.rowid).where(match(phrases))
    first, *others = phrases
    id_ = POSTGRESQL.c.trace_id
    query = sa.select(id_).where(vector_match(first))
    for phrase in others:  # a trace's phrases may be in different pieces; the database begins with the rarest
        piece = POSTGRESQL.alias()
        query = query.where(sa.exists().where(piece.c.trace_id == id_, vector_match(phrase, piece)))
    return query


def index_waiting(connection: sa.Connection, most: int) -> int:
    """Add pending traces to the index, `most` or those of `_INDEXED_AT_ONCE` characters; the number of traces added."""
    pending = tables.search_pending
    query = sa.select(pending.c.trace_id, _trace.characters).join(tables.trace).order_by(pending.c.trace_id).limit(most)
    characters = 0
    ids: list[int] = []
    for id_, of_trace in connection.execute(query):
        ids.append(id_)
        characters += of_trace
        if characters >= _INDEXED_AT_ONCE:
            break
    if ids:
        _index(connection, ids)
        for group in in_groups(ids):
            connection.execute(sa.delete(pending).where(pending.c.trace_id.in_(group)))
    return len(ids)


def remove_from_index(connection: sa.Connection, ids: Sequence[int]) -> None:
    """Remove these traces from the index; call it before their parts are deleted."""
    if connection.dialect.name != "sqlite":
        for group in in_groups(ids):
            connection.execute(sa.delete(POSTGRESQL).where(POSTGRESQL.c.trace_id.in_(group)))
        return
    pending = tables.search_pending.c.trace_id
    for group in in_groups(ids):
        not_indexed = set(connection.scalars(sa.select(pending).where(pending.in_(group))))
        # A contentless FTS5 table does not store its texts: deleting a row requires the exact indexed text.
        for documents in _documents(connection, [id_ for id_ in group if id_ not in not_indexed]):
            rows = [{"search_text": "delete", "rowid": id_, "body": text} for id_, text in documents]
            connection.execute(sa.insert(SQLITE), rows)


def merge_index(connection: sa.Connection) -> None:
    """Rewrite an FTS5 index, so that it no longer contains the words of removed traces."""
    if connection.dialect.name == "sqlite":
        connection.execute(sa.insert(SQLITE), {"search_text": "optimize"})


def _index(connection: sa.Connection, ids: Sequence[int]) -> None:
    for documents in _documents(connection, ids):
        if connection.dialect.name == "sqlite":
            connection.execute(sa.insert(SQLITE), [{"rowid": id_, "body": text} for id_, text in documents])
            continue
        pieces = [
            {"trace_id": id_, "piece": number, "body": piece}
            for id_, text in documents
            for number, piece in enumerate(
                piece for part in text.split(_BETWEEN_PARTS) for piece in _pieces(words_of(part))
            )
        ]
        body = sa.func.to_tsvector("simple", sa.bindparam("body"))
        connection.execute(sa.insert(POSTGRESQL).values(body=body), pieces)


def _documents(connection: sa.Connection, ids: Sequence[int]) -> Iterator[list[tuple[int, str]]]:
    """The indexed text of each trace, always the same for the same parts.

    The texts come in lists of at least one text and little more than `_TOGETHER` characters, so that memory is bounded.
    """
    for group in _groups_by_size(connection, ids):
        part = tables.part.c
        query = sa.select(part.trace_id, part.text).where(part.trace_id.in_(group))
        texts: dict[int, list[str]] = {id_: [] for id_ in group}
        for id_, blob in connection.execute(query.order_by(part.trace_id, part.turn, part.number)).all():
            try:
                text = text_from_bytes(from_blob(blob))
            except DAMAGE_ERRORS:  # damaged parts are not indexed, the rest of their trace is
                continue
            texts[id_].append(text if text.isascii() and "\0" not in text else NOT_INDEXED.sub(" ", text))
        yield [(id_, _BETWEEN_PARTS.join(some)) for id_, some in texts.items()]


def _groups_by_size(connection: sa.Connection, ids: Sequence[int]) -> Iterator[list[int]]:
    """The ids in lists of at least one trace and little more than `_TOGETHER` characters."""
    group: list[int] = []
    remaining = _TOGETHER
    for some in in_groups(ids):
        sizes = dict(connection.execute(sa.select(_trace.id, _trace.characters).where(_trace.id.in_(some))).all())
        for id_ in some:
            group.append(id_)
            size = sizes.get(id_, 0)
            remaining -= size if isinstance(size, int) else 0  # a damaged column of a file may have any type
            if remaining < 0 or len(group) == _MAX_BATCH_TRACES:
                yield group
                group, remaining = [], _TOGETHER
    if group:
        yield group


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while True:
        end = text.rfind(" ", start, start + _PIECE) if len(text) - start > _PIECE else len(text)
        end = end if end > start else start + _PIECE
        yield text[start:end]
        if end >= len(text):
            return
        start = end
