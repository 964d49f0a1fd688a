"""Parses one text into spans, calls and diagnostics: `segment` a whole text, `Segmenter` piece by piece."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

import msgspec

from weaklink.inspector.checks.arguments import (
    accepted_array,
    check_arguments,
    places_of_cuts,
    without_fault_of_array,
    without_unfinished,
)
from weaklink.inspector.checks.attempted.attempt import is_in_sentence
from weaklink.inspector.checks.attempted.call_search import CallSearch, call_search
from weaklink.inspector.checks.repair_trials import TrialResult, with_tried_fixes
from weaklink.inspector.checks.repetition import (
    FEWEST_IN_TURN,
    ONCE_A_RUN,
    may_have_runs,
    repeated_calls,
    with_runs_once,
)
from weaklink.inspector.checks.tools import OfferedTools, check_definition
from weaklink.inspector.checks.typed_arguments import typed_by
from weaklink.inspector.checks.whole_text import WholeText, whole_texts
from weaklink.inspector.checks.wrappers import Wrappers
from weaklink.inspector.diagnostics import Diagnostic, Fault
from weaklink.inspector.formats.api.call_reading import raw_fault
from weaklink.inspector.formats.detection import SAMPLE_CHARS, detect_format
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.markers import markers_of
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.model.calls import Decoded, Literal, ToolCall, ToolDefinition, ToolResult, arguments_key
from weaklink.inspector.model.trace import Role, Span, SpanKind
from weaklink.inspector.rich_display import html_of
from weaklink.inspector.rules.layers import CALL_DELIVERED_TWICE
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.segmenter.assembler import Assembler, Readings
from weaklink.inspector.segmenter.events import ParseEvent, SpanClosed
from weaklink.inspector.segmenter.machine import feeder
from weaklink.inspector.text import Range

_NO_TOOLS = OfferedTools()
AUTO = "auto"
"""The format name for detection from the text."""


class Segmentation(msgspec.Struct, frozen=True):
    """The parsed text of one part. The spans tile the text; diagnostics are in the order of their locations.

    `definitions` are the tools that the text itself defines, as a system prompt does. `decoded` maps the index of a
    span to its decoded inner text, if the inner text is a string in an API's JSON.
    """

    text: str
    format: str
    spans: tuple[Span, ...]
    calls: tuple[ToolCall, ...]
    results: tuple[ToolResult, ...]
    definitions: tuple[ToolDefinition, ...]
    diagnostics: tuple[Diagnostic, ...]
    decoded: Mapping[int, str] = {}

    def _repr_html_(self) -> str | None:
        """The spans with their faults, for notebooks."""
        return html_of(self)

    @property
    def content(self) -> str:
        """The inner texts of the text spans, decoded, concatenated and not stripped."""
        return self._joined(SpanKind.TEXT)

    @property
    def reasoning(self) -> str:
        """The inner texts of the reasoning spans, decoded, concatenated and not stripped."""
        return self._joined(SpanKind.REASONING)

    def _joined(self, kind: SpanKind) -> str:
        decoded = self.decoded
        if not decoded:
            return "".join(span.inner.of(self.text) for span in self.spans if span.kind is kind)
        spans = ((at, span) for at, span in enumerate(self.spans) if span.kind is kind)
        return "".join(decoded.get(at, span.inner.of(self.text)) for at, span in spans)


class Segmenter:
    """Parses one part as it arrives.

    `format` is a format's name, not "auto": detection needs the whole text. `prompt` is the text before this one (its
    last lines are enough): a span that it left open continues in this text. `tools` are the tools offered with the
    request; if there are none, calls are checked against the tools that the text itself defines before them. `turn`
    and `part` are the location in the diagnostics. Raises UnknownFormatError.
    """

    def __init__(
        self,
        format: str | Format,
        *,
        prompt: str = "",
        tools: Iterable[ToolDefinition] | OfferedTools = (),
        role: Role = Role.ASSISTANT,
        turn: int = 1,
        part: str = "text",
    ) -> None:
        self.format = find_format(format) if isinstance(format, str) else format
        self._turn, self._part = turn, part
        self._prompt, self._role = prompt, role
        self._parser = self.format.new_parser(prompt, role)
        markers = markers_of(self.format)
        self._assembler = Assembler(
            self.format.readers,
            calls_only=self.format.calls_only,
            wrappers=markers.wrappers,
            on_own_lines=markers.on_own_lines,
        )
        self._taken = (0, 0)
        self._has_ended = False
        self._fed: list[str] = []
        self._held: list[Fault] = []
        self._checked = _CheckedAssembler(self._assembler, tools, self.format if role is Role.ASSISTANT else None)
        self.feed: Callable[[str], list[Span]] = feeder(self._parser, self._checked.add, self._fed)
        """`feed(text)` returns the top-level spans that this piece closed; pieces may end anywhere. Never raises."""

    def close(self) -> list[Span]:
        """The spans that the end of the text closes. Do not call `feed` afterwards."""
        spans = self._checked.add(self._parser.close(), at_end=True)
        self._checked.end()
        self._assembler.end()
        self._has_ended = True
        return spans

    @property
    def open_span(self) -> Span | None:
        """The span that is open now, up to the last position certain to belong to it; None between spans."""
        return self._assembler.open_span(self._parser.certain_to)

    def take(self) -> tuple[list[ToolCall], list[Diagnostic]]:
        """The calls and diagnostics that became certain since the last `take`; none of them is withdrawn later.

        A diagnostic is held back while the text after it may still change it: that of a marker until its span closes,
        those that are counted when they follow one another (`ONCE_A_RUN`) until the end of the text. Their fixes have
        not been tried yet.
        """
        calls, taken = self._taken
        assembler = self._assembler
        faults = assembler.faults
        certain = taken
        while certain < len(faults) and (self._has_ended or assembler.is_certain(faults[certain])):
            certain += 1
        self._taken = len(assembler.calls), certain
        new = faults[taken:certain]
        told = [fault for fault in new if fault.rule not in ONCE_A_RUN]
        self._held += (fault for fault in new if fault.rule in ONCE_A_RUN)
        if self._has_ended and (told or self._held or self._fed):
            text = "".join(self._fed)
            told = with_runs_once(text, assembler.spans, self._without_quoted((*told, *self._held), text))
            self._held, self._fed = [], []
        return assembler.calls[calls:], [fault.at(self._turn, self._part) for fault in told]

    def segmentation(self, text: str) -> Segmentation:
        """Everything so far as one value; `text` is all that was fed: fixes are tried on it before they are safe."""
        assembler = self._assembler
        faults = self._without_quoted(assembler.faults, text)
        has_calls = bool(assembler.calls)
        read = partial(_read_repaired, own=self.format, prompt=self._prompt, role=self._role)
        before = None if self._checked.has_tools else self.result
        markers = markers_of(self.format).all
        tried = with_tried_fixes(text, faults, read, has_calls=has_calls, before=before, markers=markers)
        if self._role is Role.ASSISTANT:
            tried += repeated_calls(text, assembler.spans, assembler.calls)
        return Segmentation(
            text,
            self.format.name,
            tuple(assembler.spans),
            tuple(assembler.calls),
            tuple(assembler.results),
            tuple(assembler.definitions),
            tuple(fault.at(self._turn, self._part) for fault in with_runs_once(text, assembler.spans, tried)),
            assembler.decoded,
        )

    def _without_quoted(self, faults: Sequence[Fault], text: str) -> Sequence[Fault]:
        """The faults without those of calls that the answer only quotes from the prompt."""
        if not self._prompt or all(fault.call is None for fault in faults):
            return faults
        return [fault for fault in faults if not _is_quoted_from(self._prompt, fault, text)]

    def reuse(self, readings: Readings) -> None:
        """Use an earlier parse's readings of the same text's spans, instead of reading the spans again."""
        self._assembler.readings = readings

    @property
    def result(self) -> TrialResult:
        """The faults so far, whose fixes have not been tried, and the calls."""
        return TrialResult(self._assembler.faults, self._assembler.calls)


class _CheckedAssembler:
    """An assembler whose calls and definitions are checked as soon as they are known.

    `written_in` is the format of the model that wrote the text; None if no model wrote it.

    Separate from the Segmenter, so that no reference cycle keeps a text alive after its reader is gone.
    """

    def __init__(
        self, assembler: Assembler, tools: Iterable[ToolDefinition] | OfferedTools, written_in: Format | None
    ) -> None:
        self._assembler = assembler
        self._search = call_search(written_in) if written_in is not None else None
        self._attempts: list[Fault] = []
        self._attempts_in_replies: list[Fault] = []
        self._own_tools = written_in.builtin_tools if written_in is not None else frozenset()
        self._wrappers = Wrappers(written_in) if written_in is not None and markers_of(written_in).wrappers else None
        self._requested = _offered(tools)
        self._defined = _NO_TOOLS
        self._checked = (0, 0)
        self._cuts_from = 0
        self._literals: list[Literal] = []

    @property
    def has_tools(self) -> bool:
        """Whether calls are checked against tools that the request offers, and not only those that the text defines."""
        return bool(self._requested)

    def add(self, events: list[ParseEvent], *, at_end: bool = False) -> list[Span]:
        """Add events; returns the spans that they closed. `at_end` marks the last events of the stream."""
        spans = self._assembler.add(events)
        if spans and self._search is not None:
            for event in events:
                if type(event) is SpanClosed and event.by_model:
                    beside = list(self._wrappers.faults(event)) if self._wrappers is not None else []
                    self._look_through(event, self._search, beside, at_end=at_end and event is events[-1])
            while self._assembler.prose:
                self._look_through(self._assembler.prose.pop(0), self._search, [], at_end=False)
        if spans and (self._requested or self._assembler.definitions):
            self._check()
        return spans

    def end(self) -> None:
        """Report the faults that only the end of the text shows."""
        if self._search is not None:
            self._look_through_literals(self._search, len(self._assembler.spans))
        if self._attempts:
            self._assembler.faults += _without_echoes(self._attempts, self._assembler.calls)
            self._assembler.faults += self._delivered_twice()
            self._attempts, self._attempts_in_replies = [], []
        if self._wrappers is not None:
            self._assembler.faults += self._wrappers.end()
            self._assembler.faults[:] = self._wrappers.with_wrapper_closed(self._assembler.faults)

    def _look_through(self, event: SpanClosed, search: CallSearch, beside: list[Fault], *, at_end: bool) -> None:
        """Search a span for calls that the format does not parse; `beside` are other faults that may be about them.

        Texts in JSON strings are collected first.
        """
        span, text = event.span, event.inner_text
        kind, start = span.kind, span.inner.start
        if kind is not SpanKind.TEXT or event.decoded is not None:
            self._keep(beside)
        if kind is SpanKind.TEXT and event.decoded is not None:
            self._literals += event.decoded.literals
        elif kind is SpanKind.TEXT:
            self._keep(search.in_text(text, start, self._offered_before(start), beside, at_end=at_end))
        elif kind is SpanKind.REASONING and event.decoded is None:
            drafts = [child.range for child in self._children(event) if child.kind is SpanKind.TOOL_CALL]
            self._keep(search.in_reasoning(text, start, self._offered_before(start), drafts))
        elif kind is not SpanKind.MARKUP:
            self._look_through_literals(search, start)

    def _keep(self, faults: Iterable[Fault]) -> None:
        """Store faults; those of calls are held until the end shows whether the model made the same call properly."""
        for fault in faults:
            (self._assembler.faults if fault.call is None else self._attempts).append(fault)

    def _children(self, event: SpanClosed) -> tuple[Span, ...]:
        """The child spans of a span that has closed."""
        index = bisect_left(self._assembler.spans, event.span.range, key=_range)
        return self._assembler.spans[index].children if index < len(self._assembler.spans) else ()

    def _look_through_literals(self, search: CallSearch, start: int) -> None:
        """Search the collected strings as one text: a stream splits a call into many strings."""
        literals, self._literals = self._literals, []
        if literals:
            decoded = Decoded(literals)
            attempts = search.in_literals(decoded.text, self._offered_before(start))
            faults = [raw_fault(fault, decoded) for fault in attempts]
            self._attempts_in_replies += (fault for fault in faults if fault.call is not None and fault.call.is_step)
            self._keep(faults)

    def _delivered_twice(self) -> Iterator[Fault]:
        """The faults of calls that the content of an API's reply has as text, although the reply has them as calls."""
        spans = self._assembler.spans
        for fault in self._attempts_in_replies:
            attempt = fault.call
            assert attempt is not None
            at = bisect_left(spans, attempt.range.end, key=_end)
            for call in self._assembler.calls:
                between = spans[min(at, call.span) + 1 : max(at, call.span)]
                is_same = call.name == attempt.name and arguments_key(call.arguments) == arguments_key(
                    attempt.arguments
                )
                if is_same and all(span.kind is SpanKind.MARKUP for span in between):
                    message = f"The reply has the call of `{call.name}` twice: here and in its calls."
                    yield Fault(CALL_DELIVERED_TWICE, attempt.range, message)
                    break

    def _offered_before(self, start: int) -> OfferedTools:
        return self._requested or self._defined_before(start)

    def _check(self) -> None:
        """Check the new definitions and calls, each call against the tools that were offered before it."""
        assembler, (defined, called) = self._assembler, self._checked
        cuts = places_of_cuts(assembler.faults[self._cuts_from :])
        for tool in assembler.definitions[defined:]:
            assembler.faults += check_definition(tool)
        checked: list[ToolCall] = []
        for call in assembler.calls[called:]:
            checked += self._check_call(call, cuts)
        assembler.calls[called:] = checked
        self._checked = len(assembler.definitions), len(assembler.calls)
        self._cuts_from = len(assembler.faults)

    def _check_call(self, call: ToolCall, cuts: Sequence[Range]) -> list[ToolCall]:
        """Check a call. Returns it with typed arguments, or the calls of offered tools in the code that it runs."""
        offered = self._offered_before(call.range.start)
        runs_code = call.name is not None and call.name in self._own_tools and offered.find(call.name) is None
        if self._search is not None and runs_code:
            calls, faults = self._search.in_code(call, offered)
            if calls:
                self._assembler.faults += faults
                for made in calls:
                    self._assembler.faults += check_arguments(made, offered, self._own_tools)
                return calls
        if self._search is not None and call.name is None and (others := self._read_otherwise(call, offered)):
            return others
        read = accepted_array(call, offered) or call
        if read is not call:
            self._assembler.faults[:] = without_fault_of_array(self._assembler.faults, call)
        if call.parameters:
            read, typing_faults = typed_by(call, offered)
            self._assembler.faults += typing_faults
        wrong = check_arguments(read, offered, self._own_tools)
        self._assembler.faults += without_unfinished(wrong, call, cuts) if self._is_cut(call, cuts) else wrong
        return [read]

    def _read_otherwise(self, call: ToolCall, offered: OfferedTools) -> list[ToolCall]:
        """The calls of another shape in a payload that could not be parsed; their faults replace the payload's own."""
        assert self._search is not None, "the caller looks"
        calls, faults = self._search.in_payload(call, offered)
        if calls:
            known = self._assembler.faults
            known[:] = [fault for fault in known if fault.rule.code[0] != "J" or not call.range.covers(fault.range)]
            known += faults
            for made in calls:
                known += check_arguments(made, offered, self._own_tools)
        return calls

    def _is_cut(self, call: ToolCall, cuts: Sequence[Range]) -> bool:
        """Whether the text ends within a call; false if a closing marker shows that the model finished it.

        `cuts` are the ranges where payloads end too early. Parameters in tags may continue until the call is closed.
        """
        span = self._assembler.spans[call.span]
        if not span.closed and (call.parameters or not call.raw_arguments):
            return True
        if not call.valid and not call.raw_arguments:
            return True  # another fault reports that the arguments are missing
        is_open = call.decoded is not None or span.inner.end == span.range.end
        return is_open and not call.valid and any(cut.end > call.range.start for cut in cuts)

    def _defined_before(self, start: int) -> OfferedTools:
        definitions = self._assembler.definitions
        if not definitions:
            return self._defined
        count = bisect_left(definitions, start, key=_start)
        if count != len(self._defined.definitions):
            self._defined = OfferedTools(definitions[:count], is_whole=not self._has_unread_definitions())
        return self._defined

    def _has_unread_definitions(self) -> bool:
        """Whether a list of tools has faults, so that it may have named more than were read."""
        lists = [span.range for span in self._assembler.spans if span.kind is SpanKind.TOOL_DEFINITIONS]
        errors = [fault.range for fault in self._assembler.faults if fault.rule.severity is Severity.ERROR]
        return any(written.covers(error) for written in lists for error in errors)


