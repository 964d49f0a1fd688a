"""How an assistant turn came about: the request, the model, times, usage, the end and the errors."""

from dataclasses import dataclass, field
from enum import StrEnum

from inspector.model.calls import ToolDefinition


class InstantSource(StrEnum):
    """Whether a time was recorded as it happened or derived from others."""

    RECORDED = "recorded"
    DERIVED = "derived"


@dataclass(frozen=True, slots=True)
class Instant:
    """A moment, in seconds since 1970-01-01 UTC; where no moment is known there is no Instant."""

    at_s: float
    source: InstantSource = InstantSource.RECORDED


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts, None where unknown; `computed` says that weaklink counted them, not the server."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    computed: bool = False


class FinishReason(StrEnum):
    """Why a generation ended, over all providers' words; the provider's own word stands beside it."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    FILTER = "filter"
    ERROR = "error"
    OTHER = "other"


class ErrorPhase(StrEnum):
    """Where on the way a generation failed."""

    CONNECT = "connect"
    HTTP = "http"
    IN_STREAM = "in_stream"
    TRANSPORT = "transport"
    CLIENT_ABORT = "client_abort"


@dataclass(frozen=True, slots=True)
class GenerationError:
    """An error that ended a generation: its phase, its words, and the provider's status and code where there are."""

    phase: ErrorPhase
    message: str
    status: int | None = None
    code: str | None = None


class BodyState(StrEnum):
    """What the source kept of an answer's body."""

    COMPLETE = "complete"
    TRUNCATED = "truncated"
    NOT_STORED = "not_stored"
    REDACTED = "redacted"


class ToolsOrigin(StrEnum):
    """Where the tools of a request stood."""

    REQUEST = "request"
    SYSTEM_TEXT = "system_text"


@dataclass(frozen=True, slots=True)
class Generation:
    """The facts of one assistant turn beside its words; every one may be unknown.

    `api` is the kind of endpoint (`chat.completions`, `messages`, ...). `parameters` is the request's sampling and
    output settings as compact JSON text, `""` where unknown. `tools` are those offered in that very request;
    `tools_origin` is None where none were. `attempt` counts from 1; `retry_of` is the external id of the request it
    repeats. `finish` is the normalised `finish_reason`.
    """

    api: str = ""
    requested_model: str = ""
    answered_model: str = ""
    parameters: str = ""
    tools: tuple[ToolDefinition, ...] = ()
    tools_origin: ToolsOrigin | None = None
    attempt: int = 1
    retry_of: str | None = None
    started: Instant | None = None
    first_token: Instant | None = None
    ended: Instant | None = None
    usage: Usage = field(default_factory=Usage)
    finish_reason: str | None = None
    finish: FinishReason | None = None
    error: GenerationError | None = None
    body: BodyState = BodyState.COMPLETE
