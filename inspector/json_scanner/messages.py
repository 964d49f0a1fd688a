"""The messages, hints and repairs of JSON syntax faults.

Most are rows of a table; a function builds those whose text, range or repair depends on more than the text at the
range.
"""

from msgspec import Struct

from weaklink.inspector.diagnostics import Edit, Fault, Fix, Related
from weaklink.inspector.json_scanner.string_ends import QuoteRepair, StringExtent
from weaklink.inspector.rules import json_syntax
from weaklink.inspector.rules.rule import Rule
from weaklink.inspector.text import Range, counted, shown


class FaultMessage(Struct, frozen=True):
    """A row of the table of messages: the message, hint and repair of one kind of fault.

    In the texts, `{here}` is the text at the fault's range, quoted; `{value}` is what the caller passes, and `{shown}`
    the same quoted. `repair` is the text that replaces the range: "" deletes it, None means that there is no repair,
    unless the caller passes its edits.
    """

    rule: Rule
    message: str
    hint: str | None = None
    repair: str | None = None
    safe: bool = False

    def __call__(self, text: str, fault_range: Range, value: str = "", edits: tuple[Edit, ...] = ()) -> Fault:
        """The fault at a range of a text."""
        return self._fault(fault_range, value, shown(text, fault_range.start, fault_range.end), edits)

    def at_position(self, position: int, value: str = "") -> Fault:
        """The fault at one character; its message does not show it."""
        return self._fault(Range(position, position + 1), value, "", ())

    def _fault(self, fault_range: Range, value: str, here: str, edits: tuple[Edit, ...]) -> Fault:
        words = {"here": here, "value": value, "shown": shown(value)}
        hint = None if self.hint is None else self.hint.format_map(words)
        fix = None if self.repair is None else replaced(fault_range, self.repair.format_map(words), safe=self.safe)
        fix = Fix(edits, safe=self.safe) if edits else fix
        return Fault(self.rule, fault_range, self.message.format_map(words), hint, fix)


# commas, colons and other signs

trailing_comma = FaultMessage(
    json_syntax.TRAILING_COMMA,
    "A comma appears before `{value}`, but nothing follows it.",
    "Delete the comma.",
    repair="",
    safe=True,
)
extra_colon = FaultMessage(
    json_syntax.MISSING_VALUE,
    "A second colon follows the key {shown}; one was expected.",
    "Delete the colon.",
    repair="",
    safe=True,
)
wrong_sign = FaultMessage(
    json_syntax.MALFORMED_JSON,
    "{here} appears where JSON expects `{value}`.",
    "Write `{value}`.",
    repair="{value}",
    safe=True,
)
needless_semicolon = FaultMessage(
    json_syntax.MALFORMED_JSON,
    "`;` appears where `{value}` was expected.",
    "Delete the semicolon.",
    repair="",
    safe=True,
)
escaped_space = FaultMessage(
    json_syntax.INVALID_ESCAPE,
    "{here} is an escape outside any string, where JSON allows no escapes.",
    "Write the white space itself.",
    repair=" ",
    safe=True,
)
comment = FaultMessage(
    json_syntax.COMMENT_IN_JSON,
    "{here} is a comment, which JSON does not have.",
    "Delete the comment.",
    repair="",
    safe=True,
)
no_key = FaultMessage(json_syntax.MISSING_VALUE, "A key was expected here, not {here}.")
unexpected = FaultMessage(json_syntax.MALFORMED_JSON, "{here} appears where {value} was expected.")
no_value = FaultMessage(json_syntax.MALFORMED_JSON, "{here} appears where a value was expected.")

# brackets

tuple_instead = FaultMessage(
    json_syntax.EXPRESSION_AS_VALUE,
    "This is a tuple in round brackets; JSON has only arrays, in square brackets.",
    "Write `[` and `]`.",
    repair="[",
)
object_in_square_brackets = FaultMessage(
    json_syntax.UNBALANCED_BRACKET,
    "`[` opens an object, as its key {shown} shows; `{{` was expected.",
    "Write `{{` and `}}`.",
    repair="{{",
)
doubled_brace = FaultMessage(
    json_syntax.UNBALANCED_BRACKET,
    "Two `{{` appear here where one was expected; templates double their braces, JSON does not.",
    "Delete the second brace and the brace that closes it.",
    repair="",
)
closer_without_opener = FaultMessage(
    json_syntax.UNBALANCED_BRACKET,
    "Extra `{value}`: no bracket of this kind is open here.",
    "Delete the `{value}`.",
    repair="",
)

