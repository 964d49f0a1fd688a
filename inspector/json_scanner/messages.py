"""The messages, hints and repairs of JSON syntax faults."""

from inspector.diagnostics import Edit, Fault, Fix, Related
from inspector.json_scanner.quoting import counted, shown
from inspector.json_scanner.string_ends import QuoteRepair, StringExtent
from inspector.rules.json_syntax import (
    COMMENT_IN_JSON,
    DUPLICATE_KEY,
    EXPRESSION_AS_VALUE,
    FENCED_PAYLOAD,
    INVALID_ESCAPE,
    INVALID_NUMBER,
    MALFORMED_JSON,
    MISSING_COMMA,
    MISSING_QUOTE,
    MISSING_VALUE,
    NON_FINITE_NUMBER,
    PYTHON_LITERAL,
    SMART_QUOTE,
    TOO_DEEP,
    TRAILING_COMMA,
    TRAILING_DATA,
    TRUNCATED_JSON,
    UNBALANCED_BRACKET,
    UNQUOTED_WORD,
)
from inspector.text import Range


def trailing_comma(comma: int, closer: str) -> Fault:
    """A comma before a closing bracket."""
    place = Range(comma, comma + 1)
    message = f"A comma stands before `{closer}`, but nothing follows it."
    return Fault(TRAILING_COMMA, place, message, "Delete the comma.", deleted(place, safe=True))


def extra_comma(at: int, what: str, *, safe: bool) -> Fault:
    """A comma where a member or element was expected."""
    place = Range(at, at + 1)
    message = f"A comma stands where {what} was expected."
    return Fault(MISSING_VALUE, place, message, "Delete the comma if nothing is missing.", deleted(place, safe=safe))


def extra_colon(at: int, key: str) -> Fault:
    """A second colon behind a key."""
    place = Range(at, at + 1)
    message = f"A second colon follows the key {shown(key)}; one was expected."
    return Fault(MISSING_VALUE, place, message, "Delete the colon.", deleted(place, safe=True))


def missing_value(text: str, key: Range, at: int) -> Fault:
    """A key without a value."""
    got = f"{shown(text, at, at + 1)} follows" if at < len(text) else "the payload ends"
    named = f"The key {shown(text, key.start, key.end)} has no value" if len(key) else "A value is missing"
    message = f"{named}: {got} where one was expected."
    return Fault(MISSING_VALUE, key if len(key) else Range(at, at + 1), message)


def no_key(text: str, place: Range) -> Fault:
    """A value or colon where a key was expected."""
    message = f"A key was expected here, not {shown(text, place.start, place.end)}."
    return Fault(MISSING_VALUE, place, message)


def missing_comma(text: str, last: Range, at: int, insert_at: int) -> Fault:
    """Two members or elements without a comma between them; the gap and the next character are marked."""
    last_end = last.end
    before = shown(text, last.start, last_end)
    message = f"A comma was expected between {before} and {shown(text, at, min(at + 20, len(text)))}."
    place = Range(last_end, at + 1)
    return Fault(MISSING_COMMA, place, message, "Put a comma between the two.", inserted(insert_at, ",", safe=True))


def missing_colon(text: str, key: Range, at: int) -> Fault:
    """A key and its value without a colon between them."""
    following = shown(text, at, min(at + 20, len(text)))
    message = f"A colon was expected between the key {shown(text, key.start, key.end)} and {following}."
    place = Range(key.end, at + 1)
    fix = inserted(key.end, ":", safe=True)
    if at == key.end and text[at - 1] == '"':
        # What follows may be mended right here too; two insertions at one place have no order.
        fix = replaced(Range(at - 1, at), '":', safe=True)
    return Fault(MALFORMED_JSON, place, message, "Put a colon behind the key.", fix)


def wrong_sign(text: str, place: Range, expected: str) -> Fault:
    """Another sign where a colon or comma belongs."""
    message = f"{shown(text, place.start, place.end)} stands where JSON expects `{expected}`."
    return Fault(MALFORMED_JSON, place, message, f"Write `{expected}`.", replaced(place, expected, safe=True))


def needless_semicolon(at: int, closer: str) -> Fault:
    """A semicolon behind the last member or element."""
    place = Range(at, at + 1)
    message = f"`;` stands where `{closer}` was expected."
    return Fault(MALFORMED_JSON, place, message, "Delete the semicolon.", deleted(place, safe=True))


def unexpected(text: str, place: Range, expected: str) -> Fault:
    """Characters that nothing else explains."""
    message = f"{shown(text, place.start, place.end)} stands where {expected} was expected."
    return Fault(MALFORMED_JSON, place, message)


def unusual_space(text: str, place: Range) -> Fault:
    """White space that is none to JSON."""
    message = f"{_code_points(text, place)} stands between tokens, where JSON allows only space, tab and line end."
    return Fault(MALFORMED_JSON, place, message, "Write a plain space.", replaced(place, " ", safe=True))


