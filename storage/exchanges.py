"""The HTTP exchanges of recorded traces, by run or trace, for a replay."""

from collections.abc import Iterable, Sequence

import msgspec
import sqlalchemy as sa
from msgspec import Struct

from weaklink.inspector.model.exchange import RecordedExchange
from weaklink.inspector.trace_file.lines import ExchangeLine, ExchangePacker, exchanges_of
from weaklink.storage import tables
from weaklink.storage.engine import Database, first_line
from weaklink.storage.packing.blobs import from_blob, key, to_blob
from weaklink.storage.reading import find_id
from weaklink.storage.tables import in_groups

RUN_ID = "run"
"""The name of the external id that all traces of one run have."""

_RUN_ID_LENGTH = 12
_exchange = tables.exchange.c
_external = tables.external_id.c


class StoredExchanges(Struct, frozen=True):
    """The exchanges of a run, or of one trace: ids of the traces, oldest first, and the exchanges of each.

    `damage` are sentences on exchanges that are damaged and left out.
    """

    run: str
    traces: dict[int, tuple[RecordedExchange, ...]]
    damage: tuple[str, ...] = ()


class Exchanges:
    """Reads recorded exchanges; StoreError if they cannot be found."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, word: int | str) -> StoredExchanges:
        """The exchanges of a run, by its id or the beginning of the id; `latest` is the run of the newest trace.

        Anything else, such as a number, names a trace, as for `Store.trace`. A trace without exchanges has an empty
        tuple.
        """
        with self._database.reading() as connection:
            run = _run(connection, word) if isinstance(word, str) else ""
            ids = _traces_of(connection, run) if run else [find_id(connection, word)]
            if not run and word == "latest":
                own_run = sa.select(_external.value).where(_external.name == RUN_ID, _external.trace_id == ids[0])
                run = next(iter(connection.scalars(own_run)), "")
                ids = _traces_of(connection, run) if run else ids
            rows: dict[int, list[bytes]] = {id_: [] for id_ in ids}
            for group in in_groups(ids):
                query = sa.select(_exchange.trace_id, _exchange.body).where(_exchange.trace_id.in_(group))
                for id_, body in connection.execute(query.order_by(_exchange.trace_id, _exchange.number)):
                    rows[id_].append(body)
        damage: list[str] = []
        traces = {id_: _unpacked(id_, bodies, damage) for id_, bodies in rows.items()}
        return StoredExchanges(run, traces, tuple(damage))

    def with_unsaved(self, id_: int, unsaved: Sequence[tuple[int, bytes]]) -> tuple[RecordedExchange, ...]:
        """The stored exchanges of a trace, followed by packed ones that are not stored yet."""
        with self._database.reading() as connection:
            query = sa.select(_exchange.body).where(_exchange.trace_id == id_).order_by(_exchange.number)
            return unpacked_exchanges([*connection.scalars(query), *(body for _, body in unsaved)])


def unpacked_exchanges(bodies: Sequence[bytes]) -> tuple[RecordedExchange, ...]:
    """The inverse of `packed_exchanges`, without damaged ones."""
    return _unpacked(0, bodies, [])


def pack_exchange(line: ExchangeLine) -> tuple[int, bytes]:
    """A line's number, and the line as a blob for its column."""
    return line.number, to_blob(msgspec.json.encode(line))


def packed_exchanges(exchanges: Iterable[RecordedExchange]) -> tuple[tuple[int, bytes], ...]:
    """All exchanges of a trace, in order, as `put_exchanges` takes them."""
    return tuple(map(pack_exchange, map(ExchangePacker().line, exchanges)))


def put_exchanges(connection: sa.Connection, id_: int, packed: Sequence[tuple[int, bytes]]) -> None:
    """Insert exchanges of a trace; exchanges whose numbers exist already stay as they are."""
    if packed:
        existing = set(connection.scalars(sa.select(_exchange.number).where(_exchange.trace_id == id_)))
        rows = [{"trace_id": id_, "number": number, "body": body} for number, body in packed if number not in existing]
        if rows:
            connection.execute(sa.insert(tables.exchange), rows)


def replace_exchanges(connection: sa.Connection, id_: int, packed: Sequence[tuple[int, bytes]]) -> None:
    """Replace all exchanges of a trace with these."""
    connection.execute(sa.delete(tables.exchange).where(_exchange.trace_id == id_))
    put_exchanges(connection, id_, packed)


def move_exchanges(connection: sa.Connection, id_: int, to: int) -> None:
    """Move the exchanges of a trace to another one with the same identity, unless that one has exchanges."""
    if connection.scalar(sa.select(_exchange.number).where(_exchange.trace_id == to).limit(1)) is None:
        connection.execute(sa.update(tables.exchange).where(_exchange.trace_id == id_).values(trace_id=to))


def _run(connection: sa.Connection, word: str) -> str:
    """The id of the run that is or begins with this word; `""` if there is none, or more than one."""
    whole = key(word)
    if len(word) < 4 or word == "latest" or (word.isdecimal() and len(word) < _RUN_ID_LENGTH):
        return ""
    begins = (_external.value >= whole) & (_external.value < f"{whole}\U0010ffff")
    query = sa.select(_external.value).where(_external.name == RUN_ID, begins).distinct().limit(2)
    ids = list(connection.scalars(query))
    return ids[0] if len(ids) == 1 else ""


def _traces_of(connection: sa.Connection, run: str) -> list[int]:
    trace = tables.trace.c
    query = (
        sa.select(trace.id)
        .join(tables.external_id, _external.trace_id == trace.id)
        .where(_external.name == RUN_ID, _external.value == run)
        .order_by(trace.sort_at_s, trace.id)
    )
    return list(connection.scalars(query))


def damaged_exchanges(connection: sa.Connection, id_: int) -> list[str]:
    """Sentences on the exchanges of a trace that are damaged."""
    query = sa.select(_exchange.body).where(_exchange.trace_id == id_).order_by(_exchange.number)
    damage: list[str] = []
    _unpacked(id_, list(connection.scalars(query)), damage)
    return damage


_decode_line = msgspec.json.Decoder(ExchangeLine).decode


def _unpacked(id_: int, bodies: Sequence[bytes], damage: list[str]) -> tuple[RecordedExchange, ...]:
    """The exchanges that can be read; a request that is stored as a difference from a damaged one is lost with it."""
    lines: list[ExchangeLine] = []
    for position, body in enumerate(bodies, 1):
        try:
            line = _decode_line(from_blob(body))
            tuple(exchanges_of([line]))
            lines.append(line)
        except (msgspec.MsgspecError, ValueError, TypeError) as error:
            damage.append(f"trace {id_}: its HTTP exchange {position} is damaged and left out: {first_line(error)}")
    return tuple(exchanges_of(lines))
