"""Answers of any API without their requests, as `curl` prints them or a program stores them.

Chat completions have a separate importer. A file is one or several event streams (`data: {...}`), with or without the
HTTP header lines before each answer; or JSON: whole bodies, lines or chunks of a stream as rows, or one array of
chunks. An answer is one trace of one turn; if it was streamed, its deltas are the turn's chunks. No request is stored:
prompts, tools and results are unknown.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from weaklink.inspector.apis import ollama
from weaklink.inspector.apis.anthropic import messages as anthropic_messages
from weaklink.inspector.apis.gemini import API as GEMINI
from weaklink.inspector.apis.openai import completions, responses
from weaklink.inspector.apis.openai.chat import API as CHAT
from weaklink.inspector.apis.openai.chat_captures import (
    MAX_ANSWER_BYTES,
    STATUS_LINE,
    CapturedAnswer,
    ChatCaptureDecoder,
)
from weaklink.inspector.apis.providers import OLLAMA, PROVIDERS, ObjectHead, decoder_for, head_of
from weaklink.inspector.importers.identity import answer_ids, instant
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import (
    Line,
    blocks_of,
    first_rows,
    layout_of,
    lines_of,
    parse_json_bytes,
    read_rows,
)
from weaklink.inspector.importers.source import FileSample, JsonObject, Skipped, SourceFile, until_damage
from weaklink.inspector.json_text import objects_of
from weaklink.inspector.memory import too_long
from weaklink.inspector.model import Generation, Instant, Json, Provenance, RecognisedBy, Trace
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import decode
from weaklink.inspector.wire.decoder import DONE, Decoder, Framing, new_decoder
from weaklink.inspector.wire.events import TurnAssembly, WireEvent
from weaklink.inspector.wire.framing import ServerSentEvent, SseDecoder
from weaklink.inspector.wire.provider_json import parse_json

_BLANK = b"\xef\xbb\xbf \t\r\n"
_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")  # in JSON both occur only between values
_FRAME = lazy_pattern(r"(?:data|event|id|retry)?:|HTTP/\d")

_ANSWER = lazy_pattern(
    r'"type"\s*:\s*"(?:message_start|content_block_(?:start|delta|stop)|message_delta|response\.[a-z_.]+)"'
    r'|"type"\s*:\s*"error"\s*,\s*"error"\s*:'
    r'|"object"\s*:\s*"(?:response|text_completion)"'
    r'|"(?:candidates|promptFeedback|usageMetadata)"\s*:\s*[\[{]'
    r'|"created_at"\s*:\s*"[^\n]*"done"\s*:\s*(?:true|false)'
    r'|"type"\s*:\s*"message"[^{]*"role"\s*:\s*"assistant"'
)

_CHAT_ANSWER = lazy_pattern(r'"choices"\s*:\s*\[')
_OTHER_API = lazy_pattern(r'"object"\s*:\s*"text_completion"')
_ERROR_OR_END = lazy_pattern(r'^(?:data:[ \t]*)?(?:\[DONE\]|\{\s*"error"\s*:)', re.MULTILINE)
_ERROR_KEYS = frozenset({"error", "user_id"})
_CHAT_EVENTS = re.compile(rb"^data:[^\n]*\}[ \t]*\r?\ndata:", re.MULTILINE)
_TWO_EVENTS = re.compile(rb"^data:[^\n]*\}[ \t]*\r?\n(?:data|event):", re.MULTILINE)
_ONLY_THE_ANSWER = "the source stores only the answer: no prompt, tools or results"
_NO_TIMES = "the source does not store chunk times"
_NO_ANSWER = "the row is not an answer of an API that weaklink knows"
_SEPARATORS = {Framing.WHOLE: b"", Framing.LINES: b"\n", Framing.EVENTS: b"\n\n", Framing.ARRAY: b""}
_BLANK_TEXT = "\ufeff\r\n\t "
_STREAM_STARTS = ("data:", "event:", "id:", "retry:", ":")
_BODY_STARTS = ("{", "[")

_PATHS = {
    completions.API: "/v1/completions",
    responses.API: "/v1/responses",
    anthropic_messages.API: "/v1/messages",
    GEMINI: "/v1/models/x:streamGenerateContent",
    ollama.CHAT: "/api/chat",
    ollama.GENERATE: "/api/generate",
}

_READERS = {provider.api: provider.new_reader for provider in PROVIDERS}


def _chat_score(sample: FileSample) -> float:
    """By the `choices` of a chat completion in an event stream, an HTTP response or a row; with less by an error."""
    text = sample.text.lstrip("\ufeff \t\r\n")
    if _FRAME.match(text):
        if _OTHER_API.search(text):
            return 0.0
        return 0.9 if _CHAT_ANSWER.search(text) else 0.5 if _ERROR_OR_END.search(text) else 0.0
    if any(map(_is_chat_answer, sample.rows)):
        return 0.9
    return 0.3 if any(map(_is_error, sample.rows)) else 0.0


def _chat_completions(file: SourceFile) -> Iterator[Trace | Skipped]:
    found = _chat_rows(file) if _has_rows(file) else _from_stream(file, ChatCaptureDecoder(), _CHAT_EVENTS, _ended)
    for answer in found:
        yield answer if isinstance(answer, Skipped) else _trace(answer, file.path, (_ONLY_THE_ANSWER,))


def _has_rows(file: SourceFile) -> bool:
    """Whether a file is JSON, and no event stream or HTTP response; lines before its first row may be foreign."""
    head = file.head.lstrip(_BLANK)
    if head.startswith((b"{", b"[")):
        return True
    return _FRAME.match(decode(head)) is None and any(line.startswith(b"{") for line in head.splitlines())


def _is_chat_answer(row: JsonObject) -> bool:
    is_declared = isinstance(row.get("choices"), list) and str(row.get("object", "")).startswith("chat.completion")
    return is_declared or _has_choice_with(row, "message") or _has_choice_with(row, "delta")


def _has_choice_with(row: JsonObject, key: str) -> bool:
    """Whether one of the row's choices has this member."""
    return any(key in choice for choice in objects_of(row.get("choices")))


