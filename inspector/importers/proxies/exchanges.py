"""Converts a proxy's records to traces.

Requests to models become traces, runs of MCP tools belong to the results of their calls (`mcp_traffic`); all other
traffic is counted and reported once.
"""

from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import NamedTuple, TypeAlias

from msgspec import Struct, field, structs

from weaklink.inspector.apis.providers import find_api
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.proxies.mcp_traffic import McpTraffic, answer_body
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.json_text import object_of, objects_of, window_of_tokens
from weaklink.inspector.model import Generation, Provenance, Trace, Turn
from weaklink.inspector.sessions.exchange import Exchange
from weaklink.inspector.sessions.gathering import SkippedExchange, answer_turn, decode_exchange, traces_of
from weaklink.inspector.sessions.resolver import SessionAssignment
from weaklink.inspector.text import decode
from weaklink.inspector.wire.events import DecodedRequest
from weaklink.inspector.wire.provider_json import parse_json

_NO_MODEL = "requests to other services"
_MCP_MESSAGES = "MCP messages that call no tool"
_MCP_RUNS = "calls of MCP tools without a matching call in a recorded answer"
_FEW = 5


class SeenExchange(Struct, frozen=True):
    """An HTTP exchange, and warnings about data other than bodies that the proxy did not keep.

    The warnings are sentences without a period.
    """

    exchange: Exchange
    warnings: tuple[str, ...] = ()


class OtherTraffic(Struct, frozen=True):
    """A record that is not an HTTP exchange; `kind` names it in the plural (`TCP connections`)."""

    kind: str


ProxyRecord: TypeAlias = SeenExchange | OtherTraffic | Skipped


class _RequestNotes(NamedTuple):
    """The facts that are kept about a request to a model: its warnings, and whether its answer is missing."""

    warnings: tuple[str, ...]
    is_unanswered: bool


