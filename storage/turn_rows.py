"""The turns of a trace and their parts as rows: what is short comes with its row, what is long in pieces."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import sqlalchemy as sa

from inspector.model import Chunks
from storage import tables
from storage.checksums import turn_checksum
from storage.engine import blob_begin, blob_pieces
from storage.packing.blobs import HEAD_BYTES, checksum_of
from storage.packing.shelf import in_spool
from storage.packing.spool import Spool
from storage.packing.windows import chunks_from_blob, read_windows

LONG = 1 << 20
"""Bytes of a column that are not fetched in one piece, unless told."""


class PartRow(NamedTuple):
    """A part of a turn. `text` and `chunks` are None where they are long; `chunks_size` where there are no chunks."""

    turn: int
    number: int
    name: str
    text: bytes | None
    text_size: int
    chunks: bytes | None
    chunks_size: int | None


class TurnRow(NamedTuple):
    """A turn, without its parts; `toolset` is the hash of its set of tools."""

    number: int
    role: str
    facts: bytes
    toolset_id: int | None
    toolset: bytes | None


def unless_long(column: sa.Column[bytes]) -> sa.ColumnElement[bytes | None]:
    """The column where it holds no more bytes than the parameter `long` says, else NULL."""
    return sa.case((sa.func.length(column) <= sa.bindparam("long", type_=sa.Integer), column))


_turn, _part = tables.turn.c, tables.part.c

TURNS = (
    sa.select(_turn.number, _turn.role, _turn.facts, _turn.toolset_id, tables.toolset.c.hash)
    .select_from(tables.turn.outerjoin(tables.toolset))
    .where(_turn.trace_id == sa.bindparam("id"), _turn.number > sa.bindparam("after"))
    .order_by(_turn.number)
)
"""Asks for the turns of a trace, by its `id`, behind its first `after`, in order: each as a TurnRow says."""

PARTS = (
    sa.select(
        *(_part.turn, _part.number, _part.name),
        *(unless_long(_part.text), sa.func.length(_part.text)),
        *(unless_long(_part.chunks), sa.func.length(_part.chunks)),
    )
    .where(_part.trace_id == sa.bindparam("id"), _part.turn > sa.bindparam("after"))
    .order_by(_part.turn, _part.number)
)
"""Asks for the parts of a trace, by its `id`, of the turns behind its first `after`, in order: each as a PartRow says.

Blobs of more than `long` bytes are left out.
"""


def checksum_of_turn(connection: sa.Connection, id_: int, turn: TurnRow, parts: Iterable[PartRow]) -> int:
    """The checksum of a turn of a trace with these parts, out of those of its packed columns."""
    sums: list[list[int | str | None]] = []
    for row in parts:
        text = row.text if row.text is not None else _head(connection, id_, row, tables.part.c.text)
        chunks = row.chunks
        if chunks is None and row.chunks_size is not None:
            chunks = _head(connection, id_, row, tables.part.c.chunks)
        sums.append([row.number, row.name, checksum_of(text), None if chunks is None else checksum_of(chunks)])
    toolset = None if turn.toolset is None else bytes(turn.toolset)
    return turn_checksum(turn.number, turn.role, toolset, checksum_of(turn.facts), sums)


def text_pieces(connection: sa.Connection, id_: int, row: PartRow) -> Iterator[bytes]:
    """The blob of a long text."""
    return _pieces(connection, id_, row, tables.part.c.text)


def chunk_pieces(connection: sa.Connection, id_: int, row: PartRow) -> Iterator[bytes]:
    """The blob of long chunks."""
    return _pieces(connection, id_, row, tables.part.c.chunks)


def read_chunks(connection: sa.Connection, id_: int, row: PartRow, spool: Spool) -> Chunks | None:
    """The chunks of a part; those of a long one stay packed in the spool until somebody looks at some of them."""
    if row.chunks_size is None:
        return None
    if row.chunks is not None:
        return chunks_from_blob(row.chunks)
    found = in_spool(chunk_pieces(connection, id_, row), row.chunks_size, spool)
    return chunks_from_blob(found) if isinstance(found, bytes) else read_windows(found)


def _pieces(connection: sa.Connection, id_: int, row: PartRow, column: sa.Column[bytes]) -> Iterator[bytes]:
    return blob_pieces(connection, column, *_place(id_, row))


def _head(connection: sa.Connection, id_: int, row: PartRow, column: sa.Column[bytes]) -> bytes:
    return blob_begin(connection, column, HEAD_BYTES, *_place(id_, row))


def _place(id_: int, row: PartRow) -> tuple[sa.ColumnElement[bool], ...]:
    part = tables.part.c
    return part.trace_id == id_, part.turn == row.turn, part.number == row.number
