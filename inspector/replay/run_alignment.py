"""Where two runs of one command first part, and why.

The requests of one run are matched with those of the other by their content (`inspector.replay.matching`): without
`user`, `metadata` and idempotency keys, and with ids of calls by their position. So requests that overlap may come in
any order. Of the second run's requests, in the order in which they began, the first of these is the parting:

* a request whose counterpart got another answer: the source is the model or its server (ANSWER);
* a request without a counterpart: its first difference from the most similar request says the source. Definitions of
  tools (TOOLS), a result of a tool (TOOL_RESULT), equal elements in another order (ORDER), a text that differs only in
  dates and times (CLOCK) or in random ids (ID), or anything else of the prompt (PROMPT);
* a request that the second run never made (END).
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import islice

from msgspec import Struct

from inspector.json_members import list_of, object_of, word_of
from inspector.model import Json, Turn
from inspector.model.exchange import RecordedExchange
from inspector.replay.canonical import (
    BodyDifference,
    MatchLevel,
    body_value,
    canonical,
    differences,
    digest,
    without_times,
)
from inspector.replay.matching import Recording, ReplayDivergence, Replayer
from inspector.scanning import lazy_pattern

_LEVELS = (MatchLevel.EXACT, MatchLevel.CANONICAL)
_MOST = 50
_EPOCH = lazy_pattern(r"\b1[5-9]\d{8}(?:\d{3}(?:\d{3}){0,2})?(?:\.\d+)?\b")
_RANDOM_ID = lazy_pattern(
    r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b"
    r"|\b(?=[A-Za-z]*\d)[0-9A-Za-z]{8,}\b|\b[a-z]+[_-](?=[A-Za-z]*\d)[0-9A-Za-z]{4,}\b|\b\d{6,}\b|\b[0-9a-f]{8,}\b",
    re.IGNORECASE,
)
_RESULT_TYPES = frozenset({"tool_result", "function_call_output"})


class DifferenceSource(StrEnum):
    """Why two runs part."""

    ANSWER = "answer"
    TOOL_RESULT = "tool-result"
    CLOCK = "clock"
    ID = "id"
    ORDER = "order"
    TOOLS = "tools"
    PROMPT = "prompt"
    END = "end"


class RunExchange(Struct, frozen=True):
    """One exchange of a run: its trace's id, and the turn that its answer is, None where it asked no model."""

    trace: int
    exchange: RecordedExchange
    turn: Turn | None = None


class CommandParting(Struct, frozen=True):
    """Where two runs first part.

    `request` counts the second run's requests from 1, in the order in which they began (END: the first run's).
    `first` and `second` are the exchanges, None where a run has none. `differences` are at most 50: of the requests'
    bodies, or for ANSWER of the answers' parts by name; the first of them is the place.
    """

    source: DifferenceSource
    request: int
    first: RunExchange | None
    second: RunExchange | None
    differences: tuple[BodyDifference, ...] = ()


def parting(first: Sequence[RunExchange], second: Sequence[RunExchange]) -> CommandParting | None:
    """Where two runs part, None where they are equal; both in the order in which their requests began."""
    recording = Recording(tuple(one.exchange for one in first), (None,) * len(first))
    replayer = Replayer(recording, levels=_LEVELS)
    for number, one in enumerate(second, 1):
        exchange = one.exchange
        found = replayer.find(exchange.method, exchange.path, exchange.request or b"")
        if isinstance(found, ReplayDivergence):
            other = first[found.exchange - 1] if found.exchange else None
            return _request_parting(number, other, one)
        other = first[found.number - 1]
        changed = tuple(islice(differences(_answer(other), _answer(one)), _MOST))
        if changed:
            return CommandParting(DifferenceSource.ANSWER, number, other, one, changed)
    missing = next(iter(replayer.never_made()), None)
    if missing is None:
        return None
    return CommandParting(DifferenceSource.END, missing.number, first[missing.number - 1], None)


