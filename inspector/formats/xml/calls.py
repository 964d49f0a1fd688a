"""Reads a call whose parameters are in tags, also JSON in their place, with a fast path for regular calls.

Values are texts until the tool's schema types them, unless the wire itself has types. An irregular call is read as far
as it is certain, and flagged at the tag that shows the fault.

The enclosing tag names the tool, so JSON in it is the object of arguments, or whole calls as other families write them.
"""

from bisect import bisect_left
from collections.abc import Callable
from itertools import pairwise
from typing import TypeVar

import msgspec
from msgspec import Struct

from weaklink.inspector.diagnostics import Edit, Fault
from weaklink.inspector.formats.edited_text import Slip, read_edited, read_with_slips
from weaklink.inspector.formats.json.call_shape import NATIVE_KEYS, shape_of
from weaklink.inspector.formats.json.calls import JsonCallReader
from weaklink.inspector.formats.span_readers import empty_call, nameless_call
from weaklink.inspector.formats.xml import messages
from weaklink.inspector.formats.xml.syntax import BARE_NAME, EMPTY_ENDS, XmlSyntax
from weaklink.inspector.formats.xml.walk import XmlCallText, XmlFaultKind, XmlParameterText, XmlWalk, trimmed, walk
from weaklink.inspector.json_scanner import JsonKind, JsonNode, read_json
from weaklink.inspector.model import Json, Parameter, ToolCall
from weaklink.inspector.rules import json_syntax as rules
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.segmenter.events import ParseResult, SpanClosed
from weaklink.inspector.text import Range, shown

_CUT_TAG = lazy_pattern(r"<[\w/]{0,32}\s*")
_JSON_BODY = lazy_pattern(r"\s*(?:```\w*\s*)?[{\[]")
_BARE_NAME = lazy_pattern(BARE_NAME)
_BEGINS = lazy_pattern(r"(?:```\w*\s*)?[{\[]")
_Ranged = TypeVar("_Ranged", ToolCall, Fault)


