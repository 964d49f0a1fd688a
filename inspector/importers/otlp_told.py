"""What a convention for attributes tells of a span, in words that all conventions share."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from hashlib import blake2b

import msgspec

from inspector.importers.source import JsonObject
from inspector.importers.spans import SpanKind, ToolRun
from inspector.model import Json, Part, Role, ToolDefinition, Turn, Usage
from inspector.wire.events import UNREAD_PART
from inspector.wire.openai_messages import read_message

_encode = msgspec.msgpack.Encoder().encode
_USAGE = tuple(one.name for one in fields(Usage))


@dataclass(slots=True)
class Told:
    """What one convention tells of one span; what it does not tell has its default.

    `asked` and `answers` are messages in OpenAI's shape, and texts where a message is no JSON any more; `answers` are
    the choices of one answer. `raw_request` and `raw_answer` are bodies as the API has them. `is_cut` says that texts
    were cut off, `first_token_s` is seconds since 1970-01-01 UTC.
    """

    kind: SpanKind | None = None
    asked: list[Json] = field(default_factory=list)
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


def together(tellings: Iterable[Told]) -> Told:
    """What several conventions tell of one span: for each fact the first that tells it."""
    first, *others = tellings
    nothing = Told()
    for other in others:
        for one in fields(Told):
            told = getattr(first, one.name)
            if told == getattr(nothing, one.name) or (told is SpanKind.OTHER and other.kind):
                setattr(first, one.name, getattr(other, one.name))
        first.usage = filled_usage(first.usage, other.usage)
    return first


def filled_usage(usage: Usage, other: Usage) -> Usage:
    """Counts, and from another those that are not known."""
    if usage == other:
        return usage
    known = [(getattr(usage, name), getattr(other, name)) for name in _USAGE]
    return Usage(*(mine if mine is not None else its for mine, its in known))


class Messages:
    """Messages as turns; one that came before is the same turn again, so that a session holds each only once."""

    def __init__(self) -> None:
        self._known: dict[bytes, Turn] = {}

    def read(self, messages: Iterable[Json]) -> tuple[Turn, ...]:
        """A turn for each message; never raises."""
        return tuple(map(self._turn, messages))

    def _turn(self, message: Json) -> Turn:
        try:
            digest = blake2b(_encode(message), digest_size=16).digest()
        except (UnicodeEncodeError, OverflowError, RecursionError):
            return _read(message)
        known = self._known.get(digest)
        if known is None:
            known = self._known[digest] = _read(message)
        return known


def _read(message: Json) -> Turn:
    return Turn(Role.USER, (Part(UNREAD_PART, message),)) if isinstance(message, str) else read_message(message)
