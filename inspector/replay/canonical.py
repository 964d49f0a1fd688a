"""Compares requests: their canonical content, equal if a recorded exchange may answer, and where two bodies differ.

There are three levels; a level is used if the one before found nothing. EXACT: the body as a JSON value. CANONICAL:
without `user`, `metadata` and idempotency keys, which identify the caller and not the question, and with ids of calls
by their position, since a client or server may draw them at random. TIMELESS: also without date-times in system texts,
which state when a prompt was created. Headers never count.
"""

import json
import re
from collections.abc import Iterator, Sequence
from enum import IntEnum, StrEnum
from hashlib import sha256
from itertools import islice
from urllib.parse import parse_qsl, urlencode

from msgspec import Struct
from msgspec.structs import replace

from weaklink.inspector.apis.providers import parse_request
from weaklink.inspector.json_text import list_of, object_of, word_of
from weaklink.inspector.model import Json
from weaklink.inspector.text import Range

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
    rf"""
    (?: (?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun) day,? \s )?
    (?: \d{{4}}-\d{{2}}-\d{{2}}                             # 2026-05-01
      | \d{{1,2}}/\d{{1,2}}/\d{{4}}                         # 5/1/2026
      | {_MONTHS} \s \d{{1,2}},? \s \d{{4}}                 # May 1, 2026
      | \d{{1,2}} \s {_MONTHS} \s \d{{4}} )                 # 1 May 2026
    (?: (?: T | ,?\s ) (?:at\s)? {_TIME} )?
    | \b {_TIME}                                            # a time alone
    """,
    re.VERBOSE,
)
"""A date, with or without its weekday and time, or a time alone: `Monday, 1 May 2026 at 10:00`, `2026-05-01T10:00`."""
_KEYS = frozenset({"key", "api_key", "api-key"})
_CONTEXT_CHARS = 24
_MAX_TEXT_CHARS = 160
_TOOLS = "/tools/"
_LISTS_OF_MESSAGES = ("messages", "input", "contents")


class MatchLevel(IntEnum):
    """How much of a request is compared; see the module's docstring."""

    EXACT = 0
    CANONICAL = 1
    TIMELESS = 2


def endpoint(path: str) -> str:
    """A request's path without the server's part before the API's version, and without keys in the query."""
    bare, _, query = path.partition("?")
    bare = _VERSION.sub("", bare) if _VERSION.match(bare) else _PROVIDER.sub("", bare)
    kept = sorted((name, value) for name, value in parse_qsl(query, keep_blank_values=True) if name not in _KEYS)
    return f"{bare.rstrip('/')}?{urlencode(kept)}" if kept else bare.rstrip("/")


def body_value(raw: bytes) -> Json:
    """A body as a JSON value, or as text if it is no JSON."""
    if not raw:
        return None
    value = parse_request(raw)
    return raw.decode("utf-8", "replace") if value is None else value


def canonical(body: Json, level: MatchLevel) -> Json:
    """The content of a body that is compared at a level."""
    if not isinstance(body, dict) or level is MatchLevel.EXACT:
        return body
    kept = {name: value for name, value in body.items() if name not in _VOLATILE}
    ids: dict[str, str] = {}
    for name in _CONVERSATIONS:
        if name in kept:
            kept[name] = _by_position(name, kept[name], ids)
    return _timeless(kept) if level is MatchLevel.TIMELESS else kept


def digest(value: Json) -> bytes:
    """A digest that is the same for equal JSON values, in any order of members."""
    return sha256(json.dumps(_plain(value), sort_keys=True, default=str).encode("utf-8", "surrogatepass")).digest()


def messages_of(body: Json) -> list[Json]:
    """The messages of a request, from the member in which its API has them."""
    members = object_of(body)
    return next((list_of(members[name]) for name in _CONVERSATIONS if isinstance(members.get(name), list)), [])


