"""Exchanges played to a recorder as a proxy would tell of them, and what sink and watch were told."""

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self, TypeAlias

import msgspec
from msgspec.structs import replace

from tests.sessions.transcripts import EPOCH_S
from weaklink.inspector.capture.events import (
    ChunksArrived,
    ExchangeFacts,
    RecordEvent,
    TraceEnded,
    TraceStarted,
    TurnEnded,
    TurnStarted,
)
from weaklink.inspector.capture.recorder import Recorder
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.model import Chunk, Span, ToolCall, Trace, Turn
from weaklink.inspector.sessions.exchange import Exchange, ExchangeEnd, ExchangeObserver, Headers, RequestHead

DEADLINE_S = 20.0


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds; an error after a deadline."""
    end_s = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < end_s, "waited in vain"
        time.sleep(0.002)


@dataclass(slots=True)
class ToldSink:
    """Keeps what it is told, and holds the recorder to the order in which turns begin, grow and end."""

    events: list[RecordEvent] = field(default_factory=list)
    traces: dict[str, Trace] = field(default_factory=dict)
    turns: dict[str, dict[int, Turn]] = field(default_factory=dict)
    chunks: dict[tuple[str, int], list[Chunk]] = field(default_factory=dict)
    open: set[tuple[str, int]] = field(default_factory=set)
    ended: set[str] = field(default_factory=set)

    def accept(self, event: RecordEvent) -> None:
        self.events.append(event)
        assert event.key not in self.ended
        match event:
            case TraceStarted(key, trace):
                assert key not in self.traces
                self.traces[key], self.turns[key] = trace, {}
            case TurnStarted(key, turn):
                assert turn == 1 + len(self.turns[key]) + len([record for record in self.open if record[0] == key])
                self.open.add((key, turn))
                self.chunks[key, turn] = []
            case ChunksArrived(key, turn, chunks):
                assert (key, turn) in self.open
                assert chunks
                self.chunks[key, turn] += chunks
            case TurnEnded(key, turn, value):
                self.open.remove((key, turn))
                self.turns[key][turn] = value
                arrivals = sorted(
                    (arrival for part in value.parts for arrival in part.arrivals()),
                    key=lambda arrival: arrival.sequence,
                )
                told = self.chunks.pop((key, turn))
                if all(
                    chunk.offset_s is None for chunk in told
                ):  # where only the server dates them, it does so at the end
                    arrivals = [msgspec.structs.replace(arrival, offset_s=None) for arrival in arrivals]
                assert told in (arrivals, [])  # a body that came whole has none until it has ended
            case TraceEnded(key):
                assert not [record for record in self.open if record[0] == key]
                self.ended.add(key)

    def close(self) -> None:
        assert not self.open
        assert self.ended == self.traces.keys()

    def recorded(self) -> list[Trace]:
        """The traces with their turns, in the order in which they began."""
        return [
            replace(trace, turns=tuple(turn for _, turn in sorted(self.turns[key].items())))
            for key, trace in self.traces.items()
        ]


@dataclass(slots=True)
class ToldWatch:
    """Keeps what it is told."""

    spans: list[tuple[int, str, Span, tuple[ToolCall, ...]]] = field(default_factory=list)
    faults: list[Diagnostic] = field(default_factory=list)
    ended: list[ExchangeFacts] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    def span_closed(self, key: str, turn: int, part: str, span: Span, calls: Sequence[ToolCall]) -> None:
        assert key
        self.spans.append((turn, part, span, tuple(calls)))

    def fault_found(self, key: str, turn: int, diagnostic: Diagnostic) -> None:
        assert key
        assert diagnostic.location.turn == turn
        self.faults.append(diagnostic)

    def exchange_ended(self, facts: ExchangeFacts) -> None:
        self.ended.append(facts)

    def trouble(self, message: str) -> None:
        assert message[0].isupper()
        assert message.endswith(".")
        self.troubles.append(message)

    def has(self, code: str) -> bool:
        return code in self.codes

    @property
    def codes(self) -> list[str]:
        return [fault.rule.code for fault in self.faults]


@dataclass(slots=True)
class Call:
    """One exchange told step by step; times are seconds since its request was sent."""

    recorder: Recorder
    messages: list[dict[str, Any]]
    client: str = "client"
    path: str = "/v1/chat/completions"
    headers: Headers = ()
    at_s: float = EPOCH_S
    more: dict[str, Any] = field(default_factory=dict)
    observer: ExchangeObserver = field(init=False)

    def __post_init__(self) -> None:
        body = json.dumps({"model": "hermes-4", "stream": True, "messages": self.messages, **self.more}).encode()
        headers = (*self.headers, ("Content-Length", str(len(body))))
        head = RequestHead("POST", self.path, headers, client=self.client, at_s=self.at_s)
        self.observer = self.recorder.began(head)
        self.observer.request_arrived(body)

    def answered(self, status: int = 200, *, kind: str = "text/event-stream", encoding: str = "") -> Self:
        headers = (("Content-Type", kind), *((("Content-Encoding", encoding),) if encoding else ()))
        self.observer.answer_began(status, headers, self.at_s + 0.5)
        return self

    def sent(self, *pieces: bytes, offset_s: float = 1.0) -> Self:
        for raw in pieces:
            self.observer.answer_arrived(raw, self.at_s + offset_s)
        return self

    def said(self, *words: str, offset_s: float = 1.0) -> Self:
        return self.sent(*map(words_event, words), offset_s=offset_s)

    def done(self, finish: str = "stop") -> None:
        self.sent(delta_event({}, finish), b"data: [DONE]\n\n").ended(ExchangeEnd.COMPLETE)

    def ended(self, end: ExchangeEnd, *, message: str = "", offset_s: float = 2.0) -> None:
        self.observer.ended(end, self.at_s + offset_s, message)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def words_event(words: str) -> bytes:
    return delta_event({"content": words})


def delta_event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return f"data: {json.dumps({'id': 'chatcmpl-1', 'model': 'hermes-4', 'choices': [choice]})}\n\n".encode()


Cut: TypeAlias = Callable[[bytes], Iterable[bytes]]


def whole(raw: bytes) -> Iterable[bytes]:
    return [raw]


def play(recorder: Recorder, exchanges: Iterable[Exchange], *, cut: Cut = whole) -> None:
    """Tell of exchanges in the order in which everything in them happened; `cut` cuts each piece of a body."""
    moments: list[tuple[float, int, Callable[[], None]]] = []
    for exchange in exchanges:
        observed: list[ExchangeObserver] = []
        start_s = exchange.head.at_s or 0.0
        moments.append((start_s, 0, partial(_ask, recorder, exchange, observed, cut)))
        for at_s, raw in exchange.answer or ():
            moments.append((at_s or start_s, 1, partial(_tell, observed, cut(raw), at_s)))
        moments.append((exchange.ended_s or start_s, 2, partial(_end, observed, exchange)))
    for _, _, happen in sorted(moments, key=lambda moment: moment[:2]):
        happen()


def _ask(recorder: Recorder, exchange: Exchange, observed: list[ExchangeObserver], cut: Cut) -> None:
    body = exchange.body or b""
    headers = (*exchange.head.headers, ("Content-Length", str(len(body))))
    observer = recorder.began(replace(exchange.head, headers=headers))
    observed.append(observer)
    for raw in cut(body) if body else ():
        observer.request_arrived(raw)
    if exchange.status is not None:
        observer.answer_began(exchange.status, exchange.headers, exchange.head.at_s)


def _tell(observed: list[ExchangeObserver], pieces: Iterable[bytes], at_s: float | None) -> None:
    for raw in pieces:
        observed[0].answer_arrived(raw, at_s)


def _end(observed: list[ExchangeObserver], exchange: Exchange) -> None:
    end = ExchangeEnd.NOT_STORED if exchange.answer is None else exchange.end
    observed[0].ended(end, exchange.ended_s, exchange.message)
