"""A trace in one line: the eye finds the broken box before it reads anything."""

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from inspector.chain.steps import Step, StepOutcome
from inspector.diagnostics import Location
from inspector.inspection import Inspection, PartInspection
from inspector.model import Role, SpanKind, Trace, Turn
from inspector.text import Range
from ui.views.palette import Style
from ui.views.run import Line, Run, width_of
from ui.views.status import step_glyph

LEGEND = (
    "s system  u user  t reasoning  [c] call  r result  a answer",
    "[✖] malformed  [▲] invalid  ✖ error result  [?] no result  ◆ made good later",
)
"""What the letters and glyphs of a minimap mean, in two lines."""

_CALL_ITSELF = (StepOutcome.MALFORMED, StepOutcome.UNKNOWN_TOOL, StepOutcome.INVALID, StepOutcome.UNANSWERED)
_GLANCE = 1024
_ELLIPSIS = Run("…", Style.DIM)


class Box(NamedTuple):
    """What stands for one span: its glyphs, where its characters are, and the step of the call or result that it is.

    `is_first` says that a turn that is no tool's begins with it, `is_focus` that it is the break, or the first failure
    where there is no break.
    """

    line: Line
    location: Location
    kind: SpanKind
    step: Step | None = None
    is_first: bool = False
    is_focus: bool = False


def minimap(trace: Trace, inspection: Inspection, width: int) -> Line:
    """The trace in at most `width` cells, a blank before each turn that is no tool's; long ones keep what failed.

    A call is `[c]`, or bears the glyph of its fault; an error a tool gave is the glyph in place of its `r`.
    """
    found = list(boxes(trace, inspection))
    focus = next((index for index, box in enumerate(found) if box.is_focus), len(found) - 1)
    return _fitted([(*((Run(" "),) if box.is_first else ()), *box.line) for box in found], focus, width)


def boxes(trace: Trace, inspection: Inspection) -> Iterator[Box]:
    """The boxes of a minimap, in the order of the trace."""
    chain = inspection.chain
    by_call = {(step.location.turn, step.location.part, step.location.range.start): step for step in chain.steps}
    by_result = {
        (place.turn, place.part, place.range.start): step for step in chain.steps if (place := step.result_location)
    }
    failed = (step.number for step in chain.steps if step.outcome.failed)
    focus = chain.broken.step if chain.broken else next(failed, 0)
    for number, parts in groupby(inspection.parts, key=lambda part: part.turn):
        turn = trace.turns[number - 1]
        is_first = number > 1 and turn.role is not Role.TOOL
        for part in parts:
            for kind, covered in _events(part, turn):
                key = (part.turn, part.part, covered.start)
                step = by_call.get(key) if kind is SpanKind.TOOL_CALL else by_result.get(key)
                line = _box(kind, turn.role, step, None if step is None else step_glyph(step))
                is_focus = step is not None and step.number == focus
                yield Box(line, Location(part.turn, part.part, covered), kind, step, is_first, is_focus)
                is_first = False


def _fitted(boxes: list[Line], focus: int, width: int) -> Line:
    """The boxes that fit around `focus`, and a `…` for each end that is cut off."""
    widths = [width_of(box) for box in boxes]
    if sum(widths) <= width:
        return tuple(run for box in boxes for run in box)
    start = end = focus
    taken = 2
    while True:
        before = start > 0 and taken + widths[start - 1] <= width
        behind = end < len(boxes) and taken + widths[end] <= width
        if behind and (end - focus <= focus - start or not before):
            taken += widths[end]
            end += 1
        elif before:
            start -= 1
            taken += widths[start]
        else:
            break
    kept = [run for box in boxes[start:end] for run in box]
    return (*((_ELLIPSIS,) if start else ()), *kept, *((_ELLIPSIS,) if end < len(boxes) else ()))


def _events(part: PartInspection, turn: Turn) -> Iterator[tuple[SpanKind, Range]]:
    """The kinds that a part shows, in order, each with its place; neighbours alike are one."""
    source = turn.part(part.part)
    text = source.text if source else ""
    if turn.role in (Role.SYSTEM, Role.USER) and not part.calls and not part.results:
        yield SpanKind.TEXT, Range(0, len(text))
        return
    places = [(SpanKind.TOOL_CALL, call.range) for call in part.calls]
    places += [(SpanKind.TOOL_RESULT, result.range) for result in part.results]
    shown = (SpanKind.TEXT, SpanKind.REASONING)
    places += [
        (span.kind, span.inner)
        for span in part.spans
        if span.kind in shown and text[span.inner.start : min(span.inner.end, span.inner.start + _GLANCE)].strip()
    ]
    places.sort(key=lambda place: place[1].start)
    last: SpanKind | None = None
    for kind, place in places:
        if kind not in shown or kind is not last:
            yield kind, place
        last = kind


def _box(kind: SpanKind, role: Role, step: Step | None, glyph: Run | None) -> Line:
    if kind is SpanKind.TOOL_CALL:
        if step is not None and glyph is not None and step.outcome in _CALL_ITSELF:
            return (Run("["), glyph, Run("]"))
        return (Run("["), Run("c", Style.TOOL_CALL), Run("]"))
    if kind is SpanKind.TOOL_RESULT or role is Role.TOOL:
        if step is not None and glyph is not None and step.outcome is StepOutcome.ERROR_RESULT:
            return (glyph,)
        return (Run("r", Style.TOOL_RESULT),)
    if kind is SpanKind.REASONING:
        return (Run("t", Style.REASONING),)
    letter = {Role.SYSTEM: "s", Role.USER: "u"}.get(role, "a")
    return (Run(letter, Style.TEXT),)
