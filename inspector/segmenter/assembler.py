"""Assembles a parser's events: spans with children, calls, results, definitions, and faults.

Theory of operation. The machine knows markers and nothing else. The assembler takes its events in order and decides
what each closed span is. Most spans are what their markers say: `_close` gives them to the reader of their kind, and
keeps the calls and faults that it returns. The others need a look at what is before them or within them:

    <tool_call>{...} <tool_call>           the second marker is the missing closing one (`_takes_place_of_closer`)
    The tag `<tool_call>` opens a call     the marker is only mentioned, so the span is text (`_is_mentioned`)
    <think>I call it. <tool_call>{...}     reasoning never closed: the whole calls in it count (`_calls_in`)
    <tool_call>{...} That is all.          words after the payload of an unclosed call are kept (`_outside_payload`)
    <tool_call>{"name": "f", "argum        nothing is invented for what was cut off (`_without_inventions`)
    <tool_call>{...}</tool_call> Done.     text beside calls: reported at the end, if nothing else explains it (`end`)

A later event may thus replace the fault of an earlier span: `is_certain` says which faults can no longer change. What
is kept beyond the lists of results are the payloads of the calls, to recognise a loop, and the last few texts.
"""

from bisect import bisect_left
from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.model import Span, SpanKind, ToolCall, ToolDefinition, ToolResult
from weaklink.inspector.rules.json_syntax import (
    MALFORMED_PARAMETERS,
    TRAILING_DATA,
    TRUNCATED_JSON,
    TRUNCATED_PARAMETERS,
)
from weaklink.inspector.rules.markers import NEAR_MARKER, TEXT_AFTER_CALL, TEXT_AROUND_CALLS
from weaklink.inspector.rules.recording import INVALID_UTF8, NUL_CHARACTER
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.segmenter import messages
from weaklink.inspector.segmenter.events import Flagged, ParseEvent, ParseResult, SpanClosed, SpanOpened, SpanReader
from weaklink.inspector.segmenter.table import SECTION
from weaklink.inspector.text import Range, lone_surrogates

_QUOTES = ("`", '"', "'")
_LINE_END = 64  # code points before a marker that show whether it is within a sentence
_IN_SENTENCE = lazy_pattern(r"[\w,][ \t]+\Z")
_SENTENCE = lazy_pattern(r"(?:[ \t]+[a-z]|[.,;:!?][ \t]+[A-Za-z])[^\[\](){}<>]*")
_MAY_BE_EMPTY = (SpanKind.TOOL_CALL, SpanKind.TOOL_RESULT)
_MAY_BE_MENTIONED = (SpanKind.TOOL_CALL, SpanKind.REASONING)
_BY_MODEL = (SpanKind.REASONING, SpanKind.TOOL_CALL)
_UNREAD = ParseResult(complete=True)
"""The content of a span that no reader reads."""

_WORDS = lazy_pattern(r"\s*[^\W\d_][^\[\](){}<>]*")
Readings: TypeAlias = dict[Range, tuple[SpanClosed, ParseResult]]
"""By the ranges of spans: their events and the readers' results; the same event always gives the same result."""


class _CallInReasoning(NamedTuple):
    """A whole call in reasoning that never closed: its opening marker, and its content."""

    opener: Range
    reading: ParseResult


