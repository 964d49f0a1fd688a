"""The turns of a trace as a rail of boxes: its minimap, each box of which leads to the characters it stands for."""

from collections.abc import Sequence

from inspector.diagnostics import Location
from ui.views.call import UNNAMED
from ui.views.dissect.dissection import Dissection
from ui.views.palette import Style
from ui.views.status import outcome_words
from ui.views.trace_boxes import Box, boxes
from ui.views.visible import visible_line
from ui.views.wording import counted
from ui.web.shapes import Group, Picture, SvgElement

MOST_BOXES = 300
_WIDE, _TALL, _GAP, _TURN, _TOP = 26, 24, 3, 12, 6
_LETTER = 15
_LEAP = MOST_BOXES // 4


def rail_boxes(dissection: Dissection, at: Location | None) -> Sequence[Box]:
    """The boxes of a trace, of a long one the `MOST_BOXES` around a place: the same for the places next to it."""
    found = list(boxes(dissection.trace, dissection.inspection))
    if len(found) <= MOST_BOXES:
        return found
    first = min(max(_box_at(found, at) - MOST_BOXES // 2, 0) // _LEAP * _LEAP, len(found) - MOST_BOXES)
    return found[first : first + MOST_BOXES]


def rail(found: Sequence[Box]) -> Picture:
    """The boxes in a row, under each call the number of its step. A box's key is its index."""
    left, groups = 4.0, []
    for index, box in enumerate(found):
        if box.is_first and index:
            left += _TURN
        groups.append(_group(box, left, str(index)))
        left += _WIDE + _GAP
    turns = counted(len({box.location.turn for box in found}), "turn")
    label = f"The trace as a map of {turns}; each box leads to its text"
    return Picture(left + 4, _TOP + _TALL + 20, tuple(groups), label)


def selected_box(found: Sequence[Box], at: Location | None) -> str | None:
    """The key of the box that holds a place."""
    return str(_box_at(found, at)) if found and at is not None else None


def _box_at(found: Sequence[Box], at: Location | None) -> int:
    """The last box that begins before a place ends, in its turn; the first of all without a place."""
    best = 0
    for index, box in enumerate(found if at is not None else ()):
        assert at is not None
        here = box.location
        if here.turn < at.turn or (here.turn == at.turn and here.part != at.part):
            best = index if here.turn < at.turn or found[best].location.turn < at.turn else best
        elif here.turn == at.turn and (here.range.start <= at.range.start or found[best].location.turn < at.turn):
            best = index
    return best


def _group(box: Box, left: float, key: str) -> Group:
    glyph = "".join(run.text for run in box.line).strip("[]")
    style = next((run.style for run in box.line if run.style is not Style.PLAIN), Style.PLAIN)
    middle = left + _WIDE / 2
    shapes = [
        SvgElement("rect", {"x": left, "y": _TOP, "width": _WIDE, "height": _TALL, "rx": 3}, f"box {style}"),
        SvgElement("text", {"x": middle, "y": _TOP + _LETTER + 1}, style.value, glyph, "middle"),
    ]
    if box.step is not None and box.step.location == box.location:
        number = str(box.step.number)
        shapes.append(SvgElement("text", {"x": middle, "y": _TOP + _TALL + 14}, Style.DIM, number, "middle"))
    return Group(tuple(shapes), _title(box), key)


def _title(box: Box) -> str:
    said = f"turn {box.location.turn}: {box.kind.value.replace('_', ' ')}"
    if box.step is None:
        return said
    name = visible_line((box.step.call.name or UNNAMED)[:60])
    breaks = "; the break" if box.is_focus else ""
    return f"{said} of step {box.step.number}, {name}: {visible_line(outcome_words(box.step))}{breaks}"
