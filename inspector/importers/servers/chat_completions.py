"""Bare answers of chat completion servers, as `curl` prints them or a program writes them down.

A file is an event stream or several (`data: {...}`), with the header lines of HTTP before each or without; or JSON:
bodies that came whole, or the chunks of a stream as rows. An answer is one trace of one turn, and its deltas are the
turn's chunks, without times. No request is kept here: prompts, tools and results are unknown.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from inspector.apis.openai.chat_captures import MAX_ANSWER_BYTES, CapturedAnswer, ChatCaptureDecoder
from inspector.importers.compression import DamagedDataError
from inspector.importers.identity import answer_ids
from inspector.importers.records import read_lines, read_rows, too_long
from inspector.importers.source import FileSample, JsonObject, Skipped, SourceFile
from inspector.model import Generation, Instant, Provenance, RecognisedBy, Trace

_BLOCK = 1 << 16
_BLANK = b"\xef\xbb\xbf \t\r\n"
_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")  # within JSON both stand between values only
_FRAME = re.compile(r"(?:data|event|id|retry)?:|HTTP/\d")
_ANSWER = re.compile(r'"choices"\s*:\s*\[')
_OTHER_API = re.compile(r'"object"\s*:\s*"text_completion"')
_ERROR_OR_END = re.compile(r'^(?:data:[ \t]*)?(?:\[DONE\]|\{\s*"error"\s*:)', re.MULTILINE)
_TWO_EVENTS = re.compile(rb"^data:[^\n]*\}[ \t]*\r?\ndata:", re.MULTILINE)
_WITH_AN_ERROR = frozenset({"error", "user_id"})
_ONLY_THE_ANSWER = "the source keeps the answer only: no prompt, tools or results"


class ChatCompletionsImporter:
    """One trace an answer."""

    name = "chat-completions"
    signs = "the `choices` of chat completions, or the error of a server, with no request beside them"

    def recognises(self, sample: FileSample) -> float:
        """By the `choices` of a chat completion in an event stream, an HTTP response or a row; faintly by an error."""
        text = sample.text.lstrip("\ufeff \t\r\n")
        if _FRAME.match(text):
            if _OTHER_API.search(text):
                return 0.0
            return 0.9 if _ANSWER.search(text) else 0.5 if _ERROR_OR_END.search(text) else 0.0
        if any(map(_is_answer, sample.rows)):
            return 0.9
        return 0.3 if any(map(_is_error, sample.rows)) else 0.0

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """Each answer; one of more than 64 MiB is skipped."""
        is_json = file.head.lstrip(_BLANK).startswith((b"{", b"["))
        for answer in _from_rows(file) if is_json else _from_stream(file):
            yield answer if isinstance(answer, Skipped) else _trace(answer, file.path)


def _is_answer(row: JsonObject) -> bool:
    named = isinstance(row.get("choices"), list) and str(row.get("object", "")).startswith("chat.completion")
    return named or _holds(row, "message") or _holds(row, "delta")


def _holds(row: JsonObject, key: str) -> bool:
    """Whether one of the row's choices has this member."""
    choices = row.get("choices")
    return isinstance(choices, list) and any(isinstance(choice, dict) and key in choice for choice in choices)


def _is_error(row: JsonObject) -> bool:
    return isinstance(row.get("error"), dict) and row.keys() <= _WITH_AN_ERROR


def _from_stream(file: SourceFile) -> Iterator[CapturedAnswer | Skipped]:
    decoder = ChatCaptureDecoder()
    lost_empty_lines = _TWO_EVENTS.search(file.head)  # and with them where events end
    try:
        with file.open() as stream:
            if lost_empty_lines:
                for line in read_lines(stream):
                    yield from [line] if isinstance(line, Skipped) else decoder.feed(line.raw + b"\n\n")
            else:
                while block := stream.read(_BLOCK):
                    yield from decoder.feed(block)
    except DamagedDataError as error:
        yield from decoder.close()
        yield Skipped("end of file", str(error))
    else:
        yield from decoder.close()


def _from_rows(file: SourceFile) -> Iterator[CapturedAnswer | Skipped]:
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


def _trace(answer: CapturedAnswer, path: Path) -> Trace | Skipped:
    record = f"answer {answer.number}"
    if answer.decoded is None:
        return Skipped(record, too_long(MAX_ANSWER_BYTES))
    turn = answer.decoded.turn
    assert isinstance(turn.generation, Generation)
    return Trace(
        turns=(turn,),
        model=turn.generation.answered_model,
        started=Instant(answer.created_s) if answer.created_s else None,
        external_ids=tuple(answer_ids(answer, path)),
        recognised_by=RecognisedBy.FILE,
        provenance=Provenance(record=record, warnings=(_ONLY_THE_ANSWER,)),
    )
