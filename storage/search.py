"""Full-text search: each kind of database has its own index, which the migrations make.

SQLite: an FTS5 table without content, one row a trace. PostgreSQL: pieces of a trace as tsvector under a GIN index.
Both match words without case, accents and punctuation. The index is filled after an import.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import suppress

import sqlalchemy as sa
from msgspec import Struct

from inspector.scanning import lazy_pattern
from storage import tables
from storage.engine import DAMAGE_ERRORS
from storage.packing.blobs import from_blob, text_from_bytes
from storage.summaries import ListCursor
from storage.tables import in_groups

NOT_INDEXED = lazy_pattern("[\0\ud800-\udfff]")
"""Characters that no database takes; a blank stands for them."""

SQLITE = sa.table("search_text", sa.column("rowid"), sa.column("body"), sa.column("search_text"))
POSTGRESQL = sa.table("search_text", sa.column("trace_id"), sa.column("piece"), sa.column("body"))
_NO_WORD = lazy_pattern(r"[\W_]+")
_STRETCH = 4_096  # ids; the index that migration v0003 makes has it too
_MOST = 5_000  # rows of the text index that are read before it is given up
_STATEMENT = 100  # what a statement costs, in rows
_HIGHEST = 2**63 - 1

_TIMES = """
WITH RECURSIVE stretch (number) AS (
    SELECT {first} / {size} UNION ALL SELECT number + 1 FROM stretch WHERE number < {last} / {size}
)
SELECT number,
    (SELECT min(sort_at_s) FROM trace WHERE id / {size} = number),
    (SELECT max(sort_at_s) FROM trace WHERE id / {size} = number)
FROM stretch
"""

_CLOSE = 100  # see `holding_among`
_SAMPLE, _COMMON_IN_SAMPLE = 500, 25  # one trace in twenty
_PIECE = 100_000  # characters; PostgreSQL bounds a tsvector to 1 MB
_TOGETHER = 4_000_000  # characters that are indexed by one statement
_MOST_TOGETHER = 500  # traces, for a statement takes no more parameters
_BETWEEN_PARTS = "\n\ue000\n"  # a word of its own, so that no phrase reaches over two parts


class Phrase(Struct, frozen=True):
    """Words that stand one behind the other; with `prefix` the last may go on."""

    words: str
    prefix: bool = False


def match(phrases: Sequence[Phrase]) -> sa.ColumnElement[bool]:
    """That a row of an FTS5 table holds all these phrases."""
    quoted = (
        '"' + NOT_INDEXED.sub(" ", phrase.words).replace('"', " ") + '"' + "*" * phrase.prefix for phrase in phrases
    )
    return SQLITE.c.search_text.op("MATCH")(" AND ".join(quoted))


def vector_match(phrase: Phrase, table: sa.FromClause = POSTGRESQL) -> sa.ColumnElement[bool]:
    """That a row of a table of tsvectors holds this phrase."""
    words = words_of(phrase.words).split()
    query = " <-> ".join(words) + ":*" * (phrase.prefix and bool(words))
    return table.c.body.op("@@")(sa.func.to_tsquery("simple", query))


def words_of(text: str) -> str:
    """`text` as PostgreSQL's parser shall see it: words alone, as FTS5 cuts them, without accents."""
    if not text.isascii():
        plain = unicodedata.normalize("NFKD", text)
        text = "".join(character for character in plain if not unicodedata.combining(character))
    return _NO_WORD.sub(" ", text)


_trace = tables.trace.c


class _IdRange(Struct, frozen=True, order=True):
    """Ids up to `last`, of traces up to `newest_at_s`; the stretch that reaches furthest is the greatest."""

    newest_at_s: float
    last: int

    @property
    def first(self) -> int:
        """The lowest id of the stretch in which `last` lies."""
        return self.last - self.last % _STRETCH


