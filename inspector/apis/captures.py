"""Answers without their requests, as `curl` prints them: bytes in, one answer after another out.

A capture has no framing of its own: event streams, JSON bodies and JSON lines follow one another, with the HTTP header
lines before each answer or without. Header lines begin an answer where they are there. Otherwise the objects decide
(`AnswerBounds`): an explicit end (`[DONE]`, `message_stop`, a whole body), an event that only begins an answer, another
API, or, after a finish reason, another id. For example, this is two answers:

    data: {"id": "a", "choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    data: {"id": "a", "choices": [], "usage": {...}}          the same id: still the first
    data: {"id": "b", "choices": [{"delta": {"role": "assistant"}}]}
"""

import hashlib
import re

import msgspec
from msgspec import Struct

from weaklink.inspector.apis.providers import ObjectHead, decoder_of, head_of
from weaklink.inspector.memory import RECORD_BYTES
from weaklink.inspector.model import Json
from weaklink.inspector.wire.decoder import DONE, Decoder
from weaklink.inspector.wire.events import DecodedTurn, TurnAssembly, WireEvent
from weaklink.inspector.wire.framing import ServerSentEvent, SseDecoder
from weaklink.inspector.wire.provider_json import try_parse_json

MAX_ANSWER_BYTES = RECORD_BYTES
"""A longer answer is not decoded."""

_BLANK = "\ufeff\r\n\t "
_STREAM_STARTS = ("data:", "event:", "id:", "retry:", ":")
_BODY_STARTS = ("{", "[")

# A status line counts at any position, since a body before it may lack its last line end. The JSON of an event cannot
# contain a line end, so an answer that quotes a status line is not split.
_STATUS_LINE = re.compile(
    r'HTTP/\d(?:\.\d)? (?P<status>[1-5]\d\d)(?: [^\r\n"]*)?\r?\n'
    r"(?:(?!data:|event:|id:|retry:)[A-Za-z][A-Za-z0-9-]*:|\r?\n)"
)


class CapturedAnswer(Struct, frozen=True):
    """One answer of a capture; `number` counts from 1.

    `decoded` is None if the answer was longer than the bound. `created` is the server's time of the answer, as it was
    sent; None if there is none. `digest` is the first 16 hexadecimal digits of the SHA-256 of its bytes.
    """

    number: int
    decoded: DecodedTurn | None
    created: Json
    digest: str


class AnswerBounds:
    """Finds, object by object, where one answer of a capture ends and the next begins.

    `is_framed` is True if the capture itself groups answers, as a JSON array or an event stream does. Otherwise
    (lines), an object without an id after a finish belongs to another answer.
    """

    def __init__(self, *, is_framed: bool) -> None:
        self._is_framed = is_framed
        self._is_empty, self._has_ended, self._is_finished = True, False, False
        self._id = self._api = ""
        self._under_id = 0  # how many objects

    @property
    def is_finished(self) -> bool:
        """Whether the answer has ended, or its finish reason came."""
        return self._has_ended or self._is_finished

    def add(self, head: ObjectHead | None) -> bool:
        """Add the head of the next object, None if it has none; returns False if another answer begins with it."""
        belongs = self._belongs(head)
        if not belongs:
            self._has_ended, self._is_finished, self._id, self._api, self._under_id = False, False, "", "", 0
        self._is_empty = False
        if head is not None:
            self._has_ended = self._has_ended or head.ends
            self._is_finished = self._is_finished or head.finishes
            self._id, self._api = self._id or head.id, self._api or head.api
            self._under_id += bool(head.id) and head.id == self._id
        return belongs

    def end(self) -> None:
        """End the answer by an explicit marker: `[DONE]`."""
        self._has_ended = not self._is_empty

    def _belongs(self, head: ObjectHead | None) -> bool:
        if self._is_empty:
            return True
        if self._has_ended:
            return head is None  # what is said after the end
        if head is not None and (head.begins or self._is_another(head.api)):
            return False
        if head is not None and head.id and self._id and head.id != self._id:
            return not self._is_finished and not (head.names_role and self._under_id > 1)
        if not self._is_finished or (head is not None and head.id and self._id):
            return True
        return self._is_framed and not (head is not None and head.names_role and not head.id and not self._id)

    def _is_another(self, api: str) -> bool:
        return bool(api and self._api) and api != self._api


