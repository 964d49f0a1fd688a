"""A proxy's records as traces: requests to models are gathered, all other traffic is counted and reported once."""

from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import NamedTuple, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from inspector.apis.providers import find_api
from inspector.importers.identity import text_of
from inspector.importers.proxies.mcp import McpTraffic
from inspector.importers.source import Skipped
from inspector.json_members import window_of_tokens
from inspector.model import Generation, Provenance, Trace, Turn
from inspector.sessions.exchange import Exchange
from inspector.sessions.gathering import SkippedExchange, answer_turn, decode_exchange, decompressed, traces_of
from inspector.sessions.resolver import Placement
from inspector.text import decode
from inspector.wire.events import DecodedRequest
from inspector.wire.provider_json import parse_json

_NO_MODEL = "requests to no model"
_MCP_MESSAGES = "MCP messages that call no tool"
_MCP_RUNS = "calls of MCP tools that no recorded answer asked for"
_FEW = 5


class SeenExchange(Struct, frozen=True):
    """An HTTP exchange, and what the proxy did not keep of it beside its bodies, as sentences without their period."""

    exchange: Exchange
    warnings: tuple[str, ...] = ()


class OtherTraffic(Struct, frozen=True):
    """A record that is no HTTP exchange; `kind` says what in the plural (`TCP connections`)."""

    kind: str


ProxyRecord: TypeAlias = SeenExchange | OtherTraffic | Skipped


class _RequestNotes(NamedTuple):
    """What is remembered of a request to a model: what the proxy did not keep of it."""

    warnings: tuple[str, ...]
    is_unanswered: bool


class ProxyFile(Struct):
    """What there is to say of a proxy's file; all but the first three grows while its records are read.

    `units` is what the file calls its records (`flows`). `lost_requests` and `lost_answers` say why a body may be
    missing. `warnings` say what the file did not keep.
    """

    units: str
    lost_requests: str
    lost_answers: str
    source_version: str = ""
    warnings: list[str] = field(default_factory=list)
    _asking: dict[str, _RequestNotes] = field(default_factory=dict)
    _bodiless: list[SeenExchange] = field(default_factory=list)
    _other: Counter[str] = field(default_factory=Counter)
    _count: int = 0
    _mcp: McpTraffic = field(default_factory=McpTraffic)
    _windows: dict[str, int] = field(default_factory=dict)

    def traces(self, records: Iterable[ProxyRecord]) -> Iterator[Trace | Skipped]:
        """The traces, and what could not be read; then one record that counts all other traffic.

        Requests to models wait until the end, as sessions are recognised over the whole file; see `traces_of`.
        Each trace bears the file's warnings.
        """
        broken: deque[Skipped] = deque()
        warnings: tuple[str, ...] | None = None  # they and the runs of tools are complete when the first trace comes
        gathered: list[Trace] = []
        for made in traces_of(self._requests(records, broken)):
            while broken:
                yield broken.popleft()
            if isinstance(made, SkippedExchange):
                del self._asking[made.record]
                if made.is_irrelevant:
                    self._other[_NO_MODEL] += 1
                else:
                    yield Skipped(made.record, made.reason)
            else:
                warnings = self._warned() if warnings is None else warnings
                if self._mcp.has_runs:
                    gathered.append(self._placed(made, warnings))
                else:
                    yield self._placed(made, warnings)
        yield from self._mcp.with_runs(gathered)
        yield from broken
        for seen in self._bodiless:
            yield self._placed(_unasked(seen.exchange), (*self.warnings, *seen.warnings, self.lost_requests))
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
                self._asking[exchange.record] = _RequestNotes(record.warnings, exchange.answer is None)
                yield exchange
            elif exchange.head.method.upper() == "POST" and find_api(exchange.head.target):
                self._bodiless.append(record)
            else:
                self._other[_NO_MODEL] += 1

    def _placed(self, trace: Trace, warnings: tuple[str, ...]) -> Trace:
        known = trace.provenance
        said = (*warnings, *known.warnings)
        turns = trace.turns if not self._windows else tuple(map(self._with_window, trace.turns))
        provenance = replace(known, source_version=self.source_version, warnings=said)
        return replace(trace, turns=turns, provenance=provenance)

    def _with_window(self, turn: Turn) -> Turn:
        made = turn.generation
        window = None if made is None else self._windows.get(made.requested_model or made.answered_model)
        if made is None or window is None:
            return turn
        return replace(turn, generation=replace(made, context_window=window))

    def _warned(self) -> tuple[str, ...]:
        told = dict.fromkeys(warning for one in self._asking.values() for warning in one.warnings)
        lost = [place for place, one in self._asking.items() if one.is_unanswered]
        unanswered = (f"{self.lost_answers} ({_listed(lost)})",) if lost else ()
        return (*self.warnings, *told, *unanswered)

    def _rest(self) -> Iterator[Skipped]:
        self._other.update({_MCP_MESSAGES: self._mcp.messages, _MCP_RUNS: self._mcp.unplaced})
        self._other = +self._other
        if total := self._other.total():
            kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(self._other.items()))
            yield Skipped(
                f"{total} of {self._count} {self.units}", f"part of no trace, as they are {kinds}", is_irrelevant=True
            )


def listed_windows(exchange: Exchange) -> dict[str, int]:
    """How many tokens the windows of models hold by their names, from an answer of `/models`; never raises.

    vLLM and SGLang write `max_model_len`, OpenRouter `context_length`.
    """
    if not exchange.head.target.partition("?")[0].endswith("/models") or exchange.status != 200:
        return {}
    body = decompressed(b"".join(raw for _, raw in exchange.answer or ()), exchange.headers)
    try:
        value = parse_json(decode(body))
    except ValueError:
        return {}
    listed = value.get("data") if isinstance(value, dict) else None
    models = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    sizes = ((text_of(one, "id"), one.get("max_model_len", one.get("context_length"))) for one in models)
    return {name: tokens for name, size in sizes if name and (tokens := window_of_tokens(size)) is not None}


def _unasked(exchange: Exchange) -> Trace:
    """A request to a model whose body was not kept: a trace of the answer alone, as far as that was kept."""
    decoded, fault = decode_exchange(exchange, None)
    turn = answer_turn(
        DecodedRequest(find_api(exchange.head.target), "", ()),
        decoded,
        exchange.end,
        placement=Placement("", None, ()),
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
    """The first places, and how many more there are."""
    more = f" and {len(records) - _FEW} more" if len(records) > _FEW else ""
    return ", ".join(islice(records, _FEW)) + more
