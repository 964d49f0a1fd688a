"""Follows traces while another process records them: each look tells what happened since the one before.

A look costs two small statements while nothing happens. Recorders leave a sign of life in `live` with every write, so
the pieces of open turns are asked for only where that moved, and then from behind the last one seen: nothing is read
twice. A trace that a filter does not let through yet is looked at again whenever a turn of it has ended.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import pairwise

import sqlalchemy as sa
from msgspec import Struct, field

from inspector.capture.events import ChunksArrived, RecordEvent, TraceEnded, TraceStarted, TurnEnded, TurnStarted
from inspector.model import Chunk, Turn
from storage import tables
from storage.filter import Filter
from storage.filter.sql import matching
from storage.filter.terms import with_known_words, words_in
from storage.reading import read_facts, read_turns
from storage.running.session import chunks_in, opened_turn
from storage.search_queries import held_words
from storage.tables import in_groups

_AT_ONCE = 50  # traces that are new in one look; an import beside it may bring a hundred thousand
_live, _piece, _trace = tables.live.c, tables.live_piece.c, tables.trace.c


class _FollowedTurn(Struct):
    """An open turn: the last piece that was seen of it, and how many chunks and code points of each part came."""

    piece: int = 0
    chunks: dict[str, int] = field(default_factory=dict)
    characters: dict[str, int] = field(default_factory=dict)

    def count(self, chunks: list[Chunk]) -> None:
        for chunk in chunks:
            self.chunks[chunk.part] = self.chunks.get(chunk.part, 0) + 1
            self.characters[chunk.part] = self.characters.get(chunk.part, 0) + len(chunk.text)


class _Followed(Struct):
    """A trace that is followed. The turns in `ended` are told, or ended before anybody looked."""

    beat: tuple[str, float] | None = None
    fingerprint: bytes = b""
    matches: bool = False
    begun: bool = False
    ended: set[int] = field(default_factory=set)
    open: dict[int, _FollowedTurn] = field(default_factory=dict)


class _RunningRow(Struct, frozen=True):
    """A trace as it is now; `beat` is None where it is no longer running."""

    beat: tuple[str, float] | None
    fingerprint: bytes
    turns: int


class Following:
    """What happens to traces from now on; made by `Store.follow`. For one thread at a time."""

    def __init__(
        self,
        reads: Callable[[], AbstractContextManager[sa.Connection]],
        wanted: Filter,
        *,
        from_start: bool,
        most: int | None = None,
    ) -> None:
        self._reads = reads
        self._wanted = wanted
        self._followed: dict[int, _Followed] = {}
        with reads() as connection:
            self._last_id = connection.scalar(sa.select(sa.func.max(_trace.id))) or 0
            for id_, row in _running(connection).items():
                self._followed[id_] = _Followed()
                if from_start and most is None:
                    continue
                ended = _ended(row.turns, _open_turns(connection, id_))
                told = most if from_start and most is not None else 0
                self._followed[id_].ended = set(sorted(ended)[: max(len(ended) - told, 0)])

    def poll(self) -> list[RecordEvent]:
        """What happened since the last look, trace after trace, each in its order; raises as `Store.trace` does."""
        with self._reads() as connection:
            rows = self._changed(connection)
            self._match(connection, rows)
            matched = {id_: row for id_, row in rows.items() if self._followed[id_].matches}
            events = [event for id_, row in matched.items() for event in self._turns(connection, id_, row)]
            events += self._pieces(connection, [id_ for id_, row in matched.items() if row.beat is not None])
            events += self._ends(connection, matched)
        for id_, row in rows.items():
            self._followed[id_].beat, self._followed[id_].fingerprint = row.beat, row.fingerprint
            if row.beat is None:
                del self._followed[id_]
        return events

    def _changed(self, connection: sa.Connection) -> dict[int, _RunningRow]:
        """The traces that changed since the last look, and those that are new, as they are now, by id."""
        ids = sa.select(_trace.id).where(_trace.id > self._last_id).order_by(_trace.id).limit(_AT_ONCE)
        new: list[int] = list(connection.scalars(ids))
        self._last_id = new[-1] if new else self._last_id
        rows = {id_: row for id_, row in _running(connection).items() if id_ <= self._last_id}
        left = [id_ for id_ in (*self._followed, *new) if id_ not in rows]
        for id_ in (*rows, *new):
            self._followed.setdefault(id_, _Followed())
        rows = {id_: row for id_, row in rows.items() if row.beat != self._followed[id_].beat}
        gone = dict.fromkeys(left, _RunningRow(None, b"", 0))
        return dict(sorted((rows | gone | _stopped(connection, left)).items()))

    def _match(self, connection: sa.Connection, rows: dict[int, _RunningRow]) -> None:
        """See which traces the filter lets through that it did not before."""
        asked = [
            id_
            for id_, row in rows.items()
            if not self._followed[id_].matches and row.fingerprint != self._followed[id_].fingerprint
        ]
        if not asked:
            return
        now_s, words = time.time(), set(words_in(self._wanted))
        plain = tuple(term for term in self._wanted if not any(words_in((term,))))
        for id_ in matching(connection, plain, asked, now_s):
            # The text index does not know yet what is being recorded: the texts are read.
            known = with_known_words(self._wanted, held_words(connection, id_, words)) if words else ()
            self._followed[id_].matches = not words or id_ in matching(connection, known, [id_], now_s)

    def _turns(self, connection: sa.Connection, id_: int, row: _RunningRow) -> Iterator[RecordEvent]:
        """The beginning of a trace, and its turns that ended."""
        key, followed = str(id_), self._followed[id_]
        if not followed.begun:
            followed.begun = True
            yield TraceStarted(key, read_facts(connection, id_))
        if row.fingerprint == followed.fingerprint or not row.fingerprint:
            return
        still_open = _open_turns(connection, id_)
        new = _ended(row.turns, still_open) - followed.ended
        if new:
            numbers = [number for number in range(1, row.turns + len(still_open) + 1) if number not in still_open]
            first = numbers.index(min(new))
            turns = read_turns(connection, id_, after=first)
            for number, turn in zip(numbers[first:], turns, strict=False):
                if number in new:
                    yield from _ending(key, number, turn, followed.open.pop(number, None))
            followed.ended |= new
        followed.open = {number: turn for number, turn in followed.open.items() if number in still_open}

    def _pieces(self, connection: sa.Connection, ids: list[int]) -> Iterator[RecordEvent]:
        """What came of the open turns of these traces."""
        for group in in_groups(ids, _AT_ONCE):
            wanted = sa.select(_piece.trace_id, _piece.turn, _piece.number, _piece.body).where(
                sa.or_(*(sa.and_(_piece.trace_id == id_, _unseen(self._followed[id_].open)) for id_ in group))
            )
            found = connection.execute(wanted.order_by(_piece.trace_id, _piece.turn, _piece.number)).all()
            for id_, turn, number, body in found:
                opened = self._followed[id_].open
                if number == 0:
                    opened[turn] = _FollowedTurn()
                    said = opened_turn(body)
                    yield TurnStarted(str(id_), turn, said.role, said.generation)
                elif turn in opened:
                    chunks = chunks_in(body)
                    opened[turn].piece = number
                    opened[turn].count(chunks)
                    yield ChunksArrived(str(id_), turn, tuple(chunks))

    def _ends(self, connection: sa.Connection, rows: dict[int, _RunningRow]) -> Iterator[RecordEvent]:
        for id_, row in rows.items():
            if row.beat is None:
                yield TraceEnded(str(id_), read_facts(connection, id_).outcome if row.fingerprint else None)


def _running(connection: sa.Connection) -> dict[int, _RunningRow]:
    wanted = sa.select(_live.trace_id, _live.owner, _live.beat_at_s, _trace.fingerprint, _trace.turns)
    joined = wanted.join_from(tables.live, tables.trace)
    return {
        id_: _RunningRow((owner, at_s), bytes(fingerprint), turns)
        for id_, owner, at_s, fingerprint, turns in connection.execute(joined)
    }


def _stopped(connection: sa.Connection, ids: list[int]) -> dict[int, _RunningRow]:
    """Those of these traces that are there, and no longer running."""
    found: dict[int, _RunningRow] = {}
    for group in in_groups(ids):
        wanted = sa.select(_trace.id, _trace.fingerprint, _trace.turns).where(_trace.id.in_(group))
        found |= {
            id_: _RunningRow(None, bytes(fingerprint), turns) for id_, fingerprint, turns in connection.execute(wanted)
        }
    return found


def _open_turns(connection: sa.Connection, id_: int) -> set[int]:
    wanted = sa.select(_piece.turn).where(_piece.trace_id == id_, _piece.number == 0)
    return set(connection.scalars(wanted))


def _ended(count: int, still_open: set[int]) -> set[int]:
    """The numbers of the `count` turns that have ended: turns count from 1, and open ones are among them."""
    numbers = (number for number in range(1, count + len(still_open) + 1) if number not in still_open)
    return {number for number, _ in zip(numbers, range(count), strict=False)}


def _unseen(opened: dict[int, _FollowedTurn]) -> sa.ColumnElement[bool]:
    """Pieces behind the last one seen of each turn, and those of other turns, said as stretches of the key."""
    turns = sorted(opened)
    if not turns:
        return sa.true()
    stretches: list[sa.ColumnElement[bool]] = [_piece.turn < turns[0], _piece.turn > turns[-1]]
    stretches += (sa.and_(_piece.turn == turn, _piece.number > opened[turn].piece) for turn in turns)
    stretches += (sa.and_(_piece.turn > turn, _piece.turn < following) for turn, following in pairwise(turns))
    return sa.or_(*stretches)


def _ending(key: str, number: int, turn: Turn, opened: _FollowedTurn | None) -> Iterator[RecordEvent]:
    """What was still to be told of a turn, and that it ended."""
    if opened is None:
        yield TurnStarted(key, number, turn.role, turn.generation)
    rest = sorted(_rest(turn, opened or _FollowedTurn()), key=lambda chunk: chunk.sequence)
    if rest:
        yield ChunksArrived(key, number, tuple(rest))
    yield TurnEnded(key, number, turn)


def _rest(turn: Turn, opened: _FollowedTurn) -> Iterator[Chunk]:
    """The arrivals of a turn behind those that were seen; of a part that came and was kept whole, its last words."""
    for part in turn.parts:
        seen = opened.characters.get(part.name, 0)
        if part.chunks is None:
            if 0 < seen < len(part.text):
                yield Chunk(sum(opened.chunks.values()), part.name, part.text[seen:])
            continue
        arrivals = list(part.arrivals())[opened.chunks.get(part.name, 0) :]
        if sum(len(chunk.text) for chunk in arrivals) + seen == len(part.text):
            yield from arrivals