# text around the value

trailing_text = FaultMessage(
    json_syntax.TRAILING_DATA,
    "{here} follows the complete value; nothing was expected after it.",
    "Delete it.",
    repair="",
    safe=True,
)
trailing_members = FaultMessage(
    json_syntax.TRAILING_DATA,
    "{here} follows the complete value, with members of an object; nothing was expected after it.",
)
only_text = FaultMessage(json_syntax.MALFORMED_JSON, "The payload contains no JSON value, only text: {here}.")

# strings, words and numbers

cut_quote = FaultMessage(
    json_syntax.MISSING_QUOTE, "The quote {here} neither opens nor closes a string.", "Delete it.", repair=""
)
unclear_escapes = FaultMessage(
    json_syntax.INVALID_ESCAPE, "{here} is escaped once too often and is not a JSON string either way."
)
triple_quoted = FaultMessage(
    json_syntax.EXPRESSION_AS_VALUE,
    "{here} is a triple-quoted Python string; JSON expects one pair of quotes.",
    "Write it in one pair of double quotes, with its line feeds escaped.",
    repair="{value}",
)
python_literal = FaultMessage(
    json_syntax.PYTHON_LITERAL,
    "{here} is Python's spelling; JSON expects `{value}`.",
    "Write `{value}`.",
    repair="{value}",
    safe=True,
)
misspelt_literal = FaultMessage(
    json_syntax.UNQUOTED_WORD,
    "{here} is not a JSON literal; the closest is `{value}`.",
    "Write `{value}` if you meant that, or quote the word.",
    repair="{value}",
)
unquoted_value = FaultMessage(
    json_syntax.UNQUOTED_WORD,
    "The value {here} is neither quoted nor a number, `true`, `false` or `null`; a JSON parser stops here.",
    "Quote it if it is text: {shown}.",
    repair="{value}",
)
unquoted_key = FaultMessage(
    json_syntax.UNQUOTED_WORD,
    "The key {here} is not quoted; JSON expects {shown}.",
    "Write {shown}.",
    repair="{value}",
    safe=True,
)
non_finite = FaultMessage(
    json_syntax.NON_FINITE_NUMBER,
    "{here} is a number that JSON does not have.",
    "Write `null` if the tool accepts it, or omit the member.",
    repair="null",
)
arithmetic = FaultMessage(
    json_syntax.EXPRESSION_AS_VALUE,
    "{here} is an expression; JSON expects its result.",
    "Write the result, `{value}`.",
    repair="{value}",
)


def extra_comma(position: int, what: str, *, safe: bool) -> Fault:
    """A comma where a member or element was expected."""
    fault_range = Range(position, position + 1)
    message = f"A comma appears where {what} was expected."
    return Fault(
        json_syntax.MISSING_VALUE,
        fault_range,
        message,
        "Delete the comma if nothing is missing.",
        deleted(fault_range, safe=safe),
    )


def missing_value(text: str, key: Range, position: int) -> Fault:
    """A key without a value."""
    got = f"{shown(text, position, position + 1)} follows" if position < len(text) else "the payload ends"
    named = f"The key {shown(text, key.start, key.end)} has no value" if len(key) else "A value is missing"
    message = f"{named}: {got} where a value was expected."
    return Fault(json_syntax.MISSING_VALUE, key if len(key) else Range(position, position + 1), message)


def missing_comma(text: str, last: Range, position: int, insert_at: int) -> Fault:
    """Two members or elements without a comma between them; the gap and the next character are marked."""
    last_end = last.end
    before = shown(text, last.start, last_end)
    message = f"A comma was expected between {before} and {shown(text, position, min(position + 20, len(text)))}."
    fault_range = Range(last_end, position + 1)
    is_prose = text[position].isalpha() and text[last_end - 1] in "}]"
    fix = inserted(insert_at, ",", safe=not is_prose)
    return Fault(json_syntax.MISSING_COMMA, fault_range, message, "Put a comma between the two.", fix)


