"""The messages and repairs of faults in calls with parameters in tags."""

from weaklink.inspector.diagnostics import Edit, Fault, Fix
from weaklink.inspector.formats.xml.syntax import XmlSyntax
from weaklink.inspector.formats.xml.walk import Flaw, Flawed, XmlCallText, XmlParameterText, XmlWalk
from weaklink.inspector.rules import json_syntax as rules
from weaklink.inspector.rules.markers import MARKER_INSIDE_ARGUMENT
from weaklink.inspector.rules.rule import Rule
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import Range

_MOST = 40
_CLOSING_TAG = lazy_pattern(r"</[\w.:-]+>")


def fault_of(flawed: Flawed, text: str, syntax: XmlSyntax, walked: XmlWalk, *, is_cut: bool) -> Fault:
    """The fault of one flaw in a span's text; `is_cut` says that the stream ends there."""
    place = flawed.range
    match flawed.flaw:
        case Flaw.VALUE_NOT_CLOSED:
            return _value_not_closed(flawed, text, syntax, walked, is_cut=is_cut)
        case Flaw.OTHER_NAME_CLOSED:
            return _other_name_closed(flawed, text, syntax)
        case Flaw.CALL_NOT_CLOSED:
            return _call_not_closed(place, syntax, at_end=place.end == walked.content_end, is_cut=is_cut)
        case Flaw.BAD_TAG:
            return _bad_tag(place, text, syntax, is_cut=is_cut and place.end == walked.content_end)
        case Flaw.CALL_TAG_NOT_CLOSED:
            return _call_tag_not_closed(place, text, syntax)
        case Flaw.DOUBLED_TAG:
            message, fix = f"{_quoted(text, place)} appears twice in a row.", Fix((Edit(place, ""),), safe=False)
            return Fault(rules.MALFORMED_PARAMETERS, place, message, "Delete one of them.", fix)
        case Flaw.STRAY_TEXT | Flaw.STRAY_TAG | Flaw.TEXT_AFTER_CALL:
            return _stray(flawed, text, syntax)
        case Flaw.NO_CALL:
            return Fault(
                rules.MALFORMED_PARAMETERS,
                place,
                f"{_quoted(text, place)} appears outside a call: no `{syntax.shown_call}` names the tool before it.",
            )
        case _:
            return _wrong_tag(flawed, text, syntax)


def _stray(flawed: Flawed, text: str, syntax: XmlSyntax) -> Fault:
    """The fault of text or a tag where neither belongs."""
    place = flawed.range
    if flawed.flaw is Flaw.TEXT_AFTER_CALL:
        return Fault(
            rules.TRAILING_DATA,
            place,
            f"{_quoted(text, place)} appears after `{syntax.call_end}`, where the call is complete.",
            "Delete what follows the call.",
            Fix((Edit(place, ""),), safe=True),
        )
    if flawed.flaw is Flaw.STRAY_TAG or _CLOSING_TAG.fullmatch(place.of(text)):
        message = f"{_quoted(text, place)} closes nothing here."
        if syntax.call is None and syntax.first not in text[: place.start]:
            # The tool's name and a value run together: without the tag, the value would be a part of the name.
            return Fault(rules.MALFORMED_PARAMETERS, place, message)
        fix = Fix((Edit(place, ""),), safe=False)
        return Fault(rules.MALFORMED_PARAMETERS, place, message, "Delete it.", fix)
    return Fault(
        rules.MALFORMED_PARAMETERS,
        place,
        f"Only parameters are allowed here: expected `{syntax.shown_parameter}`, found {_quoted(text, place)}.",
        "Delete it, or put it into a separate parameter.",
    )


def _wrong_tag(flawed: Flawed, text: str, syntax: XmlSyntax) -> Fault:
    """The fault of a parameter whose tags are there in part, or in another spelling."""
    found, place = flawed.parameter, flawed.range
    assert found is not None
    match flawed.flaw:
        case Flaw.VALUE_NOT_OPENED:
            return _inserted(
                place, place.end, syntax.value_begins, f"is missing before the value of {_shown(found.name)}"
            )
        case Flaw.OTHER_OPENER:
            return _other_opener(found, place, text, syntax)
        case _:
            closes = syntax.closes_value_of(found.name)
            message = f"{_quoted(text, place)} closes the value of {_shown(found.name)}; expected `{closes}`."
            fix = Fix((Edit(place, closes),), safe=False)
            return Fault(rules.MALFORMED_PARAMETERS, place, message, f"Write `{closes}`.", fix)


