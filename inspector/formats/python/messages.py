"""The messages, hints and repairs of faults in Python call syntax.

Most are rows of a table; a function builds those whose text, range or repair depends on more than the text at the
range.
"""

from msgspec import structs

from weaklink.inspector.diagnostics import Edit, Fault, Fix, Related
from weaklink.inspector.json_scanner.messages import FaultMessage, replaced
from weaklink.inspector.rules import json_syntax as rules
from weaklink.inspector.text import Range, counted, shown

# names and arguments

unpacked = FaultMessage(
    rules.EXPRESSION_AS_VALUE,
    "{here} unpacks arguments, which parsers of calls reject; expected `name=value`.",
    "Write each argument as `name=value`.",
)
positional = FaultMessage(
    rules.POSITIONAL_ARGUMENT,
    "The argument {here} has no name: expected `name=value`.",
    "Write its name before it; by position it is parameter number {value} of the tool.",
)
wrong_sign = FaultMessage(
    rules.MALFORMED_JSON,
    "{here} is the syntax of an object member; write an argument as `{value}=`.",
    "Write `{value}=`.",
    repair="{value}=",
    safe=True,
)
reserved_name = FaultMessage(
    rules.MALFORMED_JSON,
    "{here} is a Python keyword and cannot name an argument: a parser that reads the call as Python rejects it.",
    "Give the tool's parameter another name, or use a JSON format.",
)
invalid_name = FaultMessage(
    rules.MALFORMED_JSON,
    "The tool's name {here} is not a valid Python name: a parser that reads the call as Python rejects it.",
    "Give the tool a name of letters, digits, underscores and dots.",
)
no_text_key = FaultMessage(
    rules.UNQUOTED_WORD,
    "The key {here} is not a string; a JSON object has only string keys.",
    "Write {shown}.",
    repair="{value}",
)


def duplicate(name_range: Range, name: str, first: Range, what: str) -> Fault:
    """The same argument or key twice."""
    ending = ", Python itself rejects the call." if what == "argument" else "."
    return Fault(
        rules.DUPLICATE_KEY,
        name_range,
        f"The {what} {shown(name)} appears twice; most parsers keep the last value{ending}",
        "Keep one of them.",
        related=(Related(first, "The first occurrence."),),
    )


# whole calls, and what is around them

_extra_brackets = FaultMessage(rules.TRAILING_DATA, "{here} closes nothing.", "Delete it.", repair="", safe=True)
_extra_words = FaultMessage(rules.TRAILING_DATA, "{here} appears outside any call.", "Delete it.", repair="")
second_list = FaultMessage(
    rules.SEVERAL_OBJECTS_IN_ONE_CALL,
    "A second list of calls appears after the first; servers read one list, or none.",
    "Write all calls in one list.",
)
only_text = FaultMessage(rules.NOT_A_CALL, "{here} is not a call: expected one such as `name(argument='value')`.")
fenced = FaultMessage(
    rules.FENCED_PAYLOAD,
    "The calls are in a code fence, which is not part of the format; most servers read everything as text.",
    "Remove the fence.",
    safe=True,
)


def extra(text: str, fault_range: Range) -> Fault:
    """Surplus brackets, or words after a call."""
    row = _extra_words if fault_range.of(text).strip(")]} \n") else _extra_brackets
    return row(text, fault_range)


