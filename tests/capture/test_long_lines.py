"""One giant line of an answer: nothing waits for it, what is kept of it is bounded, and the turn says so."""

import asyncio
import json
from collections.abc import Iterable, Sequence
from threading import Event

import aiohttp
import pytest
from aiohttp import web

from tests.capture.recordings import Call, ToldSink, user
from weaklink.inspector.capture import recorder as recording
from weaklink.inspector.capture.events import RECORDING_PART
from weaklink.inspector.capture.proxy import ProxyConfig, running_proxy
from weaklink.inspector.capture.proxy.config import Upstream
from weaklink.inspector.capture.recorder import Recorder
from weaklink.inspector.capture.redacting import NoRedaction, RedactsChunks
from weaklink.inspector.checks.recording import check_recording
from weaklink.inspector.model import BodyState, Chunk, ToolDefinition
from weaklink.inspector.sessions.exchange import ExchangeEnd


class _Measured(NoRedaction):
    """A redactor that notes how much text it gets at once."""

    def __init__(self) -> None:
        self.longest = 0

    def new_turn(self, tools: Iterable[ToolDefinition] = ()) -> RedactsChunks:
        return self

    def feed(self, chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
        self.longest = max(self.longest, sum(len(chunk.text) for chunk in chunks))
        return tuple(chunks)

    def close(self) -> tuple[Chunk, ...]:
        return ()


def test_the_text_of_a_long_event_is_processed_in_pieces_and_is_whole_in_the_end() -> None:
    sink, redactor = ToldSink(), _Measured()
    text = "many words " * 200_000
    recorder = Recorder(sink, redactor=redactor)
    Call(recorder, [user("Hi")]).answered().said("so ", text, "!").done()
    recorder.close()
    turn = sink.recorded()[0].turns[-1]
    assert turn.parts[0].text == f"so {text}!"
    assert turn.part(RECORDING_PART) is None
    assert 60_000 < redactor.longest < 140_000


def test_more_text_than_the_bound_is_cut_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MAX_ANSWER_TEXT", 1_000)
    sink = ToldSink()
    recorder = Recorder(sink)
    Call(recorder, [user("Hi")]).answered().said("a" * 600, "b" * 600, "c" * 600).done()
    recorder.close()
    turn = sink.recorded()[0].turns[-1]
    assert turn.parts[0].text == "a" * 600 + "b" * 400
    assert turn.generation is not None
    assert turn.generation.body is BodyState.NOT_STORED
    told = turn.part(RECORDING_PART)
    assert told is not None
    assert told.text == "Only 1,000 characters of an answer are kept; this one has more."


def test_an_event_beyond_the_bound_is_kept_undecoded_and_the_stream_goes_on() -> None:
    sink = ToldSink()
    recorder = Recorder(sink)
    longest = recording.MAX_ANSWER_TEXT
    Call(recorder, [user("Hi")]).answered().said("before", "x" * (longest + 10), "after").done()
    recorder.close()
    turn = sink.recorded()[0].turns[-1]
    assert turn.parts[0].text == "before"
    unread = turn.part("wire:unread")
    assert unread is not None
    assert len(unread.text) <= longest
    assert turn.generation is not None
    assert turn.generation.error is None, "the stream did not end in the middle of an event"
    assert turn.part(RECORDING_PART) is not None


def test_a_whole_body_beyond_the_bound_is_kept_undecoded_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its JSON would be decoded in one call, during which no stream gets a byte."""
    monkeypatch.setattr("weaklink.inspector.wire.decoder.MAX_TEXT_LENGTH", 1_000)
    sink = ToldSink()
    recorder = Recorder(sink)
    text = "ä" * 600
    answer = {"object": "chat.completion", "choices": [{"index": 0, "message": {"content": text}}]}
    body = json.dumps(answer, ensure_ascii=False)
    call = Call(recorder, [user("Hi")]).answered(kind="application/json")
    raw = body.encode()
    call.sent(raw[:501], raw[501:]).ended(ExchangeEnd.COMPLETE)
    recorder.close()
    turn = sink.recorded()[0].turns[-1]
    unread = turn.part("wire:unread")
    assert unread is not None
    assert unread.text == body
    assert [fault.rule.code for fault in check_recording(turn, 2)] == ["C512"]
    assert turn.part("text") is None


def test_a_request_beyond_the_bound_is_recorded_without_its_messages_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recording, "MAX_REQUEST_LENGTH", 1_000)
    sink = ToldSink()
    recorder = Recorder(sink)
    Call(recorder, [user("x" * 1_000)]).answered().said("Hi").done()
    recorder.close()
    (trace,) = sink.recorded()
    assert [part.text for part in trace.turns[-1].parts if part.name == "text"] == ["Hi"]
    told = trace.turns[-1].part(RECORDING_PART)
    assert told is not None
    assert told.text == "The request's body is longer than 1,000 bytes, so it was not decoded."


class _Stuck(NoRedaction):
    """A redactor that does not come back, as if it searched a giant text."""

    def __init__(self) -> None:
        self.is_stuck, self.go = Event(), Event()

    def text(self, text: str) -> str:
        self.is_stuck.set()
        assert self.go.wait(30)
        return text

    def url(self, url: str) -> str:
        return self.text(url)


def test_other_streams_get_their_bytes_while_the_recorder_is_busy_with_one_answer() -> None:
    """Ordering, not time: the probe's pieces arrive before the recorder has come back."""
    redactor = _Stuck()
    recorder = Recorder(ToldSink(), redactor=redactor)
    asked: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        asked.append(body["messages"][0]["content"])
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        count, size = (1, 2_000_000) if asked[-1] == "giant" else (50, 10)
        for _ in range(count):
            chunk = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "x" * size}}]}
            await response.write(f"data: {json.dumps(chunk)}\n\n".encode())
        await response.write(b"data: [DONE]\n\n")
        return response

    async def play() -> int:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        config = ProxyConfig(upstreams=(Upstream("", f"http://127.0.0.1:{runner.addresses[0][1]}"),), port=0)
        received = 0
        async with running_proxy(config, recorder) as address, aiohttp.ClientSession() as client:
            url = f"{address.url}/v1/chat/completions"

            async def ask(words: str) -> bytes:
                body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": words}]}
                async with client.post(url, json=body) as response:
                    return await response.read()

            assert len(await ask("giant")) > 2_000_000
            assert await asyncio.to_thread(redactor.is_stuck.wait, 30)
            received = (await ask("probe")).count(b"data: ")
            assert not redactor.go.is_set()
            redactor.go.set()
        await runner.cleanup()
        return received

    assert asyncio.run(play()) == 51
    recorder.close()
