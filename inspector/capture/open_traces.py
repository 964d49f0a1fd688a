"""The traces that a recorder has open: turn numbers, offered tools and ends, and the guarded sink that they share.

Errors of the sink or the observer are counted, and recording goes on.
"""

from collections import deque
from collections.abc import Callable, Sequence

from msgspec import Struct, field, structs

from weaklink.inspector.apis.openai.tool_lists import loaded_tools
from weaklink.inspector.capture import events
from weaklink.inspector.capture.redacting import Redacts
from weaklink.inspector.checks.tools import OfferedTools
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.formats.detection import detect_format
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.model import Role, Span, ToolCall, ToolDefinition, Turn
from weaklink.inspector.model.exchange import RecordedExchange
from weaklink.inspector.segmentation import Segmenter
from weaklink.inspector.sessions.resolver import SessionAssignment, SessionResolver

_SILENCE_S = 60.0
_MAX_ERROR_CHARS = 300
_MAX_OTHER_EXCHANGES = 64
SOURCE = "record"
"""The source of traces that were recorded live."""


class GuardedSink:
    """Passes events on; never raises. `clock` returns the seconds of a clock that never goes back."""

    def __init__(
        self, sink: events.Sink, observer: events.RecordingObserver | None, clock: Callable[[], float]
    ) -> None:
        self._sink, self._observer = sink, observer
        self._clock = clock
        self._reported_at: dict[str, float] = {}
        self.refused = 0
        self.failed = 0

    @property
    def has_observer(self) -> bool:
        """Whether there is an observer."""
        return self._observer is not None

    def emit(self, event: events.RecordEvent) -> None:
        """Pass an event to the sink."""
        try:
            self._sink.accept(event)
        except Exception as error:  # noqa: BLE001  # a third-party sink; the error is counted and reported
            self.refused += 1
            self.trouble("The sink refused a record event", error, f" ({self.refused} so far)")

    def span_closed(self, key: str, turn: int, part: str, span: Span, calls: Sequence[ToolCall]) -> None:
        """See `RecordingObserver`."""
        self._call(lambda observer: observer.span_closed(key, turn, part, span, calls))

    def fault_found(self, key: str, turn: int, diagnostic: Diagnostic) -> None:
        """See `RecordingObserver`."""
        self._call(lambda observer: observer.fault_found(key, turn, diagnostic))

    def exchange_ended(self, facts: events.ExchangeFacts) -> None:
        """See `RecordingObserver`."""
        self._call(lambda observer: observer.exchange_ended(facts))

    def trouble(self, message: str, error: Exception | None = None, more: str = "") -> None:
        """Report a problem to the observer, each at most once a minute; `message` is a clause."""
        self.failed += error is not None
        now_s = self._clock()
        if self._observer is None or now_s - self._reported_at.get(message, now_s - _SILENCE_S) < _SILENCE_S:
            return
        self._reported_at[message] = now_s
        sentence = f"{message}{more}: {_describe_error(error)}." if error is not None else f"{message}{more}."
        try:
            self._observer.trouble(sentence)
        except Exception:  # noqa: BLE001  # no observer is left to report it to; the error is counted
            self.failed += 1

    def _call(self, call: Callable[[events.RecordingObserver], None]) -> None:
        if self._observer is None:
            return
        try:
            call(self._observer)
        except Exception as error:  # noqa: BLE001  # a third-party observer; the error is counted and reported
            self.trouble("An observer of the recording failed", error)


def _describe_error(error: Exception) -> str:
    """An error's type and first line; further lines may quote the recorded data."""
    line = str(error).partition("\n")[0].strip().rstrip(".")
    return f"{type(error).__name__}: {line[:_MAX_ERROR_CHARS]}" if line else type(error).__name__


