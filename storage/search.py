"""Full-text search: each kind of database has its own index, filled from the parts' texts after import.

SQLite: an FTS5 table without content, one row a trace. PostgreSQL: pieces of a trace as tsvector under a GIN index.
Both know words without case, accents and punctuation; both find a word however it was cut into chunks.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

import sqlalchemy as sa

from storage import tables
from storage.groups import in_groups
from storage.packing.blobs import from_blob, text_from_bytes

_PIECE = 100_000  # characters; PostgreSQL bounds a tsvector to 1 MB
_SAMPLE, _COMMON_IN_SAMPLE = 500, 25  # one trace in twenty
_BETWEEN_PARTS = "\n\ue000\n"  # a word of its own, so that no phrase reaches over two parts
_NOT_INDEXED = re.compile("[\0\ud800-\udfff]")
_NO_WORD = re.compile(r"[\W_]+")

_sqlite = sa.table("search_text", sa.column("rowid"), sa.column("body"), sa.column("search_text"))
_postgresql = sa.table("search_text", sa.column("trace_id"), sa.column("piece"), sa.column("body"))

_CREATE = {
    "sqlite": (
        "CREATE VIRTUAL TABLE search_text USING fts5(body, content='', tokenize='unicode61 remove_diacritics 2')",
    ),
    "postgresql": (
        """CREATE TABLE search_text (
            trace_id INTEGER NOT NULL REFERENCES trace (id) ON DELETE CASCADE,
            piece INTEGER NOT NULL,
            body TSVECTOR NOT NULL,
            PRIMARY KEY (trace_id, piece)
        )""",
        "CREATE INDEX ix_search_text_body ON search_text USING gin (body)",
    ),
}


def create_index(connection: sa.Connection) -> None:
    """Make the index, empty."""
    for statement in _CREATE[connection.dialect.name]:
        connection.exec_driver_sql(statement)


def drop_index(connection: sa.Connection) -> None:
    """Take the index away."""
    connection.exec_driver_sql("DROP TABLE search_text")


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


def holds(connection: sa.Connection, phrase: str, *, prefix: bool = False) -> sa.Select[int]:
    """The ids of the traces that hold the words of `phrase` in this order; with `prefix` the last may go on."""
    if connection.dialect.name == "sqlite":
        return sa.select(_sqlite.c.rowid).where(_match(phrase, prefix=prefix))
    return sa.select(_postgresql.c.trace_id).where(_found(phrase, prefix=prefix)).distinct()


def count_up_to(connection: sa.Connection, phrase: str, enough: int, *, prefix: bool = False) -> int:
    """How many traces hold the words of `phrase`: exact below `enough`, and `enough` from there on or where likely.

    An FTS5 index is read until it is enough. A GIN index gives all that it holds or nothing, so the newest traces are
    asked first, and words that are common among them count as common.
    """
    if connection.dialect.name == "postgresql":
        newest = sa.select(tables.trace.c.id).order_by(tables.trace.c.sort_at_s.desc(), tables.trace.c.id.desc())
        sample = newest.limit(_SAMPLE).cte("newest")
        held = sa.select(sa.func.count()).select_from(sample)
        held = held.where(holds_in(connection, sample.c.id, phrase, prefix=prefix))
        if (connection.scalar(held) or 0) >= _COMMON_IN_SAMPLE:
            return enough
    found = holds(connection, phrase, prefix=prefix).limit(enough).subquery()
    return connection.scalar(sa.select(sa.func.count()).select_from(found)) or 0


def holds_in(
    connection: sa.Connection, id_: sa.ColumnElement[int], phrase: str, *, prefix: bool = False
) -> sa.ColumnElement[bool]:
    """Whether the trace with this id holds the words of `phrase`; looked up for one trace after the other."""
    if connection.dialect.name == "sqlite":
        return sa.exists().select_from(_sqlite).where(_match(phrase, prefix=prefix), _sqlite.c.rowid == id_)
    # An aggregate, since PostgreSQL would turn EXISTS into a join that reads all that the index holds of a word.
    held = sa.select(sa.func.bool_or(_found(phrase, prefix=prefix))).where(_postgresql.c.trace_id == id_)
    return sa.func.coalesce(held.correlate_except(_postgresql).scalar_subquery(), sa.false())


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


def _match(phrase: str, *, prefix: bool) -> sa.ColumnElement[bool]:
    quoted = '"' + _NOT_INDEXED.sub(" ", phrase).replace('"', " ") + '"' + "*" * prefix
    return _sqlite.c.search_text.op("MATCH")(quoted)


def _found(phrase: str, *, prefix: bool) -> sa.ColumnElement[bool]:
    words = _words(phrase).split()
    query = " <-> ".join(words) + ":*" * (prefix and bool(words))
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
