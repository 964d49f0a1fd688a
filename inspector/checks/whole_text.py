"""Parses whole texts without faults by the fast lane, with the same readers and checks as every other text.

A text that is parsed here has no faults except attempted calls, near markers and loops. If the lane, a reader or
another check finds anything, the machine parses the text instead, from the beginning, so that one place in the code
decides what a fault is and in which order faults are reported. A check runs only if its cheap test succeeds.
"""

from collections.abc import Sequence
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from weaklink.inspector.checks.arguments import check_arguments
from weaklink.inspector.checks.attempted.call_search import call_search
from weaklink.inspector.checks.tools import OfferedTools, check_definition
from weaklink.inspector.checks.typed_arguments import typed_by
from weaklink.inspector.checks.wrappers import Wrappers
from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.markers import lane_of, markers_of
from weaklink.inspector.formats.registry import registered_formats
from weaklink.inspector.model import Role, Span, SpanKind, ToolCall, ToolDefinition, ToolResult
from weaklink.inspector.segmenter.assembler import Readings, is_quoted_marker
from weaklink.inspector.segmenter.events import ParseResult, SpanClosed
from weaklink.inspector.segmenter.table import SECTION


class WholeText(msgspec.Struct):
    """The parsed whole text; see Segmentation. `faults` are those of the search for attempted calls, in order."""

    spans: list[Span] = msgspec.field(default_factory=list)
    calls: list[ToolCall] = msgspec.field(default_factory=list)
    results: list[ToolResult] = msgspec.field(default_factory=list)
    definitions: list[ToolDefinition] = msgspec.field(default_factory=list)
    faults: list[Fault] = msgspec.field(default_factory=list)


def whole_texts(own: Format, role: Role) -> "WholeTexts":
    """The reader of whole texts of a format in turns of a role; created once for each pair."""
    return _whole_texts(own, role, registered_formats())


@lru_cache(maxsize=512)
def _whole_texts(own: Format, role: Role, registered: tuple[Format, ...]) -> "WholeTexts":
    """See `whole_texts`; `registered` is only part of the cache key: a registration changes what is foreign."""
    return WholeTexts(own, role)


