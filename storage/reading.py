"""Reads traces and inspections from the database, equal to what was saved.

A trace with many turns is not built at once: its rows go into a spool, and a turn is built when it is accessed.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from math import inf
from operator import attrgetter
from typing import Any, NamedTuple

import sqlalchemy as sa
from msgspec.structs import replace

from weaklink.inspector.errors import StoreError
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.memory import LruCache
from weaklink.inspector.model import Chunks, ParentWhy, Part, ToolDefinition, Trace, Turn
from weaklink.inspector.model.columns import Column, LazyColumn
from weaklink.storage import tables
from weaklink.storage.checksums import DERIVED_COLUMNS, check_turns, derived_checksum, turn_checksum
from weaklink.storage.derived_rows import inspect_trace
from weaklink.storage.engine import DAMAGE_ERRORS, blob_begin, blob_pieces
from weaklink.storage.liveness import with_openness
from weaklink.storage.packing import blobs
from weaklink.storage.packing.chunks import chunks_from_blob, read_windows
from weaklink.storage.packing.derived_values import OtherLayoutError, texts_of
from weaklink.storage.packing.inspections import read_wide, unpack_inspection
from weaklink.storage.packing.paged_blobs import Read, Spool, is_paged, spooled_reader
from weaklink.storage.packing.records import trace_from, turn_from, unpack_facts
from weaklink.storage.packing.values import pack, unpack
from weaklink.storage.toolsets import load_toolsets

LONG = 1 << 20
"""Bytes; larger values of a column are not fetched in one piece, unless another limit is given."""

NOT_INSPECTED = "\x1a"
"""The inspector version of a trace that is being recorded and has turns that were not inspected.

No version is stored like this: see `storage.packing.blobs`.
"""

MANY, MUCH = 500, 4_000_000
"""A trace with at most this many turns and characters is read at once, not as a column."""

_LONG = 1 << 16  # bytes; longer texts and chunks are not stored with the rest of their turn
_STREAMED = {"yield_per": 32}  # number of rows fetched together
_ROOM = 1 << 20  # size of the cache of built turns, in characters (estimated)
_PIECE = 1 << 18  # bytes of a long text to read at a time
_LEAST = 1 << 10  # weight of the shortest turn
_CHUNK = 16  # weight of a chunk


class PartRow(NamedTuple):
    """A part of a turn. `text` and `chunks` are None if they are long; `chunks_size` is None if there are no chunks."""

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
    """The column if it has at most as many bytes as the parameter `long`, else NULL."""
    return sa.case((sa.func.length(column) <= sa.bindparam("long", type_=sa.Integer), column))


_turn_columns, _part = tables.turn.c, tables.part.c

TURNS = (
    sa.select(
        _turn_columns.number, _turn_columns.role, _turn_columns.facts, _turn_columns.toolset_id, tables.toolset.c.hash
    )
    .select_from(tables.turn.outerjoin(tables.toolset))
    .where(_turn_columns.trace_id == sa.bindparam("id"), _turn_columns.number > sa.bindparam("after"))
    .order_by(_turn_columns.number)
)
"""Selects the turns of the trace `id` after its first `after`, in order, each as the fields of a TurnRow."""

PARTS = (
    sa.select(
        *(_part.turn, _part.number, _part.name),
        *(unless_long(_part.text), sa.func.length(_part.text)),
        *(unless_long(_part.chunks), sa.func.length(_part.chunks)),
    )
    .where(_part.trace_id == sa.bindparam("id"), _part.turn > sa.bindparam("after"))
    .order_by(_part.turn, _part.number)
)
"""Selects the parts of the trace `id` in turns after its first `after`, in order, each as the fields of a PartRow.