def _answer(one: RunExchange) -> Json:
    """What an answer says: status, texts, and calls without their ids."""
    exchange = one.exchange
    said: dict[str, Json] = {"status": exchange.status}
    if one.turn is None:
        return {**said, "body": body_value(exchange.answer or b"")}
    names: dict[str, Json] = {f"{call.part} name": call.name for call in one.turn.calls}
    parts = {part.name: part.text for part in one.turn.parts if not part.name.startswith("wire:")}
    return {**said, **names, **parts}


def _request_parting(number: int, first: RunExchange | None, second: RunExchange) -> CommandParting:
    if first is None:
        return CommandParting(DifferenceSource.PROMPT, number, None, second)
    old, new = (canonical(body_value(one.exchange.request or b""), MatchLevel.CANONICAL) for one in (first, second))
    found = tuple(islice(differences(old, new), _MOST))
    source = _source(old, new, found[0]) if found else DifferenceSource.PROMPT
    return CommandParting(source, number, first, second, found)


def _source(old: Json, new: Json, place: BodyDifference) -> DifferenceSource:
    path = [step.replace("~1", "/").replace("~0", "~") for step in place.pointer.split("/")[1:]]
    if path[:1] in (["tools"], ["functions"]):
        return DifferenceSource.TOOLS
    pairs = list(_along(old, new, path))
    if any(_is_reordered(one, other) for one, other in pairs):
        return DifferenceSource.ORDER
    if any(_is_result(one) and _is_result(other) for one, other in pairs):
        return DifferenceSource.TOOL_RESULT
    one, other = pairs[-1] if pairs else (None, None)
    return _text_source(one, other)


def _text_source(one: Json, other: Json) -> DifferenceSource:
    if without_clock(one) == without_clock(other):
        return DifferenceSource.CLOCK
    if _without_ids(one) == _without_ids(other):
        return DifferenceSource.ID
    if isinstance(one, str) and isinstance(other, str):
        if Counter(one.split()) == Counter(other.split()):
            return DifferenceSource.ORDER
        if _without_ids(without_clock(one)) == _without_ids(without_clock(other)):
            return _first_of_both(one, other)
    return DifferenceSource.PROMPT


def _first_of_both(one: str, other: str) -> DifferenceSource:
    """Of two texts that differ in times and in ids: which of them comes first."""
    clock = list(differences(_without_ids(one), _without_ids(other)))
    ids = list(differences(without_clock(one), without_clock(other)))
    starts = [found[0].live_range.start if found and found[0].live_range else 0 for found in (clock, ids)]
    return DifferenceSource.CLOCK if starts[0] <= starts[1] else DifferenceSource.ID


def _along(old: Json, new: Json, path: Sequence[str]) -> Iterator[tuple[Json, Json]]:
    """The values of both bodies at each step of a path, as far as both have it."""
    for step in path:
        if isinstance(old, dict) and isinstance(new, dict) and step in old and step in new:
            old, new = old[step], new[step]
        elif isinstance(old, list) and isinstance(new, list) and int(step) < min(len(old), len(new)):
            old, new = old[int(step)], new[int(step)]
        else:
            return
        yield old, new


def _is_reordered(one: Json, other: Json) -> bool:
    if not isinstance(one, list) or not isinstance(other, list) or len(one) != len(other) or one == other:
        return False
    return Counter(map(digest, one)) == Counter(map(digest, other))


def _is_result(value: Json) -> bool:
    """Whether a message or a block is a tool's result, or a Gemini message that holds one."""
    members = object_of(value)
    if word_of(members.get("role")) in {"tool", "function"} or word_of(members.get("type")) in _RESULT_TYPES:
        return True
    return any("functionResponse" in object_of(part) for part in list_of(members.get("parts")))


def without_clock(value: Json) -> Json:
    """A value whose texts have a placeholder for each date, time and timestamp."""
    timeless = without_times(value)
    return _EPOCH.sub("<date-time>", timeless) if isinstance(timeless, str) else _number(timeless)


def _number(value: Json) -> Json:
    is_epoch = isinstance(value, int | float) and _EPOCH.fullmatch(str(value)) is not None
    return "<date-time>" if is_epoch else value


def _without_ids(value: Json) -> Json:
    return _RANDOM_ID.sub("<id>", value) if isinstance(value, str) else value
