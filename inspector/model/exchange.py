"""One HTTP exchange of a recorded session, as it is kept for a replay."""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from inspector.model.trace import Trace


class ExchangeEnd(StrEnum):
    """How an exchange ended."""

    COMPLETE = "complete"
    UPSTREAM_DROPPED = "upstream_dropped"
    CLIENT_LEFT = "client_left"
    NOT_CONNECTED = "not_connected"
    TIMED_OUT = "timed_out"
    NOT_STORED = "not_stored"


class RecordedExchange(Struct, frozen=True):
    """One exchange; secrets are redacted, and bodies are kept without content encoding.

    `path` begins behind the server's host and includes the query. `began_s` is seconds since 1970-01-01 UTC, None where
    unknown. `status` is None where no answer came; `headers` holds the answer's headers that a replay needs, names in
    lower case. `request` and `answer` are the bodies; None where they are not kept, and `withheld` says why. The
    answer arrived in pieces: piece `i` ends at byte `ends[i]`, `offsets_s[i]` seconds after the beginning (None where
    unknown). `turn` is the number of the assistant's turn in the trace, 0 for a request that asked no model.
    `is_redacted`: the answer held secrets, so that it is not byte for byte what the server sent.
    """

    method: str
    path: str
    began_s: float | None = None
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    request: bytes | None = b""
    answer: bytes | None = b""
    ends: tuple[int, ...] = ()
    offsets_s: tuple[float | None, ...] = ()
    end: ExchangeEnd = ExchangeEnd.COMPLETE
    message: str = ""
    turn: int = 0
    is_redacted: bool = False
    withheld: str = ""

    @property
    def size_bytes(self) -> int:
        """How long both bodies are."""
        return len(self.request or b"") + len(self.answer or b"")

    @property
    def is_stream(self) -> bool:
        """Whether the answer is an event stream."""
        return any(name == "content-type" and "event-stream" in value for name, value in self.headers)

    def pieces(self) -> tuple[bytes, ...]:
        """The answer's body as it arrived."""
        answer = self.answer or b""
        return tuple(answer[start:end] for start, end in zip((0, *self.ends), self.ends, strict=False))


class RecordedTrace(Trace, frozen=True):
    """A trace with its HTTP exchanges, in order, as a trace file holds both."""

    exchanges: tuple[RecordedExchange, ...] = ()


def with_exchanges(trace: Trace, exchanges: Sequence[RecordedExchange]) -> Trace:
    """The trace with its exchanges; as it is where there are none."""
    if not exchanges:
        return trace
    members = {name: getattr(trace, name) for name in Trace.__struct_fields__}
    return RecordedTrace(**members, exchanges=tuple(exchanges))
