"""Marks (bookmarks): a user's notes about a trace, or about one turn or step of it."""

import time
from collections.abc import Iterable, Sequence

import sqlalchemy as sa
from msgspec import Struct

from weaklink.storage import tables
from weaklink.storage.engine import Database
from weaklink.storage.packing.blobs import escaped, unescaped
from weaklink.storage.reading import find_id
from weaklink.storage.tables import in_groups

_mark = tables.mark.c


class Mark(Struct, frozen=True):
    """A mark on a trace, or on one turn or step of it (both numbered from 1), with the user's note.

    `marked_at_s` is in seconds since 1970-01-01 UTC. `author` is the name of the token, or the user name from a reverse
    proxy; "" if neither is known.
    """

    trace_id: int
    turn: int | None = None
    step: int | None = None
    note: str = ""
    marked_at_s: float = 0.0
    author: str = ""


def put_mark(connection: sa.Connection, mark: Mark) -> None:
    """Store a mark; it replaces an existing mark at the same place."""
    connection.execute(sa.delete(tables.mark).where(*_at(mark.trace_id, mark.turn, mark.step)))
    row = {
        "trace_id": mark.trace_id,
        "turn": mark.turn,
        "step": mark.step,
        "note": escaped(mark.note),
        "folded": escaped(mark.note.casefold()),
        "marked_at_s": mark.marked_at_s,
        "author": escaped(mark.author),
    }
    connection.execute(sa.insert(tables.mark), row)


def remove_mark(connection: sa.Connection, trace_id: int, turn: int | None, step: int | None) -> None:
    """Remove the mark of a turn or a step; that of the trace itself if both are None."""
    connection.execute(sa.delete(tables.mark).where(*_at(trace_id, turn, step)))


def remove_marks(connection: sa.Connection, trace_id: int) -> None:
    """Remove all marks of a trace, including those of its turns and steps."""
    connection.execute(sa.delete(tables.mark).where(_mark.trace_id == trace_id))


def move_marks(connection: sa.Connection, trace_id: int, to: int) -> None:
    """Move the marks of a trace to another trace with the same identity."""
    connection.execute(sa.update(tables.mark).where(_mark.trace_id == trace_id).values(trace_id=to))


def read_marks(connection: sa.Connection, ids: Sequence[int]) -> dict[int, tuple[Mark, ...]]:
    """The marks of these traces, the oldest first, by trace; traces without one are left out."""
    by_trace: dict[int, list[Mark]] = {}
    for group in in_groups(ids):
        query = sa.select(_mark.trace_id, _mark.turn, _mark.step, _mark.note, _mark.marked_at_s, _mark.author)
        rows = connection.execute(query.where(_mark.trace_id.in_(group)).order_by(_mark.trace_id, _mark.id))
        for id_, turn, step, note, at_s, author in rows:
            by_trace.setdefault(id_, []).append(Mark(id_, turn, step, unescaped(note), at_s, unescaped(author)))
    return {id_: tuple(marks) for id_, marks in by_trace.items()}


def _at(trace_id: int, turn: int | None, step: int | None) -> list[sa.ColumnElement[bool]]:
    return [
        _mark.trace_id == trace_id,
        _mark.turn.is_(None) if turn is None else _mark.turn == turn,
        _mark.step.is_(None) if step is None else _mark.step == step,
    ]


class Bookmarks:
    """The marks of a store: `Store.marks`. Raises the same errors as `Store`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(
        self, id: int | str, *, turn: int | None = None, step: int | None = None, note: str = "", author: str = ""
    ) -> None:
        """Mark a trace, or one turn or step of it (both numbered from 1), with a note; replaces an existing mark there.

        Marks stay when a longer version of the session replaces the trace, or when it is inspected again; they are
        deleted with the trace.
        """
        with self._database.writing() as connection:
            put_mark(connection, Mark(find_id(connection, id), turn, step, note, time.time(), author))

    def remove(
        self, id: int | str, *, turn: int | None = None, step: int | None = None, own_only: bool = False
    ) -> None:
        """Remove the mark of one turn or step of a trace; all its marks if both are None.

        With `own_only`, the marks of its turns and steps stay.
        """
        with self._database.writing() as connection:
            number = find_id(connection, id)
            if own_only or turn is not None or step is not None:
                remove_mark(connection, number, turn, step)
            else:
                remove_marks(connection, number)

    def of(self, ids: Iterable[int | str]) -> dict[int, tuple[Mark, ...]]:
        """The marks of these traces, the oldest first, by the trace's number; traces without one are left out."""
        with self._database.reading() as connection:
            return read_marks(connection, [find_id(connection, id_) for id_ in ids])