def _code_points(text: str, place: Range) -> str:
    return f"The character U+{ord(text[place.start]):04X}"


def escaped_space(text: str, place: Range) -> Fault:
    """A line feed written as an escape, outside any string."""
    message = f"{shown(text, place.start, place.end)} is an escape outside any string, where JSON knows none."
    fix = replaced(place, " ", safe=True)
    return Fault(INVALID_ESCAPE, place, message, "Write white space itself.", fix)


def comment(text: str, place: Range) -> Fault:
    """A comment."""
    message = f"{shown(text, place.start, place.end)} is a comment, which JSON does not have."
    return Fault(COMMENT_IN_JSON, place, message, "Delete the comment.", deleted(place, safe=True))


def duplicate_key(text: str, first: Range, again: Range) -> Fault:
    """The same key twice in one object."""
    key = shown(text, again.start, again.end)
    message = (
        f"The key {key} stands twice in one object; most readers keep the last value, some the first, some refuse."
    )
    return Fault(
        DUPLICATE_KEY, again, message, "Keep one of the two.", related=(Related(first, "The first stands here."),)
    )


def too_deep(at: int, depth: int) -> Fault:
    """A bracket deeper than any reader needs to go."""
    message = f"This bracket opens level {depth + 1}; weaklink reads {depth} levels and keeps what lies deeper as text."
    return Fault(TOO_DEEP, Range(at, at + 1), message)


def tuple_instead(at: int) -> Fault:
    """A Python tuple; its closer's edit is added when it is found."""
    place = Range(at, at + 1)
    message = "A tuple in round brackets stands here; JSON has only arrays in square ones."
    return Fault(EXPRESSION_AS_VALUE, place, message, "Write `[` and `]`.", replaced(place, "[", safe=False))


def object_in_square_brackets(at: int, key: str) -> Fault:
    """An object that begins with `[`."""
    place = Range(at, at + 1)
    message = f"`[` opens what is an object, as its key {shown(key)} shows; `{{` was expected."
    return Fault(UNBALANCED_BRACKET, place, message, "Write `{` and `}`.", replaced(place, "{", safe=False))


def doubled_brace(at: int) -> Fault:
    """`{{`, as templates write a brace."""
    place = Range(at, at + 1)
    message = "Two `{` stand here where one was expected; templates double their braces, JSON does not."
    return Fault(
        UNBALANCED_BRACKET, place, message, "Delete the second brace, and its twin.", deleted(place, safe=False)
    )


def missing_opener(text: str, at: int, bracket: str) -> Fault:
    """A closing bracket later on shows that one should have been opened here."""
    end = min(at + 20, len(text))
    message = f"`{bracket}` is missing before {shown(text, at, end)}: what follows belongs into one pair of brackets."
    hint = f"Put `{bracket}` before it."
    return Fault(UNBALANCED_BRACKET, Range(at, at + 1), message, hint, inserted(at, bracket, safe=False))


def missing_closers(text: str, place: Range, edit: Edit, closers: str, opener: Range) -> Fault:
    """Brackets that should have been closed before the place."""
    message = (
        f"`{closers}` is missing before {shown(text, place.start, min(place.end + 10, len(text)))}: "
        f"{shown(text, opener.start, opener.end)} is still open there."
    )
    return Fault(
        UNBALANCED_BRACKET,
        place,
        message,
        f"Put `{closers}` before it.",
        Fix((edit,), safe=False),
        related=(Related(opener, "The bracket that is still open."),),
    )


def missing_before_name(place: Range, edit: Edit, closers: str, key: str) -> Fault:
    """The call's name slipped into its arguments because their bracket was not closed."""
    message = (
        f'`{closers}` is missing before `, "name"`: the call\'s name stands inside {shown(key)}, '
        "which should have been closed before it."
    )
    return Fault(
        UNBALANCED_BRACKET,
        place,
        message,
        f'Put `{closers}` before `, "name"`.',
        Fix((edit,), safe=False),
    )


def wrong_kind(at: int, got: str, expected: str, opener: Range) -> Fault:
    """A closing bracket of the other kind."""
    place = Range(at, at + 1)
    message = f"`{got}` stands where `{expected}` was expected: the bracket open here is of the other kind."
    related = (Related(opener, "The bracket that it should close."),)
    fix = replaced(place, expected, safe=False)
    return Fault(UNBALANCED_BRACKET, place, message, f"Write `{expected}`.", fix, related=related)


def closer_without_opener(at: int, got: str) -> Fault:
    """A closing bracket that nothing opened, in the middle of a value."""
    place = Range(at, at + 1)
    message = f"One `{got}` too many: no bracket of this kind is open here."
    return Fault(UNBALANCED_BRACKET, place, message, f"Delete the `{got}`.", deleted(place, safe=False))


