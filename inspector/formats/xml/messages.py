"""The messages and repairs of faults in calls with parameters in tags."""

from msgspec import structs

from weaklink.inspector.diagnostics import Edit, Fault, Fix
from weaklink.inspector.formats.json.calls import SECOND_CALL
from weaklink.inspector.formats.xml.syntax import XmlSyntax
from weaklink.inspector.formats.xml.walk import XmlCallText, XmlFault, XmlFaultKind, XmlParameterText, XmlWalk
from weaklink.inspector.json_scanner.messages import FaultMessage, replaced
from weaklink.inspector.rules import json_syntax as rules
from weaklink.inspector.rules.markers import MARKER_INSIDE_ARGUMENT
from weaklink.inspector.rules.rule import Rule
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import Range, shown

_CLOSING_TAG = lazy_pattern(r"</[\w.:-]+>")

_doubled_tag = FaultMessage(
    rules.MALFORMED_PARAMETERS, "{here} appears twice in a row.", "Delete one of them.", repair=""
)
_outside_a_call = FaultMessage(
    rules.MALFORMED_PARAMETERS, "{here} appears outside a call: no `{value}` names the tool before it."
)
_after_call = FaultMessage(
    rules.TRAILING_DATA,
    "{here} appears after `{value}`, where the call is complete.",
    "Delete what follows the call.",
    repair="",
    safe=True,
)
_stray_tag = FaultMessage(rules.MALFORMED_PARAMETERS, "{here} closes nothing here.", "Delete it.", repair="")
_tag_in_name = structs.replace(_stray_tag, hint=None, repair=None)
_stray_text = FaultMessage(
    rules.MALFORMED_PARAMETERS,
    "Only parameters are allowed here: expected `{value}`, found {here}.",
    "Delete it, or put it into a separate parameter.",
)
_bad_tag = FaultMessage(
    rules.MALFORMED_PARAMETERS,
    "{here} is not a complete parameter tag; expected `{value}`.",
    "Write the tag as `{value}`.",
)
_no_call = FaultMessage(
    rules.MALFORMED_PARAMETERS, "The payload contains no call: {here} appears where `{value}` belongs."
)
tag_in_value = FaultMessage(
    MARKER_INSIDE_ARGUMENT,
    "{here} appears inside a value and is data; a server that splits by regular expression ends the value here.",
)
unmatched_tags = FaultMessage(
    rules.MALFORMED_PARAMETERS,
    "The tags within the value of {shown} do not match, so the value is read as text.",
    "Close each tag with its own name.",
)
repeated = FaultMessage(
    rules.DUPLICATE_KEY,
    "The parameter {shown} appears twice; weaklink uses the last value, other parsers may use the first.",
)
nameless = FaultMessage(rules.NOT_A_CALL, "The call has no tool name: expected `{value}`.")


def fault_of(fault: XmlFault, text: str, syntax: XmlSyntax, walked: XmlWalk, *, is_cut: bool) -> Fault:
    """The diagnostic fault of one XML fault in a span's text; `is_cut` says that the stream ends there."""
    fault_range = fault.range
    match fault.kind:
        case XmlFaultKind.VALUE_NOT_CLOSED:
            return _value_not_closed(fault, text, syntax, walked, is_cut=is_cut)
        case XmlFaultKind.OTHER_NAME_CLOSED:
            return _closed_by_other(fault, text, syntax, safe=True)
        case XmlFaultKind.CALL_NOT_CLOSED:
            return _call_not_closed(fault_range, syntax, at_end=fault_range.end == walked.content_end, is_cut=is_cut)
        case XmlFaultKind.BAD_TAG:
            if is_cut and fault_range.end == walked.content_end:
                return cut_tag(text, fault_range)
            return _bad_tag(text, fault_range, syntax.shown_parameter)
        case XmlFaultKind.CALL_TAG_NOT_CLOSED:
            return _call_tag_not_closed(fault_range, text, syntax)
        case XmlFaultKind.DOUBLED_TAG:
            return _doubled_tag(text, fault_range)
        case XmlFaultKind.STRAY_TEXT | XmlFaultKind.STRAY_TAG | XmlFaultKind.TEXT_AFTER_CALL:
            return _stray(fault, text, syntax)
        case XmlFaultKind.NO_CALL:
            return _outside_a_call(text, fault_range, syntax.shown_call)
        case _:
            return _wrong_tag(fault, text, syntax)


