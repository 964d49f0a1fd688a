"""The chain as a picture: its steps in a row, an arc from each result to the steps that used it."""

from itertools import pairwise

from inspector.chain.data_flow import DataFlow
from inspector.chain.steps import Chain, Step
from ui.views.call import UNNAMED
from ui.views.palette import Style
from ui.views.status import outcome_words, step_glyph
from ui.views.visible import visible_line
from ui.views.wording import counted
from ui.web.shapes import Group, Picture, SvgElement

MOST_STEPS = 120
_WIDE, _GAP, _TALL = 108, 16, 40
_HIGHEST = 160
_NAME = 12
_LEAP = MOST_STEPS // 4


def flow_picture(chain: Chain, flow: DataFlow, around: int = 1) -> Picture:
    """At most the `MOST_STEPS` steps around one; a step's key is its number. The longest way through is thick.

    They are the same for the steps next to it.
    """
    first = max(min(max(around - MOST_STEPS // 2, 0) // _LEAP * _LEAP, len(chain.steps) - MOST_STEPS), 0)
    steps = chain.steps[first : first + MOST_STEPS]
    edges = [(used - first, step.number - first) for step in steps for used in step.depends_on if used > first]
    top = max((_height(edge) for edge in edges), default=0) + 24
    longest = {(one - first, other - first) for one, other in pairwise(flow.critical_path)}
    arcs = [_arc(edge, top, first, is_longest=edge in longest) for edge in edges]
    broken = chain.broken.step if chain.broken is not None else 0
    boxes = [_box(step, top, first, is_break=step.number == broken) for step in steps]
    width = len(steps) * (_WIDE + _GAP) + _GAP
    left = len(chain.steps) - len(steps)
    more = f"; {counted(left, 'further step')}" if left else ""
    label = f"{counted(len(steps), 'step')} and {counted(len(arcs), 'use')} of earlier results{more}"
    return Picture(max(width, 300), top + _TALL + 12, (*arcs, *boxes), label)


def _height(edge: tuple[int, int]) -> float:
    """How high the arc between two steps rises."""
    return min(20 + (_middle(edge[1]) - _middle(edge[0])) / 5, _HIGHEST)


def _arc(edge: tuple[int, int], ground: float, first: int, *, is_longest: bool) -> Group:
    start, end = _middle(edge[0]), _middle(edge[1])
    peak = ground - _height(edge)
    way = f"M{start:.1f} {ground:.1f} C{start:.1f} {peak:.1f} {end:.1f} {peak:.1f} {end:.1f} {ground:.1f}"
    drawn = SvgElement("path", {"d": way}, f"{Style.TOOL_RESULT}{' thick' if is_longest else ''}")
    return Group((drawn,), f"step {edge[1] + first} uses what step {edge[0] + first} returned")


def _middle(number: int) -> float:
    return _GAP + (number - 1) * (_WIDE + _GAP) + _WIDE / 2


def _box(step: Step, top: float, first: int, *, is_break: bool) -> Group:
    glyph = step_glyph(step)
    left = _middle(step.number - first) - _WIDE / 2
    name = visible_line(step.call.name or UNNAMED)
    short = name if len(name) <= _NAME else name[: _NAME - 1] + "…"
    shapes = (
        SvgElement("rect", {"x": left, "y": top, "width": _WIDE, "height": _TALL, "rx": 4}, f"box {glyph.style}"),
        SvgElement("text", {"x": left + 8, "y": top + 17}, glyph.style.value, f"{glyph.text} {step.number}"),
        SvgElement("text", {"x": left + 8, "y": top + 33}, "", short),
    )
    words = f"step {step.number}, {name}: {visible_line(outcome_words(step))}{'; the break' if is_break else ''}"
    return Group(shapes, words, str(step.number))
