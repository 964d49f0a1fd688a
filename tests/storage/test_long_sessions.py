"""A long conversation costs its recorder no more than its length, and its readers see all of it while it runs."""

import sys
import time
from collections.abc import Callable, Iterator
from math import inf
from types import FrameType

import pytest
from msgspec.structs import replace

from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from tests.storage.test_live import WHOLE, events_of, streamed
from weaklink.inspector.capture.events import RecordEvent, TraceEnded, TraceStarted, TurnEnded, TurnStarted
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Role, Trace
from weaklink.storage.live import StoreSink
from weaklink.storage.running import rows as recovery
from weaklink.storage.store import Store

LONG = streamed(trace("long", *([GOOD_CALL, BAD_CALL] * 60), started_s=5.0))


@pytest.fixture
def sink(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[StoreSink]:
    """A sink that writes when told, and inspects a running session once only, unless told."""
    monkeypatch.setattr("weaklink.storage.live._EVERY_S", 1e6)
    monkeypatch.setattr("weaklink.storage.live._PAUSE_FACTOR", inf)
    opened = StoreSink(store)
    yield opened
    opened.close()


def _write(sink: StoreSink, *events: RecordEvent) -> None:
    """What the writer's own thread does with these events, which leaves inspecting for later."""
    for event in events:
        sink.accept(event)
    sink._flush(may_lag=True)


def _by_turn(whole: Trace, known: int = 0) -> list[list[RecordEvent]]:
    """The events of a trace, in a list for its beginning, each turn, and its end."""
    groups: list[list[RecordEvent]] = []
    for event in events_of(whole, known=known):
        if isinstance(event, TraceStarted | TurnStarted | TraceEnded):
            groups.append([])
        groups[-1].append(event)
    return groups


def _calls(work: Callable[[], None]) -> int:
    """How many functions `work` calls."""
    count = 0

    def note(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def test_a_late_turn_costs_what_an_early_one_did(store: Store, sink: StoreSink) -> None:
    costs = [_calls(lambda events=events: _write(sink, *events)) for events in _by_turn(LONG)[:-1]]  # type: ignore[misc]  # bound at once
    assert len(costs) > 100
    assert sum(costs[-20:]) < 1.1 * sum(costs[20:40])
    assert store.trace("long") == LONG


@pytest.mark.one_in(2)
@pytest.mark.parametrize("held_bytes", [0, 64 << 20])
def test_a_running_session_is_inspected_when_it_begins_and_when_it_ends(
    store: Store, monkeypatch: pytest.MonkeyPatch, held_bytes: int
) -> None:
    monkeypatch.setattr("weaklink.storage.live._EVERY_S", 1e6)
    monkeypatch.setattr("weaklink.storage.live._PAUSE_FACTOR", inf)
    monkeypatch.setattr("weaklink.storage.live._HELD_BYTES", held_bytes)
    turns: list[int] = []

    def inspect(whole: Trace) -> Inspection:
        turns.append(len(whole.turns))
        return inspect_trace(whole)

    sink = StoreSink(store, inspect)
    for events in _by_turn(LONG):
        _write(sink, *events)
    sink.close()
    assert turns == [0, 1, 2, len(LONG.turns)]  # up to the first answer, which tells the prompt and its tools
    assert store.inspected("long") == (LONG, inspect_trace(LONG))


@pytest.mark.slow
def test_running_sessions_are_inspected_for_a_tenth_of_the_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [0.0]
    inspecting_s: list[float] = []

    def inspect(whole: Trace) -> Inspection:
        inspecting_s.append(0.05 * len(whole.turns))
        now_s[0] += inspecting_s[-1]
        return inspect_trace(whole)

    monkeypatch.setattr("weaklink.storage.live._EVERY_S", 1e6)
    sink = StoreSink(store, inspect)
    monkeypatch.setattr("weaklink.storage.live.time.monotonic", lambda: now_s[0])
    *events_by_turn, _ = _by_turn(LONG)
    for events in events_by_turn:
        now_s[0] += 3.0
        _write(sink, *events)
    assert 10 < len(inspecting_s) < 80
    assert sum(inspecting_s[:-1]) <= now_s[0] / 11
    monkeypatch.undo()
    sink.close()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("lags", ["always", "every second time", "never"])
@pytest.mark.parametrize("known", [0, 1])
@pytest.mark.parametrize("whole", [WHOLE, replace(WHOLE, external_ids=())], ids=["session", "content"])
def test_a_session_ends_the_same_however_its_inspection_lagged(
    store: Store, sink: StoreSink, *, whole: Trace, known: int, lags: str
) -> None:
    for index, events in enumerate(_by_turn(whole, known)):
        for event in events:
            _write(sink, event)
        if lags == "never" or (lags == "every second time" and index % 2):
            sink.flush()
    (kept,) = store.traces()
    assert not kept.running
    assert store.inspected(kept.id) == (whole, inspect_trace(whole))
    assert [stored.verdict for stored in store.save(inspected(whole))] == ["unchanged"]
    (saved,) = store.traces()
    assert saved == kept
    assert store.maintenance.stats().outdated == 0


def test_who_reads_a_running_trace_finds_all_its_turns_inspected(store: Store, sink: StoreSink) -> None:
    for number, events in enumerate(_by_turn(WHOLE)[:-1]):
        _write(sink, *events)
        so_far = store.trace("a")
        assert len(so_far.turns) == number
        assert store.inspected("a") == (so_far, inspect_trace(so_far))
        assert store.inspection("a") == inspect_trace(so_far)
        assert store.summary("a").turns == number
    assert store.summary("a").tool_calls == 1
    assert store.maintenance.stats().outdated == 0
    sink.flush()
    assert store.summary("a").tool_calls == 2


def test_a_running_trace_in_a_format_that_is_not_here_is_inspected_all_the_same(store: Store, sink: StoreSink) -> None:
    begun, *turns = _by_turn(replace(WHOLE, format="no-such-format"))
    for events in (begun, *turns[:-1]):
        _write(sink, *events)
    kept, inspection = store.inspected("a")
    assert inspection == inspect_trace(replace(kept, format=""))


def test_what_lags_is_made_up_for_though_nothing_more_comes(store: Store) -> None:
    sink = StoreSink(store)
    for event in events_of(WHOLE)[:-1]:
        sink.accept(event)
        time.sleep(0.05)
    deadline = time.monotonic() + 30
    while not (kept := store.traces()) or kept[0].tool_calls < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert kept[0].running
    sink.close()


def test_what_lists_count_grows_with_every_turn(store: Store, sink: StoreSink) -> None:
    for number, events in enumerate(_by_turn(LONG)[:21]):
        _write(sink, *events)
        counted = store.summary("long")
        (saved,) = store.save(inspected(replace(LONG, turns=LONG.turns[:number], external_ids=())))
        whole = store.summary(saved.id)
        for name in ("turns", "characters", "chunks", "model", "duration_s", "input_tokens", "output_tokens"):
            assert getattr(counted, name) == getattr(whole, name), name


def test_what_a_killed_recorder_had_not_inspected_is_inspected(
    store: Store, sink: StoreSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    for events in _by_turn(WHOLE)[:-1]:
        _write(sink, *events)
    monkeypatch.setattr(recovery, "_lives", lambda owner: False)
    assert store.recover() == 1
    kept = store.trace("a")
    assert kept.turns == WHOLE.turns
    assert store.inspected("a") == (kept, inspect_trace(kept))
    assert store.summary("a").tool_calls == 2


def test_a_trace_is_followed_once_its_fault_is_known(store: Store, sink: StoreSink) -> None:
    following = store.follow("code:J1")
    for events in _by_turn(WHOLE)[:-1]:
        _write(sink, *events)
    assert following.poll() == []
    sink.flush()
    told = following.poll()
    assert isinstance(told[0], TraceStarted)
    assert [event.turn for event in told if isinstance(event, TurnEnded)] == [1, 2, 3]


def test_a_turn_that_is_open_beside_one_that_ends_goes_on(store: Store, sink: StoreSink) -> None:
    first, second, *_ = WHOLE.turns
    _write(sink, TraceStarted("k", replace(trace("a"), turns=())), TurnStarted("k", 1, Role.USER))
    _write(sink, TurnStarted("k", 2, Role.ASSISTANT, second.generation))
    _write(sink, TurnEnded("k", 2, second))
    _write(sink, TurnEnded("k", 1, first))
    assert store.trace("a").turns == (first, second)
    assert store.open_turns("a") == {}
    assert store.inspected("a")[1] == inspect_trace(store.trace("a"))
