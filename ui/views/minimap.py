"""A trace as one line of boxes, one for each span, so that the broken one is easy to see.

Theory of operation. A list shows a minimap in each row, and a trace may have 100,000 turns. So a map is made from its
middle: `BoxWalk` iterates from the focus (the break, or else the first failed step, or else the end) forwards and
backwards, and reads no more parts than fill the width. What is left out at an end is `…`. After 2,000 items without
enough boxes (a very long run of empty spans) the walk stops too, and the end counts as left out.

An item is a call, a result or a span of a part; the three lists are merged by their starts. Spans that are only white
space have no box, and adjacent texts share one. With system, user, the answer with its call and that call's error
result four times, and a last answer, the boxes are

    Box("s", turn 1)  Box("u", turn 2)  Box("[c]", turn 3, step 1, is_focus)  Box("✖", turn 4, step 1, is_focus)  ...

and the lines in 30 and in 9 cells

    s u [c]✖ [c]✖ [c]✖ [c]✖ a
    … u [c]✖…
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from weaklink.inspector.chain.steps import Chain, Status, Step, StepOutcome
from weaklink.inspector.diagnostics import Diagnostic, Location
from weaklink.inspector.inspected import Inspection, PartInspection
from weaklink.inspector.model import Role, Span, SpanKind, ToolCall, ToolResult, Trace
from weaklink.inspector.rules.rule import Rule, Severity
from weaklink.inspector.text import Range
from weaklink.ui.views.places import StepPlaces
from weaklink.ui.views.status import step_glyph
from weaklink.ui.views.styled_text import Line, Run, Style, width_of

_CALL_ITSELF = (StepOutcome.MALFORMED, StepOutcome.UNKNOWN_TOOL, StepOutcome.INVALID, StepOutcome.UNANSWERED)
_WORDS = (SpanKind.TEXT, SpanKind.REASONING)
_PREVIEW_CHARS = 1024

LEGEND = (
    "s system  u user  t reasoning  [c] call  r result  a answer",
    "[✖] malformed  [▲] invalid  ✖ error result  [?] no result  ◆ recovered later",
    "≠ another layer differs",
)
"""The meaning of the letters and glyphs of a minimap, in lines of at most 80 cells."""

_MAX_SCANNED = 2_000  # parts, spans, calls and results that are examined on either side of the focus
_ELLIPSIS = Run("…", Style.DIM)
_DIFFERS = Run("≠", Style.WARNING)
_BoxSource: TypeAlias = ToolCall | ToolResult | Span
Differing: TypeAlias = Collection[tuple[int, str]]
"""The parts, by turn and name, that differ in another layer."""


class Box(NamedTuple):
    """The box of one span: its glyphs, the place of its characters, and the step of its call or result.

    `is_first` means that it begins a turn other than a tool's; `is_focus` means that it is the break, or the first
    failure if there is no break.
    """

    line: Line
    location: Location
    kind: SpanKind
    step: Step | None = None
    is_first: bool = False
    is_focus: bool = False


def boxes(trace: Trace, inspection: Inspection) -> Iterator[Box]:
    """The boxes of a whole trace, in order."""
    chain = inspection.chain
    walk = BoxWalk(trace, inspection, StepPlaces(chain), focus_of(chain), differing_in(inspection.diagnostics))
    return with_heads(box for box in walk.behind(0, 0) if box is not None)


def differing_in(diagnostics: Iterable[Diagnostic]) -> Differing:
    """The parts that differ in another layer, by a warning or an error."""
    locations = (diagnostic.place_in_turn for diagnostic in diagnostics if is_layer_difference(diagnostic.rule))
    return {(location.turn, location.part) for location in locations}


def is_layer_difference(rule: Rule) -> bool:
    """Whether a rule is about a difference between layers, and is not an info."""
    return bool(rule.layer) and rule.severity is not Severity.INFO


def focus_of(chain: Chain) -> int:
    """The number of the step that a minimap always shows: the break, or else the first failed step; 0 for none."""
    if chain.broken is not None:
        return chain.broken.step
    return 0 if chain.status is Status.OK else next((step.number for step in chain.steps if step.outcome.failed), 0)


def with_heads(boxes: Iterable[Box]) -> Iterator[Box]:
    """Boxes in order, with `is_first` only on the first box of each turn."""
    turn = 0
    for box in boxes:
        yield box._replace(is_first=False) if box.location.turn == turn else box
        turn = box.location.turn


class BoxWalk:
    """Iterates lazily over the boxes of a trace from a part and an offset in it; yields None for items without a box.

    `steps` are the places of the chain's steps, `focus` the number of the step whose boxes get `is_focus`. `is_first`
    is true for every box of a turn that is neither a tool's nor the first of the trace.
    """

    def __init__(
        self, trace: Trace, inspection: Inspection, steps: StepPlaces, focus: int, differing: Differing
    ) -> None:
        self._trace, self._inspection, self._steps, self._focus = trace, inspection, steps, focus
        self._differing = differing

    def place_of_focus(self) -> tuple[int, int]:
        """The index of the part that contains the focus, and its offset; the end of the trace without a focus."""
        parts = self._inspection.parts
        if self._focus:
            location = self._inspection.chain.steps[self._focus - 1].location
            for index in range(bisect_left(parts, location.turn, key=attrgetter("turn")), len(parts)):
                part = parts[index]
                if part.turn != location.turn:
                    break
                if part.part == location.part:
                    return index, location.range.start
        return len(parts), 0

    def behind(self, part: int, offset: int) -> Iterator[Box | None]:
        """The boxes that begin at an offset of a part or after it, in order."""
        for index in range(part, len(self._inspection.parts)):
            yield from self._boxes(index, offset if index == part else None, backwards=False)

    def before(self, part: int, offset: int) -> Iterator[Box | None]:
        """The boxes that begin before an offset of a part, in reverse order."""
        for index in range(min(part, len(self._inspection.parts) - 1), -1, -1):
            yield from self._boxes(index, offset if index == part else None, backwards=True)

    def _boxes(self, index: int, offset: int | None, *, backwards: bool) -> Iterator[Box | None]:
        """The boxes of one part; adjacent spans that are both text, or both reasoning, share a box."""
        yield None
        part = self._inspection.parts[index]
        turn = self._trace.turns[part.turn - 1]
        source = turn.part(part.part)
        text = source.text if source else ""
        if turn.role in (Role.SYSTEM, Role.USER) and not part.calls and not part.results:
            yield self._box(part, turn.role, SpanKind.TEXT, Range(0, len(text)), None)
            return
        last: SpanKind | None = None
        for source_item in _box_sources(part, offset, backwards=backwards):
            step, kind, range_ = None, SpanKind.TOOL_CALL, source_item.range
            if isinstance(source_item, ToolCall):
                step = self._steps.of_call(part.turn, part.part, source_item)
            elif isinstance(source_item, ToolResult):
                kind, step = SpanKind.TOOL_RESULT, self._steps.of_result(part.turn, part.part, range_)
            else:
                kind, range_ = source_item.kind, source_item.inner
                words = text[range_.start : min(range_.end, range_.start + _PREVIEW_CHARS)] if kind in _WORDS else ""
                if kind is last or not words.strip():
                    yield None
                    continue
            yield self._box(part, turn.role, kind, range_, step)
            last = kind

    def _box(self, part: PartInspection, role: Role, kind: SpanKind, range_: Range, step: Step | None) -> Box:
        line = _line(kind, role, step, None if step is None else step_glyph(step))
        if kind in (SpanKind.TOOL_CALL, SpanKind.TOOL_RESULT) and (part.turn, part.part) in self._differing:
            line = (*line, _DIFFERS)
        is_first = part.turn > 1 and role is not Role.TOOL
        is_focus = step is not None and step.number == self._focus
        return Box(line, Location(part.turn, part.part, range_), kind, step, is_first, is_focus)


def _box_sources(part: PartInspection, offset: int | None, *, backwards: bool) -> Iterator[_BoxSource]:
    """The calls, results and spans of a part, from an offset or from the end, in the order of their starts."""
    rows: list[Sequence[_BoxSource]] = [part.calls, part.results, part.spans]
    sources = (_from(row, offset, backwards=backwards) for row in (reversed(rows) if backwards else rows))
    return merge(*sources, key=_start, reverse=backwards)


def _from(items: Sequence[_BoxSource], offset: int | None, *, backwards: bool) -> Iterator[_BoxSource]:
    first = bisect_left(items, offset, key=_start) if offset is not None else len(items) if backwards else 0
    return map(items.__getitem__, range(first - 1, -1, -1) if backwards else range(first, len(items)))


def _line(kind: SpanKind, role: Role, step: Step | None, glyph: Run | None) -> Line:
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


def _start(item: _BoxSource) -> int:
    return item.inner.start if isinstance(item, Span) else item.range.start


def minimap(
    trace: Trace,
    inspection: Inspection,
    width: int,
    *,
    steps: StepPlaces | None = None,
    focus: int | None = None,
    differing: Differing | None = None,
) -> Line:
    """The trace in at most `width` cells, a space before each turn that is not a tool's; a long one keeps the failure.

    A call is `[c]`, or has the glyph of its fault; a tool's error is shown by its glyph instead of `r`. A caller may
    pass the places of the `steps`, the number of the step to keep (0 for none), and the parts that are `differing`:
    then only the shown section of the trace is examined.
    """
    chain = inspection.chain
    focus = focus_of(chain) if focus is None else focus
    differing = differing_in(inspection.diagnostics) if differing is None else differing
    walk = BoxWalk(trace, inspection, StepPlaces(chain) if steps is None else steps, focus, differing)
    row, offset = walk.place_of_focus()
    before, saw_first = _enough(walk.before(row, offset), width)
    after, saw_last = _enough(walk.behind(row, offset), width)
    boxes = with_heads((*reversed(before), *after))
    lines = [(*((Run(" "),) if box.is_first else ()), *box.line) for box in boxes]
    more: Line = (Run(" " * (width + 1)),)  # the unexamined rest acts as a box that never fits
    shown = [*(() if saw_first else (more,)), *lines, *(() if saw_last else (more,))]
    return _fitted(shown, len(before) + (not saw_first) - (not after), width)


def _enough(walk: Iterator[Box | None], width: int) -> tuple[list[Box], bool]:
    """The first boxes, one more than fits into `width` cells, and whether the walk ended."""
    boxes: list[Box] = []
    for box in islice(walk, _MAX_SCANNED):
        if box is not None:
            boxes.append(box)
            if width < 0:
                return boxes, True
            width -= width_of(box.line)
    return boxes, next(walk, boxes) is boxes


def _fitted(boxes: list[Line], focus: int, width: int) -> Line:
    """The boxes that fit around `focus`, and a `…` for each truncated end."""
    widths = [width_of(box) for box in boxes]
    if sum(widths) <= width:
        return tuple(run for box in boxes for run in box)
    start = end = focus
    taken = 2
    while True:
        fits_before = start > 0 and taken + widths[start - 1] <= width
        fits_after = end < len(boxes) and taken + widths[end] <= width
        if fits_after and (end - focus <= focus - start or not fits_before):
            taken += widths[end]
            end += 1
        elif fits_before:
            start -= 1
            taken += widths[start]
        else:
            break
    kept = [run for box in boxes[start:end] for run in box]
    return (*((_ELLIPSIS,) if start else ()), *kept, *((_ELLIPSIS,) if end < len(boxes) else ()))
