"""Wide traces come back as they were, made where somebody looks; with tiny bounds every small trace is a wide one."""

import json
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.examples import in_the_gate
from tests.storage.samples import BAD_CALL, GOOD_CALL, trace
from tests.storage.strategies import inspections
from tests.strategies import traces
from weaklink.inspector.apis.openai.messages import read_message
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.memoized import memoizing
from weaklink.inspector.model import Chunks, Generation, Json, Part, Provenance, Role, ToolDefinition, Trace, Turn
from weaklink.inspector.model.columns import Column
from weaklink.storage import Store, open_store, tables
from weaklink.storage.engine import new_engine, place_of
from weaklink.storage.packing.derived_values import texts_of
from weaklink.storage.packing.inspections import _packed_before, pack_inspection, read_wide, unpack_inspection
from weaklink.storage.packing.paged_blobs import is_paged
from weaklink.storage.reading import MANY, MUCH, NOT_INSPECTED


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One SQLite store for many examples."""
    with open_store(tmp_path_factory.mktemp("shared") / "weaklink.db") as opened:
        yield opened


def _tiny(patch: pytest.MonkeyPatch, size: int) -> None:
    """Every inspection that says anything is wide, every trace has many turns, every blob is long."""
    patch.setattr("weaklink.storage.packing.inspections._MOST", 0)
    patch.setattr("weaklink.storage.packing.paged_blobs._WINDOW", size)
    patch.setattr("weaklink.storage.packing.chunks.WINDOW", size)
    patch.setattr("weaklink.storage.packing.paged_blobs.Spool.__init__.__defaults__", (size,))
    patch.setattr("weaklink.storage.reading.MANY", 0)
    patch.setattr("weaklink.storage.reading.LONG", size)
    patch.setattr("weaklink.storage.reading._LONG", size)
    patch.setattr("weaklink.storage.reading._STREAMED", {"yield_per": 1 + size % 3})
    patch.setattr("weaklink.storage.reading._ROOM", size)


@pytest.mark.parametrize("size", [40, 1_000, 100_000])
def test_a_session_that_grows_is_packed_as_at_once(size: int) -> None:
    """In some rounds a turn in the middle is another one, as after a rewind."""
    dice, turns = random.Random(size), [turn for number in range(12) for turn in _round(number)]
    reused = 0
    with pytest.MonkeyPatch.context() as patch:
        _tiny(patch, size)
        patch.setattr("weaklink.storage.packing.inspections._LAST_PARTS", 2)
        patch.setattr("weaklink.storage.packing.inspections._MORE_PARTS", 3)
        for number in range(1, len(turns) + 1):
            if dice.random() < 0.2:
                turns[dice.randrange(number)] = read_message({"role": "user", "content": f"Look again at {number}."})
            made = Trace(turns=tuple(turns[:number]), provenance=Provenance(source="claude-code"))
            with memoizing():
                inspection = inspect_trace(made)
                grown = pack_inspection(inspection, texts_of(made))
                reused += bool(_packed_before.get(id(inspection.parts[0])))
            assert grown == pack_inspection(inspection, texts_of(made))
    assert reused > len(turns) / 2


def _round(number: int) -> list[Turn]:
    """A call and its result, as a log of messages has them; every third call is one that was made before."""
    function: dict[str, Json] = {
        "name": "look",
        "arguments": json.dumps({"path": f"a{number % 3}.txt", "depth": number}),
    }
    call: Json = {"id": f"c{number}", "type": "function", "function": function}
    return [
        read_message({"role": "assistant", "content": f"Look {number}", "tool_calls": [call]}),
        read_message({"role": "tool", "tool_call_id": f"c{number}", "content": f"{number} lines"}),
    ]


@in_the_gate(15)  # each is packed and read twice
@given(traces(), inspections(), st.integers(1, 200))
def test_a_wide_inspection_comes_back(made: Trace, inspection: Inspection, size: int) -> None:
    texts = texts_of(made)
    with pytest.MonkeyPatch.context() as patch:
        _tiny(patch, size)
        packed = pack_inspection(inspection, texts)
        read = unpack_inspection(packed.body, texts, in_columns=True)
        assert is_paged(packed.body) == bool(inspection.parts or inspection.chain.steps or inspection.diagnostics)
        assert read == inspection
        assert repr(read) == repr(inspection)  # 1, 1.0 and True are equal, and not the same
        at_once = unpack_inspection(packed.body, texts)
        assert not any(isinstance(one, Column) for one in (at_once.parts, at_once.chain.steps, at_once.diagnostics))
        assert repr(at_once) == repr(inspection)
        assert pack_inspection(read, texts) == packed


@in_the_gate(12)  # each is written and read twice
@given(traces(), inspections(), st.integers(1, 200))
def test_a_wide_trace_comes_back_from_a_store(shared: Store, made: Trace, inspection: Inspection, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        _tiny(patch, size)
        shared.delete([one.id for one in shared.traces(limit=9)])  # what an example that failed has left
        (saved,) = shared.save([(made, inspection)])
        got, read = shared.inspected(saved.id, in_columns=True)
        assert isinstance(got.turns, Column) == bool(made.turns)
        assert got == made
        assert read == inspection
        assert repr(read) == repr(inspection)
        got, read = shared.inspected(saved.id)
        assert isinstance(got.turns, tuple)
        assert got == made
        assert repr(read) == repr(inspection)


@in_the_gate(15)  # each is written and read
@given(traces())
def test_texts_are_the_same_where_turns_are_a_column(shared: Store, made: Trace) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weaklink.storage.reading.MANY", 0)
        shared.delete([one.id for one in shared.traces(limit=9)])
        (saved,) = shared.save([(made, inspect_trace(replace(made, format="hermes")))])
        texts, found = texts_of(made), texts_of(shared.inspected(saved.id, in_columns=True)[0])
        names = {part.name for turn in made.turns for part in turn.parts}
        places = [(number, name) for number in range(-1, len(made.turns) + 2) for name in (*names, "no such part")]
        assert [found.get(place, "none") for place in places] == [texts.get(place, "none") for place in places]


def _wide(turns: int = 3 * MANY) -> Trace:
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


def test_a_wide_trace_lives_without_its_store(database: str) -> None:
    with open_store(database) as store:
        store.save([(WIDE, _found())])
        got, read = store.inspected(1, in_columns=True)
    columns = (got.turns, read.parts, read.chain.steps, read.diagnostics)
    whole = (WIDE.turns, _found().parts, _found().chain.steps, _found().diagnostics)
    for column, entries in zip(columns, whole, strict=True):
        assert isinstance(column, Column)
        assert len(column) == len(entries) > 500
        assert [column[index] for index in range(0, len(entries), 97)] == list(entries[::97])
    assert (got, read) == (WIDE, _found())


@pytest.mark.slow
def test_a_wide_trace_that_is_being_recorded_is_not_inspected_anew_for_a_screen(database: str) -> None:
    begun = replace(WIDE, turns=WIDE.turns[: 2 * MANY])
    with open_store(database) as store:
        store.save([(WIDE, _found())])
        body = pack_inspection(inspect_trace(begun), texts_of(begun)).body
        _write(database, tables.inspection.c.body, body)
        _write(database, tables.trace.c.inspector_version, NOT_INSPECTED)
        got, read = store.inspected(1, in_columns=True)
        assert got == WIDE
        assert read == inspect_trace(begun)
        assert store.inspected(1)[1] == _found()


def test_several_threads_look_at_one_trace(store: Store) -> None:
    store.save([(WIDE, _found())])
    got, read = store.inspected(1, in_columns=True)

    def look(start: int) -> bool:
        order = [(start * 131 + step * 7) % len(WIDE.turns) for step in range(300)]
        return all(
            got.turns[at] == WIDE.turns[at] and read.chain.steps[at % 99] == _found().chain.steps[at % 99]
            for at in order
        )

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(look, range(8)))


@pytest.mark.slow
def test_a_wide_trace_that_was_read_is_unchanged_where_it_is_saved_again(store: Store, tmp_path: Path) -> None:
    store.save([(WIDE, _found())])
    read = store.inspected(1, in_columns=True)
    assert [one.verdict for one in store.save([read])] == ["unchanged"]
    with open_store(tmp_path / "other.db") as other:
        other.save([read])
        assert other.inspected(1) == (WIDE, _found())
        assert _body(other) == _body(store)


def _body(store: Store) -> bytes:
    with store._database.reading() as connection:
        return bytes(connection.scalar(sa.select(tables.inspection.c.body)) or b"")


def test_what_an_older_version_packed_in_one_piece_is_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("weaklink.storage.packing.inspections._MOST", 10**9)
        store.save([(WIDE, _found())])
    assert not is_paged(_body(store))
    assert store.inspection(1) == _found()


def _counted() -> tuple[Inspection, list[int]]:
    """The inspection as it is read, and the sizes of what was read for it so far."""
    texts = texts_of(WIDE)
    body = pack_inspection(_found(), texts).body
    sizes: list[int] = []

    def read(start: int, size: int) -> bytes:
        sizes.append(size)
        return body[start : start + size]

    return read_wide(read, texts, in_columns=True), sizes


def test_a_look_reads_the_window_it_falls_in() -> None:
    found, sizes = _counted()
    about_all = len(sizes)
    for index in (0, 1, len(_found().diagnostics) - 1, 0):
        assert found.diagnostics[index] == _found().diagnostics[index]
    assert len(sizes) - about_all == 2


def test_who_walks_through_everything_at_once_reads_each_window_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weaklink.storage.packing.paged_blobs._WINDOW", 500)
    found, sizes = _counted()
    about_all = len(sizes)
    steps, diagnostics = iter(found.chain.steps), iter(found.diagnostics)
    for part, whole in zip(found.parts, _found().parts, strict=True):
        assert part == whole
        for call in part.calls:
            assert next(steps).call == call
        next(diagnostics, None)
    list(diagnostics)
    windows = len(sizes) - about_all
    assert windows > 300
    body = pack_inspection(_found(), texts_of(WIDE)).body
    assert sum(sizes) == len(body)


def test_an_inspection_that_says_little_of_long_texts_is_wide() -> None:
    said = Turn(Role.TOOL, (Part("text", "<tool_response>" + "x" * 5_000_000 + "</tool_response>"),))
    long = replace(trace("long"), turns=(said,), format="hermes")
    found = inspect_trace(long)
    body = pack_inspection(found, texts_of(long)).body
    assert len(found.parts[0].results[0].content) == 5_000_000
    assert is_paged(body)
    assert unpack_inspection(body, texts_of(long), in_columns=True) == found


def test_few_turns_with_much_text_are_a_column_too(store: Store) -> None:
    said = tuple(Turn(Role.USER, (Part("text", letter * (MUCH // 2 + 1)),)) for letter in "ab")
    much = replace(trace("much"), turns=said)
    little = replace(trace("little"), turns=(Turn(Role.USER, (Part("text", "a"),)),))
    store.save([(one, inspect_trace(one)) for one in (much, little)])
    read, _ = store.inspected(1, in_columns=True)
    assert isinstance(read.turns, Column)
    assert read == much
    assert isinstance(store.inspected(2, in_columns=True)[0].turns, tuple)


@pytest.mark.slow
def test_a_trace_that_was_read_is_inspected_as_it_was(store: Store) -> None:
    store.save([(WIDE, _found())])
    assert inspect_trace(store.trace(1)) == _found()
    assert inspect_trace(store.inspected(1, in_columns=True)[0]) == _found()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("at", [1, 5, 20, -1], ids=["the checksum", "the size", "what is told", "a window"])
@pytest.mark.parametrize("long", [1, 1 << 30], ids=["in pieces", "in one piece"])
def test_a_damaged_inspection_is_told_when_it_is_read(
    database: str, monkeypatch: pytest.MonkeyPatch, at: int, long: int
) -> None:
    monkeypatch.setattr("weaklink.storage.reading.LONG", long)
    with open_store(database) as store:
        store.save([(WIDE, _found())])
        body = bytearray(_body(store))
        body[at] ^= 1
        _write(database, tables.inspection.c.body, bytes(body))
        read, found = store.inspected(1, in_columns=True)
        (warning,) = read.provenance.warnings
        assert warning.startswith("The stored inspection is damaged (")
        assert found == _found()


@pytest.mark.slow
@pytest.mark.one_in(3)
@pytest.mark.parametrize("column", [tables.turn.c.facts, tables.part.c.text, tables.part.c.chunks], ids=str)
@pytest.mark.parametrize("number", [SHORT_TURN, LONG_TURN], ids=["a short one", "a long one"])
def test_a_damaged_turn_is_told_when_the_trace_is_read(database: str, column: sa.Column[bytes], number: int) -> None:
    with open_store(database) as store:
        store.save([(WIDE, _found())])
        turn = column.table.c.turn if column.table is tables.part else column.table.c.number
        _write(database, column, b"\1damaged", turn == number)
        read, found = store.inspected(1, in_columns=True)
        assert len(read.turns) == len(WIDE.turns)
        damaged = len(WIDE.turns[number - 1].parts) if column.table is tables.part else 1
        assert [warning.startswith(f"Turn {number}: ") for warning in read.provenance.warnings] == [True] * damaged
        assert {at for at, (one, was) in enumerate(zip(read.turns, WIDE.turns, strict=True), 1) if one != was} == {
            number
        }
        assert found == inspect_trace(read)


def _write(database: str, column: sa.Column[Any], value: bytes | str, *where: sa.ColumnElement[bool]) -> None:
    engine = new_engine(place_of(database))
    with engine.begin() as connection:
        connection.execute(sa.update(column.table).where(*where).values({column: value}))
    engine.dispose()
