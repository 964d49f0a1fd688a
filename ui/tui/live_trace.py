"""A running trace and its lines: turns with their texts, closed spans, the open span, and the faults so far.

Theory of operation. `GrowingTrace` keeps the state and `GrowingLines` its rows; both take only what is new, so that a
screen that is drawn with every event costs as much for a long trace as for a short one.

The events of one trace come in order: TraceStarted, then for each turn TurnStarted, ChunksArrived (any number) and
TurnEnded, then TraceEnded. The chunks of an answer also go to an incremental parser (`GrowingTurn.reading`), which
calls back as spans close and faults appear. The ended turn has the final texts: where they do not begin with the chunks
(a recorder that dropped some), the spans of that part are forgotten. Ended turns before the last 200 are dropped, and
only counted.

Rows are laid out once per piece of text that no longer changes:

    _before   one row, if turns were dropped: "… 12 earlier turns"
    _done     the rows of ended turns
    _open     the rows from the first turn that has not ended, made anew in each update; within a part, the rows of
              closed spans are kept (`_PartLines`), so only the text after the last closed span is wrapped again

With the chunks `<tool_call>{"na` and `me": "f"}</tool_call>`, the first update shows an open row
`▸▸ tool_call │ <tool_call>{"na`, the second the closed span's row without the sign. A fault in text that was already
shown makes its part's rows anew.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import assert_never

from msgspec import Struct, field

from weaklink.inspector.capture import events
from weaklink.inspector.capture.live_parser import FormatChoice, LiveParser
from weaklink.inspector.checks.tools import OfferedTools
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.registry import known_format
from weaklink.inspector.model import Chunk, Generation, Role, Span, SpanKind, ToolCall, Trace, Turn
from weaklink.inspector.text import Range
from weaklink.inspector.wire.events import WIRE_PREFIX
from weaklink.ui.views.marked_text import CaretLabel, caret_lines, caret_place, cut_rows
from weaklink.ui.views.styled_text import Line, Run, Style, counted, style_of, title, visible_runs

MAX_TURNS = 200
"""The maximum number of ended turns in memory, the last ones: a trace that runs for days has very many."""

_GUTTER = 18
_OPEN_END = 4_000  # shown characters of the text after the last closed span; a line above counts the others
_OPEN = "▸▸"
_BAR = Run(f"{'│':>{_GUTTER - 1}} ", Style.GUTTER)


class GrowingPart(Struct):
    """A part's text so far, and the spans and faults found in it."""

    text: str = ""
    spans: list[Span] = field(default_factory=list)
    faults: list[Diagnostic] = field(default_factory=list)


class GrowingTurn(Struct):
    """A turn; `ended` once it is complete. `dropped` of its chunks never reached the database."""

    number: int
    role: Role
    model: str = ""
    parts: dict[str, GrowingPart] = field(default_factory=dict)
    reading: LiveParser | None = None
    ended: bool = False
    chunks: int = 0
    last_sequence: int = -1

    @property
    def dropped(self) -> int:
        """How many sequence numbers are missing among its chunks; 0 once it has ended."""
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
        """A part by its name, created if it is new."""
        return self.parts.setdefault(name, GrowingPart())


SpanCallback = Callable[[int, Span, str, Sequence[ToolCall]], None]
"""Called when a span closed, with the turn, the span, its text and its calls."""

FaultCallback = Callable[[Diagnostic], None]
"""Called when a fault was found."""


