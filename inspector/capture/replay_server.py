"""Answers requests from a recording, in place of the servers that a proxy would forward to.

A request is read whole, redacted as the recording was, and matched (`inspector.replay.matching`). The answer of the
matching exchange is sent in the recorded pieces, at once or at the recorded pace, and breaks off where the recorded one
did. The first request that matches nothing stops the replay: it and every later request get status 400, which clients
do not retry. Nothing is sent upstream unless `on_divergence` is LIVE, or the replay forks.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from enum import StrEnum
from functools import lru_cache
from typing import Protocol

from aiohttp import web
from msgspec import Struct, field, structs

from weaklink.inspector.capture.event_buffer import IgnoringObserver
from weaklink.inspector.capture.exchange_record import masked_text
from weaklink.inspector.capture.proxy.access import not_connected, read_timed_out
from weaklink.inspector.capture.recorder import Recorder
from weaklink.inspector.capture.redacting import Redacts
from weaklink.inspector.capture.safeguards import now_s
from weaklink.inspector.capture.trace_file_sink import TracesInMemory
from weaklink.inspector.model import BodyState, Trace, Turn
from weaklink.inspector.model.exchange import ExchangeEnd, RecordedExchange
from weaklink.inspector.replay.answers import error_answer, rebuilt_answer
from weaklink.inspector.replay.canonical import BodyDifference
from weaklink.inspector.replay.matching import DivergenceKind, Match, ReplayDivergence, Replayer
from weaklink.inspector.sessions.exchange import ExchangeObserver, Observes, RequestHead

_STREAMS = ("text/event-stream", "ndjson", "jsonl", "json-seq")
_REFUSED = 400
_OWN_HEADERS = frozenset({"content-length", "transfer-encoding", "connection"})


class OnDivergence(StrEnum):
    """What to do with a request that matches nothing: stop the replay, send the most similar answer, or forward it."""

    STOP = "stop"
    NEAREST = "nearest"
    LIVE = "live"


class InjectedFault(Protocol):
    """A fault to put into an answer on purpose."""

    @property
    def answer(self) -> Turn | None:
        """The turn to send instead of the recorded one; None if only the delivery changes."""
        ...

    def altered(self, exchange: RecordedExchange) -> tuple[RecordedExchange, float]:
        """The exchange as it is delivered, and the delay in seconds before its answer."""
        ...


class ReplayServer(Struct):
    """The `intercept` of a proxy (`inspector.capture.proxy.running_proxy`); see the module's docstring.

    `divergences` are the requests that matched nothing, in order. With `fork_after`, all requests are forwarded from
    the first one that was recorded after that turn. `fault_of` may return a fault for a match. `observes` receives the
    exchanges that the recording answers.
    """

    replayer: Replayer
    redactor: Redacts
    is_paced: bool = False
    on_divergence: OnDivergence = OnDivergence.STOP
    fork_after: int | None = None
    fault_of: Callable[[Match], InjectedFault | None] | None = None
    observes: Observes = field(default_factory=IgnoringObserver)
    divergences: list[ReplayDivergence] = field(default_factory=list)
    live_requests: int = 0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def intercept(self, request: web.BaseRequest, path: str) -> web.StreamResponse | bytes:
        """Answer one request, or return its body to be forwarded."""
        body = await request.content.read()
        if self.divergences and self.on_divergence is OnDivergence.STOP:
            return _refused(path, f"The replay has stopped. {sentence(self.divergences[0])}")
        if self.fork_after is not None and self.live_requests:
            self.live_requests += 1
            return body
        outcome = self.replayer.find(request.method, self.redactor.url(path), masked_text(body, self.redactor))
        if isinstance(outcome, ReplayDivergence):
            return self._diverged(outcome, request, path, body) or await self._nearest(outcome, request, path, body)
        if self.fork_after is not None and outcome.exchange.turn > self.fork_after:
            self.live_requests += 1
            return body
        return await self._send(outcome, request, path, body)

    def _diverged(
        self, divergence: ReplayDivergence, request: web.BaseRequest, path: str, body: bytes
    ) -> web.StreamResponse | bytes | None:
        """The response to a request without a match; None if the most similar answer is to be sent."""
        if self.fork_after is not None:
            self.live_requests += 1
            return body
        self.divergences.append(divergence)
        match self.on_divergence:
            case OnDivergence.LIVE:
                self.live_requests += 1
                return body
            case OnDivergence.NEAREST if divergence.exchange:
                return None
            case _:
                return _refused(path, sentence(divergence))

    async def _nearest(
        self, divergence: ReplayDivergence, request: web.BaseRequest, path: str, body: bytes
    ) -> web.StreamResponse | bytes:
        match = self.replayer.nearest(divergence)
        return _refused(path, sentence(divergence)) if match is None else await self._send(match, request, path, body)

    async def _send(self, match: Match, request: web.BaseRequest, path: str, body: bytes) -> web.StreamResponse:
        exchange, delay_s = match.exchange, 0.0
        fault = self.fault_of(match) if self.fault_of is not None else None
        turn = match.turn if fault is None or fault.answer is None else fault.answer
        if turn is not None:
            exchange = _rebuilt(exchange, turn, path, body)
        if fault is not None:
            exchange, delay_s = fault.altered(exchange)
        observer = self._observed(request, exchange, body)
        if delay_s:
            await self.sleep(delay_s)
        if exchange.status is None:
            return _never_answered(exchange, observer)
        return await self._stream(exchange, request, observer)

    def _observed(self, request: web.BaseRequest, exchange: RecordedExchange, body: bytes) -> ExchangeObserver:
        head = RequestHead(
            request.method, exchange.path, tuple(request.headers.items()), client=request.remote or "", at_s=now_s()
        )
        observer = self.observes.began(head)
        if body:
            observer.request_arrived(body)
        return observer

    async def _stream(
        self, exchange: RecordedExchange, request: web.BaseRequest, observer: ExchangeObserver
    ) -> web.StreamResponse:
        headers = {name: value for name, value in exchange.headers if name not in _OWN_HEADERS}
        answer = web.StreamResponse(status=exchange.status or 200, headers=headers)
        is_whole = exchange.end in (ExchangeEnd.COMPLETE, ExchangeEnd.CLIENT_LEFT)
        kind = headers.get("content-type", "")
        if any(word in kind for word in _STREAMS) or not is_whole:
            answer.enable_chunked_encoding()
        else:
            answer.content_length = len(exchange.answer or b"")
        observer.answer_began(exchange.status or 200, exchange.headers, now_s())
        try:
            await answer.prepare(request)
            await self._write(exchange, answer, observer)
        except (ConnectionResetError, asyncio.CancelledError):
            observer.ended(ExchangeEnd.CLIENT_LEFT, now_s())
            raise
        if is_whole:
            observer.ended(ExchangeEnd.COMPLETE, now_s())  # before the client knows that the answer is over
            await answer.write_eof()
        else:
            observer.ended(exchange.end, now_s(), exchange.message)
            if request.transport is not None:
                request.transport.close()
        return answer

    async def _write(self, exchange: RecordedExchange, answer: web.StreamResponse, observer: ExchangeObserver) -> None:
        passed_s = 0.0
        for number, piece in enumerate(exchange.pieces()):
            offset_s = exchange.offsets_s[number] if number < len(exchange.offsets_s) else None
            if self.is_paced and offset_s is not None and offset_s > passed_s:
                await self.sleep(offset_s - passed_s)
                passed_s = offset_s
            observer.answer_arrived(piece, now_s())
            await answer.write(piece)


def _rebuilt(exchange: RecordedExchange, turn: Turn, path: str, body: bytes) -> RecordedExchange:
    kind, answer = rebuilt_answer(turn, path, body)
    headers = (*(header for header in exchange.headers if header[0] != "content-type"), ("content-type", kind))
    return structs.replace(exchange, headers=headers, answer=answer, ends=(len(answer),), offsets_s=(None,), path=path)


def _never_answered(exchange: RecordedExchange, observer: ExchangeObserver) -> web.Response:
    """The proxy's error response, for an exchange whose upstream did not answer."""
    observer.ended(exchange.end, now_s(), exchange.message)
    if exchange.end is ExchangeEnd.TIMED_OUT:
        refusal, words = read_timed_out("", 0), "sent nothing for too long"
    else:
        refusal, words = not_connected("", ""), "could not be reached"
    return structs.replace(refusal, message=f"Replayed: when this was recorded, the server {words}.").response()


