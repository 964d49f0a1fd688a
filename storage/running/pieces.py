"""What of an open turn lies in the database: an opening, then pieces of chunks in the order they arrived."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from inspector.model import BodyState, Chunk, Chunks, Generation, Part, Role, Turn
from storage.packing.blobs import from_blob, text_from_bytes, text_to_bytes, to_blob
from storage.packing.chunks import pack_chunks, unpack_chunks
from storage.packing.records import tool_facts, tool_from, turn_facts, turn_from
from storage.packing.values import pack, unpack

_Value = TypeVar("_Value")


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


def turn_so_far(opened: bytes, pieces: Sequence[bytes]) -> Turn:
    """The turn of which this opening and these pieces are kept, cut where they end."""
    chunks = [chunk for blob in pieces for chunk in chunks_in(blob)]
    return cut(replace(opened_turn(opened), parts=parts_of(chunks)))


def cut(turn: Turn) -> Turn:
    """The turn, said to be cut off where it was one that a model was generating."""
    if turn.role is not Role.ASSISTANT:
        return turn
    return replace(turn, generation=replace(turn.generation or Generation(), body=BodyState.TRUNCATED))


def parts_of(chunks: Iterable[Chunk]) -> tuple[Part, ...]:
    """Chunks put together to parts, in the order in which the parts began."""
    growing: dict[str, _Growing] = {}
    for chunk in chunks:
        growing.setdefault(chunk.part, _Growing()).grow(chunk)
    return tuple(one.part(name) for name, one in growing.items())


@dataclass(slots=True)
class _Growing:
    """One part, growing."""

    length: int = 0
    ends: list[int] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)

    def grow(self, chunk: Chunk) -> None:
        self.length += len(chunk.text)
        self.ends.append(self.length)
        self.chunks.append(chunk)

    def part(self, name: str) -> Part:
        columns = Chunks(
            tuple(self.ends),
            tuple(chunk.sequence for chunk in self.chunks),
            _column(chunk.offset_s for chunk in self.chunks),
            _column(chunk.token_ids for chunk in self.chunks),
            _column(chunk.logprobs for chunk in self.chunks),
        )
        return Part(name, "".join(chunk.text for chunk in self.chunks), columns)


def _column(values: Iterable[_Value | None]) -> tuple[_Value | None, ...] | None:
    """A column of chunks, None where no chunk has a value."""
    column = tuple(values)
    return None if all(value is None for value in column) else column
