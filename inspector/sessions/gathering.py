"""Gathers the exchanges of a log into traces, as a recorder does live: the request and the turn of each exchange.

Until they are processed, exchanges are in a spool: in memory up to a bound, and beyond it in a temporary file.
"""

import pickle
import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from types import TracebackType
from typing import NamedTuple, Self

from msgspec import Struct, field, structs

from weaklink.inspector import model
from weaklink.inspector.apis.providers import decoder_for, parse_request, read_request
from weaklink.inspector.sessions.exchange import Exchange, ExchangeEnd, Headers, RequestHead, header_of
from weaklink.inspector.sessions.resolver import SessionAssignment, SessionResolver
from weaklink.inspector.spool import RecordSpool
from weaklink.inspector.wire.content_encoding import ContentDecoder
from weaklink.inspector.wire.events import UNREAD_PART, WIRE_PREFIX, DecodedRequest, DecodedTurn, TurnAssembly
from weaklink.inspector.wire.provider_json import is_json

_NO_ANSWER = "The body is not an answer of a model."
_NOTHING = "The body ended without any part of an answer."
_EVENT = re.compile(r"(?:data|event|id|retry)?:")
_ENDS = {
    ExchangeEnd.UPSTREAM_DROPPED: (
        model.ErrorPhase.TRANSPORT,
        "The server closed the connection before the answer ended.",
    ),
    ExchangeEnd.CLIENT_LEFT: (model.ErrorPhase.CLIENT_ABORT, "The client disconnected before the answer ended."),
    ExchangeEnd.NOT_CONNECTED: (model.ErrorPhase.CONNECT, "The server could not be reached."),
    ExchangeEnd.TIMED_OUT: (model.ErrorPhase.TRANSPORT, "The server was silent for too long."),
}
_WORDS = re.compile(r"[A-Za-z_-]+")
_OTHER_ENDPOINTS = re.compile(
    r"count_?tokens|input_tokens|(?:de)?tokenize|apply[-_]template|(?:batch)?embed(?:dings|content|contents)?|rerank"
    r"|score|classify|pooling|moderations|batches|files|jobs|threads|runs|assistants|show|pull|create|compact",
    re.IGNORECASE,
)
"""The last words of paths that take messages, prompts or inputs and generate nothing (from the APIs' references)."""
_NO_BODY = "the request's body was not kept, so its content is unknown"
_NO_OBJECT = "the request's path is a model's, but its body is not a JSON object"
_NO_MODEL = "this is not a request to a model"
SPOOL_BYTES = 32 << 20
"""How much of a spool is kept in memory."""


def answer_turn(
    request: DecodedRequest,
    decoded: DecodedTurn,
    end: ExchangeEnd,
    *,
    assignment: SessionAssignment,
    started_s: float | None = None,
    ended_s: float | None = None,
    status: int | None = None,
    message: str = "",
    is_stored: bool = True,
    first_s: float | None = None,
) -> model.Turn:
    """The turn of an answer with all the facts of its generation, the same for recorded and imported answers.

    `decoded` is the answer as far as it came, its times relative to `started_s`, when the request was sent. `ended_s`
    is when the exchange ended; both are seconds since 1970-01-01 UTC, None if they are not known. `status` is None if
    no answer began. `message` is the text of the error. `is_stored`: the answer's body was kept. `first_s` is when its
    first text came, for pieces without times.
    What the server reported of its own failure takes precedence over how the connection ended; an answer that was
    complete before its connection broke has no error. A body with a good status that is no answer at all is the
    server's failure.
    """
    learned = decoded.turn.generation or model.Generation()
    if end is ExchangeEnd.COMPLETE and is_stored and status is not None and status < 400:
        why = _why_no_answer(decoded.turn, learned)
        learned = _failed(learned, model.GenerationError(model.ErrorPhase.HTTP, why, status)) if why else learned
    generation = structs.replace(
        started_generation(request, assignment, started_s=started_s),
        api=learned.api or request.api,
        answered_model=learned.answered_model,
        started=learned.started if started_s is None else model.Instant(started_s),
        first_token=(None if started_s is None else _first_token(decoded.turn, started_s)) or _instant(first_s),
        ended=learned.ended if ended_s is None else model.Instant(ended_s),
        usage=learned.usage,
        finish_reason=learned.finish_reason,
        finish=learned.finish,
        error=learned.error,
        body=learned.body,
    )
    generation = _ended(generation, end, status, message)
    if not is_stored or end is ExchangeEnd.NOT_STORED:
        generation = structs.replace(generation, body=model.BodyState.NOT_STORED)
    return structs.replace(decoded.turn, generation=generation)