def newest_holding(
    connection: sa.Connection,
    phrases: Sequence[Phrase],
    conditions: Sequence[sa.ColumnElement[bool]],
    *,
    limit: int,
    after: ListCursor | None,
) -> list[int] | None:
    """The newest `limit` traces behind `after` that hold these phrases and fulfil these conditions on `trace`.

    None where that cannot be read off the index within a bound, and from an index that has no order.
    """
    if connection.dialect.name != "sqlite":
        return None
    best: list[tuple[float, int]] = []
    visited = 0
    for run in _runs(_stretches(connection, phrases, after)):
        left = run
        while left and len(best) < limit:
            if visited > _MOST:
                return None
            step = limit + _STATEMENT + visited
            ids = _held(connection, phrases, left[-1].first, left[0].last, step)
            met = sa.select(_trace.sort_at_s, _trace.id).where(*conditions, *_behind(after))
            for group in in_groups(ids):
                best += _places(connection, met.where(_trace.id.in_(group)))
            best = sorted(best, reverse=True)[:limit]
            visited += len(ids) + _STATEMENT
            left = _rest(left, ids[-1]) if len(ids) == step else []
        for stretch in left:
            if best[-1] >= (stretch.newest_at_s, stretch.last):
                break
            if visited > _MOST:
                return None
            newer = _places(connection, _newer(stretch, best[-1]).where(*conditions, *_behind(after)).limit(_MOST))
            held = holding_among(connection, [id_ for _, id_ in newer], phrases)
            best = sorted([*best, *(place for place in newer if place[1] in held)], reverse=True)[:limit]
            visited += len(newer) + _STATEMENT
    return [id_ for _, id_ in best]


def _stretches(connection: sa.Connection, phrases: Sequence[Phrase], after: ListCursor | None) -> list[_IdRange]:
    """The stretches that may hold the words behind `after`, the newest first, each said to end there at the latest."""
    ends = [_held(connection, phrases, 0, _HIGHEST, 1, down=down) for down in (False, True)]
    if not all(ends):
        return []
    (first,), (last,) = ends
    latest = float("inf") if after is None else after.sort_at_s
    times = connection.exec_driver_sql(_TIMES.format(size=_STRETCH, first=first, last=last))
    return sorted(
        (
            _IdRange(min(newest, latest), (number + 1) * _STRETCH - 1)
            for number, oldest, newest in times
            if oldest is not None and oldest <= latest
        ),
        reverse=True,
    )


def _runs(stretches: Sequence[_IdRange]) -> Iterator[list[_IdRange]]:
    """The stretches in their order, those together that follow each other down the ids without a gap."""
    run: list[_IdRange] = []
    for stretch in stretches:
        if run and stretch.last != run[-1].first - 1:
            yield run
            run = []
        run.append(stretch)
    if run:
        yield run


def _rest(run: Sequence[_IdRange], reached: int) -> list[_IdRange]:
    """What of a run lies below the id down to which it has been read."""
    below = [stretch for stretch in run if stretch.first < reached]
    return [_IdRange(below[0].newest_at_s, min(below[0].last, reached - 1)), *below[1:]] if below else []


def _held(
    connection: sa.Connection, phrases: Sequence[Phrase], first: int, last: int, most: int, *, down: bool = True
) -> Sequence[int]:
    """Ids of this range that the text index holds under these phrases, from its upper end down or from below."""
    rowid = SQLITE.c.rowid
    held = sa.select(rowid).where(match(phrases), rowid.between(first, last))
    return connection.scalars(held.order_by(rowid.desc() if down else rowid).limit(most)).all()


