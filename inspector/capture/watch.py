"""What a recorder tells somebody who looks on: spans as they close, faults as they appear, one line of facts a request.

Unlike a sink, who watches keeps nothing; it is told of what was found while the model was still speaking.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from inspector.diagnostics import Diagnostic
from inspector.model import Span, ToolCall
from inspector.sessions.exchange import ExchangeEnd


@dataclass(frozen=True, slots=True)
class ExchangeFacts:
    """One exchange in a line; secrets are redacted.

    `key` is the trace that it belongs to, `""` where it was no request to a model. `status` is None where no answer
    came, `first_token_s` the seconds from the request to the first text of a stream, `duration_s` those to the end;
    None where nobody kept the times. `output_tokens` is what the server reported, None where it did not; `chunks`
    counts the arrivals of the model's words. `faults` are the codes of what was found, each with its count.
    """

    method: str
    target: str
    end: ExchangeEnd
    key: str = ""
    turn: int = 0
    model: str = ""
    status: int | None = None
    first_token_s: float | None = None
    duration_s: float | None = None
    output_tokens: int | None = None
    chunks: int = 0
    faults: Mapping[str, int] = field(default_factory=dict)


class Watch(Protocol):
    """Looks on; is called by the recorder's thread, returns soon, and keeps the recording waiting until then."""

    def span_closed(self, key: str, turn: int, part: str, span: Span, calls: Sequence[ToolCall]) -> None:
        """A span of a running answer closed; `calls` are those that became known with it."""
        ...

    def fault_found(self, key: str, turn: int, diagnostic: Diagnostic) -> None:
        """A fault of an answer became known."""
        ...

    def exchange_ended(self, facts: ExchangeFacts) -> None:
        """An exchange ended, recorded or not; its last call."""
        ...

    def trouble(self, message: str) -> None:
        """Something keeps the recorder from its work: a full sentence. The same trouble is told once a minute."""
        ...