class Assembler:
    """Takes events in order; its lists grow with each event, and are complete once the text has ended.

    `calls_only` says that servers accept a reply as calls only if it contains nothing else (F318). Fixes know the
    format's `wrappers` around calls, and the markers that it writes `on_own_lines`. Spans in `readings` were read
    before, and are not read again.
    """

    def __init__(
        self,
        readers: Mapping[SpanKind, SpanReader],
        *,
        calls_only: bool = False,
        wrappers: Iterable[str] = (),
        on_own_lines: Container[str] = (),
    ) -> None:
        self._wrappers, self._on_own_lines = tuple(wrappers), on_own_lines
        self.readings: Readings = {}
        self._calls_only = calls_only
        self._before = ""
        self._before_call: SpanClosed | None = None
        self._has_bare_call = False
        self._beside_calls: list[Fault] = []
        self._readers = tuple(readers.items())
        self._opened: SpanOpened | None = None
        self._after_call: SpanClosed | None = None
        self._call_seen = False
        self._is_by_model = True
        self._unclosed_call: Fault | None = None
        self._payloads: list[tuple[str, Span]] = []
        self.prose: list[SpanClosed] = []
        """The spans that were kept as text although a marker that opens a call, or reasoning, is before them."""
        self.spans: list[Span] = []
        self.decoded: dict[int, str] = {}
        self.calls: list[ToolCall] = []
        self.results: list[ToolResult] = []
        self.definitions: list[ToolDefinition] = []
        self.faults: list[Fault] = []

    def open_span(self, certain_to: int) -> Span | None:
        """The currently open span, which reaches to `certain_to`; None between spans."""
        if self._opened is None:
            return None
        kind, start, inner = self._opened.kind, self._opened.start, self._opened.inner_start
        end = max(inner, certain_to)
        return Span(kind, Range(start, end), Range(inner, end), closed=False, label=self._opened.label)

    def add(self, events: Iterable[ParseEvent]) -> list[Span]:
        """Add events; returns the spans that closed with them."""
        first = len(self.spans)
        for event in events:
            if type(event) is SpanClosed and self._takes_place_of_closer(event):
                self._keep_as_closer(event)
            elif type(event) is SpanClosed and self._is_mentioned(event):
                self._keep_as_prose(event)
            elif type(event) is SpanClosed:
                self._close(self._with_role_of_reply(event))
            elif type(event) is SpanOpened:
                self._opened = event
            elif type(event) is Flagged:
                self.faults.append(event.fault)
        return self.spans[first:]

    def is_certain(self, fault: Fault) -> bool:
        """Whether no later event can withdraw or replace a fault.

        What a marker begins is known only once its span closes: it may be a word of prose, or the misspelled closing
        marker of the call before it, whose fault is at this marker.
        """
        return bool(self.spans) and fault.range.start < self.spans[-1].range.end

    def end(self) -> None:
        """Complete the lists with what only the end of the text makes known.

        Text beside calls is reported now, unless it contains a call that the model attempted, or is a misspelled
        marker: these have their own faults.
        """
        self._turn_ends()
        tried = sorted(fault.call.range.start for fault in self.faults if fault.call is not None)
        misspelled = {fault.range for fault in self.faults if fault.rule is NEAR_MARKER} if self._beside_calls else ()
        for fault in self._beside_calls:
            index = bisect_left(tried, fault.range.start)
            if (index == len(tried) or tried[index] >= fault.range.end) and fault.range not in misspelled:
                self.faults.append(fault)

    def _close(self, event: SpanClosed) -> None:
        span, text = event.span, event.inner_text
        kind = span.kind
        reading, calls_before = _UNREAD, len(self.calls)
        if event.reading is not None:
            span, reading = self._keep(event.reading, event)
        for read_kind, reader in self._readers if event.reading is None else ():
            if read_kind is kind:
                span, reading = self._keep(self._read(reader, event), event)
                break
        if event.wanted:
            self._not_closed(event, reading, holds_calls=len(self.calls) > calls_before)
        if event.call is None and (not text.isascii() or "\x00" in text):
            self.faults += character_faults(text, span.inner.start)
        if kind is SpanKind.TOOL_CALL:
            if self._calls_only and span.inner.start == span.range.start:
                self._flag_text_around(self._before_call or self._after_call)
            self._call_seen, self._after_call, self._before_call = True, None, None
            self._payloads.append((text, span))
        elif kind is SpanKind.TEXT:
            self._take_words(event)
        elif kind is not SpanKind.REASONING and span.label != SECTION:
            self._turn_ends()
        self.spans.append(span)
        self._opened = None

    def _not_closed(self, event: SpanClosed, reading: ParseResult, *, holds_calls: bool) -> None:
        """Report a span whose closing marker is missing.

        A call span without text is reported elsewhere, as is reasoning that holds calls; an empty result is where
        Gemma's template stops an answer.
        """
        if event.span.kind is SpanKind.REASONING and holds_calls:
            return
        if event.span.kind not in _MAY_BE_EMPTY or event.inner_text.strip():
            end = self._payload_end(event)
            line = self._line_before(event)
            content = ParseResult() if event.span.kind is SpanKind.MARKUP else reading
            fault = messages.unterminated(event, content, end=end, line=line, repeats=self._repeated_by(event))
            self.faults.append(fault)
            if event.span.kind is SpanKind.TOOL_CALL:
                self._unclosed_call = fault

    def _with_role_of_reply(self, event: SpanClosed) -> SpanClosed:
        """The event; a header that is only the role of the reply to come, as at a rendered prompt's end, is closed.

        A model's own header follows its reasoning, its call, or a text that begins the reply.
        """
        kind, inner = event.span.kind, event.inner_text
        if kind is not SpanKind.MARKUP:
            begins = kind is SpanKind.TEXT and event.span.range.start == 0
            self._is_by_model = event.by_model and (begins or kind in _BY_MODEL)
        elif event.wanted and not self._is_by_model and (not inner or inner.isidentifier()):
            return replace(event, span=replace(event.span, closed=True), wanted="")
        return event

    def _takes_place_of_closer(self, event: SpanClosed) -> bool:
        """Whether an unclosed call that is empty, or only words, is in fact the end of the previous call.

        Its marker was meant as the closing marker; if so, the fault of the previous call, at this marker, is replaced.
        """
        start = event.span.range.start
        if not event.wanted or event.span.kind is not SpanKind.TOOL_CALL or not self.spans:
            return False
        before, fault = self.spans[-1], self._unclosed_call
        if fault is None or before.kind is not SpanKind.TOOL_CALL or fault.range.start != start:
            return False
        if event.inner_text.strip() and not self._is_only_words(event):
            return False
        # Other faults may have been added since, some for text before the call: their position depends on the chunks.
        index = next(index for index in range(len(self.faults) - 1, -1, -1) if self.faults[index] is fault)
        self.faults[index] = messages.opener_for_closer(fault, event)
        return True

    def _is_only_words(self, event: SpanClosed) -> bool:
        """Whether a call span contains prose, and nothing that its reader reads as a tool call."""
        reader = dict(self._readers).get(SpanKind.TOOL_CALL)
        if reader is None or not _WORDS.fullmatch(event.inner_text):
            return False
        return all(call.name is None for call in reader(event).calls)

    def _keep_as_closer(self, event: SpanClosed) -> None:
        """Keep a call span that is not a call: an empty one as it is, else its marker as markup, its words as text."""
        self._opened = None
        span = event.span
        if not event.inner_text.strip():
            self.spans.append(span)
            return
        marker, inner = Range(span.range.start, span.inner.start), Range(span.inner.start, span.range.end)
        self.spans.append(Span(SpanKind.MARKUP, marker, Range(marker.end, marker.end), label="marker"))
        words = SpanClosed(Span(SpanKind.TEXT, inner, inner), event.inner_text)
        self._take_words(words)
        self.spans.append(words.span)

    def _is_mentioned(self, event: SpanClosed) -> bool:
        """Whether a span is prose that mentions its opening marker: in quotes, or (for a call) within a sentence.

        If the format's own reader finds a call in it, it is not.
        """
        span, before, text = event.span, self._before, event.inner_text
        if not before or span.kind not in _MAY_BE_MENTIONED or span.inner.start == span.range.start:
            return False
        if not self.spans or self.spans[-1].range.end != span.range.start or self.spans[-1].kind is not SpanKind.TEXT:
            return False
        is_open_call = span.kind is SpanKind.TOOL_CALL and span.range.end == span.inner.end
        in_sentence = _IN_SENTENCE.search(before[-_LINE_END:]) is not None
        within_sentence = is_open_call and in_sentence and _SENTENCE.fullmatch(text) is not None
        if event.call is not None or not (within_sentence or is_quoted_marker(before, text)):
            return False
        reader = dict(self._readers).get(span.kind)
        reading = reader(event) if reader is not None else ParseResult()
        return not reading.children and not any(call.name and (call.valid or call.recovered) for call in reading.calls)

    def _keep_as_prose(self, event: SpanClosed) -> None:
        """Keep a span that is prose as text; the fault of its marker replaces the others there."""
        span = event.span
        self.faults[:] = [fault for fault in self.faults if fault.range.start != span.range.start]
        self.faults.append(messages.marker_in_prose(span))
        self._close(SpanClosed(Span(SpanKind.TEXT, span.range, span.range), event.inner_text))
        self.prose.append(SpanClosed(Span(SpanKind.TEXT, span.inner, span.inner), event.inner_text))

    def _read(self, reader: SpanReader, event: SpanClosed) -> ParseResult:
        """The content of a closed span; for reasoning that never closed also the whole calls in it.

        The model meant such a call, and only forgot to close its reasoning.
        """
        known = self.readings.get(event.span.range)
        reading = known[1] if known is not None and known[0] == event else reader(event)
        if event.span.kind is not SpanKind.REASONING or not event.wanted or not reading.children:
            return reading
        calls = self._calls_in(reading.children, event)
        if not calls:
            return reading
        listed = {call.opener.start for call in calls}
        others = [fault for fault in reading.faults if fault.range.start not in listed]
        of_calls = [fault for call in calls for fault in call.reading.faults]
        return msgspec.structs.replace(
            reading,
            calls=tuple(call for found_call in calls for call in found_call.reading.calls),
            faults=(messages.open_reasoning(event, calls[0].opener, self._wrappers), *others, *of_calls),
        )

    def _calls_in(self, children: Iterable[Span], event: SpanClosed) -> list["_CallInReasoning"]:
        """The complete, well-formed calls among `children`, as the format's own call reader reads them."""
        reader = dict(self._readers).get(SpanKind.TOOL_CALL)
        calls_in_reasoning: list[_CallInReasoning] = []
        if reader is None:
            return calls_in_reasoning
        for span in children:
            if span.kind is SpanKind.TOOL_CALL:
                inner = span.inner.moved(-event.span.inner.start).of(event.inner_text)
                reading = reader(SpanClosed(span, inner))
                if reading.calls and all(call.valid for call in reading.calls):
                    calls_in_reasoning.append(
                        _CallInReasoning(Range(span.range.start, max(span.inner.start, span.range.start + 1)), reading)
                    )
        return calls_in_reasoning

    def _take_words(self, event: SpanClosed) -> None:
        """Remember the last text, the first before the calls of a turn, and the first after its last call."""
        self._before = event.inner_text
        if not event.inner_text or event.inner_text.isspace():
            return
        if not self._call_seen:
            self._before_call = self._before_call or event
        elif self._after_call is None:
            self._after_call = event

    def _keep(self, reading: ParseResult, event: SpanClosed) -> tuple[Span, ParseResult]:
        """Keep the content of a closed span; returns the span with its children, and the content."""
        index = len(self.spans)
        reading = _without_inventions(event, reading)
        for call in reading.calls:
            self.calls.append(msgspec.structs.replace(call, span=index) if index else call)
        if reading.results:
            self.results += (replace(result, span=index) for result in reading.results)
        self.definitions += reading.definitions
        self.faults += (
            reading.faults if _is_closed(event) else _outside_payload(event, reading, self._line_before(event))
        )
        if reading.decoded is not None:
            self.decoded[index] = reading.decoded
        if reading.children:
            return msgspec.structs.replace(event.span, children=reading.children), reading
        return event.span, reading

    def _line_before(self, event: SpanClosed) -> str:
        """The line end that belongs before a span's closing marker; "" for calls in a template that writes none."""
        is_tight = event.span.kind is SpanKind.TOOL_CALL and event.wanted not in self._on_own_lines
        return "" if is_tight else "\n"

    def _payload_end(self, event: SpanClosed) -> int:
        """The end of the payload of an unclosed span: before the words that are addressed to the user."""
        last = event.span.inner.start + len(event.inner_text.rstrip())
        for fault in reversed(self.faults):
            if fault.rule is TRAILING_DATA and fault.range.end == last and event.span.inner.covers(fault.range):
                return fault.range.start if _trails_words(event, fault) else last
            if fault.range.end < event.span.range.start:
                break
        return last

    def _repeated_by(self, event: SpanClosed) -> Span | None:
        """The earlier call that the stream's last, cut-off call begins to repeat (the tail of a loop); None if none."""
        beginning = event.inner_text.strip()
        if event.span.kind is not SpanKind.TOOL_CALL or event.ended_at is not None or not beginning:
            return None
        earlier = (span for text, span in self._payloads if text.lstrip().startswith(beginning))
        return next(earlier, None)

    def _turn_ends(self) -> None:
        if self._after_call is not None and self._calls_only and self._has_bare_call:
            self._flag_text_around(self._after_call)
        elif self._after_call is not None:
            self._beside_calls.append(_text_after_call(self._after_call))
        self._call_seen, self._after_call, self._before_call = False, None, None
        self._has_bare_call = False

    def _flag_text_around(self, event: SpanClosed | None) -> None:
        """Flag text beside a call without an opening marker."""
        self._has_bare_call = True
        if event is not None and _holds_words(event.inner_text):
            self._beside_calls.append(_text_around_calls(event))


