"""A session that is recorded is kept while it runs, and ends as if it had been saved whole."""

import os
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.examples import in_the_gate
from tests.storage.samples import BAD_CALL, GOOD_CALL, TOOLS, inspected, trace
from tests.storage.templates import put_empty_database
from tests.strategies import texts
from weaklink.inspector.capture.events import (
    SINKS_ENTRY_POINT_GROUP,
    ChunksArrived,
    RecordEvent,
    Sink,
    TraceEnded,
    TraceStarted,
    TurnEnded,
    TurnStarted,
)
from weaklink.inspector.errors import StoreError
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import (
    BodyState,
    Chunk,
    ExternalId,
    Generation,
    Liveness,
    Outcome,
    Part,
    Role,
    Trace,
    Turn,
)
from weaklink.inspector.model.trace import parts_of
from weaklink.storage.live import StoreSink
from weaklink.storage.running import rows as recovery
from weaklink.storage.running.session import opening, piece, read_so_far
from weaklink.storage.store import Store, open_store

ROOT = Path(__file__).parents[2]


@pytest.fixture
def sink(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[StoreSink]:
    """A sink that writes only when told, so that a test sees each step."""
    monkeypatch.setattr("weaklink.storage.live._EVERY_S", 1e6)
    opened = StoreSink(store)
    yield opened
    opened.close()


def chunks_of(text: str, size: int = 3) -> tuple[Chunk, ...]:
    """A text as it streams."""
    starts = range(0, len(text), size)
    return tuple(
        Chunk(index, "text", text[start : start + size], index / 64, (index,)) for index, start in enumerate(starts)
    )


def streamed(whole: Trace) -> Trace:
    """The trace with its assistant turns as streams."""
    turns = (replace(turn, parts=parts_of(chunks_of(turn.parts[0].text))) for turn in whole.turns)
    return replace(whole, turns=tuple(turns))


def events_of(whole: Trace, key: str = "k", *, known: int = 0) -> list[RecordEvent]:
    """What a recorder tells of a trace, of which it knows the first turns from the beginning."""
    told: list[RecordEvent] = [TraceStarted(key, replace(whole, turns=whole.turns[:known], outcome=None))]
    for number, turn in enumerate(whole.turns[known:], known + 1):
        told.append(TurnStarted(key, number, turn.role, turn.generation))
        arrivals = [chunk for part in turn.parts for chunk in part.arrivals()]
        told += [ChunksArrived(key, number, tuple(arrivals[index : index + 5])) for index in range(0, len(arrivals), 5)]
        told.append(TurnEnded(key, number, turn))
    return [*told, TraceEnded(key, whole.outcome)]


WHOLE = streamed(replace(trace("a", GOOD_CALL, BAD_CALL, started_s=5.0), outcome=Outcome(completed=True)))


def _summary(store: Store, id_: int | str) -> object:
    return replace(store.summary(id_), imported_at_s=0.0, id=0, cursor=store.summary(id_).cursor.__class__(0.0, 0))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("every", [1, 3, 1000])
@pytest.mark.parametrize("known", [0, 1])
@pytest.mark.parametrize("whole", [WHOLE, replace(WHOLE, external_ids=())], ids=["session", "content"])
def test_a_session_ends_as_if_it_had_been_saved(
    store: Store, sink: StoreSink, tmp_path: Path, *, every: int, known: int, whole: Trace
) -> None:
    for count, event in enumerate(events_of(whole, known=known)):
        sink.accept(event)
        if count % every == 0:
            sink.flush()
    sink.flush()
    (kept,) = store.traces()
    assert not kept.running
    with open_store(put_empty_database(tmp_path / "saved.db")) as other:
        (saved,) = other.save(inspected(whole))
        assert store.inspected(kept.id) == other.inspected(saved.id)
        assert _summary(store, kept.id) == _summary(other, saved.id)
    assert [stored.verdict for stored in store.save(inspected(whole))] == ["unchanged"]
    assert store.maintenance.stats().not_indexed == 1
    assert store.search.index_pending() == 1
    assert len(store.traces("weather code:J1 tool:get_weather")) == 1


def states_of(store: Store) -> tuple[Liveness | None, list[int], list[int]]:
    """The one trace's state, and how many traces each filter finds."""
    (summaries,) = store.traces()
    version = store.paging().version()
    for state, ids in ((Liveness.RUNNING, version.running), (Liveness.IDLE, version.idle)):
        assert ids == ({summaries.id} if summaries.liveness is state else set())
        assert [summary.id for summary in store.traces(f"status:{state}")] == list(ids)
        assert [summary.id for summary in store.traces(f"-status:{state}")] == ([] if ids else [summaries.id])
    counts = [len(store.traces(f"status:{words}")) for words in ("running", "idle", "running,idle")]
    return summaries.liveness, counts[:2], counts[2:]


RUNS, IDLES = (Liveness.RUNNING, [1, 0], [1]), (Liveness.IDLE, [0, 1], [1])


def test_a_trace_is_idle_when_its_last_answer_ended_long_ago_and_runs_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weaklink.storage.live._EVERY_S", 1e6)
    started, *turn, ended = events_of(replace(WHOLE, turns=WHOLE.turns[:1]))
    now_s = time.time()
    with monkeypatch.context() as clock:
        clock.setattr(time, "time", lambda: now_s)
        sink = StoreSink(store, idle_after_s=40)
        for event in (started, turn[0]):
            sink.accept(event)
        sink.flush()
        assert states_of(store) == RUNS
        now_s += 55  # an answer is on its way, however long it takes
        assert states_of(store) == RUNS
        for event in turn[1:]:
            sink.accept(event)
        sink.flush()
        assert states_of(store) == RUNS
        now_s += 39.9
        assert states_of(store) == RUNS
        now_s += 0.2
        assert states_of(store) == IDLES
        sink.accept(TurnStarted("k", 2, Role.ASSISTANT))
        sink.flush()
        assert states_of(store) == RUNS
        sink.accept(TurnEnded("k", 2, WHOLE.turns[1]))
        sink.flush()
        now_s += 50
        assert states_of(store) == IDLES
        sink.accept(ended)
        sink.close()
        assert states_of(store) == (None, [0, 0], [0])


def test_a_trace_whose_recorder_gives_no_sign_of_life_is_neither_running_nor_idle(
    store: Store, sink: StoreSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, begun, *_ = events_of(WHOLE)
    sink.accept(started)
    sink.accept(begun)
    sink.flush()
    assert states_of(store) == RUNS
    now_s = time.time()
    monkeypatch.setattr(time, "time", lambda: now_s + 61)
    assert states_of(store) == (None, [0, 0], [0])


def test_a_running_trace_is_seen_and_grows(store: Store, sink: StoreSink) -> None:
    seen: list[tuple[bool, int, int, int]] = []
    for event in events_of(WHOLE, known=1):
        sink.accept(event)
        sink.flush()
        (summary,) = store.traces()
        open_turns = store.open_turns(summary.id)
        written = sum(len(part.text) for turn in open_turns.values() for part in turn.parts)
        seen.append((summary.running, summary.turns, summary.tool_calls, written))
        assert store.inspected(summary.id) == (so_far := store.trace(summary.id), inspect_trace(so_far))
    assert seen[0] == (True, 1, 0, 0)
    assert seen[2] == (True, 1, 0, 15)
    assert max(seen) == (True, 3, 2, 0)
    assert seen[-1] == (False, 3, 2, 0)


def test_a_trace_that_was_indexed_while_it_ran_is_found_by_all_its_words(store: Store, sink: StoreSink) -> None:
    for event in events_of(WHOLE, known=1):
        sink.accept(event)
        sink.flush()
        store.search.index_pending()
    assert len(store.traces("Oslo")) == 1
    store.delete(["a"])
    assert store.traces("Oslo") == []


def test_the_longer_version_wins_over_what_was_saved_meanwhile(store: Store, sink: StoreSink) -> None:
    (saved,) = store.save(inspected(trace("a", GOOD_CALL)))
    for event in events_of(WHOLE):
        sink.accept(event)
        sink.flush()
    assert [(summary.id, summary.turns) for summary in store.traces()] == [(saved.id, 3)]
    for event in events_of(streamed(trace("a", GOOD_CALL))):
        sink.accept(event)
    sink.flush()
    assert store.trace(saved.id) == WHOLE


def test_sessions_may_interleave(store: Store, sink: StoreSink) -> None:
    wholes = [streamed(trace(f"s{n}", GOOD_CALL, BAD_CALL, words=f"question {n}")) for n in range(5)]
    told = [events_of(whole, f"k{n}") for n, whole in enumerate(wholes)]
    for index, row in enumerate(zip(*told, strict=True)):
        for event in row:
            sink.accept(event)
        if index % 4 == 0:
            sink.flush()
    sink.flush()
    assert [store.trace(f"s{n}") for n in range(5)] == wholes


def test_closing_cuts_what_is_open(store: Store) -> None:
    sink = StoreSink(store)
    for event in events_of(WHOLE)[:-3]:
        sink.accept(event)
    sink.close()
    sink.close()
    (summary,) = store.traces()
    assert (summary.running, summary.turns) == (False, 3)
    _is_cut(store.trace(summary.id), 40)
    with pytest.raises(StoreError, match="the sink is closed"):
        sink.accept(TraceEnded("k"))


def _is_cut(kept: Trace, at_least: int) -> None:
    last = kept.turns[-1]
    assert last.generation is not None
    assert last.generation.body is BodyState.TRUNCATED
    assert last.generation.tools == TOOLS
    text = WHOLE.turns[-1].parts[0].text
    assert text.startswith(last.parts[0].text)
    assert at_least <= len(last.parts[0].text) < len(text)
    assert kept.turns[:-1] == WHOLE.turns[:-1]


def test_a_killed_recorder_leaves_a_cut_trace(store: Store, sink: StoreSink, monkeypatch: pytest.MonkeyPatch) -> None:
    for event in events_of(WHOLE)[:-3]:
        sink.accept(event)
        sink.flush()
    assert store.recover() == 0
    monkeypatch.setattr(recovery, "_lives", lambda owner: False)
    assert store.recover() == 1
    (summary,) = store.traces()
    assert not summary.running
    kept = store.trace(summary.id)
    _is_cut(kept, 40)
    assert store.inspection(summary.id) == inspect_trace(kept)
    assert store.recover() == 0


def test_a_recording_that_is_told_again_goes_on_in_the_trace_that_was_cut(
    store: Store, sink: StoreSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = replace(WHOLE, external_ids=(ExternalId("recording", "r1"), *WHOLE.external_ids))
    told = events_of(whole)
    for event in told[:-3]:
        sink.accept(event)
    sink.flush()
    (before,) = store.traces()
    store.marks.put(before.id, note="look")
    monkeypatch.setattr(recovery, "_lives", lambda owner: False)
    assert store.recover() == 1
    monkeypatch.undo()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("weaklink.storage.live._EVERY_S", 1e6)
        other = StoreSink(store)
    for event in told[:-3]:
        other.accept(event)
    other.flush()
    (running,) = store.traces()
    assert (running.id, running.running) == (before.id, True)
    for event in told[-3:]:
        other.accept(event)
    other.close()
    (ended,) = store.traces()
    assert (ended.id, ended.running) == (before.id, False)
    assert store.trace(ended.id) == whole
    assert [mark.note for mark in store.marks.of([ended.id])[ended.id]] == ["look"]
    assert store.maintenance.check().problems == ()


@pytest.mark.parametrize("known", [0, 1])
def test_a_beginning_with_fewer_turns_takes_nothing_from_the_trace_that_is_there(
    store: Store, sink: StoreSink, known: int
) -> None:
    whole = replace(WHOLE, external_ids=(ExternalId("recording", "r1"),))
    store.save(inspected(whole))
    sink.accept(TraceStarted("k", replace(whole, turns=whole.turns[:known], outcome=None)))
    sink.flush()
    assert len(store.traces()) == 2
    sink.accept(TraceEnded("k"))
    sink.flush()
    (kept,) = store.traces()
    assert store.trace(kept.id) == whole


def test_what_a_killed_recorder_left_stands_in_the_order_of_its_turns(
    store: Store, sink: StoreSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink.accept(TraceStarted("k", replace(trace("a"), turns=())))
    for number in (1, 2, 3, 4):
        sink.accept(TurnStarted("k", number, Role.ASSISTANT))
        sink.accept(ChunksArrived("k", number, chunks_of(f"turn {number}")))
    for number in (1, 3):
        sink.accept(TurnEnded("k", number, Turn(Role.ASSISTANT, (Part("text", f"turn {number}"),))))
        sink.flush()
    assert list(store.open_turns("a")) == [2, 4]
    monkeypatch.setattr(recovery, "_lives", lambda owner: False)
    assert store.recover() == 1
    kept, inspection = store.inspected("a")
    assert [turn.parts[0].text for turn in kept.turns] == ["turn 1", "turn 2", "turn 3", "turn 4"]
    assert inspection == inspect_trace(kept)


def test_a_recorder_that_was_taken_for_dead_writes_its_trace_again(store: Store, sink: StoreSink) -> None:
    told = events_of(WHOLE)
    for event in told[:-3]:
        sink.accept(event)
    sink.flush()
    store.delete([store.traces()[0].id])
    for event in told[-3:]:
        sink.accept(event)
    sink.flush()
    assert store.trace("a") == WHOLE


def test_a_recorder_of_another_machine_is_dead_after_a_minute_of_silence(
    store: Store, sink: StoreSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink.accept(events_of(WHOLE)[0])
    sink.flush()
    monkeypatch.setattr("socket.gethostname", lambda: "another")
    assert store.recover() == 0
    monkeypatch.setattr(recovery, "SILENT_S", -1.0)
    assert store.recover() == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only /proc tells them apart")
def test_a_recorder_that_was_killed_is_dead_before_its_parent_has_taken_notice(
    store: Store, sink: StoreSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as recorder:
        monkeypatch.setattr(sink, "_owner", f"{socket.gethostname()} {recorder.pid} recorder")
        sink.accept(events_of(WHOLE)[0])
        sink.flush()
        assert store.recover() == 0
        recorder.kill()
        os.waitid(os.P_PID, recorder.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and is not reaped
        assert store.recover() == 1


def test_an_idle_recorder_says_that_it_lives(store: Store, sink: StoreSink, monkeypatch: pytest.MonkeyPatch) -> None:
    sink.accept(events_of(WHOLE)[0])
    sink.flush()
    monkeypatch.setattr("weaklink.storage.live._BEAT_S", 0.0)
    time.sleep(1)
    sink.flush()
    monkeypatch.setattr(recovery, "SILENT_S", 0.95)
    assert store.recover() == 0


def test_it_writes_by_itself_and_soon(store: Store) -> None:
    sink = StoreSink(store)
    for event in events_of(WHOLE)[:-1]:
        sink.accept(event)
    until = time.monotonic() + 10
    while not store.traces() and time.monotonic() < until:
        time.sleep(0.01)
    assert store.trace(store.traces()[0].id).turns == WHOLE.turns
    sink.close()
    assert sink.backlog == 0


def test_what_cannot_be_written_waits_and_is_not_lost(tmp_path: Path) -> None:
    with open_store(tmp_path / "weaklink.db", busy_timeout_s=0.05) as store:
        sink = StoreSink(store)
        with store._database.engine.connect() as connection:
            connection.exec_driver_sql("COMMIT")
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            for event in events_of(WHOLE):
                sink.accept(event)
            until = time.monotonic() + 10
            while sink.trouble is None and time.monotonic() < until:
                time.sleep(0.01)
            assert "another program is writing" in str(sink.trouble)
            with pytest.raises(StoreError, match="another program"):
                sink.flush()
        sink.close()
        assert store.trace("a") == WHOLE


def test_an_inspection_that_fails_does_not_cost_the_record(store: Store) -> None:
    def fail(_: Trace) -> Inspection:
        raise ValueError("the plug-in failed")

    sink = StoreSink(store, fail)
    for event in events_of(WHOLE):
        sink.accept(event)
    sink.close()
    assert store.inspected("a") == (WHOLE, inspect_trace(WHOLE))
    assert str(sink.trouble) == "the plug-in failed"


def test_events_that_nobody_announced_are_kept(store: Store, sink: StoreSink) -> None:
    sink.accept(ChunksArrived("k", 2, chunks_of("hello")))
    sink.accept(TurnEnded("k", 1, Turn(Role.USER, (Part("text", "hi"),))))
    sink.accept(TraceEnded("k"))
    sink.accept(TraceEnded("k"))
    sink.flush()
    kept = [store.trace(summary.id) for summary in store.traces()]
    assert ["hi", "hello"] in [[turn.parts[0].text for turn in stored.turns] for stored in kept]


def test_accepting_never_waits_for_the_disk(tmp_path: Path) -> None:
    with open_store(tmp_path / "weaklink.db", busy_timeout_s=0.05) as store:
        sink = StoreSink(store)
        event = ChunksArrived("k", 1, chunks_of("x" * 30))
        # This thread holds the lock: an accept that waited for it would be refused, or would never come back.
        with store._database.engine.connect() as connection:
            connection.exec_driver_sql("COMMIT")
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            for _ in range(10_000):
                sink.accept(event)
            assert store.traces() == []
        sink.close()
        assert len(store.trace(1).turns[0].parts[0].text) == 300_000


_CHUNKS = st.builds(
    Chunk,
    st.integers(0, 2**70),
    st.sampled_from(("text", "reasoning", "\0", "call:0")),
    texts(max_size=3),
    st.none() | st.floats(allow_nan=False),
    st.none() | st.lists(st.integers(-1, 2**40), max_size=2).map(tuple),
    st.none() | st.lists(st.floats(allow_nan=False), max_size=2).map(tuple),
)


@in_the_gate(20, most=300)
@given(st.lists(_CHUNKS, max_size=12), st.lists(st.integers(0, 12), max_size=3))
def test_pieces_put_together_are_the_turn(chunks: list[Chunk], cuts: list[int]) -> None:
    ends = [*sorted(cuts), len(chunks)]
    pieces = [piece(chunks[start:end]) for start, end in zip([0, *ends], ends, strict=False) if end > start]
    generation = Generation(api="chat", tools=TOOLS)
    got = read_so_far([(0, opening(Role.ASSISTANT, generation)), *enumerate(pieces, 1)])
    assert got == Turn(Role.ASSISTANT, parts_of(chunks), generation=replace(generation, body=BodyState.TRUNCATED))


def test_the_sink_is_named_for_capture_to_find(tmp_path: Path) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    module, _, name = declared[SINKS_ENTRY_POINT_GROUP]["store"].partition(":")
    made: Sink = getattr(import_module(module), name)(str(tmp_path / "weaklink.db"))
    made.accept(TraceStarted("k", WHOLE))
    made.close()
    with open_store(tmp_path / "weaklink.db") as store:
        assert store.trace("a").turns == WHOLE.turns