class GrowingTrace:
    """Takes the record events of one trace, and keeps its last turns.

    Calls `on_span` and `on_fault` as spans close and faults appear.
    """

    def __init__(self, on_span: SpanCallback, on_fault: FaultCallback) -> None:
        self._on_span, self._on_fault = on_span, on_fault
        self._spoken: Format | None = None
        self._turns: dict[int, GrowingTurn] = {}
        self.trace: Trace | None = None
        self.has_ended = False
        self._chunks = self._faults = 0  # those of turns that are no longer in memory

    @property
    def turns(self) -> list[GrowingTurn]:
        """The turns, in order."""
        return [turn for _, turn in sorted(self._turns.items())]

    @property
    def before(self) -> int:
        """The number of turns before those in memory."""
        return min(self._turns, default=1) - 1

    @property
    def chunks(self) -> int:
        """How many chunks arrived."""
        return self._chunks + sum(turn.chunks for turn in self._turns.values())

    @property
    def faults(self) -> int:
        """How many faults were found."""
        return self._faults + sum(turn.faults for turn in self._turns.values())

    @property
    def dropped(self) -> int:
        """How many chunks of open turns never reached the database."""
        return sum(turn.dropped for turn in self._turns.values())

    def add(self, event: events.RecordEvent) -> None:
        """Add one event of the trace."""
        match event:
            case events.TraceStarted(_, trace):
                self.trace = trace
            case events.TurnStarted(_, number, role, generation):
                self._turns[number] = self._begun(number, role, generation)
            case events.ChunksArrived(_, number, chunks):
                self._grow(self._turns.get(number), chunks)
            case events.TurnEnded(_, number, turn):
                self._end(self._turns.setdefault(number, GrowingTurn(number, turn.role)), turn)
            case events.TraceEnded():
                self.has_ended = True
            case _:
                assert_never(event)

    def span_closed(self, key: str, turn: int, part: str, span: Span, calls: Sequence[ToolCall]) -> None:
        """See `Watch`."""
        grown = self._turns[turn].part(part)
        grown.spans.append(span)
        self._on_span(turn, span, span.inner.of(grown.text), calls)

    def fault_found(self, key: str, turn: int, diagnostic: Diagnostic) -> None:
        """See `Watch`."""
        self._turns[turn].part(diagnostic.location.part).faults.append(diagnostic)
        self._on_fault(diagnostic)

    def exchange_ended(self, facts: events.ExchangeFacts) -> None:
        """See `Watch`; a reading never calls it."""

    def trouble(self, message: str) -> None:
        """See `Watch`; a reading never calls it."""

    def _begun(self, number: int, role: Role, generation: Generation | None) -> GrowingTurn:
        turn = GrowingTurn(number, role)
        if role is Role.ASSISTANT:
            trace = self.trace or Trace(())
            turn.model = (generation.requested_model if generation is not None else "") or trace.model
            choice = FormatChoice(turn.model, self._spoken, named=known_format(trace.format))
            tools = OfferedTools(generation.tools if generation is not None else ())
            turn.reading = LiveParser(self, "", number, choice=choice, tools=tools)
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
            turn.reading.feed(chunks)

    def _end(self, turn: GrowingTurn, whole: Turn) -> None:
        for part in whole.parts:
            grown = turn.part(part.name)
            if not part.text.startswith(grown.text):  # the recorded turn differs from the chunks
                grown.spans.clear()
            grown.text = part.text
        if turn.reading is not None:
            turn.reading.begin_calls(whole.calls)
            turn.reading.end(whole)
            self._spoken = turn.reading.spoken or self._spoken
        turn.ended, turn.reading = True, None
        self._forget()

    def _forget(self) -> None:
        """Drop all but the last turns."""
        ended = sorted(number for number, turn in self._turns.items() if turn.ended)
        for number in ended[: max(len(ended) - MAX_TURNS, 0)]:
            gone = self._turns.pop(number)
            self._chunks, self._faults = self._chunks + gone.chunks, self._faults + gone.faults


def is_shown(name: str) -> bool:
    """Whether a part of this name is shown: those of the wire protocol are not."""
    return not name.startswith(WIRE_PREFIX)


class _PartLines:
    """The rows of a part that closed spans cover; they do not change any more."""

    def __init__(self) -> None:
        self.rows: list[Line] = []
        self.spans = 0
        self.faults = 0
        self.until = 0