@lru_cache(maxsize=8)
def diverged_trace(divergence: ReplayDivergence) -> Trace | None:
    """The live request that diverged as a separate trace; no server answered it, so its answer is not recorded.

    A warning of the trace states the divergence. None if it was no request to a model, or a recorded request that was
    never made.
    """
    if not divergence.live:
        return None
    sink = TracesInMemory()
    recorder = Recorder(sink)
    observer = recorder.began(RequestHead(divergence.method, divergence.path, at_s=now_s()))
    observer.request_arrived(divergence.live)
    observer.answer_began(_REFUSED, (("Content-Type", "application/json"),), now_s())
    observer.answer_arrived(error_answer(divergence.path, _REFUSED, sentence(divergence), "replay_diverged"), now_s())
    observer.ended(ExchangeEnd.COMPLETE, now_s())
    recorder.close()
    trace = next(iter(sink.traces()), None)
    return None if trace is None else _without_answer(trace, sentence(divergence))


def _without_answer(trace: Trace, why: str) -> Trace:
    *request, answer = trace.turns
    assert answer.generation is not None  # the recorder has just created it
    generation = structs.replace(answer.generation, error=None, finish=None, body=BodyState.NOT_STORED)
    turns = (*request, structs.replace(answer, parts=(), calls=(), generation=generation))
    return structs.replace(trace, turns=turns, provenance=structs.replace(trace.provenance, warnings=(why,)))


