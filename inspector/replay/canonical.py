"""The canonical content of a request: what of it must be equal for a recorded exchange to answer it.

Three levels, each compared where the one before found nothing. EXACT: the body as a JSON value. CANONICAL: without
`user`, `metadata` and idempotency keys, which name the caller and not the question, and with ids of calls by their
position, since a client or server may draw them at random. TIMELESS: also without date-times in system texts, which
say when a prompt was made. Headers never count.
"""

import json
import re
from enum import IntEnum
from hashlib import sha256
from urllib.parse import parse_qsl, urlencode

from inspector.apis.providers import parse_request
from inspector.json_members import list_of, object_of, word_of
from inspector.model import Json

_VOLATILE = frozenset({"user", "metadata", "idempotency_key", "idempotencyKey", "safety_identifier"})
_IDS = frozenset({"id", "tool_call_id", "tool_use_id", "call_id", "previous_response_id"})
_DATA = frozenset({"args", "arguments", "response", "parameters", "input_schema", "schema"})
_CONVERSATIONS = ("messages", "input", "contents", "previous_response_id")
_SYSTEM = frozenset({"system", "developer"})
_SYSTEM_MEMBERS = ("system", "instructions", "systemInstruction", "system_instruction")
_VERSION = re.compile(r"\A.*?/v\d+[a-z0-9]*(?=/)")
_PROVIDER = re.compile(r"\A/[a-z]+(?:-\d+)?(?=/api/)")
_MONTHS = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\.?"
)
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:\s?[AaPp]\.?[Mm]\.?)?(?:\s?(?:Z|UTC|GMT)\b|[+-]\d{2}:?\d{2})?"
_DATE_TIME = re.compile(
    rf"(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,?\s)?"
    rf"(?:\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,2}}/\d{{1,2}}/\d{{4}}|{_MONTHS}\s\d{{1,2}},?\s\d{{4}}|"
    rf"\d{{1,2}}\s{_MONTHS}\s\d{{4}})(?:(?:T|,?\s)(?:at\s)?{_TIME})?|\b{_TIME}"
)
_KEYS = frozenset({"key", "api_key", "api-key"})


class MatchLevel(IntEnum):
    """How much of a request is compared; see the module."""

    EXACT = 0
    CANONICAL = 1
    TIMELESS = 2


def endpoint(path: str) -> str:
    """A request's path without what stands before the API's version, which is the server's; keys in the query go."""
    bare, _, query = path.partition("?")
    bare = _VERSION.sub("", bare) if _VERSION.match(bare) else _PROVIDER.sub("", bare)
    kept = sorted((name, value) for name, value in parse_qsl(query, keep_blank_values=True) if name not in _KEYS)
    return f"{bare.rstrip('/')}?{urlencode(kept)}" if kept else bare.rstrip("/")


def body_value(raw: bytes) -> Json:
    """A body as a JSON value; a body of another kind as text."""
    if not raw:
        return None
    value = parse_request(raw)
    return raw.decode("utf-8", "replace") if value is None else value


def canonical(body: Json, level: MatchLevel) -> Json:
    """What of a body is compared at a level."""
    if not isinstance(body, dict) or level is MatchLevel.EXACT:
        return body
    kept = {name: value for name, value in body.items() if name not in _VOLATILE}
    ids: dict[str, str] = {}
    for name in _CONVERSATIONS:
        if name in kept:
            kept[name] = _by_position(name, kept[name], ids)
    return _timeless(kept) if level is MatchLevel.TIMELESS else kept


def digest(value: Json) -> bytes:
    """Equal for equal JSON values, whatever the order of members."""
    return sha256(json.dumps(_plain(value), sort_keys=True, default=str).encode("utf-8", "surrogatepass")).digest()


def messages_of(body: Json) -> list[Json]:
    """The messages of a request, in whatever member its API has them."""
    members = object_of(body)
    return next((list_of(members[name]) for name in _CONVERSATIONS if isinstance(members.get(name), list)), [])


def _plain(value: Json) -> Json:
    """Numbers that are equal get one form."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case list():
            return [_plain(one) for one in value]
        case dict():
            return {name: _plain(one) for name, one in value.items()}
    return value


def _by_position(name: str, value: Json, ids: dict[str, str]) -> Json:
    match value:
        case str() if name in _IDS:
            return ids.setdefault(value, f"#{len(ids) + 1}")
        case list():
            return [_by_position("", one, ids) for one in value]
        case dict():
            return {
                key: one if key in _DATA or (key == "input" and isinstance(one, dict)) else _by_position(key, one, ids)
                for key, one in value.items()
            }
    return value


def _timeless(body: dict[str, Json]) -> Json:
    kept = dict(body)
    for name in _SYSTEM_MEMBERS:
        if name in kept:
            kept[name] = without_times(kept[name])
    for name in _CONVERSATIONS:
        if isinstance(kept.get(name), list):
            kept[name] = [
                without_times(one) if word_of(object_of(one).get("role")) in _SYSTEM else one
                for one in list_of(kept[name])
            ]
    return kept


def without_times(value: Json) -> Json:
    """A value whose texts have a placeholder for each date and time."""
    match value:
        case str():
            return _DATE_TIME.sub("<date-time>", value)
        case list():
            return [without_times(one) for one in value]
        case dict():
            return {name: without_times(one) for name, one in value.items()}
    return value
