"""Everything that a trace and an inspection can hold comes back as it was."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.examples import in_the_gate
from tests.storage.samples import BAD_CALL, GOOD_CALL, TOOLS, inspected, trace
from tests.storage.strategies import inspections
from tests.strategies import traces
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import (
    CallHeader,
    Chunks,
    Part,
    RecordedRun,
    Role,
    ToolCall,
    Trace,
    Turn,
)
from weaklink.storage.packing.records import pack_facts, turn_facts, turn_from, unpack_facts
from weaklink.storage.packing.values import pack, unpack, unpack_list
from weaklink.storage.store import Store, open_store


@pytest.fixture(scope="module")
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One SQLite store for many examples."""
    with open_store(tmp_path_factory.mktemp("shared") / "weaklink.db") as opened:
        yield opened


@in_the_gate(10, most=300)
@given(traces(), inspections())
def test_whatever_a_trace_holds_comes_back(shared: Store, made: Trace, inspection: Inspection) -> None:
    (saved,) = shared.save([(made, inspection)])
    got = shared.trace(saved.id)
    assert got == made
    assert _told(got) == _told(made)  # 1, 1.0 and True are equal, and not the same
    read = shared.inspection(saved.id)
    assert read == inspection
    assert repr(read) == repr(inspection)
    assert shared.summary(saved.id).broken == inspection.chain.broken
    shared.delete([saved.id])


def _told(made: Trace) -> str:
    """A trace in words, but for its flags, which are a set and have no order."""
    return repr(replace(made, turns=tuple(replace(turn, flags=frozenset()) for turn in made.turns)))


@pytest.mark.slow
@in_the_gate(6, most=100)
@given(st.lists(st.tuples(traces(), inspections()), max_size=3))
def test_a_batch_comes_back(shared: Store, made: list[tuple[Trace, Inspection]]) -> None:
    for saved, (summary, inspection) in zip(shared.save(made), made, strict=True):
        if saved.verdict != "unchanged" and sum(summary.external_ids == other.external_ids for other, _ in made) == 1:
            assert shared.inspected(saved.id) == (summary, inspection)
    shared.delete([summary.id for summary in shared.traces(limit=9)])


HOSTILE = Trace(
    (
        Turn(Role.SYSTEM, (Part("text", ""),)),
        Turn(
            Role.ASSISTANT,
            (
                Part("text", "a\0b\ud83d\ude00\udcff" + GOOD_CALL, Chunks((1, 2, 2, 104), (0, 2, 1, 2**70))),
                Part("call:0", '{"n": 1' + "0" * 5000 + "}"),
                Part("call:1", "[" * 2000),
                Part("\0\ud800", "x" * 100_000),
            ),
            calls=(CallHeader("call:0", "big\0"), CallHeader("call:1", None)),
        ),
    ),
    name="\0\x1a\ud83d",
    model="m\0" * 2000,
)


def test_hostile_text_comes_back_from_every_database(store: Store) -> None:
    inspection = inspect_trace(HOSTILE)
    (saved,) = store.save([(HOSTILE, inspection)])
    assert store.inspected(saved.id) == (HOSTILE, inspection)
    assert store.summary(saved.id).name == HOSTILE.name
    assert store.search.index_pending() == 1
    assert [summary.id for summary in store.traces("model:m*")] == [saved.id]


def test_huge_and_deep_arguments_come_back(store: Store) -> None:
    deep: list[object] = []
    for _ in range(3000):
        deep = [deep]
    inspection = inspect_trace(HOSTILE)
    part = inspection.parts[1]
    values = (10**6000, Decimal(10**6000), -(2**64), {"\ud800": [Decimal(1)], "a": {}}, 1.0, True, float("inf"))
    calls = tuple(replace_call(part.calls[0], value) for value in values)
    changed = replace(inspection, parts=(replace(part, calls=calls),), chain=replace(inspection.chain, steps=()))
    tool = replace(HOSTILE.turns[1], generation=None)
    (saved,) = store.save([(replace(HOSTILE, turns=(tool,)), changed)])
    assert [call.arguments for call in store.inspection(saved.id).parts[0].calls] == list(values)


def replace_call(call: ToolCall, value: object) -> ToolCall:
    """The call with another value."""
    changed: ToolCall = msgspec.structs.replace(call, arguments=value)
    return changed


@pytest.mark.slow
def test_a_million_chunks_come_back(store: Store, tmp_path: Path) -> None:
    count = 1_000_000
    chunks = Chunks(
        tuple(range(1, count + 1)),
        tuple(range(count)),
        tuple(number / 64 for number in range(count)),
        tuple((number % 50_000,) for number in range(count)),
    )
    made = replace(trace("long"), turns=(Turn(Role.ASSISTANT, (Part("text", "x" * count, chunks),)),))
    (saved,) = store.save(inspected(made))
    assert store.trace(saved.id) == made


def test_tools_that_every_turn_repeats_are_kept_once(store: Store) -> None:
    store.save(inspected(*(trace(f"s{number}", GOOD_CALL, BAD_CALL) for number in range(5))))
    assert store.maintenance.stats().tools == 2
    generations = [turn.generation for turn in store.trace(1).turns if turn.generation is not None]
    assert [generation.tools for generation in generations] == [TOOLS, TOOLS]


@pytest.mark.parametrize("depth", [3, 95, 400])
def test_the_items_of_a_list_come_back_one_by_one_however_deep_they_are(depth: int) -> None:
    deep: Any = "\ud800"
    for _ in range(depth):
        deep = [deep]
    items = [1, deep, "words", None, {"a": 2**80}]
    assert [unpack(item) for item in unpack_list(pack(items))] == items


_WORDS = st.sampled_from(["", "x", "4 degrees and light rain until the evening, then snow", "\ud800é" * 20, "…[cut]…"])


@given(read=st.lists(_WORDS, max_size=4).map("".join), returned=st.none() | st.lists(_WORDS, max_size=4).map("".join))
def test_a_run_comes_back_whatever_its_result_shares_with_what_was_read(read: str, returned: str | None) -> None:
    turn = Turn(Role.TOOL, (Part("text", read),), run=RecordedRun("otlp", "weather", None, "{}", returned))
    assert turn_from("tool", unpack_facts(pack_facts(turn_facts(turn))), turn.parts, ()) == turn


def test_a_result_that_was_read_as_it_was_returned_is_stored_once() -> None:
    text = "4 degrees and light rain until the evening, then snow. " * 20
    sizes = [
        len(pack(turn_facts(Turn(Role.TOOL, (Part("text", text),), run=RecordedRun("otlp", result=result)))))
        for result in (text, None)
    ]
    assert sizes[0] < sizes[1] + 16