def _refused(path: str, message: str) -> web.Response:
    """An error in the provider's shape; clients do not retry it."""
    body, headers = error_answer(path, _REFUSED, message, "replay_diverged"), {"x-should-retry": "false"}
    return web.Response(status=_REFUSED, body=body, content_type="application/json", headers=headers)


def sentence(divergence: ReplayDivergence) -> str:
    """A divergence in one line."""
    address = f"{divergence.method} {divergence.path.partition('?')[0]}".strip()  # a log has no path
    request = f"request {divergence.number} ({address})"
    match divergence.kind:
        case DivergenceKind.EXTRA:
            return f"The replay diverged: {request} has no counterpart in the recording."
        case DivergenceKind.NEVER_MADE:
            turn = f", turn {divergence.turn}" if divergence.turn else ""
            return f"The replay diverged: recorded {request}{turn} was never made."
    first = divergence.differences[0] if divergence.differences else None
    where = f": {difference_text(first)}" if first is not None else "."
    return f"The replay diverged at {request}, compared with recorded request {divergence.exchange}{where}"


def difference_text(difference: BodyDifference) -> str:
    """A difference in one line: pointer, message, characters, and both texts."""
    words = [f"{difference.pointer or '/'}"]
    if difference.message is not None:
        words.append(f"message {difference.message}")
    if difference.tool is not None:
        words.append(f"tool {difference.tool}")
    characters = difference.recorded_range if difference.live_range is None else difference.live_range
    if characters is not None:
        words.append(f"characters {characters.start} to {characters.end}")
    change = {"added": f"added {_quoted(difference.live)}", "missing": f"missing {_quoted(difference.recorded)}"}.get(
        difference.kind.value, f"recorded {_quoted(difference.recorded)}, now {_quoted(difference.live)}"
    )
    return f"{', '.join(words)}: {change}."


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
