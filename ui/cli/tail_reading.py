"""Reads running traces from their record events: what `weaklink tail` tells, in the order in which it is known."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol, assert_never

from inspector.capture.events import ChunksArrived, RecordEvent, TraceEnded, TraceStarted, TurnEnded, TurnStarted
from inspector.capture.format_choice import FormatChoice
from inspector.capture.live_reading import LiveReading
from inspector.capture.watch import ExchangeFacts
from inspector.checks.tools import OfferedTools
from inspector.diagnostics import Diagnostic, Location
from inspector.errors import StoreError, UnknownFormatError
from inspector.formats.format import Format
from inspector.formats.registry import find_format
from inspector.inspection import Inspection
from inspector.model import Chunk, Role, Span, ToolCall, Trace, Turn
from inspector.rules.conversation import NO_FINAL_ANSWER, UNRECOVERED_ERROR
from inspector.rules.rule import Rule
from inspector.text import Range
from storage import Store, TraceSummary
from ui.views.trace import model_of


class Tells(Protocol):
    """Who writes down what happens; `id` is a trace's number as text."""

    def trace_began(self, id: str, trace: Trace) -> None:
        """A trace came into sight; it has no turns here."""
        ...

    def span_closed(self, id: str, place: Location, span: Span, text: str, calls: Sequence[ToolCall]) -> None:
        """A span closed at `place`; `text` is its inner text."""
        ...

    def fault_found(self, id: str, diagnostic: Diagnostic, text: Callable[[], str]) -> None:
        """A fault became known; `text` gives what came of its part so far."""
        ...

    def turn_ended(self, id: str, number: int, turn: Turn, model: str) -> None:
        """A turn ended; `model` is that of the trace."""
        ...

    def trace_ended(self, id: str, summary: TraceSummary | None) -> None:
        """A trace ended; None where it is no longer there."""
        ...


class _GrowingText:
    """The text of a part as far as it came, in the pieces that it came in."""

    def __init__(self, text: str = "") -> None:
        self._pieces, self._ends = [text], [len(text)]

    def grow(self, text: str) -> None:
        self._pieces.append(text)
        self._ends.append(self._ends[-1] + len(text))

    def cut(self, place: Range) -> str:
        """The text of a range, which costs its length and not that of all before it."""
        first = bisect_right(self._ends, place.start)
        last = bisect_left(self._ends, place.end, first)
        start = self._ends[first - 1] if first else 0
        return place.moved(-start).of("".join(self._pieces[first : last + 1]))

    def whole(self) -> str:
        return "".join(self._pieces)


@dataclass(slots=True)
class _TailedTurn:
    reading: LiveReading
    texts: dict[str, _GrowingText] = field(default_factory=dict)


@dataclass(slots=True)
class _Following:
    """A trace that is followed; `ended` are the turns that were told of."""

    trace: Trace
    spoken: Format | None = None
    open: dict[int, _TailedTurn] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    told: set[tuple[object, ...]] = field(default_factory=set)
    texts: dict[tuple[int, str], str] = field(default_factory=dict)


_OF_THE_END = (UNRECOVERED_ERROR, NO_FINAL_ANSWER)
"""What can be said of a trace only when it has ended: until then the agent may still answer."""


