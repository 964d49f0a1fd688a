"""The side views of the stream, as lines that may link to a place: verdict, diagnostics, steps, origins, notes."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from weaklink.inspector.chain.data_flow import ArgumentFlow, DataFlow, Origin, OriginKind
from weaklink.inspector.chain.steps import Status, Step, StepOutcome
from weaklink.inspector.diagnostics import Diagnostic, Location
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.model import Liveness
from weaklink.inspector.model.columns import LazyColumn
from weaklink.inspector.rules.rule import Severity
from weaklink.storage.marks import Mark
from weaklink.ui.views.diagnostic import BreakFacts, break_lines, cause_of
from weaklink.ui.views.dissect.dissection import Dissection
from weaklink.ui.views.minimap import minimap
from weaklink.ui.views.places import NO_PART, PositionIndex
from weaklink.ui.views.status import (
    GLYPHS,
    LIVENESS,
    call_brief,
    outcome_words,
    status_run,
    step_glyph,
    task_run,
    value_text,
)
from weaklink.ui.views.styled_text import (
    Line,
    LineKind,
    Run,
    Style,
    clipped,
    counted,
    quoted,
    style_of,
    visible_line,
    wrapped,
)
from weaklink.ui.views.trace import ending, severity_counts, title_of, trace_facts

_NAME, _LONGEST_FACT = 9, 2_000

_WORDS = {
    OriginKind.SYSTEM: "the system prompt",
    OriginKind.USER: "a user message",
    OriginKind.RESULT: "the result of step {}",
    OriginKind.TOOLS: "a tool's definition",
    OriginKind.ARGUMENT: "an argument of step {}",
}

_MAX_NAME_CHARS = 40
_MARGIN = 8


class SideLine(NamedTuple):
    """A line, and the place that it is about, or None."""

    line: Line
    location: Location | None = None
    kind: LineKind = LineKind.SENTENCE


class SideLines:
    """Lines that are already built."""

    def __init__(self, lines: Iterable[SideLine]) -> None:
        self._lines = list(lines)

    @property
    def count(self) -> int:
        """How many lines there are."""
        return len(self._lines)

    def line(self, index: int, width: int) -> Line:
        """A line in at most `width` cells."""
        return clipped(self._lines[index].line, width)

    def location(self, index: int) -> Location | None:
        """The place that a line speaks of."""
        return self._lines[index].location

    def kind(self, index: int) -> LineKind:
        """What a page makes of a line."""
        return self._lines[index].kind

    def nearest(self, location: Location) -> int | None:
        """The line that is about a place; see `nearest`."""
        return nearest([line.location for line in self._lines], location)


class LazyLines:
    """One line per item, built when it is shown; `tell` is called with its index and the width.

    `near` returns the line nearest to a place, if that is possible without a scan of all places.
    """

    def __init__(
        self,
        locations: Sequence[Location | None],
        tell: Callable[[int, int], Line],
        near: Callable[[Location], int | None] | None = None,
    ) -> None:
        self._places, self._render, self._near = locations, tell, near

    @property
    def count(self) -> int:
        """How many lines there are."""
        return len(self._places)

    def line(self, index: int, width: int) -> Line:
        """A line in at most `width` cells."""
        return clipped(self._render(index, width), width)

    def location(self, index: int) -> Location | None:
        """The place that a line speaks of."""
        return self._places[index]

    def kind(self, _: int) -> LineKind:
        """What a page makes of a line: each begins with the name of its item."""
        return LineKind.FACT

    def nearest(self, location: Location) -> int | None:
        """The line for exactly this place, or else one that contains it, or else the first of its part or its turn."""
        return nearest(self._places, location) if self._near is None else self._near(location)


SideSource = SideLines | LazyLines
"""The lines of a side view."""


def nearest(locations: Sequence[Location | None], wanted: Location) -> int | None:
    """Scan for the index of this place, or else of the first that contains it, or of the first in its part or turn."""
    best, nearest_index = 0, None
    for index, location in enumerate(locations):
        if location is None or location.turn != wanted.turn:
            continue
        contains = location.range.start <= wanted.range.start < max(location.range.end, location.range.start + 1)
        grade = 4 if location == wanted else 1 if location.part != wanted.part else 3 if contains else 2
        if grade > best:
            best, nearest_index = grade, index
    return nearest_index


def diagnostic_list(dissection: Dissection) -> SideSource:
    """A line for each diagnostic, in the order of places; for a broken trace, only the first of each cause."""
    diagnostics = dissection.inspection.diagnostics
    if not diagnostics:
        return SideLines([SideLine((Run("✔ ", Style.OK), Run("Nothing is wrong with this trace.")))])
    located = LazyColumn(diagnostics, _place)

    def near(location: Location) -> int | None:
        return _near(dissection, dissection.faults.positions, located, location)

    causes = dissection.causes
    if causes is None:
        return LazyLines(located, lambda index, width: _diagnostic(diagnostics[index], 0, width), near)

    def row(location: Location) -> int | None:
        index = near(location)
        return None if index is None else causes.row_of[index]

    return LazyLines(
        LazyColumn(causes.firsts, lambda index: located[index]),
        lambda index, width: _diagnostic(diagnostics[causes.firsts[index]], causes.more[index], width),
        row,
    )


def step_list(dissection: Dissection) -> SideSource:
    """A line for each step; a step links to its call."""
    steps = dissection.inspection.chain.steps
    if not steps:
        return SideLines([SideLine((Run("No tool was called.", Style.DIM),))])
    digits = len(str(len(steps)))
    located = LazyColumn(steps, _place)
    return LazyLines(
        located,
        lambda index, width: _step(steps[index], digits, width),
        lambda location: _near(dissection, dissection.steps.calls, located, location),
    )


def _place(item: Diagnostic | Step) -> Location:
    return item.location


def _near(
    dissection: Dissection, positions: PositionIndex, located: Sequence[Location], location: Location
) -> int | None:
    """The index of the item nearest to a place; an item in no part of its turn is found by its part's name."""
    order = dissection.order_of(location)
    if order[1] != NO_PART:
        return positions.nearest(order)
    unplaced = positions.numbers(positions.of_part(location.turn, NO_PART))
    same_name = [index for index in unplaced if located[index].part == location.part]
    order_of_name = nearest([located[index] for index in same_name], location)
    return same_name[order_of_name] if order_of_name is not None else positions.first(positions.of_turn(location.turn))


