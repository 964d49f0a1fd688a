"""The outbox and its sink: what a collector does not take waits on the disk, bounded, and for the next one."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from aiohttp import web
from backports import zstd

from inspector.capture.event_lines import BATCH, PACKED_TYPE, SENDER, pack_body, unpack_body
from inspector.capture.events import ChunksArrived, RecordEvent, TraceEnded, TraceStarted, TurnEnded, TurnStarted
from inspector.capture.outbox_sink import Outbox, OutboxSink
from inspector.capture.proxy.server import Handler, events_route
from inspector.errors import SinkError
from inspector.model import Chunk, Part, Role, Trace, Turn
from storage import StoreSink, open_store
from tests.capture.events import Remembering, traces_of, wait_until
from tests.capture.server import EventsServer
from tests.capture.test_sinks_remote import ANSWER, post, session
from tests.ui.conftest import ROOT

_NOBODY = "http://127.0.0.1:9"


def _whole(key: str) -> list[RecordEvent]:
    return [*session(key), TurnEnded(key, 2, ANSWER), TraceEnded(key)]


def _give(sink: OutboxSink, *events: RecordEvent) -> None:
    for event in events:
        sink.accept(event)


def _texts(outbox: Outbox) -> list[bytes]:
    found = []
    while (body := outbox.oldest()) is not None:
        found.append(body.path.read_bytes())
        outbox.done(body)
    return found


def test_bodies_come_out_in_order_and_leave_nothing(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "out")
    assert all(outbox.put(str(number).encode()) for number in range(12))
    assert (len(outbox), outbox.size_bytes) == (12, 14)
    assert _texts(outbox) == [str(number).encode() for number in range(12)]
    assert (len(outbox), outbox.size_bytes) == (0, 0)
    outbox.close()
    assert list((tmp_path / "out").iterdir()) == []


def test_an_outbox_is_bounded_and_one_body_always_fits(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path, most_bytes=10)
    assert outbox.put(b"x" * 50)
    assert not outbox.put(b"y")
    assert _texts(outbox) == [b"x" * 50]
    assert outbox.put(b"y" * 10)
    assert not outbox.put(b"z")


def test_what_one_left_the_next_one_has_first_and_of_one_that_runs_nothing(tmp_path: Path) -> None:
    gone, runs = Outbox(tmp_path), Outbox(tmp_path)
    gone.put(b"1")
    gone.put(b"2")
    runs.put(b"not yours")
    gone.close()
    following = Outbox(tmp_path)
    following.put(b"3")
    left = following.oldest()
    assert left is not None
    assert (left.sender, left.number) == (gone.sender, 1)
    assert _texts(following) == [b"1", b"2", b"3"]
    assert _texts(runs) == [b"not yours"]


def test_only_its_owner_can_read_an_outbox(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "out")
    outbox.put(b"1")
    assert (tmp_path / "out").stat().st_mode & 0o077 == 0


def test_a_place_that_cannot_be_one_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SinkError, match="the queue cannot be created there"):
        Outbox(tmp_path / "file" / "out")


def test_events_arrive_in_order_and_nothing_stays_on_the_disk(tmp_path: Path) -> None:
    taken = Remembering()
    with EventsServer(taken) as server:
        sink = OutboxSink(server.url, Outbox(tmp_path))
        _give(sink, *session("a"))
        wait_until(lambda: taken.events == session("a"))
        _give(sink, TurnEnded("a", 2, ANSWER), TraceEnded("a"))
        sink.close()
    assert taken.events == _whole("a")
    assert (sink.dropped, sink.trouble, sink.backlog) == (0, None, 0)
    assert list(tmp_path.iterdir()) == []


def test_what_was_recorded_while_the_collector_was_away_is_sent_by_the_next_recorder(tmp_path: Path) -> None:
    away = OutboxSink(_NOBODY, Outbox(tmp_path), closing_s=0.0)
    _give(away, *_whole("a"))
    away.close()
    assert away.backlog == 1
    assert str(away.trouble) == "http://127.0.0.1:9 cannot be reached: Connection refused"
    taken = Remembering()
    with EventsServer(taken) as server:
        following = OutboxSink(server.url, Outbox(tmp_path))
        _give(following, *_whole("b"))
        following.close()
    assert taken.events == [*_whole("a"), *_whole("b")]
    assert list(tmp_path.iterdir()) == []


def test_a_recorder_that_is_killed_loses_nothing_that_is_on_the_disk(tmp_path: Path) -> None:
    script = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from tests.capture.test_outbox import _whole, _give, _NOBODY\n"
        "from inspector.capture.outbox_sink import Outbox\n"
        "from inspector.capture.outbox_sink import OutboxSink\n"
        "sink = OutboxSink(_NOBODY, Outbox(Path(sys.argv[1])))\n"
        "_give(sink, *_whole('killed'))\n"
        "while not sink.backlog: time.sleep(0.01)\n"
        "print('stored', flush=True)\n"
        "time.sleep(600)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "stored\n"
        os.kill(process.pid, signal.SIGKILL)
    taken = Remembering()
    with EventsServer(taken) as server:
        OutboxSink(server.url, Outbox(tmp_path)).close()
    assert taken.events == _whole("killed")


def test_a_full_outbox_is_told_and_what_has_room_in_memory_follows_when_there_is_room(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path, most_bytes=1)
    taken = Remembering()
    with EventsServer(taken) as server:
        port = server.port
    sink = OutboxSink(f"http://127.0.0.1:{port}", outbox)
    _give(sink, *session("a"))
    wait_until(lambda: sink.backlog == 1)
    _give(sink, TurnEnded("a", 2, ANSWER), TraceEnded("a"))
    wait_until(lambda: "is full" in str(sink.trouble))
    with EventsServer(taken, port=port):
        sink.close()
    assert taken.events == _whole("a")
    assert sink.dropped == 0


def test_a_collector_that_is_started_anew_is_told_the_open_traces_from_their_beginning(tmp_path: Path) -> None:
    first, second = Remembering(), Remembering()
    with EventsServer(first) as server:
        port = server.port
        sink = OutboxSink(server.url, Outbox(tmp_path))
        _give(sink, *_whole("over"), *session("open"))
        wait_until(lambda: first.events == [*_whole("over"), *session("open")])
    _give(sink, TurnEnded("open", 2, ANSWER), TraceEnded("open"))
    with EventsServer(second, port=port):
        sink.close()
    assert traces_of(second.events) == traces_of(_whole("open"))
    assert sink.dropped == 0


def _forgetful(taken: Remembering) -> Handler:
    """A collector whose first answer to each body is lost on the way."""
    route, seen = events_route(taken), set[tuple[str, str]]()

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        said = await route(request)
        which = request.headers[SENDER], request.headers[BATCH]
        if which not in seen and request.transport is not None:
            seen.add(which)
            request.transport.close()
        return said

    return answer


def test_a_lost_answer_makes_nothing_count_twice(tmp_path: Path) -> None:
    taken = Remembering()
    with EventsServer(_forgetful(taken)) as server:
        sink = OutboxSink(server.url, Outbox(tmp_path))
        for number in range(3):
            _give(sink, *_whole(str(number)))
            wait_until(lambda number=number: len(taken.events) == 6 * (number + 1))  # type: ignore[misc]
        sink.close()
    assert taken.events == [event for number in range(3) for event in _whole(str(number))]


def test_a_body_that_unpacks_to_more_than_is_taken_is_refused_without_unpacking_it(tmp_path: Path) -> None:
    bomb = zstd.compress(bytes(50_000_000))
    assert len(bomb) < 5_000
    taken = Remembering()
    with EventsServer(events_route(taken, most_bytes=5_000)) as server:
        packed = {BATCH: "1", "Content-Type": PACKED_TYPE}
        assert post(server, bomb, **packed) == (413, "The body is longer than 5000 bytes.")
        assert post(server, pack_body([TraceEnded("k")])[:-4], **packed)[0] == 400
        assert post(server, b"no zstd", **packed)[0] == 400
        assert post(server, pack_body([TraceEnded("k")]), **packed)[0] == 204
    assert taken.events == [TraceEnded("k")]


def test_a_body_comes_back_as_it_was() -> None:
    plain = unpack_body(pack_body(_whole("a\ud800")))
    assert plain is not None
    assert plain.startswith(b'{"weaklink_events"')


def test_a_collector_that_is_behind_says_so_and_nothing_is_shortened(tmp_path: Path) -> None:
    """The database refuses everything for a time; beyond half of the sink's room, recorders keep what they have."""
    database = tmp_path / "t.db"
    with open_store(database) as store:
        collected = StoreSink(store, room_bytes=8_000_000)
        with EventsServer(collected) as server:
            sink = OutboxSink(server.url, Outbox(tmp_path / "out"))
            collected._writes.acquire()
            pieces = tuple(Chunk(at, "text", "x" * 2_000, 1.0) for at in range(100))
            for number in map(str, range(60)):
                asked = Turn(Role.USER, (Part("text", number),))
                _give(sink, TraceStarted(number, Trace((), name=number)), TurnEnded(number, 1, asked))
                _give(sink, TurnStarted(number, 2, Role.ASSISTANT), ChunksArrived(number, 2, pieces))
                time.sleep(0.01)
            wait_until(lambda: "503" in str(sink.trouble))
            collected._writes.release()
            sink.close()
        collected.close()
        assert (collected.dropped, sink.dropped) == (0, 0)
        assert len(store.traces()) == 60
