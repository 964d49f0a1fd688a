"""Reads the arguments of one call in Python's syntax: `a=1, b='x'`, and what models write in their place."""

import keyword
import re
from dataclasses import dataclass, field

from inspector.diagnostics import Edit
from inspector.formats.python_call import call_wording as say
from inspector.formats.python_call.atoms import read_expression
from inspector.formats.python_call.cursor import PythonCursor
from inspector.formats.python_call.strings import decoded
from inspector.formats.python_call.values import read_value
from inspector.model import Json, Parameter
from inspector.text import Range

# An argument as most are: a whole string, an integer, a literal, and what follows it.
_PLAIN = re.compile(
    r"""[ \n]*+([^\W\d]\w*+)=(?:'(?!'')([^'\\\n]*+(?:\\[\s\S][^'\\\n]*+){0,10000})'"""
    r"""|"(?!"")([^"\\\n]*+(?:\\[\s\S][^"\\\n]*+){0,10000})"|(-?(?:0|[1-9][0-9]{0,17}+))"""
    r"""|(True|False|None))[ \n]*+(?=[,)])"""
)
_LAST_STRING = 3
"""The last group of an argument's expression that is the content of a string."""
_LITERALS: dict[str, Json] = {"True": True, "False": False, "None": None}
_KEYWORD = re.compile(r"([^\W\d]\w*)\s*+=(?!=)\s*+")
_MEMBER = re.compile(r"([\"']?)([^\W\d]\w*)\1\s*+([:=]|=>)(?!=)\s*+")
_NESTED_CALL = re.compile(r"[^\W\d][\w.]*\((?:\s*+\)|\s*+[^\W\d]\w*\s*+=(?!=))")


@dataclass(slots=True)
class Arguments:
    """The arguments of one call: what they are, each with its places, and where they stand together."""

    start: int
    end: int = 0
    members: dict[str, Json] = field(default_factory=dict)
    parameters: dict[str | int, Parameter] = field(default_factory=dict)


def read_arguments(cursor: PythonCursor, *, is_list: bool) -> Arguments:
    """The arguments behind the opening parenthesis; the cursor moves behind the closing one."""
    found = Arguments(cursor.at)
    places: dict[str, tuple[int, int]] = {}
    while True:
        _read_plain(cursor, found, places)
        found.end = cursor.at
        character = cursor.skip()
        if not character:
            found.end = cursor.at
            cursor.cut("the arguments of the call", ")" + "]" * is_list)
            return found
        if character == ")":
            cursor.at += 1
            return found
        if character in "]}":
            if character == "]" and is_list:
                cursor.flag(say.missing_closer(cursor.text, found.end, ")"))
                return found
            cursor.flag(say.extra(cursor.text, Range(cursor.at, cursor.at + 1)))
            cursor.at += 1
            continue
        if found.parameters and is_list and _NESTED_CALL.match(cursor.text, cursor.at):
            comma = cursor.text.rfind(",", 0, cursor.at)
            cursor.flag(say.missing_closer(cursor.text, comma, ")"))
            cursor.at = found.end = comma
            return found
        _read_argument(cursor, found, places)
        if cursor.is_cut:
            found.end = cursor.at
            cursor.cut("the arguments of the call", ")" + "]" * is_list)
            return found
        found.end = cursor.at
        _separator(cursor)


def _read_plain(cursor: PythonCursor, found: Arguments, places: dict[str, tuple[int, int]]) -> None:
    """Read arguments that are as most are, and the commas behind them, up to one that is not."""
    text, base, is_keyword = cursor.text, cursor.base, keyword.iskeyword
    members, parameters = found.members, found.parameters
    while (match := _PLAIN.match(text, cursor.at)) is not None:
        name = match[1]
        if name in places or is_keyword(name):
            return
        group = match.lastindex or 1
        start, end = match.span(group)
        written = match[group]
        if group <= _LAST_STRING:
            members[name] = written if "\\" not in written else decoded(cursor, start, end)
            start, end = start - 1, end + 1
            written = text[start:end]
        else:
            members[name] = _LITERALS[written] if written in _LITERALS else int(written)
        first, last = places[name] = match.span(1)
        place, name_place = Range(start + base, end + base), Range(first + base, last + base)
        parameters[name] = Parameter(name, written, place, name_place, typed=True)
        found.end = cursor.at = end
        if text[end : end + 1] == ",":
            cursor.at = end + 1
        else:
            _separator(cursor)


def _read_argument(cursor: PythonCursor, found: Arguments, places: dict[str, tuple[int, int]]) -> None:
    text, start = cursor.text, cursor.at
    match = _KEYWORD.match(text, start)
    if match is not None:
        name, place = match[1], Range(*match.span(1))
    else:
        match = _MEMBER.match(text, start)
        if match is None:
            _read_unnamed(cursor, found)
            return
        name, place = match[2], Range(*match.span(2))
        cursor.flag(
            say.wrong_sign(text, Range(start, match.end(3)), name, Edit(Range(start, match.end(3)), f"{name}="))
        )
    if keyword.iskeyword(name):
        cursor.flag(say.reserved_name(text, place), readable=True)
    cursor.at = match.end()
    value = read_value(cursor, name)
    if name in places:
        cursor.remark(say.duplicate(place, name, Range(*places[name]), "argument"))
        found.parameters.pop(name, None)
    places[name] = (place.start, place.end)
    if value is not None:
        found.members[name] = value.value
        value_place, name_place = value.range.moved(cursor.base), place.moved(cursor.base)
        found.parameters[name] = Parameter(name, value.range.of(text), value_place, name_place, typed=True)


def _read_unnamed(cursor: PythonCursor, found: Arguments) -> None:
    start = cursor.at
    if cursor.peek() == "*":
        mark = cursor.mark()
        value = read_expression(cursor, start)
        cursor.undo(mark)
        cursor.flag(say.unpacked(cursor.text, value.range))
        return
    if cursor.peek() == ",":
        cursor.flag(say.no_value(Range(start, start + 1), "", ","))
        return
    argument = read_value(cursor, "")
    if argument is None or cursor.is_cut:
        return
    number = len(found.parameters) + 1
    cursor.flag(say.positional(cursor.text, argument.range, number))
    place = argument.range.moved(cursor.base)
    found.parameters[number] = Parameter("", argument.range.of(cursor.text), place, typed=True)


def _separator(cursor: PythonCursor) -> None:
    """The comma between two arguments, or what stands in its place."""
    end = cursor.at
    character = cursor.skip()
    if character == ",":
        cursor.at += 1
    elif character == ";":
        cursor.flag(say.wrong_separator(cursor.text, Range(cursor.at, cursor.at + 1)))
        cursor.at += 1
    elif character and character not in ")]}":
        cursor.flag(say.missing_comma(cursor.text, end, cursor.at))
