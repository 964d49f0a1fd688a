"""Bare answers of any API, as `curl` prints them or a program writes them down; chat completions by themselves.

A file is an event stream or several (`data: {...}`), with the header lines of HTTP before each answer or without; or
JSON: bodies that came whole, lines or chunks of a stream as rows, or one array of chunks. An answer is one trace of one
turn; where it was streamed, its deltas are the turn's chunks. No request is kept here: prompts, tools and results are
unknown.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from inspector.apis.gemini.generate_content import API as GEMINI
from inspector.apis.openai.chat import API as CHAT
from inspector.apis.openai.chat_captures import MAX_ANSWER_BYTES, CapturedAnswer, ChatCaptureDecoder
from inspector.apis.providers import OLLAMA, PROVIDERS
from inspector.importers.compression import DamagedDataError
from inspector.importers.identity import answer_ids
from inspector.importers.records import Line, first_rows, layout_of, parse_json_bytes, read_lines, read_rows, too_long
from inspector.importers.servers.api_capture_decoder import (
    AnswerBounds,
    ApiCaptureDecoder,
    ArrivingCapture,
    ObjectHead,
    api_decoder,
    head_of,
)
from inspector.importers.source import JsonObject, Sample, Skipped, SourceFile
from inspector.json_members import objects_of
from inspector.model import Generation, Instant, Json, Provenance, RecognisedBy, Trace
from inspector.wire.decoder import Framing, new_decoder

_BLOCK = 1 << 16
_BLANK = b"\xef\xbb\xbf \t\r\n"
_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")  # within JSON both stand between values only
_FRAME = re.compile(r"(?:data|event|id|retry)?:|HTTP/\d")

_ANSWER = re.compile(
    r'"type"\s*:\s*"(?:message_start|content_block_(?:start|delta|stop)|message_delta|response\.[a-z_.]+)"'
    r'|"type"\s*:\s*"error"\s*,\s*"error"\s*:'
    r'|"object"\s*:\s*"(?:response|text_completion)"'
    r'|"(?:candidates|promptFeedback|usageMetadata)"\s*:\s*[\[{]'
    r'|"created_at"\s*:\s*"[^\n]*"done"\s*:\s*(?:true|false)'
    r'|"type"\s*:\s*"message"[^{]*"role"\s*:\s*"assistant"'
)

_CHAT_ANSWER = re.compile(r'"choices"\s*:\s*\[')
_OTHER_API = re.compile(r'"object"\s*:\s*"text_completion"')
_ERROR_OR_END = re.compile(r'^(?:data:[ \t]*)?(?:\[DONE\]|\{\s*"error"\s*:)', re.MULTILINE)
_WITH_AN_ERROR = frozenset({"error", "user_id"})
_CHAT_EVENTS = re.compile(rb"^data:[^\n]*\}[ \t]*\r?\ndata:", re.MULTILINE)
_TWO_EVENTS = re.compile(rb"^data:[^\n]*\}[ \t]*\r?\n(?:data|event):", re.MULTILINE)
_ONLY_THE_ANSWER = "the source keeps the answer only: no prompt, tools or results"
_NO_TIMES = "the source keeps no times of chunks"
_NO_ANSWER = "the row is no answer of an API that weaklink knows"
_BETWEEN = {Framing.WHOLE: b"", Framing.LINES: b"\n", Framing.EVENTS: b"\n\n", Framing.ARRAY: b""}
_READERS = {provider.api: provider.new_reader for provider in PROVIDERS}


class ChatCompletionsImporter:
    """One trace an answer."""

    name = "chat-completions"
    signs = "the `choices` of chat completions, or the error of a server, with no request beside them"

    def recognises(self, sample: Sample) -> float:
        """By the `choices` of a chat completion in an event stream, an HTTP response or a row; faintly by an error."""
        text = sample.text.lstrip("\ufeff \t\r\n")
        if _FRAME.match(text):
            if _OTHER_API.search(text):
                return 0.0
            return 0.9 if _CHAT_ANSWER.search(text) else 0.5 if _ERROR_OR_END.search(text) else 0.0
        if any(map(_is_chat_answer, sample.rows)):
            return 0.9
        return 0.3 if any(map(_is_error, sample.rows)) else 0.0

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """Each answer; one of more than 64 MiB is skipped."""
        is_json = file.head.lstrip(_BLANK).startswith((b"{", b"["))
        found = _chat_rows(file) if is_json else _from_stream(file, ChatCaptureDecoder(), _CHAT_EVENTS, _ended)
        for answer in found:
            yield answer if isinstance(answer, Skipped) else _trace(answer, file.path, (_ONLY_THE_ANSWER,))


def _is_chat_answer(row: JsonObject) -> bool:
    named = isinstance(row.get("choices"), list) and str(row.get("object", "")).startswith("chat.completion")
    return named or _holds(row, "message") or _holds(row, "delta")


def _holds(row: JsonObject, key: str) -> bool:
    """Whether one of the row's choices has this member."""
    return any(key in choice for choice in objects_of(row.get("choices")))


def _is_error(row: JsonObject) -> bool:
    return isinstance(row.get("error"), dict) and row.keys() <= _WITH_AN_ERROR


def _chat_rows(file: SourceFile) -> Iterator[CapturedAnswer | Skipped]:
    decoder = ChatCaptureDecoder()
    for row in read_rows(file):
        if isinstance(row, Skipped):
            yield row
            continue
        raw = row.raw.translate(_ONE_LINE) + b"\n\n"
        if _holds(row.value, "message"):
            yield from decoder.close()
            yield from decoder.feed(raw)
            yield from decoder.close()
        elif isinstance(row.value.get("choices"), list):
            yield from decoder.feed(b"data: " + raw)
        elif row.value.get("error"):
            yield from decoder.feed(raw)
        else:
            yield Skipped(row.record, "the row is no answer: it has neither `choices` nor an `error`")
    yield from decoder.close()