def is_quoted_marker(before: str, after: str) -> bool:
    """Whether a marker is in quotes or backticks, judging by the texts before and after it."""
    return after[:1] in _QUOTES and before[-1:] == after[0]


def _without_inventions(event: SpanClosed, reading: ParseResult) -> ParseResult:
    """The reading without invented arguments: a call cut off before its first argument has none, and no repair."""
    cut = [fault for fault in reading.faults if _is_truncation(event, fault)]
    if not cut:
        return reading
    cut_end = max(fault.range.end for fault in cut)
    invented = [_has_invented_arguments(call) and call.range.end <= cut_end for call in reading.calls]
    read = zip(reading.calls, invented, strict=True)
    calls = (_unread(event, call) if is_invented else call for call, is_invented in read)
    faults = reading.faults
    if any(invented):
        faults = tuple(
            replace(fault, hint=None, fix=None) if _is_truncation(event, fault) else fault for fault in faults
        )
    return msgspec.structs.replace(reading, calls=tuple(calls), faults=faults, complete=False)


def _is_truncation(event: SpanClosed, fault: Fault) -> bool:
    """Whether a fault says that the payload ends too early; includes a tag made malformed by the end of the stream."""
    if fault.rule is MALFORMED_PARAMETERS and event.wanted and event.ended_at is None:
        return fault.range.end == event.span.inner.start + len(event.inner_text.rstrip())
    return fault.rule in (TRUNCATED_JSON, TRUNCATED_PARAMETERS)


