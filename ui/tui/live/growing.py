"""A trace as it grows: its turns with their texts, the spans that closed, the one that is open, the faults so far."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from inspector.capture.events import ChunksArrived, RecordEvent, TraceEnded, TraceStarted, TurnEnded, TurnStarted
from inspector.capture.format_choice import FormatChoice
from inspector.capture.live_reading import LiveReading
from inspector.capture.watch import ExchangeFacts
from inspector.checks.tools import OfferedTools
from inspector.diagnostics import Diagnostic
from inspector.errors import UnknownFormatError
from inspector.formats.format import Format
from inspector.formats.registry import find_format
from inspector.model import Chunk, Generation, Role, Span, ToolCall, Trace, Turn
from inspector.wire.events import WIRE_PREFIX

MOST_TURNS = 200
"""So many turns that have ended are held, the last ones: a trace that runs for days has very many."""


@dataclass(slots=True)
class GrowingPart:
    """A part's text as far as it came, and what was found in it."""

    text: str = ""
    spans: list[Span] = field(default_factory=list)
    faults: list[Diagnostic] = field(default_factory=list)


@dataclass(slots=True)
class GrowingTurn:
    """A turn; `ended` once nothing more comes. `dropped` of its chunks never reached the database."""

    number: int
    role: Role
    model: str = ""
    parts: dict[str, GrowingPart] = field(default_factory=dict)
    reading: LiveReading | None = None
    ended: bool = False
    chunks: int = 0
    last_sequence: int = -1

    @property
    def dropped(self) -> int:
        """How many numbers are missing among those of its chunks."""
        return max(self.last_sequence + 1 - self.chunks, 0) if not self.ended else 0

    @property
    def faults(self) -> int:
        """How many faults were found in it."""
        return sum(len(part.faults) for part in self.parts.values())

    @property
    def open_span(self) -> Span | None:
        """The span of its text that is open now."""
        return self.reading.open_span if self.reading is not None and not self.ended else None

    def part(self, name: str) -> GrowingPart:
        """A part by its name, made where it is new."""
        return self.parts.setdefault(name, GrowingPart())


Told = Callable[[int, Span, str, Sequence[ToolCall]], None]
"""Is told of a span that closed: the turn, the span, its words, its calls."""
Found = Callable[[Diagnostic], None]
"""Is told of a fault."""


class GrowingTrace:
    """Takes the record events of one trace, and holds its last turns.

    `told` and `found` are called as spans close and faults appear.
    """

    def __init__(self, told: Told, found: Found) -> None:
        self._told, self._found = told, found
        self._spoken: Format | None = None
        self._turns: dict[int, GrowingTurn] = {}
        self.trace: Trace | None = None
        self.has_ended = False
        self._chunks = self._faults = 0  # those of turns that are not held any more

    @property
    def turns(self) -> list[GrowingTurn]:
        """The turns in their order."""
        return [turn for _, turn in sorted(self._turns.items())]

    @property
    def before(self) -> int:
        """How many turns there are before those that are held."""
        return min(self._turns, default=1) - 1

    @property
    def chunks(self) -> int:
        """How many chunks came."""
        return self._chunks + sum(turn.chunks for turn in self._turns.values())

    @property
    def faults(self) -> int:
        """How many faults were found."""
        return self._faults + sum(turn.faults for turn in self._turns.values())

    @property
    def dropped(self) -> int:
        """How many chunks of open turns never reached the database."""
        return sum(turn.dropped for turn in self._turns.values())

    def take(self, event: RecordEvent) -> None:
        """Take one event of the trace."""
        match event:
            case TraceStarted(_, trace):
                self.trace = trace
            case TurnStarted(_, number, role, generation):
                self._turns[number] = self._begun(number, role, generation)
            case ChunksArrived(_, number, chunks):
                self._grow(self._turns.get(number), chunks)
            case TurnEnded(_, number, turn):
                self._end(self._turns.setdefault(number, GrowingTurn(number, turn.role)), turn)
            case TraceEnded():
                self.has_ended = True
            case _:
                assert_never(event)

    def span_closed(self, key: str, turn: int, part: str, span: Span, calls: Sequence[ToolCall]) -> None:
        """See `Watch`."""
        grown = self._turns[turn].part(part)
        grown.spans.append(span)
        self._told(turn, span, span.inner.of(grown.text), calls)

    def fault_found(self, key: str, turn: int, diagnostic: Diagnostic) -> None:
        """See `Watch`."""
        self._turns[turn].part(diagnostic.location.part).faults.append(diagnostic)
        self._found(diagnostic)

    def exchange_ended(self, facts: ExchangeFacts) -> None:
        """See `Watch`; a reading never tells it."""

    def trouble(self, message: str) -> None:
        """See `Watch`; a reading never tells it."""

    def _begun(self, number: int, role: Role, generation: Generation | None) -> GrowingTurn:
        turn = GrowingTurn(number, role)
        if role is Role.ASSISTANT:
            trace = self.trace or Trace(())
            turn.model = (generation.requested_model if generation is not None else "") or trace.model
            choice = FormatChoice(turn.model, self._spoken, named=_named(trace.format))
            tools = OfferedTools(generation.tools if generation is not None else ())
            turn.reading = LiveReading(self, "", number, choice=choice, tools=tools)
        return turn

    def _grow(self, turn: GrowingTurn | None, chunks: Sequence[Chunk]) -> None:
        if turn is None:
            return
        grown: dict[str, list[str]] = {}
        for chunk in chunks:
            grown.setdefault(chunk.part, []).append(chunk.text)
            turn.last_sequence = max(turn.last_sequence, chunk.sequence)
        turn.chunks += len(chunks)
        for name, texts in grown.items():
            turn.part(name).text += "".join(texts)
        if turn.reading is not None:
            turn.reading.take(chunks)

    def _end(self, turn: GrowingTurn, whole: Turn) -> None:
        for part in whole.parts:
            grown = turn.part(part.name)
            if not part.text.startswith(grown.text):  # the record says otherwise: read anew
                grown.spans.clear()
            grown.text = part.text
        if turn.reading is not None:
            turn.reading.begin_calls(whole.calls)
            turn.reading.end(whole)
            self._spoken = turn.reading.spoken or self._spoken
        turn.ended, turn.reading = True, None
        self._forget()

    def _forget(self) -> None:
        """Let go of the turns before the last ones."""
        ended = sorted(number for number, turn in self._turns.items() if turn.ended)
        for number in ended[: max(len(ended) - MOST_TURNS, 0)]:
            gone = self._turns.pop(number)
            self._chunks, self._faults = self._chunks + gone.chunks, self._faults + gone.faults


def is_shown(name: str) -> bool:
    """Whether a part of this name holds words: those of the wire do not."""
    return not name.startswith(WIRE_PREFIX)


def _named(format_: str) -> Format | None:
    try:
        return find_format(format_) if format_ else None
    except UnknownFormatError:  # of a plug-in that is not here
        return None