def segment(
    text: str,
    format: str = AUTO,
    *,
    prompt: str = "",
    tools: Iterable[ToolDefinition] = (),
    model: str = "",
    role: Role = Role.ASSISTANT,
) -> Segmentation:
    """Parse one raw text (a completion, or a whole transcript) into spans, calls and diagnostics.

    `prompt` is the text before it. `tools` are the tools offered with the request. Raises UnknownFormatError; the
    content of the text never raises.
    """
    chosen = detect_format(text[:SAMPLE_CHARS], model).format if format == AUTO else find_format(format)
    return segment_whole(text, chosen, prompt=prompt, tools=tools, role=role)


def segment_whole(
    text: str,
    own: Format,
    *,
    prompt: str = "",
    tools: Iterable[ToolDefinition] | OfferedTools = (),
    role: Role = Role.ASSISTANT,
    turn: int = 1,
    part: str = "text",
) -> Segmentation:
    """The result of a Segmenter with these arguments for a whole text; much cheaper for most texts without faults."""
    offered, readings = _offered(tools), Readings()
    parsed = whole_texts(own, role).read(text, offered, readings) if not prompt else None
    if parsed is not None:
        faults = _reported(text, parsed, own, role)
        diagnostics = tuple([fault.at(turn, part) for fault in faults]) if faults else ()
        return Segmentation(
            text,
            own.name,
            tuple(parsed.spans),
            tuple(parsed.calls),
            tuple(parsed.results),
            tuple(parsed.definitions),
            diagnostics,
        )
    segmenter = Segmenter(own, prompt=prompt, tools=offered, role=role, turn=turn, part=part)
    segmenter.reuse(readings)
    segmenter.feed(text)
    segmenter.close()
    return segmenter.segmentation(text)


