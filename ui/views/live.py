"""Events of a running trace, as lines and as JSON objects.

If only one trace is followed, its `id` is empty, and lines name only the turn.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from msgspec import Struct

from weaklink.inspector.chain.steps import Status
from weaklink.inspector.diagnostics import Diagnostic, Location
from weaklink.inspector.model import BodyState, Role, Span, SpanKind, ToolCall, Trace, Turn
from weaklink.inspector.text import LineIndex
from weaklink.inspector.wire.events import WIRE_PREFIX
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.json_types.traces import FaultFoundJson, SpanClosedJson, TraceBeganJson, TraceEndedJson, TurnEndedJson
from weaklink.ui.views.segment_json import call_object, diagnostic_object, span_object
from weaklink.ui.views.status import RUNNING, call_brief, status_run
from weaklink.ui.views.styled_text import (
    Line,
    Run,
    Style,
    clipped,
    counted,
    help_line,
    style_of,
    title,
    visible_line,
    wrapped,
)
from weaklink.ui.views.trace import model_of, title_of
from weaklink.ui.views.trace_columns import summary_object
from weaklink.ui.views.trace_json import generation_object
from weaklink.ui.views.trace_summary import moment, reason_words
from weaklink.ui.views.turn import characters_in, error_words, turn_facts

_PLACE, _KIND = 8, 11
_MAX_TEXT_CHARS = 1_000


class TraceReported(Struct, frozen=True):
    """A trace is followed from now on; `trace` has no turns."""

    trace: Trace


class SpanReported(Struct, frozen=True):
    """A span closed at `location`; `text` is its inner text."""

    location: Location
    span: Span
    text: str
    calls: Sequence[ToolCall] = ()


class FaultReported(Struct, frozen=True):
    """A fault was found; `text_so_far` returns the text of its part."""

    diagnostic: Diagnostic
    text_so_far: Callable[[], str]


class TurnReported(Struct, frozen=True):
    """A turn ended; `model` is that of the trace."""

    number: int
    turn: Turn
    model: str


class EndReported(Struct, frozen=True):
    """A trace ended; `summary` is None if it no longer exists."""

    summary: TraceSummary | None


LiveEvent: TypeAlias = TraceReported | SpanReported | FaultReported | TurnReported | EndReported
LiveEventJson: TypeAlias = TraceBeganJson | SpanClosedJson | FaultFoundJson | TurnEndedJson | TraceEndedJson


def event_lines(id: str, event: LiveEvent, *, width: int) -> Iterator[Line]:
    """The lines of an event."""
    match event:
        case TraceReported(trace):
            yield _began_line(id, trace, width)
        case SpanReported(location, span, text, calls):
            yield from span_lines(id, location.turn, span, text, calls, width=width)
        case FaultReported(diagnostic, _):
            yield from fault_lines(id, diagnostic, width=width)
        case TurnReported(number, turn, model):
            yield from turn_lines(id, number, turn, width=width, model=model)
        case EndReported(summary):
            yield _ended_line(id, summary, width)


def _began_line(id: str, trace: Trace, width: int) -> Line:
    facts = [title_of(trace), model_of(trace), trace.provenance.source]
    facts_text = " · ".join(visible_line(fact[:_MAX_TEXT_CHARS]) for fact in facts if fact)
    return clipped((*_place(id), RUNNING, Run(f"  {facts_text}" if facts_text else "")), width)


def span_lines(id: str, turn: int, span: Span, words: str, calls: Sequence[ToolCall], *, width: int) -> Iterator[Line]:
    """A span that closed: its calls, one per line, or else its first `words` in a line; nothing for pure markup.

    A call that could be read has no mark: whether it fits its tool is checked later, and what its tool answers is open.
    """
    lead = (*_place(id, turn), *_kind(span.kind.value, style_of(span.kind)))
    if calls:
        for call in calls:
            malformed = Run("▲ ", Style.WARNING) if call.recovered else Run("✖ ", Style.ERROR)
            mark: Line = () if call.valid else (malformed,)
            yield clipped((*lead, *mark, Run(call_brief(call, width))), width)
    elif span.kind is not SpanKind.MARKUP and words.strip():
        unread: Line = (Run("✖ ", Style.ERROR),) if span.kind is SpanKind.TOOL_CALL else ()
        yield clipped((*lead, *unread, Run(visible_line(words.strip()[:_MAX_TEXT_CHARS]))), width)


def fault_lines(id: str, diagnostic: Diagnostic, *, width: int) -> Iterator[Line]:
    """A diagnostic in one to three lines: the fault in at most two, and the hint in one."""
    lead = _place(id, diagnostic.location.turn)
    blank: Line = (*lead[:1], Run(" " * (_PLACE - len(id))))
    room = width - _PLACE
    lines = list(islice(wrapped(title(diagnostic.fault), room, indent=4), 3))
    if len(lines) == 3:
        lines[1:] = [clipped((*lines[1], Run(" …")), room)]
    for line in lines:
        yield (*lead, *line)
        lead = blank
    if diagnostic.fault.hint:
        yield clipped((*blank, Run("    "), *help_line(diagnostic.fault.hint)), width)


def turn_lines(id: str, number: int, turn: Turn, *, width: int, model: str = "") -> Iterator[Line]:
    """A turn that ended: the model's with its ending, any other with its first words."""
    lead = _place(id, number)
    facts = " · ".join(visible_line(fact) for fact in turn_facts(turn, model))
    if turn.role is not Role.ASSISTANT:
        text = next((part.text for part in turn.parts if not part.name.startswith(WIRE_PREFIX)), "").strip()
        named = (Run(f"{facts}: " if text else facts, Style.DIM),) if facts else ()
        words = Run(visible_line(text[:_MAX_TEXT_CHARS]))
        yield clipped((*lead, *_kind(turn.role.value, Style.STRONG), *named, words), width)
        return
    length = counted(characters_in(turn), "character")
    generation = turn.generation
    is_cut = generation is not None and generation.body is BodyState.TRUNCATED
    how = Run(f"… truncated after {length}", Style.WARNING) if is_cut else Run(f"ended, {length}", Style.DIM)
    more = (Run(f" · {facts}", Style.DIM),) if facts else ()
    yield clipped((*lead, *_kind("turn", Style.DIM), how, *more), width)
    if generation is not None and generation.error is not None:
        yield clipped((*lead, *_kind("", Style.DIM), *error_words(generation.error)), width)


