"""The parts of a trace as rows: what is short comes with its row, what is long in pieces."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import sqlalchemy as sa

from inspector.model import Chunks
from storage import tables
from storage.engine import blob_pieces
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


def parts_wanted(id_: int, *, after: int = 0, long: int = LONG) -> sa.Select[Any]:
    """Asks for the parts of a trace's turns behind the first `after`, in order, each as a PartRow says.

    A blob of more than `long` bytes is left out.
    """
    part = tables.part.c
    text = (unless_long(part.text, long), sa.func.length(part.text))
    chunks = (unless_long(part.chunks, long), sa.func.length(part.chunks))
    wanted = sa.select(part.turn, part.number, part.name, *text, *chunks)
    return wanted.where(part.trace_id == id_, part.turn > after).order_by(part.turn, part.number)


def unless_long(column: sa.Column[bytes], long: int = LONG) -> sa.ColumnElement[bytes | None]:
    """The column where it holds no more than `long` bytes, else NULL."""
    return sa.case((sa.func.length(column) <= long, column))


def text_pieces(connection: sa.Connection, id_: int, row: PartRow) -> Iterator[bytes]:
    """The blob of a long text."""
    return _pieces(connection, id_, row, tables.part.c.text)


def read_chunks(connection: sa.Connection, id_: int, row: PartRow, spool: Spool) -> Chunks | None:
    """The chunks of a part; those of a long one stay packed in the spool until somebody looks at some of them."""
    if row.chunks_size is None:
        return None
    if row.chunks is not None:
        return chunks_from_blob(row.chunks)
    found = in_spool(_pieces(connection, id_, row, tables.part.c.chunks), row.chunks_size, spool)
    return chunks_from_blob(found) if isinstance(found, bytes) else read_windows(found)


def _pieces(connection: sa.Connection, id_: int, row: PartRow, column: sa.Column[bytes]) -> Iterator[bytes]:
    part = tables.part.c
    return blob_pieces(connection, column, part.trace_id == id_, part.turn == row.turn, part.number == row.number)
