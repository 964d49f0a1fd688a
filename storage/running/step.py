"""What one transaction writes of a session that is being recorded."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from inspector.model import Chunk, Generation, Role, Turn
from inspector.model.arrivals import turn_so_far
from storage.drafts import Draft
from storage.record_rows import RecordRows
from storage.running.pieces import opening, piece


@dataclass(frozen=True, slots=True)
class TurnPiece:
    """A piece of an open turn on its way into the database; number 0 is the turn's opening."""

    turn: int
    number: int
    body: bytes


@dataclass(frozen=True, slots=True)
class SessionWrite:
    """What one transaction writes of a session.

    `id` is the trace's, None for one that is not there yet. Of its turns, the first `kept` lie in the database as they
    are. `draft` is the trace with its inspection; or `grown` the turns behind those, not inspected yet; or neither
    where no turn has ended since the last step. `closed` are turns whose pieces go. With `ended` the trace is no
    longer open; `waits` says that a turn is open.
    """

    id: int | None
    draft: Draft | None
    grown: RecordRows | None
    kept: int
    pieces: tuple[TurnPiece, ...]
    closed: tuple[int, ...]
    ended: bool
    waits: bool


@dataclass(slots=True)
class RunningTurn:
    """A turn that has begun; `written` chunks of it stand in the database, in `pieces` pieces with the opening."""

    role: Role
    generation: Generation | None = None
    chunks: list[Chunk] = field(default_factory=list)
    written: int = 0
    pieces: int = 0

    def so_far(self) -> Turn:
        """The turn, cut where it has come to."""
        return turn_so_far(self.role, self.chunks, self.generation)

    def new_pieces(self, number: int) -> Iterator[TurnPiece]:
        """What of it is not in the database yet; `number` is the turn's."""
        if not self.pieces:
            yield TurnPiece(number, 0, opening(self.role, self.generation))
        new = self.chunks[self.written :]
        if new:
            yield TurnPiece(number, self.pieces or 1, piece(new))
