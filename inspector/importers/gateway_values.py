"""What the rows of gateways' logs have in common: pages of rows, JSON as text, and bodies of answers in many forms."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from inspector.importers.source import JsonObject
from inspector.model import Json
from inspector.sessions.exchange import Headers
from inspector.wire.json_text import TOO_DEEP, parse_json

_EVENTS = re.compile(r"\ufeff?\s*(?:data|event|id|retry)?:")
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class GatewayAnswer:
    """An answer's body as a gateway kept it: what `Exchange` wants to know of it; `pieces` is None where it is lost."""

    headers: Headers = ()
    pieces: tuple[tuple[float | None, bytes], ...] | None = None


def entries_of(value: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """The rows that a record holds, each with its place within it: itself, or those of an answer's `data`, or a list's.

    The pages of gateways' own APIs are `{"data": [...]}`, or `{"data": {...}}` for a single row.
    """
    held = value.get("data", value.get("messages") if value.keys() == {"messages"} else None)
    if isinstance(held, dict):
        yield "", held
    elif isinstance(held, list) and held and "request_id" not in value:
        yield from ((f", row {at}", one) for at, one in enumerate(held, 1) if isinstance(one, dict))
    else:
        yield "", value


def parsed(value: Json) -> Json:
    """A member that databases and tables hold as JSON text, as its value; any other as it stands."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return parse_json(value)
        except ValueError:
            return value
    return value


def object_of(value: Json) -> JsonObject:
    """An object, or its JSON text; an empty one for anything else."""
    held = parsed(value)
    return held if isinstance(held, dict) else {}


def number_of(value: Json) -> float | None:
    """A number, or the text of one; None for what is none."""
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) >= 1e15:
        return None
    return float(value)


def address_of(text: str) -> tuple[str, str]:
    """What stands before the path of an address (`https://api.openai.com`), and the path with its query."""
    origin = _ORIGIN.match(text)
    return (origin[0], text[origin.end() :] or "/") if origin else ("", text)


def answer_of(value: Json, ended_s: float | None) -> GatewayAnswer:
    """A kept answer: JSON or its text, the text of an event stream, or the list of its chunks.

    A stream has no times: whoever logged it did not keep when its pieces came. None, `""`, `{}` and `[]` are no answer.
    """
    held = parsed(value)
    if not held:
        return GatewayAnswer()
    if isinstance(held, str) and _EVENTS.match(held):
        return GatewayAnswer((("content-type", "text/event-stream"),), ((None, body_of(held)),))
    if isinstance(held, list) and all(isinstance(one, dict) for one in held):
        events = b"".join(b"data: " + body_of(one) + b"\n\n" for one in held)
        return GatewayAnswer((("content-type", "text/event-stream"),), ((None, events),))
    kind = () if isinstance(held, str) else (("content-type", "application/json"),)
    return GatewayAnswer(kind, ((ended_s, body_of(held)),))


def body_of(value: Json) -> bytes:
    """A value as the body of a request or an answer: JSON in ASCII or UTF-8; a text is a body as it stands."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    try:
        return msgspec.json.encode(value)
    except (ValueError, OverflowError, RecursionError):  # a lone surrogate, or an integer of many digits
        return _body_patiently(value)


def _body_patiently(value: Json) -> bytes:
    try:
        return json.dumps(value, separators=(",", ":"), default=str).encode("ascii")
    except RecursionError:
        return TOO_DEEP.encode("ascii")
