"""The buffer between a recorder's observers and its thread: bytes with their times, bounded, without ever waiting.

An observer belongs to one exchange; one thread at a time calls it, and many exchanges run at once. The observer appends
at one end of each list and the recorder's thread takes from the other, so no lock is needed. Only the count of waiting
bytes is shared. Two threads may lose an update of it, so the recorder's thread resets the count with every batch.
"""

from collections import deque
from enum import Enum
from threading import Event
from typing import TypeAlias

from weaklink.inspector.sessions.exchange import ExchangeEnd, ExchangeObserver, Headers, RequestHead, header_of

MAX_REQUEST_BYTES = 64 << 20
"""The most bytes that are kept of one request's body, as it was sent."""

PER_PIECE, PER_EXCHANGE = 128, 4096
"""How many bytes a piece counts for in addition to its own, and an exchange in addition to its pieces."""

_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS"})
_HURRY_BYTES = 4 << 20  # when more is waiting, the recorder's thread wakes early
Piece: TypeAlias = tuple[bytes, float | None]


class ExchangeEvent(Enum):
    """What happened to an exchange, apart from bytes that arrived."""

    BEGAN = "began"
    REQUEST_COMPLETE = "request complete"
    ANSWER_BEGAN = "answer began"
    ENDED = "ended"


class EventBuffer:
    """What waits for the recorder's thread, of all exchanges: at most `max_bytes`; more is dropped and counted.

    In addition, the thread may hold as much that it has begun to read. `events` are in the order in which they
    happened, over all exchanges.
    """

    def __init__(self, max_bytes: int) -> None:
        self.events: deque[tuple[ExchangeEvent, ExchangeTape]] = deque()
        self.waiting_bytes = 0
        self.dropped_bytes = 0
        self.dropped_exchanges = 0
        self.is_closed = False
        self._max_bytes = max_bytes
        self.is_awake = False
        self._wake, self._hurry = Event(), Event()

    def begin(self, head: RequestHead) -> ExchangeObserver:
        """An observer for an exchange; one that keeps nothing if too much is waiting."""
        if self.is_closed:
            return IgnoringObserver()
        if not self.admits(PER_EXCHANGE):
            self.dropped_exchanges += 1
            return IgnoringObserver()
        tape = ExchangeTape(head, self)
        self.note(ExchangeEvent.BEGAN, tape)
        return tape

    def admits(self, size: int) -> bool:
        """Whether there is room for so many bytes; if so, they count as waiting from now on."""
        waiting = self.waiting_bytes + size
        if waiting > self._max_bytes or self.is_closed:
            return False
        self.waiting_bytes = waiting
        if waiting > _HURRY_BYTES:
            self._hurry.set()
        return True

    def wake(self) -> None:
        """Wake the thread; to be called after something was appended, if the thread is not awake."""
        self.is_awake = True
        self._wake.set()

    def note(self, what: ExchangeEvent, tape: "ExchangeTape") -> None:
        """Append what happened to an exchange."""
        self.events.append((what, tape))
        if not self.is_awake:
            self.wake()

    def wait(self, gather_s: float, idle_s: float) -> None:
        """Return soon after something came: after `gather_s`, earlier if much is waiting; after `idle_s` at the latest.

        For the recorder's thread, which must then process everything that is waiting.
        """
        if self._wake.wait(idle_s):
            self._hurry.wait(gather_s)
        self._wake.clear()
        self._hurry.clear()
        self.is_awake = False  # before anything is taken, so that whatever comes now wakes the thread again
        self.waiting_bytes = 0

    def hurry(self) -> None:
        """Make `wait` return at once."""
        self._hurry.set()
        self._wake.set()


