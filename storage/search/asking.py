"""The text index is asked: how many traces hold some words, and which of those that were met elsewhere."""

from collections.abc import Iterator, Sequence

import sqlalchemy as sa

from storage import tables
from storage.groups import in_groups
from storage.search.phrases import POSTGRESQL, SQLITE, Phrase, match, vector_match

_CLOSE = 100  # see `holding_among`
_SAMPLE, _COMMON_IN_SAMPLE = 500, 25  # one trace in twenty


def holding(connection: sa.Connection, phrases: Sequence[Phrase]) -> sa.Select[int]:
    """The ids of the traces that hold all these phrases; one that the index holds in pieces may come repeatedly."""
    if connection.dialect.name == "sqlite":
        return sa.select(SQLITE.c.rowid).where(match(phrases))
    first, *others = phrases
    id_ = POSTGRESQL.c.trace_id
    held = sa.select(id_).where(vector_match(first))
    for phrase in others:  # a trace's phrases may stand in different pieces; the database begins with the rarest
        piece = POSTGRESQL.alias()
        held = held.where(sa.exists().where(piece.c.trace_id == id_, vector_match(phrase, piece)))
    return held


def holds_phrase(connection: sa.Connection, phrase: Phrase) -> sa.ColumnElement[bool]:
    """That a trace holds this phrase, asked of each row of `trace` that is met."""
    if connection.dialect.name == "sqlite":
        held = sa.select(sa.literal(1)).select_from(SQLITE).where(match([phrase]), SQLITE.c.rowid == tables.trace.c.id)
    else:
        of_trace = POSTGRESQL.c.trace_id == tables.trace.c.id
        found = sa.case((vector_match(phrase), sa.true()), else_=sa.false())
        held = sa.select(sa.literal(1)).select_from(POSTGRESQL).where(of_trace, found)
    return sa.exists(held.correlate(tables.trace))


def count_up_to(connection: sa.Connection, phrases: Sequence[Phrase], enough: int) -> int:
    """How many ids `holding` gives: exact below `enough`, and `enough` from there on or where likely.

    An FTS5 index is read until it is enough. A GIN index gives all that it holds or nothing, so the newest traces are
    asked first, and words that are common among them count as common.
    """
    if connection.dialect.name == "postgresql":
        newest = sa.select(tables.trace.c.id).order_by(tables.trace.c.sort_at_s.desc(), tables.trace.c.id.desc())
        sample = connection.scalars(newest.limit(_SAMPLE)).all()
        if len(holding_among(connection, sample, phrases)) >= _COMMON_IN_SAMPLE:
            return enough
    return _count(connection, holding(connection, phrases).limit(enough))


def are_cheaper_than(connection: sa.Connection, phrases: Sequence[Phrase], others: int) -> bool:
    """Whether it is cheaper to look at all the traces that hold these phrases than to ask the index for so many others.

    To ask FTS5 for a trace costs about as much as to look at one. A tsvector is dearer to ask than the index that holds
    them all, whose rows cannot be counted for less than they can be looked at.
    """
    return connection.dialect.name == "postgresql" or count_up_to(connection, phrases, others) < others


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
            between = SQLITE.c.rowid.between(run[0], run[-1])
            held.update(connection.scalars(sa.select(SQLITE.c.rowid).where(match(phrases), between)))
    for group in in_groups(alone):
        held.update(connection.scalars(sa.select(SQLITE.c.rowid).where(match(phrases), SQLITE.c.rowid.in_(group))))
    return held.intersection(ids)


def _count(connection: sa.Connection, wanted: sa.Select[int]) -> int:
    return connection.scalar(sa.select(sa.func.count()).select_from(wanted.subquery())) or 0


def _holding_among(connection: sa.Connection, ids: Sequence[int], phrase: Phrase) -> set[int]:
    id_, found = POSTGRESQL.c.trace_id, sa.case((vector_match(phrase), sa.true()), else_=sa.false())
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