class ApiCapturesImporter:
    """One trace an answer."""

    name = "api-captures"
    signs = "the events or the body of an answer of another API, with no request beside them"

    def recognises(self, sample: Sample) -> float:
        """By an object of one of the APIs but chat completions, in an event stream, an HTTP response or a row."""
        if _FRAME.match(sample.text.lstrip("\ufeff \t\r\n")):
            return 0.95 if _ANSWER.search(sample.text) else 0.0
        heads = map(head_of, sample.rows)
        return 0.92 if any(head and head.api not in {"", CHAT} for head in heads) else 0.0

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """Each answer; one of more than 64 MiB is skipped."""
        for answer in _answers(file):
            yield answer if isinstance(answer, Skipped) else _trace(answer, file.path, _warnings(answer))


def _answers(file: SourceFile) -> Iterator[CapturedAnswer | Skipped]:
    if not file.head.lstrip(_BLANK).startswith((b"{", b"[")):
        return _from_stream(file, ApiCaptureDecoder(), _TWO_EVENTS, _with_end)
    return _from_array(file) if _is_one_array(file) else _from_rows(file)


def _from_stream(
    file: SourceFile,
    decoder: ChatCaptureDecoder | ApiCaptureDecoder,
    two_events: re.Pattern[bytes],
    ended: Callable[[bytes], bytes],
) -> Iterator[CapturedAnswer | Skipped]:
    """The answers of a stream; where it has `two_events` without the empty line between, `ended` ends each line."""
    lost_empty_lines = two_events.search(file.head)  # and with them where events end
    try:
        with file.open() as stream:
            if lost_empty_lines:
                for line in read_lines(stream):
                    yield from [line] if isinstance(line, Skipped) else decoder.feed(ended(line.raw))
            else:
                while block := stream.read(_BLOCK):
                    yield from decoder.feed(block)
    except DamagedDataError as error:
        yield from decoder.close()
        yield Skipped("end of file", str(error))
    else:
        yield from decoder.close()


def _ended(line: bytes) -> bytes:
    return line + b"\n\n"


def _with_end(line: bytes) -> bytes:
    """A line of an event stream with the empty line that ends its event; the name stands before what it names."""
    return line + (b"\n" if line.startswith((b"event:", b"id:", b"retry:")) else b"\n\n")


@dataclass(frozen=True, slots=True)
class _JsonRecord:
    """A record of a JSON file: `value` is None where it is no JSON, `fault` says why."""

    place: str
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
            yield Skipped(record.place, record.fault or _NO_ANSWER)
            continue
        if not bounds.take(head) and answer is not None:
            number += 1
            yield answer.captured(number)
            answer = None
        between = _BETWEEN[framing]
        if answer is None:
            between, framing = b"", _framing(head)
            answer = ArrivingCapture(new_decoder(framing, _READERS[(head and head.api) or CHAT]))
        answer.take(between + _framed(record.raw, framing), head)
        if framing is Framing.WHOLE:
            bounds.end()
    if answer is not None:
        yield answer.captured(number + 1)


def _records(file: SourceFile) -> Iterator[_JsonRecord | Skipped]:
    """The records; a line that is broken too, as it may be part of a stream."""
    if layout_of(file.head) != "line":
        for row in read_rows(file):
            yield row if isinstance(row, Skipped) else _JsonRecord(row.record, row.raw, row.value)
        return
    try:
        with file.open() as stream:
            for line in read_lines(stream):
                yield line if isinstance(line, Skipped) else _record(line)
    except DamagedDataError as error:
        yield Skipped("end of file", str(error))


def _record(line: Line) -> _JsonRecord:
    place = f"line {line.number}"
    try:
        return _JsonRecord(place, line.raw, parse_json_bytes(line.raw))
    except ValueError as error:
        return _JsonRecord(place, line.raw, None, str(error))


def _framing(head: ObjectHead | None) -> Framing:
    """How an answer in rows came, told by its first: whole, in lines, or in events whose frames were left out."""
    if head is None or not head.api or head.is_whole:
        return Framing.WHOLE
    return Framing.LINES if head.api in OLLAMA else Framing.EVENTS


def _framed(raw: bytes, framing: Framing) -> bytes:
    """A record as the stream had it, without what parts it from the next: the last may have been cut off."""
    if framing is Framing.WHOLE:
        return raw
    return (b"data: " if framing is Framing.EVENTS else b"") + raw.translate(_ONE_LINE)


def _is_one_array(file: SourceFile) -> bool:
    """Whether a file is what Gemini streams without `alt=sse`: one array, whose elements are chunks of one answer."""
    heads = [head_of(row) for row in first_rows(file)] if layout_of(file.head) == "entry" else []
    return bool(heads) and all(head and head.api == GEMINI for head in heads) and len({h.id for h in heads if h}) == 1


def _from_array(file: SourceFile) -> Iterator[CapturedAnswer | Skipped]:
    answer = ArrivingCapture(api_decoder(GEMINI))
    try:
        with file.open() as stream:
            while block := stream.read(_BLOCK):
                answer.take(block)
    except DamagedDataError as error:
        yield Skipped("end of file", str(error))
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
    made = turn.generation
    assert isinstance(made, Generation)
    return Trace(
        turns=(turn,),
        model=made.answered_model,
        started=made.started or (Instant(answer.created_s) if answer.created_s else None),
        external_ids=tuple(answer_ids(answer, path)),
        recognised_by=RecognisedBy.FILE,
        provenance=Provenance(record=record, warnings=warnings),
    )
