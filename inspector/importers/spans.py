"""Spans of tracing stores, whatever each store calls them: requests to a model, runs of a tool, agents at work."""

from dataclasses import dataclass
from enum import StrEnum

from inspector.model import Instant, Turn
from inspector.wire.request import DecodedRequest


class OperationKind(StrEnum):
    """What went on during a span, as far as a trace is concerned."""

    MODEL = "model"
    TOOL = "tool"
    AGENT = "agent"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ModelCall:
    """What a span tells of one request to a model.

    `request.turns` are empty where the store did not keep the words. `answer` is an assistant's turn with a generation,
    which may hold no more than an empty `text`. `response_id` is the answer's own id, `""` where it is not known.
    `is_rewritten` says that arguments of calls were parsed and written anew: they are not the model's text.
    """

    request: DecodedRequest
    answer: Turn
    response_id: str = ""
    is_rewritten: bool = False


@dataclass(frozen=True, slots=True)
class ToolRun:
    """What a span tells of one run of a tool; `result` is None where it was not kept, `failed` where nobody says."""

    name: str
    call_id: str = ""
    arguments: str = ""
    result: str | None = None
    failed: bool | None = None


@dataclass(frozen=True, slots=True)
class TracedSpan:
    """One span. `id` is unique in its session, `parent_id` is `""` for a root.

    `call` is what a span of kind MODEL tells, `run` what one of kind TOOL does; `name` is the agent's for AGENT.
    `span_trace` is the id of the trace that the store put the span in. `warnings` say what the store left out.
    """

    id: str
    parent_id: str
    kind: OperationKind
    name: str = ""
    started: Instant | None = None
    ended: Instant | None = None
    call: ModelCall | None = None
    run: ToolRun | None = None
    span_trace: str = ""
    warnings: tuple[str, ...] = ()


def moment_of(span: TracedSpan) -> float:
    """When a span began, 0 where nobody kept it: for putting spans in order."""
    return span.started.at_s if span.started is not None else 0.0


def end_of(span: TracedSpan) -> float:
    """When a span ended, never before it began."""
    return max(moment_of(span), span.ended.at_s) if span.ended is not None else moment_of(span)
