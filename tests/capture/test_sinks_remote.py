"""The remote sink against a real server: nothing lost, nothing twice, whatever happens on the way."""

import asyncio
import http.client
from pathlib import Path

import pytest
from aiohttp import web

from inspector.capture.event_lines import BATCH, EVENTS_PATH, INSTANCE, SENDER, event_line, header_line
from inspector.capture.events import ChunksArrived, RecordEvent, TraceEnded, TraceStarted, TurnEnded, TurnStarted
from inspector.capture.logger import TraceLogger
from inspector.capture.proxy.config import ProxyConfig, Upstream
from inspector.capture.proxy.server import events_route, running_proxy
from inspector.capture.recorder import Recorder
from inspector.capture.remote_sink import RemoteSink
from inspector.errors import SinkError
from inspector.model import Chunk, Part, Role, Trace, Turn
from storage import StoreSink, open_store
from tests.capture.events import Remembering, traces_of, wait_until
from tests.capture.server import EventsServer

USER = Turn(Role.USER, (Part("text", "Hello\0 \ud83d"),))
ANSWER = Turn(Role.ASSISTANT, (Part("text", "Hi."),))


def session(key: str) -> list[RecordEvent]:
    return [
        TraceStarted(key, Trace((), name=key)),
        TurnEnded(key, 1, USER),
        TurnStarted(key, 2, Role.ASSISTANT),
        ChunksArrived(key, 2, (Chunk(0, "text", "Hi", 0.5), Chunk(1, "text", ".", 0.75))),
    ]


def give(sink: RemoteSink, *events: RecordEvent) -> None:
    for event in events:
        sink.accept(event)


def test_events_arrive_in_order_while_they_come() -> None:
    taken = Remembering()
    with EventsServer(taken) as server:
        sink = RemoteSink(server.url)
        give(sink, *session("a"))
        wait_until(lambda: taken.events == session("a"))
        give(sink, TurnEnded("a", 2, ANSWER), TraceEnded("a"))
        sink.close()
    assert taken.events == [*session("a"), TurnEnded("a", 2, ANSWER), TraceEnded("a")]
    assert (sink.dropped, sink.trouble) == (0, None)


def test_a_token_in_the_address_is_part_of_the_path() -> None:
    taken = Remembering()
    with EventsServer(taken, prefix="/t/secret") as server, TraceLogger(server.url + "/") as log:
        log.user("Hello")
        log.close()
        assert log.mistakes.count == 0
    assert [turn.parts[0].text for turn in taken.trace().turns] == ["Hello"]


def test_a_server_that_comes_later_gets_everything() -> None:
    with EventsServer(Remembering()) as gone:
        port = gone.port
    sink = RemoteSink(f"http://127.0.0.1:{port}")
    give(sink, *session("a"))
    wait_until(lambda: sink.trouble is not None)
    taken = Remembering()
    with EventsServer(taken, port=port):
        wait_until(lambda: taken.events == session("a"))
        wait_until(lambda: sink.trouble is None)
        sink.close()


def test_a_server_that_was_started_anew_is_told_the_open_traces_from_their_beginning() -> None:
    first, second = Remembering(), Remembering()
    with EventsServer(first) as server:
        sink = RemoteSink(server.url)
        give(sink, *session("done"), TurnEnded("done", 2, ANSWER), TraceEnded("done"), *session("open"))
        wait_until(lambda: len(first.events) == 10)
    give(sink, ChunksArrived("open", 2, (Chunk(2, "text", "!"),)))
    wait_until(lambda: sink.trouble is not None)
    with EventsServer(second, port=server.port):
        give(sink, TraceEnded("open"))
        sink.close()
    assert sink.dropped == 0
    ((key, trace),) = traces_of(second.events).items()
    assert (key, trace.name) == ("open", "open")
    assert trace.turns[0] == USER
    assert trace.turns[1].parts[0].text == "Hi.!"
    chunks = trace.turns[1].parts[0].chunks
    assert chunks is not None
    assert chunks.sequences == (0, 1, 2)


def test_an_answer_that_got_lost_makes_nothing_count_twice() -> None:
    taken = Remembering()
    route = events_route(taken)
    lost: list[int] = []

    async def losing(request: web.BaseRequest) -> web.StreamResponse:
        answer = await route(request)
        if len(lost) < 3:
            lost.append(1)
            assert request.transport is not None
            request.transport.abort()
        return answer

    with EventsServer(losing) as server:
        sink = RemoteSink(server.url)
        give(sink, *session("a"))
        wait_until(lambda: len(lost) == 3 and sink.trouble is None)
        sink.close()
    assert taken.events == session("a")


def test_a_server_that_takes_nothing_is_told_at_the_end() -> None:
    async def busy(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=503, text="Later.")

    with EventsServer(busy) as server:
        sink = RemoteSink(server.url, closing_s=0.2)
        give(sink, *session("a"))
        with pytest.raises(SinkError, match=r"did not accept 4 events: .*\(503 Later\.\)"):
            sink.close()
    assert sink.dropped == 4


def test_what_a_server_refuses_is_counted_and_the_rest_goes_on() -> None:
    taken = Remembering()
    with EventsServer(events_route(taken, most_bytes=5_000)) as server:
        sink = RemoteSink(server.url)
        give(sink, ChunksArrived("a", 1, (Chunk(0, "text", "x" * 300_000),)), *session("b"))
        wait_until(lambda: taken.events == session("b"))
        sink.close()
    assert sink.dropped == 1