class XmlCallReader(Struct, frozen=True):
    """A SpanReader for call spans of one syntax.

    `unescape` decodes the name in a tag, `decode` the text of a value. `nested` decodes the object or array that the
    tags within a value form; it returns None if the value is a text.
    """

    syntax: XmlSyntax
    unescape: Callable[[str], str] = str
    nested: Callable[[str], Json] | None = None
    decode: Callable[[str], str] = str

    def __call__(self, closed: SpanClosed) -> ParseResult:
        """See SpanReader."""
        return read_with_slips(closed, self._read_span, self._slip)

    def _slip(self, closed: SpanClosed) -> Slip | None:
        """The tags of a text that are not quite the format's; None if there are none."""
        slips = [(match, tag) for tag in self.syntax.slips for match in tag.pattern.finditer(closed.inner_text)]
        if not slips:
            return None
        slips.sort(key=lambda each: each[0].start(1))
        first, tag = slips[0]
        edits = tuple(Edit(Range(*match.span(1)), match.expand(tag.replacement)) for match, tag in slips)
        problem = tag.problem.format(tag=shown(first[0].strip()), part=shown(first[1].strip()))
        message = f"{problem}; expected `{self.syntax.shown_call}` and `{self.syntax.shown_parameter}`."
        return Slip(rules.MALFORMED_PARAMETERS, message, "Write the tags of this format.", edits)

    def _read_span(self, closed: SpanClosed) -> ParseResult:
        lead = self.syntax.lead
        if closed.inner_text.startswith('"') and closed.span.inner.start - closed.span.range.start < len(lead):
            lead = lead[:-1]  # the opener had no quote, which `read_slip` put there
        text = lead + closed.inner_text
        start = closed.span.inner.start - len(lead)
        if not closed.inner_text.strip():
            return empty_call(closed, "a tool's name and its parameters", rules.TRUNCATED_PARAMETERS)
        if _JSON_BODY.match(closed.inner_text):
            return self._json_body(closed)
        span, call = closed.span, None
        is_cut = bool(closed.wanted) and closed.ended_at is None
        if span.range.end - span.inner.end in map(len, EMPTY_ENDS):  # the fault of the marker says so
            name = closed.inner_text
            call = ToolCall(name, {}, "", valid=False, range=span.range, recovered=True, name_range=span.inner)
        elif not is_cut and self.decode is str:
            call = regular_call(text, self.syntax, self.unescape, start, span.range)
        if call is not None:
            return ParseResult(calls=(call,), complete=True)
        whole = self._read_completed(closed, text, start) if is_cut and self.nested is not None else None
        reading = whole or _moved(self._read(text, is_cut=is_cut), start, span.range)
        closer, begins, end = self.syntax.closer, self.syntax.parameter_begins, text.rstrip()
        beginnings = (closer[:size] for size in range(1, len(closer)) if not begins.startswith(closer[:size]))
        if is_cut and not self.syntax.call_end and not any(map(end.endswith, beginnings)):
            # Another parameter may have followed the last.
            *calls, last = reading.calls
            last = msgspec.structs.replace(last, valid=False, recovered=last.valid or last.recovered)
            reading = msgspec.structs.replace(reading, calls=(*calls, last), open_ended=True)
        return reading

    def _read_completed(self, closed: SpanClosed, text: str, start: int) -> ParseResult | None:
        """Read a call with nested tags that the stream's end cuts off, as if its open tags were closed there.

        None if its tags do not nest, or if it has other faults too.
        """
        opened = _open_tags(text, self.syntax)
        if opened is None:
            return None
        names, end = opened
        closers = "".join(f"{self.syntax.parameter_end}{name}>" for name in reversed(names))
        inner, last = closed.inner_text[: end + len(closed.inner_text) - len(text)], len(text.rstrip())
        whole = msgspec.structs.replace(closed, inner_text=inner, wanted="")
        reading = read_edited(whole, self._read_span, (Edit(Range(len(inner), len(inner)), closers),))
        if reading.faults or not reading.calls:
            return None
        call_range = Range(reading.calls[-1].range.start, last + start)
        calls = (*reading.calls[:-1], msgspec.structs.replace(reading.calls[-1], range=call_range))
        reading = msgspec.structs.replace(reading, calls=calls, complete=False)
        if names:
            return reading.recovered(messages.cut_value(names[-1], last, closers, f"`{closers}` is").moved(start))
        return reading.recovered(messages.cut_tag(text, Range(end, last)).moved(start)) if end < last else reading

    def _read(self, text: str, *, is_cut: bool) -> ParseResult:
        walked = walk(text, self.syntax)
        as_json = read_json_arguments(text, walked, self.syntax)
        if as_json is not None:
            return as_json
        is_named = _names_a_call(walked, text, self.syntax, is_cut=is_cut)
        if is_cut and walked.faults and walked.faults[0].kind is XmlFaultKind.CALL_TAG_NOT_CLOSED:
            # The text may end within the tag that follows the tool's name.
            is_named = is_named and not _CUT_TAG.fullmatch(text, walked.faults[0].range.end)
        if not is_named:
            fault = messages.unreadable(text, self.syntax, is_cut=is_cut)
            return ParseResult(calls=(nameless_call(text),), faults=(fault,))
        faults = [messages.fault_of(fault, text, self.syntax, walked, is_cut=is_cut) for fault in walked.faults]
        faults += (messages.second_call(first, second, text, self.syntax) for first, second in pairwise(walked.calls))
        if self.syntax.call is None and not walked.calls[0].name:
            faults.append(messages.nameless(text, walked.calls[0].parameters[0].tag, self.syntax.shown_call))
        if self.nested is None:
            faults += (messages.tag_in_value(text, tag_range) for tag_range in walked.data)
        errors = sorted(
            fault.range
            for fault in faults
            if fault.rule.severity is Severity.ERROR and fault.rule is not rules.SEVERAL_OBJECTS_IN_ONE_CALL
        )
        calls = tuple(self._call(text, call, faults, errors) for call in walked.calls)
        complete = not walked.open_value and not walked.open_call
        return ParseResult(calls=calls, faults=tuple(sorted(faults, key=lambda fault: fault.range)), complete=complete)

    def _call(self, text: str, call: XmlCallText, faults: list[Fault], errors: list[Range]) -> ToolCall:
        """The call; faults of its parameters are added to `faults`. `errors` are the ranges of the errors so far."""
        whole = Range(call.start, call.end)
        parameters: list[Parameter] = []
        arguments: dict[str, Json] = {}
        strict = bool(call.name) and not _holds_any(whole, errors)
        for parameter_text in call.parameters:
            parameter, value, wrong = self._parameter(text, parameter_text)
            if parameter.name in arguments:
                faults.append(messages.repeated(text, parameter_text.name_range, parameter.name))
            arguments[parameter.name] = value
            parameters.append(parameter)
            faults += wrong
            strict = strict and not any(fault.rule.severity is Severity.ERROR for fault in wrong)
        arguments_range = Range(call.parameters[0].tag.start, call.parameters_end) if call.parameters else None
        raw = arguments_range.of(text) if arguments_range is not None else ""
        return ToolCall(
            self.unescape(call.name) or None,
            arguments if call.name else raw or whole.of(text),
            raw if call.name or raw else whole.of(text),
            valid=strict,
            range=whole,
            recovered=bool(call.name) and not strict,
            name_range=call.name_range,
            arguments_range=arguments_range,
            parameters=tuple(parameters),
        )

    def _parameter(self, text: str, parameter_text: XmlParameterText) -> tuple[Parameter, Json, tuple[Fault, ...]]:
        value_range = parameter_text.value
        if self.syntax.own_lines:
            value_range = Range(*trimmed(text, value_range.start, value_range.end))
        written = value_range.of(text)
        inner = self.nested(written) if self.nested is not None else None
        if inner is not None:
            return Parameter(parameter_text.name, written, value_range, parameter_text.name_range), inner, ()
        if self.nested is not None and self.syntax.in_value.search(written) is not None:
            fault = messages.unmatched_tags(text, parameter_text.tag, parameter_text.name)
            return Parameter(parameter_text.name, written, value_range, parameter_text.name_range), written, (fault,)
        is_json = bool(parameter_text.kind) and parameter_text.kind != self.syntax.text_type
        parameter = Parameter(
            self.unescape(parameter_text.name),
            written,
            value_range,
            parameter_text.name_range,
            typed=bool(parameter_text.kind),
        )
        if not is_json:
            return parameter, self.decode(written), ()
        reading = read_json(written)
        if len(reading.nodes) != 1 or not (reading.strict or reading.repairable):
            no_value = Fault(
                rules.MALFORMED_JSON, parameter_text.tag, "The value is not the JSON that its tag declares."
            )
            wrong = reading.faults or (no_value.moved(-value_range.start),)
            return (
                parameter,
                written,
                tuple(_within(fault.moved(value_range.start), parameter_text.tag) for fault in wrong),
            )
        faults = tuple(_within(fault.moved(value_range.start), parameter_text.tag) for fault in reading.faults)
        return parameter, reading.nodes[0].value(), faults

    def _json_body(self, closed: SpanClosed) -> ParseResult:
        """Read a JSON object, as other families write calls, within this dialect's markers."""
        text = closed.inner_text
        position, named = closed.span.inner.start + len(text) - len(text.lstrip()), self.syntax.shown_call
        message = (
            f"The call is written as JSON; this format names the tool with `{named}` and writes each parameter in tags."
        )
        return JsonCallReader()(closed).recovered(
            Fault(rules.MALFORMED_PARAMETERS, Range(position, position + 1), message)
        )