def _has_invented_arguments(call: ToolCall) -> bool:
    """Whether a call's arguments were invented by a repair: an empty object that is not in its text."""
    return call.recovered and call.arguments == {} and not call.raw_arguments.rstrip().endswith("}")


def _unread(event: SpanClosed, call: ToolCall) -> ToolCall:
    """The call without parsed arguments: with their raw text, or all of its text if not even the tool is named."""
    raw = call.raw_arguments
    if call.name is None and not raw:
        raw = call.range.moved(-event.span.inner.start).of(event.inner_text)
    return msgspec.structs.replace(call, arguments=raw, raw_arguments=raw, recovered=False)


def _is_closed(event: SpanClosed) -> bool:
    """Whether a marker closes the span, so that all text before it is the payload, or the span has no payload."""
    return event.span.range.end > event.span.inner.end or event.span.kind is not SpanKind.TOOL_CALL


def _outside_payload(event: SpanClosed, reading: ParseResult, line: str) -> Iterable[Fault]:
    """The faults of an unclosed call: words after its payload are addressed to the user, and are kept.

    The repair for words at the call's end is to close the call before them, if it is complete and has a closer.
    """
    for fault in reading.faults:
        if fault.rule is TRAILING_DATA and fault.fix is not None and _trails_words(event, fault):
            yield messages.closed_before(event, fault, complete=reading.complete, line=line)
        else:
            yield fault


