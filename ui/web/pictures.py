"""Clickable pictures of a trace, as SVG shapes: its chain, its times, and its turns as a rail of boxes."""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import islice, pairwise
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from weaklink.inspector.chain.data_flow import DataFlow
from weaklink.inspector.chain.steps import Chain, Step
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.model import Json, Role, Trace, Turn
from weaklink.ui.views.dissect.dissection import Dissection
from weaklink.ui.views.dissect.timing import STALL_S
from weaklink.ui.views.minimap import Box, boxes
from weaklink.ui.views.status import UNNAMED, outcome_words, step_glyph
from weaklink.ui.views.styled_text import Style, counted, short_duration, visible_line

MAX_STEPS = 120
_WIDE, _GAP, _TALL = 108, 16, 40
_MAX_ARC_PX = 160
_NAME_CHARS = 12
_STEPS_PER_MOVE = MAX_STEPS // 4
_MAX_TURNS = 200
_ROW, _LEFT, _WIDTH = 22, 90, 820
_MAX_TICKS = 8
_STEPS_S = tuple(size * 10.0**power for power in range(-3, 9) for size in (1, 2, 5))  # between two ticks of the axis
MAX_BOXES = 300
_BOX_WIDTH, _BOX_HEIGHT, _BOX_GAP, _TURN, _TOP = 26, 24, 3, 12, 2
_LETTER_PX = 15
_RAIL_LEAP = MAX_BOXES // 4
SvgTag: TypeAlias = Literal["rect", "line", "text", "path"]


class SvgElement(Struct, frozen=True):
    """One SVG element; `attributes` are numbers (except for a path's `d`), `style` its CSS classes."""

    tag: SvgTag
    attributes: dict[str, float | str]
    style: str = Style.PLAIN.value
    text: str = ""
    anchor: str = ""


class ShapeGroup(Struct, frozen=True):
    """Shapes that belong together; `title` is their tooltip, `key` (if not empty) identifies them in `Picture.data`."""

    shapes: tuple[SvgElement, ...]
    title: str = ""
    key: str = ""


class Picture(Struct, frozen=True):
    """A whole picture; `label` describes it in one sentence."""

    width: float
    height: float
    groups: tuple[ShapeGroup, ...]
    label: str

    def data(self, selected: str | None, locations: Mapping[str, Location], caption: str) -> dict[str, Json]:
        """The picture as JSON for the browser, with the group `selected` highlighted; a click selects a place."""
        return {
            "caption": caption,
            "width": self.width,
            "height": self.height,
            "label": self.label,
            "selected": selected,
            "groups": [
                {
                    "title": group.title,
                    "key": group.key,
                    "location": location_object(locations[group.key]) if group.key in locations else None,
                    "shapes": [_shape(shape) for shape in group.shapes],
                }
                for group in self.groups
            ],
        }


def location_object(location: Location) -> dict[str, Json]:
    """A location as JSON for the browser; its positions are code points of the part."""
    return {"turn": location.turn, "part": location.part, "start": location.range.start, "end": location.range.end}


def _shape(element: SvgElement) -> Json:
    return {
        "tag": element.tag,
        "style": element.style,
        "text": element.text,
        "anchor": element.anchor,
        **element.attributes,
    }


