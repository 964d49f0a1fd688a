"""The faults of single tokens: strings, numbers, words, expressions. What each message says, and its repair."""

from inspector.diagnostics import Edit, Fault, Fix
from inspector.json_scanner.quoting import counted, shown
from inspector.json_scanner.string_ends import Mend, StringExtent
from inspector.rules.json_syntax import (
    EXPRESSION_AS_VALUE,
    INVALID_ESCAPE,
    INVALID_NUMBER,
    MALFORMED_JSON,
    MISSING_QUOTE,
    NON_FINITE_NUMBER,
    PYTHON_LITERAL,
    SMART_QUOTE,
    UNQUOTED_WORD,
)
from inspector.text import Range


def replaced(place: Range, text: str, *, safe: bool) -> Fix:
    """The repair that writes `text` at a place."""
    return Fix((Edit(place, text),), safe)


def deleted(place: Range, *, safe: bool) -> Fix:
    """The repair that takes a place away."""
    return Fix((Edit(place, ""),), safe)


def inserted(at: int, text: str, *, safe: bool) -> Fix:
    """The repair that puts `text` in."""
    return Fix((Edit(Range(at, at), text),), safe)


def quote_fault(text: str, extent: StringExtent, inner: list[Edit]) -> Fault:
    """A string with a quote too few or too many; `inner` are the edits that escape the quotes within."""
    start, end = extent.start, extent.end
    what = shown(text, start, end)
    match extent.mend:
        case Mend.CLOSE:
            following = f"before {shown(text, end, min(end + 20, len(text)))}" if end < len(text) else "at the end"
            return Fault(
                MISSING_QUOTE,
                Range(end - 1, end),
                f"The string {what} has no closing quote; one was expected {following}.",
                "Put the closing quote there.",
                Fix((*inner, Edit(Range(end, end), '"')), safe=False),
            )
        case Mend.EXTRA_FIRST:
            return Fault(
                MISSING_QUOTE,
                Range(start, start + 1),
                f"The string {what} begins with one quote too many.",
                "Delete one of the quotes.",
                Fix((Edit(Range(start, start + 1), ""), *inner), safe=False),
            )
        case Mend.EXTRA_LAST:
            return Fault(
                MISSING_QUOTE,
                Range(end - 1, end),
                f"The string {what} ends with one quote too many.",
                "Delete one of the quotes.",
                Fix((*inner, Edit(Range(end - 1, end), "")), safe=False),
            )
    first = inner[0].range.start if inner else start
    return Fault(
        MISSING_QUOTE,
        Range(first, first + 1),
        f"The string {what} holds {counted(len(inner), 'quote')} without a backslash, so a reader takes it to end "
        f"after {shown(text, start, first + 1)}.",
        "Write a backslash before each quote within the string.",
        Fix(tuple(inner), safe=False),
    )


def missing_opening_quote(text: str, place: Range, edits: list[Edit]) -> Fault:
    """A string whose closing quote stands there alone."""
    return Fault(
        MISSING_QUOTE,
        Range(place.start, place.start + 1),
        f"The string {shown(text, place.start, place.end)} has a closing quote but no opening one.",
        f"Put a double quote before {shown(text, place.start, place.start + 1)}.",
        Fix((Edit(Range(place.start, place.start), '"'), *edits), safe=False),
    )


def smart_quote(text: str, place: Range, edits: list[Edit]) -> Fault:
    """A string between typographic quotes."""
    return Fault(
        SMART_QUOTE,
        place,
        f'{shown(text, place.start, place.end)} stands in typographic quotes; JSON expects the plain `"`.',
        "Write plain double quotes.",
        Fix(tuple(edits), safe=True),
    )


def unclear_escapes(text: str, place: Range) -> Fault:
    """A string that is escaped once too often and yet no JSON when it is unescaped."""
    return Fault(
        INVALID_ESCAPE,
        place,
        f"{shown(text, place.start, place.end)} is escaped once too often, and is no JSON string either way.",
    )


