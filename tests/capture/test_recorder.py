"""The recorder over transcripts: what it tells is what an import of the same exchanges gives."""

from pathlib import Path
from typing import Any

import pytest

from inspector.capture.recorder import Recorder
from inspector.model import Trace
from inspector.sessions.exchange import Exchange
from inspector.sessions.gathering import traces_of
from tests.capture.recordings import ToldSink, ToldWatch, play
from tests.sessions.transcripts import plain, read_case

CASES = sorted((Path(__file__).parent.parent / "cases" / "sessions").glob("*.exchanges"))


def recorded(exchanges: list[Exchange], cut=lambda raw: [raw]) -> tuple[ToldSink, ToldWatch]:  # type: ignore[no-untyped-def]
    sink, watch = ToldSink(), ToldWatch()
    recorder = Recorder(sink, watch=watch)
    play(recorder, exchanges, cut=cut)
    recorder.close()
    sink.close()
    assert watch.troubles == []
    return sink, watch


def facts_of(traces: list[Trace]) -> list[dict[str, Any]]:
    """Traces as goldens have them, without what their source alone says of itself."""
    return [{**one, "own_id": "", "record": "", "warnings": []} for one in plain(traces)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_what_is_recorded_is_what_an_import_of_the_same_exchanges_gives(case: Path) -> None:
    exchanges = read_case(case)
    imported = [one for one in traces_of(exchanges) if isinstance(one, Trace)]
    sink, _ = recorded(exchanges)
    assert facts_of(sink.whole()) == facts_of(imported)