def flow_picture(chain: Chain, flow: DataFlow, around: int = 1) -> Picture:
    """At most `MAX_STEPS` steps around `around`; a step's key is its number, the arcs of the critical path are thick.

    Neighbouring values of `around` give the same steps.
    """
    first = max(
        min(max(around - MAX_STEPS // 2, 0) // _STEPS_PER_MOVE * _STEPS_PER_MOVE, len(chain.steps) - MAX_STEPS), 0
    )
    steps = chain.steps[first : first + MAX_STEPS]
    edges = [(used - first, step.number - first) for step in steps for used in step.depends_on if used > first]
    top = max((_height(edge) for edge in edges), default=0) + 24
    longest = {(number - first, other - first) for number, other in pairwise(flow.critical_path)}
    arcs = [_arc(edge, top, first, is_longest=edge in longest) for edge in edges]
    broken = chain.broken.step if chain.broken is not None else 0
    boxes = [_box(step, top, first, is_break=step.number == broken) for step in steps]
    width = len(steps) * (_WIDE + _GAP) + _GAP
    left = len(chain.steps) - len(steps)
    more = f"; {counted(left, 'further step')}" if left else ""
    label = f"{counted(len(steps), 'step')} and {counted(len(arcs), 'use')} of earlier results{more}"
    return Picture(max(width, 300), top + _TALL + 12, (*arcs, *boxes), label)


def _height(edge: tuple[int, int]) -> float:
    """The height of the arc between two steps."""
    return min(20 + (_middle(edge[1]) - _middle(edge[0])) / 5, _MAX_ARC_PX)


def _arc(edge: tuple[int, int], ground: float, first: int, *, is_longest: bool) -> ShapeGroup:
    start, end = _middle(edge[0]), _middle(edge[1])
    peak = ground - _height(edge)
    path = f"M{start:.1f} {ground:.1f} C{start:.1f} {peak:.1f} {end:.1f} {peak:.1f} {end:.1f} {ground:.1f}"
    drawn = SvgElement("path", {"d": path}, f"{Style.TOOL_RESULT}{' thick' if is_longest else ''}")
    return ShapeGroup((drawn,), f"step {edge[1] + first} uses what step {edge[0] + first} returned")


def _middle(number: int) -> float:
    return _GAP + (number - 1) * (_WIDE + _GAP) + _WIDE / 2


def _box(step: Step, top: float, first: int, *, is_break: bool) -> ShapeGroup:
    glyph = step_glyph(step)
    left = _middle(step.number - first) - _WIDE / 2
    name = visible_line(step.call.name or UNNAMED)
    short = name if len(name) <= _NAME_CHARS else name[: _NAME_CHARS - 1] + "…"
    shapes = (
        SvgElement("rect", {"x": left, "y": top, "width": _WIDE, "height": _TALL, "rx": 4}, f"box {glyph.style}"),
        SvgElement("text", {"x": left + 8, "y": top + 17}, glyph.style.value, f"{glyph.text} {step.number}"),
        SvgElement("text", {"x": left + 8, "y": top + 33}, "", short),
    )
    words = f"step {step.number}, {name}: {visible_line(outcome_words(step))}{'; the break' if is_break else ''}"
    return ShapeGroup(shapes, words, str(step.number))


def timing_picture(trace: Trace) -> Picture | None:
    """A timeline with a row per turn whose times are known, on one axis; None if there are none.

    A row's key is its turn. Most sources have no times for the runs of tools: then the turns of their results share
    the time between the two answers around them, in which the tools, the agent and the client worked.
    """
    rows = list(islice(_timed(trace), _MAX_TURNS))
    if not any(row.kind is not _TimeKind.BETWEEN for row in rows):
        return None
    first = min(row.start for row in rows)
    whole = max(max(row.end for row in rows) - first, 0.001)
    scale = _WIDTH / whole
    height = len(rows) * _ROW + 8
    groups = (*_axis(whole, height), *(_row(row, index * _ROW + 4, first, scale) for index, row in enumerate(rows)))
    answers, runs = (sum(row.kind is kind for row in rows) for kind in (_TimeKind.ANSWER, _TimeKind.RUN))
    counts = [counted(answers, "answer"), *([counted(runs, "tool run")] if runs else [])]
    between = "; outlined: the tools and the agent" if any(row.kind is _TimeKind.BETWEEN for row in rows) else ""
    label = (
        f"{' and '.join(counts)} in {short_duration(whole)}; light: waiting for the first chunk, marks: stalls{between}"
    )
    return Picture(_LEFT + _WIDTH + 80, height + 18, groups, label)


class _TimeKind(Enum):
    """What happened in a span of time: an answer, the run of a tool, or all between two answers."""

    ANSWER = "answer"
    RUN = "tool run"
    BETWEEN = "between two answers"


class _TimedTurn(NamedTuple):
    """A turn with its time, in seconds since 1970."""

    number: int
    turn: Turn
    kind: _TimeKind
    start: float
    end: float


def _timed(trace: Trace) -> Iterator[_TimedTurn]:
    """The turns with known times, in order."""
    next_start = _next_starts(trace)
    answered: float | None = None  # the end of the answer before
    for number, turn in enumerate(trace.turns, 1):
        if turn.generation is not None:
            started, ended = turn.generation.started, turn.generation.ended
            answered = ended.at_s if ended is not None else None
            if started is not None and ended is not None and ended.at_s >= started.at_s:
                yield _TimedTurn(number, turn, _TimeKind.ANSWER, started.at_s, ended.at_s)
        elif turn.run is not None and turn.run.started is not None and turn.run.ended is not None:
            yield _TimedTurn(number, turn, _TimeKind.RUN, turn.run.started.at_s, turn.run.ended.at_s)
        elif turn.role is Role.TOOL and answered is not None:
            until = next_start[number - 1]
            if until is not None and until > answered:
                yield _TimedTurn(number, turn, _TimeKind.BETWEEN, answered, until)


def _next_starts(trace: Trace) -> list[float | None]:
    """For each turn, when the next answer began; None if that is not known."""
    starts: list[float | None] = []
    following: float | None = None
    for turn in reversed(trace.turns):
        starts.append(following)
        if turn.generation is not None:
            following = turn.generation.started.at_s if turn.generation.started is not None else None
    return starts[::-1]


def _axis(whole: float, height: float) -> Iterator[ShapeGroup]:
    """Vertical lines at round times, with the time below each."""
    step = next((size for size in _STEPS_S if whole / size <= _MAX_TICKS), whole)
    for tick in range(int(whole / step) + 1):
        x = round(_LEFT + tick * step / whole * _WIDTH, 1)
        line = SvgElement("line", {"x1": x, "y1": 0, "x2": x, "y2": height}, f"{Style.DIM} faint")
        words = short_duration(tick * step) if tick else "0"
        yield ShapeGroup((line, SvgElement("text", {"x": x, "y": height + 13}, Style.DIM, words, "middle")))


def _row(timed: _TimedTurn, top: float, first: float, scale: float) -> ShapeGroup:
    left, took = _LEFT + (timed.start - first) * scale, timed.end - timed.start
    title = f"turn {timed.number}, {timed.kind.value}: {took:.2f} s"
    shapes = [SvgElement("text", {"x": 8, "y": top + 13}, Style.DIM, f"turn {timed.number}")]
    if timed.kind is _TimeKind.ANSWER:
        wait = first_chunk_s(timed.turn)
        shapes.append(_bar(left, top + 2, took * scale, 14, f"{Style.INFO} faint"))
        if wait is not None:
            shapes.append(_bar(left + wait * scale, top + 2, (took - wait) * scale, 14, Style.INFO))
            title += f", first chunk after {wait:.3f} s"
        shapes += (
            _bar(left + start * scale, top, gap * scale, 18, Style.WARNING) for start, gap in _stalls(timed.turn)
        )
    else:
        outline = "" if timed.kind is _TimeKind.RUN else "box "
        shapes.append(_bar(left, top + 2, took * scale, 14, f"{outline}{Style.TOOL_RESULT}"))
    shapes.append(SvgElement("text", {"x": left + took * scale + 6, "y": top + 13}, Style.DIM, short_duration(took)))
    return ShapeGroup(tuple(shapes), title, str(timed.number))


def _bar(x: float, y: float, width: float, height: float, style: str) -> SvgElement:
    return SvgElement("rect", {"x": round(x, 1), "y": y, "width": round(max(width, 1), 1), "height": height}, style)


def first_chunk_s(turn: Turn) -> float | None:
    """The wait for the first chunk of a turn, in seconds; None without times."""
    generation = turn.generation
    if generation is not None and generation.started is not None and generation.first_token is not None:
        return generation.first_token.at_s - generation.started.at_s
    known = [part.chunks.offsets_s[0] for part in turn.parts if part.chunks is not None and part.chunks.offsets_s]
    return min((offset for offset in known if offset is not None), default=None)


def _stalls(turn: Turn) -> Iterator[tuple[float, float]]:
    """The stalls of a stream: the start, in seconds from the turn's start, and the length in seconds."""
    for part in turn.parts:
        times = part.chunks.offsets_s if part.chunks is not None else None
        for before, after in pairwise(times or ()):
            if before is not None and after is not None and after - before >= STALL_S:
                yield before, after - before


def rail_boxes(dissection: Dissection, location: Location | None) -> Sequence[Box]:
    """The boxes of a trace; of a long one, `MAX_BOXES` around a place, the same boxes for neighbouring places."""
    all_boxes = list(boxes(dissection.trace, dissection.inspection))
    if len(all_boxes) <= MAX_BOXES:
        return all_boxes
    first = min(
        max(_box_at(all_boxes, location) - MAX_BOXES // 2, 0) // _RAIL_LEAP * _RAIL_LEAP, len(all_boxes) - MAX_BOXES
    )
    return all_boxes[first : first + MAX_BOXES]


def rail(boxes: Sequence[Box]) -> Picture:
    """The boxes in a row, with the number of its step under each call. A box's key is its index."""
    left, groups = 4.0, []
    for index, box in enumerate(boxes):
        if box.is_first and index:
            left += _TURN
        groups.append(_group(box, left, str(index)))
        left += _BOX_WIDTH + _BOX_GAP
    turns = counted(len({box.location.turn for box in boxes}), "turn")
    label = f"Map of the trace: {turns}; click a box to select its text"
    return Picture(left + 4, _TOP + _BOX_HEIGHT + 14, tuple(groups), label)


def selected_box(boxes: Sequence[Box], location: Location | None) -> str | None:
    """The key of the box that contains a place; None without boxes or a place."""
    return str(_box_at(boxes, location)) if boxes and location is not None else None


def _box_at(boxes: Sequence[Box], location: Location | None) -> int:
    """The index of the last box in a place's turn that begins at or before it; 0 without a place."""
    best = 0
    for index, box in enumerate(boxes if location is not None else ()):
        assert location is not None
        here = box.location
        if here.turn < location.turn or (here.turn == location.turn and here.part != location.part):
            best = index if here.turn < location.turn or boxes[best].location.turn < location.turn else best
        elif here.turn == location.turn and (
            here.range.start <= location.range.start or boxes[best].location.turn < location.turn
        ):
            best = index
    return best


def _group(box: Box, left: float, key: str) -> ShapeGroup:
    glyph = "".join(run.text for run in box.line).strip("[]")
    style = next((run.style for run in box.line if run.style is not Style.PLAIN), Style.PLAIN)
    middle = left + _BOX_WIDTH / 2
    shapes = [
        SvgElement("rect", {"x": left, "y": _TOP, "width": _BOX_WIDTH, "height": _BOX_HEIGHT, "rx": 3}, f"box {style}"),
        SvgElement("text", {"x": middle, "y": _TOP + _LETTER_PX + 1}, style.value, glyph, "middle"),
    ]
    if box.step is not None and box.step.location == box.location:
        number = str(box.step.number)
        shapes.append(SvgElement("text", {"x": middle, "y": _TOP + _BOX_HEIGHT + 11}, Style.DIM, number, "middle"))
    return ShapeGroup(tuple(shapes), _title(box), key)


def _title(box: Box) -> str:
    text = f"turn {box.location.turn}: {box.kind.value.replace('_', ' ')}"
    if box.step is None:
        return text
    name = visible_line((box.step.call.name or UNNAMED)[:60])
    breaks = "; the break" if box.is_focus else ""
    return f"{text} of step {box.step.number}, {name}: {visible_line(outcome_words(box.step))}{breaks}"
