"""Traces and inspections out of the database, equal to what went in."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

import sqlalchemy as sa

from inspector.errors import StoreError
from inspector.inspection import Inspection, inspect_trace
from inspector.model import Part, ToolDefinition, Trace, Turn
from inspector.model.columns import Column
from storage import tables
from storage.checksums import DERIVED_COLUMNS, check_turns, derived_checksum
from storage.engine import blob_pieces
from storage.many_turns import MANY, MUCH, read_many_turns
from storage.packing.blobs import DamagedBlobError, from_blob, text_from_bytes, text_from_pieces
from storage.packing.escapes import key, unescaped
from storage.packing.findings import OtherLayoutError
from storage.packing.inspections import unpack_inspection
from storage.packing.records import trace_from, turn_from
from storage.packing.shelf import in_spool
from storage.packing.spool import Spool
from storage.packing.texts import texts_of
from storage.packing.values import unpack
from storage.packing.wide_inspections import read_wide
from storage.toolsets import load_toolsets
from storage.turn_rows import (
    LONG,
    PARTS,
    TURNS,
    PartRow,
    TurnRow,
    checksum_of_turn,
    read_chunks,
    text_pieces,
    unless_long,
)

NOT_INSPECTED = "\x1a"
"""What stands for the inspector's version in a trace that is being recorded and has turns that were not inspected.

No version is kept so: see `storage.packing.escapes`.
"""

_trace, _body = tables.trace.c, tables.inspection.c.body
_FACTS = sa.select(
    *(_trace.facts, _trace.provenance, _trace.turns, _trace.characters),
    *(_trace.turns_checksum, _trace.record_checksum),
).where(_trace.id == sa.bindparam("id"))
_BODY = (
    sa.select(
        *(_trace.inspector_version, unless_long(_body).label("body"), sa.func.length(_body).label("size")),
        *(tables.inspection.c.digest, _trace.derived_checksum),
        *(_trace[name] for name in DERIVED_COLUMNS),
    )
    .join(tables.inspection)
    .where(_trace.id == sa.bindparam("id"))
)


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


def read_trace(connection: sa.Connection, id_: int, *, in_columns: bool = False) -> Trace:
    """The trace with this id, which must be there; `in_columns` the turns of one with many, or with much text."""
    trace, turns, characters, checksum = _facts(connection, id_)
    if in_columns and (turns > MANY or characters > MUCH):
        return replace(trace, turns=read_many_turns(connection, id_, checksum))
    return replace(trace, turns=_turns(connection, id_, 0, checksum))


def read_facts(connection: sa.Connection, id_: int) -> Trace:
    """The trace with this id, which must be there, without its turns."""
    return _facts(connection, id_)[0]


def _facts(connection: sa.Connection, id_: int) -> tuple[Trace, int, int, int | None]:
    """A trace without its turns, how many those are, how many characters they hold, and their checksum."""
    facts, provenance, turns, characters, checksum, row_checksum = connection.execute(_FACTS, {"id": id_}).one()
    if checksum is None and row_checksum is not None:
        raise DamagedBlobError("the checksum of its turns is missing")
    return trace_from(unpack(from_blob(facts)), unpack(from_blob(provenance)), ()), turns, characters, checksum


def read_turns(connection: sa.Connection, id_: int, *, after: int = 0) -> tuple[Turn, ...]:
    """The turns of a trace behind its first `after`."""
    return _turns(connection, id_, after, None)


def _turns(connection: sa.Connection, id_: int, after: int, checksum: int | None) -> tuple[Turn, ...]:
    """The same turns; DamagedBlobError where the sum of their checksums is to be another one."""
    turns = [TurnRow._make(row) for row in connection.execute(TURNS, {"id": id_, "after": after}).all()]
    toolsets = load_toolsets(connection, {one.toolset_id: one.toolset for one in turns if one.toolset_id is not None})
    rows: dict[int, list[PartRow]] = defaultdict(list)
    for part in connection.execute(PARTS, {"id": id_, "after": after, "long": LONG}).all():
        rows[part.turn].append(PartRow._make(part))
    if checksum is not None:
        check_turns(checksum, sum(checksum_of_turn(connection, id_, one, rows[one.number]) for one in turns))
    spool = Spool()

    def part_of(row: PartRow) -> Part:
        words = text_from_pieces(text_pieces(connection, id_, row)) if row.text is None else _text(row.text)
        return Part(unescaped(row.name), words, read_chunks(connection, id_, row, spool))

    return tuple(_turn(one, tuple(map(part_of, rows[one.number])), toolsets) for one in turns)


def read_inspection(connection: sa.Connection, id_: int, trace: Trace, *, in_columns: bool = False) -> Inspection:
    """The inspection of `trace`, the one with this id; `in_columns` what a wide one holds.

    A trace that is being recorded may have more turns than those its recorder has inspected; it is inspected here then,
    but for a wide one that is wanted in columns: of that it is the inspection of as many turns as were inspected.
    A trace whose inspection another weaklink packed otherwise is inspected here too.
    """
    row = connection.execute(_BODY, {"id": id_, "long": LONG}).mappings().one_or_none()
    if row is None:
        raise DamagedBlobError("it is missing")
    if row["derived_checksum"] not in (None, derived_checksum(row, bytes(row["digest"]))):
        raise DamagedBlobError("it is not the one that was written with the trace: a checksum does not match")
    if row["inspector_version"] == NOT_INSPECTED and not (in_columns and isinstance(trace.turns, Column)):
        return _inspect(trace)
    try:
        return _unpacked_inspection(connection, id_, trace, row["body"], row["size"], in_columns=in_columns)
    except OtherLayoutError:
        return _inspect(trace)


def _unpacked_inspection(
    connection: sa.Connection, id_: int, trace: Trace, body: bytes | None, size: int, *, in_columns: bool
) -> Inspection:
    texts = texts_of(trace)
    if body is not None:
        return unpack_inspection(body, texts, in_columns=in_columns)
    pieces = blob_pieces(connection, tables.inspection.c.body, tables.inspection.c.trace_id == id_)
    kept = in_spool(pieces, size, Spool())
    if isinstance(kept, bytes):
        return unpack_inspection(kept, texts)
    return read_wide(kept, texts, in_columns=in_columns)


def _inspect(trace: Trace) -> Inspection:
    try:
        return inspect_trace(trace)
    except Exception:  # noqa: BLE001  # may call plug-ins; the recorder does the same, and tells it
        return inspect_trace(replace(trace, format=""))


def _turn(row: TurnRow, parts: tuple[Part, ...], toolsets: Mapping[int, tuple[ToolDefinition, ...]]) -> Turn:
    tools = () if row.toolset_id is None else toolsets[row.toolset_id]
    return turn_from(row.role, unpack(from_blob(row.facts)), parts, tools)


def _text(blob: bytes) -> str:
    return text_from_bytes(from_blob(blob))
