"""Recorded into a real store: seen while it runs, and in the end what an import of the same exchanges is."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.capture.recordings import Call, play, until, user
from tests.capture.test_recorder import CASES
from tests.sessions.transcripts import read_case
from weaklink.inspector.capture.recorder import Recorder
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Provenance, Trace
from weaklink.inspector.model.exchange import compacted
from weaklink.inspector.sessions.gathering import traces_of
from weaklink.storage.live import StoreSink
from weaklink.storage.store import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "recorded.db") as opened:
        yield opened


def bare(trace: Trace) -> Trace:
    """A trace without what names it, which is another's for each recording, its requests written as the store does."""
    named = tuple(
        replace(turn, generation=replace(turn.generation, retry_of=turn.generation.retry_of and "first"))
        if turn.generation
        else turn
        for turn in trace.turns
    )
    unnamed = replace(trace, turns=named, external_ids=trace.external_ids[1:], parent=None, provenance=Provenance())
    return compacted(unnamed)


def inspected(trace: Trace) -> tuple[Trace, Inspection]:
    return bare(trace), inspect_trace(bare(trace))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_recorded_session_is_kept_and_inspected_as_an_imported_one(case: Path, store: Store) -> None:
    exchanges = read_case(case)
    imported = [trace for trace in traces_of(exchanges) if isinstance(trace, Trace)]
    sink = StoreSink(store)
    recorder = Recorder(sink)
    play(recorder, exchanges, cut=lambda raw: [raw[:9], raw[9:]])
    recorder.close()
    sink.close()
    kept = sorted((store.inspected(summary.id) for summary in store.traces()), key=lambda pair: repr(bare(pair[0])))
    assert [bare(trace) for trace, _ in kept] == sorted(map(bare, imported), key=repr)
    for trace, inspection in kept:
        assert inspection == inspect_trace(trace)
        assert inspected(trace) in [inspected(trace) for trace in imported]


def test_a_running_answer_is_seen_in_the_store_from_another_connection(store: Store, tmp_path: Path) -> None:
    sink = StoreSink(store)
    recorder = Recorder(sink)
    first = Call(recorder, [user("Hi")], headers=(("X-Session-Id", "s"),)).answered().said("Good", " da")
    with open_store(tmp_path / "recorded.db") as other:

        def running() -> list[str]:
            open_turns = [turn for listed in other.traces() for turn in other.open_turns(listed.id).values()]
            return [part.text for turn in open_turns for part in turn.parts]

        until(lambda: running() == ["Good da"])
        again = (("X-Session-Id", "s"), ("X-Stainless-Retry-Count", "1"))
        second = Call(recorder, [user("Hi")], headers=again).answered().said("Hello")
        until(lambda: running() == ["Good da", "Hello"])
        second.said(" there").done()
        until(lambda: running() == ["Good da"])
        first.said("y").done()
        recorder.close()
        sink.close()
        (summary,) = other.traces()
        assert [turn.parts[0].text for turn in other.trace(summary.id).turns] == ["Hi", "Good day", "Hello there"]
