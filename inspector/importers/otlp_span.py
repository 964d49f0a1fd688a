"""A span as OpenTelemetry has it, out of whatever container, and what its attributes hold."""

from collections.abc import Iterator
from dataclasses import dataclass

from inspector.importers.rows import parse_json
from inspector.importers.source import JsonObject
from inspector.model import Instant, Json
from inspector.wire.json_text import compact_json

ERROR = 2
"""The status code of a span that failed (opentelemetry-proto, `Status.StatusCode`)."""

_OPENERS = ("{", "[")
_MAX_DEPTH = 16


@dataclass(frozen=True, slots=True)
class OtlpEvent:
    """An event of a span, or a log record that belongs to it; `at_s` is seconds since 1970-01-01 UTC, if known."""

    name: str
    at_s: float | None
    attributes: JsonObject


@dataclass(frozen=True, slots=True)
class OtlpSpan:
    """A span. Ids are hexadecimal, `parent_id` is `""` for a root; times are seconds since 1970-01-01 UTC, if known.

    `service` is its resource's `service.name`, `dropped` counts the attributes and events that a limit took away.
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
        """When it began."""
        return None if self.start_s is None else Instant(self.start_s)

    @property
    def ended(self) -> Instant | None:
        """When it ended."""
        return None if self.end_s is None else Instant(self.end_s)

    def text(self, *keys: str) -> str:
        """The first of the attributes that is a text and not empty, else `""`."""
        return next((found for key in keys if isinstance(found := self.attributes.get(key), str) and found), "")

    def number(self, *keys: str) -> int | None:
        """The first of the attributes that is a whole number, else None."""
        return next((found for key in keys if (found := whole(self.attributes.get(key))) is not None), None)

    def rows(self, prefix: str) -> list[Json]:
        """What attributes named `prefix.0.role` and the like say, a value for each number, unfolded no further."""
        if prefix in self.attributes:
            held = self.attributes[prefix]
            return held if isinstance(held, list) else [held]
        begins = f"{prefix}."
        size = len(begins)
        grown: dict[str, JsonObject] = {}
        for key, value in self.attributes.items():
            if key.startswith(begins):
                number, _, rest = key[size:].partition(".")
                grown.setdefault(number, {})[rest] = value
        numbers = [number for number in grown if number.isascii() and number.isdigit() and len(number) < 10]
        return [grown[number] for number in sorted(numbers, key=int)]

    def tree(self, prefix: str) -> Json:
        """What attributes named `prefix.0.role` and the like say together: objects and lists; None for nothing."""
        if prefix in self.attributes:
            return unfolded(self.attributes[prefix])
        begins = f"{prefix}."
        found = {key[len(begins) :]: value for key, value in self.attributes.items() if key.startswith(begins)}
        return unfolded(found) if found else None


def whole(value: Json) -> int | None:
    """A whole number, written as a float perhaps; None for anything else."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def json_in(value: Json) -> Json:
    """The object or list that stands in a text; the value itself where it is none. ValueError for JSON that is cut."""
    if not isinstance(value, str) or not value.lstrip().startswith(_OPENERS):
        return value
    return parse_json(value.encode("utf-8", "surrogatepass"))


def lenient_json(value: Json) -> Json:
    """As `json_in`; the text itself where it is broken."""
    try:
        return json_in(value)
    except ValueError:
        return value


def objects(value: Json) -> list[JsonObject]:
    """The objects of a list, or the one that stands alone; none for anything else."""
    listed = value if isinstance(value, list) else [value]
    return [one for one in listed if isinstance(one, dict)]


def unfolded(value: Json, depth: int = 0) -> Json:
    """Keys with dots unfolded into objects within objects; an object whose keys are all numbers is a list.

    What is nested deeper than any convention has it stays as it is.
    """
    if depth > _MAX_DEPTH:
        return value
    if isinstance(value, list):
        return [unfolded(one, depth + 1) for one in value]
    if not isinstance(value, dict):
        return value
    grown: dict[str, list[tuple[str, Json]]] = {}
    for key, one in value.items():
        head, _, rest = key.partition(".")
        grown.setdefault(head, []).append((rest, one))
    done = {head: _joined(pieces, depth + 1) for head, pieces in grown.items()}
    if done and all(key.isascii() and key.isdigit() and len(key) < 10 for key in done):
        return [done[key] for key in sorted(done, key=int)]
    return dict(done)


def _joined(pieces: list[tuple[str, Json]], depth: int) -> Json:
    if len(pieces) == 1 and not pieces[0][0]:
        return unfolded(pieces[0][1], depth)
    return unfolded({rest: one for rest, one in pieces if rest}, depth)


def unquoted(text: Json) -> str | None:
    """A result as text: what a JSON string holds, where it is one; other values as JSON, None for null."""
    if not isinstance(text, str):
        return None if text is None else compact_json(text)
    if text[:1] == '"' == text[-1:]:
        try:
            held = parse_json(text.encode("utf-8", "surrogatepass"))
        except ValueError:
            return text
        return held if isinstance(held, str) else text
    return text


def flattened(value: JsonObject) -> Iterator[tuple[str, Json]]:
    """The members of objects within objects under names with dots; lists stay as they are."""
    waiting = [("", value)]
    while waiting:
        prefix, one = waiting.pop()
        for key, inner in one.items():
            name = f"{prefix}{key}"
            if isinstance(inner, dict) and inner:
                waiting.append((f"{name}.", inner))
            else:
                yield name, inner
