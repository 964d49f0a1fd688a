"""One turn of a trace: whose it is, how it came about, its spans, its calls, and what is wrong with them."""

from collections.abc import Iterator, Sequence

from inspector.diagnostics import Diagnostic, Fault
from inspector.inspection import PartInspection
from inspector.model import Generation, GenerationError, Span, SpanKind, ToolCall, ToolDefinition, Turn
from ui.views.call import call_head, call_lines
from ui.views.marked import Told, fault_lines, marked_lines
from ui.views.palette import Style
from ui.views.rows import Folding
from ui.views.run import Line, Run, clipped, width_of
from ui.views.visible import visible_line
from ui.views.wording import counted, wrapped

_FOLDING = Folding()


def turn_lines(
    turn: Turn,
    number: int,
    parts: Sequence[PartInspection],
    diagnostics: Sequence[Diagnostic],
    *,
    width: int,
    model: str = "",
    full: bool = False,
) -> Iterator[Line]:
    """The lines of a turn; `parts` and `diagnostics` are the turn's, `model` the trace's, which need not be said again.

    A sound call is shown as name and arguments, a faulty one as it was written; `full` shows every text whole.
    """
    yield _head(turn, number, width, model)
    if turn.generation is not None and turn.generation.error is not None:
        yield from wrapped(error_words(turn.generation.error), width, indent=4)
    shown = {part.part for part in parts}
    for part in parts:
        found = [one for one in diagnostics if one.location.part == part.part]
        yield from _part_lines(turn, part, found, width, full=full)
    for diagnostic in diagnostics:
        if diagnostic.location.part not in shown:
            yield from fault_lines(diagnostic.fault, width)


def _part_lines(
    turn: Turn, part: PartInspection, diagnostics: Sequence[Diagnostic], width: int, *, full: bool
) -> Iterator[Line]:
    source = turn.part(part.part)
    text = source.text if source else ""
    faults = [diagnostic.fault for diagnostic in diagnostics]

    calls_of: dict[int, list[ToolCall]] = {}
    for call in part.calls:
        calls_of.setdefault(call.span, []).append(call)

    def tell(index: int, room: int) -> Told | None:
        span, calls = part.spans[index], calls_of.get(index, [])
        if span.kind is SpanKind.TOOL_DEFINITIONS and not full and not _touches(faults, span):
            return _defined(part.definitions, span, room)
        if not calls:
            return None
        if all(call.valid for call in calls) and not full and not _touches(faults, span):
            return Told(tuple(line for call in calls for line in call_lines(call, width=room)), replaces=True)
        return Told(tuple(line for call in calls for line in wrapped(call_head(call), room, indent=4)))

    if not part.spans:
        yield from (line for call in part.calls for line in _call_without_text(call, width))
    yield from marked_lines(text, part.spans, faults, width=width, folding=None if full else _FOLDING, tell=tell)


def _touches(faults: Sequence[Fault], span: Span) -> bool:
    return any(fault.range.start < span.range.end and span.range.start <= fault.range.end for fault in faults)


def _defined(definitions: Sequence[ToolDefinition], span: Span, room: int) -> Told | None:
    """The names of the tools that a span defines, in place of its text."""
    names = [one.name for one in definitions if one.range is not None and span.range.covers(one.range)]
    if not names:
        return None
    said = f"{counted(len(names), 'tool')}: {visible_line(', '.join(names))}"
    return Told(tuple(wrapped((Run(said),), room)), replaces=True)


def _call_without_text(call: ToolCall, width: int) -> Iterator[Line]:
    label: Line = (Run("   │ ", Style.GUTTER), Run("tool_call  ", Style.TOOL_CALL))
    for line in call_lines(call, width=width - 16):
        yield (*label, *line)
        label = (Run("   │ ", Style.GUTTER), Run(" " * 11))


def _head(turn: Turn, number: int, width: int, model: str) -> Line:
    """A rule across the screen with the turn's number and role at the left, its facts at the right."""
    role = (Run(f"── {number} ", Style.GUTTER), Run(turn.role.value, Style.STRONG))
    facts = " · ".join(visible_line(fact) for fact in turn_facts(turn, model))
    left = clipped((*role, Run(f" {facts} " if facts else " ", Style.DIM)), width - 2)
    return (*left, Run("─" * (width - width_of(left)), Style.GUTTER))


def turn_facts(turn: Turn, model: str) -> Iterator[str]:
    """What is known of a turn beside its text, to be made visible; the trace's own `model` goes without saying."""
    if turn.source_role and turn.source_role != turn.role.value:
        yield f"({turn.source_role})"
    yield from sorted(flag.value.replace("_", " ") for flag in turn.flags)
    if turn.result is not None:
        yield from filter(None, (turn.result.name, turn.result.call_id, "error" if turn.result.is_error else None))
    if turn.generation is not None:
        yield from _generation_facts(turn.generation, model)


def _generation_facts(generation: Generation, model: str) -> Iterator[str]:
    answered = generation.answered_model or generation.requested_model
    if answered and answered != model:
        yield answered
    if generation.attempt > 1:
        yield f"attempt {generation.attempt}"
    if generation.usage.output_tokens is not None:
        yield f"{generation.usage.output_tokens:,} tokens"
    if generation.started is not None and generation.ended is not None:
        yield f"{generation.ended.at_s - generation.started.at_s:.1f} s"
    finish = generation.finish_reason or (generation.finish.value if generation.finish else None)
    if finish:
        yield f"finish {finish}"


def error_words(error: GenerationError) -> Line:
    """What the server or the connection said instead of a generation."""
    facts = " ".join(str(fact) for fact in (error.status, error.code) if fact is not None)
    named = f"✖ {error.phase.value.replace('_', ' ')} error{f' {facts}' if facts else ''}: "
    return (Run(visible_line(named), Style.ERROR), Run(visible_line(error.message[:2000])))