class OpenTrace:
    """A trace that is being recorded; its turns are numbered from 1, in the order in which they begin."""

    def __init__(self, model: str, named: Format | None = None) -> None:
        self.named = named
        self.spoken: Format | None = None
        self.open_answers = 0
        self.is_over = False
        self._model = model
        self._turns = 0
        self._requested = OfferedTools()
        self._defined = OfferedTools()
        self._loaded: tuple[ToolDefinition, ...] = ()

    def next_turn(self) -> int:
        """The number of a new turn."""
        self._turns += 1
        return self._turns

    def tools_for(self, offered: tuple[ToolDefinition, ...]) -> OfferedTools:
        """The tools to check a request's calls against: those it offers, else those that system prompts define."""
        if not offered:
            return self._defined
        if offered != self._requested.definitions or self._loaded != self._requested.loaded:
            self._requested = OfferedTools(offered, reported=self._requested.reported, loaded=self._loaded)
        return self._requested

    def learn_tools(self, turn: Turn) -> None:
        """Remember the tools that a system prompt defines, or that a search for tools found."""
        self._loaded += loaded_tools(turn)
        text = turn.part("text") if turn.role is Role.SYSTEM else None
        if text is None or not text.text:
            return
        segmenter = Segmenter(detect_format(text.text, self._model).format, role=Role.SYSTEM)
        segmenter.feed(text.text)
        segmenter.close()
        definitions = segmenter.segmentation(text.text).definitions
        if definitions:
            self._defined = OfferedTools((*self._defined.definitions, *definitions), is_whole=False)


class OpenTraces:
    """All traces that are being recorded, by key; reports their beginnings and ends to the sink."""

    def __init__(self, sink: GuardedSink, redactor: Redacts, format: str = "") -> None:
        self._sink, self._redactor = sink, redactor
        self._named = find_format(format) if format else None
        self._open: dict[str, OpenTrace] = {}

    def of(self, assignment: SessionAssignment) -> OpenTrace:
        """The trace of an assigned request, after adding the new turns of the request."""
        trace = self._open.get(assignment.key)
        if trace is None:
            facts = assignment.begins
            trace = self._open[assignment.key] = OpenTrace(facts.model if facts is not None else "", self._named)
        if assignment.begins is not None:
            provenance = structs.replace(assignment.begins.provenance, source=SOURCE)
            begins = structs.replace(
                assignment.begins, provenance=provenance, format=self._named.name if self._named else ""
            )
            self._sink.emit(events.TraceStarted(assignment.key, self._redactor.trace(begins)))
        for turn in assignment.turns:
            number = trace.next_turn()
            kept = self._redactor.turn(turn)
            self._sink.emit(events.TurnStarted(assignment.key, number, turn.role, kept.generation))
            self._sink.emit(events.TurnEnded(assignment.key, number, kept))
            if self._sink.has_observer:
                self._learn_tools(trace, kept)
        return trace

    def end(self, key: str) -> None:
        """End a trace; while answers are still arriving, it ends after the last of them."""
        trace = self._open.get(key)
        if trace is None:
            return
        trace.is_over = True
        self._end_if_silent(key, trace)

    def close_answer(self, key: str) -> None:
        """One of the trace's answers has ended; the trace may end now."""
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
            self._sink.emit(events.TraceEnded(key))

    def _learn_tools(self, trace: OpenTrace, turn: Turn) -> None:
        try:
            trace.learn_tools(turn)
        except Exception as error:  # noqa: BLE001  # formats may be plug-ins; the error is reported
            self._sink.trouble("The tools of a system prompt could not be read", error)


class RecorderContext(Struct, frozen=True):
    """What all exchanges share: session resolver, open traces, sink, redactor, and the size limit of one answer.

    `answers` has a function for each open answer that returns it so far, by the `request_id` of its request.
    `other_exchanges` are no requests to a model, and wait for the next turn that ends.
    """

    resolver: SessionResolver
    traces: OpenTraces
    sink: GuardedSink
    redactor: Redacts
    max_answer_bytes: int
    answers: dict[str, Callable[[], Turn]] = field(default_factory=dict)
    other_exchanges: deque[RecordedExchange] = field(default_factory=lambda: deque(maxlen=_MAX_OTHER_EXCHANGES))

    def so_far(self, request_id: str) -> Turn | None:
        """An open answer so far; None if it is unknown."""
        answer = self.answers.get(request_id)
        return None if answer is None else answer()
