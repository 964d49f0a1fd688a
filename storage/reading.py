"""Traces and inspections out of the database, equal to what went in."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain

import sqlalchemy as sa

from inspector.errors import StoreError
from inspector.inspection import Inspection, inspect_trace
from inspector.model import Chunks, Part, Trace, Turn
from storage import tables
from storage.engine import blob_pieces
from storage.packing.blobs import from_blob, text_from_bytes, text_from_pieces
from storage.packing.escapes import key, unescaped
from storage.packing.inspections import unpack_inspection
from storage.packing.records import trace_from, turn_from
from storage.packing.shelf import checked, is_shelf
from storage.packing.spool import Spool
from storage.packing.texts import texts_of
from storage.packing.values import unpack
from storage.packing.wide_inspections import read_wide
from storage.packing.windows import chunks_from_blob, read_windows
from storage.toolsets import load_toolsets

_LONG = 1 << 20  # bytes of a column that are not fetched in one piece

NOT_INSPECTED = "\x1a"
"""What stands for the inspector's version in a trace that is being recorded and has turns that were not inspected.

No version is kept so: see `storage.packing.escapes`.
"""


def find_id(connection: sa.Connection, word: int | str) -> int:
    """The id that a user means: a trace's number, or an external id that one trace alone bears; else StoreError."""
    number = int(word) if str(word).isdecimal() and len(str(word)) < 10 else None
    trace, external = tables.trace.c, tables.external_id.c
    if number is not None and connection.scalar(sa.select(trace.id).where(trace.id == number)) is not None:
        return number
    wanted = sa.select(external.trace_id).where(external.value == key(str(word))).distinct().limit(2)
    ids: list[int] = list(connection.scalars(wanted))
    if len(ids) == 1:
        return ids[0]
    if ids:
        raise StoreError(f"several traces bear the id `{word}`; name one by its number, which `weaklink list` shows")
    raise StoreError(f"there is no trace `{word}`; `weaklink list` shows those there are")


def read_trace(connection: sa.Connection, id_: int) -> Trace:
    """The trace with this id, which must be there."""
    return replace(read_facts(connection, id_), turns=read_turns(connection, id_))


def read_facts(connection: sa.Connection, id_: int) -> Trace:
    """The trace with this id, which must be there, without its turns."""
    trace = tables.trace.c
    facts, provenance = connection.execute(sa.select(trace.facts, trace.provenance).where(trace.id == id_)).one()
    return trace_from(unpack(from_blob(facts)), unpack(from_blob(provenance)), ())


def read_turns(connection: sa.Connection, id_: int, *, after: int = 0) -> tuple[Turn, ...]:
    """The turns of a trace behind its first `after`."""
    turn = tables.turn.c
    wanted = sa.select(turn.number, turn.role, turn.facts, turn.toolset_id)
    turns = connection.execute(wanted.where(turn.trace_id == id_, turn.number > after).order_by(turn.number)).all()
    toolsets = load_toolsets(connection, {one.toolset_id for one in turns if one.toolset_id is not None})
    parts = _parts(connection, id_, after)
    return tuple(
        turn_from(role, unpack(from_blob(said)), tuple(parts[number]), toolsets.get(toolset_id, ()))
        for number, role, said, toolset_id in turns
    )


def read_inspection(connection: sa.Connection, id_: int, trace: Trace) -> Inspection:
    """The inspection of `trace`, the one with this id.

    A trace that is being recorded may have more turns than those its recorder has inspected; it is inspected here then.
    """
    column = tables.inspection.c.body
    wanted = sa.select(tables.trace.c.inspector_version, _unless_long(column), sa.func.length(column))
    found = connection.execute(wanted.join(tables.inspection).where(tables.trace.c.id == id_))
    version, body, size = found.one()
    if version == NOT_INSPECTED:
        return _inspect(trace)
    if body is not None:
        return unpack_inspection(body, texts_of(trace))
    first, pieces = _begun(blob_pieces(connection, column, tables.inspection.c.trace_id == id_))
    if is_shelf(first):
        return read_wide(Spool().add(checked(pieces), size), texts_of(trace))
    return unpack_inspection(b"".join(pieces), texts_of(trace))


def _inspect(trace: Trace) -> Inspection:
    try:
        return inspect_trace(trace)
    except Exception:  # noqa: BLE001  # may call plug-ins; the recorder does the same, and tells it
        return inspect_trace(replace(trace, format=""))


def _parts(connection: sa.Connection, id_: int, after: int) -> dict[int, list[Part]]:
    part = tables.part.c
    found: dict[int, list[Part]] = defaultdict(list)
    spool = Spool()
    wanted = sa.select(part.turn, part.number, part.name, *map(_unless_long, (part.text, part.chunks)))
    begun = wanted.add_columns(sa.func.length(part.chunks)).where(part.trace_id == id_, part.turn > after)
    for row in connection.execute(begun.order_by(part.turn, part.number)).all():
        turn, number, name, text, chunks, size = tuple(row)
        pieces = partial(_pieces, connection, (id_, turn, number))
        words = text_from_pieces(pieces(part.text)) if text is None else text_from_bytes(from_blob(text))
        columns = None
        if size is not None:
            columns = _long_chunks(pieces(part.chunks), size, spool) if chunks is None else chunks_from_blob(chunks)
        found[turn].append(Part(unescaped(name), words, columns))
    return found


def _unless_long(column: sa.Column[bytes]) -> sa.ColumnElement[bytes | None]:
    return sa.case((sa.func.length(column) <= _LONG, column))


def _pieces(connection: sa.Connection, key_: tuple[int, int, int], column: sa.Column[bytes]) -> Iterator[bytes]:
    part = tables.part.c
    columns = (part.trace_id, part.turn, part.number)
    return blob_pieces(connection, column, *(name == value for name, value in zip(columns, key_, strict=True)))


def _long_chunks(pieces: Iterator[bytes], size: int, spool: Spool) -> Chunks:
    """The chunks of a long part, which stay packed in the spool until somebody looks at some of them."""
    first, rest = _begun(pieces)
    return read_windows(spool.add(checked(rest), size)) if is_shelf(first) else chunks_from_blob(b"".join(rest))


def _begun(pieces: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The first of the pieces, and all of them."""
    first = next(pieces)
    return first, chain((first,), pieces)
