"""Navigation in a trace: the selected step or call, the next fault, step or search hit, and the position line."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter

from weaklink.inspector.chain.steps import Step
from weaklink.inspector.diagnostics import Diagnostic, Location
from weaklink.inspector.model import Liveness, Part, Role, StreamDetail, ToolCall, ToolDefinition
from weaklink.inspector.text import Range
from weaklink.ui.views.diagnostic import part_words
from weaklink.ui.views.dissect.dissection import Dissection
from weaklink.ui.views.dissect.timing import chunk_words
from weaklink.ui.views.dissect.tree_rows import TreeRow
from weaklink.ui.views.status import LIVENESS, status_run
from weaklink.ui.views.styled_text import Line, Run, Style, visible_line

_MAX_NAME_CHARS = 80

_GRADES = {
    StreamDetail.TOKEN_IDS: "token ids recorded",
    StreamDetail.CHUNKS: "chunks recorded",
    StreamDetail.TEXT_ONLY: "text only",
}


def step_at(dissection: Dissection, location: Location) -> Step | None:
    """The step whose call or result contains a place, or else the step that the place's span belongs to, or None."""
    call = call_at(dissection, location)
    if call is not None:
        return dissection.steps.of_call(location.turn, location.part, call)
    answered = dissection.steps.answered_in(location.turn)
    if len(answered) == 1:
        return answered[0]
    return dissection.steps.answered_at(location.turn, location.part, location.range.start)


def layered_step(dissection: Dissection, location: Location) -> Step | None:
    """The step at a place, which may also be in a later request, in a tool's run, or in the model's raw output."""
    here = dissection.layers.in_turn(location)
    return step_at(dissection, here) or dissection.layers.emitted_at(here)


def layer_places(dissection: Dissection, location: Location) -> list[Location]:
    """The places of the layers of the step at a place, and the other sides of differences there; each part once."""
    step = layered_step(dissection, location)
    of_layers = dissection.layers.of(step).locations if step is not None else []
    locations = (*of_layers, *dissection.layers.other_sides(location))
    return list({(location.turn, location.part): location for location in reversed(locations)}.values())[::-1]


def call_place(dissection: Dissection, location: Location) -> Location:
    """The call whose result contains a place; the place itself if it is not in a result."""
    if call_at(dissection, location) is not None:
        return location
    step = step_at(dissection, location)
    return step.location if step is not None else location


def call_at(dissection: Dissection, location: Location) -> ToolCall | None:
    """The call that contains a place, including its markers; if the span has several calls, the first one."""
    part = dissection.part(location.turn, location.part)
    if part is None:
        return None
    calls, spans, offset = part.inspection.calls, part.inspection.spans, location.range.start
    index = bisect_right(calls, offset, key=attrgetter("range.start"))
    before = calls[max(index - 1, 0) : index]
    near = (*before, *calls[index : index + 1])
    containing = (call for call in before if _within(call.range, offset))
    around = (call for call in near if call.span < len(spans) and _within(spans[call.span].range, offset))
    return next(containing, next(around, None))


def offered_at(dissection: Dissection, turn: int) -> tuple[ToolDefinition, ...]:
    """The tools that a turn's request offered, or else those that earlier texts define."""
    generation = dissection.trace.turns[turn - 1].generation
    if generation is not None and generation.tools:
        return generation.tools
    parts = dissection.parts
    before = dissection.outline.parts.before(turn)
    defining = (parts[index] for index in parts.defining if index < before)
    return tuple(
        tool for part in defining if part.role in (Role.SYSTEM, Role.USER) for tool in part.inspection.definitions
    )


def _within(range_: Range, offset: int) -> bool:
    return range_.start <= offset < max(range_.end, range_.start + 1)


def next_fault(dissection: Dissection, location: Location, *, back: bool = False) -> Diagnostic | None:
    """The nearest diagnostic after a place, or before it with `back`; None at the end."""
    index = dissection.faults.positions.beside(dissection.order_of(location), back=back)
    return None if index is None else dissection.inspection.diagnostics[index]