def _is_error(row: JsonObject) -> bool:
    return isinstance(row.get("error"), dict) and row.keys() <= _ERROR_KEYS


def _chat_rows(file: SourceFile) -> Iterator[CapturedAnswer | Skipped]:
    decoder = ChatCaptureDecoder()
    for row in read_rows(file):
        if isinstance(row, Skipped):
            yield row
            continue
        raw = row.raw.translate(_ONE_LINE) + b"\n\n"
        if _has_choice_with(row.value, "message"):
            yield from decoder.close()
            yield from decoder.feed(raw)
            yield from decoder.close()
        elif isinstance(row.value.get("choices"), list):
            yield from decoder.feed(b"data: " + raw)
        elif row.value.get("error"):
            yield from decoder.feed(raw)
        else:
            yield Skipped(row.record, "the row is not an answer: it has neither `choices` nor an `error`")
    yield from decoder.close()


def _score(sample: FileSample) -> float:
    """By an object of an API other than chat completions, in an event stream, an HTTP response or a row."""
    if _FRAME.match(sample.text.lstrip("\ufeff \t\r\n")):
        return 0.95 if _ANSWER.search(sample.text) else 0.0
    heads = map(head_of, sample.rows)
    return 0.92 if any(head and head.api not in {"", CHAT} for head in heads) else 0.0


def _captures(file: SourceFile) -> Iterator[Trace | Skipped]:
    for answer in _answers(file):
        yield answer if isinstance(answer, Skipped) else _trace(answer, file.path, _warnings(answer))


def _answers(file: SourceFile) -> Iterator[CapturedAnswer | Skipped]:
    if not _has_rows(file):
        return _from_stream(file, ApiCaptureDecoder(), _TWO_EVENTS, _with_end)
    return _from_array(file) if _is_one_array(file) else _from_rows(file)


