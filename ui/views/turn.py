"""A turn of a trace as lines: its role, its spans, its calls and their faults; also a turn that has not ended yet."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import accumulate

from msgspec import Struct, structs

from weaklink.inspector.chain.steps import Step
from weaklink.inspector.diagnostics import Diagnostic, Fault
from weaklink.inspector.formats.server_parsers import sentences, wrong_predictions
from weaklink.inspector.inspected import Inspection, PartInspection, is_long
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model.calls import ToolCall, ToolDefinition
from weaklink.inspector.model.trace import BodyState, Generation, GenerationError, Role, Span, SpanKind, Trace, Turn
from weaklink.inspector.segmentation import Segmenter
from weaklink.inspector.text import Range
from weaklink.inspector.wire.events import PROMPT_PART, WIRE_PREFIX
from weaklink.ui.views.diagnostic import side_words
from weaklink.ui.views.marked_text import Folding, SpanNote, fault_lines, marked_lines
from weaklink.ui.views.places import NO_STEPS, StepPlaces
from weaklink.ui.views.status import RUNNING, call_head, call_lines
from weaklink.ui.views.styled_text import Line, Run, Style, clipped, counted, style_of, visible_line, width_of, wrapped

_MAX_LATE_TURNS = 200  # the last turns that are inspected here; the recorder inspects the earlier ones
_FOLDING = Folding()
_INSTRUCTIONS = Folding(head=4, tail=2)


class UnfinishedTurn(Struct, frozen=True):
    """A turn so far; `faults` are those that no later text can resolve."""

    number: int
    turn: Turn
    parts: tuple[PartInspection, ...]
    faults: tuple[Diagnostic, ...] = ()


def unfinished_turn_lines(opened: UnfinishedTurn, *, width: int, model: str = "", full: bool = False) -> Iterator[Line]:
    """The lines of a turn, and a line that it is still running."""
    yield from turn_lines(opened.turn, opened.number, opened.parts, opened.faults, width=width, model=model, full=full)
    yield (Run("   "), RUNNING, Run(f", {counted(characters_in(opened.turn), 'character')} so far"))


def unfinished_turns(turns: Mapping[int, Turn], trace: Trace, inspection: Inspection) -> tuple[UnfinishedTurn, ...]:
    """Open turns by number, parsed in the format of their trace if it has one, otherwise in a detected format."""
    has_answers = any(turn.generation is not None for turn in trace.turns)
    format = inspection.format if has_answers else trace.format
    return tuple(_read(number, turn, structs.replace(trace, format=format)) for number, turn in sorted(turns.items()))


def continued(trace: Trace, inspection: Inspection, begun: Mapping[int, Turn]) -> tuple[Trace, Inspection]:
    """A running trace with its open turns after the ended ones, and with their certain faults.

    If the inspection of a long trace lags behind, its last ended turns are inspected here too, each separately.
    """
    ended = len(trace.turns)
    open_ = {number: turn for number, turn in begun.items() if number > ended}
    read = unfinished_turns(_late(trace, inspection) | open_, trace, inspection)
    longer = structs.replace(trace, turns=(*trace.turns, *(turn.turn for turn in read if turn.number > ended)))
    parts = (*inspection.parts, *(part for turn in read for part in turn.parts))
    diagnostics = (*inspection.diagnostics, *(fault for turn in read for fault in turn.faults))
    return longer, structs.replace(inspection, parts=parts, diagnostics=diagnostics)


def _late(trace: Trace, inspection: Inspection) -> dict[int, Turn]:
    """The last turns of a long trace, by number, that are not inspected yet."""
    if not is_long(trace):
        return {}
    known, count = inspection.parts[-1].turn if inspection.parts else 0, len(trace.turns)
    return {number: trace.turns[number - 1] for number in range(max(known, count - _MAX_LATE_TURNS) + 1, count + 1)}


def _read(number: int, turn: Turn, trace: Trace) -> UnfinishedTurn:
    inspection = inspect_trace(structs.replace(trace, turns=(turn,)))
    parts = tuple(structs.replace(part, turn=number) for part in inspection.parts)
    return UnfinishedTurn(number, turn, parts, tuple(_certain(number, turn, inspection.format)))


def _certain(number: int, turn: Turn, format: str) -> list[Diagnostic]:
    """The faults of the text that are certain although the text may continue."""
    text, prompt = turn.part("text"), turn.part(PROMPT_PART)
    tools = turn.generation.tools if turn.generation is not None else ()
    segmenter = Segmenter(format, prompt=prompt.text if prompt else "", tools=tools, role=turn.role, turn=number)
    segmenter.feed(text.text if text else "")
    return segmenter.take()[1]


def turn_lines(
    turn: Turn,
    number: int,
    parts: Sequence[PartInspection],
    diagnostics: Sequence[Diagnostic],
    *,
    width: int,
    model: str = "",
    steps: StepPlaces = NO_STEPS,
    facts: Sequence[str] = (),
    full: bool = False,
) -> Iterator[Line]:
    """The lines of a turn; `parts` and `diagnostics` are the turn's. The trace's `model` is not repeated.

    A valid call is shown as name and arguments, a faulty one as it was written; both with their outcomes, if the
    trace's `steps` are given. `facts` about the turn follow its own. With `full`, texts are not folded.
    """
    own = (*answers(turn, number, steps), *turn_facts(turn, model))
    yield _head(turn, number, width, (*own, *facts))
    if turn.generation is not None and turn.generation.error is not None:
        yield from wrapped(error_words(turn.generation.error), width, indent=4)
    shown = {part.part for part in parts}
    for part in parts:
        of_part = [diagnostic for diagnostic in diagnostics if diagnostic.location.part == part.part]
        yield from _part_lines(turn, part, of_part, width, steps, full=full)
    for diagnostic in diagnostics:
        if diagnostic.location.part not in shown:
            yield from fault_lines(diagnostic.fault, width)
            if side := side_words(diagnostic):
                yield from wrapped((Run(f"  {side}", Style.DIM),), width, indent=4)


def _part_lines(
    turn: Turn, part: PartInspection, diagnostics: Sequence[Diagnostic], width: int, steps: StepPlaces, *, full: bool
) -> Iterator[Line]:
    source = turn.part(part.part)
    text = source.text if source else ""
    faults = [diagnostic.fault for diagnostic in diagnostics]
    if not part.spans:
        yield from _without_text(turn, part, faults, width, steps)
        return
    folding = _INSTRUCTIONS if turn.role is Role.SYSTEM else _FOLDING
    tell = _SpanNotes(part, faults, steps, full=full)
    yield from marked_lines(text, part.spans, faults, width=width, folding=None if full else folding, tell=tell)
    if turn.role is Role.ASSISTANT and part.part == "text" and _has_raw_text(turn):
        for sentence in sentences(wrong_predictions(text, part.format, part.spans, part.calls, faults)):
            yield from wrapped((Run(f"    {visible_line(sentence)}", Style.DIM),), width, indent=6)


def _has_raw_text(turn: Turn) -> bool:
    """Whether the text of a turn is what a server's parser would read: tools were offered, and none took calls out."""
    return turn.generation is not None and bool(turn.generation.tools) and not turn.calls


