"""Converts a proxy's records to traces.

MCP traffic in a proxy's file: tool runs, attached to the results of the calls that they belong to.

A run is the JSON-RPC request `tools/call` and its answer, which is the body of the same exchange, an event of its
stream, or on another stream of the same session. Sources: modelcontextprotocol.io/specification/2025-06-18,
"Transports" and "Tools", and for the older transport with two endpoints 2024-11-05, "HTTP with SSE".

Runs are matched with calls first by name and arguments, over all traces of the file, then by name alone in their order.
A run is never matched with a call whose answer began after the run.

Requests to models become traces; all other traffic is counted and reported once.
"""

from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TypeAlias
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct, field, structs

from weaklink.inspector.apis.providers import find_api
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.source import JsonObject, Skipped
from weaklink.inspector.json_text import object_of, window_of_tokens
from weaklink.inspector.model import Generation, Instant, Json, Provenance, RecordedRun, Role, Trace, Turn
from weaklink.inspector.sessions.exchange import Exchange, RequestHead, header_of
from weaklink.inspector.sessions.fingerprints import arguments_by_value
from weaklink.inspector.sessions.gathering import SkippedExchange, answer_turn, decode_exchange, decompressed, traces_of
from weaklink.inspector.sessions.resolver import Placement
from weaklink.inspector.text import decode
from weaklink.inspector.wire.events import DecodedRequest
from weaklink.inspector.wire.framing import SseDecoder
from weaklink.inspector.wire.provider_json import compact_json, parse_json

SOURCE = "mcp"
"""The name of this source in the runs of tools that it recorded."""
_MARKER = b'"jsonrpc"'
_SESSION = "mcp-session-id"
_SESSION_KEYS = ("session_id", "sessionId")
_SEPARATORS = "_.:/-"
_Key = tuple[str, str, str]
"""An upstream, one of its sessions, and the id of a request in the session, as JSON."""
_NO_MODEL = "requests to other services"
_MCP_MESSAGES = "MCP messages that call no tool"
_MCP_RUNS = "calls of MCP tools without a matching call in a recorded answer"
_FEW = 5


class _McpRun(Struct):
    """A call of a server's tool, with the answer if it was recorded."""

    key: _Key
    name: str
    arguments: str
    started_s: float | None
    answer: JsonObject | None = None
    ended_s: float | None = None

    def recorded(self) -> RecordedRun:
        """The run. The result is the text if it has a single one, else JSON."""
        answer = self.answer or {}
        result = answer.get("result")
        text: str | None = None
        failed: bool | None = None
        is_comparable = False
        if isinstance(result, dict):
            text, is_comparable = _result_text(result)
            failed = result.get("isError") is True
        elif "error" in answer:
            text = compact_json(answer["error"])
            failed = True
        return RecordedRun(
            SOURCE,
            self.name,
            arguments=self.arguments,
            result=text,
            failed=failed,
            started=None if self.started_s is None else Instant(self.started_s),
            ended=None if self.ended_s is None else Instant(self.ended_s),
            own_form=() if is_comparable or text is None else ("result",),
        )


def _result_text(result: JsonObject) -> tuple[str, bool]:
    """What a tool returned, and whether an agent passes it to the model unchanged, which is not so for a picture."""
    blocks = result.get("content")
    listed = blocks if isinstance(blocks, list) else []
    texts = [block["text"] for block in listed if isinstance(block, dict) and isinstance(block.get("text"), str)]
    if len(texts) == len(listed) == 1 and "structuredContent" not in result:
        return str(texts[0]), True
    return compact_json(result), len(texts) == len(listed)


class _OpenCall(Struct, frozen=True):
    """A call with a result in its trace: `turn` is the index of the result's turn."""

    trace: int
    turn: int
    name: str
    arguments: str
    began_s: float | None

    def is_before(self, run: _McpRun) -> bool:
        """Whether the answer with this call began before a run, as far as both times are known."""
        return self.began_s is None or run.started_s is None or self.began_s <= run.started_s


