"""What of an open turn lies in the database: an opening, then pieces of chunks in the order they arrived."""

from collections.abc import Iterable, Sequence

from inspector.model import Chunk, Generation, Part, Role, Turn
from inspector.model.arrivals import parts_of, turn_so_far
from storage.packing.blobs import from_blob, text_from_bytes, text_to_bytes, to_blob
from storage.packing.chunks import pack_chunks, unpack_chunks
from storage.packing.records import tool_facts, tool_from, turn_facts, turn_from
from storage.packing.values import pack, unpack


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
