"""The value that was most likely meant by one of the wrong type, or by one that is not among those allowed."""

import json
import re
from collections.abc import Sequence

from inspector.checks.tools import nearest_word
from inspector.json_text import write_json
from inspector.model import Json

_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?")
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,40})")


def coerced(got: Json, types: Sequence[str]) -> str | None:
    """The JSON text that says the same as `got` in one of these types, where there is one."""
    if isinstance(got, str):
        text = got.strip()
        if ("integer" in types and _INTEGER.fullmatch(text)) or ("number" in types and _NUMBER.fullmatch(text)):
            return text
        if "boolean" in types and text.lower() in ("true", "false"):
            return text.lower()
        if "null" in types and text.lower() in ("null", "none"):
            return "null"
        return _unquoted(text, types)
    if isinstance(got, int | float) and "string" in types:
        return f'"{write_json(got)}"'
    if "array" in types and got is not None and not isinstance(got, list | dict) and len(types) == 1:
        return f"[{write_json(got, ascii_only=False)}]"
    return None


def nearest_value(got: Json, allowed: Sequence[Json]) -> tuple[Json] | None:
    """The allowed value that `got` is most likely a slip for, in a tuple: it may be null."""
    as_text = {
        one if isinstance(one, str) else write_json(one): one
        for one in allowed[:500]
        if not isinstance(one, dict | list)
    }
    if isinstance(got, dict | list | None):
        return None
    word = got if isinstance(got, str) else write_json(got)
    if word in as_text:
        return (as_text[word],)
    nearest = nearest_word(word, list(as_text)) if isinstance(got, str) else None
    return (as_text[nearest],) if nearest is not None else None


def _unquoted(text: str, types: Sequence[str]) -> str | None:
    wanted = {"object": "{", "array": "["}
    if len(text) < 100_000 and any(text.startswith(wanted[name]) for name in types if name in wanted):
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return None
        return text
    if "array" in types and len(types) == 1 and len(text) < 1_000:
        return f"[{write_json(text, ascii_only=False)}]"
    return None