class ProxyFile(Struct):
    """A proxy's file; all members but the first three change while its records are read.

    `units` is what the file calls its records (`flows`). `lost_requests` and `lost_answers` are the reasons why a body
    may be missing. `warnings` list what the file did not keep.
    """

    units: str
    lost_requests: str
    lost_answers: str
    source_version: str = ""
    warnings: list[str] = field(default_factory=list)
    _requests_seen: dict[str, _RequestNotes] = field(default_factory=dict)
    _without_body: list[SeenExchange] = field(default_factory=list)
    _other: Counter[str] = field(default_factory=Counter)
    _count: int = 0
    _mcp: McpTraffic = field(default_factory=McpTraffic)
    _windows: dict[str, int] = field(default_factory=dict)

    def traces(self, records: Iterable[ProxyRecord]) -> Iterator[Trace | Skipped]:
        """The traces, and the records that could not be read; then one record that counts all other traffic.

        Requests to models are kept until the end, as sessions are recognised over the whole file; see `traces_of`. Each
        trace has the file's warnings.
        """
        broken: deque[Skipped] = deque()
        warnings: tuple[str, ...] | None = None  # complete, like the tool runs, at the first trace
        complete: list[Trace] = []
        for result in traces_of(self._requests(records, broken)):
            while broken:
                yield broken.popleft()
            if isinstance(result, SkippedExchange):
                del self._requests_seen[result.record]
                if result.is_irrelevant:
                    self._other[_NO_MODEL] += 1
                else:
                    yield Skipped(result.record, result.reason)
            else:
                warnings = self._warned() if warnings is None else warnings
                if self._mcp.has_runs:
                    complete.append(self._placed(result, warnings))
                else:
                    yield self._placed(result, warnings)
        yield from self._mcp.with_runs(complete)
        yield from broken
        for seen in self._without_body:
            yield self._placed(_answer_only(seen.exchange), (*self.warnings, *seen.warnings, self.lost_requests))
        yield from self._rest()

    def _requests(self, records: Iterable[ProxyRecord], broken: deque[Skipped]) -> Iterator[Exchange]:
        for record in records:
            if isinstance(record, Skipped):
                broken.append(record)
                continue
            self._count += 1
            if isinstance(record, OtherTraffic):
                self._other[record.kind] += 1
                continue
            exchange = record.exchange
            self._windows |= listed_windows(exchange)
            if self._mcp.take(exchange):
                continue
            if exchange.body is not None:
                self._requests_seen[exchange.record] = _RequestNotes(record.warnings, exchange.answer is None)
                yield exchange
            elif exchange.head.method.upper() == "POST" and find_api(exchange.head.target):
                self._without_body.append(record)
            else:
                self._other[_NO_MODEL] += 1

    def _placed(self, trace: Trace, warnings: tuple[str, ...]) -> Trace:
        original = trace.provenance
        all_warnings = (*warnings, *original.warnings)
        turns = trace.turns if not self._windows else tuple(map(self._with_window, trace.turns))
        provenance = structs.replace(original, source_version=self.source_version, warnings=all_warnings)
        return structs.replace(trace, turns=turns, provenance=provenance)

    def _with_window(self, turn: Turn) -> Turn:
        generation = turn.generation
        window = (
            None if generation is None else self._windows.get(generation.requested_model or generation.answered_model)
        )
        if generation is None or window is None:
            return turn
        return structs.replace(turn, generation=structs.replace(generation, context_window=window))

    def _warned(self) -> tuple[str, ...]:
        all_warnings = dict.fromkeys(warning for notes in self._requests_seen.values() for warning in notes.warnings)
        lost = [record for record, notes in self._requests_seen.items() if notes.is_unanswered]
        unanswered = (f"{self.lost_answers} ({_listed(lost)})",) if lost else ()
        return (*self.warnings, *all_warnings, *unanswered)

    def _rest(self) -> Iterator[Skipped]:
        self._other.update({_MCP_MESSAGES: self._mcp.messages, _MCP_RUNS: self._mcp.unplaced})
        self._other = +self._other
        if total := self._other.total():
            kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(self._other.items()))
            yield Skipped(f"{total} of {self._count} {self.units}", f"not part of a trace: {kinds}", is_irrelevant=True)


def listed_windows(exchange: Exchange) -> dict[str, int]:
    """The context windows of models in tokens by their names, from an answer of `/models`; never raises.

    vLLM and SGLang write `max_model_len`, OpenRouter `context_length`.
    """
    if not exchange.head.target.partition("?")[0].endswith("/models") or exchange.status != 200:
        return {}
    try:
        value = parse_json(decode(answer_body(exchange)))
    except ValueError:
        return {}
    models = objects_of(object_of(value).get("data"))
    sizes = ((text_of(model, "id"), model.get("max_model_len", model.get("context_length"))) for model in models)
    return {name: tokens for name, size in sizes if name and (tokens := window_of_tokens(size)) is not None}


def _answer_only(exchange: Exchange) -> Trace:
    """A request to a model whose body was not kept, as a trace of the answer alone."""
    decoded, fault = decode_exchange(exchange, None)
    turn = answer_turn(
        DecodedRequest(find_api(exchange.head.target), "", ()),
        decoded,
        exchange.end,
        assignment=SessionAssignment("", None, ()),
        started_s=exchange.head.at_s,
        ended_s=exchange.ended_s,
        status=exchange.status,
        message=exchange.message,
        is_stored=any(piece for _, piece in exchange.answer or ()),
        first_s=exchange.first_s,
    )
    generation = turn.generation or Generation()
    return Trace(
        (turn,),
        model=generation.answered_model,
        started=generation.started,
        provenance=Provenance(record=exchange.record, warnings=(fault,) if fault else ()),
    )


def _listed(records: Collection[str]) -> str:
    """The first records, and how many more there are."""
    more = f" and {len(records) - _FEW} more" if len(records) > _FEW else ""
    return ", ".join(islice(records, _FEW)) + more