def bare_name(text: str, name_range: Range) -> Fault:
    """A name without parentheses."""
    message = (
        f"{shown(text, name_range.start, name_range.end)} names a tool but does not call it: expected `()` after it."
    )
    hint = f"Write {shown(name_range.of(text) + '()')}."
    return Fault(
        rules.NOT_A_CALL, name_range, message, hint, replaced(Range(name_range.end, name_range.end), "()", safe=False)
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


# strings

bytes_string = FaultMessage(
    rules.EXPRESSION_AS_VALUE,
    "{here} is bytes, which JSON arguments cannot contain; expected a plain string.",
    "Write {shown}.",
    repair="{value}",
)
f_string = FaultMessage(
    rules.EXPRESSION_AS_VALUE,
    "{here} is an f-string, which parsers do not evaluate; expected a plain string.",
    "Write {shown}.",
    repair="{value}",
)
broken_escape = FaultMessage(
    rules.INVALID_ESCAPE,
    "The escape {here} is incomplete, which Python rejects.",
    "Double the backslash if it is literal.",
)
unknown_escape = FaultMessage(
    rules.INVALID_ESCAPE,
    "{here} is not a Python escape: Python keeps the backslash with a SyntaxWarning, and later versions reject it.",
    "Double the backslash.",
    safe=True,
)


def quotes_within(text: str, string_range: Range, edits: tuple[Edit, ...]) -> Fault:
    """A string that contains its own quote without a backslash."""
    first = edits[0].range.start
    return Fault(
        rules.MISSING_QUOTE,
        Range(first, first + 1),
        f"The string {shown(text, string_range.start, string_range.end)} contains "
        f"{counted(len(edits), 'unescaped quote')} of the same kind, "
        f"so Python reads it as ending after {shown(text, string_range.start, first + 1)}.",
        "Write a backslash before each quote within the string, or use the other quotes around it.",
        Fix(edits, safe=False),
    )


def no_closing_quote(text: str, string_range: Range, quote: str) -> Fault:
    """A string without its closing quote, although the call continues after it."""
    return Fault(
        rules.MISSING_QUOTE,
        Range(string_range.end - 1, string_range.end),
        f"The string {shown(text, string_range.start, string_range.end)} has no closing quote; one was expected before "
        f"{shown(text, string_range.end, min(string_range.end + 20, len(text)))}.",
        "Put the closing quote there.",
        replaced(Range(string_range.end, string_range.end), quote, safe=False),
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


# other values

arithmetic = FaultMessage(
    rules.EXPRESSION_AS_VALUE,
    "{here} is an expression; expected its result.",
    "Write the result, `{value}`.",
    repair="{value}",
)
expression = FaultMessage(
    rules.EXPRESSION_AS_VALUE,
    "{here} is an expression, not a literal; parsers of calls do not evaluate it.",
    "Write the intended value; quoting the text only makes the call valid.",
    repair="{value}",
)
long_expression = structs.replace(expression, repair=None)
unquoted = FaultMessage(
    rules.UNQUOTED_WORD,
    "The value {here} is neither quoted nor a number, `True`, `False` or `None`; Python reads it as a variable.",
    "Quote it if it is text: {shown}.",
    repair="{value}",
)
json_literal = FaultMessage(
    rules.UNQUOTED_WORD,
    "{here} is a JSON literal; Python reads it as a variable, so strict parsers reject the call.",
    "Write `{value}`.",
    repair="{value}",
    safe=True,
)
no_list = FaultMessage(
    rules.EXPRESSION_AS_VALUE,
    "{here} is a {value}, which JSON does not have; expected a list.",
    "Write it in square brackets.",
)
complex_number = FaultMessage(rules.INVALID_NUMBER, "{here} is a complex number, which JSON does not have.")
leading_zero = FaultMessage(
    rules.INVALID_NUMBER,
    "The number {here} begins with a zero, which Python does not allow.",
    "Write `{value}`, or quote it if it is a code, not a number.",
    repair="{value}",
)
non_finite = FaultMessage(
    rules.NON_FINITE_NUMBER,
    "{here} is a number that JSON does not have.",
    "Write `None` if the tool accepts it, or omit the argument.",
    repair="None",
)
too_deep = FaultMessage(rules.TOO_DEEP, "The value is nested deeper than {value} levels; it is kept as text.")
no_value = FaultMessage(rules.MISSING_VALUE, "{here} appears where a value was expected.")
no_named_value = FaultMessage(rules.MISSING_VALUE, "{here} appears where the value of {shown} was expected.")


# signs between values

wrong_member_sign = FaultMessage(
    rules.MALFORMED_JSON,
    "{here} appears where a colon was expected.",
    "Write a colon.",
    repair=":",
    safe=True,
)
wrong_separator = FaultMessage(
    rules.MALFORMED_JSON,
    "{here} appears where a comma was expected.",
    "Write a comma.",
    repair=",",
    safe=True,
)


def missing_comma(text: str, position: int, following: int) -> Fault:
    """Two values without a comma between them."""
    return Fault(
        rules.MISSING_COMMA,
        Range(position, max(following, position + 1)),
        f"A comma is missing before {shown(text, following, min(following + 20, len(text)))}.",
        "Put a comma there.",
        replaced(Range(position, position), ", " if position == following else ",", safe=True),
    )


def missing_closer(text: str, position: int, bracket: str) -> Fault:
    """A bracket that is not closed, although something follows that only fits after it."""
    fault_range = Range(position, position + 1) if position < len(text) else Range(max(position - 1, 0), position)
    before = (
        f" before {shown(text, position, min(position + 20, len(text)))}"
        if text[position : position + 20].strip()
        else " at the end"
    )
    message, fix = f"`{bracket}` is missing{before}.", replaced(Range(position, position), bracket, safe=False)
    return Fault(rules.UNBALANCED_BRACKET, fault_range, message, f"Put `{bracket}` there.", fix)