def _plain(value: Json) -> Json:
    """A value in which equal numbers have the same form."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case list():
            return [_plain(item) for item in value]
        case dict():
            return {name: _plain(item) for name, item in value.items()}
    return value


def _by_position(name: str, value: Json, ids: dict[str, str]) -> Json:
    match value:
        case str() if name in _IDS:
            return ids.setdefault(value, f"#{len(ids) + 1}")
        case list():
            return [_by_position("", item, ids) for item in value]
        case dict():
            return {
                key: item
                if key in _DATA or (key == "input" and isinstance(item, dict))
                else _by_position(key, item, ids)
                for key, item in value.items()
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
                without_times(item) if word_of(object_of(item).get("role")) in _SYSTEM else item
                for item in list_of(kept[name])
            ]
    return kept


def without_times(value: Json) -> Json:
    """A value whose texts have a placeholder for each date and time."""
    match value:
        case str():
            return _DATE_TIME.sub("<date-time>", value)
        case list():
            return [without_times(item) for item in value]
        case dict():
            return {name: without_times(item) for name, item in value.items()}
    return value


class DifferenceKind(StrEnum):
    """What happened to a value since the recording."""

    CHANGED = "changed"
    ADDED = "added"
    MISSING = "missing"


class BodyDifference(Struct, frozen=True):
    """One place where a live request differs from a recorded one.

    `pointer` is a JSON pointer into the body. `message` counts messages from 1, None outside of them; `tool` is the
    tool whose definition differs, None outside of the tools. For two texts, `live_range` and `recorded_range` are the
    characters that differ; for another value of a tool, its characters in the JSON text of the definition (as
    Python's `json` writes it); None for any other value. `live` and `recorded` are the texts around the difference, or
    values as JSON; `""` if there is none.
    """

    kind: DifferenceKind
    pointer: str
    message: int | None
    recorded: str
    live: str
    recorded_range: Range | None = None
    live_range: Range | None = None
    tool: str | None = None


def differences(recorded: Json, live: Json) -> Iterator[BodyDifference]:
    """All places where two values differ, in the order of the recorded one."""
    for difference in _walk(recorded, live, (), None):
        yield _in_tool(difference, recorded, live) if difference.pointer.startswith(_TOOLS) else difference


def _in_tool(difference: BodyDifference, recorded: Json, live: Json) -> BodyDifference:
    """The difference with the name of its tool, and with the characters of a value that is no text."""
    path = [step.replace("~1", "/").replace("~0", "~") for step in difference.pointer.split("/")[1:]]
    old, new = _definition(recorded, path), _definition(live, path)
    named = replace(difference, tool=new[0] or old[0] or None)
    if difference.live_range is not None:
        return named
    return replace(named, recorded_range=_range_in(*old[1:]), live_range=_range_in(*new[1:]))


def _definition(body: Json, path: Sequence[str]) -> tuple[str, Json, Sequence[str]]:
    """The name and definition of the tool at or above a path, and the rest of the path; `""` if there is none."""
    value = body
    for depth, step in enumerate(path, 1):
        value = _child(value, step)
        members = object_of(value)
        name = word_of(members.get("name")) or word_of(object_of(members.get("function")).get("name"))
        if name and depth > 1:
            return name, value, path[depth:]
    return "", None, ()


def _child(value: Json, step: str) -> Json:
    if isinstance(value, dict):
        return value.get(step)
    return value[int(step)] if isinstance(value, list) and step.isdecimal() and int(step) < len(value) else None


def _range_in(definition: Json, path: Sequence[str]) -> Range | None:
    """The characters of the value at a path in the JSON text of a definition; None if it does not have the value."""
    if definition is None:
        return None
    values: list[Json] = [definition]
    for step in path:
        holder = values[-1]
        if not (step in holder if isinstance(holder, dict) else int(step) < len(list_of(holder))):
            return None
        values.append(_child(holder, step))
    start = sum(_offset(value, step) for value, step in zip(values, path, strict=False))
    return Range(start, start + len(_json(values[-1])))


def _offset(value: Json, step: str) -> int:
    """Where the child at a step begins in the JSON text of an object or a list."""
    if isinstance(value, dict):
        before = dict(islice(value.items(), list(value).index(step)))
        lead = f"{_json(before)[:-1]}, " if before else "{"
        return len(f"{lead}{_json(step)}: ")
    before_items = list_of(value)[: int(step)]
    return len(f"{_json(before_items)[:-1]}, ") if before_items else 1


def _walk(recorded: Json, live: Json, path: tuple[str | int, ...], message: int | None) -> Iterator[BodyDifference]:
    match recorded, live:
        case dict(), dict():
            yield from _members(recorded, live, path, message)
        case list(), list():
            yield from _items(recorded, live, path, message)
        case str(), str():
            if recorded != live:
                yield _texts(recorded, live, path, message)
        case _ if recorded != live or isinstance(recorded, bool) is not isinstance(live, bool):
            yield _one(DifferenceKind.CHANGED, path, message, recorded, live)


def _members(
    recorded: dict[str, Json], live: dict[str, Json], path: tuple[str | int, ...], message: int | None
) -> Iterator[BodyDifference]:
    for name, value in recorded.items():
        if name in live:
            yield from _walk(value, live[name], (*path, name), message)
        else:
            yield _one(DifferenceKind.MISSING, (*path, name), message, value, None)
    for name, value in live.items():
        if name not in recorded:
            yield _one(DifferenceKind.ADDED, (*path, name), message, None, value)


def _items(
    recorded: list[Json], live: list[Json], path: tuple[str | int, ...], message: int | None
) -> Iterator[BodyDifference]:
    counts = len(path) == 1 and path[0] in _LISTS_OF_MESSAGES
    for number in range(max(len(recorded), len(live))):
        here = number + 1 if counts else message
        if number >= len(live):
            yield _one(DifferenceKind.MISSING, (*path, number), here, recorded[number], None)
        elif number >= len(recorded):
            yield _one(DifferenceKind.ADDED, (*path, number), here, None, live[number])
        else:
            yield from _walk(recorded[number], live[number], (*path, number), here)


def _texts(recorded: str, live: str, path: tuple[str | int, ...], message: int | None) -> BodyDifference:
    most = min(len(recorded), len(live))
    start = next((index for index in range(most) if recorded[index] != live[index]), most)
    end = next((index for index in range(most - start) if recorded[-1 - index] != live[-1 - index]), most - start)
    old, new = Range(start, len(recorded) - end), Range(start, len(live) - end)
    return BodyDifference(
        DifferenceKind.CHANGED, pointer_of(path), message, _around(recorded, old), _around(live, new), old, new
    )


def _one(
    kind: DifferenceKind, path: tuple[str | int, ...], message: int | None, recorded: Json, live: Json
) -> BodyDifference:
    return BodyDifference(
        kind,
        pointer_of(path),
        message,
        "" if kind is DifferenceKind.ADDED else _shortened(_json(recorded)),
        "" if kind is DifferenceKind.MISSING else _shortened(_json(live)),
    )


def pointer_of(path: tuple[str | int, ...]) -> str:
    """The JSON pointer of a path."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)


def _around(text: str, where: Range) -> str:
    start, end = max(0, where.start - _CONTEXT_CHARS), min(len(text), where.end + _CONTEXT_CHARS)
    middle = _shortened(text[start:end])
    return f"{'…' if start else ''}{middle}{'…' if end < len(text) else ''}"


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_TEXT_CHARS else f"{text[: _MAX_TEXT_CHARS // 2]}…{text[-_MAX_TEXT_CHARS // 2 :]}"


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
