"""Reads traces and inspections from the database, equal to what was saved.

Theory of operation. A trace is read whole, in four statements: its row, its turns, their parts, and the sets of tools
that its requests offered. Each packed column has a checksum of its own, and the trace's row the sum of the checksums of
its turns (`storage.checksums`). The first value that is not as it was written raises one of DAMAGE_ERRORS; then
`storage.salvage` reads the trace again, value by value.

The inspection refers to the texts of the trace, so it is read after it. Three cases need a new one, which is computed
here and not stored: the stored one has the layout of another version of weaklink; the trace is being recorded and has
turns that were not inspected; or the stored one is damaged, which is the caller's case.
"""

import gc
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

import sqlalchemy as sa
from msgspec.structs import replace

from weaklink.inspector.errors import StoreError
from weaklink.inspector.inspected import Inspection, is_long
from weaklink.inspector.model import ParentWhy, Part, ToolDefinition, Trace, Turn
from weaklink.storage import tables
from weaklink.storage.checksums import DERIVED_COLUMNS, check_turns, derived_checksum, turn_checksum
from weaklink.storage.derived_rows import inspect_trace
from weaklink.storage.engine import DAMAGE_ERRORS
from weaklink.storage.liveness import with_openness
from weaklink.storage.packing import blobs
from weaklink.storage.packing.chunks import chunks_from_blob
from weaklink.storage.packing.derived_values import OtherLayoutError, texts_of
from weaklink.storage.packing.inspections import unpack_inspection
from weaklink.storage.packing.records import trace_from, turn_from, unpack_facts
from weaklink.storage.packing.values import unpack
from weaklink.storage.toolsets import load_toolsets

NOT_INSPECTED = "\x1a"
"""The inspector version of a trace that is being recorded and has turns that were not inspected.

No version is stored like this: see `storage.packing.blobs`.
"""


NO_TRACES_YET = "the database contains no traces yet; `weaklink import PATH` or `weaklink run -- COMMAND` adds some"


class _StoredTurn(NamedTuple):
    """A turn, without its parts; `toolset` is the hash of its set of tools."""

    number: int
    role: str
    facts: bytes
    toolset_id: int | None
    toolset: bytes | None


class _StoredPart(NamedTuple):
    """A part of a turn, as it is stored."""

    turn: int
    number: int
    name: str
    text: bytes
    chunks: bytes | None


_turn_columns, _part_columns = tables.turn.c, tables.part.c

_TURNS = (
    sa.select(
        _turn_columns.number, _turn_columns.role, _turn_columns.facts, _turn_columns.toolset_id, tables.toolset.c.hash
    )
    .select_from(tables.turn.outerjoin(tables.toolset))
    .where(_turn_columns.trace_id == sa.bindparam("id"), _turn_columns.number > sa.bindparam("after"))
    .order_by(_turn_columns.number)
)

_PARTS = (
    sa.select(*(_part_columns[name] for name in _StoredPart._fields))
    .where(_part_columns.trace_id == sa.bindparam("id"), _part_columns.turn > sa.bindparam("after"))
    .order_by(_part_columns.turn, _part_columns.number)
)


_MANY_TURNS, _LARGE_BODY = 500, 1 << 14  # turns, and bytes of an inspection, with many objects
_LATEST, _NEWEST = "latest", 1_000
_MIN_PREFIX_CHARS = 4  # minimum number of characters to name a trace by the beginning of its id
_trace, _body = tables.trace.c, tables.inspection.c.body

_FACTS = sa.select(_trace.facts, _trace.provenance, _trace.turns_checksum, _trace.record_checksum).where(
    _trace.id == sa.bindparam("id")
)

