"""Long traces come back as they were, and one that is being recorded is not inspected anew for a screen."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from tests.storage.samples import BAD_CALL, GOOD_CALL, trace
from weaklink.inspector.inspected import _MANY, Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Chunks, Generation, Part, Role, ToolDefinition, Trace, Turn
from weaklink.storage import tables
from weaklink.storage.engine import location_of, new_engine
from weaklink.storage.packing.derived_values import texts_of
from weaklink.storage.packing.inspections import pack_inspection
from weaklink.storage.reading import NOT_INSPECTED
from weaklink.storage.store import Store, open_store


def _wide(turns: int = 3 * _MANY) -> Trace:
    """Turns of different kinds: with calls, with tools, long ones, empty ones."""
    kinds = (
        Turn(Role.USER, (Part("text", "what is the weather?"),)),
        Turn(
            Role.ASSISTANT,
            (Part("reasoning", "hm"), Part("text", GOOD_CALL * 3 + "é漢\ud800")),
            generation=Generation(answered_model="m", tools=(ToolDefinition("get_weather"),)),
        ),
        Turn(Role.TOOL, ()),
        Turn(Role.ASSISTANT, (Part("text", BAD_CALL, Chunks((3, len(BAD_CALL)), (0, 1), (0.5, None))),)),
    )
    long = Part("text", "x" * 200_000, Chunks(tuple(range(1, 200_001)), tuple(range(200_000))))
    first = Turn(Role.ASSISTANT, (long, Part("refusal", "", Chunks((), ()))))
    rest = [kinds[number % len(kinds)] for number in range(turns - 2)]
    return replace(trace("wide"), turns=(first, *rest), format="hermes")


WIDE = _wide()
LONG_TURN, SHORT_TURN = 1, 5


@cache
def _found() -> Inspection:
    """What is found in it: not while tests are collected, which every worker does."""
    return inspect_trace(WIDE)


@pytest.mark.slow
def test_a_wide_trace_that_is_being_recorded_is_not_inspected_anew_for_a_screen(database: str) -> None:
    begun = replace(WIDE, turns=WIDE.turns[: 2 * _MANY])
    with open_store(database) as store:
        store.save([(WIDE, _found())])
        body = pack_inspection(inspect_trace(begun), texts_of(begun)).body
        _write(database, tables.inspection.c.body, body)
        _write(database, tables.trace.c.inspector_version, NOT_INSPECTED)
        got, read = store.inspected(1, may_lag=True)
        assert got == WIDE
        assert read == inspect_trace(begun)
        assert store.inspected(1)[1] == _found()


@pytest.mark.slow
def test_a_wide_trace_that_was_read_is_unchanged_where_it_is_saved_again(store: Store, tmp_path: Path) -> None:
    store.save([(WIDE, _found())])
    read = store.inspected(1)
    assert [saved.verdict for saved in store.save([read])] == ["unchanged"]
    with open_store(tmp_path / "other.db") as other:
        other.save([read])
        assert other.inspected(1) == (WIDE, _found())
        assert _body(other) == _body(store)


def _body(store: Store) -> bytes:
    with store._database.reading() as connection:
        return bytes(connection.scalar(sa.select(tables.inspection.c.body)) or b"")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("mark", [b"\x5a", b"\2"])
def test_an_inspection_in_the_pages_of_0_2_0_is_made_again_where_it_is_read(database: str, mark: bytes) -> None:
    with open_store(database) as store:
        store.save([(WIDE, _found())])
        _write(database, tables.inspection.c.body, mark + _body(store)[1:])
        assert store.inspected(1) == (WIDE, _found())


@pytest.mark.slow
def test_a_trace_that_was_read_is_inspected_as_it_was(store: Store) -> None:
    store.save([(WIDE, _found())])
    assert inspect_trace(store.trace(1)) == _found()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("index", [1, 5, -1], ids=["the checksum", "the beginning", "the end"])
def test_a_damaged_inspection_is_told_when_it_is_read(database: str, index: int) -> None:
    with open_store(database) as store:
        store.save([(WIDE, _found())])
        body = bytearray(_body(store))
        body[index] ^= 1
        _write(database, tables.inspection.c.body, bytes(body))
        read, inspection = store.inspected(1)
        (warning,) = read.provenance.warnings
        assert warning.startswith("The stored inspection is damaged (")
        assert inspection == _found()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("column", [tables.turn.c.facts, tables.part.c.text, tables.part.c.chunks], ids=str)
@pytest.mark.parametrize("number", [SHORT_TURN, LONG_TURN], ids=["a short one", "a long one"])
def test_a_damaged_turn_is_told_when_the_trace_is_read(database: str, column: sa.Column[bytes], number: int) -> None:
    with open_store(database) as store:
        store.save([(WIDE, _found())])
        turn = column.table.c.turn if column.table is tables.part else column.table.c.number
        _write(database, column, b"\1damaged", turn == number)
        read, inspection = store.inspected(1)
        assert len(read.turns) == len(WIDE.turns)
        damaged = len(WIDE.turns[number - 1].parts) if column.table is tables.part else 1
        assert [warning.startswith(f"Turn {number}: ") for warning in read.provenance.warnings] == [True] * damaged
        assert {
            index
            for index, (turn_read, was) in enumerate(zip(read.turns, WIDE.turns, strict=True), 1)
            if turn_read != was
        } == {number}
        assert inspection == inspect_trace(read)


def _write(database: str, column: sa.Column[Any], value: bytes | str, *where: sa.ColumnElement[bool]) -> None:
    engine = new_engine(location_of(database))
    with engine.begin() as connection:
        connection.execute(sa.update(column.table).where(*where).values({column: value}))
    engine.dispose()