class WholeTexts:
    """Parses whole texts in which nothing is wrong; keeps nothing of them."""

    def __init__(self, own: Format, role: Role) -> None:
        self._own = own
        self._is_model = role is Role.ASSISTANT
        self._lane = lane_of(own, role)
        self._readers = dict(own.readers)
        self._search = call_search(own)
        self._has_wrappers = bool(markers_of(own).wrappers)

    def read(self, text: str, offered: OfferedTools, readings: Readings) -> WholeText | None:
        """The parsed `text`, its calls checked against the tools `offered`; None if the machine must parse it.

        The readers' results for spans are stored in `readings`, so that the machine need not read the spans again.
        """
        events = self._lane.read(text) if self._lane is not None else None
        parsed = self._read_spans(events, readings) if events is not None else None
        if events is None or parsed is None or self._has_faults(events):
            return None
        if parsed.definitions and (parsed.calls or self._is_model):
            return None  # its calls are checked against the definitions before them
        if not (text.isascii() or all(map(_is_utf8, events))):
            return None
        if offered and not self._checked(parsed, offered):
            return None
        if self._is_model:
            self._search_attempts(events, parsed, offered)  # last: what it finds is no reason to parse the text again
        return parsed

    def _read_spans(self, events: Sequence[SpanClosed], readings: Readings) -> WholeText | None:
        """The contents of the spans; None if a reader finds a fault."""
        text = WholeText()
        for event in events:
            span, call = event.span, event.call
            if call is not None:
                index = len(text.spans)
                text.calls.append(msgspec.structs.replace(call, span=index) if index else call)
            elif (reader := self._readers.get(span.kind)) is not None:
                reading = reader(event)
                readings[span.range] = event, reading
                if not _keep(reading, text):
                    return None
                if reading.children:
                    span = msgspec.structs.replace(span, children=reading.children)
            text.spans.append(span)
        return text

    def _has_misplaced_words(self, events: Sequence[SpanClosed]) -> bool:
        """Whether there is text after a turn's last call, or beside calls that servers parse only alone."""
        call_seen = is_after = words_seen = bare_seen = False
        for event in events:
            span = event.span
            if span.kind is SpanKind.TOOL_CALL:
                call_seen, is_after = True, False
                bare_seen = bare_seen or span.inner.start == span.range.start
            elif span.kind is SpanKind.TEXT:
                if event.inner_text and not event.inner_text.isspace():
                    words_seen, is_after = True, call_seen
            elif span.kind is not SpanKind.REASONING and span.label != SECTION:
                if is_after:
                    return True
                call_seen = False
        return is_after or (words_seen and bare_seen and self._own.calls_only)

    def _has_faults(self, events: Sequence[SpanClosed]) -> bool:
        """Whether a check of the spans finds anything."""
        if len(events) > 1 and (self._has_misplaced_words(events) or any(map(_is_quoted, events, events[1:]))):
            return True
        return self._is_model and self._has_wrappers and self._has_wrapper_faults(events)

    def _has_wrapper_faults(self, events: Sequence[SpanClosed]) -> bool:
        if not any(event.span.label == SECTION for event in events):
            return False
        wrappers = Wrappers(self._own)
        return any(True for event in events if event.by_model for _ in wrappers.faults(event)) or any(
            True for _ in wrappers.end()
        )

    def _search_attempts(self, events: Sequence[SpanClosed], parsed: WholeText, offered: OfferedTools) -> None:
        search = self._search
        for index, event in enumerate(events):
            kind, text, start = event.span.kind, event.inner_text, event.span.inner.start
            if not event.by_model or text.isspace():
                continue
            if kind is SpanKind.TEXT:
                parsed.faults += search.in_text(text, start, offered, at_end=index == len(events) - 1)
            elif kind is SpanKind.REASONING:
                drafts = [child.range for child in parsed.spans[index].children if child.kind is SpanKind.TOOL_CALL]
                parsed.faults += search.in_reasoning(text, start, offered, drafts)

    def _checked(self, parsed: WholeText, offered: OfferedTools) -> bool:
        """Check the calls, and convert their values by their tools' schemas; False if there is anything to report."""
        reported = set(offered.reported)
        for index, call in enumerate(parsed.calls):
            parsed.calls[index], is_sound = self._check_call(call, offered)
            if not is_sound:
                offered.reported.clear()
                offered.reported.update(reported)  # what is reported once for all texts was not reported yet
                return False
        return True

    def _check_call(self, call: ToolCall, offered: OfferedTools) -> tuple[ToolCall, bool]:
        builtin_tools = self._own.builtin_tools if self._is_model else frozenset()
        if call.name is None or (call.name in builtin_tools and offered.find(call.name) is None):
            return call, False
        if call.parameters:
            typed = typed_by(call, offered)
            if typed.faults or not typed.call.valid:
                return call, False
            call = typed.call
        return call, not any(True for _ in check_arguments(call, offered, builtin_tools))


def _is_quoted(before: SpanClosed, event: SpanClosed) -> bool:
    """Whether reasoning is opened by a marker that a text quotes."""
    return event.span.kind is SpanKind.REASONING and is_quoted_marker(before.inner_text, event.inner_text)


def _is_utf8(event: SpanClosed) -> bool:
    """Whether a span has no lone surrogate; a call that the lane parsed has none."""
    if event.call is not None or event.inner_text.isascii():
        return True
    try:
        event.inner_text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _keep(reading: ParseResult, text: WholeText) -> bool:
    """Store the content of a span; False if the machine must parse it."""
    if reading.faults or reading.decoded is not None:
        return False
    if any(True for tool in reading.definitions for _ in check_definition(tool)):
        return False
    text.definitions += reading.definitions
    index = len(text.spans)
    for call in reading.calls:
        if not call.valid:
            return False
        text.calls.append(msgspec.structs.replace(call, span=index) if index else call)
    if reading.results:
        text.results += (replace(result, span=index) for result in reading.results)
    return True
