"""How messages quote values and name places."""

from collections.abc import Sequence

from inspector.json_text import write_json
from inspector.model import Json

_MOST = 60


def pointer(path: Sequence[str | int]) -> str:
    """A path as a JSON Pointer (RFC 6901); the empty path is the empty pointer."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def quoted(name: str) -> str:
    """A name in backticks, cut where it is long, with nothing in it that a screen would obey."""
    return f"`{_visible(name)}`"


def shown(value: Json) -> str:
    """A value as JSON in backticks, cut where it is long."""
    return f"`{_visible(_json(value))}`"


def listed(values: Sequence[Json], *, most: int = 8) -> str:
    """Values in backticks, joined by commas."""
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(map(shown, values[:most])) + more


def _json(value: Json) -> str:
    if isinstance(value, str):
        return write_json(value[: _MOST + 1], ascii_only=False)
    if isinstance(value, list):
        value = value[:_MOST]
    elif isinstance(value, dict):
        value = dict(list(value.items())[:_MOST])
    elif isinstance(value, int) and value.bit_length() > 2_000:
        return "a very long number"
    return write_json(value, ascii_only=False)


def _visible(text: str) -> str:
    text = text if len(text) <= _MOST else text[: _MOST - 1] + "…"
    return text if text.isprintable() else text.encode("unicode_escape", "backslashreplace").decode("ascii")
