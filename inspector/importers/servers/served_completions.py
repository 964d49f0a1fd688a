"""Logs of inference servers: each request as an exchange of a raw completion, and the traces of all requests.

Servers log the prompt as the model received it, in its chat template, and the generated text. `/v1/completions` has the
same input and output, so the log is read as such: sessions are recognised from the prompts.

SGLang: requests as JSON lines, from `--log-requests --log-requests-format json`.

A row is `{"timestamp", "event": "request.received" | "request.finished", "rid", "obj": {...}, "out": {...}}` (SGLang,
`python/sglang/srt/utils/request_logger.py`); other lines of the server may be between. Levels 0 and 1 have no texts.
Level 2 shortens a text of more than 2,048 characters to the first and the last 1,024, with `...` between: its length
shows that it was shortened. The server's logs in text form instead of JSON are another format, which is not read.

vLLM: its log with `--enable-log-requests`, and `--enable-log-outputs` to include the answers.

A request is a line `Received request ID: prompt: 'REPR', params: SamplingParams(...), ...`; newer versions log the
prompt in a line `Request ID details: prompt: ...` at level DEBUG, or not at all. An answer is `Generated response ID:
output: 'REPR', output_token_ids: [...], finish_reason: stop`, with `(streaming delta)` after the id for each chunk of a
stream and `(streaming complete)` at its end (vLLM, `vllm/entrypoints/logger.py`). All texts may be truncated at
`--max-log-len`. Calls of an answer that was not streamed read `[tool_calls: name({...}), ...]`.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct, field, structs

from weaklink.inspector.importers.gateways.logged_requests import body_of
from weaklink.inspector.importers.identity import instant, text_of, with_warnings
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import lines_of, parse_json_bytes
from weaklink.inspector.importers.source import FileSample, JsonObject, Skipped, SourceFile, until_damage
from weaklink.inspector.json_text import object_of
from weaklink.inspector.memory import RECORD_BYTES
from weaklink.inspector.model import (
    BodyState,
    CallHeader,
    ExternalId,
    Instant,
    Json,
    Part,
    Provenance,
    RecognisedBy,
    Role,
    Trace,
    Turn,
)
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.sessions.exchange import Exchange, ExchangeEnd, RequestHead
from weaklink.inspector.sessions.gathering import SkippedExchange, decode_exchange, traces_of
from weaklink.inspector.text import decode

_TARGET = "/v1/completions"
_NO_PROMPT = "the log has no prompt for this answer: the request is unknown"
_CUT_PROMPT = "the log shortened the prompt in the middle: its turns are incomplete, and it identifies no session"
_PIECE_BYTES = 200  # the memory of a piece without its text
HELD_BYTES = RECORD_BYTES
"""The most bytes of a log that are held at once; a session that continues beyond becomes two."""
_ROW = re.compile(rb'\{"timestamp": ?"[^"]{1,40}", ?"event": ?"request\.(?:received|finished)"')
_EVENTS = frozenset({"request.received", "request.finished"})
_GAP = "..."
_SETTINGS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "min_p": "min_p",
    "max_new_tokens": "max_tokens",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "repetition_penalty": "repetition_penalty",
    "n": "n",
    "stop": "stop",
}
_NOT_STORED = "the source does not store chunks, the model, or tools other than those in the prompt"
_ZONE = "times have no time zone and are read as UTC"
_CUT_ANSWER = "the log shortened an answer in the middle"
_NO_TEXTS = "the row has no texts: SGLang logs them with `--log-requests-level 2` or higher"
_CUTS = frozenset(1 << power for power in range(6, 24))
# At most a million escapes: a greedy repeat needs about 60 bytes for each while it matches.
_REPR = r"""(?:'[^'\\]*+(?:\\.[^'\\]*+){0,1000000}'|"[^"\\]*+(?:\\.[^"\\]*+){0,1000000}"|None)"""
_RECEIVED = lazy_pattern(
    r"(?:Received request|(?P<details>Request)) (?P<id>[^\s:]+)(?(details) details): "
    rf"(?:prompt: (?P<prompt>{_REPR})|params: )"
)
_GENERATED = lazy_pattern(
    rf"Generated response (?P<id>[^\s:]+)(?: \(streaming (?P<kind>delta|complete)\))?: output: (?P<output>{_REPR})"
    r"(?:, output_token_ids: (?P<ids>None|[\[(][\d, ]*[\])]))?(?:, finish_reason: (?P<finish>\w+))?"
)
"""vLLM's line of an answer: `Generated response ID (streaming delta): output: 'TEXT', output_token_ids: [...], ...`."""
_BEGUN = lazy_pattern(
    r"(?:Received request|Generated response|Request) [^\s:]+(?: \(streaming \w+\)| details)?: (?:prompt|output): ['\"]"
)
"""The beginning of a line of vLLM up to its text, which may be truncated."""
_SETTING = lazy_pattern(
    r"\b(?P<name>n|temperature|top_p|top_k|min_p|seed|max_tokens|presence_penalty|frequency_penalty|repetition_penalty)"
    r"=(?P<value>-?\d{1,15}(?P<fraction>\.\d{1,20}(?:e-?\d{1,3})?|e-?\d{1,3})?)"
)
"""A sampling parameter with its number: `temperature=0.7`; `fraction` says that it is no integer."""
_ESCAPE = lazy_pattern(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))", re.DOTALL)
_LETTERS = {"n": "\n", "r": "\r", "t": "\t"}
_TIME = lazy_pattern(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?")
_PLACEHOLDER = lazy_pattern(r"<streaming_complete: (?P<tokens>\d+) tokens>")
_SERVER = lazy_pattern(r"vLLM API server version|\(APIServer pid=\d+\) ")
_CALLS = "[tool_calls: "
_CALL = lazy_pattern(r"(?:, )?(?P<name>[\w.:-]+)\(")
_CUT = "vLLM truncates texts at `--max-log-len` if that is set, and does not mark them"
_PARSED = "answers are logged without reasoning, and streamed calls without their names"
_UNTIMED = "times without a year are left out"


class OutputPiece(Struct, frozen=True):
    """A generated piece of text, its time in seconds since 1970-01-01 UTC and its token ids, if they are known."""

    text: str
    at_s: float | None = None
    token_ids: tuple[int, ...] = ()


class ServedCompletion(Struct):
    """One request to a server, as far as its log describes it; `pieces` are None if the log has no output.

    `streamed` is True if the pieces are the chunks of a stream, `is_cut` if the log left out a part of the prompt.
    `settings` become members of the request beside the prompt.
    """

    id: str
    record: str
    prompt: str | None = None
    settings: JsonObject = field(default_factory=dict)
    model: str = ""
    received_s: float | None = None
    ended_s: float | None = None
    pieces: list[OutputPiece] | None = None
    streamed: bool = False
    finish: str = ""
    usage: JsonObject = field(default_factory=dict)
    is_over: bool = False
    is_cut: bool = False

    def add(self, piece: OutputPiece) -> None:
        """Add a generated piece."""
        if self.pieces is None:
            self.pieces = []
        self.pieces.append(piece)

    @property
    def size(self) -> int:
        """The approximate size in bytes."""
        pieces = self.pieces or ()
        return len(self.prompt or "") + sum(len(piece.text) + _PIECE_BYTES for piece in pieces) + _PIECE_BYTES


def traces_served(
    completions: Iterable[ServedCompletion | Skipped],
    warnings: tuple[str, ...],
    finished: Callable[[Trace], Trace] = lambda trace: trace,
    *,
    held_bytes: int = HELD_BYTES,
) -> Iterator[Trace | Skipped]:
    """The sessions of a server's requests, with `warnings`, and a trace for each answer without a prompt.

    Skipped records are yielded at once; traces when `held_bytes` are held, and at the end, each as `finished` returns
    it. A log without any request is a Skipped.
    """
    held: list[ServedCompletion] = []
    size = 0
    is_empty = True
    for completion in completions:
        is_empty = False
        if isinstance(completion, Skipped):
            yield completion
            continue
        held.append(completion)
        size += completion.size
        if size > held_bytes:
            yield from _gathered(held, warnings, finished)
            held, size = [], 0
    yield from _gathered(held, warnings, finished)
    if is_empty:
        yield Skipped("file", "the log contains no line of a request or an answer")


def _gathered(
    held: list[ServedCompletion], warnings: tuple[str, ...], finished: Callable[[Trace], Trace]
) -> Iterator[Trace | Skipped]:
    for trace in _traces(held, warnings):
        yield trace if isinstance(trace, Skipped) else finished(trace)


def _traces(held: list[ServedCompletion], warnings: tuple[str, ...]) -> Iterator[Trace | Skipped]:
    ids = {completion.record: ExternalId("request_id", completion.id) for completion in held}
    whole = [completion for completion in held if completion.prompt is not None and not completion.is_cut]
    for found in traces_of(_exchange(completion) for completion in whole):
        yield _with_server_id(found, ids, warnings)
    for completion in held:
        if completion.prompt is not None and completion.is_cut:
            yield from (
                _with_server_id(found, ids, (_CUT_PROMPT, *warnings)) for found in traces_of([_exchange(completion)])
            )
        elif completion.prompt is None and completion.pieces is not None:
            yield _with_server_id(_answer_alone(completion), ids, (_NO_PROMPT, *warnings))
        elif completion.prompt is None:
            yield Skipped(completion.record, "the log has neither the prompt nor the output of this request")


def _with_server_id(
    found: Trace | SkippedExchange, ids: dict[str, ExternalId], warnings: tuple[str, ...]
) -> Trace | Skipped:
    """A trace with the server's id of its first request: two logs may begin with the same prompt."""
    if isinstance(found, SkippedExchange):
        return Skipped(found.record, found.reason, is_irrelevant=found.is_irrelevant)
    ids_of_trace = (*found.external_ids, ids[found.provenance.record])
    return with_warnings(structs.replace(found, external_ids=ids_of_trace), warnings)


def _answer_alone(completion: ServedCompletion) -> Trace:
    decoded, _ = decode_exchange(_exchange(completion), None)
    return Trace(
        turns=(decoded.turn,),
        model=completion.model,
        started=None if completion.received_s is None else Instant(completion.received_s),
        external_ids=(ExternalId("record", completion.record),),
        recognised_by=RecognisedBy.RECORD,
        provenance=Provenance(record=completion.record),
    )


def _exchange(completion: ServedCompletion) -> Exchange:
    request: JsonObject = {**completion.settings, "prompt": completion.prompt or "", "stream": completion.streamed}
    if completion.model:
        request["model"] = completion.model
    answer = None if completion.pieces is None else tuple(_answer(completion, completion.pieces))
    kind = "text/event-stream" if completion.streamed else "application/json"
    return Exchange(
        RequestHead("POST", _TARGET, at_s=completion.received_s),
        body_of(request),
        None if answer is None else 200,
        (("content-type", kind),),
        answer,
        ExchangeEnd.NOT_STORED if answer is None else ExchangeEnd.COMPLETE,
        ended_s=completion.ended_s,
        record=completion.record,
    )


def _answer(completion: ServedCompletion, pieces: list[OutputPiece]) -> Iterator[tuple[float | None, bytes]]:
    """The body of `/v1/completions` with these choices, or the events of its stream, with their times."""
    facts: JsonObject = {"id": completion.id, "object": "text_completion", "model": completion.model}
    end: JsonObject = {"finish_reason": completion.finish or None}
    usage: JsonObject = {"usage": completion.usage or None}
    texts: list[JsonObject] = [{"text": piece.text, "token_ids": list(piece.token_ids) or None} for piece in pieces]
    if not completion.streamed:
        choices: list[Json] = [{"index": index, **text, **end} for index, text in enumerate(texts)]
        yield completion.ended_s, body_of({**facts, "choices": choices, **usage})
        return
    for piece, text in zip(pieces, texts, strict=True):
        yield piece.at_s, _event({**facts, "choices": [{"index": 0, **text}]})
    last = _event({**facts, "choices": [{"index": 0, "text": "", **end}], **usage})
    yield completion.ended_s, last + b"data: [DONE]\n\n"


def _event(chunk: JsonObject) -> bytes:
    return b"data: " + body_of(chunk) + b"\n\n"


def _is_event(row: JsonObject) -> bool:
    return text_of(row, "event") in _EVENTS and "rid" in row and isinstance(row.get("obj"), dict)


def _completions(file: SourceFile) -> Iterator[ServedCompletion | Skipped]:
    pending: dict[str, ServedCompletion] = {}
    size = 0
    for line in until_damage(lines_of(file)):
        record = "" if isinstance(line, Skipped) else f"line {line.number}"
        row = line if isinstance(line, Skipped) else _row(line.raw, record)
        if isinstance(row, Skipped):
            yield row
        elif row and row.get("event") == "request.received":
            completion = _received(row, record)
            pending[completion.id] = completion
            size += completion.size
        elif row:
            received = pending.pop(text_of(row, "rid"), None)
            size -= received.size if received else 0
            yield _finished(row, received, record)
        if size > HELD_BYTES:
            yield from pending.values()
            pending, size = {}, 0
    for completion in pending.values():
        yield completion if completion.prompt is not None else Skipped(completion.record, _NO_TEXTS)


def _row(raw: bytes, record: str) -> JsonObject | Skipped | None:
    """The row of a request in a line, at any position in the line; None for any other line."""
    match = _ROW.search(raw)
    if match is None and (not raw.lstrip().startswith(b"{") or b'"request.' not in raw):
        return None
    try:
        value = parse_json_bytes(raw[match.start() if match else 0 :])
    except ValueError as error:
        return Skipped(record, str(error))
    return value if isinstance(value, dict) and _is_event(value) else None


def _received(row: JsonObject, record: str) -> ServedCompletion:
    request = object_of(row.get("obj"))
    params = object_of(request.get("sampling_params"))
    text = request.get("text")
    prompt = text if isinstance(text, str) and text else None
    at = instant(row.get("timestamp"))
    return ServedCompletion(
        text_of(row, "rid") or record,
        record,
        prompt,
        {name: params[key] for key, name in _SETTINGS.items() if params.get(key) is not None},
        received_s=at.at_s if at else None,
        is_cut=prompt is not None and _is_cut(prompt),
    )


def _finished(row: JsonObject, received: ServedCompletion | None, record: str) -> ServedCompletion | Skipped:
    """A finished request; its row repeats the request, now also as text."""
    request = _received(row, received.record if received else record)
    out = object_of(row.get("out"))
    meta = object_of(out.get("meta_info"))
    text = out.get("text")
    if request.prompt is None and received is not None:
        request = structs.replace(request, prompt=received.prompt, is_cut=received.is_cut)
    if request.prompt is None and not isinstance(text, str):
        return Skipped(request.record, _NO_TEXTS)
    ended, latency_s = request.received_s, meta.get("e2e_latency")
    began = received.received_s if received else None
    if began is None and ended is not None and isinstance(latency_s, int | float):
        began = ended - latency_s
    reason = meta.get("finish_reason")
    counts = {"prompt_tokens": meta.get("prompt_tokens"), "completion_tokens": meta.get("completion_tokens")}
    cached = meta.get("cached_tokens")
    return structs.replace(
        request,
        settings=request.settings or (received.settings if received else {}),
        received_s=began,
        ended_s=ended,
        pieces=[OutputPiece(text)] if isinstance(text, str) else None,
        finish=text_of(reason, "type") if isinstance(reason, dict) else reason if isinstance(reason, str) else "",
        usage={
            **{key: count for key, count in counts.items() if isinstance(count, int)},
            **({"prompt_tokens_details": {"cached_tokens": cached}} if isinstance(cached, int) else {}),
        },
        is_over=True,
    )


def _flagged(trace: Trace) -> Trace:
    turns = tuple(map(_with_cut, trace.turns))
    if turns == trace.turns:
        return trace
    return with_warnings(structs.replace(trace, turns=turns), (_CUT_ANSWER,))


def _with_cut(turn: Turn) -> Turn:
    """The turn; an answer that the log shortened has a truncated body."""
    text = turn.part("text")
    if turn.generation is None or text is None or not _is_cut(text.text):
        return turn
    return structs.replace(turn, generation=structs.replace(turn.generation, body=BodyState.TRUNCATED))


def _is_cut(text: str) -> bool:
    """Whether a text has the length of a shortened one, and the gap in its middle."""
    kept = len(text) - len(_GAP)
    return kept in _CUTS and text.startswith(_GAP, kept // 2)


def _vllm_score(sample: FileSample) -> float:
    """By a line of a request or of an answer; with less confidence by the lines that vLLM logs when it starts."""
    if sample.text.lstrip("\ufeff \t\r\n").startswith(("{", "[{")):
        return 0.0
    if any(line.search(sample.text) for line in (_GENERATED, _RECEIVED, _BEGUN)):
        return 0.9
    return 0.6 if _SERVER.search(sample.text) else 0.0


class _Log:
    """The lines of a log, grouped by the ids of requests."""

    def __init__(self, file: SourceFile) -> None:
        self._file = file
        self._open: dict[str, ServedCompletion] = {}
        self._size = 0

    def completions(self) -> Iterator[ServedCompletion | Skipped]:
        """The requests: the finished ones when the log is long, the rest at the end."""
        for line in until_damage(lines_of(self._file)):
            if isinstance(line, Skipped):
                yield line
            elif (skipped := self._take(decode(line.raw), f"line {line.number}")) is not None:
                yield skipped
            if self._size > HELD_BYTES:
                yield from self._over()
        yield from self._open.values()

    def _over(self) -> Iterator[ServedCompletion]:
        """The finished requests; all requests if none is finished."""
        over = [completion for completion in self._open.values() if completion.is_over] or [*self._open.values()]
        for completion in over:
            del self._open[completion.id]
        self._size = sum(completion.size for completion in self._open.values())
        yield from over

    def _take(self, line: str, record: str) -> Skipped | None:
        received, generated = _RECEIVED.search(line), _GENERATED.search(line)
        if received and not (generated and generated.start() < received.start()):  # either may quote the other
            self._receive(received, line, record)
        elif generated:
            self._generate(generated, line, record)
        elif _BEGUN.search(line):
            return Skipped(record, "the line is truncated within a string")
        return None

    def _receive(self, found: re.Match[str], line: str, record: str) -> None:
        completion = self._open.get(found["id"])
        if completion is None or (completion.is_over and not found["details"]):
            completion = self._new(found["id"], record, line)
        prompt = found["prompt"]
        if prompt and prompt != "None":
            completion.prompt = _unquoted(prompt)
            self._size += len(completion.prompt)
        completion.settings |= _settings(line[found.end() :])

    def _generate(self, found: re.Match[str], line: str, record: str) -> None:
        completion = self._open.get(found["id"]) or self._new(found["id"], record, line, is_answer=True)
        at_s, text = _moment(line), "" if found["output"] == "None" else _unquoted(found["output"])
        completion.ended_s = at_s if completion.received_s is not None else None
        token_ids = tuple(map(int, re.findall(r"\d{1,9}", found["ids"] or "")))
        finish = found["finish"] or ""
        if finish not in ("", "None", "streaming_complete"):
            completion.finish = finish
        self._size += len(text) + 200
        if found["kind"] == "delta":
            completion.streamed = True
            completion.add(OutputPiece(text, completion.ended_s, token_ids))
        elif found["kind"] == "complete":
            completion.is_over = True
            if count := _PLACEHOLDER.fullmatch(text):
                completion.usage["completion_tokens"] = int(count["tokens"][:18])
            elif completion.pieces is None:
                completion.add(OutputPiece(text))
        else:
            completion.is_over = True
            completion.add(OutputPiece(text))
            if token_ids:
                completion.usage["completion_tokens"] = len(token_ids)

    def _new(self, request_id: str, record: str, line: str, *, is_answer: bool = False) -> ServedCompletion:
        """A new request; an open one with the same id is renamed."""
        if request_id in self._open:
            earlier = self._open.pop(request_id)
            earlier.id = f"{request_id} {earlier.record}"
            self._open[earlier.id] = earlier
        completion = ServedCompletion(request_id, record, received_s=None if is_answer else _moment(line))
        self._open[request_id] = completion
        return completion


def _unquoted(text: str) -> str:
    """The text that Python's `repr` quoted."""
    inner = text[1:-1]
    return _ESCAPE.sub(_unescaped, inner) if "\\" in inner else inner


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code is None:
        return _LETTERS.get(found[4], found[4])
    return chr(min(int(code, 16), 0x10FFFF))


def _settings(text: str) -> JsonObject:
    matches = _SETTING.finditer(text[:4096])
    return {match["name"]: float(match["value"]) if match["fraction"] else int(match["value"]) for match in matches}


def _moment(line: str) -> float | None:
    """The time at the beginning of a line, if it has a year."""
    match = _TIME.search(line[:40])
    read = instant(match[0].replace(",", ".")) if match else None
    return None if read is None else read.at_s


def _vllm_finished(trace: Trace) -> Trace:
    trace = structs.replace(trace, turns=tuple(map(_with_calls, trace.turns)))
    return trace if trace.started else with_warnings(trace, (_UNTIMED,))


def _with_calls(turn: Turn) -> Turn:
    """An answer in vLLM's notation of calls, with structured calls; text that cannot be parsed becomes one call."""
    text = turn.part("text")
    if turn.role is not Role.ASSISTANT or text is None or not text.text.startswith(_CALLS):
        return turn
    calls = tuple(_calls(text.text.removesuffix("]")))
    if not calls:
        return turn
    parts = [part for part in turn.parts if part is not text]
    return structs.replace(
        turn,
        parts=(*parts, *(Part(f"call:{index}", arguments) for index, (_, arguments) in enumerate(calls))),
        calls=tuple(CallHeader(f"call:{index}", name) for index, (name, _) in enumerate(calls)),
    )


def _calls(text: str) -> Iterator[tuple[str, str]]:
    at = len(_CALLS)
    while match := _CALL.match(text, at):
        try:
            _, end = json.JSONDecoder().raw_decode(text, match.end())
        except (ValueError, RecursionError):
            end = -1
        if not text.startswith(")", end) or end < 0:
            yield match["name"], text[match.end() :].removesuffix(")")
            return
        yield match["name"], text[match.end() : end]
        at = end + 1


VLLM = LogSource(
    name="vllm",
    signs="log lines of requests that vLLM received or answered",
    score=_vllm_score,
    reader=lambda file: traces_served(_Log(file).completions(), (_PARSED, _CUT), _vllm_finished),
)
"""One trace per session, recognised from the prompts, and one for each answer whose prompt was not logged."""

SGLANG = LogSource(
    name="sglang",
    signs="rows of requests that SGLang received or finished",
    is_row=_is_event,
    confidence=0.9,
    score=lambda sample: 0.9 if _ROW.search(sample.head) else 0.0,
    reader=lambda file: traces_served(_completions(file), (_NOT_STORED, _ZONE), _flagged),
)
"""One trace per session, recognised from the prompts; a request with a shortened prompt is a session by itself."""
