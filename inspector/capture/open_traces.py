"""The traces that a recorder has open: turn numbers, offered tools and ends, and the guarded sink they share.

Whatever sink or observer do, recording goes on; what they refused is counted.
"""

from collections import deque
from collections.abc import Callable, Sequence

from msgspec import Struct, field, structs

from inspector.capture import events
from inspector.capture.redacting import Redacts
from inspector.checks.tools import OfferedTools
from inspector.diagnostics import Diagnostic
from inspector.formats.detection import detect_format
from inspector.formats.format import Format
from inspector.model import Role, Span, ToolCall, ToolDefinition, Turn
from inspector.model.exchange import RecordedExchange
from inspector.segmentation import Segmenter
from inspector.sessions.resolver import Placement, SessionResolver

_SILENCE_S = 60.0
_LONGEST = 300
_MOST_OTHERS = 64
SOURCE = "record"
"""The source of traces that were recorded as they happened."""


class GuardedSink:
    """Hands events on; never raises. `clock` gives seconds, of any clock that never goes back."""

    def __init__(self, sink: events.Sink, watch: events.RecordingObserver | None, clock: Callable[[], float]) -> None:
        self._sink, self._watch = sink, watch
        self._clock = clock
        self._told_at: dict[str, float] = {}
        self.refused = 0
        self.failed = 0

    @property
    def is_watched(self) -> bool:
        """Whether anybody looks on."""
        return self._watch is not None

    def tell(self, event: events.RecordEvent) -> None:
        """Hand an event to the sink."""
        try:
            self._sink.accept(event)
        except Exception as error:  # noqa: BLE001  # a foreign sink; it is counted and told
            self.refused += 1
            self.trouble("The sink refuses what was recorded", error, f" ({self.refused} so far)")

    def span_closed(self, key: str, turn: int, part: str, span: Span, calls: Sequence[ToolCall]) -> None:
        """See `Watch`."""
        self._call(lambda watch: watch.span_closed(key, turn, part, span, calls))

    def fault_found(self, key: str, turn: int, diagnostic: Diagnostic) -> None:
        """See `Watch`."""
        self._call(lambda watch: watch.fault_found(key, turn, diagnostic))

    def exchange_ended(self, facts: events.ExchangeFacts) -> None:
        """See `Watch`."""
        self._call(lambda watch: watch.exchange_ended(facts))

    def trouble(self, message: str, error: Exception | None = None, more: str = "") -> None:
        """Tell that something goes wrong, `message` being a clause; the same once a minute."""
        self.failed += error is not None
        now_s = self._clock()
        if self._watch is None or now_s - self._told_at.get(message, now_s - _SILENCE_S) < _SILENCE_S:
            return
        self._told_at[message] = now_s
        sentence = f"{message}{more}: {_words(error)}." if error is not None else f"{message}{more}."
        try:
            self._watch.trouble(sentence)
        except Exception:  # noqa: BLE001  # nobody is left to be told; it is counted
            self.failed += 1

    def _call(self, call: Callable[[events.RecordingObserver], None]) -> None:
        if self._watch is None:
            return
        try:
            call(self._watch)
        except Exception as error:  # noqa: BLE001  # a foreign watch; it is counted and told
            self.trouble("Who watches the recording failed", error)


def _words(error: Exception) -> str:
    """An error's kind and first line; the others may quote what was to be written."""
    line = str(error).partition("\n")[0].strip().rstrip(".")
    return f"{type(error).__name__}: {line[:_LONGEST]}" if line else type(error).__name__