def fault_at(dissection: Dissection, location: Location) -> Diagnostic | None:
    """The diagnostic at a place (the smallest of several), or else the nearest one after or before it, or None."""
    faults = dissection.wrong_in_part(location.turn, location.part)
    here = None if location.is_in_turn else next((fault for fault in faults if fault.location == location), None)
    here = here or faults.smallest_at(location.range.start)
    return here or next_fault(dissection, location) or next_fault(dissection, location, back=True)


def next_step(dissection: Dissection, location: Location, *, back: bool = False) -> Step | None:
    """The nearest step whose call is after a place, or before it with `back`; None at the end."""
    calls = dissection.steps.calls
    here = (*dissection.order_of(location)[:3], 0)
    before = calls.first_after(here) - 1
    index = calls.beside(calls.order(before) if before >= 0 and calls.starts_within(here, before) else here, back=back)
    return None if index is None else dissection.inspection.chain.steps[index]


def find(dissection: Dissection, words: str, location: Location, *, back: bool = False) -> Location | None:
    """The next occurrence of words after a place, or before it with `back`; the search wraps around.

    The search ignores case unless the words contain capitals. None if the words are not found.
    """
    parts, trace = dissection.outline.parts, dissection.trace
    if not words or not len(parts):
        return None
    pattern = re.compile(re.escape(words), 0 if words != words.lower() else re.IGNORECASE)
    first = max(parts.number(location.turn, location.part), 0)
    texts: Sequence[Part] = ()
    offset, turn = location.range.start, 0
    for distance in range(len(parts) + 1):
        part = (first + (-distance if back else distance)) % len(parts)
        if part not in parts.of_turn(turn):
            turn = parts.turn_of(part)
            texts = trace.turns[turn - 1].parts
        source = texts[part - parts.of_turn(turn).start]
        range_ = _last(pattern, source.text, offset if not distance else None) if back else None
        if not back:
            match = pattern.search(source.text, offset + 1 if not distance else 0)
            range_ = Range(*match.span()) if match else None
        if range_ is not None:
            return Location(turn, source.name, range_)
    return None


def _last(pattern: re.Pattern[str], text: str, before: int | None) -> Range | None:
    """The last match that begins before an offset, or the last of all."""
    last = None
    for match in pattern.finditer(text):
        if before is not None and match.start() >= before:
            break
        last = match
    return Range(*last.span()) if last else None


def place_line(dissection: Dissection, location: Location, row: TreeRow | None, step: Step | None) -> Line:
    """The selected item, its position in its part, and the data on when it arrived."""
    part = dissection.part(location.turn, location.part)
    named: list[Run] = []
    if step is not None:
        named.append(
            Run(f"step {step.number} {visible_line((step.call.name or '')[:_MAX_NAME_CHARS])}", Style.TOOL_CALL)
        )
    if row is not None and row.pointer:
        named.append(Run(f" {visible_line(row.pointer[:_MAX_NAME_CHARS])}", Style.KEY))
    where = f"turn {location.turn} {part_words(location.part[:_MAX_NAME_CHARS])}"
    if part is None:
        return (*named, Run(f"{'  ' if named else ''}{where}", Style.DIM))
    start = location.range.start
    line, column = part.lines.position(start)
    length = f"{start:,}–{location.range.end:,}" if len(location.range) > 1 else f"{start:,}"
    position = f"{where} {length} of {len(part.text):,}  line {line:,} column {column:,}"
    return (
        *named,
        Run(f"{'  ' if named else ''}{position}  ", Style.DIM),
        Run(chunk_words(part.source, start), Style.INFO),
    )


def trace_line(dissection: Dissection, location: Location | None, liveness: Liveness | None = None) -> Line:
    """How the trace ended, its format, and how exactly the source kept the stream at this place."""
    chain = dissection.inspection.chain
    ended = status_run(chain.status, chain.broken)
    status = ended if liveness is None else LIVENESS[liveness]
    model = visible_line(dissection.outline.model[:_MAX_NAME_CHARS])
    facts = [fact for fact in (model, dissection.inspection.format) if fact]
    part = dissection.part(location.turn, location.part) if location is not None else None
    if part is not None:
        facts.append(f"{_GRADES[part.source.grade]}")
    return (status, Run("  "), Run(" · ".join(facts), Style.DIM))
