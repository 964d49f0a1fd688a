"""What all recordings of one recorder share."""

from dataclasses import dataclass

from inspector.capture.open_traces import OpenTraces
from inspector.capture.outlet import Outlet
from inspector.capture.redacting import Redacts
from inspector.sessions.book import SessionBook


@dataclass(frozen=True, slots=True)
class Desk:
    """The book of sessions, the traces that run, the way out, who takes out secrets, and the bound of one answer."""

    book: SessionBook
    traces: OpenTraces
    outlet: Outlet
    redactor: Redacts
    max_answer_bytes: int
