"""What is selected: the place, and the call and tool that it belongs to."""

from bisect import bisect_right

from inspector.chain.steps import Step
from inspector.diagnostics import Location
from inspector.model import Role, ToolCall, ToolDefinition
from inspector.text import Range
from ui.views.dissect.dissection import Dissection


def step_at(dissection: Dissection, location: Location) -> Step | None:
    """The step whose call or result holds a place: else one that the place's span belongs to; None without any."""
    call = call_at(dissection, location)
    if call is not None:
        return dissection.steps.of_call(location.turn, location.part, call)
    answered = dissection.steps.answered_in(location.turn)
    if len(answered) == 1:
        return answered[0]
    return dissection.steps.answered_at(location.turn, location.part, location.range.start)


def call_at(dissection: Dissection, location: Location) -> ToolCall | None:
    """The call that holds a place, its markers included; the only or first one of a span that holds several."""
    part = dissection.part(location.turn, location.part)
    if part is None:
        return None
    calls, spans, at = part.found.calls, part.found.spans, location.range.start
    index = bisect_right(calls, at, key=_start)
    before = calls[max(index - 1, 0) : index]
    near = (*before, *calls[index : index + 1])
    held = (call for call in before if _within(call.range, at))
    around = (call for call in near if call.span < len(spans) and _within(spans[call.span].range, at))
    return next(held, next(around, None))


def offered_at(dissection: Dissection, turn: int) -> tuple[ToolDefinition, ...]:
    """The tools that a turn's request offered, else those that the texts before it define."""
    generation = dissection.trace.turns[turn - 1].generation
    if generation is not None and generation.tools:
        return generation.tools
    parts = dissection.parts
    before = dissection.outline.parts.before(turn)
    told = (parts[index] for index in parts.defining if index < before)
    return tuple(tool for part in told if part.role in (Role.SYSTEM, Role.USER) for tool in part.found.definitions)


def _within(place: Range, at: int) -> bool:
    return place.start <= at < max(place.end, place.start + 1)


def _start(call: ToolCall) -> int:
    return call.range.start
