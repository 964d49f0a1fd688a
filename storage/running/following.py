"""Follows traces while another process records them: each poll returns the events since the previous poll.

A poll costs two small statements while nothing happens. Recorders update a heartbeat in `live` with every write, so a
poll queries the pieces of open turns only if the heartbeat changed, and only the pieces after the last one seen:
nothing is read twice. A trace that does not match the filter yet is matched again whenever one of its turns ends.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import TypeVar

import sqlalchemy as sa
from msgspec import Struct, field

from weaklink.inspector.capture.events import (
    ChunksArrived,
    RecordEvent,
    TraceEnded,
    TraceStarted,
    TurnEnded,
    TurnStarted,
)
from weaklink.inspector.model import Chunk, Role, Turn
from weaklink.storage import tables
from weaklink.storage.engine import DAMAGE_ERRORS
from weaklink.storage.filter import Filter
from weaklink.storage.filter.sql import matching
from weaklink.storage.filter.terms import with_known_words, words_in
from weaklink.storage.running.session import chunks_in, opened_turn
from weaklink.storage.salvage import read_stored_facts, read_stored_turns
from weaklink.storage.search_queries import held_words
from weaklink.storage.tables import in_groups

_AT_ONCE = 50  # new traces in one poll; an import at the same time may add a hundred thousand
_Value = TypeVar("_Value")
_live, _piece, _trace = tables.live.c, tables.live_piece.c, tables.trace.c


class _FollowedTurn(Struct):
    """An open turn: the last piece seen, and how many chunks and code points of each part were reported."""

    piece: int = 0
    chunks: dict[str, int] = field(default_factory=dict)
    characters: dict[str, int] = field(default_factory=dict)

    def count(self, chunks: list[Chunk]) -> None:
        for chunk in chunks:
            self.chunks[chunk.part] = self.chunks.get(chunk.part, 0) + 1
            self.characters[chunk.part] = self.characters.get(chunk.part, 0) + len(chunk.text)


class _Followed(Struct):
    """A trace that is followed. The turns in `ended` were already reported, or ended before following began."""

    beat: tuple[str, float] | None = None
    fingerprint: bytes = b""
    matches: bool = False
    begun: bool = False
    ended: set[int] = field(default_factory=set)
    open: dict[int, _FollowedTurn] = field(default_factory=dict)


class _RunningRow(Struct, frozen=True):
    """The current state of a trace; `beat` is None if it is no longer running."""

    beat: tuple[str, float] | None
    fingerprint: bytes
    turns: int


class Following:
    """Follows traces from now on; `Store.follow` returns it. Only one thread at a time may use it."""

    def __init__(
        self,
        reads: Callable[[], AbstractContextManager[sa.Connection]],
        filter_: Filter,
        *,
        from_start: bool,
        most: int | None = None,
    ) -> None:
        self._reads = reads
        self._filter = filter_
        self._followed: dict[int, _Followed] = {}
        with reads() as connection:
            self._last_id = connection.scalar(sa.select(sa.func.max(_trace.id))) or 0
            for id_, row in _running(connection).items():
                self._followed[id_] = _Followed()
                if from_start and most is None:
                    continue
                ended = _ended(row.turns, _open_turns(connection, id_))
                reported = most if from_start and most is not None else 0
                self._followed[id_].ended = set(sorted(ended)[: max(len(ended) - reported, 0)])

    def poll(self) -> list[RecordEvent]:
        """The events since the last poll, trace by trace, each in order. Raises the same errors as `Store.trace`."""
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
        """The current state of the traces that are new or changed since the last poll, by id."""
        ids = sa.select(_trace.id).where(_trace.id > self._last_id).order_by(_trace.id).limit(_AT_ONCE)
        new: list[int] = list(connection.scalars(ids))
        self._last_id = new[-1] if new else self._last_id
        rows = {id_: row for id_, row in _running(connection).items() if id_ <= self._last_id}
        not_running = [id_ for id_ in (*self._followed, *new) if id_ not in rows]
        for id_ in (*rows, *new):
            self._followed.setdefault(id_, _Followed())
        rows = {id_: row for id_, row in rows.items() if row.beat != self._followed[id_].beat}
        deleted = dict.fromkeys(not_running, _RunningRow(None, b"", 0))
        return dict(sorted((rows | deleted | _stopped(connection, not_running)).items()))

    def _match(self, connection: sa.Connection, rows: dict[int, _RunningRow]) -> None:
        """Update which of the changed traces match the filter."""
        candidates = [
            id_
            for id_, row in rows.items()
            if not self._followed[id_].matches and row.fingerprint != self._followed[id_].fingerprint
        ]
        if not candidates:
            return
        now_s, words = time.time(), set(words_in(self._filter))
        without_words = tuple(term for term in self._filter if not any(words_in((term,))))
        for id_ in matching(connection, without_words, candidates, now_s):
            # The text index does not contain texts that are still being recorded: read the texts themselves.
            known = with_known_words(self._filter, held_words(connection, id_, words)) if words else ()
            self._followed[id_].matches = not words or id_ in matching(connection, known, [id_], now_s)

    def _turns(self, connection: sa.Connection, id_: int, row: _RunningRow) -> Iterator[RecordEvent]:
        """The start of a trace, and its turns that ended."""
        key, followed = str(id_), self._followed[id_]
        if not followed.begun:
            followed.begun = True
            yield TraceStarted(key, read_stored_facts(connection, id_))
        if row.fingerprint == followed.fingerprint or not row.fingerprint:
            return
        still_open = _open_turns(connection, id_)
        new = _ended(row.turns, still_open) - followed.ended
        if new:
            numbers = [number for number in range(1, row.turns + len(still_open) + 1) if number not in still_open]
            first = numbers.index(min(new))
            turns = read_stored_turns(connection, id_, after=first)
            for number, turn in zip(numbers[first:], turns, strict=False):
                if number in new:
                    yield from _ending(key, number, turn, followed.open.pop(number, None))
            followed.ended |= new
        followed.open = {number: turn for number, turn in followed.open.items() if number in still_open}

    def _pieces(self, connection: sa.Connection, ids: list[int]) -> Iterator[RecordEvent]:
        """The new pieces of the open turns of these traces."""
        for group in in_groups(ids, _AT_ONCE):
            query = sa.select(_piece.trace_id, _piece.turn, _piece.number, _piece.body).where(
                sa.or_(*(sa.and_(_piece.trace_id == id_, _unseen(self._followed[id_].open)) for id_ in group))
            )
            rows = connection.execute(query.order_by(_piece.trace_id, _piece.turn, _piece.number)).all()
            for id_, turn, number, body in rows:
                opened = self._followed[id_].open
                if number == 0:
                    opened[turn] = _FollowedTurn()
                    turn_start = _readable(body, opened_turn, Turn(Role.ASSISTANT, ()))
                    yield TurnStarted(str(id_), turn, turn_start.role, turn_start.generation)
                elif turn in opened:
                    chunks = _readable(body, chunks_in, list[Chunk]())
                    opened[turn].piece = number
                    opened[turn].count(chunks)
                    yield ChunksArrived(str(id_), turn, tuple(chunks))

    def _ends(self, connection: sa.Connection, rows: dict[int, _RunningRow]) -> Iterator[RecordEvent]:
        for id_, row in rows.items():
            if row.beat is None:
                yield TraceEnded(str(id_), read_stored_facts(connection, id_).outcome if row.fingerprint else None)


def _readable(body: bytes, read: Callable[[bytes], _Value], otherwise: _Value) -> _Value:
    """A piece; `otherwise` if it is damaged, which the end of its turn repairs or reports."""
    try:
        return read(body)
    except DAMAGE_ERRORS:
        return otherwise


def _running(connection: sa.Connection) -> dict[int, _RunningRow]:
    columns = sa.select(_live.trace_id, _live.owner, _live.beat_at_s, _trace.fingerprint, _trace.turns)
    joined = columns.join_from(tables.live, tables.trace)
    return {
        id_: _RunningRow((owner, at_s), bytes(fingerprint), turns)
        for id_, owner, at_s, fingerprint, turns in connection.execute(joined)
    }


def _stopped(connection: sa.Connection, ids: list[int]) -> dict[int, _RunningRow]:
    """Those of these traces that exist and are no longer running."""
    rows: dict[int, _RunningRow] = {}
    for group in in_groups(ids):
        query = sa.select(_trace.id, _trace.fingerprint, _trace.turns).where(_trace.id.in_(group))
        rows |= {
            id_: _RunningRow(None, bytes(fingerprint), turns) for id_, fingerprint, turns in connection.execute(query)
        }
    return rows


def _open_turns(connection: sa.Connection, id_: int) -> set[int]:
    query = sa.select(_piece.turn).where(_piece.trace_id == id_, _piece.number == 0)
    return set(connection.scalars(query))


def _ended(count: int, still_open: set[int]) -> set[int]:
    """The numbers of the `count` turns that have ended: numbers start at 1, and open turns have numbers too."""
    numbers = (number for number in range(1, count + len(still_open) + 1) if number not in still_open)
    return {number for number, _ in zip(numbers, range(count), strict=False)}


def _unseen(opened: dict[int, _FollowedTurn]) -> sa.ColumnElement[bool]:
    """Pieces after the last one seen of each turn, and those of other turns, as ranges of the key."""
    turns = sorted(opened)
    if not turns:
        return sa.true()
    ranges: list[sa.ColumnElement[bool]] = [_piece.turn < turns[0], _piece.turn > turns[-1]]
    ranges += (sa.and_(_piece.turn == turn, _piece.number > opened[turn].piece) for turn in turns)
    ranges += (sa.and_(_piece.turn > turn, _piece.turn < following) for turn, following in pairwise(turns))
    return sa.or_(*ranges)


def _ending(key: str, number: int, turn: Turn, opened: _FollowedTurn | None) -> Iterator[RecordEvent]:
    """The part of a turn that was not reported yet, and the end of the turn."""
    if opened is None:
        yield TurnStarted(key, number, turn.role, turn.generation)
    rest = sorted(_rest(turn, opened or _FollowedTurn()), key=lambda chunk: chunk.sequence)
    if rest:
        yield ChunksArrived(key, number, tuple(rest))
    yield TurnEnded(key, number, turn)


def _rest(turn: Turn, opened: _FollowedTurn) -> Iterator[Chunk]:
    """The chunks of a turn after those seen; for a part that is stored without chunks, the rest of its text."""
    for part in turn.parts:
        seen = opened.characters.get(part.name, 0)
        if part.chunks is None:
            if 0 < seen < len(part.text):
                yield Chunk(sum(opened.chunks.values()), part.name, part.text[seen:])
            continue
        arrivals = list(part.arrivals())[opened.chunks.get(part.name, 0) :]
        if sum(len(chunk.text) for chunk in arrivals) + seen == len(part.text):
            yield from arrivals
