"""What a convention for attributes tells of a span, in words that all conventions share."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields

from inspector.importers.otlp_messages import RequestMessages
from inspector.importers.source import JsonObject
from inspector.importers.spans import OperationKind, ToolRun
from inspector.model import Json, ToolDefinition, Usage

_USAGE = tuple(one.name for one in fields(Usage))


@dataclass(slots=True)
class SpanFacts:
    """What one convention tells of one span; what it does not tell has its default.

    `answers` are messages in OpenAI's shape, the choices of one answer; texts where they are no JSON any more.
    `raw_request` and `raw_answer` are bodies as the API has them. `is_cut` says that texts were cut off,
    `first_token_s` is seconds since 1970-01-01 UTC.
    """

    kind: OperationKind | None = None
    asked: RequestMessages = field(default_factory=RequestMessages)
    answers: list[Json] = field(default_factory=list)
    raw_request: Json = None
    raw_answer: str = ""
    api: str = ""
    requested_model: str = ""
    answered_model: str = ""
    response_id: str = ""
    continues: str = ""
    tools: tuple[ToolDefinition, ...] = ()
    parameters: JsonObject = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    finish_reason: str = ""
    first_token_s: float | None = None
    run: ToolRun | None = None
    agent: str = ""
    is_cut: bool = False


def together(tellings: Iterable[SpanFacts]) -> SpanFacts:
    """What several conventions tell of one span: for each fact the first that tells it."""
    first, *others = tellings
    nothing = SpanFacts()
    for other in others:
        for one in fields(SpanFacts):
            told = getattr(first, one.name)
            if told == getattr(nothing, one.name) or (told is OperationKind.OTHER and other.kind):
                setattr(first, one.name, getattr(other, one.name))
        first.usage = filled_usage(first.usage, other.usage)
    return first


def filled_usage(usage: Usage, other: Usage) -> Usage:
    """Counts, and from another those that are not known."""
    if usage == other:
        return usage
    known = [(getattr(usage, name), getattr(other, name)) for name in _USAGE]
    return Usage(*(mine if mine is not None else its for mine, its in known))