def _inserted(place: Range, at: int, tag: str, problem: str) -> Fault:
    fix = Fix((Edit(Range(at, at), tag),), safe=False)
    return Fault(rules.MALFORMED_PARAMETERS, place, f"`{tag}` {problem}.", f"Put `{tag}` there.", fix)


def _other_opener(found: XmlParameterText, place: Range, text: str, syntax: XmlSyntax) -> Fault:
    """The fault of `<NAME>VALUE</NAME>`, or of tags with another word, in place of a parameter's tags."""
    pattern = syntax.other_parameter
    tag = pattern.match(text, place.start, place.end) if pattern is not None else None
    word = tag["word"] if tag is not None else ""
    whole = place.of(text).replace(word, "parameter", 1) if word else ""
    opener = whole or syntax.shown_parameter.replace("NAME", found.name)
    closes = syntax.closes_value_of(found.name)
    edits, hint = [Edit(place, opener)], f"Write `{opener}`."
    if not text.startswith(closes, found.value.end):
        edits.append(Edit(Range(found.value.end, text.index(">", found.value.end) + 1), closes))
        hint = f"Write `{opener}`, and `{closes}` after the value."
    message = f"{_quoted(text, place)} is not a parameter's tag; expected `{opener}`."
    return Fault(rules.MALFORMED_PARAMETERS, place, message, hint, Fix(tuple(edits), safe=False))


def second_call(first: XmlCallText, second: XmlCallText, text: str, syntax: XmlSyntax) -> Fault:
    """The fault of a second call within the markers of the first."""
    gap = Range(first.end, second.start)
    is_whole = text.endswith(syntax.call_end, first.start, first.end) and not gap.of(text).strip()
    fix = Fix((Edit(gap, f"\n{syntax.closer}\n{syntax.opener}\n"),), safe=True) if is_whole else None
    return Fault(
        rules.SEVERAL_OBJECTS_IN_ONE_CALL,
        Range(second.start, second.end),
        "A second call appears in the same tag; servers read only the first, the last or none.",
        "Give each call a separate tag.",
        fix,
    )


def tag_in_value(place: Range, text: str) -> Fault:
    """The fault of a tag of the format that is data within a value."""
    return Fault(
        MARKER_INSIDE_ARGUMENT,
        place,
        f"{_quoted(text, place)} appears inside a value and is data; a server that splits by regular expression ends "
        "the value here.",
    )


def unmatched_tags(found: XmlParameterText) -> Fault:
    """The fault of tags within a value that form neither an object nor an array."""
    return Fault(
        rules.MALFORMED_PARAMETERS,
        found.tag,
        f"The tags within the value of {_shown(found.name)} do not match, so the value is read as text.",
        "Close each tag with its own name.",
    )


def repeated(name: str, place: Range) -> Fault:
    """The fault of a call that has a parameter twice."""
    return Fault(
        rules.DUPLICATE_KEY,
        place,
        f"The parameter {_shown(name)} appears twice; weaklink uses the last value, other parsers may use the first.",
    )


def nameless(tag: Range, syntax: XmlSyntax) -> Fault:
    """The fault of a call without a name before its first parameter, at `tag`."""
    return Fault(rules.NOT_A_CALL, tag, f"The call has no tool name: expected `{syntax.shown_call}`.")


def unreadable(text: str, syntax: XmlSyntax, *, is_cut: bool) -> Fault:
    """The fault of a span in which no call can be found; `text` is not blank."""
    place = Range(0, len(text)).stripped(text)
    if is_cut and _begins_call(place.of(text), syntax):
        last = Range(place.end - 1, place.end)
        return Fault(rules.TRUNCATED_PARAMETERS, last, "The payload ends before the tool's name is complete.")
    return Fault(
        rules.MALFORMED_PARAMETERS,
        place,
        f"The payload contains no call: {_quoted(text, place)} appears where `{syntax.shown_call}` belongs.",
    )


def _begins_call(content: str, syntax: XmlSyntax) -> bool:
    return syntax.call is None or content.startswith(syntax.call_begins) or syntax.call_begins.startswith(content)


