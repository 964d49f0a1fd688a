"""Bare captures of chat completions, as `curl` prints them: bytes in, one answer after another out.

A capture has no framing, so the contents of the events decide where an answer ends and another begins.
"""

import hashlib
import re
from typing import Any

import msgspec
from msgspec import Struct

from weaklink.inspector.apis.openai.chat import API, ChatReader
from weaklink.inspector.memory import RECORD_BYTES
from weaklink.inspector.wire.decoder import DONE, EventStreamDecoder, Framing, decode_answer, new_decoder
from weaklink.inspector.wire.events import DecodedTurn, TurnAssembly
from weaklink.inspector.wire.framing import ServerSentEvent, SseDecoder

_BLANK = "\ufeff\r\n\t "
_STREAM_STARTS = ("data:", "event:", "id:", "retry:", ":")
_BODY_STARTS = ("{", "[")
MAX_ANSWER_BYTES = RECORD_BYTES
"""A longer answer is not decoded."""

# A status line counts at any position, since a body before it may lack its last line end. The JSON of an event cannot
# contain a line end, so an answer that quotes a status line is not split.
STATUS_LINE = re.compile(
    r'HTTP/\d(?:\.\d)? (?P<status>[1-5]\d\d)(?: [^\r\n"]*)?\r?\n'
    r"(?:(?!data:|event:|id:|retry:)[A-Za-z][A-Za-z0-9-]*:|\r?\n)"
)


class CapturedAnswer(Struct, frozen=True):
    """One answer of a capture; `number` counts from 1.

    `decoded` is None if the answer was longer than the bound. `created_s` is the server's time of the answer, in
    seconds since 1970, None if there is none. `digest` is the first 16 hexadecimal digits of the SHA-256 of its bytes.
    """

    number: int
    decoded: DecodedTurn | None
    created_s: float | None
    digest: str


class ArrivingChatAnswer:
    """An answer with the HTTP status `status`, None if no header was before it. Holds at most `limit` bytes."""

    def __init__(self, status: int | None, limit: int) -> None:
        self._status = status
        self._left = limit
        self._decoder = EventStreamDecoder(ChatReader(status=status))
        self._assembly = TurnAssembly(API)
        self._body: list[str] = []  # the texts of an answer that came whole
        self._is_whole = False
        self._sha256 = hashlib.sha256()
        self._has_text = False
        self._heads = _Heads()

    @property
    def says_something(self) -> bool:
        """Whether this is an answer at all: it has a text, or the status of an error."""
        if self._status is None:
            return self._has_text
        return self._status >= 400 or (self._has_text and 200 <= self._status < 300)

    @property
    def is_empty_body(self) -> bool:
        """Whether the headers of a good answer came, and nothing after them."""
        return self._status is not None and 200 <= self._status < 300 and not self._has_text

    def take(self, event: ServerSentEvent) -> bool:
        """Take an event; False, with nothing taken, if it belongs to another answer."""
        text = event.raw.lstrip(_BLANK)
        if self._is_whole:
            if text.startswith((*_STREAM_STARTS, *_BODY_STARTS)):
                return False
        elif event.data == DONE:
            self._heads.is_done = True
        elif event.data is not None:
            head = _head(event.data)
            if self._heads.are_over_before(head):
                return False
            self._heads.learn(head)
        elif self._heads.has_ended and text.startswith(_BODY_STARTS):
            return False
        self.take_text(event.raw)
        return True

    def take_text(self, text: str) -> None:
        """Take a piece of the capture, unchanged."""
        start = text.lstrip(_BLANK)
        if not self._has_text and start:
            self._has_text = True
            is_error_page = self._status is not None and self._status >= 400 and not start.startswith(_STREAM_STARTS)
            self._is_whole = is_error_page or start.startswith(_BODY_STARTS)
        raw = text.encode("utf-8", "surrogateescape")
        self._sha256.update(raw)
        self._left -= len(raw)
        if self._left < 0:
            self._decoder, self._assembly, self._body = EventStreamDecoder(ChatReader()), TurnAssembly(API), []
        elif self._is_whole:
            self._body.append(text)
        else:
            self._assembly.extend(self._decoder.feed(raw))

    def captured(self, number: int) -> CapturedAnswer:
        """The finished answer."""
        return CapturedAnswer(number, self._decoded(), self._created_s(), self._sha256.hexdigest()[:16])

    def _decoded(self) -> DecodedTurn | None:
        if self._left < 0:
            return None
        if self._is_whole or not self._has_text:
            decoder = new_decoder(Framing.WHOLE, ChatReader, status=self._status)
            return decode_answer(decoder, [(None, "".join(self._body).encode("utf-8", "surrogateescape"))])
        self._assembly.extend(self._decoder.close())
        return self._assembly.decoded()

    def _created_s(self) -> float | None:
        if self._is_whole:
            self._heads.learn(_head("".join(self._body)))
        created = self._heads.created
        is_time = isinstance(created, int | float) and not isinstance(created, bool) and 0 < created < 1e11
        return float(created) if is_time else None


