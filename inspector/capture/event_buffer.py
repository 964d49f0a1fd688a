"""What a recorder's observers put down and its thread takes up: bytes with their times, bounded, and never a wait.

An observer belongs to one exchange and is told of it by one thread at a time; many exchanges run at once. Every list
has one end where the observer appends and one where the recorder's thread takes, so that no lock is needed. Only the
count of what waits is shared: two threads may count as one, so the recorder's thread counts anew with every batch.
"""

from collections import deque
from enum import Enum
from threading import Event
from typing import TypeAlias

from inspector.sessions.exchange import ExchangeEnd, ExchangeObserver, Headers, RequestHead, header_of

MAX_REQUEST_BYTES = 64 << 20
"""What is kept of one request's body, as it was sent."""

_PER_PIECE = 128  # what a piece costs beside its bytes
_PER_EXCHANGE = 4096
_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS"})
_MUCH = 4 << 20  # so much waiting hurries the recorder on
Piece: TypeAlias = tuple[bytes, float | None]


class ExchangeEvent(Enum):
    """What happened to an exchange, beside more bytes."""

    BEGAN = "began"
    ASKED = "asked"
    ANSWER_BEGAN = "answer began"
    ENDED = "ended"


class EventBuffer:
    """What waits for the recorder's thread, of all exchanges: at most `max_bytes`; what is more is dropped, counted.

    Beside what waits there is at most as much that the thread has begun to read. `happenings` are in the order in which
    they happened, over all exchanges.
    """

    def __init__(self, max_bytes: int) -> None:
        self.happenings: deque[tuple[ExchangeEvent, ExchangeTape]] = deque()
        self.waiting_bytes = 0
        self.dropped_bytes = 0
        self.dropped_exchanges = 0
        self.is_closed = False
        self._max_bytes = max_bytes
        self.is_awake = False
        self._wake, self._hurry = Event(), Event()

    def begin(self, head: RequestHead) -> ExchangeObserver:
        """An observer for an exchange; one that keeps nothing where too much waits."""
        if self.is_closed:
            return _IgnoringObserver()
        if not self.admits(_PER_EXCHANGE):
            self.dropped_exchanges += 1
            return _IgnoringObserver()
        tape = ExchangeTape(head, self)
        self.note(ExchangeEvent.BEGAN, tape)
        return tape

    def admits(self, size: int) -> bool:
        """Whether there is room for so many bytes; they count as waiting then."""
        waiting = self.waiting_bytes + size
        if waiting > self._max_bytes or self.is_closed:
            return False
        self.waiting_bytes = waiting
        if waiting > _MUCH:
            self._hurry.set()
        return True

    def wake(self) -> None:
        """Something was put in line; to be called behind that, where the thread is not awake."""
        self.is_awake = True
        self._wake.set()

    def note(self, what: ExchangeEvent, tape: "ExchangeTape") -> None:
        """Put in line what happened to an exchange."""
        self.happenings.append((what, tape))
        if not self.is_awake:
            self.wake()

    def wait(self, gather_s: float, idle_s: float) -> None:
        """Return soon after something came: after `gather_s`, earlier where much waits; after `idle_s` at the latest.

        For the recorder's thread, which is to take up all that waits then.
        """
        if self._wake.wait(idle_s):
            self._hurry.wait(gather_s)
        self._wake.clear()
        self._hurry.clear()
        self.is_awake = False  # before anything is taken: what comes now wakes again
        self.waiting_bytes = 0

    def hurry(self) -> None:
        """Let `wait` return at once."""
        self._hurry.set()
        self._wake.set()


class ExchangeTape:
    """What was told of one exchange and has not been taken up; see `ExchangeObserver`."""

    __slots__ = (
        "_answer",
        "_asked",
        "_expected",
        "_intake",
        "_is_full",
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

    def __init__(self, head: RequestHead, intake: EventBuffer) -> None:
        self.head = head
        self.request: list[bytes] = []
        self.request_lost = 0
        self.status: int | None = None
        self.headers: Headers = ()
        self.answer_lost = 0
        self.end: ExchangeEnd | None = None
        self.ended_at_s: float | None = None
        self.message = ""
        self._intake = intake
        self._answer: list[Piece] = []
        self._request_bytes = 0
        self._asked = self._is_full = False
        length = header_of(head.headers, "content-length").strip()
        self._expected = int(length) if length.isascii() and length.isdigit() and len(length) < 19 else None

    def request_arrived(self, raw: bytes) -> None:
        """More of the request's body."""
        size = self._request_bytes = self._request_bytes + len(raw)
        if self.request_lost or size > MAX_REQUEST_BYTES or not self._intake.admits(len(raw) + _PER_PIECE):
            self.request_lost += len(raw)
            self._intake.dropped_bytes += len(raw)
        else:
            self.request.append(raw)
        if size == self._expected and not self._asked:
            self._asked = True
            self._intake.note(ExchangeEvent.ASKED, self)

    def answer_began(self, status: int, headers: Headers, at_s: float | None) -> None:
        """The answer's status and headers came."""
        self.headers = headers
        self.status = status  # behind the headers: the recorder's thread takes it for a sign that both are there
        self._intake.note(ExchangeEvent.ANSWER_BEGAN, self)

    def answer_arrived(self, raw: bytes, at_s: float | None) -> None:
        """More of the answer's body."""
        if self._is_full or not self._intake.admits(len(raw) + _PER_PIECE):
            self._is_full = True  # what would come after a gap cannot be read
            self.answer_lost += len(raw)
            self._intake.dropped_bytes += len(raw)
        else:
            self._answer.append((raw, at_s))
            if not self._intake.is_awake:
                self._intake.wake()

    def ended(self, end: ExchangeEnd, at_s: float | None, message: str = "") -> None:
        """Nothing follows."""
        self.end, self.ended_at_s, self.message = end, at_s, message
        self._intake.note(ExchangeEvent.ENDED, self)

    def take_answer(self) -> list[Piece]:
        """The pieces of the answer that came since the last take; for the recorder's thread."""
        taken = self._answer[:]
        del self._answer[: len(taken)]
        return taken

    @property
    def duration_s(self) -> float | None:
        """The seconds from the request to the end; None where nobody kept them."""
        if self.ended_at_s is None or self.head.at_s is None:
            return None
        return self.ended_at_s - self.head.at_s

    @property
    def has_whole_request(self) -> bool:
        """Whether as much of the request came as its head announced; unknown, hence false, where it announced none."""
        has_no_body = not self._request_bytes and (self._expected == 0 or self.head.method.upper() in _WITHOUT_BODY)
        return self._asked or has_no_body

    @property
    def has_much(self) -> bool:
        """Whether much of the answer waits."""
        return sum(len(raw) + _PER_PIECE for raw, _ in self._answer) > _MUCH


class _IgnoringObserver:
    """Observes an exchange that is not recorded."""

    def request_arrived(self, raw: bytes) -> None:
        """Keep nothing."""

    def answer_began(self, status: int, headers: Headers, at_s: float | None) -> None:
        """Keep nothing."""

    def answer_arrived(self, raw: bytes, at_s: float | None) -> None:
        """Keep nothing."""

    def ended(self, end: ExchangeEnd, at_s: float | None, message: str = "") -> None:
        """Keep nothing."""
