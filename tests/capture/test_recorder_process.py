"""A recorder in a process of its own: what arrives there, and what is dropped while it stands still."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.capture.recordings import words_event
from weaklink.inspector.capture.events import RECORDING_PART
from weaklink.inspector.capture.exchange_messages import (
    AnswerArrived,
    AnswerBegan,
    ExchangeEnded,
    ExchangeMessage,
    MessageReader,
    RequestArrived,
    began_message,
    frame_of,
    raw_headers,
    raw_text,
)
from weaklink.inspector.capture.recorder import Recorder
from weaklink.inspector.capture.recorder_process import ForwarderConnection, RecorderProcess, RecorderReport
from weaklink.inspector.capture.redacting import NoRedaction
from weaklink.inspector.capture.trace_file_sink import TraceFileSink
from weaklink.inspector.errors import SinkError, WeaklinkError
from weaklink.inspector.model import BodyState, Trace
from weaklink.inspector.sessions.exchange import ExchangeEnd, ExchangeObserver, Headers, RequestHead
from weaklink.inspector.trace_file.reading import read_trace_file

_TEXTS = st.text(st.characters() | st.sampled_from("\udc80\udcff\ud800/?"), max_size=20)
_HEADERS = st.lists(st.tuples(_TEXTS, _TEXTS), max_size=3).map(tuple)
_TIMES = st.none() | st.floats(0, 1e10)
_BODY = b'{"model": "hermes-4", "stream": true, "messages": [{"role": "user", "content": "Go on."}]}'
_HEAD = RequestHead("POST", "/v1/chat/completions", (("Content-Length", str(len(_BODY))),), at_s=1e9)
_SSE = (("Content-Type", "text/event-stream"),)


class _Told:
    """Keeps all that it observes, of any number of exchanges."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def began(self, head: RequestHead) -> ExchangeObserver:
        self.calls.append(("began", head))
        return self

    def request_arrived(self, raw: bytes) -> None:
        self.calls.append(("request", raw))

    def answer_began(self, status: int, headers: Headers, at_s: float | None) -> None:
        self.calls.append(("answer", status, headers, at_s))

    def answer_arrived(self, raw: bytes, at_s: float | None) -> None:
        self.calls.append(("piece", raw, at_s))

    def ended(self, end: ExchangeEnd, at_s: float | None, message: str = "") -> None:
        self.calls.append(("ended", end, at_s, message))


@given(
    st.builds(RequestHead, _TEXTS, _TEXTS, _HEADERS, client=_TEXTS, at_s=_TIMES),
    st.lists(st.binary(max_size=30), max_size=4),
    st.tuples(st.sampled_from(ExchangeEnd), _TIMES, _TEXTS),
    st.integers(1, 50),
)
def test_what_one_process_observes_the_other_observes_too(
    head: RequestHead, pieces: list[bytes], ended: tuple[ExchangeEnd, float | None, str], size: int
) -> None:
    end, at_s, message = ended
    messages: list[ExchangeMessage] = [
        began_message(7, head),
        *(RequestArrived(7, raw) for raw in pieces),
        AnswerBegan(7, 200, raw_headers(head.headers), at_s),
        *(AnswerArrived(7, raw, at_s) for raw in pieces),
        ExchangeEnded(7, end, at_s, raw_text(message)),
    ]
    told = _Told()
    reader = MessageReader(told)
    frames = frame_of(messages[:2]) + frame_of(messages[2:])
    for start in range(0, len(frames), size):
        reader.feed(frames[start : start + size])
    assert told.calls == [
        ("began", head),
        *(("request", raw) for raw in pieces),
        ("answer", 200, head.headers, at_s),
        *(("piece", raw, at_s) for raw in pieces),
        ("ended", end, at_s, message),
    ]


def _recorded(
    path: Path,
    play: Callable[[RecorderProcess], Awaitable[None]],
    troubles: list[str],
    *,
    max_waiting_bytes: int = 1 << 20,
) -> RecorderReport:
    """Record into a trace file, in a process of its own, what `play` reports to it."""

    def record(connection: ForwarderConnection) -> RecorderReport:
        sink = TraceFileSink(str(path))
        recorder = Recorder(sink, redactor=NoRedaction())
        connection.report(RecorderReport(target=str(path)))
        connection.observe(recorder)
        recorder.close()
        sink.close()
        return RecorderReport(str(path), dropped_bytes=recorder.dropped_bytes, is_last=True)

    process = RecorderProcess(record, on_trouble=troubles.append, max_waiting_bytes=max_waiting_bytes)

    async def played() -> None:
        await play(process)

    try:
        asyncio.run(played())
    finally:
        report = process.close()
    return report


def _texts(trace: Trace) -> list[str]:
    return [part.text for turn in trace.turns for part in turn.parts if part.name == "text"]


