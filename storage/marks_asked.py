"""Marks, as the store is asked to keep and to tell them."""

import time
from abc import abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager

import sqlalchemy as sa

from storage.engine import writing
from storage.failures import sentences
from storage.location import DatabaseLocation
from storage.marks import Mark, put_mark, read_marks, take_mark, take_marks
from storage.reading import find_id


class KeepsMarks:
    """What a store keeps of a reader's marks; `Store` is one, and says which errors are raised."""

    _engine: sa.Engine
    place: DatabaseLocation

    @abstractmethod
    def _reads(self) -> AbstractContextManager[sa.Connection]: ...

    def mark(self, id: int | str, *, turn: int | None = None, step: int | None = None, note: str = "") -> None:
        """Mark a trace, or one turn or step of it (both count from 1), with a note; that of a second mark counts.

        Marks stay when a longer version of the session comes or the trace is inspected again; they go with it.
        """
        with sentences(self.place), writing(self._engine) as connection:
            put_mark(connection, Mark(find_id(connection, id), turn, step, note, time.time()))

    def unmark(
        self, id: int | str, *, turn: int | None = None, step: int | None = None, own_only: bool = False
    ) -> None:
        """Take away the mark of one turn or step of a trace; where neither is named all its marks.

        `own_only` then leaves those of its turns and steps.
        """
        with sentences(self.place), writing(self._engine) as connection:
            number = find_id(connection, id)
            if own_only or turn is not None or step is not None:
                take_mark(connection, number, turn, step)
            else:
                take_marks(connection, number)

    def marks(self, ids: Iterable[int | str]) -> dict[int, tuple[Mark, ...]]:
        """The marks of these traces, the oldest first, by the trace's number; traces without one are left out."""
        with self._reads() as connection:
            return read_marks(connection, [find_id(connection, one) for one in ids])
