"""Puts a parser's events together: spans with children, calls, results, definitions, and faults."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import msgspec

from inspector.diagnostics import Fault
from inspector.model import Span, SpanKind, ToolCall, ToolDefinition, ToolResult
from inspector.rules.markers import TEXT_AFTER_CALL
from inspector.rules.recording import INVALID_UTF8, NUL_CHARACTER
from inspector.segmenter.events import Flagged, ParseEvent, SpanClosed, SpanExtended, SpanOpened
from inspector.segmenter.readings import SpanReader
from inspector.segmenter.wording import unterminated
from inspector.text import Range, lone_surrogates


class Assembler:
    """Takes events in order; its lists grow by what became known, and hold everything once the text has ended."""

    def __init__(self, readers: Mapping[SpanKind, SpanReader]) -> None:
        self._readers = readers
        self._after_call: Fault | None = None
        self._call_seen = False
        self.spans: list[Span] = []
        self.calls: list[ToolCall] = []
        self.results: list[ToolResult] = []
        self.definitions: list[ToolDefinition] = []
        self.faults: list[Fault] = []
        self.open_span: Span | None = None

    def take(self, events: Iterable[ParseEvent]) -> list[Span]:
        """The spans that closed with these events."""
        first = len(self.spans)
        for event in events:
            match event:
                case SpanClosed():
                    self._close(event)
                case SpanOpened(kind, start, inner_start, label):
                    self.open_span = Span(
                        kind, Range(start, inner_start), Range(inner_start, inner_start), closed=False, label=label
                    )
                case SpanExtended():
                    pass
                case Flagged(fault):
                    self.faults.append(fault)
        return self.spans[first:]

    def end(self) -> None:
        """The text has ended: what only its end makes known."""
        self._turn_ends()

    def _close(self, event: SpanClosed) -> None:
        span = event.span
        index = len(self.spans)
        complete = True
        reader = self._readers.get(span.kind)
        if reader is not None:
            reading = reader(event)
            complete = reading.complete
            if reading.children:
                span = msgspec.structs.replace(span, children=reading.children)
            for call in reading.calls:
                self.calls.append(msgspec.structs.replace(call, span=index) if index else call)
            self.results += (replace(result, span=index) for result in reading.results)
            self.definitions += reading.definitions
            self.faults += reading.faults
        if event.wanted:
            self.faults.append(unterminated(event, complete=complete))
        self._look_at_characters(event)
        self._follow_turn(event)
        self.spans.append(span)
        self.open_span = None

    def _look_at_characters(self, event: SpanClosed) -> None:
        text, start = event.inner_text, event.span.inner.start
        if not text.isascii():
            broken = list(lone_surrogates(text))
            if broken:
                self.faults.append(_not_utf8(text, broken, start))
        nul = text.find("\x00")
        if nul >= 0:
            count = text.count("\x00")
            more = f", the first of {count}" if count > 1 else ""
            self.faults.append(
                Fault(NUL_CHARACTER, Range(nul, nul + 1).moved(start), f"A NUL character stands here{more}.")
            )

    def _follow_turn(self, event: SpanClosed) -> None:
        match event.span.kind:
            case SpanKind.TOOL_CALL:
                self._call_seen, self._after_call = True, None
            case SpanKind.TEXT if self._call_seen and self._after_call is None and not event.inner_text.isspace():
                self._after_call = _text_after_call(event)
            case SpanKind.MARKUP | SpanKind.TOOL_RESULT:
                self._turn_ends()

    def _turn_ends(self) -> None:
        if self._after_call is not None:
            self.faults.append(self._after_call)
        self._call_seen, self._after_call = False, None


def _text_after_call(event: SpanClosed) -> Fault:
    text = event.inner_text
    start = event.span.inner.start + len(text) - len(text.lstrip())
    end = event.span.inner.start + len(text.rstrip())
    message = "Text follows the turn's last call; many servers and agents drop it."
    return Fault(TEXT_AFTER_CALL, Range(start, end), message, "End the generation at the call.")


def _not_utf8(text: str, broken: list[Range], start: int) -> Fault:
    first = broken[0].of(text)
    code_point = ord(first[0])
    if 0xDC80 <= code_point <= 0xDCFF:
        what = "bytes that are not UTF-8: " + " ".join(f"{ord(c) - 0xDC00:02X}" for c in first[:8])
    else:
        what = f"half a surrogate pair, U+{code_point:04X}"
    more = f" (the first of {len(broken)} such places)" if len(broken) > 1 else ""
    return Fault(INVALID_UTF8, broken[0].moved(start), f"The text holds {what}{more}; kept as they came.")