def missing_colon(text: str, key: Range, position: int) -> Fault:
    """A key and its value without a colon between them."""
    following = shown(text, position, min(position + 20, len(text)))
    message = f"A colon was expected between the key {shown(text, key.start, key.end)} and {following}."
    fault_range = Range(key.end, position + 1)
    fix = inserted(key.end, ":", safe=True)
    if position == key.end and text[position - 1] == '"':
        # What follows may be repaired at this position too; two insertions at one position have no order.
        fix = replaced(Range(position - 1, position), '":', safe=True)
    return Fault(json_syntax.MALFORMED_JSON, fault_range, message, "Put a colon after the key.", fix)


def unusual_space(text: str, fault_range: Range) -> Fault:
    """White space that JSON does not allow."""
    character = f"U+{ord(text[fault_range.start]):04X}"
    message = f"The character {character} appears between tokens, where JSON allows only space, tab and line end."
    return Fault(
        json_syntax.MALFORMED_JSON, fault_range, message, "Write a plain space.", replaced(fault_range, " ", safe=True)
    )


def duplicate_key(text: str, first: Range, again: Range) -> Fault:
    """The same key twice in one object."""
    key = shown(text, again.start, again.end)
    message = (
        f"The key {key} appears twice in one object; most parsers keep the last value, some the first, some reject it."
    )
    return Fault(
        json_syntax.DUPLICATE_KEY,
        again,
        message,
        "Keep one of the two.",
        related=(Related(first, "The first occurrence."),),
    )


def too_deep(position: int, depth: int) -> Fault:
    """A bracket nested deeper than weaklink reads."""
    message = f"This bracket opens level {depth + 1}; weaklink reads {depth} levels and keeps what is deeper as text."
    return Fault(json_syntax.TOO_DEEP, Range(position, position + 1), message)


def missing_opener(text: str, position: int, bracket: str) -> Fault:
    """A missing opening bracket, as a closing bracket later on shows."""
    end = min(position + 20, len(text))
    message = (
        f"`{bracket}` is missing before {shown(text, position, end)}: what follows belongs in one pair of brackets."
    )
    hint = f"Put `{bracket}` before it."
    return Fault(
        json_syntax.UNBALANCED_BRACKET,
        Range(position, position + 1),
        message,
        hint,
        inserted(position, bracket, safe=False),
    )


def missing_closers(text: str, fault_range: Range, edit: Edit, closers: str, opener: Range) -> Fault:
    """Brackets that should have been closed before `fault_range`."""
    message = (
        f"`{closers}` is missing before {shown(text, fault_range.start, min(fault_range.end + 10, len(text)))}: "
        f"{shown(text, opener.start, opener.end)} is still open there."
    )
    return Fault(
        json_syntax.UNBALANCED_BRACKET,
        fault_range,
        message,
        f"Put `{closers}` before it.",
        Fix((edit,), safe=False),
        related=(Related(opener, "The bracket that is still open."),),
    )


def missing_before_name(fault_range: Range, edit: Edit, closers: str, key: str) -> Fault:
    """The call's name is inside its arguments because their bracket was not closed."""
    message = (
        f'`{closers}` is missing before `, "name"`: the call\'s name appears inside {shown(key)}, '
        "which should have been closed before it."
    )
    return Fault(
        json_syntax.UNBALANCED_BRACKET,
        fault_range,
        message,
        f'Put `{closers}` before `, "name"`.',
        Fix((edit,), safe=False),
    )


def wrong_kind(position: int, got: str, expected: str, opener: Range) -> Fault:
    """A closing bracket of the other kind."""
    fault_range = Range(position, position + 1)
    message = f"`{got}` appears where `{expected}` was expected: the open bracket is of the other kind."
    related = (Related(opener, "The bracket that this one should close."),)
    fix = replaced(fault_range, expected, safe=False)
    return Fault(json_syntax.UNBALANCED_BRACKET, fault_range, message, f"Write `{expected}`.", fix, related=related)