Blobs of more than `long` bytes are replaced with NULL.
"""


def checksum_of_turn(connection: sa.Connection, id_: int, turn: TurnRow, parts: Iterable[PartRow]) -> int:
    """The checksum of a turn with these parts, computed from the checksums of its packed columns."""
    sums: list[list[int | str | None]] = []
    for row in parts:
        text = row.text if row.text is not None else _head(connection, id_, row, tables.part.c.text)
        chunks = row.chunks
        if chunks is None and row.chunks_size is not None:
            chunks = _head(connection, id_, row, tables.part.c.chunks)
        sums.append(
            [row.number, row.name, blobs.checksum_of(text), None if chunks is None else blobs.checksum_of(chunks)]
        )
    toolset = None if turn.toolset is None else bytes(turn.toolset)
    return turn_checksum(turn.number, turn.role, toolset, blobs.checksum_of(turn.facts), sums)


def text_pieces(connection: sa.Connection, id_: int, row: PartRow) -> Iterator[bytes]:
    """The blob of a long text, in pieces."""
    return _pieces(connection, id_, row, tables.part.c.text)


def chunk_pieces(connection: sa.Connection, id_: int, row: PartRow) -> Iterator[bytes]:
    """The blob of long chunks, in pieces."""
    return _pieces(connection, id_, row, tables.part.c.chunks)


def read_chunks(connection: sa.Connection, id_: int, row: PartRow, spool: Spool) -> Chunks | None:
    """The chunks of a part; long ones stay packed in the spool until they are accessed."""
    if row.chunks_size is None:
        return None
    if row.chunks is not None:
        return chunks_from_blob(row.chunks)
    found = spooled_reader(chunk_pieces(connection, id_, row), row.chunks_size, spool)
    return chunks_from_blob(found) if isinstance(found, bytes) else read_windows(found)


def _pieces(connection: sa.Connection, id_: int, row: PartRow, column: sa.Column[bytes]) -> Iterator[bytes]:
    return blob_pieces(connection, column, *_place(id_, row))


def _head(connection: sa.Connection, id_: int, row: PartRow, column: sa.Column[bytes]) -> bytes:
    return blob_begin(connection, column, blobs.HEAD_BYTES, *_place(id_, row))


def _place(id_: int, row: PartRow) -> tuple[sa.ColumnElement[bool], ...]:
    part = tables.part.c
    return part.trace_id == id_, part.turn == row.turn, part.number == row.number


_LATEST, _NEWEST = "latest", 1_000
_SHORTEST_PREFIX = 4  # minimum number of characters to name a trace by the beginning of its id
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
    """The id of the trace that a user names; StoreError if no trace, or more than one, matches.

    `word` is a trace's number; an external id that only one trace has, or its first characters (at least four) if they
    are unique; or `latest`, the newest trace that is not a fork (`weaklink ask` makes many forks of one trace); a trace
    without a time is as new as its import.
    """
    number = int(word) if str(word).isdecimal() and len(str(word)) < 10 else None
    trace, external = tables.trace.c, tables.external_id.c
    if number is not None and connection.scalar(sa.select(trace.id).where(trace.id == number)) is not None:
        return number
    whole = blobs.key(str(word))
    starts = sa.and_(external.value >= whole, external.value < f"{whole}\U0010ffff")
    for condition in (external.value == whole, *((starts,) if len(str(word)) >= _SHORTEST_PREFIX else ())):
        query = sa.select(external.trace_id).where(condition).distinct().limit(2)
        ids: list[int] = list(connection.scalars(query))
        if len(ids) == 1:
            return ids[0]
        if ids:
            raise StoreError(
                f"`{word}` is the id, or the start of the id, of several traces; use a number from `weaklink list`"
            )
    if word == _LATEST and (found := _latest(connection)) is not None:
        return found
    raise StoreError(f"no trace `{word}`; `weaklink list` lists the traces")


def find_ids(connection: sa.Connection, word: int | str) -> list[int]:
    """The trace with this number, or all traces with this external id; StoreError if there are none."""
    number = int(word) if str(word).isdecimal() and len(str(word)) < 10 else None
    trace, external = tables.trace.c, tables.external_id.c
    if number is not None and connection.scalar(sa.select(trace.id).where(trace.id == number)) is not None:
        return [number]
    ids = list(
        connection.scalars(sa.select(external.trace_id).where(external.value == blobs.key(str(word))).distinct())
    )
    if not ids:
        raise StoreError(f"no trace `{word}`; `weaklink list` lists the traces")
    return ids


def _latest(connection: sa.Connection) -> int | None:
    """The newest trace that is not a fork, among the newest 1,000; if all are forks, the newest.

    A trace without a time is as new as its import.
    """
    newest_first = (_trace.sort_at_s.desc(), _trace.id.desc())
    rows = sa.select(_trace.id, _trace.facts).order_by(*newest_first).limit(_NEWEST)
    newest: int | None = None
    for row in connection.execute(rows):
        try:
            parent = trace_from(unpack_facts(blobs.from_blob(row.facts)), {}, ()).parent
        except DAMAGE_ERRORS:  # whoever reads the trace itself is told
            parent = None
        if parent is None or parent.why is not ParentWhy.FORK:
            return int(row.id)
        newest = row.id if newest is None else newest
    return newest


def read_trace(connection: sa.Connection, id_: int, *, in_columns: bool = False) -> Trace:
    """The trace with this id, which must exist; with `in_columns`, the turns of a large trace are a lazy column."""
    trace, turns, characters, checksum = _facts(connection, id_)
    if in_columns and (turns > MANY or characters > MUCH):
        return replace(trace, turns=read_many_turns(connection, id_, checksum))
    return replace(trace, turns=_turns(connection, id_, 0, checksum))


def read_facts(connection: sa.Connection, id_: int) -> Trace:
    """The trace with this id, which must exist, without its turns."""
    return _facts(connection, id_)[0]


def _facts(connection: sa.Connection, id_: int) -> tuple[Trace, int, int, int | None]:
    """A trace without its turns, and their number, characters and checksum."""
    facts, provenance, turns, characters, checksum, row_checksum = connection.execute(_FACTS, {"id": id_}).one()
    if checksum is None and row_checksum is not None:
        raise blobs.DamagedBlobError("the checksum of its turns is missing")
    return (
        trace_from(unpack_facts(blobs.from_blob(facts)), unpack(blobs.from_blob(provenance)), ()),
        turns,
        characters,
        checksum,
    )


def read_turns(connection: sa.Connection, id_: int, *, after: int = 0) -> tuple[Turn, ...]:
    """The turns of a trace after its first `after`."""
    return _turns(connection, id_, after, None)


def _turns(connection: sa.Connection, id_: int, after: int, checksum: int | None) -> tuple[Turn, ...]:
    """The turns after the first `after`; DamagedBlobError if `checksum` is not the sum of their checksums."""
    turns = [TurnRow._make(row) for row in connection.execute(TURNS, {"id": id_, "after": after}).all()]
    toolsets = load_toolsets(
        connection, {turn.toolset_id: turn.toolset for turn in turns if turn.toolset_id is not None}
    )
    rows: dict[int, list[PartRow]] = defaultdict(list)
    for part in connection.execute(PARTS, {"id": id_, "after": after, "long": LONG}).all():
        rows[part.turn].append(PartRow._make(part))
    if checksum is not None:
        check_turns(checksum, sum(checksum_of_turn(connection, id_, turn, rows[turn.number]) for turn in turns))
    spool = Spool()

    def part_of(row: PartRow) -> Part:
        words = blobs.text_from_pieces(text_pieces(connection, id_, row)) if row.text is None else _text(row.text)
        return Part(blobs.unescaped(row.name), words, read_chunks(connection, id_, row, spool))

    return tuple(_turn(turn, tuple(map(part_of, rows[turn.number])), toolsets) for turn in turns)


def read_inspection(connection: sa.Connection, id_: int, trace: Trace, *, in_columns: bool = False) -> Inspection:
    """The inspection of `trace`, which has this id; with `in_columns`, a large one consists of lazy columns.

    The recorder of a running trace may not have inspected all its turns yet. Then this function inspects the trace,
    except with `in_columns` for a large trace: the result then covers only the turns that were inspected. It also
    inspects a trace whose stored inspection has the layout of another version of weaklink.
    """
    row = connection.execute(_BODY, {"id": id_, "long": LONG}).mappings().one_or_none()
    if row is None:
        raise blobs.DamagedBlobError("no row in the table `inspection`")
    if row["derived_checksum"] not in (None, derived_checksum(row, bytes(row["digest"]))):
        raise blobs.DamagedBlobError("checksum mismatch: it is not the one stored with the trace")
    if row["inspector_version"] == NOT_INSPECTED and not (in_columns and isinstance(trace.turns, Column)):
        return inspect_readable(with_openness(connection, id_, trace))
    try:
        return _unpacked_inspection(connection, id_, trace, row["body"], row["size"], in_columns=in_columns)
    except OtherLayoutError:
        return inspect_readable(with_openness(connection, id_, trace))


def _unpacked_inspection(
    connection: sa.Connection, id_: int, trace: Trace, body: bytes | None, size: int, *, in_columns: bool
) -> Inspection:
    texts = texts_of(trace)
    if body is not None:
        return unpack_inspection(body, texts, in_columns=in_columns)
    pieces = blob_pieces(connection, tables.inspection.c.body, tables.inspection.c.trace_id == id_)
    reader = spooled_reader(pieces, size, Spool())
    if isinstance(reader, bytes):
        return unpack_inspection(reader, texts)
    return read_wide(reader, texts, in_columns=in_columns)


def inspect_readable(trace: Trace) -> Inspection:
    """The inspection of a trace; without the format that it names if a plug-in for that fails."""
    try:
        return inspect_trace(trace)
    except Exception:  # noqa: BLE001  # may call plug-ins; the recorder does the same, and reports the error
        return inspect_trace(replace(trace, format=""))


def _turn(row: TurnRow, parts: tuple[Part, ...], toolsets: Mapping[int, tuple[ToolDefinition, ...]]) -> Turn:
    tools = () if row.toolset_id is None else toolsets[row.toolset_id]
    return turn_from(row.role, unpack_facts(blobs.from_blob(row.facts)), parts, tools)


def _text(blob: bytes) -> str:
    return blobs.text_from_bytes(blobs.from_blob(blob))


_NO_MORE: tuple[float, Iterable[PartRow]] = (inf, ())


def read_many_turns(connection: sa.Connection, id_: int, checksum: int | None) -> Column[Turn]:
    """The turns of a trace, as a lazy column. Damaged turns raise here, as they do if all turns are read at once.

    `checksum` is the sum of the checksums of all turns (`storage.checksums`); None if they have none.
    """
    total = 0
    turns = _Turns()
    cache = LruCache(turns.build, _weight, _ROOM)  # not in `turns`: a reference cycle would outlive the trace
    with (
        connection.execute(TURNS, {"id": id_, "after": 0}, execution_options=_STREAMED) as rows,
        connection.execute(PARTS, {"id": id_, "after": 0, "long": _LONG}, execution_options=_STREAMED) as parts,
    ):
        by_turn = groupby(map(PartRow._make, parts), attrgetter("turn"))
        number, parts_of_turn = next(by_turn, _NO_MORE)
        for row in map(TurnRow._make, rows):
            while number < row.number:
                number, parts_of_turn = next(by_turn, _NO_MORE)
            turn_parts = parts_of_turn if number == row.number else ()
            if row.toolset_id is not None and row.toolset_id not in turns.offered:
                turns.offered |= load_toolsets(connection, {row.toolset_id: row.toolset})
            turn_parts = list(turn_parts)
            if checksum is not None:
                total += checksum_of_turn(connection, id_, row, turn_parts)
            packed = [turns.part(connection, id_, part) for part in turn_parts]
            cache(turns.add(row.role, row.facts, row.toolset_id, packed))  # build each turn once: finds damage
    if checksum is not None:
        check_turns(checksum, total)
    return LazyColumn(range(len(turns)), cache)


class _Turns:
    """Turns in a spool, each as the blobs of its rows."""

    def __init__(self) -> None:
        self.offered: dict[int, tuple[ToolDefinition, ...]] = {}
        self._spool = Spool()
        self._starts, self._sizes = array("q"), array("q")
        self._long: list[tuple[Read, int]] = []  # blobs that are not stored with their turn, and their sizes

    def __len__(self) -> int:
        return len(self._starts)

    def part(self, connection: sa.Connection, id_: int, row: PartRow) -> list[Any]:
        """A part as it is packed with its turn; long blobs are replaced with their index in `_long`."""
        text: bytes | int
        if row.text is not None:
            text = blobs.uncompressed(row.text)
        else:
            pieces = text_pieces(connection, id_, row)
            text = self._apart(self._spool.add(pieces, row.text_size), row.text_size)
        return [blobs.unescaped(row.name), text, self._chunks(connection, id_, row)]

    def add(self, role: str, facts: bytes, toolset_id: int | None, parts: list[Any]) -> int:
        """Add the next turn; its number, from 0."""
        packed = pack([role, blobs.uncompressed(facts), toolset_id, parts])
        self._starts.append(self._spool.append(packed))
        self._sizes.append(len(packed))
        return len(self) - 1

    def _chunks(self, connection: sa.Connection, id_: int, row: PartRow) -> bytes | int | None:
        if row.chunks_size is None:
            return None
        if row.chunks is not None:
            return row.chunks if is_paged(row.chunks) else blobs.uncompressed(row.chunks)
        found = spooled_reader(chunk_pieces(connection, id_, row), row.chunks_size, self._spool)
        if not isinstance(found, bytes):
            return self._apart(found, row.chunks_size)
        blob = blobs.uncompressed(found)
        return self._apart(self._spool.add((blob,), len(blob)), len(blob))

    def _apart(self, read: Read, size: int) -> int:
        self._long.append((read, size))
        return len(self._long) - 1

    def build(self, number: int) -> Turn:
        """Build the turn with this number."""
        role, facts, toolset_id, parts = unpack(self._spool.read(self._starts[number], self._sizes[number]))
        tools = () if toolset_id is None else self.offered[toolset_id]
        return turn_from(role, unpack_facts(blobs.from_blob(facts)), tuple(self._part(*part) for part in parts), tools)

    def _part(self, name: str, text: bytes | int, chunks: bytes | int | None) -> Part:
        words = self._long_text(text) if isinstance(text, int) else blobs.text_from_bytes(blobs.from_blob(text))
        if chunks is None:
            return Part(name, words)
        return Part(name, words, self._long_chunks(chunks) if isinstance(chunks, int) else chunks_from_blob(chunks))

    def _long_text(self, number: int) -> str:
        read, size = self._long[number]
        return blobs.text_from_pieces(read(index, min(_PIECE, size - index)) for index in range(0, size, _PIECE))

    def _long_chunks(self, number: int) -> Chunks:
        read, size = self._long[number]
        return read_windows(read) if is_paged(read(0, 1)) else chunks_from_blob(read(0, size))


def _weight(turn: Turn) -> int:
    return _LEAST + sum(len(part.text) + _CHUNK * len(part.chunks or ()) for part in turn.parts)
