"""Answers of any API without their requests, as `curl` prints them or a program stores them.

Chat completions have a separate importer. A file is one or several event streams (`data: {...}`), with or without the
HTTP header lines before each answer; or JSON: whole bodies, lines or chunks of a stream as rows, or one array of
chunks. An answer is one trace of one turn; if it was streamed, its deltas are the turn's chunks. No request is stored:
prompts, tools and results are unknown.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from weaklink.inspector.apis.captures import (
    MAX_ANSWER_BYTES,
    AnswerBounds,
    ArrivingCapture,
    CapturedAnswer,
    CaptureDecoder,
)
from weaklink.inspector.apis.gemini import API as GEMINI
from weaklink.inspector.apis.openai.chat import API as CHAT
from weaklink.inspector.apis.providers import OLLAMA, PROVIDERS, ObjectHead, decoder_of, head_of
from weaklink.inspector.importers.identity import answer_ids, instant
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import (
    Line,
    NotJsonError,
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
from weaklink.inspector.model import Generation, Json, Provenance, RecognisedBy, Trace
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import decode
from weaklink.inspector.wire.decoder import Framing, new_decoder

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
"""What only an answer has: events of Anthropic's and OpenAI's, an error, objects of OpenAI, Gemini and Ollama."""

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
    if _has_rows(file):
        found = _from_rows(file, CHAT)
    else:
        found = _from_stream(file, CaptureDecoder(CHAT), _CHAT_EVENTS, _ended)
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
        return _from_stream(file, CaptureDecoder(), _TWO_EVENTS, _with_end)
    return _from_array(file) if _is_one_array(file) else _from_rows(file)


def _from_stream(
    file: SourceFile,
    decoder: CaptureDecoder,
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
    """A record of a JSON file: `value` is None if it is not JSON, `skipped` is the reason."""

    record: str
    raw: bytes
    value: Json
    skipped: Skipped | None = None


def _from_rows(file: SourceFile, api: str = "") -> Iterator[CapturedAnswer | Skipped]:
    """The answers of rows: all of one API, or of any, where a row without a head may be part of the answer before.

    The rows of one API have been read as lines of a stream since 0.1, each with the empty line that ends its event; so
    they are still, since their digest identifies answers without an id.
    """
    bounds = AnswerBounds(is_framed=bool(api))
    answer: ArrivingCapture | None = None
    framing = Framing.WHOLE
    ending = b"\n\n" if api else b""
    number = 0
    for record in _records(file):
        if isinstance(record, Skipped):
            yield record
            continue
        head = head_of(record.value)
        if head is None and (api or answer is None or bounds.is_finished):
            yield record.skipped or Skipped(record.record, _NO_ANSWER)
            continue
        if not bounds.add(head) and answer is not None:
            number += 1
            answer.add(ending)
            yield answer.captured(number)
            answer = None
        separator = _SEPARATORS[framing]
        if answer is None:
            separator, framing = b"", _framing(head)
            answer = ArrivingCapture(new_decoder(framing, _READERS[(head and head.api) or CHAT]))
        raw = record.raw.translate(_ONE_LINE) if api else record.raw
        answer.add(separator + _framed(raw, framing), head)
        if framing is Framing.WHOLE:
            bounds.end()
    if answer is not None:
        answer.add(ending)
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
    except NotJsonError as error:
        return _JsonRecord(record, line.raw, None, Skipped(record, str(error), error.offset))


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
    answer = ArrivingCapture(decoder_of(GEMINI))
    for block in until_damage(blocks_of(file)):
        if isinstance(block, Skipped):
            yield block
        else:
            answer.add(block)
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
        started=generation.started or instant(answer.created),
        external_ids=tuple(answer_ids(answer, path)),
        recognised_by=RecognisedBy.FILE,
        provenance=Provenance(record=record, warnings=warnings),
    )


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