def _from_stream(
    file: SourceFile,
    decoder: "ChatCaptureDecoder | ApiCaptureDecoder",
    two_events: re.Pattern[bytes],
    ended: Callable[[bytes], bytes],
) -> Iterator[CapturedAnswer | Skipped]:
    """The answers of a stream. If it has `two_events` without the empty line between, `ended` ends each line."""
    if two_events.search(file.head):  # the empty lines are lost, which mark the ends of events
        for line in until_damage(lines_of(file)):
            yield from [line] if isinstance(line, Skipped) else decoder.feed(ended(line.raw))
    else:
        for block in until_damage(blocks_of(file)):
            yield from [block] if isinstance(block, Skipped) else decoder.feed(block)
    yield from decoder.close()


def _ended(line: bytes) -> bytes:
    return line + b"\n\n"


def _with_end(line: bytes) -> bytes:
    """A line of an event stream with the empty line that ends its event; a field such as `event:` precedes its data."""
    return line + (b"\n" if line.startswith((b"event:", b"id:", b"retry:")) else b"\n\n")


class _JsonRecord(Struct, frozen=True):
    """A record of a JSON file: `value` is None if it is not JSON, `fault` is the reason."""

    record: str
    raw: bytes
    value: Json
    fault: str = ""


def _from_rows(file: SourceFile) -> Iterator[CapturedAnswer | Skipped]:
    bounds = AnswerBounds(is_framed=False)
    answer: ArrivingCapture | None = None
    framing = Framing.WHOLE
    number = 0
    for record in _records(file):
        if isinstance(record, Skipped):
            yield record
            continue
        head = head_of(record.value)
        if head is None and (answer is None or bounds.has_ended):
            yield Skipped(record.record, record.fault or _NO_ANSWER)
            continue
        if not bounds.take(head) and answer is not None:
            number += 1
            yield answer.captured(number)
            answer = None
        separator = _SEPARATORS[framing]
        if answer is None:
            separator, framing = b"", _framing(head)
            answer = ArrivingCapture(new_decoder(framing, _READERS[(head and head.api) or CHAT]))
        answer.take(separator + _framed(record.raw, framing), head)
        if framing is Framing.WHOLE:
            bounds.end()
    if answer is not None:
        yield answer.captured(number + 1)


def _records(file: SourceFile) -> Iterator[_JsonRecord | Skipped]:
    """The records; also broken lines, as they may be part of a stream."""
    if layout_of(file.head) != "line":
        for row in read_rows(file):
            yield row if isinstance(row, Skipped) else _JsonRecord(row.record, row.raw, row.value)
        return
    for line in until_damage(lines_of(file)):
        yield line if isinstance(line, Skipped) else _record(line)


def _record(line: Line) -> _JsonRecord:
    record = f"line {line.number}"
    try:
        return _JsonRecord(record, line.raw, parse_json_bytes(line.raw))
    except ValueError as error:
        return _JsonRecord(record, line.raw, None, str(error))


def _framing(head: ObjectHead | None) -> Framing:
    """The framing of an answer in rows, from its first object: whole, lines, or events without their `data:`."""
    if head is None or not head.api or head.is_whole:
        return Framing.WHOLE
    return Framing.LINES if head.api in OLLAMA else Framing.EVENTS


def _framed(raw: bytes, framing: Framing) -> bytes:
    """A record as it was in the stream, without the separator after it: the last one may be truncated."""
    if framing is Framing.WHOLE:
        return raw
    return (b"data: " if framing is Framing.EVENTS else b"") + raw.translate(_ONE_LINE)


def _is_one_array(file: SourceFile) -> bool:
    """Whether a file is Gemini's stream without `alt=sse`: one array, whose elements are chunks of one answer."""
    heads = [head_of(row) for row in first_rows(file)] if layout_of(file.head) == "entry" else []
    return bool(heads) and all(head and head.api == GEMINI for head in heads) and len({h.id for h in heads if h}) == 1


def _from_array(file: SourceFile) -> Iterator[CapturedAnswer | Skipped]:
    answer = ArrivingCapture(api_decoder(GEMINI))
    for block in until_damage(blocks_of(file)):
        if isinstance(block, Skipped):
            yield block
        else:
            answer.take(block)
    yield answer.captured(1)


def _warnings(answer: CapturedAnswer) -> tuple[str, ...]:
    parts = answer.decoded.turn.parts if answer.decoded is not None else ()
    is_timed = any(part.chunks and part.chunks.offsets_s for part in parts)
    return (_ONLY_THE_ANSWER,) if is_timed else (_ONLY_THE_ANSWER, _NO_TIMES)


