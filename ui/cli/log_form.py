"""What the input of `weaklink log` is, told from its first bytes: a model's raw text, or a provider's stream."""

from enum import StrEnum

from inspector.model import Json
from inspector.wire.json_text import parse_json


class Form(StrEnum):
    """How the input is read."""

    TEXT = "text"
    SSE = "sse"
    NDJSON = "ndjson"


AS = ("auto", *(form.value for form in Form))

_EVENTS = (b"data:", b"event:", b"id:", b"retry:", b": ")
_LONGEST = max(map(len, _EVENTS))
_FIRST_LINE = 65_536
_KEYS = frozenset({"choices", "candidates", "promptFeedback", "usageMetadata", "done"})
_TYPES = ("response.", "message_start", "ping", "error", "content_block_")


def form_of(start: bytes, *, at_end: bool = False) -> Form | None:
    """What begins with these bytes; None where more must come first, which is at most one line.

    Lines of JSON are those whose first object has the keys of a provider's stream: models write JSON too.
    """
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
    if text.startswith(_EVENTS):
        return Form.SSE
    if any(one.startswith(text[:_LONGEST]) for one in _EVENTS):
        return Form.TEXT if at_end else None
    if not text.startswith(b"{"):
        return Form.TEXT
    line, newline, _ = text.partition(b"\n")
    if not newline and not at_end and len(text) < _FIRST_LINE:
        return None
    return Form.NDJSON if _is_of_a_provider(line) else Form.TEXT


def _is_of_a_provider(line: bytes) -> bool:
    try:
        found: Json = parse_json(line.decode("utf-8"))
    except ValueError:
        return False
    return isinstance(found, dict) and (bool(found.keys() & _KEYS) or str(found.get("type", "")).startswith(_TYPES))
