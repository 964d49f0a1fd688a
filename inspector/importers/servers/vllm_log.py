"""vLLM's own log with `--enable-log-requests`, and `--enable-log-outputs` where it is to hold the answers too.

A request is a line `Received request ID: prompt: 'REPR', params: SamplingParams(...), ...`; newer versions tell the
prompt in a line `Request ID details: prompt: ...` at level DEBUG, or not at all. An answer is `Generated response ID:
output: 'REPR', output_token_ids: [...], finish_reason: stop`, with `(streaming delta)` behind the id for each arrival
of a stream and `(streaming complete)` at its end (vLLM, `vllm/entrypoints/logger.py`). All texts may be cut off at
`--max-log-len`. Calls of an answer that was not streamed read `[tool_calls: name({...}), ...]`.
"""

import json
import re
from collections.abc import Iterator

from msgspec.structs import replace

from inspector.importers.compression import DamagedDataError
from inspector.importers.identity import instant
from inspector.importers.records import read_lines
from inspector.importers.servers.served_completions import HELD_BYTES, OutputPiece, ServedCompletion, traces_served
from inspector.importers.source import FileSample, JsonObject, Skipped, SourceFile
from inspector.model import CallHeader, Part, Role, Trace, Turn
from inspector.scanning import lazy_pattern
from inspector.text import decode

# At most a million escapes: a greedy repeat keeps some 60 bytes for each while it matches.
_REPR = r"""(?:'[^'\\]*+(?:\\.[^'\\]*+){0,1000000}'|"[^"\\]*+(?:\\.[^"\\]*+){0,1000000}"|None)"""

_RECEIVED = lazy_pattern(
    r"(?:Received request|(?P<details>Request)) (?P<id>[^\s:]+)(?(details) details): "
    rf"(?:prompt: (?P<prompt>{_REPR})|params: )"
)

_GENERATED = lazy_pattern(
    rf"Generated response (?P<id>[^\s:]+)(?: \(streaming (?P<kind>delta|complete)\))?: output: (?P<output>{_REPR})"
    r"(?:, output_token_ids: (?P<ids>None|[\[(][\d, ]*[\])]))?(?:, finish_reason: (?P<finish>\w+))?"
)

_BEGUN = lazy_pattern(
    r"(?:Received request|Generated response|Request) [^\s:]+(?: \(streaming \w+\)| details)?: (?:prompt|output): ['\"]"
)

_SETTING = lazy_pattern(
    r"\b(?P<name>n|temperature|top_p|top_k|min_p|seed|max_tokens|presence_penalty|frequency_penalty|repetition_penalty)"
    r"=(?P<value>-?\d{1,15}(?P<fraction>\.\d{1,20}(?:e-?\d{1,3})?|e-?\d{1,3})?)"
)