class ArrivingCapture:
    """An answer that `decoder` reads as its bytes arrive; nothing is kept of an answer with more than `limit` bytes."""

    def __init__(self, decoder: Decoder, *, limit: int = MAX_ANSWER_BYTES) -> None:
        self._decoder = decoder
        self._left = limit
        self._assembly: TurnAssembly | None = None
        self._sha256 = hashlib.sha256()
        self._created: Json = None

    def add(self, raw: bytes, head: ObjectHead | None = None) -> None:
        """Add bytes of the answer; `head` is the head of the object in them."""
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
        return CapturedAnswer(number, assembly.decoded(), self._created, digest)

    def _extend(self, events: list[WireEvent]) -> None:
        if events and self._assembly is None:
            self._assembly = TurnAssembly(self._decoder.api, streamed=self._decoder.streamed)
        if self._assembly is not None:
            self._assembly.extend(events)


class CaptureDecoder:
    """Splits a capture into answers and decodes each; never raises, and where the bytes are split does not matter.

    `api` is the kind of endpoint of answers that do not show theirs. Headers are read for the status and not kept,
    since they contain cookies and keys; interim and forwarding responses (1xx, 3xx, a proxy's `200 Connection
    established`) are no answers. It holds the answer that has not ended, at most `max_answer_bytes` of it, and one
    event of the stream. Linear in the bytes.
    """

    def __init__(self, api: str = "", *, max_answer_bytes: int = MAX_ANSWER_BYTES) -> None:
        self._sse = SseDecoder()
        self._api = api
        self._max = max_answer_bytes
        self._number = 0
        self._status: int | None = None
        self._answer: ArrivingCapture | None = None
        self._bounds = AnswerBounds(is_framed=True)
        self._is_whole = self._continues_event = False

    def feed(self, raw: bytes) -> list[CapturedAnswer]:
        """The answers that are known to have ended."""
        return self._read(self._sse.feed(raw))

    def close(self) -> list[CapturedAnswer]:
        """End the capture; returns the last answer. Another capture may follow; its answers are numbered further."""
        answers = self._read(self._sse.close())
        self._begin(None, answers, at_end=True)
        return answers

    def _read(self, events: list[ServerSentEvent]) -> list[CapturedAnswer]:
        answers: list[CapturedAnswer] = []
        for event in events:
            head = _STATUS_LINE.search(event.raw) if "HTTP/" in event.raw else None
            if head:
                if before := event.raw[: head.start()].strip(_BLANK):
                    self._add(before, _head(before))
                self._begin(int(head["status"]), answers)
            elif self._continues_event:
                self._add(event.raw, None)
            else:
                self._read_event(event, answers)
            self._continues_event = not event.complete
        return answers

    def _read_event(self, event: ServerSentEvent, answers: list[CapturedAnswer]) -> None:
        start = event.raw.lstrip(_BLANK)
        is_body = start.startswith(_BODY_STARTS)
        head: ObjectHead | None = None
        if event.data == DONE:
            self._bounds.end()
        elif event.data is not None or is_body:
            head = _head(event.raw if event.data is None else event.data)
            is_next = is_body and self._bounds.is_finished
            begins = not self._bounds.add(head) or is_next
            if begins or (self._is_whole and (is_body or start.startswith(_STREAM_STARTS))):
                self._begin(None, answers)
                self._bounds.add(head)
        if self._answer is None:
            is_error_page = self._status is not None and self._status >= 400
            self._is_whole = is_body or (is_error_page and not start.startswith(_STREAM_STARTS))
        self._add(event.raw, head)

    def _add(self, text: str, head: ObjectHead | None) -> None:
        if self._answer is None:
            if not text.strip(_BLANK):
                return
            self._answer = self._new_answer((head and head.api) or self._api)
        self._answer.add(text.encode("utf-8", "surrogateescape"), head)

    def _new_answer(self, api: str) -> ArrivingCapture:
        return ArrivingCapture(decoder_of(api, status=self._status), limit=self._max)

    def _begin(self, status: int | None, answers: list[CapturedAnswer], *, at_end: bool = False) -> None:
        """Append the answer so far to `answers`, unless the response forwards or announces (1xx, 3xx, a tunnel)."""
        before = self._status
        if self._answer is None and before is not None and (before >= 400 or (at_end and 200 <= before < 300)):
            self._answer = self._new_answer(self._api)
        if self._answer is not None and (before is None or 200 <= before < 300 or before >= 400):
            self._number += 1
            answers.append(self._answer.captured(self._number))
        self._answer, self._status = None, status
        self._bounds = AnswerBounds(is_framed=True)
        self._is_whole = False


def _head(text: str) -> ObjectHead | None:
    """The head of an object; one that shows nothing for an object that is cut off."""
    try:
        value: Json = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        value = try_parse_json(text.lstrip("\ufeff"))
    if value is None and text.lstrip().startswith("{"):
        return ObjectHead("")
    return head_of(value)
