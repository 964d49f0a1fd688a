"""Full-text search: each kind of database has its own index, which the migrations create.

SQLite: a contentless FTS5 table, one row per trace. PostgreSQL: pieces of a trace as tsvector with a GIN index.
Both match words and ignore case, accents and punctuation. The index is filled after an import.
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
"""Characters that no database accepts; they are replaced with spaces."""

SQLITE = sa.table("search_text", sa.column("rowid"), sa.column("body"), sa.column("search_text"))
POSTGRESQL = sa.table("search_text", sa.column("trace_id"), sa.column("piece"), sa.column("body"))
_NO_WORD = lazy_pattern(r"[\W_]+")
_STRETCH = 4_096  # ids; the index that migration v0006 creates has the same number
_MOST = 5_000  # rows of the text index to read before giving up
_STATEMENT = 100  # cost of a statement, in rows
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
_MOST_TOGETHER = 500  # traces, because the number of parameters of a statement is limited
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


class _IdRange(Struct, frozen=True, order=True):
    """A range of ids that ends at `last`; its traces are not newer than `newest_at_s`, by which ranges are sorted."""

    newest_at_s: float
    last: int

    @property
    def first(self) -> int:
        """The lowest id of the range, a multiple of `_STRETCH`."""
        return self.last - self.last % _STRETCH


def newest_holding(
    connection: sa.Connection,
    phrases: Sequence[Phrase],
    conditions: Sequence[sa.ColumnElement[bool]],
    *,
    limit: int,
    after: ListCursor | None,
) -> list[int] | None:
    """The newest `limit` traces after `after` that contain these phrases and match these conditions on `trace`.

    None if the index cannot answer this within a bound, or if it has no order (PostgreSQL).
    """
    if connection.dialect.name != "sqlite":
        return None
    best: list[tuple[float, int]] = []
    visited = 0
    for run in _runs(_ranges(connection, phrases, after)):
        remaining = run
        while remaining and len(best) < limit:
            if visited > _MOST:
                return None
            step = limit + _STATEMENT + visited
            ids = _matching_ids(connection, phrases, remaining[-1].first, remaining[0].last, step)
            matching = sa.select(_trace.sort_at_s, _trace.id).where(*conditions, *_after_cursor(after))
            for group in in_groups(ids):
                best += _places(connection, matching.where(_trace.id.in_(group)))
            best = sorted(best, reverse=True)[:limit]
            visited += len(ids) + _STATEMENT
            remaining = _rest(remaining, ids[-1]) if len(ids) == step else []
        for part in remaining:
            if best[-1] >= (part.newest_at_s, part.last):
                break
            if visited > _MOST:
                return None
            newer = _places(connection, _newer(part, best[-1]).where(*conditions, *_after_cursor(after)).limit(_MOST))
            matches = holding_among(connection, [id_ for _, id_ in newer], phrases)
            best = sorted([*best, *(place for place in newer if place[1] in matches)], reverse=True)[:limit]
            visited += len(newer) + _STATEMENT
    return [id_ for _, id_ in best]


def _ranges(connection: sa.Connection, phrases: Sequence[Phrase], after: ListCursor | None) -> list[_IdRange]:
    """The ranges of ids that may contain the words after `after`, newest first; none is newer than `after`."""
    ends = [_matching_ids(connection, phrases, 0, _HIGHEST, 1, down=down) for down in (False, True)]
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


def _runs(ranges: Sequence[_IdRange]) -> Iterator[list[_IdRange]]:
    """The ranges in order, grouped into runs whose ids descend without a gap."""
    run: list[_IdRange] = []
    for id_range in ranges:
        if run and id_range.last != run[-1].first - 1:
            yield run
            run = []
        run.append(id_range)
    if run:
        yield run


def _rest(run: Sequence[_IdRange], reached: int) -> list[_IdRange]:
    """The part of a run below the last id that was read."""
    below = [id_range for id_range in run if id_range.first < reached]
    return [_IdRange(below[0].newest_at_s, min(below[0].last, reached - 1)), *below[1:]] if below else []


def _matching_ids(
    connection: sa.Connection, phrases: Sequence[Phrase], first: int, last: int, most: int, *, down: bool = True
) -> Sequence[int]:
    """Ids of this range that the text index has for these phrases, in descending or ascending order."""
    rowid = SQLITE.c.rowid
    query = sa.select(rowid).where(match(phrases), rowid.between(first, last))
    return connection.scalars(query.order_by(rowid.desc() if down else rowid).limit(most)).all()


def _newer(id_range: _IdRange, place: tuple[float, int]) -> sa.Select[float, int]:
    """The traces of a range that a list shows before this position."""
    number = sa.literal_column(f"trace.id / {_STRETCH}", sa.Integer)
    newer = sa.select(_trace.sort_at_s, _trace.id).where(number == id_range.first // _STRETCH)
    return newer.where(_trace.id <= id_range.last, sa.tuple_(_trace.sort_at_s, _trace.id) > sa.tuple_(*place))


def _places(connection: sa.Connection, query: sa.Select[float, int]) -> list[tuple[float, int]]:
    return [(at_s, id_) for at_s, id_ in connection.execute(query)]


def _after_cursor(after: ListCursor | None) -> list[sa.ColumnElement[bool]]:
    place = sa.tuple_(_trace.sort_at_s, _trace.id)
    return [] if after is None else [place < sa.tuple_(after.sort_at_s, after.id)]


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


def holds_phrase(connection: sa.Connection, phrase: Phrase) -> sa.ColumnElement[bool]:
    """The condition that a trace contains this phrase, as a subquery for each row of `trace`."""
    if connection.dialect.name == "sqlite":
        query = sa.select(sa.literal(1)).select_from(SQLITE).where(match([phrase]), SQLITE.c.rowid == tables.trace.c.id)
    else:
        of_trace = POSTGRESQL.c.trace_id == tables.trace.c.id
        found = sa.case((vector_match(phrase), sa.true()), else_=sa.false())
        query = sa.select(sa.literal(1)).select_from(POSTGRESQL).where(of_trace, found)
    return sa.exists(query.correlate(tables.trace))


def count_up_to(connection: sa.Connection, phrases: Sequence[Phrase], enough: int) -> int:
    """The number of ids of `ids_holding`, exact below `enough`; else, or if the words seem common, `enough`.

    An FTS5 index is read up to `enough` rows. A GIN index cannot stop early, so the newest traces are sampled first:
    words that are common in the sample count as common.
    """
    if connection.dialect.name == "postgresql" and are_common_after(connection, phrases, None):
        return enough
    return _count(connection, ids_holding(connection, phrases).limit(enough))


def are_common_after(connection: sa.Connection, phrases: Sequence[Phrase], after: ListCursor | None) -> bool:
    """Whether many of the next traces of the list contain these phrases."""
    newest = sa.select(_trace.id).where(*_after_cursor(after)).order_by(_trace.sort_at_s.desc(), _trace.id.desc())
    sample = connection.scalars(newest.limit(_SAMPLE)).all()
    return len(holding_among(connection, sample, phrases)) >= _COMMON_IN_SAMPLE


def are_cheaper_than(connection: sa.Connection, phrases: Sequence[Phrase], others: int) -> bool:
    """Whether reading all traces that contain these phrases is cheaper than `others` index lookups.

    An FTS5 lookup costs about as much as reading a trace. On PostgreSQL, matching single tsvectors is more expensive
    than reading the GIN index, and counting its rows costs as much as reading the traces.
    """
    return connection.dialect.name == "postgresql" or count_up_to(connection, phrases, others) < others


def holding_among(connection: sa.Connection, ids: Sequence[int], phrases: Sequence[Phrase]) -> set[int]:
    """Which of these traces contain all these phrases.

    An FTS5 index is scanned over runs of ids that are close together; only isolated ids are looked up one by one, since
    a lookup costs as much as scanning a hundred ids. A GIN index would be read whole, so each trace's rows are matched.
    """
    if connection.dialect.name == "postgresql":
        return set.intersection(*(_holding_among(connection, ids, phrase) for phrase in phrases))
    matches: set[int] = set()
    alone: list[int] = []
    for run in _statement_runs(sorted(ids)):
        if len(run) == 1:
            alone += run
        else:
            between = SQLITE.c.rowid.between(run[0], run[-1])
            matches.update(connection.scalars(sa.select(SQLITE.c.rowid).where(match(phrases), between)))
    for group in in_groups(alone):
        matches.update(connection.scalars(sa.select(SQLITE.c.rowid).where(match(phrases), SQLITE.c.rowid.in_(group))))
    return matches.intersection(ids)


def _count(connection: sa.Connection, query: sa.Select[int]) -> int:
    return connection.scalar(sa.select(sa.func.count()).select_from(query.subquery())) or 0


def _holding_among(connection: sa.Connection, ids: Sequence[int], phrase: Phrase) -> set[int]:
    id_, found = POSTGRESQL.c.trace_id, sa.case((vector_match(phrase), sa.true()), else_=sa.false())
    matches: set[int] = set()
    for group in in_groups(ids):
        matches.update(connection.scalars(sa.select(id_).where(id_.in_(group), found)))
    return matches


def _statement_runs(ids: Sequence[int]) -> Iterator[list[int]]:
    """Ascending ids, grouped into runs without wide gaps."""
    run: list[int] = []
    for id_ in ids:
        if run and id_ - run[-1] > _CLOSE:
            yield run
            run = []
        run.append(id_)
    if run:
        yield run


def index_waiting(connection: sa.Connection, most: int) -> int:
    """Add pending traces to the index, at most `most`; the number of traces added."""
    pending = tables.search_pending
    ids = connection.scalars(sa.select(pending.c.trace_id).order_by(pending.c.trace_id).limit(most)).all()
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
        for id_, blob in connection.execute(query.order_by(part.trace_id, part.turn, part.number)):
            with suppress(*DAMAGE_ERRORS):  # damaged parts are not indexed, the rest of their trace is
                texts[id_].append(NOT_INDEXED.sub(" ", text_from_bytes(from_blob(blob))))
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
            if remaining < 0 or len(group) == _MOST_TOGETHER:
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