def _open_tags(text: str, syntax: XmlSyntax) -> tuple[list[str], int] | None:
    """The names of the tags open at the end of a text, and the end of the text without a tag that is cut short there.

    None if the tags do not nest.
    """
    names: list[str] = []
    end = 0
    for tag in syntax.in_value.finditer(text):
        opener = syntax.parameter.whole.match(text, tag.start())
        closer = syntax.closes.whole.match(text, tag.start()) if opener is None else None
        if opener is not None:
            names.append(opener[1])
        elif closer is None or not names or names.pop() != closer[1]:
            return None
        end = tag.end()
    begins = min(syntax.parameter_begins, syntax.parameter_end, key=len)
    position = text.rfind(begins, end)
    if position >= 0:
        return names, position
    cut = next((n for n in range(len(begins) - 1, 0, -1) if text.endswith(begins[:n])), 0)
    return names, max(len(text) - cut, end)


def _holds_any(whole: Range, ranges: list[Range]) -> bool:
    """Whether one of the ranges, which are sorted, is within `whole`."""
    first, last = (bisect_left(ranges, Range(edge, 0)) for edge in (whole.start, whole.end + 1))
    return any(value_range.end <= whole.end for value_range in ranges[first:last])


def _names_a_call(walked: XmlWalk, text: str, syntax: XmlSyntax, *, is_cut: bool) -> bool:
    """Whether any part of a call was read: a tool's name that is certainly whole, or a parameter."""
    if any(call.parameters for call in walked.calls):
        return True
    if syntax.call is not None:
        return any(call.name for call in walked.calls)
    return bool(_BARE_NAME.fullmatch(walked.calls[0].name)) and ("\n" in text or not is_cut)


def _within(fault: Fault, tag: Range) -> Fault:
    """The fault at its range, or at the parameter's tag if its range is empty.

    Text after the value may be the next parameter behind a garbled tag, so nothing says to delete it.
    """
    if fault.rule is rules.TRAILING_DATA:
        return Fault(fault.rule, fault.range, fault.message)
    return fault if len(fault.range) else Fault(fault.rule, tag, fault.message, fault.hint)


