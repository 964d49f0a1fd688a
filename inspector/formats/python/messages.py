"""The messages, hints and repairs of faults in Python call syntax."""

from weaklink.inspector.diagnostics import Edit, Fault, Fix, Related
from weaklink.inspector.json_scanner.messages import replaced
from weaklink.inspector.rules import json_syntax as call_shape
from weaklink.inspector.rules import json_syntax as rules
from weaklink.inspector.text import Range, counted, shown


def unpacked(text: str, place: Range) -> Fault:
    """`**{...}` or `*[...]` among the arguments."""
    return Fault(
        rules.EXPRESSION_AS_VALUE,
        place,
        f"{quoted_text(text, place)} unpacks arguments, which parsers of calls reject; expected `name=value`.",
        "Write each argument as `name=value`.",
    )


def positional(text: str, place: Range, number: int) -> Fault:
    """An argument without a name."""
    return Fault(
        call_shape.POSITIONAL_ARGUMENT,
        place,
        f"The argument {quoted_text(text, place)} has no name: expected `name=value`.",
        f"Write its name before it; by position it is parameter number {number} of the tool.",
    )


def wrong_sign(text: str, place: Range, name: str, edit: Edit) -> Fault:
    """`a: 1` or `"a"=1` for `a=1`."""
    return Fault(
        rules.MALFORMED_JSON,
        place,
        f"{quoted_text(text, place)} is the syntax of an object member; write an argument as `{name}=`.",
        f"Write `{name}=`.",
        Fix((edit,), safe=True),
    )


def reserved_name(text: str, place: Range) -> Fault:
    """An argument whose name is a Python keyword."""
    return Fault(
        rules.MALFORMED_JSON,
        place,
        f"{quoted_text(text, place)} is a Python keyword and cannot name an argument: a parser that reads the call as "
        "Python rejects it.",
        "Give the tool's parameter another name, or use a JSON format.",
    )


def invalid_name(text: str, place: Range) -> Fault:
    """A tool's name that is not a valid name in Python."""
    return Fault(
        rules.MALFORMED_JSON,
        place,
        f"The tool's name {quoted_text(text, place)} is not a valid Python name: a parser that reads the call as "
        "Python rejects it.",
        "Give the tool a name of letters, digits, underscores and dots.",
    )


def extra(text: str, place: Range) -> Fault:
    """Surplus brackets, or words after a call."""
    is_brackets = not text[place.start : place.end].strip(")]} \n")
    what = "closes nothing" if is_brackets else "appears outside any call"
    return Fault(
        rules.TRAILING_DATA,
        place,
        f"{quoted_text(text, place)} {what}.",
        "Delete it.",
        replaced(place, "", safe=is_brackets),
    )


def second_list(place: Range) -> Fault:
    """A second list of calls on one line."""
    return Fault(
        call_shape.SEVERAL_OBJECTS_IN_ONE_CALL,
        place,
        "A second list of calls appears after the first; servers read one list, or none.",
        "Write all calls in one list.",
    )


def only_text(text: str, place: Range) -> Fault:
    """Text without any call."""
    return Fault(
        call_shape.NOT_A_CALL,
        place,
        f"{quoted_text(text, place)} is not a call: expected one such as `name(argument='value')`.",
    )


def bare_name(text: str, place: Range) -> Fault:
    """A name without parentheses."""
    name = text[place.start : place.end]
    return Fault(
        call_shape.NOT_A_CALL,
        place,
        f"{quoted_text(text, place)} names a tool but does not call it: expected `()` after it.",
        f"Write {shown(name + '()')}.",
        replaced(Range(place.end, place.end), "()", safe=False),
    )


def cut(text: str, open_brackets: str, inside: str, *, closable: bool) -> Fault:
    """The text ends within a call."""
    end = len(text)
    missing = f"; {shown(open_brackets)} is missing at the end" if open_brackets else ""
    fix = replaced(Range(end, end), open_brackets, safe=False) if closable else None
    hint = f"End the call with {shown(open_brackets)}, if the rest is not available." if closable else None
    return Fault(
        rules.TRUNCATED_JSON, Range(max(end - 1, 0), end), f"The call ends within {inside}{missing}.", hint, fix
    )


def fenced(place: Range, edits: tuple[Edit, ...]) -> Fault:
    """A code fence around the calls."""
    return Fault(
        rules.FENCED_PAYLOAD,
        place,
        "The calls are in a code fence, which is not part of the format; most servers read everything as text.",
        "Remove the fence.",
        Fix(edits, safe=True),
    )


