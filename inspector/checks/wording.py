"""The wording of messages: quotes values and names places."""

from collections.abc import Sequence

from weaklink.inspector.diagnostics import Diagnostic, Fault
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json, Part, Turn
from weaklink.inspector.rules.rule import Rule
from weaklink.inspector.text import Range

_MAX_VALUE_CHARS = 60


def pointer(path: Sequence[str | int]) -> str:
    """A path as a JSON Pointer (RFC 6901); the empty path is the empty pointer."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def quoted(name: str) -> str:
    """A name in backticks, cut to 60 characters, with control characters escaped."""
    return f"`{_visible(name)}`"


def shown(value: Json) -> str:
    """A value as JSON in backticks, cut to 60 characters."""
    return f"`{_visible(_json(value))}`"


def listed(values: Sequence[Json], *, most: int = 8) -> str:
    """Values in backticks, joined by commas."""
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(map(shown, values[:most])) + more


def type_of(value: Json) -> str:
    """A value's JSON type with its article."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case list():
            return "an array"
        case dict():
            return "an object"
        case int():
            return "an integer"
    return "a number"


def either(types: Sequence[str]) -> str:
    """JSON types with their articles, joined by "or"."""
    named = [f"an {name}" if name[:1] in "aio" else name if name == "null" else f"a {name}" for name in types]
    return " or ".join(named) or "another type"


def _json(value: Json) -> str:
    if isinstance(value, str):
        return write_json(value[: _MAX_VALUE_CHARS + 1], ascii_only=False)
    if isinstance(value, list):
        value = value[:_MAX_VALUE_CHARS]
    elif isinstance(value, dict):
        value = dict(list(value.items())[:_MAX_VALUE_CHARS])
    elif isinstance(value, int) and value.bit_length() > 2_000:
        return "a very long number"
    return write_json(value, ascii_only=False)


def _visible(text: str) -> str:
    text = text if len(text) <= _MAX_VALUE_CHARS else text[: _MAX_VALUE_CHARS - 1] + "…"
    return text if text.isprintable() else text.encode("unicode_escape", "backslashreplace").decode("ascii")


def at_start(turn: Turn, number: int, rule: Rule, message: str, hint: str | None = None) -> Diagnostic:
    """The diagnostic at the first character of turn `number` (from 1); at an empty range if it has no text."""
    part = next((part for part in turn.parts if _is_answer(part)), None)
    name = part.name if part is not None else _first_name(turn)
    return Fault(rule, Range(0, 1 if part is not None else 0), message, hint).at(number, name)


def at_end(turn: Turn, number: int, rule: Rule, message: str, hint: str | None = None) -> Diagnostic:
    """The diagnostic at the last character of turn `number` (from 1); at an empty range if it has no text."""
    part = next((part for part in reversed(turn.parts) if _is_answer(part)), None)
    if part is None:
        return Fault(rule, Range(0, 0), message, hint).at(number, _first_name(turn))
    end = len(part.text)
    return Fault(rule, Range(end - 1, end), message, hint).at(number, part.name)


def _is_answer(part: Part) -> bool:
    """Whether a part has text of the answer, and is no record of the wire or of a further choice."""
    return bool(part.text) and ":" not in part.name.removeprefix("call:")


def _first_name(turn: Turn) -> str:
    return turn.parts[0].name if turn.parts else "text"
