"""The boxes that a trace is drawn with, one for each span: from any place on, in either direction."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from typing import NamedTuple, TypeAlias

from inspector.chain.steps import Chain, Status, Step, StepOutcome
from inspector.diagnostics import Location
from inspector.inspection import Inspection, PartInspection
from inspector.model import Role, Span, SpanKind, ToolCall, ToolResult, Trace
from inspector.text import Range
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.status import step_glyph
from ui.views.step_places import StepPlaces

_CALL_ITSELF = (StepOutcome.MALFORMED, StepOutcome.UNKNOWN_TOOL, StepOutcome.INVALID, StepOutcome.UNANSWERED)
_WORDS = (SpanKind.TEXT, SpanKind.REASONING)
_GLANCE = 1024
_Thing: TypeAlias = ToolCall | ToolResult | Span


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


def boxes(trace: Trace, inspection: Inspection) -> Iterator[Box]:
    """The boxes of a whole trace, in order."""
    chain = inspection.chain
    walk = BoxWalk(trace, inspection, StepPlaces(chain), focus_of(chain))
    return with_heads(box for box in walk.behind(0, 0) if box is not None)


def focus_of(chain: Chain) -> int:
    """The number of the step that a map of the trace keeps: the break, else the first that failed; 0 where none did."""
    if chain.broken is not None:
        return chain.broken.step
    return 0 if chain.status is Status.OK else next((step.number for step in chain.steps if step.outcome.failed), 0)


def with_heads(found: Iterable[Box]) -> Iterator[Box]:
    """Boxes in order, of which only the first of each turn still says that the turn begins with it."""
    turn = 0
    for box in found:
        yield box._replace(is_first=False) if box.location.turn == turn else box
        turn = box.location.turn


class BoxWalk:
    """The boxes of a trace from a part and an offset in it on, as many as are taken; None for what has none.

    `steps` are the places of the chain's steps, `focus` the number of the one whose boxes say so. `is_first` says of a
    box only that its turn is no tool's, nor the trace's first.
    """

    def __init__(self, trace: Trace, inspection: Inspection, steps: StepPlaces, focus: int) -> None:
        self._trace, self._inspection, self._steps, self._focus = trace, inspection, steps, focus

    def place_of_focus(self) -> tuple[int, int]:
        """The index of the part where the focus stands, and its offset; the end of all where there is none."""
        parts = self._inspection.parts
        if self._focus:
            place = self._inspection.chain.steps[self._focus - 1].location
            for index in range(bisect_left(parts, place.turn, key=_turn), len(parts)):
                part = parts[index]
                if part.turn != place.turn:
                    break
                if part.part == place.part:
                    return index, place.range.start
        return len(parts), 0

    def behind(self, part: int, offset: int) -> Iterator[Box | None]:
        """What begins at an offset of a part or behind it, in order."""
        for index in range(part, len(self._inspection.parts)):
            yield from self._boxes(index, offset if index == part else None, backwards=False)

    def before(self, part: int, offset: int) -> Iterator[Box | None]:
        """What begins before an offset of a part, the last first."""
        for index in range(min(part, len(self._inspection.parts) - 1), -1, -1):
            yield from self._boxes(index, offset if index == part else None, backwards=True)

    def _boxes(self, index: int, offset: int | None, *, backwards: bool) -> Iterator[Box | None]:
        """Those of one part; neighbours that are both words, or both reasoning, are one."""
        yield None
        part = self._inspection.parts[index]
        turn = self._trace.turns[part.turn - 1]
        source = turn.part(part.part)
        text = source.text if source else ""
        if turn.role in (Role.SYSTEM, Role.USER) and not part.calls and not part.results:
            yield self._box(part, turn.role, SpanKind.TEXT, Range(0, len(text)), None)
            return
        last: SpanKind | None = None
        for thing in _things(part, offset, backwards=backwards):
            step, kind, place = None, SpanKind.TOOL_CALL, thing.range
            if isinstance(thing, ToolCall):
                step = self._steps.of_call(part.turn, part.part, thing)
            elif isinstance(thing, ToolResult):
                kind, step = SpanKind.TOOL_RESULT, self._steps.of_result(part.turn, part.part, place)
            else:
                kind, place = thing.kind, thing.inner
                words = text[place.start : min(place.end, place.start + _GLANCE)] if kind in _WORDS else ""
                if kind is last or not words.strip():
                    yield None
                    continue
            yield self._box(part, turn.role, kind, place, step)
            last = kind

    def _box(self, part: PartInspection, role: Role, kind: SpanKind, place: Range, step: Step | None) -> Box:
        line = _line(kind, role, step, None if step is None else step_glyph(step))
        is_first = part.turn > 1 and role is not Role.TOOL
        is_focus = step is not None and step.number == self._focus
        return Box(line, Location(part.turn, part.part, place), kind, step, is_first, is_focus)


def _things(part: PartInspection, offset: int | None, *, backwards: bool) -> Iterator[_Thing]:
    """The calls, results and spans of a part, from an offset on or from the end, in the order of their beginnings."""
    rows: list[Sequence[_Thing]] = [part.calls, part.results, part.spans]
    found = (_from(row, offset, backwards=backwards) for row in (reversed(rows) if backwards else rows))
    return merge(*found, key=_start, reverse=backwards)


def _from(things: Sequence[_Thing], offset: int | None, *, backwards: bool) -> Iterator[_Thing]:
    at = bisect_left(things, offset, key=_start) if offset is not None else len(things) if backwards else 0
    return map(things.__getitem__, range(at - 1, -1, -1) if backwards else range(at, len(things)))


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


def _turn(part: PartInspection) -> int:
    return part.turn


def _start(thing: _Thing) -> int:
    return thing.inner.start if isinstance(thing, Span) else thing.range.start