_ESCAPE = lazy_pattern(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))", re.DOTALL)
_LETTERS = {"n": "\n", "r": "\r", "t": "\t"}
_TIME = lazy_pattern(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?")
_PLACEHOLDER = lazy_pattern(r"<streaming_complete: (?P<tokens>\d+) tokens>")
_SERVER = lazy_pattern(r"vLLM API server version|\(APIServer pid=\d+\) ")
_CALLS = "[tool_calls: "
_CALL = lazy_pattern(r"(?:, )?(?P<name>[\w.:-]+)\(")
_CUT = "vLLM cuts texts off at `--max-log-len` where that is set, and does not mark them"
_PARSED = "answers are logged without reasoning, and streamed calls without their names"
_UNTIMED = "times without a year are left out"


class VllmLogImporter:
    """One trace a session, told from the prompts; one for each answer whose prompt was not logged."""

    name = "vllm"
    signs = "log lines of requests that vLLM received or answered"

    def recognises(self, sample: FileSample) -> float:
        """By a line of a request or of an answer, likely by what vLLM logs when it starts."""
        text = sample.text
        if text.lstrip("\ufeff \t\r\n").startswith(("{", "[{")):
            return 0.0
        if any(line.search(text) for line in (_GENERATED, _RECEIVED, _BEGUN)):
            return 0.9
        return 0.6 if _SERVER.search(text) else 0.0

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The sessions of the log; it is read in portions of 64 MiB, and a session across two of them is two."""
        is_empty = True
        for found in traces_served(_Log(file).completions(), (_PARSED, _CUT)):
            is_empty = False
            yield found if isinstance(found, Skipped) else _finished(found)
        if is_empty:
            yield Skipped("file", "the log has no line of a request or an answer")


class _Log:
    """The lines of a log, gathered by the ids of requests."""

    def __init__(self, file: SourceFile) -> None:
        self._file = file
        self._open: dict[str, ServedCompletion] = {}
        self._size = 0

    def completions(self) -> Iterator[ServedCompletion | Skipped]:
        """The requests, when many are over, and at the end."""
        try:
            with self._file.open() as stream:
                for line in read_lines(stream):
                    if isinstance(line, Skipped):
                        yield line
                    elif (skipped := self._take(decode(line.raw), f"line {line.number}")) is not None:
                        yield skipped
                    if self._size > HELD_BYTES:
                        yield from self._over()
        except DamagedDataError as error:
            yield Skipped("end of file", str(error))
        yield from self._open.values()

    def _over(self) -> Iterator[ServedCompletion]:
        """Those that are over; all, where those that are not hold too much."""
        over = [one for one in self._open.values() if one.is_over] or [*self._open.values()]
        for one in over:
            del self._open[one.id]
        self._size = sum(one.size for one in self._open.values())
        yield from over

    def _take(self, line: str, record: str) -> Skipped | None:
        received, generated = _RECEIVED.search(line), _GENERATED.search(line)
        if received and not (generated and generated.start() < received.start()):  # either may quote the other
            self._receive(received, line, record)
        elif generated:
            self._generate(generated, line, record)
        elif _BEGUN.search(line):
            return Skipped(record, "the line breaks off within a text")
        return None

    def _receive(self, found: re.Match[str], line: str, record: str) -> None:
        one = self._open.get(found["id"])
        if one is None or (one.is_over and not found["details"]):
            one = self._new(found["id"], record, line)
        prompt = found["prompt"]
        if prompt and prompt != "None":
            one.prompt = _unquoted(prompt)
            self._size += len(one.prompt)
        one.settings |= _settings(line[found.end() :])

    def _generate(self, found: re.Match[str], line: str, record: str) -> None:
        one = self._open.get(found["id"]) or self._new(found["id"], record, line, is_answer=True)
        at_s, text = _moment(line), "" if found["output"] == "None" else _unquoted(found["output"])
        one.ended_s = at_s if one.received_s is not None else None
        token_ids = tuple(map(int, re.findall(r"\d{1,9}", found["ids"] or "")))
        finish = found["finish"] or ""
        if finish not in ("", "None", "streaming_complete"):
            one.finish = finish
        self._size += len(text) + 200
        if found["kind"] == "delta":
            one.streamed = True
            one.add(OutputPiece(text, one.ended_s, token_ids))
        elif found["kind"] == "complete":
            one.is_over = True
            if count := _PLACEHOLDER.fullmatch(text):
                one.usage["completion_tokens"] = int(count["tokens"][:18])
            elif one.pieces is None:
                one.add(OutputPiece(text))
        else:
            one.is_over = True
            one.add(OutputPiece(text))
            if token_ids:
                one.usage["completion_tokens"] = len(token_ids)

    def _new(self, named: str, record: str, line: str, *, is_answer: bool = False) -> ServedCompletion:
        """A request that begins; one of the same id that stands here gives way under another."""
        if named in self._open:
            earlier = self._open.pop(named)
            earlier.id = f"{named} {earlier.record}"
            self._open[earlier.id] = earlier
        one = ServedCompletion(named, record, received_s=None if is_answer else _moment(line))
        self._open[named] = one
        return one


def _unquoted(text: str) -> str:
    """The text that Python's `repr` wrote so."""
    bare = text[1:-1]
    return _ESCAPE.sub(_unescaped, bare) if "\\" in bare else bare


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code is None:
        return _LETTERS.get(found[4], found[4])
    return chr(min(int(code, 16), 0x10FFFF))


def _settings(text: str) -> JsonObject:
    found = _SETTING.finditer(text[:4096])
    return {one["name"]: float(one["value"]) if one["fraction"] else int(one["value"]) for one in found}


def _moment(line: str) -> float | None:
    """The line's time, where it begins with one that has a year."""
    found = _TIME.search(line[:40])
    read = instant(found[0].replace(",", ".")) if found else None
    return None if read is None else read.at_s


def _finished(trace: Trace) -> Trace:
    known = trace.provenance
    untimed = () if trace.started else (_UNTIMED,)
    return replace(
        trace,
        turns=tuple(map(_with_calls, trace.turns)),
        provenance=replace(known, warnings=(*known.warnings, *untimed)),
    )


def _with_calls(turn: Turn) -> Turn:
    """An answer that tells its calls in vLLM's words has them as calls; what cannot be told apart stays one call."""
    text = turn.part("text")
    if turn.role is not Role.ASSISTANT or text is None or not text.text.startswith(_CALLS):
        return turn
    calls = tuple(_calls(text.text.removesuffix("]")))
    if not calls:
        return turn
    parts = [part for part in turn.parts if part is not text]
    return replace(
        turn,
        parts=(*parts, *(Part(f"call:{at}", arguments) for at, (_, arguments) in enumerate(calls))),
        calls=tuple(CallHeader(f"call:{at}", name) for at, (name, _) in enumerate(calls)),
    )


def _calls(text: str) -> Iterator[tuple[str, str]]:
    at = len(_CALLS)
    while found := _CALL.match(text, at):
        try:
            _, end = json.JSONDecoder().raw_decode(text, found.end())
        except (ValueError, RecursionError):
            end = -1
        if not text.startswith(")", end) or end < 0:
            yield found["name"], text[found.end() :].removesuffix(")")
            return
        yield found["name"], text[found.end() : end]
        at = end + 1
