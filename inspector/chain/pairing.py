"""Which result answers which call: by id the nearest earlier open one, else by order in the last turn of calls."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inspector.diagnostics import Location
from inspector.model import ToolCall, ToolResult


@dataclass(frozen=True, slots=True)
class PlacedCall:
    """A call and where it stands."""

    call: ToolCall
    location: Location


@dataclass(frozen=True, slots=True)
class PlacedResult:
    """A result and where it stands."""

    result: ToolResult
    location: Location


@dataclass(frozen=True, slots=True)
class Pairing:
    """The calls of a trace in order, the result of each or None, and the results that answer no open call."""

    pairs: tuple[tuple[PlacedCall, PlacedResult | None], ...]
    orphans: tuple[PlacedResult, ...]


def pair(events: Iterable[PlacedCall | PlacedResult]) -> Pairing:
    """Pair the calls and results of a trace, given in its order. Ids may be used again: real logs do so."""
    calls: list[PlacedCall] = []
    answers: dict[int, PlacedResult] = {}
    orphans: list[PlacedResult] = []
    open_by_id: dict[str, list[int]] = {}
    open_now: list[int] = []
    for event in events:
        match event:
            case PlacedCall(call, location):
                if open_now and calls[open_now[-1]].location.turn != location.turn:
                    open_now = []
                open_now.append(len(calls))
                if call.id is not None:
                    open_by_id.setdefault(call.id, []).append(len(calls))
                calls.append(event)
            case PlacedResult(result):
                index = _answered(result, calls, open_by_id, open_now, answers)
                if index is None:
                    orphans.append(event)
                else:
                    answers[index] = event
    return Pairing(tuple((call, answers.get(index)) for index, call in enumerate(calls)), tuple(orphans))


def _answered(
    result: ToolResult,
    calls: Sequence[PlacedCall],
    open_by_id: dict[str, list[int]],
    open_now: list[int],
    answers: dict[int, PlacedResult],
) -> int | None:
    """The index of the call that `result` answers."""
    if result.call_id is not None and open_by_id.get(result.call_id):
        return open_by_id[result.call_id].pop()
    waiting = [index for index in open_now if index not in answers and calls[index].call.id in (None, result.call_id)]
    if result.call_id is None:
        waiting = [index for index in open_now if index not in answers]
    if not waiting:
        return None
    return min(waiting, key=lambda index: (_likeness(result, calls[index].call), index))


def _likeness(result: ToolResult, call: ToolCall) -> int:
    """How far a call is from being the one that a result without a matching id answers; 0 is nearest."""
    if result.name is not None and call.name == result.name:
        return 0
    if result.name is not None and call.name is not None:
        return 3
    return 1 if call.valid or call.recovered else 2