def closed_too_early(text: str, at: int, next_key: Range) -> Fault:
    """A closing bracket behind which the object goes on."""
    place = Range(at, at + 1)
    message = (
        f"One `}}` too many: it ends the whole object, although {shown(text, next_key.start, next_key.end)} follows."
    )
    return Fault(UNBALANCED_BRACKET, place, message, "Delete this `}`.", deleted(place, safe=False))


def extra_closers(text: str, place: Range) -> Fault:
    """Closing brackets behind the complete value."""
    closers = [character for character in text[place.start : place.start + 200] if not character.isspace()]
    what = (
        f"One `{closers[0]}` too many"
        if len(closers) == 1
        else f"{len(closers)} brackets too many, {shown(''.join(closers))}"
    )
    if len(place) > 200:
        what = "A long row of brackets too many"
    message = f"{what}: the value was complete before it."
    return Fault(TRAILING_DATA, place, message, "Delete what is too many.", deleted(place, safe=True))


def trailing_text(text: str, place: Range) -> Fault:
    """Prose or the like behind the complete value."""
    message = f"{shown(text, place.start, place.end)} follows the complete value; nothing was expected behind it."
    return Fault(TRAILING_DATA, place, message, "Cut it off.", deleted(place, safe=True))


def leading_text(text: str, place: Range, *, cut: bool) -> Fault:
    """Prose or the like before the value."""
    message = (
        f"{shown(text, place.start, place.end)} stands before the JSON value; the payload should begin with the value."
    )
    if not cut:
        return Fault(MALFORMED_JSON, place, message)
    return Fault(MALFORMED_JSON, place, message, "Cut it off.", deleted(place, safe=True))


def only_text(text: str, place: Range) -> Fault:
    """A payload without any JSON."""
    message = f"The payload holds no JSON value, only text: {shown(text, place.start, place.end)}."
    return Fault(MALFORMED_JSON, place, message)


def empty(place: Range) -> Fault:
    """A payload with nothing in it."""
    return Fault(TRUNCATED_JSON, place, "The payload is empty; a JSON value was expected.")


def fence(text: str, opener: Range | None, closer: Range | None) -> Fault:
    """A Markdown code fence around the value, or half of one."""
    places = [place for place in (opener, closer) if place]
    first = places[0]
    what = "a Markdown code fence" if len(places) == 2 else "half a Markdown code fence"
    message = (
        f"{shown(text.rstrip(), first.start, first.end)} makes {what} around the JSON; a reader expects the bare value."
    )
    fix = Fix(tuple(Edit(place, "") for place in places), safe=True)
    return Fault(FENCED_PAYLOAD, first, message, "Remove the fence.", fix)


def unescaped_colon(text: str, at: int) -> Fault:
    """A colon behind a complete value of an object."""
    message = f"A colon stands behind the complete value {shown(text, max(at - 20, 0), at)}; `,` or `}}` was expected."
    return Fault(MALFORMED_JSON, Range(at, at + 1), message)


def cut_quote(text: str, place: Range) -> Fault:
    """A lone quote that neither opens nor closes a string."""
    message = f"The quote {shown(text, place.start, place.end)} neither opens nor closes a string."
    return Fault(MISSING_QUOTE, place, message, "Delete it.", Fix((Edit(place, ""),), safe=False))


def truncated(
    last: Range, what: str, missing: str, *, openers: tuple[Range, ...], fix: Fix | None, lost: str = ""
) -> Fault:
    """The end of the text within a value; `lost` says why closing it would be no honest repair."""
    left = f"{shown(missing)} is missing at the end" if fix else lost
    message = f"The payload ends {what}; {left}." if left else f"The payload ends {what}."
    related = tuple(Related(place, "This bracket is never closed.") for place in openers[:3])
    unfinished = "Drop what is unfinished and end" if fix and len(fix.edits) > 1 else "End"
    hint = f"{unfinished} the payload with {shown(missing)}, if the rest cannot be had." if fix else None
    return Fault(TRUNCATED_JSON, last, message, hint, fix, related=related)


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
        case QuoteRepair.CLOSE:
            following = f"before {shown(text, end, min(end + 20, len(text)))}" if end < len(text) else "at the end"
            return Fault(
                MISSING_QUOTE,
                Range(end - 1, end),
                f"The string {what} has no closing quote; one was expected {following}.",
                "Put the closing quote there.",
                Fix((*inner, Edit(Range(end, end), '"')), safe=False),
            )
        case QuoteRepair.EXTRA_FIRST:
            return Fault(
                MISSING_QUOTE,
                Range(start, start + 1),
                f"The string {what} begins with one quote too many.",
                "Delete one of the quotes.",
                Fix((Edit(Range(start, start + 1), ""), *inner), safe=False),
            )
        case QuoteRepair.EXTRA_LAST:
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