def quoted_text(text: str, place: Range) -> str:
    """The text of a range, as messages show it."""
    return shown(text, place.start, place.end)


def computed_string(text: str, place: Range, value: str, *, kind: str) -> Fault:
    """An f-string or bytes."""
    plain = repr(value)
    if "b" in kind:
        message = f"{quoted_text(text, place)} is bytes, which JSON arguments cannot contain; expected a plain string."
    else:
        message = f"{quoted_text(text, place)} is an f-string, which parsers do not evaluate; expected a plain string."
    return Fault(
        rules.EXPRESSION_AS_VALUE, place, message, f"Write {shown(plain)}.", replaced(place, plain, safe=False)
    )


def quotes_within(text: str, place: Range, edits: tuple[Edit, ...]) -> Fault:
    """A string that contains its own quote without a backslash."""
    first = edits[0].range.start
    return Fault(
        rules.MISSING_QUOTE,
        Range(first, first + 1),
        f"The string {quoted_text(text, place)} contains {counted(len(edits), 'unescaped quote')} of the same kind, "
        f"so Python reads it as ending after {shown(text, place.start, first + 1)}.",
        "Write a backslash before each quote within the string, or use the other quotes around it.",
        Fix(edits, safe=False),
    )


def no_closing_quote(text: str, place: Range, quote: str) -> Fault:
    """A string without its closing quote, although the call continues after it."""
    return Fault(
        rules.MISSING_QUOTE,
        Range(place.end - 1, place.end),
        f"The string {quoted_text(text, place)} has no closing quote; one was expected before "
        f"{shown(text, place.end, min(place.end + 20, len(text)))}.",
        "Put the closing quote there.",
        replaced(Range(place.end, place.end), quote, safe=False),
    )


def raw_line_feed(edits: tuple[Edit, ...]) -> Fault:
    """Line ends in a string that is not triple-quoted."""
    first = next(iter(edits))
    more = f", the first of {len(edits)} in this string," if len(edits) > 1 else ""
    return Fault(
        rules.UNESCAPED_CONTROL_CHARACTER,
        first.range,
        f"A raw line end appears in a string{more} where Python expects the escape `{first.text}`.",
        "Escape it, or use three quotes around the string.",
        Fix(edits, safe=True),
    )


def broken_escape(text: str, place: Range) -> Fault:
    r"""`\x4`, `\u12`, `\N{no such name}`."""
    return Fault(
        rules.INVALID_ESCAPE,
        place,
        f"The escape {quoted_text(text, place)} is incomplete, which Python rejects.",
        "Double the backslash if it is literal.",
        replaced(Range(place.start, place.start), "\\", safe=False),
    )


def unknown_escape(text: str, place: Range) -> Fault:
    r"""`\d`: Python keeps the backslash, with a SyntaxWarning."""
    return Fault(
        rules.INVALID_ESCAPE,
        place,
        f"{quoted_text(text, place)} is not a Python escape: Python keeps the backslash with a SyntaxWarning, and "
        "later versions reject it.",
        "Double the backslash.",
        replaced(Range(place.start, place.start), "\\", safe=True),
    )


def arithmetic(text: str, place: Range, result: str) -> Fault:
    """An arithmetic expression in place of its result."""
    return Fault(
        rules.EXPRESSION_AS_VALUE,
        place,
        f"{quoted_text(text, place)} is an expression; expected its result.",
        f"Write the result, `{result}`.",
        replaced(place, result, safe=False),
    )


def expression(text: str, place: Range, quoted: str | None) -> Fault:
    """An expression, which is not evaluated; `quoted` is None if it is too long to quote."""
    return Fault(
        rules.EXPRESSION_AS_VALUE,
        place,
        f"{quoted_text(text, place)} is an expression, not a literal; parsers of calls do not evaluate it.",
        "Write the intended value; quoting the text only makes the call valid.",
        replaced(place, quoted, safe=False) if quoted is not None else None,
    )


def unquoted(text: str, place: Range, quoted: str) -> Fault:
    """A bare word as a value."""
    return Fault(
        rules.UNQUOTED_WORD,
        place,
        f"The value {quoted_text(text, place)} is neither quoted nor a number, `True`, `False` or `None`; Python "
        "reads it as a variable.",
        f"Quote it if it is text: {shown(quoted)}.",
        replaced(place, quoted, safe=False),
    )