def closed_too_early(text: str, position: int, next_key: Range) -> Fault:
    """A closing bracket after which the object continues."""
    fault_range = Range(position, position + 1)
    message = f"Extra `}}`: it ends the whole object, although {shown(text, next_key.start, next_key.end)} follows."
    return Fault(
        json_syntax.UNBALANCED_BRACKET, fault_range, message, "Delete this `}`.", deleted(fault_range, safe=False)
    )


def extra_closers(text: str, closers_range: Range) -> Fault:
    """Surplus closing brackets after the complete value."""
    closers = [
        character for character in text[closers_range.start : closers_range.start + 200] if not character.isspace()
    ]
    what = f"Extra `{closers[0]}`" if len(closers) == 1 else f"{len(closers)} extra brackets, {shown(''.join(closers))}"
    if len(closers_range) > 200:
        what = "A long run of extra brackets"
    message = f"{what}: the value was complete before it."
    is_repeated = set(closers) == {text[max(closers_range.start - 20, 0) : closers_range.start].rstrip()[-1:]}
    fix = deleted(closers_range, safe=is_repeated)  # a bracket of another kind shows that an opening one is missing
    return Fault(json_syntax.TRAILING_DATA, closers_range, message, "Delete the extra brackets.", fix)


def leading_text(text: str, text_range: Range, *, cut: bool) -> Fault:
    """Prose or the like before the value."""
    quoted = shown(text, text_range.start, text_range.end)
    message = f"{quoted} appears before the JSON value; the payload should begin with the value."
    if not cut:
        return Fault(json_syntax.MALFORMED_JSON, text_range, message)
    return Fault(json_syntax.MALFORMED_JSON, text_range, message, "Delete it.", deleted(text_range, safe=True))


def empty(fault_range: Range) -> Fault:
    """A payload with nothing in it."""
    return Fault(json_syntax.TRUNCATED_JSON, fault_range, "The payload is empty; a JSON value was expected.")


def fence(text: str, opener: Range | None, closer: Range | None) -> Fault:
    """A Markdown code fence around the value, or half of one."""
    fences = [fence_range for fence_range in (opener, closer) if fence_range]
    first = fences[0]
    what = "a Markdown code fence" if len(fences) == 2 else "an incomplete Markdown code fence"
    message = (
        f"{shown(text.rstrip(), first.start, first.end)} is part of {what} around the JSON; a parser expects the bare "
        "value."
    )
    fix = Fix(tuple(Edit(fence_range, "") for fence_range in fences), safe=True)
    return Fault(json_syntax.FENCED_PAYLOAD, first, message, "Remove the fence.", fix)


def unescaped_colon(text: str, position: int) -> Fault:
    """A colon after a complete value of an object."""
    before = shown(text, max(position - 20, 0), position)
    message = f"A colon appears after the complete value {before}; `,` or `}}` was expected."
    return Fault(json_syntax.MALFORMED_JSON, Range(position, position + 1), message)


def truncated(
    last: Range, what: str, missing: str, *, openers: tuple[Range, ...], fix: Fix | None, lost: str = ""
) -> Fault:
    """The end of the text within a value; `lost` says why closing it would not be an honest repair."""
    left = f"{shown(missing)} is missing at the end" if fix else lost
    message = f"The payload ends {what}; {left}." if left else f"The payload ends {what}."
    related = tuple(Related(opener, "This bracket is never closed.") for opener in openers[:3])
    unfinished = "Delete the incomplete part and end" if fix and len(fix.edits) > 1 else "End"
    hint = f"{unfinished} the payload with {shown(missing)}, if the rest is not available." if fix else None
    return Fault(json_syntax.TRUNCATED_JSON, last, message, hint, fix, related=related)


def replaced(edit_range: Range, text: str, *, safe: bool) -> Fix:
    """The repair that replaces a range with `text`."""
    return Fix((Edit(edit_range, text),), safe)


def deleted(edit_range: Range, *, safe: bool) -> Fix:
    """The repair that deletes a range."""
    return Fix((Edit(edit_range, ""),), safe)