def _other_name_closed(flawed: Flawed, text: str, syntax: XmlSyntax) -> Fault:
    found = flawed.parameter
    assert found is not None
    closes = f"{syntax.parameter_end}{found.name}>"
    return Fault(
        rules.MALFORMED_PARAMETERS,
        flawed.range,
        f"{_quoted(text, flawed.range)} closes the value of {_shown(found.name)}; expected `{closes}`.",
        f"Write `{closes}`.",
        Fix((Edit(flawed.range, closes),), safe=True),
    )


def _value_not_closed(flawed: Flawed, text: str, syntax: XmlSyntax, walked: XmlWalk, *, is_cut: bool) -> Fault:
    found = flawed.parameter
    assert found is not None
    end = found.value.start + len(found.value.of(text).rstrip())
    at_end = is_cut and walked.open_value and found.value.end == len(text)
    closes = syntax.closes_value_of(found.name)
    missing = [closes, syntax.call_end] if at_end and syntax.call_end else [closes]
    line = "\n" if syntax.own_lines else ""
    fix = Fix((Edit(Range(end, end), line + "\n".join(missing)),), safe=False)
    tags = " and ".join(f"`{tag}`" for tag in missing)
    verb = "are" if len(missing) > 1 else "is"
    if at_end:
        place = Range(max(end - 1, 0), end)
        message = f"The stream ends within the value of {_shown(found.name)}; {tags} {verb} missing."
        return Fault(rules.TRUNCATED_PARAMETERS, place, message, "Request the rest: the value may be incomplete.", fix)
    message = f"The value of {_shown(found.name)} is not closed: {tags} {verb} missing."
    return Fault(rules.MALFORMED_PARAMETERS, flawed.range, message, f"Close it with `{missing[0]}`.", fix)


def cut_value(name: str, end: int, missing: str) -> Fault:
    """The fault of a stream that ends at `end` within the value of `name`; the closing tags `missing` are missing."""
    message = f"The stream ends within the value of {_shown(name)}; `{missing}` is missing."
    fix = Fix((Edit(Range(end, end), missing),), safe=False)
    place = Range(max(end - 1, 0), end)
    return Fault(rules.TRUNCATED_PARAMETERS, place, message, "Request the rest: the value may be incomplete.", fix)


def cut_tag(text: str, place: Range) -> Fault:
    """The fault of a stream that ends within a tag."""
    message = f"The stream ends within the tag {_quoted(text, place)}."
    return Fault(rules.TRUNCATED_PARAMETERS, Range(place.end - 1, place.end), message)


def _call_not_closed(place: Range, syntax: XmlSyntax, *, at_end: bool, is_cut: bool) -> Fault:
    rule: Rule = rules.TRUNCATED_PARAMETERS if is_cut and at_end else rules.MALFORMED_PARAMETERS
    at = place.end if at_end else place.start
    message = f"`{syntax.call_end}` is missing: {'the payload ends' if at_end else 'another call begins'} before it."
    fix = Fix((Edit(Range(at, at), f"\n{syntax.call_end}" if at_end else f"{syntax.call_end}\n"),), safe=not is_cut)
    return Fault(rule, place, message, f"Close the call with `{syntax.call_end}`.", fix)


def _bad_tag(place: Range, text: str, syntax: XmlSyntax, *, is_cut: bool) -> Fault:
    if is_cut:
        return cut_tag(text, place)
    message = f"{_quoted(text, place)} is not a complete parameter tag; expected `{syntax.shown_parameter}`."
    return Fault(rules.MALFORMED_PARAMETERS, place, message, f"Write the tag as `{syntax.shown_parameter}`.")


def _call_tag_not_closed(place: Range, text: str, syntax: XmlSyntax) -> Fault:
    missing = (
        '">' if syntax.call_begins.endswith('"') and not text.endswith(('"', "'"), place.start, place.end) else ">"
    )
    message = f"The tag {_quoted(text, place)} is not closed: `{missing}` is missing; expected `{syntax.shown_call}`."
    fix = Fix((Edit(Range(place.end, place.end), missing),), safe=False)
    return Fault(rules.MALFORMED_PARAMETERS, place, message, f"Close the tag with `{missing}`.", fix)


def _quoted(text: str, place: Range) -> str:
    return _shown(place.of(text))


def _shown(text: str) -> str:
    """A text in backticks, shortened if it is long, with control characters escaped."""
    text = text if len(text) <= _MOST else text[: _MOST - 1] + "…"
    return f"`{text if text.isprintable() else text.encode('unicode_escape', 'backslashreplace').decode('ascii')}`"
