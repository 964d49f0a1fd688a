"""Calls whose header has the tool's name, and maybe an id, before the JSON of the arguments; single or in a section.

Theory of operation. The segmenter ends a call's span at its markers, so the inner text is the header and the payload.
`NamedCallReader` matches the header with the dialect's pattern, at the beginning, and reads the rest as JSON. With the
markers `<function=` and `</function>` and the header `NAME>` of Llama 3:

    f>{"a": 1}            the strict header: name `f`, and an object
    f{"a": 1}             a loose header, accepted with a fault that says what it lacks
    f>f>{"a": 1}          the header twice: the second is a slip, cut out before the text is read
    f>                    no arguments: `{}` is missing if the span is closed; otherwise the stream was cut
    f>{"a": 1}{"a": 2}    several objects: a call for each, the second without a header of its own

A `Section` is a pair of tokens around several such calls, each between a pair of its own; `section_format` makes a
whole format of both.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Unpack

from msgspec import Struct, structs

from weaklink.inspector.diagnostics import Edit, Fault, Fix
from weaklink.inspector.formats.chat_turns import markup_state
from weaklink.inspector.formats.dialect import (
    DialectParts,
    Transitions,
    call_state,
    closing,
    dialect_format,
    inside,
    opening,
)
from weaklink.inspector.formats.edited_text import Slip, doubled_markers, read_with_slips
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.json.call_shape import (
    decoded_arguments,
    has_arguments,
    is_json_call,
    json_of,
    not_an_object,
    without_invention,
)
from weaklink.inspector.formats.json.calls import strict_object
from weaklink.inspector.formats.span_readers import ReasoningReader, empty_call, nameless_call
from weaklink.inspector.json_scanner import JsonKind, JsonNode, JsonResult, is_strict, read_json
from weaklink.inspector.json_scanner.messages import FaultMessage, trailing_text
from weaklink.inspector.model import Json, ToolCall
from weaklink.inspector.rules import json_syntax as rules
from weaklink.inspector.rules.markers import MALFORMED_HEADER, STRAY_END_MARKER
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.segmenter.events import JSON, ParseResult, SpanClosed
from weaklink.inspector.segmenter.table import SECTION, MarkerSplit, State, Transition
from weaklink.inspector.text import Range, shown

_SPACE = " \t\n\r"
_FENCE = "```"


class LooseHeader(Struct, frozen=True):
    """A header that can be read although it is not the dialect's own.

    `reason` ends the sentence of its fault; it is "" if the marker layer already reported that fault.
    """

    pattern: re.Pattern[str]
    reason: str


class NamedCallReader(Struct, frozen=True):
    """A SpanReader for call spans whose inner text is a header and the arguments.

    `header` must match at the beginning; its group `name` is the tool's name, its group `id`, if it has one, the call's
    id. `loose` are headers that are accepted with a fault. `expected` describes the header in words. A header with a
    code fence requires one after the arguments, too. `code` are the tools whose arguments are raw code unless they are
    a JSON object; if `code_header` matches the whole header, any tool's arguments that do not begin like JSON are code.
    """

    header: re.Pattern[str]
    expected: str
    loose: tuple[LooseHeader, ...] = ()
    code: frozenset[str] = frozenset()
    code_header: re.Pattern[str] | None = None

    def __call__(self, closed: SpanClosed) -> ParseResult:
        """See SpanReader. A header, or a token of it, that appears twice in a row counts once."""
        return read_with_slips(closed, self._read, self._doubled)

    def _doubled(self, closed: SpanClosed) -> Slip | None:
        text = closed.inner_text
        header = self.header.match(text)
        if header is None or not text.startswith(header[0], header.end()):
            return doubled_markers(text, MALFORMED_HEADER, end=text.find("{"))
        again = Range(header.end(), header.end() + len(header[0]))
        message = f"The header {shown(header[0].strip())} appears twice."
        return Slip(MALFORMED_HEADER, message, "Write it once.", (Edit(again, ""),), is_safe=True)

    def _read(self, closed: SpanClosed) -> ParseResult:
        text, start = closed.inner_text, closed.span.inner.start
        strict = self.header.match(text)
        header, faults = (strict, ()) if strict is not None else self._loosely(text)
        is_cut = header is not None and header.end("name") == len(text.rstrip()) and not _is_closed(closed)
        if header is None or (header is not strict and is_cut):  # the whole name may be longer
            return self._nameless(closed)
        arguments_range = Range(header.end(), len(text)).stripped(text, _SPACE)
        if _FENCE in header[0]:
            arguments_range, unfenced = _within_fence(closed, arguments_range)
            faults = (*faults, *unfenced)
        calls, payload_faults = self._calls(closed, header, arguments_range)
        complete = not any(fault.rule is rules.TRUNCATED_JSON for fault in payload_faults)
        payload_faults = [fault.moved(start) for fault in (*faults, *payload_faults)]
        return ParseResult(calls=calls, faults=tuple(payload_faults), complete=complete)

    def _loosely(self, text: str) -> tuple[re.Match[str] | None, tuple[Fault, ...]]:
        for loose in self.loose:
            header = loose.pattern.match(text)
            if header is not None and not loose.reason:
                return header, ()
            if header is not None:
                name_range = Range(*header.span("name"))
                message = f"The header of this call does not match the format: {loose.reason}."
                hint = f"Write {self.expected}."
                return header, (Fault(MALFORMED_HEADER, name_range, message, hint),)
        return None, ()

    def _nameless(self, closed: SpanClosed) -> ParseResult:
        """Read a span with an unreadable header: all of it is one call without a name."""
        if not closed.inner_text.strip():
            return empty_call(closed, self.expected)
        call = nameless_call(closed.inner_text).moved(closed.span.inner.start)
        if _is_closed(closed):
            fault = Fault(rules.NOT_A_CALL, call.range, f"The call has no tool name: expected {self.expected}.")
        else:
            message = f"The call ends within its header: expected {self.expected}."
            fault = Fault(rules.TRUNCATED_JSON, call.range, message)
        return ParseResult(calls=(call,), faults=(fault,))

    def _calls(
        self, closed: SpanClosed, header: re.Match[str], arguments_range: Range
    ) -> tuple[tuple[ToolCall, ...], list[Fault]]:
        """The calls of a span with this header, whose arguments are at `arguments_range` of its inner text."""
        raw = arguments_range.of(closed.inner_text)
        name, end = Range(*header.span("name")), Range(header.end(), header.end())
        if not raw and not _is_closed(closed):
            message = "The stream ends before the arguments: expected a JSON object."
            return (named_call(closed, header, end, "", valid=False),), [Fault(rules.TRUNCATED_JSON, name, message)]
        if not raw:
            message = "No arguments: expected a JSON object, empty for a tool without parameters."
            fault = Fault(rules.MISSING_VALUE, name, message, "Write `{}`.", Fix((Edit(end, "{}"),), safe=True))
            return (named_call(closed, header, end, {}, valid=False, recovered=True),), [fault]
        value: Json = strict_object(raw)
        is_code_header = self.code_header is not None and self.code_header.fullmatch(header[0]) is not None
        if value is None and (header["name"] in self.code or (is_code_header and raw[0] not in "{[")):
            value = raw
        if value is not None:
            return (named_call(closed, header, arguments_range, value, valid=True),), []
        return read_json_arguments(closed, header, arguments_range)


def _is_closed(closed: SpanClosed) -> bool:
    """Whether a closing marker is at the span's end: then what is missing within was left out, not cut off."""
    return closed.span.range.end > closed.span.inner.end