def inserted(position: int, text: str, *, safe: bool) -> Fix:
    """The repair that inserts `text`."""
    return Fix((Edit(Range(position, position), text),), safe)


def quote_fault(text: str, extent: StringExtent, inner: list[Edit]) -> Fault:
    """A string with a missing or surplus quote; `inner` are the edits that escape the quotes within it."""
    start, end = extent.start, extent.end
    what = shown(text, start, end)
    match extent.repair:
        case QuoteRepair.CLOSE:
            following = f"before {shown(text, end, min(end + 20, len(text)))}" if end < len(text) else "at the end"
            return Fault(
                json_syntax.MISSING_QUOTE,
                Range(end - 1, end),
                f"The string {what} has no closing quote; one was expected {following}.",
                "Put the closing quote there.",
                Fix((*inner, Edit(Range(end, end), '"')), safe=False),
            )
        case QuoteRepair.EXTRA_FIRST:
            return Fault(
                json_syntax.MISSING_QUOTE,
                Range(start, start + 1),
                f"The string {what} begins with an extra quote.",
                "Delete one of the quotes.",
                Fix((Edit(Range(start, start + 1), ""), *inner), safe=False),
            )
        case QuoteRepair.EXTRA_LAST:
            return Fault(
                json_syntax.MISSING_QUOTE,
                Range(end - 1, end),
                f"The string {what} ends with an extra quote.",
                "Delete one of the quotes.",
                Fix((*inner, Edit(Range(end - 1, end), "")), safe=False),
            )
    first = inner[0].range.start if inner else start
    is_key = text[end : end + 8].lstrip().startswith(":")  # no key has quotes: a colon or a comma is missing before it
    return Fault(
        json_syntax.MISSING_QUOTE,
        Range(first, first + 1),
        f"The string {what} contains {counted(len(inner), 'unescaped quote')}, so a parser reads it as ending after "
        f"{shown(text, start, first + 1)}.",
        None if is_key else "Write a backslash before each quote within the string.",
        None if is_key else Fix(tuple(inner), safe=False),
    )


def missing_opening_quote(text: str, string_range: Range, edits: list[Edit]) -> Fault:
    """A string with a closing quote but no opening one."""
    return Fault(
        json_syntax.MISSING_QUOTE,
        Range(string_range.start, string_range.start + 1),
        f"The string {shown(text, string_range.start, string_range.end)} has a closing quote but no opening one.",
        f"Put a double quote before {shown(text, string_range.start, string_range.start + 1)}.",
        Fix((Edit(Range(string_range.start, string_range.start), '"'), *edits), safe=False),
    )


def smart_quote(text: str, string_range: Range, edits: list[Edit]) -> Fault:
    """A string between typographic quotes."""
    return Fault(
        json_syntax.SMART_QUOTE,
        string_range,
        f'{shown(text, string_range.start, string_range.end)} is in typographic quotes; JSON expects the plain `"`.',
        "Write plain double quotes.",
        Fix(tuple(edits), safe=True),
    )


def invalid_number(text: str, number_range: Range, spelling: str, reason: str, *, safe: bool) -> Fault:
    """A number in a spelling that JSON does not allow."""
    quoted = "" if safe or reason != "begins with a zero" else ", or quote it if it is a code, not a number"
    return Fault(
        json_syntax.INVALID_NUMBER,
        number_range,
        f"The number {shown(text, number_range.start, number_range.end)} {reason}, which JSON does not allow.",
        f"Write {shown(spelling)}{quoted}.",
        replaced(number_range, spelling, safe=safe),
    )


def expression(text: str, expression_range: Range, quoted: str, kind: str = "") -> Fault:
    """An expression or placeholder that a JSON reader cannot compute."""
    what = shown(text, expression_range.start, expression_range.end)
    if kind:
        message, hint = f"{what} is {kind}; JSON expects one plain string.", f"Write {shown(quoted)}."
    else:
        message = f"{what} is an expression or a placeholder, not a value; a JSON parser cannot evaluate it."
        hint = "Write the intended value; quoting the text only makes the JSON valid."
    return Fault(
        json_syntax.EXPRESSION_AS_VALUE, expression_range, message, hint, replaced(expression_range, quoted, safe=False)
    )