def _diagnostic(diagnostic: Diagnostic, more: int, width: int) -> Line:
    """A diagnostic in one line; the number of `more` of its cause is never cut off in a narrow pane."""
    rule = diagnostic.rule
    style = style_of(rule.severity)
    line = (
        Run(f"{GLYPHS[rule.severity]} {rule.code}", style),
        Run(f" {rule.name:<22} ", Style.STRONG),
        Run(f"turn {diagnostic.location.turn:<4}", Style.DIM),
        *quoted(diagnostic.fault.message),
    )
    if not more:
        return line
    others = f" (and {more:,} more of this kind)"
    return (*clipped(line, width - len(others)), Run(others, Style.DIM))


def _step(step: Step, digits: int, width: int) -> Line:
    glyph = step_glyph(step)
    used = f" uses {', '.join(map(str, step.depends_on))}" if step.depends_on else ""
    return (
        glyph,
        Run(f" {step.number:>{digits}}  ", Style.STRONG),
        Run(f"turn {step.location.turn:<4}", Style.DIM),
        Run(f"{outcome_words(step)}{visible_line(used)}  ", glyph.style),
        Run(call_brief(step.call, width), Style.TOOL_CALL),
    )


def notes(dissection: Dissection, marks: Sequence[Mark], width: int) -> SideLines:
    """The marks and notes on a trace, each with a link to its step or turn; then the trace's facts."""
    return SideLines(_note_lines(dissection, marks, width))


def _note_lines(dissection: Dissection, marks: Sequence[Mark], width: int) -> Iterator[SideLine]:
    for mark in marks:
        where = f"step {mark.step}" if mark.step else f"turn {mark.turn}" if mark.turn else "trace"
        words = Run(visible_line(mark.note[:_LONGEST_FACT]) or "marked", Style.STRONG)
        author = (Run(f"  {visible_line(mark.author)}", Style.DIM),) if mark.author else ()
        note = (Run(f"{where}  ", Style.KEY), words, *author)
        for line in _fact("note" if mark.note else "mark", note, width):
            yield line._replace(location=_mark_place(dissection, mark))
    name = title_of(dissection.trace)
    if name:
        yield from _fact("name", (Run(visible_line(name[:_LONGEST_FACT])),), width)
    for key, value in trace_facts(dissection.trace, dissection.inspection, dissection.outline.model):
        yield from _fact("warning" if key == "note" else key, (Run(visible_line(value[:_LONGEST_FACT])),), width)


def _mark_place(dissection: Dissection, mark: Mark) -> Location | None:
    steps = dissection.inspection.chain.steps
    if mark.step is not None and mark.step <= len(steps):
        return steps[mark.step - 1].location
    parts = dissection.parts_of(mark.turn) if mark.turn is not None else ()
    return parts[0].location() if parts else None


def _fact(name: str, value: Line, width: int) -> Iterator[SideLine]:
    lead = Run(f"{name:<{_NAME}} ", Style.DIM)
    for line in wrapped(value, max(width - _NAME - 1, 12)):
        yield SideLine((lead, *line), kind=LineKind.FACT)
        lead = Run(" " * (_NAME + 1))


def origins(flow: DataFlow, step: Step | None) -> SideLines:
    """A line for each value of a step's arguments, with a link to the first place of the value."""
    return SideLines(_origin_lines(flow, step))