def _answered(process: RecorderProcess, *words: str) -> None:
    observer = process.began(_HEAD)
    observer.request_arrived(_BODY)
    observer.answer_began(200, _SSE, 1e9)
    for word in words:
        observer.answer_arrived(words_event(word), 1e9)
    observer.ended(ExchangeEnd.COMPLETE, 1e9)


def test_a_process_that_stands_still_delays_nobody_and_loses_nothing(tmp_path: Path) -> None:
    words = [f"word {number}, " for number in range(20_000)]
    troubles: list[str] = []

    async def play(process: RecorderProcess) -> None:
        os.kill(process.pid, signal.SIGSTOP)
        _answered(process, *words)
        await asyncio.sleep(0.1)  # the event loop goes on
        os.kill(process.pid, signal.SIGCONT)

    report = _recorded(tmp_path / "t.jsonl", play, troubles, max_waiting_bytes=64 << 20)
    (trace,) = read_trace_file(tmp_path / "t.jsonl")
    assert _texts(trace) == ["Go on.", "".join(words)]
    assert (report.dropped_bytes, report.unrecorded, troubles) == (0, 0, [])


def test_what_does_not_fit_into_the_queue_is_dropped_and_the_turn_states_it(tmp_path: Path) -> None:
    sent = [words_event("x" * 1_000) for _ in range(300)]

    async def play(process: RecorderProcess) -> None:
        os.kill(process.pid, signal.SIGSTOP)
        observer = process.began(_HEAD)
        observer.request_arrived(_BODY)
        observer.answer_began(200, _SSE, 1e9)
        for raw in sent:
            observer.answer_arrived(raw, 1e9)
        others = [process.began(_HEAD) for _ in range(100)]
        for other in (observer, *others):
            other.ended(ExchangeEnd.COMPLETE, 1e9)
        os.kill(process.pid, signal.SIGCONT)

    report = _recorded(tmp_path / "t.jsonl", play, [], max_waiting_bytes=200_000)
    traces = list(read_trace_file(tmp_path / "t.jsonl"))
    trace = next(trace for trace in traces if len(trace.turns) == 2)
    answer = trace.turns[-1]
    kept = len(_texts(trace)[-1]) // 1_000
    dropped = sum(map(len, sent[kept:]))
    assert 50 < kept < 200
    assert answer.generation is not None
    assert answer.generation.body is BodyState.NOT_STORED
    recording = answer.part(RECORDING_PART)
    assert recording is not None
    assert f"{dropped} bytes were dropped" in recording.text
    assert report.dropped_bytes == dropped
    assert report.unrecorded == 100  # nothing was left for the other requests


def test_another_process_takes_over_from_one_that_died(tmp_path: Path) -> None:
    troubles: list[str] = []

    async def play(process: RecorderProcess) -> None:
        for number in range(6):
            observer = process.began(_HEAD)
            observer.request_arrived(_BODY)
            await asyncio.sleep(0.1)
            if process.pid:
                pid = process.pid
                os.kill(pid, signal.SIGKILL)
                while process.pid == pid:
                    await asyncio.sleep(0.01)
            observer.ended(ExchangeEnd.COMPLETE, 1e9)
            if number == 2:
                _answered(process, "recorded")
                await asyncio.sleep(0.5)

    report = _recorded(tmp_path / "t.jsonl", play, troubles)
    assert [trouble.rpartition("; ")[2] for trouble in troubles] == [
        *["1 request is not recorded, or only in part. A new one records from now on."] * 2,
        "1 request is not recorded, or only in part. A new one records from now on.",
        "2 requests are not recorded, or only in part. The traffic continues, and nothing is recorded from now on.",
    ]
    assert all(trouble.startswith("The recorder's process was ended by signal 9 (Killed); ") for trouble in troubles)
    assert report.unrecorded == 7


@pytest.mark.parametrize("error", [SinkError("no such place"), ZeroDivisionError("oops")])
def test_a_process_that_cannot_begin_says_why(error: Exception) -> None:
    def record(connection: ForwarderConnection) -> RecorderReport:
        raise error

    with pytest.raises(WeaklinkError, match=str(error)):
        RecorderProcess(record, on_trouble=lambda trouble: None)


def test_a_socket_of_the_parent_is_closed_although_the_process_goes_on(tmp_path: Path) -> None:
    def record(connection: ForwarderConnection) -> RecorderReport:
        connection.report(RecorderReport(target="here"))
        connection.observe(Recorder(TraceFileSink(str(tmp_path / "t.jsonl")), redactor=NoRedaction()))
        return RecorderReport(target="here", is_last=True)

    reading, writing = os.pipe()
    process = RecorderProcess(record, on_trouble=lambda trouble: None)
    os.close(writing)
    assert os.read(reading, 1) == b""
    os.close(reading)
    process.close()