def python_literal(text: str, place: Range, twin: str) -> Fault:
    """`True`, `False` or `None`."""
    return Fault(
        PYTHON_LITERAL,
        place,
        f"{shown(text, place.start, place.end)} is Python's spelling; JSON expects `{twin}`.",
        f"Write `{twin}`.",
        replaced(place, twin, safe=True),
    )


def misspelt_literal(text: str, place: Range, twin: str) -> Fault:
    """`TRUE`, `nil`, `undefined`: a literal of some other language."""
    return Fault(
        UNQUOTED_WORD,
        place,
        f"{shown(text, place.start, place.end)} is no JSON literal; the nearest is `{twin}`.",
        f"Write `{twin}` if that is meant, or quote the word.",
        replaced(place, twin, safe=False),
    )


def non_finite(text: str, place: Range) -> Fault:
    """NaN or an infinity."""
    return Fault(
        NON_FINITE_NUMBER,
        place,
        f"{shown(text, place.start, place.end)} is a number that JSON does not have.",
        "Write `null` if the tool takes it, or leave the member out.",
        replaced(place, "null", safe=False),
    )


def invalid_number(text: str, place: Range, spelling: str, reason: str, *, safe: bool) -> Fault:
    """A number that is not written as JSON writes it."""
    quoted = "" if safe or reason != "begins with a zero" else ", or quote it if it is no number but a code"
    return Fault(
        INVALID_NUMBER,
        place,
        f"The number {shown(text, place.start, place.end)} {reason}, which JSON does not allow.",
        f"Write {shown(spelling)}{quoted}.",
        replaced(place, spelling, safe=safe),
    )


def arithmetic(text: str, place: Range, result: str) -> Fault:
    """Arithmetic that was left undone."""
    return Fault(
        EXPRESSION_AS_VALUE,
        place,
        f"{shown(text, place.start, place.end)} is left to be computed; JSON expects its result.",
        f"Write the result, `{result}`.",
        replaced(place, result, safe=False),
    )


def expression(text: str, place: Range, quoted: str, kind: str = "") -> Fault:
    """An expression that nobody can compute here."""
    what = shown(text, place.start, place.end)
    if kind:
        message, hint = f"{what} is {kind}; JSON expects one plain string.", f"Write {shown(quoted)}."
    else:
        message = f"{what} is an expression or a placeholder, not a value; a JSON reader cannot compute it."
        hint = "Put the value there that was meant; quoting the text only keeps it readable."
    return Fault(EXPRESSION_AS_VALUE, place, message, hint, replaced(place, quoted, safe=False))


def triple_quoted(text: str, place: Range, quoted: str) -> Fault:
    """A string in Python's triple quotes."""
    return Fault(
        EXPRESSION_AS_VALUE,
        place,
        f"{shown(text, place.start, place.end)} is a triple-quoted string of Python; JSON expects one pair of quotes.",
        "Write it in one pair of double quotes, with its line feeds escaped.",
        replaced(place, quoted, safe=False),
    )


def no_value(text: str, place: Range) -> Fault:
    """Signs that make no word and no expression."""
    return Fault(MALFORMED_JSON, place, f"{shown(text, place.start, place.end)} stands where a value was expected.")


def unquoted_value(text: str, place: Range, quoted: str) -> Fault:
    """A bare word as a value."""
    return Fault(
        UNQUOTED_WORD,
        place,
        f"The value {shown(text, place.start, place.end)} is neither quoted nor a number, `true`, `false` or `null`; "
        "a JSON reader stops here.",
        f"Quote it if it is meant as text: {shown(quoted)}.",
        replaced(place, quoted, safe=False),
    )


def unquoted_key(text: str, place: Range, quoted: str) -> Fault:
    """A bare word as a key."""
    return Fault(
        UNQUOTED_WORD,
        place,
        f"The key {shown(text, place.start, place.end)} is not quoted; JSON expects {shown(quoted)}.",
        f"Write {shown(quoted)}.",
        replaced(place, quoted, safe=True),
    )
