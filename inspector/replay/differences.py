"""Where two JSON bodies differ: a JSON pointer (RFC 6901), and for texts the range of characters."""

import json
from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from inspector.model import Json
from inspector.text import Range

_CONTEXT = 24
_LONGEST = 160
_CONVERSATIONS = ("messages", "input", "contents")


class DifferenceKind(StrEnum):
    """What happened to a value since the recording."""

    CHANGED = "changed"
    ADDED = "added"
    MISSING = "missing"


class BodyDifference(Struct, frozen=True):
    """One place where a live request differs from a recorded one.

    `pointer` is a JSON pointer into the body. `message` counts messages from 1, None outside of them. For two texts,
    `live_range` and `recorded_range` are the characters that differ; None for other values. `live` and `recorded` are
    the texts, or values as JSON, without what both share far from the difference; `""` where there is none.
    """

    kind: DifferenceKind
    pointer: str
    message: int | None
    recorded: str
    live: str
    recorded_range: Range | None = None
    live_range: Range | None = None


def differences(recorded: Json, live: Json) -> Iterator[BodyDifference]:
    """All places where two values differ, in the order of the recorded one."""
    yield from _walk(recorded, live, (), None)


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
    counts = len(path) == 1 and path[0] in _CONVERSATIONS
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
    start = next((at for at in range(most) if recorded[at] != live[at]), most)
    end = next((at for at in range(most - start) if recorded[-1 - at] != live[-1 - at]), most - start)
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
    """A JSON pointer."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)


def _around(text: str, where: Range) -> str:
    start, end = max(0, where.start - _CONTEXT), min(len(text), where.end + _CONTEXT)
    middle = _shortened(text[start:end])
    return f"{'…' if start else ''}{middle}{'…' if end < len(text) else ''}"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}…{text[-_LONGEST // 2 :]}"


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