def origin_of(flow: DataFlow, step: int, pointer: str) -> Origin | None:
    """The origin of the value at a pointer, or of the first value within it; None if it was not found earlier."""
    below = (flow for flow in flow.of(step) if flow.pointer == pointer or flow.pointer.startswith(f"{pointer}/"))
    return next((flow.origins[0] for flow in below if flow.origins), None)


def origin_words(origin: Origin) -> str:
    """A description of an origin."""
    return _WORDS[origin.kind].format(origin.step)


def _origin_lines(flow: DataFlow, step: Step | None) -> Iterator[SideLine]:
    if step is None:
        yield SideLine((Run("No call selected: select one to see where its values came from.", Style.DIM),))
        return
    flows = flow.of(step.number)
    yield SideLine(
        (Run(f"step {step.number} ", Style.STRONG), Run(visible_line(step.call.name or ""), Style.TOOL_CALL))
    )
    if not flows:
        yield SideLine((Run("The call has no values to look for.", Style.DIM),))
    for value in flows:
        yield from _value(value)


def _value(flow: ArgumentFlow) -> Iterator[SideLine]:
    named: Line = (
        Run(f"  {visible_line(flow.pointer or 'arguments')} ", Style.KEY),
        Run(value_text(flow.value, _MAX_NAME_CHARS)),
    )
    if flow.is_trivial:
        yield SideLine((*named, Run("  too short to look for", Style.DIM)), kind=LineKind.FACT)
    elif not flow.origins:
        yield SideLine((*named, Run("  ▲ not found earlier", Style.WARNING)), kind=LineKind.FACT)
    else:
        first, *more = flow.origins
        words = Run(f"  ← {origin_words(first)}, turn {first.location.turn}", Style.OK)
        yield SideLine((*named, words), first.location, LineKind.FACT)
        for other in more:
            origin = f"← {origin_words(other)}, turn {other.location.turn}"
            text = f"part `{visible_line(other.text[:_MAX_NAME_CHARS])}` {origin}"
            yield SideLine((Run("      "), Run(text, Style.DIM)), other.location, LineKind.FACT)


def verdict(dissection: Dissection, width: int, liveness: Liveness | None = None) -> SideLines:
    """Status and counts in one line, the break in a few more, and the chain as a map; the break's lines link to it.

    A trace with a `liveness` has not ended yet.
    """
    return SideLines(_verdict_lines(dissection, width, liveness))


def _verdict_lines(dissection: Dissection, width: int, liveness: Liveness | None) -> Iterator[SideLine]:
    inspection = dissection.inspection
    chain = inspection.chain
    status = status_run(chain.status, chain.broken)
    gist = dissection.gist
    failed = gist.failed if chain.status is Status.RECOVERED else None
    ended, yet_suffix = ("so far", " yet") if liveness is not None else (ending(chain, failed), "")
    steps = "" if f"of {len(chain.steps)}" in ended or not chain.steps else counted(len(chain.steps), "step")
    task = task_run(dissection.trace.outcome)
    facts = [
        ended,
        steps,
        severity_counts(gist.severities) or f"no faults{yet_suffix}",
        f"task {task.text}" if task else "",
    ]
    summary = " · ".join(fact for fact in facts if fact)
    summary = f"· {summary}" if chain.status in (Status.OK, Status.UNKNOWN) and liveness is None else summary
    location = initial_position(inspection, gist)
    yield SideLine((status if liveness is None else LIVENESS[liveness], Run(f" {summary}")), location)
    for line in break_lines(dissection.trace, inspection, width, gist=gist):
        yield SideLine(line, location)
    if chain.steps:
        room = max(width - _MARGIN, 8)
        drawn = minimap(
            dissection.trace,
            inspection,
            room,
            steps=dissection.steps,
            focus=gist.focus,
            differing=dissection.faults.differing,
        )
        yield SideLine((Run(f"{'map':{_MARGIN}}", Style.DIM), *drawn))


def initial_position(inspection: Inspection, gist: BreakFacts | None = None) -> Location | None:
    """The place to show first: the fault that broke the chain, the broken step, or else the first error or fault.

    `gist` is that of the trace, if the caller already has it.
    """
    broken, diagnostics = inspection.chain.broken, inspection.diagnostics
    if broken is not None:
        step = inspection.chain.steps[broken.step - 1]
        cause = cause_of(broken, step, inspection)
        if cause is None and broken.outcome is StepOutcome.ERROR_RESULT:
            return step.result_location or step.location
        return cause.location if cause is not None else step.location
    if gist is not None:
        first = gist.first_error
    else:
        errors = (index for index, diagnostic in enumerate(diagnostics) if diagnostic.rule.severity is Severity.ERROR)
        first = next(errors, None)
    return diagnostics[first or 0].location if diagnostics else None