def _moved(reading: ParseResult, distance: int, span: Range) -> ParseResult:
    """The reading with all ranges moved by `distance` code points and limited to the span."""
    moved = reading.moved(distance)

    def limited(ranged: _Ranged) -> _Ranged:
        return msgspec.structs.replace(ranged, range=Range(max(ranged.range.start, span.start), ranged.range.end))

    return msgspec.structs.replace(
        moved, calls=tuple(map(limited, moved.calls)), faults=tuple(map(limited, moved.faults))
    )


def read_json_arguments(text: str, walked: XmlWalk, syntax: XmlSyntax) -> ParseResult | None:
    """The calls of a tag that contains only JSON and no parameter; None if it contains anything else."""
    if len(walked.calls) != 1 or walked.calls[0].parameters or len(walked.faults) != 1:
        return None
    payload_range, is_text = walked.faults[0].range, walked.faults[0].kind is XmlFaultKind.STRAY_TEXT
    nodes = read_json(text, payload_range).nodes if is_text and _BEGINS.match(text, payload_range.start) else ()
    if not nodes:
        return None
    first = nodes[0]
    if first.kind is JsonKind.OBJECT and shape_of(first, NATIVE_KEYS, text).name is None:
        reading = _bare_arguments(text, payload_range, first, walked.calls[0])
    else:
        reading = JsonCallReader().read(payload_range.of(text), payload_range.start)
    if reading is None or not any(call.name for call in reading.calls):
        return None
    complete = reading.complete and not walked.open_call
    message = (
        f"The arguments are written as JSON; this format writes each parameter in a tag, `{syntax.shown_parameter}`."
    )
    fault = Fault(rules.MALFORMED_PARAMETERS, Range(payload_range.start, payload_range.start + 1), message)
    return msgspec.structs.replace(reading.recovered(fault), complete=complete)


def _bare_arguments(text: str, payload_range: Range, node: JsonNode, named: XmlCallText) -> ParseResult | None:
    """The call whose parameters are the members of one object."""
    reading = read_json(text, payload_range)
    if len(reading.nodes) != 1:
        return None
    readable = reading.strict or reading.repairable
    raw = node.range.of(text)
    call = ToolCall(
        named.name,
        node.value() if readable else raw,
        raw,
        valid=False,
        range=Range(named.start, named.end),
        recovered=readable,
        name_range=named.name_range,
        arguments_range=node.range,
    )
    complete = not any(fault.rule is rules.TRUNCATED_JSON for fault in reading.faults)
    return ParseResult(calls=(call,), faults=reading.faults, complete=complete)


def regular_call(
    text: str, syntax: XmlSyntax, unescape: Callable[[str], str], distance: int, span: Range
) -> ToolCall | None:
    """The single call of a regular text; None if anything at all is unusual.

    The text begins with the syntax's `lead`, `distance` code points into the whole text; `span` is the call's span.
    `unescape` decodes the name in a tag.
    """
    begin = len(text) - len(text.lstrip())
    head = syntax.head.match(text, begin)
    if head is None:
        return None
    position = first = head.end()
    last = position
    kind_at = syntax.parameter.whole.groups
    arguments: dict[str, Json] = {}
    parameters: list[Parameter] = []
    while (match := syntax.regular.match(text, position)) is not None:
        if syntax.end_tag is not None and match[kind_at + 3] != match[1]:
            return None
        start, last = match.span(kind_at + 1)
        if syntax.own_lines:
            start, last = trimmed(text, start, last)
        written = text[start:last]
        value: Json = written
        kind = match[kind_at] if syntax.text_type else ""
        if kind and kind != syntax.text_type:
            reading = read_json(written)
            if not reading.strict or reading.faults:
                return None
            value = reading.nodes[0].value()
        name = unescape(match[1].strip())
        arguments[name] = value
        named = Range(match.start(1) + distance, match.end(1) + distance)
        parameters.append(Parameter(name, written, Range(start + distance, last + distance), named, bool(kind)))
        position, last = match.end(), match.end(kind_at + 2)
    end = syntax.tail.match(text, position)
    if end is None or len(arguments) < len(parameters) or not head[1].strip():
        return None
    stop = position + len(syntax.call_end) if syntax.call_end else len(text.rstrip())
    arguments_range = Range(first + distance, last + distance) if parameters else None
    return ToolCall(
        unescape(head[1].strip()),
        arguments,
        text[first:last] if parameters else "",
        valid=True,
        range=Range(max(begin + distance, span.start), stop + distance),
        name_range=Range(head.start(1) + distance, head.end(1) + distance),
        arguments_range=arguments_range,
        parameters=tuple(parameters),
    )
