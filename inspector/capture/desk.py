"""What all recordings of one recorder share."""

from collections.abc import Callable
from dataclasses import dataclass, field

from inspector.capture.open_traces import OpenTraces
from inspector.capture.outlet import Outlet
from inspector.capture.redacting import Redacts
from inspector.model import Turn
from inspector.sessions.book import SessionBook


@dataclass(frozen=True, slots=True)
class RecorderContext:
    """The book of sessions, the traces that run, the way out, who takes out secrets, and the bound of one answer.

    `answers` gives what came of each open answer, by the `request_id` of its request.
    """

    book: SessionBook
    traces: OpenTraces
    outlet: Outlet
    redactor: Redacts
    max_answer_bytes: int
    answers: dict[str, Callable[[], Turn]] = field(default_factory=dict)

    def so_far(self, request_id: str) -> Turn | None:
        """What came of an open answer; None where it is not known."""
        answer = self.answers.get(request_id)
        return None if answer is None else answer()
