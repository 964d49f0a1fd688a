"""An OpenTelemetry span from any container, its attribute values, and the facts that a convention reads from it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import chain
from typing import TypeAlias

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from weaklink.inspector.apis.openai.messages import read_message
from weaklink.inspector.importers.records import parse_json_bytes
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.importers.telemetry.framework_messages import KnownMessages, ReadMessages
from weaklink.inspector.importers.telemetry.spans import OperationKind, ToolRun, filled
from weaklink.inspector.json_text import compact_json, whole_number
from weaklink.inspector.model import Instant, InstantSource, Json, Part, Role, ToolDefinition, Turn, Usage
from weaklink.inspector.text import decode
from weaklink.inspector.wire.events import UNREAD_PART

ERROR = 2
"""The status code of a failed span (opentelemetry-proto, `Status.StatusCode`)."""

_MAX_DEPTH = 16
Message: TypeAlias = "Json | msgspec.Raw"
"""A message as a value, or as its JSON text, or as plain text if it is no longer valid JSON."""

Shape: TypeAlias = Callable[[Json], list[Json]]
"""Converts a message of a convention into messages of OpenAI's shape."""


class RequestMessages(Struct):
    """The messages of a request as a convention writes them, and the function that converts them."""

    messages: Sequence[Message] = ()
    shape: Shape = field(default_factory=lambda: unchanged_message)

    def __bool__(self) -> bool:
        return bool(self.messages)

    def turns(self, known: KnownMessages) -> tuple[Turn, ...]:
        """The turns of all messages; those of `known` are not read again. Never raises."""
        name = self.shape.__name__
        readings = (known.read_once(message, self._read, name) for message in self.messages)
        return tuple(chain.from_iterable(reading.turns for reading in readings))

    def _read(self, message: Message) -> ReadMessages:
        value = _value(message) if isinstance(message, msgspec.Raw) else message
        if isinstance(value, str):
            return ReadMessages((Turn(Role.USER, (Part(UNREAD_PART, value),)),))
        return ReadMessages(tuple(map(read_message, self.shape(value))))


def unchanged_message(message: Json) -> list[Json]:
    """The message itself, for a convention that uses OpenAI's shape."""
    return [message]


def _value(text: msgspec.Raw) -> Json:
    try:
        return parse_json_bytes(bytes(text))
    except ValueError:  # nested too deeply
        return decode(bytes(text))


class SpanFacts(Struct):
    """What one convention says about one span; a fact that is missing has its default.

    `answers` are messages in OpenAI's shape, the choices of one answer; texts if they are no longer valid JSON.
    `raw_request` and `raw_answer` are bodies as the API has them. `is_cut` is True if texts were truncated.
    `first_token_s` is seconds since 1970-01-01 UTC.
    """

    kind: OperationKind | None = None
    request_messages: RequestMessages = field(default_factory=RequestMessages)
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


def merged_facts(facts: Iterable[SpanFacts]) -> SpanFacts:
    """Facts from several conventions about one span: each fact from the first convention that has it."""
    return reduce(_merged, facts)


def _merged(first: SpanFacts, other: SpanFacts) -> SpanFacts:
    kind = other.kind if first.kind is OperationKind.OTHER and other.kind else first.kind or other.kind
    return replace(filled(first, other), kind=kind, usage=filled(first.usage, other.usage))


class OtlpEvent(Struct, frozen=True, array_like=True):
    """An event of a span, or a log record that belongs to it; `at_s` is seconds since 1970-01-01 UTC, if known."""

    name: str
    at_s: float | None
    attributes: JsonObject