def _trace(answer: CapturedAnswer, path: Path, warnings: tuple[str, ...]) -> Trace | Skipped:
    record = f"answer {answer.number}"
    if answer.decoded is None:
        return Skipped(record, too_long(MAX_ANSWER_BYTES))
    turn = answer.decoded.turn
    generation = turn.generation
    assert isinstance(generation, Generation)
    return Trace(
        turns=(turn,),
        model=generation.answered_model,
        started=generation.started or (Instant(answer.created_s) if answer.created_s else None),
        external_ids=tuple(answer_ids(answer, path)),
        recognised_by=RecognisedBy.FILE,
        provenance=Provenance(record=record, warnings=warnings),
    )


class AnswerBounds:
    """Finds, object by object, where one answer of a capture ends and the next begins.

    `is_framed` is True if the capture itself groups answers, as a JSON array or an event stream does. Otherwise
    (lines), an object without an id after a finish belongs to another answer.
    """

    def __init__(self, *, is_framed: bool) -> None:
        self._is_framed = is_framed
        self._is_empty, self._has_ended, self._is_finished = True, False, False
        self._id = self._api = ""

    @property
    def has_ended(self) -> bool:
        """Whether the answer has ended, so that an object without a head does not belong to it."""
        return self._has_ended

    def take(self, head: ObjectHead | None) -> bool:
        """Take the head of the next object, None if it has none; returns False if another answer begins with it."""
        belongs = self._belongs(head)
        if not belongs:
            self._has_ended, self._is_finished, self._id, self._api = False, False, "", ""
        self._is_empty = False
        if head is not None:
            self._has_ended = self._has_ended or head.ends
            self._is_finished = self._is_finished or head.finishes
            self._id, self._api = self._id or head.id, self._api or head.api
        return belongs

    def end(self) -> None:
        """End the answer by an explicit marker: `[DONE]`."""
        self._has_ended = not self._is_empty

    def _belongs(self, head: ObjectHead | None) -> bool:
        if self._is_empty:
            return True
        if self._has_ended or (head is not None and (head.begins or self._is_another(head.api))):
            return False
        if not self._is_finished:
            return True
        if head is None:
            return self._is_framed
        if head.id and self._id:
            return head.id == self._id
        return self._is_framed

    def _is_another(self, api: str) -> bool:
        return bool(api and self._api) and api != self._api


def api_decoder(api: str, *, status: int | None = None) -> Decoder:
    """A decoder for an answer of this kind of endpoint, however it is framed; of any endpoint if `api` is empty."""
    return decoder_for(_PATHS.get(api, ""), status=status)


class ArrivingCapture:
    """An answer that `decoder` reads as its bytes arrive; nothing is kept of an answer with more than `limit` bytes."""

    def __init__(self, decoder: Decoder, *, limit: int = MAX_ANSWER_BYTES) -> None:
        self._decoder = decoder
        self._left = limit
        self._assembly: TurnAssembly | None = None
        self._sha256 = hashlib.sha256()
        self._created: Json = None

    def take(self, raw: bytes, head: ObjectHead | None = None) -> None:
        """Take bytes of the answer; `head` is the head of the object in them."""
        self._sha256.update(raw)
        self._left -= len(raw)
        self._created = self._created or (head.created if head else None)
        if self._left >= 0:
            self._extend(self._decoder.feed(raw))
        else:
            self._assembly = None

    def captured(self, number: int) -> CapturedAnswer:
        """The complete answer; call it once the answer has ended."""
        digest = self._sha256.hexdigest()[:16]
        if self._left < 0:
            return CapturedAnswer(number, None, None, digest)
        self._extend(self._decoder.close())
        assembly = self._assembly or TurnAssembly(self._decoder.api, streamed=self._decoder.streamed)
        created = instant(self._created)
        return CapturedAnswer(number, assembly.decoded(), created.at_s if created else None, digest)

    def _extend(self, events: list[WireEvent]) -> None:
        if events and self._assembly is None:
            self._assembly = TurnAssembly(self._decoder.api, streamed=self._decoder.streamed)
        if self._assembly is not None:
            self._assembly.extend(events)


