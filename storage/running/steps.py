"""What one transaction writes of a session that is being recorded, and how open turns are kept in the database."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, field

from inspector.model import Chunk, Generation, Part, Role, Turn
from inspector.model.trace import parts_of, turn_so_far
from storage.packing.blobs import from_blob, text_from_bytes, text_to_bytes, to_blob
from storage.packing.chunks import pack_chunks, unpack_chunks
from storage.packing.records import tool_facts, tool_from, turn_facts, turn_from
from storage.packing.values import pack, unpack
from storage.record_rows import RecordRows
from storage.writing import TraceRows


class TurnPiece(Struct, frozen=True):
    """A piece of an open turn on its way into the database; number 0 is the turn's opening."""

    turn: int
    number: int
    body: bytes


class SessionWrite(Struct, frozen=True):
    """What one transaction writes of a session.

    `id` is the trace's, None for one that is not there yet. Of its turns, the first `kept` lie in the database as they
    are. `draft` is the trace with its inspection; or `grown` the turns behind those, not inspected yet; or neither
    where no turn has ended since the last step. `closed` are turns whose pieces go. With `ended` the trace is no
    longer open; `waits` says that a turn is open. `exchanges` are packed, with their numbers.
    """

    id: int | None
    draft: TraceRows | None
    grown: RecordRows | None
    kept: int
    pieces: tuple[TurnPiece, ...]
    closed: tuple[int, ...]
    ended: bool
    waits: bool
    exchanges: tuple[tuple[int, bytes], ...] = ()


class RunningTurn(Struct):
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


def opening(role: Role, generation: Generation | None) -> bytes:
    """A turn's first piece: what is known of it when it begins."""
    tools = [tool_facts(tool) for tool in generation.tools] if generation else []
    return to_blob(pack([role.value, turn_facts(Turn(role, (), generation=generation)), tools]))


def piece(chunks: Iterable[Chunk]) -> bytes:
    """Some chunks of a turn, each part's packed together."""
    parts = parts_of(chunks)
    return to_blob(
        pack([[part.name, text_to_bytes(part.text), pack_chunks(part.chunks)] for part in parts if part.chunks])
    )


def opened_turn(opened: bytes) -> Turn:
    """What an opening says, as a turn without words."""
    role, facts, tools = unpack(from_blob(opened))
    return turn_from(role, facts, (), tuple(map(tool_from, tools)))


def chunks_in(blob: bytes) -> list[Chunk]:
    """The chunks of a piece, each part's in the order they arrived."""
    return [
        chunk
        for name, text, columns in unpack(from_blob(blob))
        for chunk in Part(name, text_from_bytes(text), unpack_chunks(columns)).arrivals()
    ]


def read_so_far(opened: bytes, pieces: Sequence[bytes]) -> Turn:
    """The turn of which this opening and these pieces are kept, cut where they end."""
    chunks = [chunk for blob in pieces for chunk in chunks_in(blob)]
    begun = opened_turn(opened)
    return turn_so_far(begun.role, chunks, begun.generation)