def started_generation(
    request: DecodedRequest, assignment: SessionAssignment, *, started_s: float | None = None
) -> model.Generation:
    """What is known of a generation when its request was sent: model, parameters, tools, the attempt and its start."""
    return structs.replace(
        request.generation(),
        attempt=assignment.attempt,
        retry_of=assignment.retry_of,
        started=_instant(started_s),
        request=assignment.request,
    )


def _instant(moment_s: float | None) -> model.Instant | None:
    return None if moment_s is None else model.Instant(moment_s)


def _first_token(turn: model.Turn, started_s: float) -> model.Instant | None:
    """When the first text, reasoning or arguments came; `wire:` parts do not count."""
    firsts = [
        next((offset for offset in part.chunks.offsets_s if offset is not None), None)
        for part in turn.parts
        if part.chunks is not None and part.chunks.offsets_s is not None and not part.name.startswith(WIRE_PREFIX)
    ]
    known = [first for first in firsts if first is not None]
    return model.Instant(started_s + min(known)) if known else None


def _why_no_answer(turn: model.Turn, learned: model.Generation) -> str:
    """Why a complete body is no answer: the decoder knows none of it, or nothing of an answer is in it; else `""`."""
    if learned.error is not None or learned.finish_reason is not None or turn.calls:
        return ""
    if any(part.text for part in turn.parts if not part.name.startswith(WIRE_PREFIX)):
        return ""
    unread = turn.part(UNREAD_PART)
    if unread is None or not unread.text:
        has_no_content = (
            learned.body is model.BodyState.COMPLETE and not learned.answered_model and learned.usage == model.Usage()
        )
        return _NOTHING if has_no_content else ""
    return _NO_ANSWER if learned.body is model.BodyState.COMPLETE or not _looks_truncated(unread.text) else ""


def _looks_truncated(text: str) -> bool:
    """Whether a text is the beginning of an answer: of JSON, or of an event without its end."""
    start = text.lstrip("\ufeff \t\r\n")
    if _EVENT.match(start):
        return not start.endswith(("\n\n", "\r\n\r\n", "\r\r"))
    return start[:1] in ("{", "[") and any(not is_json(line) for line in (start, *start.splitlines()[-1:]))


def _ended(generation: model.Generation, end: ExchangeEnd, status: int | None, message: str) -> model.Generation:
    """The generation with the end of the exchange taken into account."""
    is_http_error = status is not None and status >= 400
    if is_http_error and (generation.error is None or not generation.error.message):
        words = message or f"The server answered with status {status} and no message."
        if end is ExchangeEnd.CLIENT_LEFT:
            words = f"The server answered with status {status}, and its message did not arrive. {message}".rstrip()
        code = generation.error.code if generation.error else None
        return _failed(generation, model.GenerationError(model.ErrorPhase.HTTP, words, status, code))
    if generation.error is not None or end not in _ENDS:
        return generation
    phase, words = _ENDS[end]
    if status is None:  # no answer began, so nothing was truncated
        return _failed(
            structs.replace(generation, body=model.BodyState.COMPLETE), model.GenerationError(phase, message or words)
        )
    if generation.body is model.BodyState.COMPLETE and generation.finish is not None:
        return generation
    return _failed(
        structs.replace(generation, body=model.BodyState.TRUNCATED), model.GenerationError(phase, message or words)
    )


def _failed(generation: model.Generation, error: model.GenerationError) -> model.Generation:
    finish = generation.finish if error.phase is model.ErrorPhase.CLIENT_ABORT else model.FinishReason.ERROR
    return structs.replace(generation, error=error, finish=finish)


def request_of(head: RequestHead, json: model.Json) -> DecodedRequest | None:
    """The request of an exchange to a model; None if it is none, like most of a proxy's traffic. Never raises.

    Requests to count tokens, embed texts and the like have bodies like a generation's, but their answers are none.
    """
    path = head.target.partition("?")[0].partition("#")[0]
    words = _WORDS.findall(path.rsplit("/", 1)[-1] or path)
    return None if words and _OTHER_ENDPOINTS.fullmatch(words[-1]) else read_request(head.target, json)


class SkippedExchange(Struct, frozen=True):
    """An exchange that is part of no trace, and why; `record` is its position in its source.

    `is_irrelevant` is True for a request to something other than a model.
    """

    record: str
    reason: str
    is_irrelevant: bool = False