def _within_fence(closed: SpanClosed, payload_range: Range) -> tuple[Range, tuple[Fault, ...]]:
    """The arguments without the fence that ends them; with a fault if the fence is missing, but not cut off."""
    text = closed.inner_text
    if payload_range.of(text).endswith(_FENCE):
        return Range(payload_range.start, payload_range.end - len(_FENCE)).stripped(text, _SPACE), ()
    position = text.rfind(f"\n{_FENCE}\n", payload_range.start, payload_range.end)
    if position >= 0:
        words = Range(position + len(_FENCE) + 2, payload_range.end)
        return Range(payload_range.start, position).stripped(text, _SPACE), (trailing_text(text, words.stripped(text)),)
    if not payload_range or not _is_closed(closed):
        return payload_range, ()
    message = "The code fence around the arguments is not closed: expected three backticks after them."
    fix = Fix((Edit(Range(payload_range.end, payload_range.end), f"\n{_FENCE}"),), safe=True)
    return payload_range, (
        Fault(MALFORMED_HEADER, Range(payload_range.end - 1, payload_range.end), message, "Close it.", fix),
    )


def read_json_arguments(
    closed: SpanClosed, header: re.Match[str], arguments_range: Range
) -> tuple[tuple[ToolCall, ...], list[Fault]]:
    """The calls of a span's header with the JSON at a range of its inner text: one call per object, at least one.

    `header` is the match with the groups `name` and, if the dialect has ids, `id`. Ranges of faults are in the inner
    text, ranges of calls in the whole text.
    """
    reading = read_json(closed.inner_text[: arguments_range.end], arguments_range)
    faults = list(reading.faults)
    objects = [node for node in reading.nodes if node.kind is JsonKind.OBJECT]
    if len(objects) > 1:
        faults += (_second_object(closed.inner_text, second.range) for second in objects[1:])
        return tuple(
            _one_of_several(closed, header, node, reading, is_first=node is objects[0]) for node in objects
        ), faults
    if objects and not has_arguments(objects[0], closed.inner_text):
        remaining = [without_invention(fault, objects[0]) for fault in faults]
        return (
            named_call(closed, header, arguments_range, arguments_range.of(closed.inner_text), valid=False),
        ), remaining
    if objects:
        value = objects[0].value() if reading.strict or reading.repairable else arguments_range.of(closed.inner_text)
        recovered = reading.repairable and not reading.strict
        return (named_call(closed, header, arguments_range, value, valid=reading.strict, recovered=recovered),), faults
    first = reading.nodes[0] if reading.nodes else None
    decoded, as_string = decoded_arguments(first, "The arguments are") if first and reading.strict else (None, None)
    if as_string is not None:
        return (named_call(closed, header, arguments_range, decoded, valid=False, recovered=True),), [
            *faults,
            as_string,
        ]
    if not any(fault.rule.severity is Severity.ERROR for fault in faults):
        faults.append(not_an_object(first or JsonNode(JsonKind.OTHER, arguments_range), arguments_range))
    return (named_call(closed, header, arguments_range, arguments_range.of(closed.inner_text), valid=False),), faults


