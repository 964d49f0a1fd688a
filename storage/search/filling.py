"""The text index is filled after import, from the parts' texts, and forgets what is deleted."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

import sqlalchemy as sa

from storage import tables
from storage.failures import DAMAGED
from storage.groups import in_groups
from storage.packing.blobs import from_blob, text_from_bytes
from storage.search.phrases import NOT_INDEXED, POSTGRESQL, SQLITE, words_of

_PIECE = 100_000  # characters; PostgreSQL bounds a tsvector to 1 MB
_TOGETHER = 4_000_000  # characters that are indexed by one statement
_BETWEEN_PARTS = "\n\ue000\n"  # a word of its own, so that no phrase reaches over two parts


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
            connection.execute(sa.delete(POSTGRESQL).where(POSTGRESQL.c.trace_id.in_(group)))
        return
    pending = tables.search_pending.c.trace_id
    for group in in_groups(ids):
        waiting = set(connection.scalars(sa.select(pending).where(pending.in_(group))))
        # An FTS5 table without content does not know what it holds: it must be told the very text to take out.
        for documents in _documents(connection, [id_ for id_ in group if id_ not in waiting]):
            rows = [{"search_text": "delete", "rowid": id_, "body": text} for id_, text in documents]
            connection.execute(sa.insert(SQLITE), rows)


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
    """The text of each trace that is searched, always the same for the same parts.

    The texts come in lists of at least one and little more than `_TOGETHER` characters: all at once would take memory
    without a bound.
    """
    documents: list[tuple[int, str]] = []
    size = 0
    for id_ in ids:
        documents.append((id_, _document(connection, id_)))
        size += len(documents[-1][1])
        if size > _TOGETHER:
            yield documents
            documents, size = [], 0
    if documents:
        yield documents


def _document(connection: sa.Connection, trace_id: int) -> str:
    part = tables.part.c
    wanted = sa.select(part.text).where(part.trace_id == trace_id).order_by(part.turn, part.number)
    texts: list[str] = []
    for blob in connection.scalars(wanted):
        with suppress(*DAMAGED):  # what is damaged cannot be found, and the rest of its trace can
            texts.append(NOT_INDEXED.sub(" ", text_from_bytes(from_blob(blob))))
    return _BETWEEN_PARTS.join(texts)


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while True:
        end = text.rfind(" ", start, start + _PIECE) if len(text) - start > _PIECE else len(text)
        end = end if end > start else start + _PIECE
        yield text[start:end]
        if end >= len(text):
            return
        start = end