def _trails_words(event: SpanClosed, fault: Fault) -> bool:
    text = fault.range.moved(-event.span.inner.start).of(event.inner_text)
    return any(map(str.isalnum, text))


def character_faults(text: str, start: int) -> Iterable[Fault]:
    """Faults for characters in `text`, which begins at `start`, that databases refuse: at most one of each kind."""
    broken = list(lone_surrogates(text))
    if broken:
        yield _not_utf8(text, broken, start)
    nul = text.find("\x00")
    if nul >= 0:
        count = text.count("\x00")
        more = f", the first of {count}" if count > 1 else ""
        yield Fault(NUL_CHARACTER, Range(nul, nul + 1).moved(start), f"A NUL character appears here{more}.")


def _text_after_call(event: SpanClosed) -> Fault:
    message = "Text follows the turn's last call; many servers and agents drop it."
    return Fault(TEXT_AFTER_CALL, _words_of(event), message, "End the generation at the call.")


def _text_around_calls(event: SpanClosed) -> Fault:
    message = (
        "This reply has text next to its calls; servers of this format accept a reply as calls only if it contains "
        "nothing else, so they return all of it as content."
    )
    return Fault(TEXT_AROUND_CALLS, _words_of(event), message, "Write nothing but the calls.")


def _holds_words(text: str) -> bool:
    """Whether a text beside calls is more than a separator, and not the broken beginning of a call."""
    return any(map(str.isalnum, text)) and not text.lstrip().startswith("{")


def _words_of(event: SpanClosed) -> Range:
    """The range of a text without the white space around it."""
    text, start = event.inner_text, event.span.inner.start
    return Range(start + len(text) - len(text.lstrip()), start + len(text.rstrip()))


def _not_utf8(text: str, broken: list[Range], start: int) -> Fault:
    first = broken[0].of(text)
    code_point = ord(first[0])
    if 0xDC80 <= code_point <= 0xDCFF:
        what = "bytes that are not UTF-8: " + " ".join(f"{ord(c) - 0xDC00:02X}" for c in first[:8])
    else:
        what = f"half a surrogate pair, U+{code_point:04X}"
    more = f" (the first of {len(broken)} such places)" if len(broken) > 1 else ""
    return Fault(INVALID_UTF8, broken[0].moved(start), f"The text contains {what}{more}; kept unchanged.")