def _newer(stretch: _IdRange, place: tuple[float, int]) -> sa.Select[float, int]:
    """The traces of a stretch that a list puts before this place."""
    number = sa.literal_column(f"trace.id / {_STRETCH}", sa.Integer)
    newer = sa.select(_trace.sort_at_s, _trace.id).where(number == stretch.first // _STRETCH)
    return newer.where(_trace.id <= stretch.last, sa.tuple_(_trace.sort_at_s, _trace.id) > sa.tuple_(*place))


def _places(connection: sa.Connection, wanted: sa.Select[float, int]) -> list[tuple[float, int]]:
    return [(at_s, id_) for at_s, id_ in connection.execute(wanted)]


def _behind(after: ListCursor | None) -> list[sa.ColumnElement[bool]]:
    place = sa.tuple_(_trace.sort_at_s, _trace.id)
    return [] if after is None else [place < sa.tuple_(after.sort_at_s, after.id)]


def ids_holding(connection: sa.Connection, phrases: Sequence[Phrase]) -> sa.Select[int]:
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
    if connection.dialect.name == "postgresql" and are_common_behind(connection, phrases, None):
        return enough
    return _count(connection, ids_holding(connection, phrases).limit(enough))


def are_common_behind(connection: sa.Connection, phrases: Sequence[Phrase], after: ListCursor | None) -> bool:
    """Whether many of the next traces of the list hold these phrases."""
    newest = sa.select(_trace.id).where(*_behind(after)).order_by(_trace.sort_at_s.desc(), _trace.id.desc())
    sample = connection.scalars(newest.limit(_SAMPLE)).all()
    return len(holding_among(connection, sample, phrases)) >= _COMMON_IN_SAMPLE


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
    for run in _statement_runs(sorted(ids)):
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


def _statement_runs(ids: Sequence[int]) -> Iterator[list[int]]:
    """Ascending ids in runs without a wide gap."""
    run: list[int] = []
    for id_ in ids:
        if run and id_ - run[-1] > _CLOSE:
            yield run
            run = []
        run.append(id_)
    if run:
        yield run


def index_waiting(connection: sa.Connection, most: int) -> int:
    """Read traces that are waiting into the index, at most so many; how many."""
    pending = tables.search_pending
    ids = connection.scalars(sa.select(pending.c.trace_id).order_by(pending.c.trace_id).limit(most)).all()
    if ids:
        _index(connection, ids)
        for group in in_groups(ids):
            connection.execute(sa.delete(pending).where(pending.c.trace_id.in_(group)))
    return len(ids)


def remove_from_index(connection: sa.Connection, ids: Sequence[int]) -> None:
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


def merge_index(connection: sa.Connection) -> None:
    """Write an FTS5 index anew, so that the words of what was taken out are no longer in it."""
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
    """The text of each trace that is searched, always the same for the same parts.

    The texts come in lists of at least one and little more than `_TOGETHER` characters: all at once would take memory
    without a bound.
    """
    for group in _groups_by_size(connection, ids):
        part = tables.part.c
        wanted = sa.select(part.trace_id, part.text).where(part.trace_id.in_(group))
        texts: dict[int, list[str]] = {id_: [] for id_ in group}
        for id_, blob in connection.execute(wanted.order_by(part.trace_id, part.turn, part.number)):
            with suppress(*DAMAGE_ERRORS):  # what is damaged cannot be found, and the rest of its trace can
                texts[id_].append(NOT_INDEXED.sub(" ", text_from_bytes(from_blob(blob))))
        yield [(id_, _BETWEEN_PARTS.join(some)) for id_, some in texts.items()]


def _groups_by_size(connection: sa.Connection, ids: Sequence[int]) -> Iterator[list[int]]:
    """The ids in lists of traces that hold at least one and little more than `_TOGETHER` characters."""
    group: list[int] = []
    room = _TOGETHER
    for some in in_groups(ids):
        sizes = dict(connection.execute(sa.select(_trace.id, _trace.characters).where(_trace.id.in_(some))).all())
        for id_ in some:
            group.append(id_)
            room -= sizes.get(id_, 0)
            if room < 0 or len(group) == _MOST_TOGETHER:
                yield group
                group, room = [], _TOGETHER
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
