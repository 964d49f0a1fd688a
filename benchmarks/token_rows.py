"""What a token and a trace cost to keep: packed streams against a row per token, on the same data in one run."""

import random
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import orm

from benchmarks.corpus import prose
from benchmarks.many_stores import a_trace
from benchmarks.measuring import best_of, goal, print_line
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Chunk, Part
from weaklink.inspector.model.trace import parts_of
from weaklink.storage.engine import location_of, new_engine
from weaklink.storage.packing.blobs import from_blob, text_from_bytes, text_to_bytes, to_blob
from weaklink.storage.packing.chunks import pack_chunks, unpack_chunks
from weaklink.storage.store import open_store

_TOKENS, _TRACES = 21_000, 200
_SCHEMA = (
    "CREATE TABLE token (stream INTEGER, number INTEGER, at_s DOUBLE, text TEXT, PRIMARY KEY (stream, number))",
    "CREATE TABLE lean (stream INT, number INT, at_s DOUBLE, text TEXT, PRIMARY KEY (stream, number)) WITHOUT ROWID",
    "CREATE TABLE packed (stream INTEGER PRIMARY KEY, text BLOB, chunks BLOB)",
)


class _Base(orm.DeclarativeBase):
    pass


class _TokenRow(_Base):
    __tablename__ = "token"
    stream: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    number: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    at_s: orm.Mapped[float]
    text: orm.Mapped[str]


_token = _TokenRow.metadata.tables["token"]
_packed = sa.table("packed", sa.column("stream"), sa.column("text"), sa.column("chunks"))
_streams = count()


def tokens() -> None:
    """A stream of 21,000 tokens written, kept and read; the goals are the ratios of PERF.md's table."""
    part = a_stream()
    print_line(f"a stream of {_TOKENS:,} tokens with their times")
    writers: dict[str, Callable[[sa.Engine, Part], object]] = {
        "ORM add_all": _write_orm,
        "Core insert": _write_core,
        "raw executemany": _write_raw,
        "packed": _write_packed,
    }
    with _databases(writers) as engines:
        sizes = {name: _size_after(write, engines[name], part) for name, write in writers.items()}
        wrote = best_of({name: partial(write, engines[name], part) for name, write in writers.items()}, rounds=3)
        readers = {"ORM add_all": _read_orm, "raw executemany": _read_raw, "packed": _read_packed}
        took = best_of({name: partial(read, engines[name]) for name, read in readers.items()}, rounds=3)
    for name, seconds in wrote.items():
        read_ms = f", read {took[name] * 1e3:.2f} ms" if name in took else ""
        print_line(
            f"  {name:16} {seconds / _TOKENS * 1e6:7.2f} us and {sizes[name] / _TOKENS:5.1f} bytes a token{read_ms}"
        )
    raw = "raw executemany"
    print_line(f"  packed of raw, time:  {goal(wrote['packed'] / wrote[raw], 0.42, at_least=False)}")
    print_line(f"  packed of raw, bytes: {goal(sizes['packed'] / sizes[raw], 0.17, at_least=False)}")
    print_line(f"  packed of raw, read:  {took['packed'] / took[raw]:6.2f}")


def traces() -> None:
    """Whole traces saved and read, against inspecting them, which always comes before."""
    made = [(index, inspect_trace(index)) for index in map(a_trace, range(_TRACES))]
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "weaklink.db") as store:
        files = count()

        def save() -> None:
            with open_store(Path(folder) / f"{next(files)}.db") as other:
                other.save(made)

        def empty() -> None:
            open_store(Path(folder) / f"{next(files)}.db").close()

        store.save(made)
        best = best_of(
            {
                "inspected": lambda: [inspect_trace(trace) for trace, _ in made],
                "made": empty,
                "saved": save,
                "read": lambda: [store.inspected(number) for number in range(1, _TRACES + 1)],
            },
            rounds=3,
        )
        best["saved"] -= best.pop("made")
    print_line("a trace: " + ", ".join(f"{name} {took / _TRACES * 1e6:.0f} us" for name, took in best.items()))


def a_stream() -> Part:
    """One part in chunks of a token each, of two to six characters, 20 ms apart or so."""
    rng = random.Random(1)
    text, at_s, start = prose(5 * _TOKENS), 0.0, 0
    chunks: list[Chunk] = []
    for sequence in range(_TOKENS):
        end = start + rng.randrange(2, 7)
        at_s += rng.lognormvariate(-4, 0.3)
        chunks.append(Chunk(sequence, "text", text[start:end], round(at_s, 6)))
        start = end
    return parts_of(chunks)[0]


@contextmanager
def _databases(names: Iterable[str]) -> Iterator[dict[str, sa.Engine]]:
    with tempfile.TemporaryDirectory() as folder:
        engines: dict[str, sa.Engine] = {}
        for index, name in enumerate(names):
            path = Path(folder) / f"{index}.db"
            with closing(sqlite3.connect(path)) as connection:
                for statement in _SCHEMA:
                    connection.execute(statement)
            engines[name] = new_engine(location_of(path))
        yield engines
        for engine in engines.values():
            engine.dispose()


def _size_after(write: Callable[[sa.Engine, Part], object], engine: sa.Engine, part: Part) -> int:
    before = _size(engine)
    for _ in range(5):
        write(engine, part)
    return (_size(engine) - before) // 5


def _size(engine: sa.Engine) -> int:
    with engine.connect() as connection:
        pages: int = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    return pages * 4096


def _write_orm(engine: sa.Engine, part: Part) -> None:
    stream = next(_streams)
    with orm.Session(engine) as session:
        session.add_all(
            _TokenRow(stream=stream, number=arrival.sequence, at_s=arrival.offset_s, text=arrival.text)
            for arrival in part.arrivals()
        )
        session.commit()


def _write_core(engine: sa.Engine, part: Part) -> None:
    stream = next(_streams)
    rows = [
        {"stream": stream, "number": arrival.sequence, "at_s": arrival.offset_s, "text": arrival.text}
        for arrival in part.arrivals()
    ]
    with engine.begin() as connection:
        connection.execute(sa.insert(_token), rows)


def _write_raw(engine: sa.Engine, part: Part) -> None:
    stream = next(_streams)
    rows = [(stream, arrival.sequence, arrival.offset_s, arrival.text) for arrival in part.arrivals()]
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO lean VALUES (?, ?, ?, ?)", rows)


def _write_packed(engine: sa.Engine, part: Part) -> None:
    assert part.chunks is not None  # made by `a_stream`
    row = {
        "stream": next(_streams),
        "text": to_blob(text_to_bytes(part.text)),
        "chunks": to_blob(pack_chunks(part.chunks)),
    }
    with engine.begin() as connection:
        connection.execute(sa.insert(_packed), [row])


def _read_orm(engine: sa.Engine) -> int:
    with orm.Session(engine) as session:
        first = session.scalar(sa.select(sa.func.min(_TokenRow.stream)))
        return len(session.scalars(sa.select(_TokenRow).where(_TokenRow.stream == first)).all())


def _read_raw(engine: sa.Engine) -> int:
    with engine.connect() as connection:
        wanted = "SELECT number, at_s, text FROM lean WHERE stream = (SELECT min(stream) FROM lean) ORDER BY number"
        return len(connection.exec_driver_sql(wanted).all())


def _read_packed(engine: sa.Engine) -> int:
    with engine.connect() as connection:
        text, chunks = connection.execute(sa.select(_packed.c.text, _packed.c.chunks).limit(1)).one()
    text_from_bytes(from_blob(text))
    return len(unpack_chunks(from_blob(chunks)))