def _reported(text: str, parsed: WholeText, own: Format, role: Role) -> Sequence[Fault]:
    """The faults of a text that the fast lane parsed, as `Segmenter.segmentation` returns them."""
    is_loop = role is Role.ASSISTANT and len(parsed.calls) >= FEWEST_IN_TURN
    if not (parsed.faults or is_loop or may_have_runs(text)):
        return ()
    attempts = [fault for fault in parsed.faults if fault.call is not None]
    faults = [fault for fault in parsed.faults if fault.call is None]
    if attempts:
        faults += _without_echoes(attempts, parsed.calls)
    read = partial(_read_repaired, own=own, prompt="", role=role)
    tried = with_tried_fixes(text, faults, read, has_calls=bool(parsed.calls), markers=markers_of(own).all)
    if is_loop:
        tried += repeated_calls(text, parsed.spans, parsed.calls)
    return with_runs_once(text, parsed.spans, tried)


def _read_repaired(text: str, own: Format, prompt: str, role: Role) -> TrialResult:
    """The parse of a repaired text with the same options, but without tools: their faults are reported once."""
    readings = Readings()
    parsed = whole_texts(own, role).read(text, _NO_TOOLS, readings) if not prompt else None
    if parsed is not None and not parsed.faults:
        return TrialResult((), parsed.calls)
    segmenter = Segmenter(own, prompt=prompt, role=role)
    segmenter.reuse(readings)
    segmenter.feed(text)
    segmenter.close()
    return segmenter.result