class OpenTrace:
    """A trace that is being recorded; its turns count from 1, in the order in which they begin."""

    def __init__(self, model: str) -> None:
        self.spoken: Format | None = None
        self.open_answers = 0
        self.is_over = False
        self._model = model
        self._turns = 0
        self._requested = OfferedTools()
        self._defined = OfferedTools()

    def next_turn(self) -> int:
        """The number of a turn that begins."""
        self._turns += 1
        return self._turns

    def tools_for(self, offered: tuple[ToolDefinition, ...]) -> OfferedTools:
        """The tools that a request's calls are checked against: its own, else those that system prompts define."""
        if not offered:
            return self._defined
        if offered != self._requested.definitions:
            self._requested = OfferedTools(offered, told=self._requested.told)
        return self._requested

    def learn_tools(self, turn: Turn) -> None:
        """Take note of the tools that a system prompt defines."""
        text = turn.part("text") if turn.role is Role.SYSTEM else None
        if text is None or not text.text:
            return
        segmenter = Segmenter(detect_format(text.text, self._model).format, role=Role.SYSTEM)
        segmenter.feed(text.text)
        segmenter.close()
        found = segmenter.segmentation(text.text).definitions
        if found:
            self._defined = OfferedTools((*self._defined.definitions, *found), is_whole=False)


class OpenTraces:
    """All traces that are being recorded, by key; tells the sink how they begin and end."""

    def __init__(self, outlet: GuardedSink, redactor: Redacts) -> None:
        self._outlet, self._redactor = outlet, redactor
        self._open: dict[str, OpenTrace] = {}

    def of(self, placement: Placement) -> OpenTrace:
        """The trace of a placed request, with the turns that the request brought."""
        trace = self._open.get(placement.key)
        if trace is None:
            facts = placement.begins
            trace = self._open[placement.key] = OpenTrace(facts.model if facts is not None else "")
        if placement.begins is not None:
            provenance = structs.replace(placement.begins.provenance, source=SOURCE)
            begins = structs.replace(placement.begins, provenance=provenance)
            self._outlet.tell(events.TraceStarted(placement.key, self._redactor.trace(begins)))
        for turn in placement.turns:
            number = trace.next_turn()
            kept = self._redactor.turn(turn)
            self._outlet.tell(events.TurnStarted(placement.key, number, turn.role, kept.generation))
            self._outlet.tell(events.TurnEnded(placement.key, number, kept))
            if self._outlet.is_watched:
                self._learn_tools(trace, kept)
        return trace

    def end(self, key: str) -> None:
        """Nothing comes to that trace any more; with answers on their way it ends behind the last of them."""
        trace = self._open.get(key)
        if trace is None:
            return
        trace.is_over = True
        self._end_if_silent(key, trace)

    def close_answer(self, key: str) -> None:
        """One of the trace's answers has ended."""
        trace = self._open.get(key)
        if trace is not None:
            trace.open_answers -= 1
            self._end_if_silent(key, trace)

    def end_all(self) -> None:
        """End every trace."""
        for key in tuple(self._open):
            self.end(key)

    def _end_if_silent(self, key: str, trace: OpenTrace) -> None:
        if trace.is_over and trace.open_answers <= 0:
            del self._open[key]
            self._outlet.tell(events.TraceEnded(key))

    def _learn_tools(self, trace: OpenTrace, turn: Turn) -> None:
        try:
            trace.learn_tools(turn)
        except Exception as error:  # noqa: BLE001  # formats may be plug-ins; it is told
            self._outlet.trouble("The tools of a system prompt could not be read", error)


class RecorderContext(Struct, frozen=True):
    """The book of sessions, the traces that run, the way out, who takes out secrets, and the bound of one answer.

    `answers` gives what came of each open answer, by the `request_id` of its request. `other_exchanges` asked no model
    and wait for the next turn that ends.
    """

    book: SessionResolver
    traces: OpenTraces
    outlet: GuardedSink
    redactor: Redacts
    max_answer_bytes: int
    answers: dict[str, Callable[[], Turn]] = field(default_factory=dict)
    other_exchanges: deque[RecordedExchange] = field(default_factory=lambda: deque(maxlen=_MOST_OTHERS))

    def so_far(self, request_id: str) -> Turn | None:
        """What came of an open answer; None where it is not known."""
        answer = self.answers.get(request_id)
        return None if answer is None else answer()
