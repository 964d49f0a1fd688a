"""Bare captures of chat completions, as `curl` prints them: bytes in, one answer after another out."""

import re

from inspector.memory import RECORD_BYTES
from inspector.wire.openai_arrival import ArrivingAnswer, CapturedAnswer
from inspector.wire.sse import ServerSentEvent, SseDecoder

MAX_ANSWER_BYTES = RECORD_BYTES
"""An answer that is longer is passed over."""

# A status line counts wherever it stands, as a body before it may lack its last line end. Within an event's JSON no
# line can end, so no answer that quotes one is cut.
STATUS_LINE = re.compile(
    r'HTTP/\d(?:\.\d)? (?P<status>[1-5]\d\d)(?: [^\r\n"]*)?\r?\n'
    r"(?:(?!data:|event:|id:|retry:)[A-Za-z][A-Za-z0-9-]*:|\r?\n)"
)


class ChatCaptureDecoder:
    """Cuts a capture into answers and decodes each; never raises, and where the bytes are cut does not matter.

    Answers may be event streams, JSON bodies, or both by turns, with the header lines of HTTP before them or without;
    `ArrivingAnswer` says how one is told from the next. Headers are read for the status and not kept, as they hold
    cookies and keys; what only announces or forwards (1xx, 3xx, a proxy's `200 Connection established`) is no answer.
    It holds the answer that has not ended, of at most `max_answer_bytes`, and one event of the stream beside it.
    Linear in the bytes.
    """

    def __init__(self, *, max_answer_bytes: int = MAX_ANSWER_BYTES) -> None:
        self._sse = SseDecoder()
        self._max = max_answer_bytes
        self._number = 0
        self._answer = ArrivingAnswer(None, max_answer_bytes)

    def feed(self, raw: bytes) -> list[CapturedAnswer]:
        """The answers that are known to have ended."""
        return self._take(self._sse.feed(raw))

    def close(self) -> list[CapturedAnswer]:
        """The end of the capture: the last answer. Another capture may follow, whose answers are counted on."""
        found = self._take(self._sse.close())
        self._begin(None, found, at_end=True)
        return found

    def _take(self, events: list[ServerSentEvent]) -> list[CapturedAnswer]:
        found: list[CapturedAnswer] = []
        for event in events:
            head = STATUS_LINE.search(event.raw) if "HTTP/" in event.raw else None
            if head:
                self._answer.take_text(event.raw[: head.start()])
                self._begin(int(head["status"]), found)
            elif self._answer.take(event):
                continue
            else:
                self._begin(None, found)
                self._answer.take(event)
        return found

    def _begin(self, status: int | None, found: list[CapturedAnswer], *, at_end: bool = False) -> None:
        if self._answer.says_something or (at_end and self._answer.is_empty_body):
            self._number += 1
            found.append(self._answer.captured(self._number))
        self._answer = ArrivingAnswer(status, self._max)