def traces_of(exchanges: Iterable[Exchange], *, max_sessions: int = 10_000) -> Iterator[model.Trace | SkippedExchange]:
    """The traces of these exchanges, in the order in which they began, each with all its turns.

    First come the exchanges that are no requests to a model, in the order given. The others wait until the end, beyond
    32 MiB in a temporary file; memory holds the contents of each trace once, and the exchanges that overlap.
    Requests are assigned in the order of their times, answers when they ended; without times, in the order given. Each
    trace has the id `first_request`, a digest of the request that began it and its time, so the same log, or a longer
    version of it, gives the same ids. Never raises.
    """
    with ExchangeSpool() as spool:
        waiting: list[_SpooledExchange] = []
        ends_s: dict[bytes, float | None] = {}
        for number, exchange in enumerate(exchanges, 1):
            record = exchange.record or f"exchange {number}"
            if isinstance(skipped := _read(exchange, record), SkippedExchange):
                yield skipped
                continue
            at_s, ended_s = exchange.head.at_s, exchange.ended_s
            if (same := _digest(exchange)) in ends_s:
                at_s, ended_s = ends_s[same], None  # in a log that was written twice, a copy begins after the original
            else:
                ends_s[same] = ended_s
            has_failed = exchange.status is None or exchange.status >= 400 or exchange.end is not ExchangeEnd.COMPLETE
            waiting.append(_SpooledExchange(spool.put(exchange), record, at_s, ended_s, has_failed))
        collector = _TraceCollector(max_sessions)
        open_requests: dict[int, _ReadExchange] = {}
        for index, has_ended in _in_order(waiting):
            if has_ended:
                collector.add_answer(open_requests.pop(index))
                continue
            pending = _read(spool.get(waiting[index].position), waiting[index].record)
            assert isinstance(pending, _ReadExchange), "it was one when it was put aside"
            open_requests[index] = pending
            collector.add_request(pending)
    yield from collector.traces()


class _SpooledExchange(NamedTuple):
    """An exchange in the spool: its position there, its record in its source, its two times, whether it failed."""

    position: tuple[int, int]
    record: str
    at_s: float | None
    ended_s: float | None
    has_failed: bool


class _ReadExchange(Struct, eq=False):
    """An exchange whose request was read; `assignment` and `turn` are set later."""

    exchange: Exchange
    record: str
    body: bytes
    json: model.Json
    request: DecodedRequest
    assignment: SessionAssignment | None = None
    turn: int = 0


class _GrowingTrace(Struct):
    """A trace while its turns come in; None is an answer that has not ended."""

    facts: model.Trace
    turns: list[model.Turn | None] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def trace(self) -> model.Trace:
        turns = tuple(turn for turn in self.turns if turn is not None)
        answered = (turn.generation.answered_model for turn in turns if turn.generation is not None)
        provenance = self.facts.provenance
        return structs.replace(
            self.facts,
            turns=turns,
            model=self.facts.model or next((model_name for model_name in answered if model_name), ""),
            provenance=structs.replace(provenance, warnings=(*provenance.warnings, *dict.fromkeys(self.warnings))),
        )