def named_call(
    closed: SpanClosed,
    header: re.Match[str],
    arguments_range: Range,
    value: Json,
    *,
    valid: bool,
    recovered: bool = False,
) -> ToolCall:
    """The call of this header, with its arguments `value` at `arguments_range` of the span's inner text."""
    start = closed.span.inner.start
    name = Range(*header.span("name"))
    return ToolCall(
        header["name"],
        value,
        arguments_range.of(closed.inner_text),
        valid=valid,
        range=Range(name.start + start, max(name.end, arguments_range.end) + start),
        id=header["id"] if "id" in header.re.groupindex else None,
        recovered=recovered,
        name_range=name.moved(start),
        arguments_range=arguments_range.moved(start) if arguments_range else None,
    )


def _one_of_several(
    closed: SpanClosed, header: re.Match[str], node: JsonNode, reading: JsonResult, *, is_first: bool
) -> ToolCall:
    """The call of one object among several; it is valid if the object is strict by itself."""
    broken = [f for f in reading.faults if f.rule.severity is Severity.ERROR and node.range.covers(f.range)]
    valid = reading.strict or is_strict(closed.inner_text, node.range)
    readable = all(fault.fix is not None for fault in broken)
    value = node.value() if valid or readable else node.range.of(closed.inner_text)
    call = named_call(closed, header, node.range, value, valid=valid, recovered=readable and not valid)
    if is_first:
        return call
    call_range = node.range.moved(closed.span.inner.start)
    return structs.replace(call, range=call_range, id=None, name_range=None)


_second_object = FaultMessage(
    rules.SEVERAL_OBJECTS_IN_ONE_CALL,
    "A second object appears after the arguments; servers read only the first, or none.",
    "Give each call a separate header.",
)


