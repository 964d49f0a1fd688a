"""Exchanges played to a recorder as a proxy would tell of them, and what sink and watch were told."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from inspector.capture.events import (
    ChunksArrived,
    RecordEvent,
    TraceEnded,
    TraceStarted,
    TurnEnded,
    TurnStarted,
)
from inspector.capture.recorder import Recorder
from inspector.capture.watch import ExchangeFacts
from inspector.diagnostics import Diagnostic
from inspector.model import Chunk, Span, ToolCall, Trace, Turn
from inspector.sessions.exchange import Exchange, ExchangeEnd, ExchangeObserver

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
                assert turn == 1 + len(self.turns[key]) + len([one for one in self.open if one[0] == key])
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
                    (one for part in value.parts for one in part.arrivals()), key=lambda one: one.sequence
                )
                assert self.chunks.pop((key, turn)) == arrivals
            case TraceEnded(key):
                assert not [one for one in self.open if one[0] == key]
                self.ended.add(key)

    def close(self) -> None:
        assert not self.open
        assert self.ended == self.traces.keys()

    def whole(self) -> list[Trace]:
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

    @property
    def codes(self) -> list[str]:
        return [one.rule.code for one in self.faults]


def play(
    recorder: Recorder, exchanges: Iterable[Exchange], *, cut: Callable[[bytes], Iterable[bytes]] = lambda raw: [raw]
) -> None:
    """Tell of exchanges in the order in which everything in them happened; `cut` cuts each piece of a body."""
    moments: list[tuple[float, int, Callable[[], None]]] = []
    for exchange in exchanges:
        observed: list[ExchangeObserver] = []
        start_s = exchange.head.at_s or 0.0
        moments.append((start_s, 0, lambda e=exchange, o=observed: _ask(recorder, e, o, cut)))
        for at_s, raw in exchange.answer or ():
            moments.append((at_s or start_s, 1, lambda a=at_s, r=raw, o=observed: _tell(o[0], cut(r), a)))
        end = ExchangeEnd.NOT_STORED if exchange.answer is None else exchange.end
        moments.append(
            (
                exchange.ended_s or start_s,
                2,
                lambda e=exchange, o=observed, end=end: o[0].ended(end, e.ended_s, e.message),
            )
        )
    for _, _, happen in sorted(moments, key=lambda one: one[:2]):
        happen()


def _ask(
    recorder: Recorder, exchange: Exchange, observed: list[ExchangeObserver], cut: Callable[[bytes], Iterable[bytes]]
) -> None:
    body = exchange.body or b""
    headers = (*exchange.head.headers, ("Content-Length", str(len(body))))
    observer = recorder.began(replace(exchange.head, headers=headers))
    observed.append(observer)
    for raw in cut(body) if body else ():
        observer.request_arrived(raw)
    if exchange.status is not None:
        observer.answer_began(exchange.status, exchange.headers, exchange.head.at_s)


def _tell(observer: ExchangeObserver, pieces: Iterable[bytes], at_s: float | None) -> None:
    for raw in pieces:
        observer.answer_arrived(raw, at_s)