def _stray(fault: XmlFault, text: str, syntax: XmlSyntax) -> Fault:
    """The fault of text or a tag where neither belongs."""
    fault_range = fault.range
    if fault.kind is XmlFaultKind.TEXT_AFTER_CALL:
        return _after_call(text, fault_range, syntax.call_end)
    if fault.kind is not XmlFaultKind.STRAY_TAG and not _CLOSING_TAG.fullmatch(fault_range.of(text)):
        return _stray_text(text, fault_range, syntax.shown_parameter)
    # Where the tool's name and a value run together, the value would be a part of the name without the tag.
    is_in_name = syntax.call is None and syntax.first not in text[: fault_range.start]
    return (_tag_in_name if is_in_name else _stray_tag)(text, fault_range)


def _wrong_tag(fault: XmlFault, text: str, syntax: XmlSyntax) -> Fault:
    """The fault of a parameter whose tags are there in part, or in another spelling."""
    parameter, fault_range = fault.parameter, fault.range
    assert parameter is not None
    match fault.kind:
        case XmlFaultKind.VALUE_NOT_OPENED:
            tag, fix = (
                syntax.value_begins,
                replaced(Range(fault_range.end, fault_range.end), syntax.value_begins, safe=False),
            )
            message = f"`{tag}` is missing before the value of {shown(parameter.name)}."
            return Fault(rules.MALFORMED_PARAMETERS, fault_range, message, f"Put `{tag}` there.", fix)
        case XmlFaultKind.OTHER_OPENER:
            return _other_opener(parameter, fault_range, text, syntax)
        case _:
            return _closed_by_other(fault, text, syntax, safe=False)


def _other_opener(parameter: XmlParameterText, tag_range: Range, text: str, syntax: XmlSyntax) -> Fault:
    """The fault of `<NAME>VALUE</NAME>`, or of tags with another word, in place of a parameter's tags."""
    pattern = syntax.other_parameter
    tag = pattern.match(text, tag_range.start, tag_range.end) if pattern is not None else None
    word = tag["word"] if tag is not None else ""
    whole = tag_range.of(text).replace(word, "parameter", 1) if word else ""
    opener = whole or syntax.shown_parameter.replace("NAME", parameter.name)
    closes = syntax.closes_value_of(parameter.name)
    edits, hint = [Edit(tag_range, opener)], f"Write `{opener}`."
    if not text.startswith(closes, parameter.value.end):
        edits.append(Edit(Range(parameter.value.end, text.index(">", parameter.value.end) + 1), closes))
        hint = f"Write `{opener}`, and `{closes}` after the value."
    message = f"{shown(tag_range.of(text))} is not a parameter's tag; expected `{opener}`."
    return Fault(rules.MALFORMED_PARAMETERS, tag_range, message, hint, Fix(tuple(edits), safe=False))


def second_call(first: XmlCallText, second: XmlCallText, text: str, syntax: XmlSyntax) -> Fault:
    """The fault of a second call within the markers of the first."""
    gap = Range(first.end, second.start)
    is_whole = text.endswith(syntax.call_end, first.start, first.end) and not gap.of(text).strip()
    edits = (Edit(gap, f"\n{syntax.closer}\n{syntax.opener}\n"),) if is_whole else ()
    return SECOND_CALL(text, Range(second.start, second.end), edits=edits)


def unreadable(text: str, syntax: XmlSyntax, *, is_cut: bool) -> Fault:
    """The fault of a span in which no call can be found; `text` is not blank."""
    text_range, begins = Range(0, len(text)).stripped(text), syntax.call_begins
    content = text_range.of(text)
    if is_cut and (syntax.call is None or content.startswith(begins) or begins.startswith(content)):
        last = Range(text_range.end - 1, text_range.end)
        return Fault(rules.TRUNCATED_PARAMETERS, last, "The payload ends before the tool's name is complete.")
    return _no_call(text, text_range, syntax.shown_call)


