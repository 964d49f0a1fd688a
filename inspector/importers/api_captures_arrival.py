"""Event streams, HTTP responses and lines of bare captures: bytes in, the answers of any API out, decoded."""

import hashlib

import msgspec

from inspector.importers.api_captures_answers import AnswerBounds, ObjectHead, head_of
from inspector.importers.identity import instant
from inspector.model import Json
from inspector.wire import anthropic_messages, gemini, ollama, openai_completions, openai_responses
from inspector.wire.assembly import TurnAssembly
from inspector.wire.decoder import Decoder
from inspector.wire.events import WireEvent
from inspector.wire.json_text import parse_json
from inspector.wire.openai_arrival import CapturedAnswer
from inspector.wire.openai_captures import MAX_ANSWER_BYTES, STATUS_LINE
from inspector.wire.providers import decoder_for
from inspector.wire.sse import ServerSentEvent, SseDecoder

_BLANK = "\ufeff\r\n\t "
_STREAM_STARTS = ("data:", "event:", "id:", "retry:", ":")
_BODY_STARTS = ("{", "[")
_DONE = "[DONE]"
_PATHS = {
    openai_completions.API: "/v1/completions",
    openai_responses.API: "/v1/responses",
    anthropic_messages.API: "/v1/messages",
    gemini.API: "/v1/models/x:streamGenerateContent",
    ollama.CHAT: "/api/chat",
    ollama.GENERATE: "/api/generate",
}


def api_decoder(api: str, *, status: int | None = None) -> Decoder:
    """A decoder for an answer of this kind of endpoint, however it is framed; of any where `api` is empty."""
    return decoder_for(_PATHS.get(api, ""), status=status)


class ArrivingCapture:
    """An answer while its bytes come, which `decoder` reads; of more than `limit` bytes nothing is kept."""

    def __init__(self, decoder: Decoder, *, limit: int = MAX_ANSWER_BYTES) -> None:
        self._decoder = decoder
        self._left = limit
        self._assembly: TurnAssembly | None = None
        self._sha256 = hashlib.sha256()
        self._created: Json = None

    def take(self, raw: bytes, head: ObjectHead | None = None) -> None:
        """Take bytes of the answer; `head` is that of the object in them."""
        self._sha256.update(raw)
        self._left -= len(raw)
        self._created = self._created or (head.created if head else None)
        if self._left >= 0:
            self._extend(self._decoder.feed(raw))
        else:
            self._assembly = None

    def captured(self, number: int) -> CapturedAnswer:
        """The answer, now that it has ended."""
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
    """Cuts a capture into answers and decodes each; never raises, and where the bytes are cut does not matter.

    Answers are event streams, bodies of JSON or of lines of it, or all by turns, with the header lines of HTTP before
    them or without; headers are read for the status and not kept. It holds the answer that has not ended, of at most
    64 MiB, and one event of the stream beside it.
    """

    def __init__(self) -> None:
        self._sse = SseDecoder()
        self._number = 0
        self._status: int | None = None
        self._answer: ArrivingCapture | None = None
        self._bounds = AnswerBounds(is_framed=True)
        self._is_whole = self._goes_on = False

    def feed(self, raw: bytes) -> list[CapturedAnswer]:
        """The answers that are known to have ended."""
        return self._take(self._sse.feed(raw))

    def close(self) -> list[CapturedAnswer]:
        """The end of the capture: the last answer."""
        found = self._take(self._sse.close())
        self._begin(None, found, at_end=True)
        return found

    def _take(self, events: list[ServerSentEvent]) -> list[CapturedAnswer]:
        found: list[CapturedAnswer] = []
        for event in events:
            head = STATUS_LINE.search(event.raw) if "HTTP/" in event.raw else None
            if head:
                if before := event.raw[: head.start()].strip(_BLANK):
                    self._add(before, None)
                self._begin(int(head["status"]), found)
            elif self._goes_on:
                self._add(event.raw, None)
            else:
                self._take_event(event, found)
            self._goes_on = not event.complete
        return found

    def _take_event(self, event: ServerSentEvent, found: list[CapturedAnswer]) -> None:
        start = event.raw.lstrip(_BLANK)
        is_body = start.startswith(_BODY_STARTS)
        head: ObjectHead | None = None
        if event.data == _DONE:
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
            if not text.strip(_BLANK):
                return
            self._answer = ArrivingCapture(api_decoder(head.api if head else "", status=self._status))
        self._answer.take(text.encode("utf-8", "surrogateescape"), head)

    def _begin(self, status: int | None, found: list[CapturedAnswer], *, at_end: bool = False) -> None:
        """Hand out the answer so far, if it is one: what only forwards or announces (1xx, 3xx, a tunnel) is none."""
        known = self._status
        if self._answer is None and known is not None and (known >= 400 or (at_end and known < 300)):
            self._answer = ArrivingCapture(api_decoder("", status=known))
        if self._answer is not None and (known is None or 200 <= known < 300 or known >= 400):
            self._number += 1
            found.append(self._answer.captured(self._number))
        self._answer, self._status = None, status
        self._bounds = AnswerBounds(is_framed=True)
        self._is_whole = False


def _value(text: str) -> Json:
    try:
        value: Json = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return _patiently(text)
    return value


def _patiently(text: str) -> Json:
    try:
        return parse_json(text.lstrip("\ufeff"))
    except ValueError:
        return None
