"""A place means one sink, and a place that means none is refused in words."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.capture.conftest import ROOT, Offer
from tests.capture.events import wait_until
from tests.capture.test_sinks_trace_file import session
from weaklink.inspector.capture import sinks
from weaklink.inspector.capture.events import event_weight
from weaklink.inspector.capture.logger import TraceLogger
from weaklink.inspector.capture.sinks import is_database, open_sink
from weaklink.inspector.capture.trace_file_sink import SendQueue, TraceFileSink
from weaklink.inspector.errors import SinkError, StoreError
from weaklink.inspector.model import Chunk, Role
from weaklink.inspector.model.trace import parts_of
from weaklink.storage.live import StoreSink
from weaklink.storage.store import open_store


@pytest.mark.usefixtures("installed_store")
def test_a_place_means_a_sink(tmp_path: Path) -> None:
    meant = {
        "runs.db": StoreSink,
        "runs.jsonl.db": StoreSink,
        f"sqlite:///{tmp_path}/url.db": StoreSink,
        "runs.jsonl": TraceFileSink,
    }
    for location, kind in meant.items():
        opened = open_sink(location if "://" in location else tmp_path / location)
        assert type(opened) is kind, location
        opened.close()


@pytest.mark.parametrize(
    ("destination", "answer"),
    [
        ("runs.db", True),
        ("postgresql+psycopg://u@h/d", True),
        ("sqlite:///x", True),
        ("a.jsonl", False),
        ("http://x", False),
        ("gopher://x", False),
    ],
)
def test_databases_are_told_from_the_rest(destination: str, answer: bool) -> None:
    assert is_database(destination) is answer


def test_without_a_store_a_database_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "entry_points", lambda **_: ())
    with pytest.raises(SinkError, match=r"^runs\.db is a database, and weaklink's store is not installed here;"):
        open_sink("runs.db")
    with pytest.raises(SinkError, match=r"^The default database is a database, and"):
        open_sink()


@pytest.mark.parametrize("destination", ["http://127.0.0.1:8788", "HTTPS://collector.example/t/x"])
def test_an_address_of_a_recorder_of_earlier_versions_is_refused_with_what_to_use_instead(destination: str) -> None:
    with pytest.raises(SinkError, match=r"provides a sink for `https?://`; a place is .*`postgresql://HOST/NAME`"):
        TraceLogger(destination)


def test_another_package_may_offer_a_sink_by_its_scheme(offer: Offer) -> None:
    offer({"made": "weaklink.inspector.capture.trace_file_sink:TraceFileSink", "torn": "no.such.module:Sink"})
    with pytest.raises(SinkError, match="made:/none/x cannot be opened"):
        open_sink("made://none/x")
    with pytest.raises(SinkError, match=r"The sink `torn` cannot be loaded: No module named 'no'\."):
        open_sink("torn://x")


@pytest.mark.usefixtures("installed_store")
def test_a_database_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    (tmp_path / "words.db").write_text("no database at all, but enough words to look at" * 50)
    with pytest.raises(StoreError, match=r"words\.db"):
        TraceLogger(tmp_path / "words.db")


@pytest.mark.usefixtures("installed_store")
def test_a_logger_writes_into_a_database_while_the_turn_is_open(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"

    def pieces() -> int:
        with closing(sqlite3.connect(path)) as database:
            return int(database.execute("select count(*) from live_piece").fetchone()[0])

    with TraceLogger(path, name="live", format="hermes") as log:
        log.user("Hello\0")
        with log.assistant() as turn:
            turn.feed("<think>\ud83d")
            wait_until(lambda: pieces() == 2)
            turn.feed("</think>Hi")
    with open_store(path, create=False) as store:
        (summary,) = store.traces(limit=2)
        trace, _ = store.inspected(summary.id)
    assert not summary.running
    assert [turn.role for turn in trace.turns] == [Role.USER, Role.ASSISTANT]
    assert [part.text for part in trace.turns[1].parts] == ["<think>\ud83d</think>Hi"]
    assert log.mistakes.count == log.dropped == 0


@pytest.mark.usefixtures("installed_store")
def test_two_runs_that_say_the_same_are_two_traces(tmp_path: Path) -> None:
    for _ in range(2):
        with TraceLogger(tmp_path / "runs.db") as log:
            log.user("Hello")
    with open_store(tmp_path / "runs.db", create=False) as store:
        assert len(store.traces(limit=5)) == 2


def test_the_logger_loads_no_heavy_library() -> None:
    script = "import sys, weaklink; weaklink.TraceLogger; print(*sys.modules)"
    loaded = set(subprocess.check_output([sys.executable, "-c", script], text=True, cwd=ROOT).split())
    assert (
        loaded & {"aiohttp", "httpx", "httpx2", "sqlalchemy", "click", "rich", "weaklink.storage", "weaklink.ui"}
        == set()
    )


def test_what_waits_is_weighed_and_comes_out_in_order() -> None:
    waiting = SendQueue(10_000)
    events = session("a") * 3
    for event in events:
        waiting.put(event)
    assert waiting.held_bytes == sum(map(event_weight, events))
    first = waiting.pop(1)
    assert first == events[:1]
    assert waiting.pop(10_000_000) == events[1:]
    assert waiting.held_bytes == 0
    assert waiting.pop(1) == []


def test_chunks_keep_their_sequence_and_only_the_columns_that_hold_something() -> None:
    (text, other) = parts_of(
        [Chunk(4, "text", "a", 1.0), Chunk(7, "other", "b", None, (1,)), Chunk(9, "text", "", None, None, (0.5,))]
    )
    assert text.chunks is not None
    assert other.chunks is not None
    assert (text.name, text.text, text.chunks.ends, text.chunks.sequences) == ("text", "a", (1, 1), (4, 9))
    assert (text.chunks.offsets_s, text.chunks.token_ids, text.chunks.logprobs) == ((1.0, None), None, (None, (0.5,)))
    assert (other.chunks.offsets_s, other.chunks.token_ids) == (None, ((1,),))