class GrowingLines:
    """The lines of a growing trace for a width; call `update` before reading them."""

    def __init__(self, trace: GrowingTrace, width: int) -> None:
        self._trace = trace
        self._width = width
        self._done: list[Line] = []
        self._sizes: dict[int, int] = {}  # how many of the done lines each turn has, by number
        self._before: list[Line] = []
        self._open: list[Line] = []
        self._parts: dict[tuple[int, str], _PartLines] = {}

    @property
    def count(self) -> int:
        """The number of lines."""
        return len(self._before) + len(self._done) + len(self._open)

    def line(self, index: int, width: int) -> Line:
        """A line."""
        for lines in (self._before, self._done):
            if index < len(lines):
                return lines[index]
            index -= len(lines)
        return self._open[index]

    def update(self) -> int:
        """Lay out what has arrived since; return by how many lines the earlier lines have moved up."""
        turns, were = self._trace.turns, len(self._before)
        left = sum(self._sizes.pop(number) for number in list(self._sizes) if number <= self._trace.before)
        del self._done[:left]
        earlier = counted(self._trace.before, "earlier turn")
        self._before = [(Run(f" … {earlier}: `o` shows all of them", Style.DIM),)] if self._trace.before else []
        laid = 0
        for turn in turns:
            if not turn.ended:
                break
            laid += 1
            if turn.number not in self._sizes:
                lines = list(self._turn(turn))
                self._done += lines
                self._sizes[turn.number] = len(lines)
                self._parts = {key: rows for key, rows in self._parts.items() if key[0] != turn.number}
        self._open = [line for turn in turns[laid:] for line in self._turn(turn)]
        return left + were - len(self._before)

    def _turn(self, turn: GrowingTurn) -> Iterator[Line]:
        running = "" if turn.ended else "  ▸ running"
        head = (Run(f"── {turn.number} {turn.role.value}", Style.STRONG), Run(running, Style.INFO))
        rest = max(self._width - len(head[0].text) - len(running) - 2, 0)
        yield (*head, Run(f" {'─' * rest}", Style.GUTTER))
        for name, part in turn.parts.items():
            if is_shown(name) and part.text:
                yield from self._part(turn, name, part)

    def _part(self, turn: GrowingTurn, name: str, part: GrowingPart) -> Iterator[Line]:
        kept = self._parts.setdefault((turn.number, name), _PartLines())
        if len(part.faults) != kept.faults or kept.spans > len(part.spans):
            kept = self._parts[turn.number, name] = _PartLines()
            kept.faults = len(part.faults)
        for span in part.spans[kept.spans :]:
            kept.rows += self._rows(part, span.range, span.kind.value, style_of(span.kind))
            kept.until = max(kept.until, span.range.end)
        kept.spans = len(part.spans)
        yield from kept.rows
        if kept.until < len(part.text):
            yield from self._open_end(turn, name, part, kept.until)

    def _open_end(self, turn: GrowingTurn, name: str, part: GrowingPart, start: int) -> Iterator[Line]:
        """The rows of the text that no span has closed yet, in the style of the open span if there is one."""
        opened = turn.open_span if name == "text" else None
        is_model = turn.role is Role.ASSISTANT
        kind = opened.kind.value if opened is not None else name if is_model else turn.role.value
        style = style_of(opened.kind) if opened is not None else Style.PLAIN
        label = f"{_OPEN} {kind}" if is_model and not turn.ended else kind
        left_out = len(part.text) - start - _OPEN_END
        if left_out > 0:
            yield (Run(" " * _GUTTER), Run(f"… {left_out:,} earlier characters", Style.DIM))
            start = len(part.text) - _OPEN_END
        yield from self._rows(part, Range(start, len(part.text)), label, style)

    def _rows(self, part: GrowingPart, shown_range: Range, label: str, style: Style) -> Iterator[Line]:
        text = part.text
        if label == SpanKind.TEXT.value and not shown_range.of(text).strip():
            return
        inside = [
            diagnostic
            for diagnostic in part.faults
            if shown_range.start <= diagnostic.range.start < max(shown_range.end, shown_range.start + 1)
        ]
        room = max(self._width - _GUTTER - 1, 20)
        if (
            text.startswith("\n", shown_range.start)
            and len(shown_range) > 1
            and not (inside and inside[0].range.start == shown_range.start)
        ):
            start = shown_range.start + 1  # a line feed that only ends the line of the span before
            shown_range = Range(start, shown_range.end)
        for row in cut_rows(text, shown_range, room):
            lead = Run(f" {label[: _GUTTER - 4]:<{_GUTTER - 4}} │ ", style)
            yield (lead, *visible_runs(row.of(text), style if style is not Style.TEXT else Style.PLAIN))
            label = ""
            yield from self._faults(
                text, row, [diagnostic for diagnostic in inside if _begins_in(diagnostic, row, shown_range)]
            )

    def _faults(self, text: str, row: Range, faults: Sequence[Diagnostic]) -> Iterator[Line]:
        reported = [diagnostic.fault for diagnostic in sorted(faults, key=lambda diagnostic: diagnostic.range)]
        labels = [CaretLabel(*caret_place(text, row, fault.range), [fault], [[title(fault)]]) for fault in reported]
        if labels:
            yield from ((_BAR, *line) for line in caret_lines(labels, max(self._width - _GUTTER - 2, 20)))


def _begins_in(diagnostic: Diagnostic, row: Range, shown_range: Range) -> bool:
    start = diagnostic.range.start
    return row.start <= start < row.end or (start == row.end == shown_range.end) or (start == row.end and len(row) == 0)