class _HeadDelta(msgspec.Struct):
    role: Any = None


class _HeadChoice(msgspec.Struct):
    delta: _HeadDelta | None = None
    finish_reason: Any = None


class _Head(msgspec.Struct):
    """The members of a chunk that show which answer it belongs to."""

    id: Any = None
    created: Any = None
    choices: list[_HeadChoice] | None = None
    error: Any = None

    def names_the_role(self) -> bool:
        return any(choice.delta is not None and choice.delta.role for choice in self.choices or ())

    def is_finished(self) -> bool:
        return any(choice.finish_reason for choice in self.choices or ())


class _Heads:
    """What the heads of an answer's chunks have shown so far."""

    def __init__(self) -> None:
        self.is_done = False
        self.created: Any = None
        self._id = ""
        self._under_id = 0  # how many chunks
        self._is_finished = False

    @property
    def has_ended(self) -> bool:
        return self.is_done or self._is_finished

    def are_over_before(self, head: _Head | None) -> bool:
        if self.is_done:
            return head is None or head.choices is not None or bool(head.error)
        if head is None or not head.choices:
            return False
        if isinstance(head.id, str) and head.id:
            is_first = self._is_finished or (self._under_id > 1 and head.names_the_role())
            return bool(self._id) and head.id != self._id and is_first
        return not self._id and self._is_finished and head.names_the_role()

    def learn(self, head: _Head | None) -> None:
        if head is None:
            return
        if isinstance(head.id, str) and head.id:
            self._id = self._id or head.id
            self._under_id += head.id == self._id
        self.created = self.created or head.created
        self._is_finished = self._is_finished or head.is_finished()


_decode_head = msgspec.json.Decoder(_Head).decode


def _head(text: str) -> _Head | None:
    """The head of a chunk; None for a broken object, an empty head for anything else."""
    try:
        return _decode_head(text)
    except (ValueError, RecursionError):
        return None if text.lstrip().startswith("{") else _Head()


class ChatCaptureDecoder:
    """Splits a capture into answers and decodes each; never raises, and where the bytes are split does not matter.

    Answers may be event streams, JSON bodies, or both alternately, with HTTP header lines before them or without;
    `ArrivingChatAnswer` decides where one ends. Headers are read for the status and not kept, since they contain
    cookies and keys; interim and forwarding responses (1xx, 3xx, a proxy's `200 Connection established`) are no
    answers. It holds the answer that has not ended, at most `max_answer_bytes` of it, and one event of the stream.
    Linear in the bytes.
    """

    def __init__(self, *, max_answer_bytes: int = MAX_ANSWER_BYTES) -> None:
        self._sse = SseDecoder()
        self._max = max_answer_bytes
        self._number = 0
        self._answer = ArrivingChatAnswer(None, max_answer_bytes)

    def feed(self, raw: bytes) -> list[CapturedAnswer]:
        """The answers that are known to have ended."""
        return self._take(self._sse.feed(raw))

    def close(self) -> list[CapturedAnswer]:
        """End the capture; returns the last answer. Another capture may follow; its answers are numbered further."""
        answers = self._take(self._sse.close())
        self._begin(None, answers, at_end=True)
        return answers

    def _take(self, events: list[ServerSentEvent]) -> list[CapturedAnswer]:
        answers: list[CapturedAnswer] = []
        for event in events:
            head = STATUS_LINE.search(event.raw) if "HTTP/" in event.raw else None
            if head:
                self._answer.take_text(event.raw[: head.start()])
                self._begin(int(head["status"]), answers)
            elif self._answer.take(event):
                continue
            else:
                self._begin(None, answers)
                self._answer.take(event)
        return answers

    def _begin(self, status: int | None, found: list[CapturedAnswer], *, at_end: bool = False) -> None:
        if self._answer.says_something or (at_end and self._answer.is_empty_body):
            self._number += 1
            found.append(self._answer.captured(self._number))
        self._answer = ArrivingChatAnswer(status, self._max)