class _SpanNotes:
    """Notes on the spans of a part: for valid calls and definitions, they replace the text."""

    def __init__(self, part: PartInspection, faults: Sequence[Fault], steps: StepPlaces, *, full: bool) -> None:
        self._part, self._steps, self._full = part, steps, full
        sound = {call.range for call in part.calls if call.valid}
        pointing = sorted(fault.range for fault in faults if not _is_of_a_whole_call(fault, sound))
        self._starts = [location.start for location in pointing]
        self._ends = list(accumulate((location.end for location in pointing), max))
        self._calls: defaultdict[int, list[ToolCall]] = defaultdict(list)
        for call in part.calls:
            self._calls[call.span].append(call)

    def __call__(self, index: int, room: int) -> SpanNote | None:
        span, calls = self._part.spans[index], self._calls.get(index, [])
        whole = self._full or self._is_pointed_at(span)
        if span.kind is SpanKind.TOOL_DEFINITIONS and not whole:
            return _defined(self._part.definitions, span, room)
        if not calls:
            return None
        if all(call.valid for call in calls) and not whole:
            lines = (line for call in calls for line in call_lines(call, width=room, step=self._step(call)))
            return SpanNote(tuple(lines), replaces=True)
        return SpanNote(
            tuple(line for call in calls for line in wrapped(call_head(call, self._step(call)), room, indent=4))
        )

    def _is_pointed_at(self, span: Span) -> bool:
        """Whether a fault overlaps a span: checks the farthest end of the faults that begin before the span's end."""
        before = bisect_left(self._starts, span.range.end)
        return before > 0 and self._ends[before - 1] >= span.range.start

    def _step(self, call: ToolCall) -> Step | None:
        return self._steps.of_call(self._part.turn, self._part.part, call)


def _is_of_a_whole_call(fault: Fault, sound: Set[Range]) -> bool:
    """Whether a fault is about the outcome of a valid call, so that it needs no carets."""
    return fault.rule.code.startswith("T") and fault.range in sound