class _OpenCalls:
    """The calls without a run, by name, and by name and arguments."""

    def __init__(self, calls: Iterable[_OpenCall]) -> None:
        self._by_name: dict[str, list[_OpenCall]] = {}
        self._by_arguments: dict[tuple[str, str], list[_OpenCall]] = {}
        for call in calls:
            self._by_name.setdefault(call.name, []).append(call)
            self._by_arguments.setdefault((call.name, call.arguments), []).append(call)

    def take(self, run: _McpRun, *, is_exact: bool) -> _OpenCall | None:
        """Remove and return the first call that a run may belong to; None if there is none."""
        arguments = arguments_by_value(run.arguments) if is_exact else ""
        for name in self._by_name:
            if not _is_named(name, run.name):
                continue
            candidates = self._by_arguments.get((name, arguments), []) if is_exact else self._by_name[name]
            found = next((one for one in candidates if one.is_before(run)), None)
            if found is not None:
                self._by_name[name].remove(found)
                self._by_arguments[name, found.arguments].remove(found)
                return found
        return None


def _is_named(name: str, tool: str) -> bool:
    """Whether a call's name is that of a server's tool; agents put the server's name before it."""
    return bool(tool) and (name == tool or (name.endswith(tool) and name[-len(tool) - 1] in _SEPARATORS))


class McpTraffic:
    """The MCP messages of one file: `messages` counts exchanges without a run, `unplaced` runs without a call."""

    def __init__(self) -> None:
        self.messages = 0
        self.unplaced = 0
        self._runs: dict[_Key, _McpRun] = {}
        self._answers: dict[_Key, tuple[JsonObject, float | None]] = {}

    @property
    def has_runs(self) -> bool:
        """Whether tools were called."""
        return bool(self._runs)

    def take(self, exchange: Exchange) -> bool:
        """Record an exchange if it is an MCP one, and return whether it is. Never raises."""
        requests = _messages(decompressed(exchange.body or b"", exchange.head.headers))
        is_stream = exchange.head.method.upper() == "GET"
        answers = list(_answer_messages(exchange)) if requests or is_stream else []
        if not requests and not answers:
            return False
        server, session = exchange.head.upstream, _session_of(exchange)
        runs = [run for one in requests if (run := _run_of(one, (server, session), exchange.head)) is not None]
        self._runs.update((run.key, run) for run in runs if run.key not in self._runs)
        for one in answers:
            if "id" in one and ("content" in object_of(one.get("result")) or "error" in one):
                key = (server, session, compact_json(one["id"]))
                self._answers.setdefault(key, (one, exchange.ended_s))
        self.messages += not runs
        return True

    def with_runs(self, traces: Sequence[Trace]) -> list[Trace]:
        """The traces, with each run attached to the result of the call that it belongs to."""
        calls = _OpenCalls(call for number, trace in enumerate(traces) for call in _open_calls(number, trace.turns))
        left = sorted(self._runs.values(), key=lambda run: run.started_s or 0.0)
        placed: dict[tuple[int, int], RecordedRun] = {}
        for is_exact in (True, False):
            rest: list[_McpRun] = []
            for run in left:
                found = calls.take(run, is_exact=is_exact)
                if found is None:
                    rest.append(run)
                    continue
                run.answer, run.ended_s = self._answers.get(run.key, (None, None))
                placed[found.trace, found.turn] = run.recorded()
            left = rest
        self.unplaced = len(left)
        return [_with_runs(number, trace, placed) for number, trace in enumerate(traces)]


def _with_runs(number: int, trace: Trace, placed: dict[tuple[int, int], RecordedRun]) -> Trace:
    if not any(at == number for at, _ in placed):
        return trace
    turns = (structs.replace(turn, run=placed.get((number, at), turn.run)) for at, turn in enumerate(trace.turns))
    return structs.replace(trace, turns=tuple(turns))


