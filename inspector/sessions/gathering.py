"""Gathers the exchanges of a log into traces: what a recorder does live, done afterwards.

Exchanges wait for their turn in a spool, in memory up to a bound and beyond it in a temporary file.
"""

import pickle
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from types import TracebackType
from typing import NamedTuple, Self

from msgspec import Struct, field
from msgspec.structs import replace

from inspector.apis.providers import decoder_for, parse_request
from inspector.model import ExternalId, Json, Trace, Turn
from inspector.sealed_spool import SealedSpool
from inspector.sessions.exchange import Exchange, Headers, header_of
from inspector.sessions.resolver import Placement, SessionResolver
from inspector.sessions.turns import answer_turn, request_of
from inspector.wire.content_encoding import ContentDecoder
from inspector.wire.events import DecodedTurn, TurnAssembly
from inspector.wire.request import DecodedRequest

_NO_BODY = "the request's body was not kept, so nobody knows what it asked"
_NO_OBJECT = "the request's path is a model's, but its body is not a JSON object"
_NO_MODEL = "this is no request to a model"
SPOOL_BYTES = 32 << 20
"""How much is kept in memory."""


class SkippedExchange(Struct, frozen=True):
    """An exchange that is part of no trace, and why; `record` is its place in its source.

    `is_irrelevant` is True for a request to something other than a model.
    """

    record: str
    reason: str
    is_irrelevant: bool = False


def traces_of(exchanges: Iterable[Exchange], *, max_sessions: int = 10_000) -> Iterator[Trace | SkippedExchange]:
    """The traces that exchanges make up, in the order in which they began, each with all its turns.

    First come the exchanges that are no requests to a model, in the order given. The others wait until the end, beyond
    32 MiB in a temporary file; in memory are what each trace says, once, and the exchanges that overlap.
    Requests are placed in the order of their times, answers where they ended; without times, in the order given. Each
    trace has the id `first_request`, a digest of the request that began it and its time, so that the same log, or a
    longer version of it, gives the same ids. Never raises.
    """
    with ExchangeSpool() as shelf:
        waiting: list[_SpooledExchange] = []
        ends_s: dict[bytes, float | None] = {}
        for number, exchange in enumerate(exchanges, 1):
            record = exchange.record or f"exchange {number}"
            if isinstance(one := _read(exchange, record), SkippedExchange):
                yield one
                continue
            at_s, ended_s = exchange.head.at_s, exchange.ended_s
            if (same := _digest(exchange)) in ends_s:
                at_s = ended_s = ends_s[same]  # a log that was written twice has no exchange at the same time as itself
            ends_s[same] = ended_s
            waiting.append(_SpooledExchange(shelf.put(exchange), record, at_s, ended_s))
        gathering = _TraceCollector(max_sessions)
        answering: dict[int, _PlacedRequest] = {}
        for at, has_ended in _in_order(waiting):
            if has_ended:
                gathering.answer(answering.pop(at))
                continue
            asked = _read(shelf.take(waiting[at].place), waiting[at].record)
            assert isinstance(asked, _PlacedRequest), "it was one when it was put aside"
            answering[at] = asked
            gathering.ask(asked)
    yield from gathering.traces()


class _SpooledExchange(NamedTuple):
    """An exchange on the shelf: its place there, where it stands in its source, and its two times."""

    place: tuple[int, int]
    record: str
    at_s: float | None
    ended_s: float | None


class _PlacedRequest(Struct, eq=False):
    """An exchange whose request was understood; `placement` and `turn` come later."""

    exchange: Exchange
    record: str
    body: bytes
    json: Json
    request: DecodedRequest
    placement: Placement | None = None
    turn: int = 0


class _GrowingTrace(Struct):
    """A trace whose turns come in; None stands for an answer on its way."""

    facts: Trace
    turns: list[Turn | None] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def trace(self) -> Trace:
        turns = tuple(turn for turn in self.turns if turn is not None)
        answered = (turn.generation.answered_model for turn in turns if turn.generation is not None)
        provenance = self.facts.provenance
        return replace(
            self.facts,
            turns=turns,
            model=self.facts.model or next((model for model in answered if model), ""),
            provenance=replace(provenance, warnings=(*provenance.warnings, *dict.fromkeys(self.warnings))),
        )


