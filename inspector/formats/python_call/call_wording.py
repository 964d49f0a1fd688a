"""The faults of calls in Python's syntax and of their arguments: what each message says, and its repair."""

from inspector.diagnostics import Edit, Fault, Fix
from inspector.formats.python_call.wording import (
    duplicate,
    missing_closer,
    missing_comma,
    no_value,
    replaced,
    what_stands,
    wrong_separator,
)
from inspector.json_scanner.quoting import shown
from inspector.rules import call_shape
from inspector.rules import json_syntax as rules
from inspector.text import Range

__all__ = [
    "bare_name",
    "cut",
    "duplicate",
    "extra",
    "fenced",
    "missing_closer",
    "missing_comma",
    "no_value",
    "odd_name",
    "only_text",
    "positional",
    "reserved_name",
    "second_list",
    "unpacked",
    "wrong_separator",
    "wrong_sign",
]


def unpacked(text: str, place: Range) -> Fault:
    """`**{...}` or `*[...]` among the arguments."""
    return Fault(
        rules.EXPRESSION_AS_VALUE,
        place,
        f"{what_stands(text, place)} unpacks arguments, which readers of calls refuse; expected `name=value`.",
        "Write each argument as `name=value`.",
    )


def positional(text: str, place: Range, number: int) -> Fault:
    """An argument without a name."""
    return Fault(
        call_shape.POSITIONAL_ARGUMENT,
        place,
        f"The argument {what_stands(text, place)} has no name: expected `name=value`.",
        f"Write its name before it; by order it is the tool's parameter number {number}.",
    )


def wrong_sign(text: str, place: Range, name: str, edit: Edit) -> Fault:
    """`a: 1` or `"a"=1` for `a=1`."""
    return Fault(
        rules.MALFORMED_JSON,
        place,
        f"{what_stands(text, place)} is how an object writes a member; an argument is written `{name}=`.",
        f"Write `{name}=`.",
        Fix((edit,), safe=True),
    )


def reserved_name(text: str, place: Range) -> Fault:
    """An argument named like a word of Python's own."""
    return Fault(
        rules.MALFORMED_JSON,
        place,
        f"{what_stands(text, place)} is a word of Python itself and cannot name an argument: a reader that parses the "
        "call as Python refuses it.",
        "Give the tool's parameter another name, or use a format of JSON.",
    )


def odd_name(text: str, place: Range) -> Fault:
    """A tool's name that is no name in Python."""
    return Fault(
        rules.MALFORMED_JSON,
        place,
        f"The tool's name {what_stands(text, place)} is no name in Python: a reader that parses the call as Python "
        "refuses it.",
        "Give the tool a name of letters, digits, underscores and dots.",
    )


def extra(text: str, place: Range) -> Fault:
    """Brackets too many, or words behind a call."""
    is_brackets = not text[place.start : place.end].strip(")]} \n")
    what = "closes nothing" if is_brackets else "stands outside of any call"
    return Fault(
        rules.TRAILING_DATA,
        place,
        f"{what_stands(text, place)} {what}.",
        "Delete it.",
        replaced(place, "", safe=is_brackets),
    )


def second_list(place: Range) -> Fault:
    """A list of calls behind another, on one line."""
    return Fault(
        call_shape.SEVERAL_OBJECTS_IN_ONE_CALL,
        place,
        "A second list of calls stands behind the first; servers read one list, or none.",
        "Write all calls into one list.",
    )


def only_text(text: str, place: Range) -> Fault:
    """No call at all."""
    return Fault(
        call_shape.NOT_A_CALL,
        place,
        f"{what_stands(text, place)} is no call: expected one such as `name(argument='value')`.",
    )


def bare_name(text: str, place: Range) -> Fault:
    """A name without parentheses."""
    name = text[place.start : place.end]
    return Fault(
        call_shape.NOT_A_CALL,
        place,
        f"{what_stands(text, place)} names a tool but does not call it: expected `()` behind it.",
        f"Write {shown(name + '()')}.",
        replaced(Range(place.end, place.end), "()", safe=False),
    )


def cut(text: str, open_brackets: str, inside: str, *, closable: bool) -> Fault:
    """The text ends within a call."""
    end = len(text)
    missing = f"; {shown(open_brackets)} is missing at the end" if open_brackets else ""
    fix = replaced(Range(end, end), open_brackets, safe=False) if closable else None
    hint = f"End the call with {shown(open_brackets)}, if the rest cannot be had." if closable else None
    return Fault(
        rules.TRUNCATED_JSON, Range(max(end - 1, 0), end), f"The call ends within {inside}{missing}.", hint, fix
    )


def fenced(place: Range, edits: tuple[Edit, ...]) -> Fault:
    """A code fence around the calls."""
    return Fault(
        rules.FENCED_PAYLOAD,
        place,
        "The calls stand in a code fence, which is no part of them; most servers take the whole for text.",
        "Remove the fence.",
        Fix(edits, safe=True),
    )