class ExchangeTape:
    """What was observed of one exchange and is not yet processed; see `ExchangeObserver`."""

    __slots__ = (
        "_answer",
        "_buffer",
        "_expected",
        "_is_full",
        "_is_request_complete",
        "_request_bytes",
        "answer_lost",
        "end",
        "ended_at_s",
        "head",
        "headers",
        "message",
        "request",
        "request_lost",
        "status",
    )

    def __init__(self, head: RequestHead, buffer: EventBuffer) -> None:
        self.head = head
        self.request: list[bytes] = []
        self.request_lost = 0
        self.status: int | None = None
        self.headers: Headers = ()
        self.answer_lost = 0
        self.end: ExchangeEnd | None = None
        self.ended_at_s: float | None = None
        self.message = ""
        self._buffer = buffer
        self._answer: list[Piece] = []
        self._request_bytes = 0
        self._is_request_complete = self._is_full = False
        length = header_of(head.headers, "content-length").strip()
        self._expected = int(length) if length.isascii() and length.isdigit() and len(length) < 19 else None

    def request_arrived(self, raw: bytes) -> None:
        """More of the request's body."""
        size = self._request_bytes = self._request_bytes + len(raw)
        if self.request_lost or size > MAX_REQUEST_BYTES or not self._buffer.admits(len(raw) + PER_PIECE):
            self.request_lost += len(raw)
            self._buffer.dropped_bytes += len(raw)
        else:
            self.request.append(raw)
        if size == self._expected and not self._is_request_complete:
            self._is_request_complete = True
            self._buffer.note(ExchangeEvent.REQUEST_COMPLETE, self)

    def answer_began(self, status: int, headers: Headers, at_s: float | None) -> None:
        """The answer's status and headers came."""
        self.headers = headers
        self.status = status  # set after the headers: to the recorder's thread it means that both are there
        self._buffer.note(ExchangeEvent.ANSWER_BEGAN, self)

    def answer_arrived(self, raw: bytes, at_s: float | None) -> None:
        """More of the answer's body."""
        if self._is_full or not self._buffer.admits(len(raw) + PER_PIECE):
            self._is_full = True  # bytes after a gap cannot be decoded
            self.answer_lost += len(raw)
            self._buffer.dropped_bytes += len(raw)
        else:
            self._answer.append((raw, at_s))
            if not self._buffer.is_awake:
                self._buffer.wake()

    def ended(self, end: ExchangeEnd, at_s: float | None, message: str = "") -> None:
        """The exchange has ended."""
        self.end, self.ended_at_s, self.message = end, at_s, message
        self._buffer.note(ExchangeEvent.ENDED, self)

    def dropped(self, *, of_request: int, of_answer: int) -> None:
        """So many bytes of the bodies were dropped before they came here; what follows them is dropped too."""
        self.request_lost += of_request
        self.answer_lost += of_answer
        self._is_full = self._is_full or of_answer > 0
        self._buffer.dropped_bytes += of_request + of_answer

    def take_answer(self) -> list[Piece]:
        """The pieces of the answer that came since the last call; for the recorder's thread."""
        taken = self._answer[:]
        del self._answer[: len(taken)]
        return taken

    @property
    def duration_s(self) -> float | None:
        """The seconds from the request to the end; None if they are not known."""
        if self.ended_at_s is None or self.head.at_s is None:
            return None
        return self.ended_at_s - self.head.at_s

    @property
    def has_whole_request(self) -> bool:
        """Whether the request has the length that its head announced, or needs no body; False if that is unknown."""
        has_no_body = not self._request_bytes and (self._expected == 0 or self.head.method.upper() in _WITHOUT_BODY)
        return self._is_request_complete or has_no_body

    @property
    def has_much(self) -> bool:
        """Whether much of the answer is waiting."""
        return sum(len(raw) + PER_PIECE for raw, _ in self._answer) > _HURRY_BYTES


class IgnoringObserver:
    """Observes exchanges that are not recorded."""

    def began(self, head: RequestHead) -> ExchangeObserver:
        """An observer that keeps nothing."""
        return self

    def request_arrived(self, raw: bytes) -> None:
        """Keep nothing."""

    def answer_began(self, status: int, headers: Headers, at_s: float | None) -> None:
        """Keep nothing."""

    def answer_arrived(self, raw: bytes, at_s: float | None) -> None:
        """Keep nothing."""

    def ended(self, end: ExchangeEnd, at_s: float | None, message: str = "") -> None:
        """Keep nothing."""
