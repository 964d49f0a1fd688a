"""One exchange on its way into the record, as the recorder's thread takes it up: asked, placed, answered, ended."""

from inspector.capture.answering import Answering
from inspector.capture.arrivals import Tape
from inspector.capture.asked import read_asked
from inspector.capture.desk import RecorderContext
from inspector.capture.watch import ExchangeFacts
from inspector.model import Turn
from inspector.sessions.exchange import ExchangeEnd

_AT_ONCE = 2_048  # pieces of one answer that are told together, where many waited


class Recording:
    """Takes up one exchange. `is_unrecorded`: it asks no model for an answer, or failed; nothing more of it is kept."""

    def __init__(self, tape: Tape, desk: RecorderContext) -> None:
        self._tape, self._desk = tape, desk
        self.is_unrecorded = False
        self._answer: Answering | None = None
        self._request_id = ""

    def ask(self, *, at_end: bool = False) -> None:
        """Read the request, if it is whole by now, and give it its place in a trace; `at_end` no more of it comes."""
        if self._answer is not None or self.is_unrecorded:
            return
        tape = self._tape
        asked = read_asked(tape.head, b"".join(tape.request), lost_bytes=tape.request_lost)
        is_cut = asked is None or (asked.json is None and not tape.request_lost)
        if is_cut and not (at_end or tape.has_whole_request):
            return
        tape.request = []
        if asked is None:
            self.is_unrecorded = True
            return
        placement = self._desk.book.place(tape.head, asked.request, asked.body, asked.json, self._desk.so_far)
        answer = self._answer = Answering(tape, self._desk, asked, placement)
        self._request_id = placement.request_id
        self._desk.answers[placement.request_id] = lambda: self._so_far(answer)

    def begin_answer(self) -> None:
        """The answer's head came."""
        self.ask()
        if self._answer is not None:
            self._answer.begin()

    def arrive(self) -> None:
        """Read what arrived of the answer."""
        if self._answer is None and not self.is_unrecorded and self._tape.has_much:
            self.ask(at_end=True)  # so much is not held for a request that does not come to its end
            self.begin_answer()
        if self._answer is not None:
            self._read(self._answer)
        elif self.is_unrecorded:
            self._tape.take_answer()

    def end(self) -> None:
        """The exchange ended."""
        self.ask(at_end=True)
        if self._answer is not None:
            self._answer.begin()
            self._read(self._answer)
            self._desk.answers.pop(self._request_id, None)
            self._answer.end()
            return
        tape = self._tape
        target = self._desk.redactor.url(tape.head.target)
        end = tape.end or ExchangeEnd.NOT_STORED
        facts = ExchangeFacts(tape.head.method, target, end, status=tape.status, duration_s=tape.duration_s)
        self._desk.outlet.exchange_ended(facts)

    def abandon(self) -> None:
        """Something in it failed: nothing more of the exchange is recorded."""
        answer, self._answer = self._answer, None
        self.is_unrecorded = True
        self._desk.answers.pop(self._request_id, None)
        if answer is not None:
            answer.abandon()

    def _so_far(self, answer: Answering) -> Turn:
        answer.begin()
        self._read(answer)
        return answer.so_far()

    def _read(self, answer: Answering) -> None:
        pieces = self._tape.take_answer()
        for at in range(0, len(pieces), _AT_ONCE):
            answer.arrive(pieces[at : at + _AT_ONCE])