def _closed_by_other(fault: XmlFault, text: str, syntax: XmlSyntax, *, safe: bool) -> Fault:
    """The fault of a closing tag that is not the one of the parameter's value."""
    assert fault.parameter is not None
    name, tag_range = fault.parameter.name, fault.range
    closes = syntax.closes_value_of(name)
    message = f"{shown(tag_range.of(text))} closes the value of {shown(name)}; expected `{closes}`."
    fix = replaced(tag_range, closes, safe=safe)
    return Fault(rules.MALFORMED_PARAMETERS, tag_range, message, f"Write `{closes}`.", fix)


def _value_not_closed(fault: XmlFault, text: str, syntax: XmlSyntax, walked: XmlWalk, *, is_cut: bool) -> Fault:
    parameter = fault.parameter
    assert parameter is not None
    end = parameter.value.start + len(parameter.value.of(text).rstrip())
    at_end = is_cut and walked.open_value and parameter.value.end == len(text)
    closes = syntax.closes_value_of(parameter.name)
    missing = [closes, syntax.call_end] if at_end and syntax.call_end else [closes]
    line = "\n" if syntax.own_lines else ""
    fix = Fix((Edit(Range(end, end), line + "\n".join(missing)),), safe=False)
    tags = " and ".join(f"`{tag}`" for tag in missing)
    verb = "are" if len(missing) > 1 else "is"
    if at_end:
        return cut_value(parameter.name, end, fix.edits[0].text, f"{tags} {verb}")
    message = f"The value of {shown(parameter.name)} is not closed: {tags} {verb} missing."
    return Fault(rules.MALFORMED_PARAMETERS, fault.range, message, f"Close it with `{missing[0]}`.", fix)


def cut_value(name: str, end: int, closers: str, what: str) -> Fault:
    """The fault of a stream that ends at `end` within the value of `name`; `what` says which of the `closers` lack."""
    message = f"The stream ends within the value of {shown(name)}; {what} missing."
    fault_range, fix = Range(max(end - 1, 0), end), replaced(Range(end, end), closers, safe=False)
    return Fault(
        rules.TRUNCATED_PARAMETERS, fault_range, message, "Request the rest: the value may be incomplete.", fix
    )


def cut_tag(text: str, tag_range: Range) -> Fault:
    """The fault of a stream that ends within a tag."""
    message = f"The stream ends within the tag {shown(tag_range.of(text))}."
    return Fault(rules.TRUNCATED_PARAMETERS, Range(tag_range.end - 1, tag_range.end), message)


def _call_not_closed(fault_range: Range, syntax: XmlSyntax, *, at_end: bool, is_cut: bool) -> Fault:
    rule: Rule = rules.TRUNCATED_PARAMETERS if is_cut and at_end else rules.MALFORMED_PARAMETERS
    position = fault_range.end if at_end else fault_range.start
    message = f"`{syntax.call_end}` is missing: {'the payload ends' if at_end else 'another call begins'} before it."
    fix = Fix(
        (Edit(Range(position, position), f"\n{syntax.call_end}" if at_end else f"{syntax.call_end}\n"),),
        safe=not is_cut,
    )
    return Fault(rule, fault_range, message, f"Close the call with `{syntax.call_end}`.", fix)


def _call_tag_not_closed(tag_range: Range, text: str, syntax: XmlSyntax) -> Fault:
    is_quoted = syntax.call_begins.endswith('"') and not text.endswith(('"', "'"), tag_range.start, tag_range.end)
    missing = '">' if is_quoted else ">"
    message = (
        f"The tag {shown(tag_range.of(text))} is not closed: `{missing}` is missing; expected `{syntax.shown_call}`."
    )
    fix = replaced(Range(tag_range.end, tag_range.end), missing, safe=False)
    return Fault(rules.MALFORMED_PARAMETERS, tag_range, message, f"Close the tag with `{missing}`.", fix)