def _offered(tools: Iterable[ToolDefinition] | OfferedTools) -> OfferedTools:
    if isinstance(tools, OfferedTools):
        return tools
    return OfferedTools(tools) if tools else _NO_TOOLS


def _without_echoes(faults: Iterable[Fault], calls: Sequence[ToolCall]) -> Iterator[Fault]:
    """The faults of attempted calls, except those of calls that the model also made properly (in `calls`).

    A call drafted in reasoning is an echo of any call of the same tool.
    """
    if not calls:
        yield from faults
        return
    names = {call.name for call in calls}
    keys = {(call.name, arguments_key(call.arguments)) for call in calls}
    for fault in faults:
        call = fault.call
        is_echo = call is not None and (
            (call.name, arguments_key(call.arguments)) in keys if call.is_step else call.name in names
        )
        if not is_echo:
            yield fault


def _is_quoted_from(prompt: str, fault: Fault, text: str) -> bool:
    """Whether a fault is about a call that a sentence of the answer only quotes from the prompt."""
    call = fault.call
    return call is not None and is_in_sentence(call.range, text) and call.range.of(text) in prompt


def _end(span: Span) -> int:
    return span.range.end


def _range(span: Span) -> Range:
    return span.range


def _start(tool: ToolDefinition) -> int:
    return tool.range.start if tool.range is not None else 0
