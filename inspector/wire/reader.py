"""What every API's reader of answers has in common: JSON objects in, wire events out."""

from typing import Protocol

from inspector.wire.answer_faults import AnswerFaults
from inspector.wire.events import WireEvent


class AnswerReader(Protocol):
    """Reads the JSON objects of one answer: many events of a stream, or one body that came whole. Never raises."""

    @property
    def api(self) -> str:
        """The kind of endpoint, as a generation's facts name it."""
        ...

    @property
    def unended(self) -> str:
        """The sentence for a stream that ended without what ends a stream of this API."""
        ...

    @property
    def faults(self) -> AnswerFaults:
        """What went wrong so far, and the means to say more."""
        ...

    @property
    def finish(self) -> str:
        """The server's finish reason, `""` where none came yet."""
        ...

    @property
    def has_ended(self) -> bool:
        """Whether the answer has what ends it."""
        ...

    def read(self, text: str, raw: str, at_s: float | None, found: list[WireEvent]) -> bool:
        """Append the events of one object, `text`; `raw` is what the wire held. False where it is no answer at all."""
        ...


class NewReader(Protocol):
    """Makes a reader for one answer of HTTP status `status`; `whole` where its body came in one piece."""

    def __call__(self, *, status: int | None = None, whole: bool = False) -> AnswerReader:
        """A reader that has read nothing yet."""
        ...
