"""Events of a running trace, as lines for people and as JSON objects.

Where only one trace is followed, its `id` is empty, and lines name the turn alone.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from inspector.chain.steps import Status
from inspector.diagnostics import Diagnostic, Location
from inspector.model import BodyState, Role, Span, SpanKind, ToolCall, Trace, Turn
from inspector.text import LineIndex
from inspector.wire.events import WIRE_PREFIX
from storage import TraceSummary
from ui.views.segment_json import JsonObject, call_object, diagnostic_object, span_object
from ui.views.status import RUNNING, call_brief, status_run
from ui.views.styled_text import Line, Run, Style, clipped, counted, help_line, style_of, title, visible_line, wrapped
from ui.views.trace import model_of, title_of
from ui.views.trace_columns import summary_object
from ui.views.trace_json import generation_object
from ui.views.trace_summary import break_words, moment
from ui.views.turn import characters_in, error_words, turn_facts

_PLACE, _KIND = 8, 11
_LONGEST = 1_000


def trace_began_line(id: str, trace: Trace, width: int) -> Line:
    """A trace that is being recorded comes into sight."""
    facts = [title_of(trace), model_of(trace), trace.provenance.source]
    said = " · ".join(visible_line(fact[:_LONGEST]) for fact in facts if fact)
    return clipped((*_place(id), RUNNING, Run(f"  {said}" if said else "")), width)


def span_lines(id: str, turn: int, span: Span, words: str, calls: Sequence[ToolCall], *, width: int) -> Iterator[Line]:
    """A span that closed, as a line: its calls, one a line, else its first `words`; nothing for mere structure."""
    lead = (*_place(id, turn), *_kind(span.kind.value, style_of(span.kind)))
    if calls:
        for call in calls:
            style = Style.OK if call.valid else Style.WARNING if call.recovered else Style.ERROR
            mark = {Style.OK: "✔ ", Style.WARNING: "▲ "}.get(style, "✖ ")
            yield clipped((*lead, Run(mark, style), Run(call_brief(call, width))), width)
    elif span.kind is not SpanKind.MARKUP and words.strip():
        unread: Line = (Run("✖ ", Style.ERROR),) if span.kind is SpanKind.TOOL_CALL else ()
        yield clipped((*lead, *unread, Run(visible_line(words.strip()[:_LONGEST]))), width)


def fault_lines(id: str, diagnostic: Diagnostic, *, width: int) -> Iterator[Line]:
    """A diagnostic in one to three lines: what is wrong, in two at most, and the repair in the rest."""
    lead = _place(id, diagnostic.location.turn)
    blank: Line = (*lead[:1], Run(" " * (_PLACE - len(id))))
    room = width - _PLACE
    told = list(islice(wrapped(title(diagnostic.fault), room, indent=4), 3))
    if len(told) == 3:
        told[1:] = [clipped((*told[1], Run(" …")), room)]
    for line in told:
        yield (*lead, *line)
        lead = blank
    if diagnostic.fault.hint:
        yield clipped((*blank, Run("    "), *help_line(diagnostic.fault.hint)), width)


def turn_lines(id: str, number: int, turn: Turn, *, width: int, model: str = "") -> Iterator[Line]:
    """A turn that ended: the model's with how it ended, anybody else's with its first words."""
    lead = _place(id, number)
    facts = " · ".join(visible_line(fact) for fact in turn_facts(turn, model))
    if turn.role is not Role.ASSISTANT:
        said = next((part.text for part in turn.parts if not part.name.startswith(WIRE_PREFIX)), "").strip()
        named = (Run(f"{facts}: " if said else facts, Style.DIM),) if facts else ()
        words = Run(visible_line(said[:_LONGEST]))
        yield clipped((*lead, *_kind(turn.role.value, Style.STRONG), *named, words), width)
        return
    came = counted(characters_in(turn), "character")
    generation = turn.generation
    is_cut = generation is not None and generation.body is BodyState.TRUNCATED
    how = Run(f"… cut off after {came}", Style.WARNING) if is_cut else Run(f"ended, {came}", Style.DIM)
    more = (Run(f" · {facts}", Style.DIM),) if facts else ()
    yield clipped((*lead, *_kind("turn", Style.DIM), how, *more), width)
    if generation is not None and generation.error is not None:
        yield clipped((*lead, *_kind("", Style.DIM), *error_words(generation.error)), width)


def trace_ended_line(id: str, summary: TraceSummary | None, width: int) -> Line:
    """A trace that ended: how, and where it broke; None for one that is no longer there."""
    if summary is None:
        gone = Run("no longer there: deleted, or kept under the id of the same trace", Style.WARNING)
        return clipped((*_place(id), gone), width)
    status = status_run(Status(summary.status), summary.broken.outcome if summary.broken else None)
    counts = [counted(summary.turns, "turn"), counted(summary.tool_calls, "call")]
    counts += [counted(summary.errors, "error")] if summary.errors else []
    broken = (*break_words(summary.broken), Run("  ")) if summary.broken else ()
    why = (Run(f"by {visible_line(summary.abort_reason)}  "),) if summary.abort_reason else ()
    return clipped((*_place(id), status, Run("  "), *broken, *why, Run(", ".join(counts), Style.DIM)), width)


def _place(id: str, turn: int | None = None) -> Line:
    """Which trace a line is of, and which of its turns: `12/3`."""
    behind = "" if turn is None else f"/{turn}" if id else f" {turn}"
    room = max(_PLACE - len(id), len(behind) + 1)
    return Run(visible_line(id), Style.STRONG), Run(f"{behind:{room}}", Style.GUTTER)


def _kind(word: str, style: Style) -> Line:
    return Run(f"{word:{_KIND}}", style), Run(" ")


def trace_began_object(id: int, trace: Trace) -> JsonObject:
    """A trace that is being recorded comes into sight."""
    return {
        "event": "trace_began",
        "trace": id,
        "name": trace.name,
        "source": trace.provenance.source,
        "model": model_of(trace),
        "external_ids": {one.name: one.value for one in trace.external_ids},
        "started_at": moment(trace.started.at_s if trace.started else None),
    }


def span_closed_object(id: int, place: Location, span: Span, text: str, calls: Sequence[ToolCall]) -> JsonObject:
    """A span that closed, with its inner text."""
    return {
        "event": "span_closed",
        "trace": id,
        "turn": place.turn,
        "part": place.part,
        **span_object(span),
        "text": text,
        "tool_calls": [call_object(call) for call in calls],
    }


def fault_found_object(id: int, diagnostic: Diagnostic, text: str) -> JsonObject:
    """A diagnostic; `text` is what came so far of the part that it is in."""
    place = diagnostic.location
    found = diagnostic_object(diagnostic, LineIndex(text))
    return {"event": "fault_found", "trace": id, "turn": place.turn, "part": place.part, **found}


def turn_ended_object(id: int, number: int, turn: Turn) -> JsonObject:
    """A turn that ended, with all that is known of it but its text."""
    return {
        "event": "turn_ended",
        "trace": id,
        "turn": number,
        "role": turn.role.value,
        "characters": characters_in(turn),
        "generation": generation_object(turn.generation) if turn.generation else None,
    }


def trace_ended_object(id: int, summary: TraceSummary | None) -> JsonObject:
    """A trace that ended; `summary` is None where it is no longer there."""
    return {"event": "trace_ended", "trace": id, "summary": summary_object(summary) if summary else None}