class _TraceCollector:
    """Places requests and collects the turns of each trace."""

    def __init__(self, max_sessions: int) -> None:
        self._book = SessionResolver(name_trace=self._name, max_sessions=max_sessions)
        self._growing: dict[str, _GrowingTrace] = {}
        self._asked: dict[str, _PlacedRequest] = {}
        self._named: dict[str, int] = {}
        self._beginning = ""

    def ask(self, asked: _PlacedRequest) -> None:
        head = asked.exchange.head
        moment = "" if head.at_s is None else f"{head.at_s!r}"
        self._beginning = "\0".join((moment, head.method, head.target, sha256(asked.body).hexdigest()))
        placement = self._book.place(head, asked.request, asked.body, asked.json, self._so_far)
        if placement.begins is not None:
            provenance = replace(placement.begins.provenance, record=asked.record)
            self._growing[placement.key] = _GrowingTrace(replace(placement.begins, provenance=provenance))
        growing = self._growing[placement.key]
        growing.turns += (*placement.turns, None)
        asked.placement, asked.turn = placement, len(growing.turns) - 1
        self._asked[placement.request_id] = asked

    def answer(self, asked: _PlacedRequest) -> None:
        exchange, placement = asked.exchange, asked.placement
        assert placement is not None, "requests come before their answers"
        del self._asked[placement.request_id]
        decoded, fault = decode_exchange(exchange, asked.json)
        turn = answer_turn(
            asked.request,
            decoded,
            exchange.end,
            placement=placement,
            started_s=exchange.head.at_s,
            ended_s=exchange.ended_s,
            status=exchange.status,
            message=exchange.message,
            is_stored=exchange.answer is not None,
            first_s=exchange.first_s,
        )
        self._book.answered(placement, replace(decoded, turn=turn))
        growing = self._growing[placement.key]
        growing.turns[asked.turn] = turn
        growing.warnings += [f"{asked.record}: {fault}"] if fault else []

    def traces(self) -> Iterator[Trace]:
        return (growing.trace() for growing in self._growing.values())

    def _so_far(self, request_id: str) -> Turn:
        """The answer to an open request: a log has it already."""
        asked = self._asked[request_id]
        return decode_exchange(asked.exchange, asked.json)[0].turn

    def _name(self) -> ExternalId:
        digest = sha256(self._beginning.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self._named[digest] = count = self._named.get(digest, 0) + 1
        return ExternalId("first_request", digest if count == 1 else f"{digest}-{count}")


def decode_exchange(exchange: Exchange, json: Json) -> tuple[DecodedTurn, str]:
    """An exchange's answer, decoded as far as it came, and a sentence on what is wrong with its encoding, or `""`."""
    started_s = exchange.head.at_s
    decoder = decoder_for(
        exchange.head.target, json, header_of(exchange.headers, "content-type"), status=exchange.status
    )
    assembly = TurnAssembly(decoder.api, started_s=started_s or 0.0)
    if exchange.answer is None or exchange.status is None:
        return assembly.decoded(), ""
    unpacking = ContentDecoder(header_of(exchange.headers, "content-encoding"))
    found = []
    arrived_s: float | None = None
    for at_s, raw in exchange.answer:
        arrived_s = at_s if started_s is not None else None
        found += decoder.feed(unpacking.feed(raw), arrived_s)
    if rest := unpacking.close():
        found += decoder.feed(rest, arrived_s)
    found += decoder.close()
    assembly = TurnAssembly(decoder.api, started_s=started_s or 0.0, streamed=decoder.streamed)
    assembly.extend(found)
    return assembly.decoded(), unpacking.fault


def decompressed(body: bytes, headers: Headers) -> bytes:
    """A body without its content encoding, as far as it can be unpacked."""
    unpacking = ContentDecoder(header_of(headers, "content-encoding"))
    return unpacking.feed(body) + unpacking.close()


def _read(exchange: Exchange, record: str) -> _PlacedRequest | SkippedExchange:
    if exchange.body is None:
        return SkippedExchange(record, _NO_BODY)
    body = decompressed(exchange.body, exchange.head.headers)
    json = parse_request(body)
    request = request_of(exchange.head, json)
    if request is not None:
        return _PlacedRequest(exchange, record, body, json, request)
    if exchange.head.method.upper() == "POST" and request_of(exchange.head, {}) is not None:
        return SkippedExchange(record, _NO_OBJECT)
    return SkippedExchange(record, _NO_MODEL, is_irrelevant=True)


def _digest(exchange: Exchange) -> bytes:
    """What is the same for an exchange that stands in a log twice."""
    facts = repr((exchange.head, exchange.status, exchange.ended_s))
    digest = sha256(facts.encode("utf-8", "surrogatepass"))
    digest.update(exchange.body or b"")
    for at_s, raw in exchange.answer or ():
        digest.update(b"%a" % at_s)
        digest.update(raw)
    return digest.digest()


def _in_order(waiting: Sequence[_SpooledExchange]) -> Iterator[tuple[int, bool]]:
    """Requests, by number, and the ends of their answers (True) as they happened.

    What has no time comes with what was before. What ends at the moment in which another begins has ended by then.
    """
    moments: list[tuple[float, bool, int, bool]] = []
    now_s = 0.0
    for at, one in enumerate(waiting):
        now_s = now_s if one.at_s is None else one.at_s
        end_s = now_s if one.ended_s is None else max(one.ended_s, now_s)
        moments.append((now_s, True, at, False))
        moments.append((end_s, end_s == now_s, at, True))
    moments.sort()
    return ((at, has_ended) for _, _, at, has_ended in moments)


class ExchangeSpool:
    """Takes exchanges, and gives each back by its place. A context: behind it nothing is left.

    In memory are some bytes an exchange, and `spool_bytes` of their bodies.
    """

    def __init__(self, *, spool_bytes: int = SPOOL_BYTES) -> None:
        self._spool = SealedSpool(spool_bytes)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._spool.close()

    def put(self, exchange: Exchange) -> tuple[int, int]:
        """Put one aside; its place comes back."""
        return self._spool.put(pickle.dumps(exchange, pickle.HIGHEST_PROTOCOL))  # msgspec refuses half a surrogate pair

    def take(self, place: tuple[int, int]) -> Exchange:
        """The exchange at a place."""
        exchange: Exchange = pickle.loads(self._spool.take(place))  # what `put` has written, and nobody else can reach
        return exchange