def _defined(definitions: Sequence[ToolDefinition], span: Span, room: int) -> SpanNote | None:
    """The names of the tools that a span defines, instead of its text."""
    names = [
        definition.name
        for definition in definitions
        if definition.range is not None and span.range.covers(definition.range)
    ]
    if not names:
        return None
    names_text = f"{counted(len(names), 'tool')}: {visible_line(', '.join(names))}"
    return SpanNote(tuple(wrapped((Run(names_text),), room)), replaces=True)


def _without_text(
    turn: Turn, part: PartInspection, faults: Sequence[Fault], width: int, steps: StepPlaces
) -> Iterator[Line]:
    """A part without text: its calls, or a note that the result is empty, and its faults."""
    kind = SpanKind.TOOL_RESULT if turn.role is Role.TOOL else SpanKind.TEXT
    if part.calls:
        kind = SpanKind.TOOL_CALL
    bar, name = Run("   │ ", Style.GUTTER), Run(f"{kind.value}  ", style_of(kind))
    room = width - width_of((bar, name))
    lines: list[Line] = []
    for call in part.calls:
        lines += call_lines(call, width=room, step=steps.of_call(part.turn, part.part, call))
    if not part.calls and turn.role is Role.TOOL:
        lines.append((Run("empty", Style.DIM),))
    lines += (line for fault in faults for line in fault_lines(fault, room))
    for index, line in enumerate(lines):
        yield (bar, Run(" " * width_of((name,))) if index else name, *line)


def _head(turn: Turn, number: int, width: int, facts: Sequence[str]) -> Line:
    """A rule across the screen with the turn's number, role and facts at the left."""
    role = (Run(f"── {number} ", Style.GUTTER), Run(turn.role.value, Style.STRONG))
    words = " · ".join(map(visible_line, facts))
    left = clipped((*role, Run(f" {words} " if words else " ", Style.DIM)), width - 2)
    return (*left, Run("─" * (width - width_of(left)), Style.GUTTER))


def answers(turn: Turn, number: int, steps: StepPlaces) -> Iterator[str]:
    """The steps that a turn answers, not yet in visible form; with the tool if the turn itself does not name it."""
    is_named = turn.result is not None and turn.result.name is not None
    for step in steps.answered_in(number):
        yield f"answers step {step.number}{f' {step.call.name}' if step.call.name and not is_named else ''}"


def turn_facts(turn: Turn, model: str) -> Iterator[str]:
    """The facts of a turn besides its text, not yet in visible form; the trace's `model` is not repeated."""
    if turn.source_role and turn.source_role != turn.role.value:
        yield f"({turn.source_role})"
    yield from sorted(flag.value.replace("_", " ") for flag in turn.flags)
    if turn.summarises:
        yield f"summary of {counted(turn.summarises, 'turn')}"
    if turn.result is not None:
        yield from filter(None, (turn.result.name, turn.result.call_id, "error" if turn.result.is_error else None))
    for caller, count in Counter(call.caller for call in turn.calls if call.caller).items():
        yield f"{counted(count, 'call')} by the program {caller}"
    if turn.generation is not None:
        yield from _generation_facts(turn.generation, model)
        if turn.generation.body is BodyState.NOT_STORED:
            yield "answer recorded only in part" if characters_in(turn) else "answer not recorded"


def _generation_facts(generation: Generation, model: str) -> Iterator[str]:
    answered = generation.answered_model or generation.requested_model
    if answered and answered != model:
        yield answered
    if generation.attempt > 1:
        yield f"attempt {generation.attempt}"
    if generation.usage.output_tokens is not None:
        yield counted(generation.usage.output_tokens, "token")
    if generation.started is not None and generation.ended is not None:
        yield f"{generation.ended.at_s - generation.started.at_s:.1f} s"
    finish = generation.finish_reason or (generation.finish.value if generation.finish else None)
    if finish:
        yield f"finish {finish}"


def characters_in(turn: Turn) -> int:
    """The number of code points in a turn's parts, except wire data."""
    return sum(len(part.text) for part in turn.parts if not part.name.startswith(WIRE_PREFIX))


def error_words(error: GenerationError) -> Line:
    """The error of the server or the connection instead of a generation."""
    facts = " ".join(dict.fromkeys(str(fact) for fact in (error.status, error.code) if fact is not None))
    named = f"✖ {error.phase.value.replace('_', ' ')} error{f' {facts}' if facts else ''}: "
    return (Run(visible_line(named), Style.ERROR), Run(visible_line(error.message[:2000])))
