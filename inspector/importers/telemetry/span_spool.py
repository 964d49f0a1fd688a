"""Spans, or rows about them, are spooled while a file is read, and returned session by session at its end.

The spans of a session may be anywhere in a file, children before their parents, and a span may have several rows (one
for its begin, one for its end). Any row may name the trace of its span, and any span of a trace its session:

    put("a", {"outputs": 1})    put("b", ..., trace="t", session=S)    put("a", ..., trace="t")
    sessions() -> {S: ["a", "b"]}        rows(["a"]) -> both rows of a

Beyond a bound their bytes are in a temporary file. A few hundred bytes per row, or per trace where traces are the keys,
are in memory, and the rows of the session that is being read.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Generic, Self, TypeVar

import msgspec
from msgspec import Struct, field

from weaklink.inspector.importers.records import parse_json_bytes
from weaklink.inspector.model import ExternalId
from weaklink.inspector.spool import RecordSpool, SpoolPosition

SPOOL_BYTES = 32 << 20
"""How many bytes of rows are kept in memory."""

TRACE = "trace_id"
"""The name of the id of a session that only its trace distinguishes."""

Row = TypeVar("Row")

_pack = msgspec.msgpack.Encoder().encode


class _Spooled(Struct):
    """Where the rows of a key are, its trace, and the session that it names, with the rank of the row that does."""

    positions: list[SpoolPosition] = field(default_factory=list)
    trace: str = ""
    session: ExternalId | None = None
    rank: tuple[float, int] = (0.0, 0)


class SpanSpool(Generic[Row]):
    """Stores rows of a type by the keys of their spans or traces. A context manager that deletes everything at its end.

    `spool_bytes` of the rows are kept in memory, the rest in a temporary file without a name.
    """

    def __init__(self, row_type: type[Row], *, spool_bytes: int = SPOOL_BYTES) -> None:
        self._type = row_type
        self._decode = msgspec.msgpack.Decoder(row_type).decode
        self._spool = RecordSpool(spool_bytes)
        self._keys: dict[str, _Spooled] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._spool.close()

    def put(
        self, key: str, row: Row, *, trace: str = "", session: ExternalId | None = None, started_s: float = 0.0
    ) -> None:
        """Store a row; RecursionError if it is nested too deeply.

        Of several rows of a trace that name a session the one that `started_s` earliest counts, else the first.
        """
        place = self._spool.put(_packed(row))
        spooled = self._keys.setdefault(key, _Spooled())
        spooled.positions.append(place)
        spooled.trace = spooled.trace or trace
        rank = started_s, place[0]
        if session is not None and (spooled.session is None or rank < spooled.rank):
            spooled.session, spooled.rank = session, rank

    def sessions(self) -> dict[ExternalId, list[str]]:
        """The keys of each session, both in the order they were put; a trace without one is a session by itself."""
        named: dict[str, _Spooled] = {}
        for key, spooled in self._keys.items():
            trace = spooled.trace or key
            if spooled.session is not None and (trace not in named or spooled.rank < named[trace].rank):
                named[trace] = spooled
        sessions: dict[ExternalId, list[str]] = {}
        for key, spooled in self._keys.items():
            trace = spooled.trace or key
            session = named[trace].session if trace in named else None
            sessions.setdefault(session or ExternalId(TRACE, trace), []).append(key)
        return sessions

    def rows(self, keys: Iterable[str]) -> Iterator[Row]:
        """All rows of these keys in the order they were put."""
        for place in sorted(place for key in keys for place in self._keys[key].positions):
            packed = self._spool.get(place)
            is_json = packed.startswith((b"[", b"{"))  # which begin no list and no object of MessagePack
            yield msgspec.convert(parse_json_bytes(packed), self._type) if is_json else self._decode(packed)


def _packed(row: object) -> bytes:
    try:
        return _pack(row)
    except (UnicodeEncodeError, OverflowError):  # lone surrogates, integers beyond 64 bits
        return json.dumps(msgspec.to_builtins(row), default=str).encode("ascii")
