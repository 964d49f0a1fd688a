"""A trace in one line: the eye finds the broken box before it reads anything."""

from collections.abc import Iterator
from itertools import islice

from inspector.inspection import Inspection
from inspector.model import Trace
from ui.views.palette import Style
from ui.views.run import Line, Run, width_of
from ui.views.step_places import StepPlaces
from ui.views.trace_boxes import Box, BoxWalk, focus_of, with_heads

LEGEND = (
    "s system  u user  t reasoning  [c] call  r result  a answer",
    "[✖] malformed  [▲] invalid  ✖ error result  [?] no result  ◆ made good later",
)
"""What the letters and glyphs of a minimap mean, in two lines."""

_MOST = 2_000  # parts, spans, calls and results that are looked at on either side of the focus
_ELLIPSIS = Run("…", Style.DIM)


def minimap(
    trace: Trace, inspection: Inspection, width: int, *, steps: StepPlaces | None = None, focus: int | None = None
) -> Line:
    """The trace in at most `width` cells, a blank before each turn that is no tool's; long ones keep what failed.

    A call is `[c]`, or bears the glyph of its fault; an error a tool gave is the glyph in place of its `r`. Whoever
    knows them hands over the places of the `steps`, and the number of the one to keep, 0 for none: then no more of a
    trace is looked at than is shown.
    """
    chain = inspection.chain
    focus = focus_of(chain) if focus is None else focus
    walk = BoxWalk(trace, inspection, StepPlaces(chain) if steps is None else steps, focus)
    at, offset = walk.place_of_focus()
    before, saw_first = _enough(walk.before(at, offset), width)
    behind, saw_last = _enough(walk.behind(at, offset), width)
    found = with_heads((*reversed(before), *behind))
    lines = [(*((Run(" "),) if box.is_first else ()), *box.line) for box in found]
    more: Line = (Run(" " * (width + 1)),)  # what was not looked at is as a box for which there is never room
    shown = [*(() if saw_first else (more,)), *lines, *(() if saw_last else (more,))]
    return _fitted(shown, len(before) + (not saw_first) - (not behind), width)


def _enough(walk: Iterator[Box | None], width: int) -> tuple[list[Box], bool]:
    """The first boxes, one more than `width` cells have room for, and whether no others were left out unseen."""
    found: list[Box] = []
    for box in islice(walk, _MOST):
        if box is not None:
            found.append(box)
            if width < 0:
                return found, True
            width -= width_of(box.line)
    return found, next(walk, found) is found


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