_BODY = (
    sa.select(
        *(_trace.inspector_version, tables.inspection.c.body, tables.inspection.c.digest, _trace.derived_checksum),
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
    for condition in (external.value == whole, *((starts,) if len(str(word)) >= _MIN_PREFIX_CHARS else ())):
        query = sa.select(external.trace_id).where(condition).distinct().limit(2)
        ids: list[int] = list(connection.scalars(query))
        if len(ids) == 1:
            return ids[0]
        if ids:
            raise StoreError(
                f"`{word}` is the id, or the start of the id, of several traces; use a number from `weaklink list`"
            )
    if word == _LATEST and (latest := _latest(connection)) is not None:
        return latest
    is_short = len(str(word)) < _MIN_PREFIX_CHARS and not str(word).isdecimal()
    needs = f" (the beginning of an id needs {_MIN_PREFIX_CHARS} characters)" if is_short else ""
    raise _no_trace(connection, f"`{word}`{needs}")


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
        raise _no_trace(connection, f"`{word}`")
    return ids


def _no_trace(connection: sa.Connection, named: str) -> StoreError:
    if connection.scalar(sa.select(tables.trace.c.id).limit(1)) is None:
        return StoreError(f"no trace {named}: {NO_TRACES_YET}")
    return StoreError(f"no trace {named}; `weaklink list` lists the traces")


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


def read_trace(connection: sa.Connection, id_: int) -> Trace:
    """The trace with this id, which must exist."""
    trace, checksum = _facts(connection, id_)
    return replace(trace, turns=_turns(connection, id_, 0, checksum))


def read_facts(connection: sa.Connection, id_: int) -> Trace:
    """The trace with this id, which must exist, without its turns."""
    return _facts(connection, id_)[0]


def _facts(connection: sa.Connection, id_: int) -> tuple[Trace, int | None]:
    """A trace without its turns, and the sum of their checksums."""
    facts, provenance, checksum, row_checksum = connection.execute(_FACTS, {"id": id_}).one()
    if checksum is None and row_checksum is not None:
        raise blobs.DamagedBlobError("the checksum of its turns is missing")
    return trace_from(unpack_facts(blobs.from_blob(facts)), unpack(blobs.from_blob(provenance)), ()), checksum


def read_turns(connection: sa.Connection, id_: int, *, after: int = 0) -> tuple[Turn, ...]:
    """The turns of a trace after its first `after`."""
    return _turns(connection, id_, after, None)


def _turns(connection: sa.Connection, id_: int, after: int, checksum: int | None) -> tuple[Turn, ...]:
    """The turns after the first `after`; DamagedBlobError if `checksum` is not the sum of their checksums."""
    turns = [_StoredTurn._make(row) for row in connection.execute(_TURNS, {"id": id_, "after": after})]
    with _without_collector() if len(turns) > _MANY_TURNS else nullcontext():
        return _built(connection, {"id": id_, "after": after}, turns, checksum)


def _built(
    connection: sa.Connection, parameters: Mapping[str, int], turns: Sequence[_StoredTurn], checksum: int | None
) -> tuple[Turn, ...]:
    """The turns of these rows, with their parts."""
    toolsets = load_toolsets(
        connection, {turn.toolset_id: turn.toolset for turn in turns if turn.toolset_id is not None}
    )
    names: dict[str, str] = {}  # equal ones in memory once
    parts: defaultdict[int, list[Part]] = defaultdict(list)
    sums: defaultdict[int, list[list[int | str | None]]] = defaultdict(list)
    for row in map(_StoredPart._make, connection.execute(_PARTS, parameters)):
        chunks_sum = None if row.chunks is None else blobs.checksum_of(row.chunks)
        sums[row.turn].append([row.number, row.name, blobs.checksum_of(row.text), chunks_sum])
        name = blobs.unescaped(names.setdefault(row.name, row.name))
        text = blobs.text_from_bytes(blobs.from_blob(row.text))
        parts[row.turn].append(Part(name, text, None if row.chunks is None else chunks_from_blob(row.chunks)))
    if checksum is not None:
        check_turns(checksum, sum(_checksum_of_turn(turn, sums[turn.number]) for turn in turns))
    return tuple(_turn(turn, tuple(parts[turn.number]), toolsets) for turn in turns)


def _checksum_of_turn(turn: _StoredTurn, parts: list[list[int | str | None]]) -> int:
    toolset = None if turn.toolset is None else bytes(turn.toolset)
    return turn_checksum(turn.number, turn.role, toolset, blobs.checksum_of(turn.facts), parts)


def _turn(row: _StoredTurn, parts: tuple[Part, ...], toolsets: Mapping[int, tuple[ToolDefinition, ...]]) -> Turn:
    tools = () if row.toolset_id is None else toolsets[row.toolset_id]
    return turn_from(row.role, unpack_facts(blobs.from_blob(row.facts)), parts, tools)


def read_inspection(connection: sa.Connection, id_: int, trace: Trace, *, may_lag: bool = False) -> Inspection:
    """The inspection of `trace`, which has this id.

    The recorder of a running trace may not have inspected all its turns yet. Then this function inspects the trace,
    except with `may_lag` for a long trace: the result then covers only the turns that were inspected. It also inspects
    a trace whose stored inspection has the layout of another version of weaklink.
    """
    row = connection.execute(_BODY, {"id": id_}).mappings().one_or_none()
    if row is None:
        raise blobs.DamagedBlobError("no row in the table `inspection`")
    if row["derived_checksum"] not in (None, derived_checksum(row, bytes(row["digest"]))):
        raise blobs.DamagedBlobError("checksum mismatch: it is not the one stored with the trace")
    if row["inspector_version"] == NOT_INSPECTED and not (may_lag and is_long(trace)):
        return inspect_readable(with_openness(connection, id_, trace))
    try:
        with _without_collector() if len(row["body"]) > _LARGE_BODY else nullcontext():
            return unpack_inspection(row["body"], texts_of(trace))
    except OtherLayoutError:
        return inspect_readable(with_openness(connection, id_, trace))


@contextmanager
def _without_collector() -> Iterator[None]:
    """Pause the garbage collector while many objects are made: all are kept, and it would scan them again and again.

    A trace of 10,000 turns is read in 0.30 instead of 0.59 s of CPU time (`benchmarks.large_traces`, November 2026).
    Few objects do not cost that, and meanwhile it may free the trace that was shown before. If several threads read,
    it may be on again before the last one has finished.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def inspect_readable(trace: Trace) -> Inspection:
    """The inspection of a trace; without the format that it names if a plug-in for that fails."""
    try:
        return inspect_trace(trace)
    except Exception:  # noqa: BLE001  # may call plug-ins; the recorder does the same, and reports the error
        return inspect_trace(replace(trace, format=""))