class TailReading:
    """Reads the answers in record events as they grow; `store` is asked for what only a whole trace shows."""

    def __init__(self, store: Store, tells: Tells) -> None:
        self._store, self._tells = store, tells
        self._traces: dict[str, _Following] = {}

    def take(self, events: Sequence[RecordEvent]) -> None:
        """Tell what these events mean. StoreError where the store cannot be read."""
        grown: dict[str, None] = {}
        for event in events:
            self._take(event)
            if isinstance(event, TurnEnded):
                grown[event.key] = None
        for key in grown:
            if key in self._traces and not self._traces[key].open:
                self._tell_rest(key, self._traces[key], but=_OF_THE_END)

    def span_closed(self, key: str, turn: int, part: str, span: Span, calls: Sequence[ToolCall]) -> None:
        """See `Watch`."""
        place = Location(turn, part, span.range)
        self._tells.span_closed(key, place, span, self._text(key, place).cut(span.inner), calls)

    def fault_found(self, key: str, turn: int, diagnostic: Diagnostic) -> None:
        """See `Watch`."""
        trace, place = self._traces[key], diagnostic.location
        mark = (diagnostic.rule.code, place)
        if mark not in trace.told:
            trace.told.add(mark)
            self._tells.fault_found(key, diagnostic, lambda: self._text(key, place).whole())

    def exchange_ended(self, facts: ExchangeFacts) -> None:
        """See `Watch`; a reading never tells it."""

    def trouble(self, message: str) -> None:
        """See `Watch`; a reading never tells it."""

    def _take(self, event: RecordEvent) -> None:
        match event:
            case TraceStarted(key, trace):
                self._traces[key] = _Following(trace)
                self._tells.trace_began(key, trace)
            case TurnStarted(key, number, role, generation):
                if role is Role.ASSISTANT:
                    tools = generation.tools if generation is not None else ()
                    named = generation.requested_model if generation is not None else ""
                    self._traces[key].open[number] = self._begin(key, number, named, OfferedTools(tools))
            case ChunksArrived(key, number, chunks):
                self._grow(self._traces[key].open.get(number), chunks)
            case TurnEnded(key, number, turn):
                self._end(key, number, turn)
            case TraceEnded(key, _):
                self._end_trace(key, self._traces[key])
                del self._traces[key]
            case _:
                assert_never(event)

    def _begin(self, key: str, number: int, model: str, tools: OfferedTools) -> _TailedTurn:
        trace = self._traces[key]
        choice = FormatChoice(model or trace.trace.model, trace.spoken, named=_named(trace.trace.format))
        return _TailedTurn(LiveReading(self, key, number, choice=choice, tools=tools))

    def _grow(self, opened: _TailedTurn | None, chunks: Sequence[Chunk]) -> None:
        if opened is None:
            return
        for chunk in chunks:
            opened.texts.setdefault(chunk.part, _GrowingText()).grow(chunk.text)
        opened.reading.take(chunks)

    def _end(self, key: str, number: int, turn: Turn) -> None:
        trace = self._traces[key]
        opened = trace.open.get(number)
        if opened is not None:
            opened.texts = {part.name: _GrowingText(part.text) for part in turn.parts}
            opened.reading.begin_calls(turn.calls)
            opened.reading.end(turn)
            trace.spoken = opened.reading.spoken or trace.spoken
            del trace.open[number]
        trace.ended.add(number)
        self._tells.turn_ended(key, number, turn, model_of(trace.trace))

    def _end_trace(self, key: str, trace: _Following) -> None:
        try:
            summary = self._store.summary(int(key))
        except StoreError:
            summary = None
        if summary is not None:
            self._tell_rest(key, trace)
        self._tells.trace_ended(key, summary)

    def _tell_rest(self, key: str, trace: _Following, but: Collection[Rule] = ()) -> None:
        """Tell the faults that only the whole trace shows, of the turns told of, `but` those of some rules."""
        whole = self._inspected(key)
        if whole is None:
            return
        kept, inspection = whole
        for one in inspection.diagnostics:
            if one.rule not in but and one.location.turn in trace.ended and one.location.turn <= len(kept.turns):
                part = kept.turns[one.location.turn - 1].part(one.location.part)
                trace.texts[one.location.turn, one.location.part] = part.text if part is not None else ""
                self.fault_found(key, one.location.turn, one)
        trace.texts.clear()

    def _inspected(self, key: str) -> tuple[Trace, Inspection] | None:
        try:
            return self._store.inspected(int(key))
        except StoreError:
            return None

    def _text(self, key: str, place: Location) -> _GrowingText:
        trace = self._traces[key]
        opened = trace.open.get(place.turn)
        if opened is not None and place.part in opened.texts:
            return opened.texts[place.part]
        return _GrowingText(trace.texts.get((place.turn, place.part), ""))


def _named(format: str) -> Format | None:
    try:
        return find_format(format) if format else None
    except UnknownFormatError:  # of a plug-in that is not here
        return None