def json_literal(text: str, place: Range, twin: str) -> Fault:
    """`true`, `false` or `null`, which only JSON has."""
    return Fault(
        rules.UNQUOTED_WORD,
        place,
        f"{quoted_text(text, place)} is a JSON literal; Python reads it as a variable, so strict parsers reject the "
        "call.",
        f"Write `{twin}`.",
        replaced(place, twin, safe=True),
    )


def no_text_key(text: str, place: Range, quoted: str) -> Fault:
    """A key that is not a string."""
    return Fault(
        rules.UNQUOTED_WORD,
        place,
        f"The key {quoted_text(text, place)} is not a string; a JSON object has only string keys.",
        f"Write {shown(quoted)}.",
        replaced(place, quoted, safe=False),
    )


def no_list(text: str, place: Range, kind: str, repair: tuple[Edit, ...]) -> Fault:
    """A tuple or a set."""
    return Fault(
        rules.EXPRESSION_AS_VALUE,
        place,
        f"{quoted_text(text, place)} is a {kind}, which JSON does not have; expected a list.",
        "Write it in square brackets.",
        Fix(repair, safe=False),
    )


def invalid_number(text: str, place: Range, spelling: str | None) -> Fault:
    """A leading zero, or a complex number."""
    if spelling is None:
        return Fault(
            rules.INVALID_NUMBER,
            place,
            f"{quoted_text(text, place)} is a complex number, which JSON does not have.",
        )
    return Fault(
        rules.INVALID_NUMBER,
        place,
        f"The number {quoted_text(text, place)} begins with a zero, which Python does not allow.",
        f"Write `{spelling}`, or quote it if it is a code, not a number.",
        replaced(place, spelling, safe=False),
    )


def non_finite(text: str, place: Range) -> Fault:
    """NaN or an infinity."""
    return Fault(
        rules.NON_FINITE_NUMBER,
        place,
        f"{quoted_text(text, place)} is a number that JSON does not have.",
        "Write `None` if the tool accepts it, or omit the argument.",
        replaced(place, "None", safe=False),
    )


def too_deep(place: Range, limit: int) -> Fault:
    """A value nested deeper than `limit` levels."""
    return Fault(rules.TOO_DEEP, place, f"The value is nested deeper than {limit} levels; it is kept as text.")


def no_value(place: Range, name: str, following: str) -> Fault:
    """`a=,`: a name without a value."""
    what = f"`{following}` appears" if following else "The call ends"
    expected = f"the value of {shown(name)}" if name else "a value"
    return Fault(rules.MISSING_VALUE, place, f"{what} where {expected} was expected.")


def wrong_member_sign(text: str, place: Range) -> Fault:
    """`{'a'=1}` for `{'a': 1}`."""
    return Fault(
        rules.MALFORMED_JSON,
        place,
        f"{quoted_text(text, place)} appears where a colon was expected.",
        "Write a colon.",
        replaced(place, ":", safe=True),
    )


def duplicate(place: Range, name: str, first: Range, what: str) -> Fault:
    """The same argument or key twice."""
    return Fault(
        rules.DUPLICATE_KEY,
        place,
        f"The {what} {shown(name)} appears twice; most parsers keep the last value, Python itself rejects the call."
        if what == "argument"
        else f"The {what} {shown(name)} appears twice; most parsers keep the last value.",
        "Keep one of them.",
        related=(Related(first, "The first occurrence."),),
    )


def missing_comma(text: str, at: int, following: int) -> Fault:
    """Two values without a comma between them."""
    return Fault(
        rules.MISSING_COMMA,
        Range(at, max(following, at + 1)),
        f"A comma is missing before {shown(text, following, min(following + 20, len(text)))}.",
        "Put a comma there.",
        replaced(Range(at, at), ", " if at == following else ",", safe=True),
    )


def wrong_separator(text: str, place: Range) -> Fault:
    """`;` for a comma."""
    return Fault(
        rules.MALFORMED_JSON,
        place,
        f"{quoted_text(text, place)} appears where a comma was expected.",
        "Write a comma.",
        replaced(place, ",", safe=True),
    )


def missing_closer(text: str, at: int, bracket: str) -> Fault:
    """A bracket that is not closed, although something follows that only fits after it."""
    place = Range(at, at + 1) if at < len(text) else Range(max(at - 1, 0), at)
    before = f" before {shown(text, at, min(at + 20, len(text)))}" if text[at : at + 20].strip() else " at the end"
    return Fault(
        rules.UNBALANCED_BRACKET,
        place,
        f"`{bracket}` is missing{before}.",
        f"Put `{bracket}` there.",
        replaced(Range(at, at), bracket, safe=False),
    )