class OtlpSpan(Struct, frozen=True, array_like=True):
    """A span. Ids are hexadecimal, `parent_id` is `""` for a root; times are seconds since 1970-01-01 UTC, if known.

    `service` is the `service.name` of its resource. `dropped` counts the attributes and events beyond a limit.
    """

    trace_id: str
    id: str
    parent_id: str
    name: str
    start_s: float | None
    end_s: float | None
    attributes: JsonObject
    events: tuple[OtlpEvent, ...] = ()
    status: int = 0
    message: str = ""
    service: str = ""
    dropped: int = 0

    @property
    def started(self) -> Instant | None:
        """The start time; None if our export made it up, since every span must have one."""
        return self._instant(self.start_s)

    @property
    def ended(self) -> Instant | None:
        """The end time; None if our export made it up."""
        return self._instant(self.end_s)

    def _instant(self, at_s: float | None) -> Instant | None:
        provenance = self.attributes.get("weaklink.times")
        if at_s is None or provenance == "unknown":
            return None
        return Instant(at_s, InstantSource.DERIVED if provenance == "derived" else InstantSource.RECORDED)

    def text(self, *keys: str) -> str:
        """The first of the attributes that is a non-empty text, else `""`."""
        return next((found for key in keys if isinstance(found := self.attributes.get(key), str) and found), "")

    def number(self, *keys: str) -> int | None:
        """The first of the attributes that is a whole number, else None."""
        return next((found for key in keys if (found := whole_number(self.attributes.get(key))) is not None), None)

    def rows(self, prefix: str) -> list[Json]:
        """The values of attributes named `prefix.0.role` and the like, one per number, unfolded no further."""
        if prefix in self.attributes:
            attribute = self.attributes[prefix]
            return attribute if isinstance(attribute, list) else [attribute]
        start = f"{prefix}."
        size = len(start)
        by_number: dict[str, JsonObject] = {}
        for key, value in self.attributes.items():
            if key.startswith(start):
                number, _, rest = key[size:].partition(".")
                by_number.setdefault(number, {})[rest] = value
        numbers = [number for number in by_number if number.isascii() and number.isdigit() and len(number) < 10]
        return [by_number[number] for number in sorted(numbers, key=int)]

    def tree(self, prefix: str) -> Json:
        """The values of attributes named `prefix.0.role` and the like as objects and lists; None if there are none."""
        if prefix in self.attributes:
            return unfolded(self.attributes[prefix])
        start = f"{prefix}."
        found = {key[len(start) :]: value for key, value in self.attributes.items() if key.startswith(start)}
        return unfolded(found) if found else None


def objects(value: Json) -> list[JsonObject]:
    """The objects of a list, or a single object as a list; empty for anything else."""
    listed = value if isinstance(value, list) else [value]
    return [one for one in listed if isinstance(one, dict)]


def unfolded(value: Json, depth: int = 0) -> Json:
    """Keys with dots unfolded into nested objects; an object whose keys are all numbers becomes a list.

    Values that are nested deeper than in any convention are unchanged.
    """
    if depth > _MAX_DEPTH:
        return value
    if isinstance(value, list):
        return [unfolded(one, depth + 1) for one in value]
    if not isinstance(value, dict):
        return value
    by_head: dict[str, list[tuple[str, Json]]] = {}
    for key, one in value.items():
        head, _, rest = key.partition(".")
        by_head.setdefault(head, []).append((rest, one))
    done = {head: _joined(pieces, depth + 1) for head, pieces in by_head.items()}
    if done and all(key.isascii() and key.isdigit() and len(key) < 10 for key in done):
        return [done[key] for key in sorted(done, key=int)]
    return dict(done)


def _joined(pieces: list[tuple[str, Json]], depth: int) -> Json:
    if len(pieces) == 1 and not pieces[0][0]:
        return unfolded(pieces[0][1], depth)
    return unfolded({rest: one for rest, one in pieces if rest}, depth)


def unquoted(text: Json) -> str | None:
    """A result as text: the content of a JSON string, other values as JSON, None for null."""
    if not isinstance(text, str):
        return None if text is None else compact_json(text)
    if text[:1] == '"' == text[-1:]:
        try:
            content = parse_json_bytes(text.encode("utf-8", "surrogatepass"))
        except ValueError:
            return text
        return content if isinstance(content, str) else text
    return text


def flattened(value: JsonObject) -> Iterator[tuple[str, Json]]:
    """The members of nested objects under names with dots; lists are unchanged."""
    pending = [("", value)]
    while pending:
        prefix, one = pending.pop()
        for key, inner in one.items():
            name = f"{prefix}{key}"
            if isinstance(inner, dict) and inner:
                pending.append((f"{name}.", inner))
            else:
                yield name, inner