def _open_calls(number: int, turns: Sequence[Turn]) -> Iterator[_OpenCall]:
    """The calls of a trace with their results, in order; a result without an id belongs to the first open call."""
    open_: list[tuple[str | None, str, str, float | None]] = []
    for index, turn in enumerate(turns):
        if turn.role is Role.ASSISTANT:
            texts = {part.name: part.text for part in turn.parts}
            began = turn.generation.started if turn.generation is not None else None
            open_ += [
                (call.id, call.name or "", arguments_by_value(texts.get(call.part, "")), began.at_s if began else None)
                for call in turn.calls
            ]
        elif turn.role is Role.TOOL and open_:
            id_ = turn.result.call_id if turn.result is not None else None
            at = next((at for at, call in enumerate(open_) if id_ is None or call[0] == id_), None)
            if at is not None:
                _, name, arguments, began_s = open_.pop(at)
                yield _OpenCall(number, index, name, arguments, began_s)


def _run_of(message: JsonObject, session_key: tuple[str, str], head: RequestHead) -> _McpRun | None:
    params = object_of(message.get("params"))
    name = params.get("name")
    if message.get("method") != "tools/call" or not isinstance(name, str) or "id" not in message:
        return None
    arguments = compact_json(params.get("arguments") or {})
    return _McpRun((*session_key, compact_json(message["id"])), name, arguments, head.at_s)


def _messages(body: bytes) -> list[JsonObject]:
    """The JSON-RPC messages of a body, which may be a list of them."""
    if _MARKER not in body:
        return []
    try:
        value: Json = parse_json(body.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return []
    listed = value if isinstance(value, list) else [value]
    return [one for one in listed if isinstance(one, dict) and one.get("jsonrpc") == "2.0"]


def _answer_messages(exchange: Exchange) -> Iterator[JsonObject]:
    """The messages of an answer: its body, or the events of its stream."""
    body = decompressed(b"".join(raw for _, raw in exchange.answer or ()), exchange.headers)
    if _MARKER not in body:
        return
    if not header_of(exchange.headers, "content-type").startswith("text/event-stream"):
        yield from _messages(body)
        return
    decoder = SseDecoder()
    for event in (*decoder.feed(body), *decoder.close()):
        yield from _messages((event.data or "").encode("utf-8", "surrogateescape"))


def _session_of(exchange: Exchange) -> str:
    """The session that an exchange belongs to, `""` if it names none."""
    for headers in (exchange.head.headers, exchange.headers):
        if session := header_of(headers, _SESSION):
            return session
    return _named_in(exchange.head.target) or _endpoint_session(exchange)


def _endpoint_session(exchange: Exchange) -> str:
    """The session of the older transport's stream: its first event is the address for the client's messages."""
    if exchange.head.method.upper() != "GET":
        return ""
    decoder = SseDecoder()
    body = decompressed(b"".join(raw for _, raw in exchange.answer or ()), exchange.headers)
    first = next(iter(decoder.feed(body)), None)
    return _named_in(first.data or "") if first is not None and first.event == "endpoint" else ""


def _named_in(target: str) -> str:
    try:
        query = parse_qs(urlsplit(target).query)
    except ValueError:
        return ""
    return next((query[key][0] for key in _SESSION_KEYS if key in query), "")


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
    body = decompressed(b"".join(raw for _, raw in exchange.answer or ()), exchange.headers)
    try:
        value = parse_json(decode(body))
    except ValueError:
        return {}
    listed = value.get("data") if isinstance(value, dict) else None
    models = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    sizes = ((text_of(one, "id"), one.get("max_model_len", one.get("context_length"))) for one in models)
    return {name: tokens for name, size in sizes if name and (tokens := window_of_tokens(size)) is not None}


def _answer_only(exchange: Exchange) -> Trace:
    """A request to a model whose body was not kept, as a trace of the answer alone."""
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
    """The first records, and how many more there are."""
    more = f" and {len(records) - _FEW} more" if len(records) > _FEW else ""
    return ", ".join(islice(records, _FEW)) + more
