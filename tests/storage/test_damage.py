"""Flipped bits in what is stored: noticed where it is read, and the rest can be read all the same."""

import random
from pathlib import Path

import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from tests.examples import one_in
from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from weaklink.inspector.errors import StoreError
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.model import Chunks, Trace, Turn
from weaklink.storage import tables
from weaklink.storage.store import Store, open_store
from weaklink.storage.summaries import ListCursor, TraceSummary

_BLOBS = (
    *(tables.trace.c.facts, tables.trace.c.provenance, tables.turn.c.facts, tables.part.c.text, tables.part.c.chunks),
    *(tables.tool.c.body, tables.inspection.c.body, tables.toolset.c.hash, tables.inspection.c.digest),
)
_Known = dict[int, tuple[Trace, Inspection]]


def _made() -> list[tuple[Trace, Inspection]]:
    return inspected(
        trace("good", GOOD_CALL, started_s=1.0),
        trace("bad", BAD_CALL, GOOD_CALL, started_s=2.0, words="Straße " * 40),
        replace(trace("long", *[GOOD_CALL, BAD_CALL] * 3, words="word " * 900), turns=_streamed()),
    )


def _streamed() -> tuple[Turn, ...]:
    """Turns with chunks, of which some are many."""
    turns = trace("long", *[GOOD_CALL, BAD_CALL] * 3, words="word " * 900).turns
    return tuple(
        replace(turn, parts=tuple(replace(part, chunks=_chunks(len(part.text))) for part in turn.parts))
        for turn in turns
    )


def _chunks(length: int) -> Chunks:
    ends = range(3, length + 1, 3)
    return Chunks((*ends, length), tuple(range(len(ends) + 1)), tuple(index / 7 for index in range(len(ends) + 1)))


def _known(store: Store) -> tuple[_Known, dict[int, TraceSummary]]:
    summaries = {summary.id: _listed(summary) for summary in store.traces()}
    return {id_: store.inspected(id_) for id_ in summaries}, summaries


def _listed(summary: TraceSummary) -> TraceSummary:
    """A summary without what no checksum covers: when it was imported, its place in lists, the index of rules."""
    return replace(summary, imported_at_s=0.0, cursor=ListCursor(0.0, 0), codes=(), layers=())


def _changed_silently(store: Store, known: _Known, summaries: dict[int, TraceSummary]) -> tuple[list[str], int, int]:
    """What reads otherwise than it was written, without a word; how many reads tell of damage, and how many do not."""
    wrong: list[str] = []
    told = whole = 0
    for id_, pair in known.items():
        try:
            stored = store.inspected(id_)
        except StoreError:  # SQLite itself cannot read the file
            told += 1
            continue
        if stored[0].provenance.warnings == pair[0].provenance.warnings:
            wrong += [f"trace {id_}"] * (stored != pair)
            whole += 1
        else:
            told += 1
    try:
        for summary in store.traces():
            same = summary.damaged or _listed(summary) == summaries.get(summary.id)
            wrong += [] if same else [f"summary {summary.id}"]
            told += summary.damaged
    except StoreError:
        told += 1
    return wrong, told, whole


@pytest.mark.one_in(2)
@pytest.mark.parametrize("group", [0, 1, *(pytest.param(index, marks=pytest.mark.slow) for index in range(2, 7))])
def test_no_flipped_bit_of_a_file_changes_what_is_read_without_a_word(tmp_path: Path, group: int) -> None:
    path = tmp_path / "w.db"
    with open_store(path) as store:
        store.save(_made())
        known, summaries = _known(store)
    raw = path.read_bytes()
    written = [index for index in range(100, len(raw)) if raw[index]]  # most of a small file is empty
    rng = random.Random(group)
    noticed = 0
    for _ in range(40):
        position, bit = rng.choice(written), rng.randrange(8)
        copy = tmp_path / "flipped.db"
        copy.write_bytes(raw[:position] + bytes([raw[position] ^ (1 << bit)]) + raw[position + 1 :])
        try:
            with open_store(copy, read_only=True) as store:
                wrong, told, _ = _changed_silently(store, known, summaries)
        except StoreError:
            noticed += 1
            continue
        assert wrong == [], (position, bit)
        noticed += told > 0
    assert noticed > 5


@pytest.mark.campaign
@pytest.mark.one_in(2)
@pytest.mark.parametrize("group", [1, *(pytest.param(index, marks=pytest.mark.slow) for index in range(2, 5))])
def test_no_flipped_bit_of_a_packed_column_changes_what_is_read_and_the_other_traces_stay_readable(
    database: str, group: int
) -> None:
    """The gate flips 25 bits, some of every packed column; `make test-slow` flips 300 on each database."""
    with open_store(database) as store:
        store.save(_made())
        known, summaries = _known(store)
    rng = random.Random(group)
    with open_store(database) as store:
        for number in one_in(3, range(75)):
            column = _BLOBS[number % len(_BLOBS)]
            with store._database.engine.begin() as connection:
                keys = list(column.table.primary_key.columns)
                row = rng.choice(connection.execute(sa.select(*keys, column).where(column.is_not(None))).all())
                where = [key == value for key, value in zip(keys, row, strict=False)]
                raw, index = bytes(row[-1]), rng.randrange(8 * len(row[-1]))
                flipped = raw[: index // 8] + bytes([raw[index // 8] ^ (1 << index % 8)]) + raw[index // 8 + 1 :]
                connection.execute(sa.update(column.table).where(*where).values({column.name: flipped}))
            wrong, told, whole = _changed_silently(store, known, summaries)
            assert wrong == [], (column, index)
            assert told > 0, (column, index)
            if column.table not in (tables.tool, tables.toolset):  # which several traces share
                assert whole >= len(known) - 1
            with store._database.engine.begin() as connection:
                connection.execute(sa.update(column.table).where(*where).values({column.name: raw}))
        assert _changed_silently(store, known, summaries) == ([], 0, len(known))