def _ended_line(id: str, summary: TraceSummary | None, width: int) -> Line:
    if summary is None:
        gone = Run("no longer in the database: deleted, or stored under the id of the same trace", Style.WARNING)
        return clipped((*_place(id), gone), width)
    status = status_run(Status(summary.status), summary.broken)
    counts = [counted(summary.turns, "turn"), counted(summary.tool_calls, "call")]
    counts += [counted(summary.errors, "error")] if summary.errors else []
    reason = reason_words(summary)
    why = (*reason, Run("  ")) if reason else ()
    return clipped((*_place(id), status, Run("  "), *why, Run(", ".join(counts), Style.DIM)), width)


def _place(id: str, turn: int | None = None) -> Line:
    """The trace and turn of a line: `12/3`."""
    turn_text = "" if turn is None else f"/{turn}" if id else f" {turn}"
    room = max(_PLACE - len(id), len(turn_text) + 1)
    return Run(visible_line(id), Style.STRONG), Run(f"{turn_text:{room}}", Style.GUTTER)


def _kind(word: str, style: Style) -> Line:
    return Run(f"{word:{_KIND}}", style), Run(" ")


def event_object(id: int, event: LiveEvent) -> LiveEventJson:
    """An event as one JSON object: a turn has all its data except its text."""
    match event:
        case TraceReported(trace):
            return {
                "event": "trace_began",
                "trace": id,
                "name": trace.name,
                "source": trace.provenance.source,
                "model": model_of(trace),
                "external_ids": {id_.name: id_.value for id_ in trace.external_ids},
                "started_at": moment(trace.started.at_s if trace.started else None),
            }
        case SpanReported(location, span, text, calls):
            return {
                "event": "span_closed",
                "trace": id,
                "turn": location.turn,
                "part": location.part,
                **span_object(span),
                "text": text,
                "tool_calls": [call_object(call) for call in calls],
            }
        case FaultReported(diagnostic, text_so_far):
            location = diagnostic.location
            value = diagnostic_object(diagnostic, LineIndex(text_so_far()))
            return {"event": "fault_found", "trace": id, "turn": location.turn, "part": location.part, **value}
        case TurnReported(number, turn, _):
            return {
                "event": "turn_ended",
                "trace": id,
                "turn": number,
                "role": turn.role.value,
                "characters": characters_in(turn),
                "generation": generation_object(turn.generation) if turn.generation else None,
            }
        case EndReported(summary):
            return {"event": "trace_ended", "trace": id, "summary": summary_object(summary) if summary else None}
