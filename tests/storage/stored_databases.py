"""The databases of each version of the tables that tests/cases/databases holds, and how the newest one is made.

A database of a version is stored once, when that version is made, and never again: the promise is that a later weaklink
reads what an earlier one wrote.
"""

import gzip
import subprocess
from pathlib import Path

import psycopg
from msgspec.structs import replace

from benchmarks.postgresql_server import programs
from tests.storage.samples import BAD_CALL, GOOD_CALL, trace
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Chunks, Trace, Turn
from weaklink.storage.store import open_store

FOLDER = Path(__file__).parents[1] / "cases" / "databases"
KINDS = {"sqlite": "db.gz", "postgresql": "sql.gz"}


def stored_traces() -> list[Trace]:
    """The traces that every stored database holds."""
    thought = f"<think>so</think>{GOOD_CALL}"
    return [
        trace("good", GOOD_CALL, started_s=1_700_000_000.0),
        trace("bad", BAD_CALL, thought, started_s=1_700_000_100.0, words="Straße \ud800\0 \N{SNOWMAN}"),
        replace(trace("streamed", thought, started_s=1_700_000_200.0), turns=_streamed(thought)),
        trace("", "no call and no session"),
        trace("many", *[GOOD_CALL] * 400, started_s=1_700_000_300.0),
    ]


def _streamed(answer: str) -> tuple[Turn, ...]:
    turns = trace("streamed", answer).turns
    return tuple(
        replace(turn, parts=tuple(replace(part, chunks=_chunks(len(part.text))) for part in turn.parts))
        for turn in turns
    )


def _chunks(length: int) -> Chunks:
    ends = (*range(4, length, 4), length)
    return Chunks(ends, tuple(range(len(ends))), tuple(index / 8 for index in range(len(ends))))


def fill(where: str) -> None:
    """Make a database as this weaklink makes it."""
    with open_store(where) as store:
        store.save((sample, inspect_trace(sample)) for sample in stored_traces())
        store.marks.put("bad", step=1, note="look here")
        store.search.index_pending()


def store_database(kind: str, revision: str, where: str) -> None:
    """Keep a database for later versions; one that is kept already stays."""
    path = FOLDER / f"{revision}.{KINDS[kind]}"
    if path.exists():
        return
    FOLDER.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(Path(where).read_bytes() if kind == "sqlite" else _dump(where), mtime=0))


def restore_database(kind: str, revision: str, where: str) -> None:
    """Put a kept database where an empty one may be."""
    raw = gzip.decompress((FOLDER / f"{revision}.{KINDS[kind]}").read_bytes())
    if kind == "sqlite":
        Path(where).write_bytes(raw)
        return
    with psycopg.connect(where, autocommit=True) as connection:
        connection.execute(raw)


def _dump(where: str) -> bytes:
    folder = programs()
    assert folder is not None
    command = [str(folder / "pg_dump"), "--inserts", "--no-owner", "--no-privileges", "--no-comments", where]
    said = subprocess.run(command, check=True, capture_output=True).stdout
    return b"".join(line for line in said.splitlines(keepends=True) if not line.startswith(b"\\"))  # what psql takes