class _TraceCollector:
    """Places requests and collects the turns of each trace."""

    def __init__(self, max_sessions: int) -> None:
        self._resolver = SessionResolver(name_trace=self._name, max_sessions=max_sessions)
        self._growing: dict[str, _GrowingTrace] = {}
        self._open: dict[str, _ReadExchange] = {}
        self._named: dict[str, int] = {}
        self._first_request = ""

    def add_request(self, pending: _ReadExchange) -> None:
        head = pending.exchange.head
        moment = "" if head.at_s is None else f"{head.at_s!r}"
        self._first_request = "\0".join((moment, head.method, head.target, sha256(pending.body).hexdigest()))
        assignment = self._resolver.assign(head, pending.request, pending.body, pending.json, self._so_far)
        if assignment.begins is not None:
            provenance = structs.replace(assignment.begins.provenance, record=pending.record)
            self._growing[assignment.key] = _GrowingTrace(structs.replace(assignment.begins, provenance=provenance))
        growing = self._growing[assignment.key]
        growing.turns += (*assignment.turns, None)
        pending.assignment, pending.turn = assignment, len(growing.turns) - 1
        self._open[assignment.request_id] = pending

    def add_answer(self, pending: _ReadExchange) -> None:
        exchange, assignment = pending.exchange, pending.assignment
        assert assignment is not None, "requests come before their answers"
        del self._open[assignment.request_id]
        decoded, fault = decode_exchange(exchange, pending.json)
        turn = answer_turn(
            pending.request,
            decoded,
            exchange.end,
            assignment=assignment,
            started_s=exchange.head.at_s,
            ended_s=exchange.ended_s,
            status=exchange.status,
            message=exchange.message,
            is_stored=exchange.answer is not None,
            first_s=exchange.first_s,
        )
        self._resolver.answered(assignment, structs.replace(decoded, turn=turn))
        growing = self._growing[assignment.key]
        growing.turns[pending.turn] = turn
        growing.warnings += [f"{pending.record}: {fault}"] if fault else []

    def traces(self) -> Iterator[model.Trace]:
        return (growing.trace() for growing in self._growing.values())

    def _so_far(self, request_id: str) -> model.Turn:
        """The answer to an open request; a log contains it already."""
        pending = self._open[request_id]
        return decode_exchange(pending.exchange, pending.json)[0].turn

    def _name(self) -> model.ExternalId:
        digest = sha256(self._first_request.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self._named[digest] = count = self._named.get(digest, 0) + 1
        return model.ExternalId("first_request", digest if count == 1 else f"{digest}-{count}")


def decode_exchange(exchange: Exchange, json: model.Json) -> tuple[DecodedTurn, str]:
    """An exchange's answer, decoded as far as it came, and a sentence on a fault of its encoding, or `""`."""
    started_s = exchange.head.at_s
    decoder = decoder_for(
        exchange.head.target, json, header_of(exchange.headers, "content-type"), status=exchange.status
    )
    assembly = TurnAssembly(decoder.api, started_s=started_s or 0.0)
    if exchange.answer is None or exchange.status is None:
        return assembly.decoded(), ""
    unpacking = ContentDecoder(header_of(exchange.headers, "content-encoding"))
    wire_events = []
    arrived_s: float | None = None
    for at_s, raw in exchange.answer:
        arrived_s = at_s if started_s is not None else None
        wire_events += decoder.feed(unpacking.feed(raw), arrived_s)
    if rest := unpacking.close():
        wire_events += decoder.feed(rest, arrived_s)
    wire_events += decoder.close()
    assembly = TurnAssembly(decoder.api, started_s=started_s or 0.0, streamed=decoder.streamed)
    assembly.extend(wire_events)
    return assembly.decoded(), unpacking.fault


def decompressed(body: bytes, headers: Headers) -> bytes:
    """A body without its content encoding, as far as it can be unpacked."""
    unpacking = ContentDecoder(header_of(headers, "content-encoding"))
    return unpacking.feed(body) + unpacking.close()


def _read(exchange: Exchange, record: str) -> _ReadExchange | SkippedExchange:
    if exchange.body is None:
        return SkippedExchange(record, _NO_BODY)
    body = decompressed(exchange.body, exchange.head.headers)
    json = parse_request(body)
    request = request_of(exchange.head, json)
    if request is not None:
        return _ReadExchange(exchange, record, body, json, request)
    if exchange.head.method.upper() == "POST" and request_of(exchange.head, {}) is not None:
        return SkippedExchange(record, _NO_OBJECT)
    return SkippedExchange(record, _NO_MODEL, is_irrelevant=True)


def _digest(exchange: Exchange) -> bytes:
    """A digest that is the same for an exchange that is in a log twice."""
    facts = repr((exchange.head, exchange.status, exchange.ended_s))
    digest = sha256(facts.encode("utf-8", "surrogatepass"))
    digest.update(exchange.body or b"")
    for at_s, raw in exchange.answer or ():
        digest.update(b"%a" % at_s)
        digest.update(raw)
    return digest.digest()


def _in_order(waiting: Sequence[_SpooledExchange]) -> Iterator[tuple[int, bool]]:
    """Requests, by index, and the ends of their answers (True), in the order in which they happened.

    What has no time comes with what was before. An exchange that ends when another begins has ended before that, unless
    it began then too: of what a clock of whole milliseconds shows as one moment, only a failure is soon asked again.
    """
    moments: list[tuple[float, int, int, bool]] = []
    now_s = 0.0
    for index, exchange in enumerate(waiting):
        now_s = now_s if exchange.at_s is None else exchange.at_s
        end_s = now_s if exchange.ended_s is None else max(exchange.ended_s, now_s)
        is_instant = end_s == now_s
        is_lasting = is_instant and None not in (exchange.at_s, exchange.ended_s) and not exchange.has_failed
        moments.append((now_s, 1, index, False))
        moments.append((end_s, is_instant + is_lasting, index, True))
    moments.sort()
    return ((index, has_ended) for _, _, index, has_ended in moments)


class ExchangeSpool:
    """Stores exchanges, and returns each by its position. A context manager: at its end nothing is left.

    Memory holds a few bytes per exchange, and `spool_bytes` of their bodies.
    """

    def __init__(self, *, spool_bytes: int = SPOOL_BYTES) -> None:
        self._spool = RecordSpool(spool_bytes)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._spool.close()

    def put(self, exchange: Exchange) -> tuple[int, int]:
        """Store an exchange; returns its position."""
        return self._spool.put(pickle.dumps(exchange, pickle.HIGHEST_PROTOCOL))  # msgspec refuses a lone surrogate

    def get(self, position: tuple[int, int]) -> Exchange:
        """The exchange at a position."""
        exchange: Exchange = pickle.loads(self._spool.get(position))  # written by `put`; no one else has access
        return exchange