class Section(Struct, frozen=True):
    """The tokens around a section of calls, in all spellings, its parsers' first, and those around each call.

    The section's tokens, and the white space between its calls, are markup: each call is a separate span.
    """

    openers: tuple[str, ...]
    closers: tuple[str, ...]
    call_opener: str
    call_closer: str

    @property
    def calls(self) -> tuple[Transition, ...]:
        """The transitions out of a text into the section and its calls, and for a token that ends no section."""
        ends = (Transition(closer, MarkerSplit.BEFORE, "marker", STRAY_END_MARKER) for closer in self.closers)
        expects = f"`{self.openers[0]}` before the call"
        alone = Transition(self.call_opener, MarkerSplit.BEFORE, "call", MALFORMED_HEADER, expects=expects)
        other = (
            Transition(opener, MarkerSplit.BEFORE, "section", MALFORMED_HEADER, expects=f"`{self.openers[0]}`")
            for opener in self.openers[1:]
        )
        return (opening(self.openers[0], "section"), *other, alone, *ends)

    @property
    def tails(self) -> dict[str, str]:
        """The state after a prompt that ends with the section's opener."""
        return dict.fromkeys(self.openers, "section")

    def states(self, transitions: Transitions) -> Iterator[State]:
        """The states of the section: between calls, in a call's header, in its arguments."""
        call = opening(self.call_opener, "call")
        ends = (closing(closer, "text") for closer in self.closers)
        section = markup_state("section", SECTION, "text", r"\S", (*ends, call, *transitions.turns))
        yield structs.replace(section, opener=self.openers[0])
        yield markup_state("section end", SECTION, "text")
        own_markers = {*self.openers, *self.closers, self.call_opener}
        leaving = (
            closing(self.call_closer, "section"),
            call,
            *(opening(marker, "section") for marker in self.openers),
            *(opening(marker, "section end") for marker in self.closers),
            *(transition for transition in transitions.out_of_call if transition.marker not in own_markers),
        )
        into_arguments = inside("{", "arguments", width=0)
        yield call_state("call", (into_arguments, *leaving), self.call_opener, self.call_closer)
        yield call_state("arguments", leaving, self.call_opener, self.call_closer, payload=JSON)


def section_format(
    section: Section,
    reader: NamedCallReader,
    *,
    call: str,
    around: str = "",
    between: str = "",
    invented: tuple[Transition, ...] = (),
    states: Callable[[Transitions], Iterator[State]] | None = None,
    closers: tuple[str, ...] = (),
    has_common_turns: bool = True,
    **parts: Unpack[DialectParts],
) -> Format:
    """A Format of calls in a section.

    `call` is the text of a call between its markers, with the fields `name`, `arguments` and `id`; `around` is the text
    after the section's opener and before its closer, `between` that between two calls. `invented` are transitions into
    results in the model's turn, `states` builds the states of results and of the section, `closers` end results. The
    other `parts` are as in `dialect_format`.
    """
    has_ids = parts.get("ids", False)

    def written(tool_call: ToolCall) -> str:
        return call.format(name=tool_call.name, arguments=json_of(tool_call.arguments), id=tool_call.id or "")

    def write_calls(calls: Sequence[ToolCall]) -> str:
        texts = (f"{section.call_opener}{written(tool_call)}{section.call_closer}" for tool_call in calls)
        return f"{section.openers[0]}{around}{between.join(texts)}{around}{section.closers[0]}" if calls else ""

    def expresses(tool_call: ToolCall) -> bool:
        # The markers within arguments are told by the braces around them, the first of which must not be the name's.
        is_plain = is_json_call(tool_call) and "{" not in (tool_call.name or "")
        header = reader.header.match(written(tool_call)) if is_plain else None
        return (
            header is not None
            and header["name"] == tool_call.name
            and tool_call.id == (header["id"] if has_ids else None)
        )

    parts["tails"] = section.tails
    return dialect_format(
        reader,
        ReasoningReader((section.call_opener,), (section.call_closer,)),
        calls=(*section.calls, *invented),
        call_states=states or section.states,
        call_closers=(section.call_closer, *closers),
        has_common_turns=has_common_turns,
        write_calls=write_calls,
        expresses=expresses,
        **parts,
    )
