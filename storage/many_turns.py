"""The turns of a trace that has many: kept as the database holds them, and each made where somebody looks.

Nothing is read from the database later: what it holds of them goes row by row into a spool. What is short goes there
unpacked, since to unpack it takes longer than all else that makes a turn.
"""

from array import array
from collections.abc import Iterable
from itertools import groupby
from math import inf
from operator import attrgetter
from typing import Any

import sqlalchemy as sa

from inspector.model import Chunks, Part, ToolDefinition, Turn
from inspector.model.columns import Column, Made
from inspector.model.recent import Recent
from storage.checksums import check_turns
from storage.packing.blobs import from_blob, text_from_bytes, text_from_pieces, uncompressed
from storage.packing.escapes import unescaped
from storage.packing.records import turn_from
from storage.packing.shelf import in_spool, is_shelf
from storage.packing.spool import Read, Spool
from storage.packing.values import pack, unpack
from storage.packing.windows import chunks_from_blob, read_windows
from storage.toolsets import load_toolsets
from storage.turn_rows import PARTS, TURNS, PartRow, TurnRow, checksum_of_turn, chunk_pieces, text_pieces

MANY, MUCH = 500, 4_000_000
"""A trace of so many turns, and of so many characters, and no more, is not worth a column."""

_LONG = 1 << 16  # bytes of a text, or of chunks, that do not lie beside the rest of their turn
_STREAMED = {"yield_per": 32}  # so many rows are fetched together
_NO_MORE: tuple[float, Iterable[PartRow]] = (inf, ())
_ROOM = 1 << 20  # characters, more or less, of the turns that are kept once they are made
_PIECE = 1 << 18  # bytes of a long text that are read at a time
_LEAST = 1 << 10  # what the shortest turn weighs
_CHUNK = 16  # what a chunk weighs


def read_many_turns(connection: sa.Connection, id_: int, checksum: int | None) -> Column[Turn]:
    """The turns of a trace, as a column. What is damaged in them raises here, as it does where all are made at once.

    `checksum` is what those of all turns sum up to (`storage.checksums`); None where they have none.
    """
    found = 0
    turns = _Turns()
    recent = Recent(turns.made, _weight, _ROOM)  # which `turns` does not hold: a circle would outlive the trace
    with (
        connection.execute(TURNS, {"id": id_, "after": 0}, execution_options=_STREAMED) as rows,
        connection.execute(PARTS, {"id": id_, "after": 0, "long": _LONG}, execution_options=_STREAMED) as parts,
    ):
        by_turn = groupby(map(PartRow._make, parts), attrgetter("turn"))
        number, own = next(by_turn, _NO_MORE)
        for row in map(TurnRow._make, rows):
            while number < row.number:
                number, own = next(by_turn, _NO_MORE)
            its = own if number == row.number else ()
            if row.toolset_id is not None and row.toolset_id not in turns.offered:
                turns.offered |= load_toolsets(connection, {row.toolset_id: row.toolset})
            its = list(its)
            if checksum is not None:
                found += checksum_of_turn(connection, id_, row, its)
            said = [turns.part(connection, id_, part) for part in its]
            recent(turns.add(row.role, row.facts, row.toolset_id, said))  # made once, damaged or not
    if checksum is not None:
        check_turns(checksum, found)
    return Made(range(len(turns)), recent)


class _Turns:
    """Turns in a spool, each as the blobs that its rows hold."""

    def __init__(self) -> None:
        self.offered: dict[int, tuple[ToolDefinition, ...]] = {}
        self._spool = Spool()
        self._starts, self._sizes = array("q"), array("q")
        self._long: list[tuple[Read, int]] = []  # blobs that do not lie beside their turn, and their sizes

    def __len__(self) -> int:
        return len(self._starts)

    def part(self, connection: sa.Connection, id_: int, row: PartRow) -> list[Any]:
        """A part as it is to lie beside its turn: what is long in it by its number among all that is."""
        text: bytes | int
        if row.text is not None:
            text = uncompressed(row.text)
        else:
            pieces = text_pieces(connection, id_, row)
            text = self._apart(self._spool.add(pieces, row.text_size), row.text_size)
        return [unescaped(row.name), text, self._chunks(connection, id_, row)]

    def add(self, role: str, facts: bytes, toolset_id: int | None, parts: list[Any]) -> int:
        """Take the next turn; its number, from 0."""
        packed = pack([role, uncompressed(facts), toolset_id, parts])
        self._starts.append(self._spool.append(packed))
        self._sizes.append(len(packed))
        return len(self) - 1

    def _chunks(self, connection: sa.Connection, id_: int, row: PartRow) -> bytes | int | None:
        if row.chunks_size is None:
            return None
        if row.chunks is not None:
            return row.chunks if is_shelf(row.chunks) else uncompressed(row.chunks)
        found = in_spool(chunk_pieces(connection, id_, row), row.chunks_size, self._spool)
        if not isinstance(found, bytes):
            return self._apart(found, row.chunks_size)
        blob = uncompressed(found)
        return self._apart(self._spool.add((blob,), len(blob)), len(blob))

    def _apart(self, read: Read, size: int) -> int:
        self._long.append((read, size))
        return len(self._long) - 1

    def made(self, number: int) -> Turn:
        """One that was taken, by its number."""
        role, facts, toolset_id, parts = unpack(self._spool.read(self._starts[number], self._sizes[number]))
        tools = () if toolset_id is None else self.offered[toolset_id]
        return turn_from(role, unpack(from_blob(facts)), tuple(self._part(*part) for part in parts), tools)

    def _part(self, name: str, text: bytes | int, chunks: bytes | int | None) -> Part:
        words = self._long_text(text) if isinstance(text, int) else text_from_bytes(from_blob(text))
        if chunks is None:
            return Part(name, words)
        return Part(name, words, self._long_chunks(chunks) if isinstance(chunks, int) else chunks_from_blob(chunks))

    def _long_text(self, number: int) -> str:
        read, size = self._long[number]
        return text_from_pieces(read(at, min(_PIECE, size - at)) for at in range(0, size, _PIECE))

    def _long_chunks(self, number: int) -> Chunks:
        read, size = self._long[number]
        return read_windows(read) if is_shelf(read(0, 1)) else chunks_from_blob(read(0, size))


def _weight(turn: Turn) -> int:
    return _LEAST + sum(len(part.text) + _CHUNK * len(part.chunks or ()) for part in turn.parts)