def test_memory_is_bounded_while_no_server_is_there_and_ends_of_turns_go_before_chunks() -> None:
    with EventsServer(Remembering()) as gone:
        port = gone.port
    sink = RemoteSink(f"http://127.0.0.1:{port}", room_bytes=100_000, closing_s=30)
    for at in range(1_000):
        sink.accept(ChunksArrived("a", 1, (Chunk(at, "text", "x" * 1_000),)))
    assert 900 < sink.dropped < 1_000
    before = sink.dropped
    end = TurnEnded("a", 1, Turn(Role.ASSISTANT, (Part("text", "x" * 20_000),)))
    sink.accept(end)
    assert sink.dropped == before
    taken = Remembering()
    with EventsServer(taken, port=port):
        sink.close()
    assert taken.events[-1] == end
    assert len(taken.events) + sink.dropped == 1_001


@pytest.mark.parametrize("url", ["http://", "ftp://x", "http://x:y", "127.0.0.1:80", "http://x:99999"])
def test_what_is_no_address_is_refused_in_words(url: str) -> None:
    with pytest.raises(SinkError, match="is not an address of a server"):
        RemoteSink(url)


def post(server: EventsServer, body: bytes, **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("POST", EVENTS_PATH, body, {name.replace("_", "-"): value for name, value in headers.items()})
    with connection.getresponse() as answer:
        said = answer.status, answer.read().decode()
    connection.close()
    return said


BODY = (header_line() + event_line(TraceEnded("k"))).encode("ascii")


@pytest.mark.parametrize(
    ("body", "headers", "says"),
    [
        (BODY, {BATCH: "1"}, (204, "")),
        (BODY, {}, (400, "The header `X-Weaklink-Batch` must be a number.")),
        (BODY, {BATCH: "٣"}, (400, "The header `X-Weaklink-Batch` must be a number.")),
        (BODY, {BATCH: "1" * 5_000}, (400, "The header `X-Weaklink-Batch` must be a number.")),
        (BODY + b"\xff\n", {BATCH: "1"}, (400, "Line 3 is not ASCII JSON")),
        (b"", {BATCH: "1"}, (400, "Line 1: the events have no version")),
        (b" " * 5_001, {BATCH: "1"}, (413, "The body is longer than 5000 bytes.")),
        (BODY, {BATCH: "1", INSTANCE: "other"}, (409, "This server was started after")),
    ],
)
def test_the_route_answers_whoever_asks(body: bytes, headers: dict[str, str], says: tuple[int, str]) -> None:
    taken = Remembering()
    with EventsServer(events_route(taken, most_bytes=5_000)) as server:
        encoded = {name: value.encode("utf-8").decode("latin-1") for name, value in headers.items()}
        status, said = post(server, body, **encoded)
    assert status == says[0], said
    assert said.startswith(says[1])
    assert taken.events == ([TraceEnded("k")] if status == 204 else [])


def test_a_body_counts_once_for_each_sender() -> None:
    taken = Remembering()
    with EventsServer(taken) as server:
        for sender, number in (("a", "1"), ("a", "1"), ("b", "1"), ("a", "2"), ("a", "1")):
            assert post(server, BODY, **{SENDER: sender, BATCH: number})[0] == 204
    assert len(taken.events) == 3


def test_the_recording_proxy_takes_events_from_whoever_has_its_token() -> None:
    taken = Remembering()
    config = ProxyConfig((Upstream("", "http://127.0.0.1:9"),), port=0, token="secret-token-of-the-proxy")

    def log(url: str) -> int:
        with TraceLogger(url) as log:
            log.user("Hello")
            log.close()
        return log.mistakes.count

    async def run() -> None:
        observes = Recorder(taken)
        async with running_proxy(config, observes, own_routes={EVENTS_PATH: events_route(taken)}) as address:
            assert await asyncio.to_thread(log, f"{address.url}/t/{config.token}") == 0
            connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=30)
            refused = []
            for method, path in (("POST", EVENTS_PATH), ("GET", f"/t/{config.token}{EVENTS_PATH}")):
                await asyncio.to_thread(connection.request, method, path, BODY, {BATCH: "1"})
                refused.append((await asyncio.to_thread(connection.getresponse)).status)
                connection.close()
            assert refused[0] in {401, 403}
            assert refused[1] == 405
        observes.close()

    asyncio.run(run())
    assert [turn.parts[0].text for turn in taken.trace().turns] == ["Hello"]


class Closed:
    """A sink that is closed."""

    def accept(self, event: RecordEvent) -> None:
        raise SinkError("closed")

    def close(self) -> None:
        pass


def test_a_sink_that_takes_nothing_leaves_the_events_with_their_sender() -> None:
    with EventsServer(Closed()) as server:
        assert post(server, BODY, **{BATCH: "1"}) == (503, "The recorder accepts nothing now.")


def test_a_trace_that_two_servers_took_stands_in_the_database_once_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    first = StoreSink(path)
    with EventsServer(first) as server:
        log = TraceLogger(server.url, name="long")
        log.user("Hello")
        turn = log.assistant()
        turn.feed("half ")
        wait_until(lambda: stored(path) == [("long", ["Hello"])])
    first.close()  # the server ends what it has: the open turn is cut
    wait_until(lambda: stored(path) == [("long", ["Hello", "half "])])
    turn.feed("whole")
    second = StoreSink(path)
    with EventsServer(second, port=server.port):
        turn.finish()
        log.close()
    second.close()
    assert log.mistakes.count == log.dropped == 0
    assert stored(path) == [("long", ["Hello", "half whole"])]


def stored(path: Path) -> list[tuple[str, list[str]]]:
    """The names of the traces in a database, and the texts of their turns that have ended."""
    with open_store(path, create=False) as store:
        traces = [store.inspected(summary.id)[0] for summary in store.traces(limit=5)]
    return [(trace.name, [turn.parts[0].text for turn in trace.turns]) for trace in traces]