class ApiCaptureDecoder:
    """Splits a capture into answers and decodes each; never raises, and accepts bytes cut at any position.

    Answers are event streams, JSON bodies or JSON lines, or a mix of them, with or without HTTP header lines before
    them; headers are read for the status and not kept. The unfinished answer is in memory, of at most 64 MiB, and one
    event of the stream.
    """

    def __init__(self) -> None:
        self._sse = SseDecoder()
        self._number = 0
        self._status: int | None = None
        self._answer: ArrivingCapture | None = None
        self._bounds = AnswerBounds(is_framed=True)
        self._is_whole = self._continues_event = False

    def feed(self, raw: bytes) -> list[CapturedAnswer]:
        """The answers that are known to have ended."""
        return self._take(self._sse.feed(raw))

    def close(self) -> list[CapturedAnswer]:
        """End the capture; returns the last answer."""
        answers = self._take(self._sse.close())
        self._begin(None, answers, at_end=True)
        return answers

    def _take(self, events: list[ServerSentEvent]) -> list[CapturedAnswer]:
        answers: list[CapturedAnswer] = []
        for event in events:
            head = STATUS_LINE.search(event.raw) if "HTTP/" in event.raw else None
            if head:
                if before := event.raw[: head.start()].strip(_BLANK_TEXT):
                    self._add(before, None)
                self._begin(int(head["status"]), answers)
            elif self._continues_event:
                self._add(event.raw, None)
            else:
                self._take_event(event, answers)
            self._continues_event = not event.complete
        return answers

    def _take_event(self, event: ServerSentEvent, found: list[CapturedAnswer]) -> None:
        start = event.raw.lstrip(_BLANK_TEXT)
        is_body = start.startswith(_BODY_STARTS)
        head: ObjectHead | None = None
        if event.data == DONE:
            self._bounds.end()
        elif event.data is not None or is_body:
            head = head_of(_value(event.raw if event.data is None else event.data))
            begins = not self._bounds.take(head)
            if begins or (self._is_whole and (is_body or start.startswith(_STREAM_STARTS))):
                self._begin(None, found)
                self._bounds.take(head)
        if self._answer is None:
            is_error_page = self._status is not None and self._status >= 400
            self._is_whole = is_body or (is_error_page and not start.startswith(_STREAM_STARTS))
        self._add(event.raw, head)

    def _add(self, text: str, head: ObjectHead | None) -> None:
        if self._answer is None:
            if not text.strip(_BLANK_TEXT):
                return
            self._answer = ArrivingCapture(api_decoder(head.api if head else "", status=self._status))
        self._answer.take(text.encode("utf-8", "surrogateescape"), head)

    def _begin(self, status: int | None, found: list[CapturedAnswer], *, at_end: bool = False) -> None:
        """Append the answer so far to `found`, unless the response only forwards or announces (1xx, 3xx, a tunnel)."""
        previous_status = self._status
        if (
            self._answer is None
            and previous_status is not None
            and (previous_status >= 400 or (at_end and previous_status < 300))
        ):
            self._answer = ArrivingCapture(api_decoder("", status=previous_status))
        if self._answer is not None and (
            previous_status is None or 200 <= previous_status < 300 or previous_status >= 400
        ):
            self._number += 1
            found.append(self._answer.captured(self._number))
        self._answer, self._status = None, status
        self._bounds = AnswerBounds(is_framed=True)
        self._is_whole = False


def _value(text: str) -> Json:
    try:
        value: Json = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return _parse_slowly(text)
    return value


def _parse_slowly(text: str) -> Json:
    try:
        return parse_json(text.lstrip("\ufeff"))
    except ValueError:
        return None


CHAT_COMPLETIONS = LogSource(
    name="chat-completions",
    signs="the `choices` of chat completions, or the error of a server, without a request",
    score=_chat_score,
    reader=_chat_completions,
)
"""One trace per answer; one of more than 64 MiB is skipped."""

API_CAPTURES = LogSource(
    name="api-captures",
    signs="the events or the body of an answer of another API, without a request",
    score=_score,
    reader=_captures,
)
"""The same."""
