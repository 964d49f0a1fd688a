"""Reads the arguments of a call in Python's syntax, however nested, and what models write in their place.

Nothing is evaluated: literals are read, everything else is an expression and a fault. Open brackets are on an explicit
stack, so that no depth can break the reader. JSON's `true`, `false` and `null` are read as well. They are not a fault
if a format's own template writes them (LFM2 within dicts, OLMo 3 everywhere); elsewhere Python refuses the names.
"""

import keyword
import re

from msgspec import Struct, field

from weaklink.inspector.diagnostics import Edit
from weaklink.inspector.formats.python import messages
from weaklink.inspector.formats.python.literals import (
    CursorMark,
    PythonCursor,
    PythonValue,
    decoded,
    read_atom,
    read_expression,
)
from weaklink.inspector.json_scanner import MAX_DEPTH
from weaklink.inspector.model import Json, Parameter
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import Range

# The usual argument: a whole string, an integer or a literal, and what follows it.
_PLAIN = lazy_pattern(
    r"""
    [ \n]*+ ([^\W\d]\w*+) =                                             # 1: the argument's name
    (?: ' (?!'') ([^'\\\n]*+ (?:\\[\s\S][^'\\\n]*+){0,10000}) '         # 2: a string, not a triple-quoted one
      | " (?!"") ([^"\\\n]*+ (?:\\[\s\S][^"\\\n]*+){0,10000}) "         # 3: the same in the other quotes
      | (-? (?: 0 | [1-9][0-9]{0,17}+ ))                                # 4: an integer
      | (True|False|None) )                                             # 5: a literal
    [ \n]*+ (?=[,)])                                                    # the argument ends
    """,
    re.VERBOSE,
)

_LAST_STRING = 3
"""The last group of the argument pattern that is the content of a string."""

_LITERALS: dict[str, Json] = {"True": True, "False": False, "None": None}
_KEYWORD = lazy_pattern(r"([^\W\d]\w*)\s*+=(?!=)\s*+")
_MEMBER = lazy_pattern(r"([\"']?)([^\W\d]\w*)\1\s*+([:=]|=>)(?!=)\s*+")
_NESTED_CALL = lazy_pattern(r"[^\W\d][\w.]*\((?:\s*+\)|\s*+[^\W\d]\w*\s*+=(?!=))")
_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_NAMES = {"(": "tuple", "{": "set"}
_NEXT_ARGUMENT = lazy_pattern(r"[^\W\d]\w*\s*+=(?!=)")
_NEXT_ITEM = lazy_pattern(r"[rRuU]?['\"]|-?\d|(?:True|False|None|true|false|null)\b|[\[{]")


class Arguments(Struct):
    """The arguments of one call: their values, each with its ranges, and their range as a whole."""

    start: int
    end: int = 0
    members: dict[str, Json] = field(default_factory=dict)
    parameters: dict[str | int, Parameter] = field(default_factory=dict)


def read_arguments(cursor: PythonCursor, *, is_list: bool) -> Arguments:
    """Read the arguments after the opening parenthesis; the cursor moves after the closing one."""
    arguments = Arguments(cursor.position)
    ranges: dict[str, tuple[int, int]] = {}
    while True:
        _read_plain(cursor, arguments, ranges)
        arguments.end = cursor.position
        character = cursor.skip()
        if character == ")":
            cursor.position += 1
            return arguments
        if character and character in "]}":
            if character == "]" and is_list:
                cursor.flag(messages.missing_closer(cursor.text, arguments.end, ")"))
                return arguments
            cursor.flag(messages.extra(cursor.text, Range(cursor.position, cursor.position + 1)))
            cursor.position += 1
            continue
        if arguments.parameters and is_list and _NESTED_CALL.match(cursor.text, cursor.position):
            comma = cursor.text.rfind(",", 0, cursor.position)
            cursor.flag(messages.missing_closer(cursor.text, comma, ")"))
            cursor.position = arguments.end = comma
            return arguments
        if character:
            _read_argument(cursor, arguments, ranges)
        arguments.end = cursor.position
        if not character or cursor.is_cut:
            cursor.cut("the arguments of the call", ")" + "]" * is_list)
            return arguments
        _separator(cursor)


def _read_plain(cursor: PythonCursor, arguments: Arguments, ranges: dict[str, tuple[int, int]]) -> None:
    """Read usual arguments, and the commas after them, up to an unusual one."""
    text, base, is_keyword = cursor.text, cursor.base, keyword.iskeyword
    members, parameters = arguments.members, arguments.parameters
    while (match := _PLAIN.match(text, cursor.position)) is not None:
        name = match[1]
        if name in ranges or is_keyword(name):
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
        first, last = ranges[name] = match.span(1)
        value_range, name_range = Range(start + base, end + base), Range(first + base, last + base)
        parameters[name] = Parameter(name, written, value_range, name_range, typed=True)
        arguments.end = cursor.position = end
        if text[end : end + 1] == ",":
            cursor.position = end + 1
        else:
            _separator(cursor)


def _read_argument(cursor: PythonCursor, arguments: Arguments, ranges: dict[str, tuple[int, int]]) -> None:
    text, start = cursor.text, cursor.position
    match = _KEYWORD.match(text, start)
    if match is not None:
        name, name_range = match[1], Range(*match.span(1))
    else:
        match = _MEMBER.match(text, start)
        if match is None:
            _read_unnamed(cursor, arguments)
            return
        name, name_range = match[2], Range(*match.span(2))
        cursor.flag(messages.wrong_sign(text, Range(start, match.end(3)), name))
    if keyword.iskeyword(name):
        cursor.flag(messages.reserved_name(text, name_range), readable=True)
    cursor.position = match.end()
    value = read_value(cursor, name)
    if name in ranges:
        cursor.faults.add(messages.duplicate(name_range, name, Range(*ranges[name]), "argument"))
        arguments.parameters.pop(name, None)
    ranges[name] = (name_range.start, name_range.end)
    if value is not None:
        arguments.members[name] = value.value
        moved_value_range, moved_name_range = value.range.moved(cursor.base), name_range.moved(cursor.base)
        arguments.parameters[name] = Parameter(
            name, value.range.of(text), moved_value_range, moved_name_range, typed=True
        )


def _read_unnamed(cursor: PythonCursor, arguments: Arguments) -> None:
    start = cursor.position
    if cursor.peek() == "*":
        mark = cursor.mark()
        value = read_expression(cursor, start)
        cursor.undo(mark)
        cursor.flag(messages.unpacked(cursor.text, value.range))
        return
    if cursor.peek() == ",":
        cursor.flag(messages.no_value(cursor.text, Range(start, start + 1)))
        return
    argument = read_value(cursor, "")
    if argument is None or cursor.is_cut:
        return
    number = len(arguments.parameters) + 1
    cursor.flag(messages.positional(cursor.text, argument.range, str(number)))
    value_range = argument.range.moved(cursor.base)
    arguments.parameters[number] = Parameter("", argument.range.of(cursor.text), value_range, typed=True)


def _separator(cursor: PythonCursor) -> None:
    """Read the comma between two arguments, or what is in its place."""
    end = cursor.position
    character = cursor.skip()
    if character == ",":
        cursor.position += 1
    elif character == ";":
        cursor.flag(messages.wrong_separator(cursor.text, Range(cursor.position, cursor.position + 1)))
        cursor.position += 1
    elif character and character not in ")]}":
        cursor.flag(messages.missing_comma(cursor.text, end, cursor.position))


class _OpenBracket(Struct):
    """An open bracket: its content so far, and the cursor's counts when it opened."""

    opener: str
    mark: CursorMark
    items: list[Json] = field(default_factory=list)
    members: dict[str, Json] = field(default_factory=dict)
    ranges: dict[str, Range] = field(default_factory=dict)
    key: str | None = None
    has_comma: bool = False

    @property
    def expects_key(self) -> bool:
        return self.opener == "{" and self.key is None and not self.items

    @property
    def name(self) -> str:
        return self.key or ""


def read_value(cursor: PythonCursor, name: str) -> PythonValue | None:
    """Read the value of the argument `name` at the cursor and move after it; None if there is none."""
    frames: list[_OpenBracket] = []
    first = cursor.position
    while True:
        character = cursor.skip()
        if character and character in _CLOSERS:
            if len(frames) == MAX_DEPTH:
                return _too_deep(cursor, first, frames[0])
            frames.append(_OpenBracket(character, cursor.mark()))
            cursor.position += 1
            if cursor.skip() != _CLOSERS[character]:
                continue
            value = None
        else:
            expects_key = bool(frames) and frames[-1].expects_key
            mark = cursor.mark()
            value = read_atom(cursor, frames[-1].name if frames else name, is_key=expects_key)
            value = _or_expression(cursor, value, mark, frames)
        while frames and _add_value(cursor, frames[-1], value):
            frame = frames.pop()
            value = _closed(cursor, frame)
            value = _or_expression(cursor, value, frame.mark, frames)
        if not frames:
            return value


def _or_expression(
    cursor: PythonCursor, value: PythonValue | None, mark: CursorMark, frames: list[_OpenBracket]
) -> PythonValue | None:
    """`value`, or the expression that begins with it."""
    if value is None or cursor.is_cut:
        return value
    end = cursor.position
    character = cursor.skip()
    is_key = bool(frames) and frames[-1].expects_key
    if not character or character in ",)]};" or (is_key and character in ":="):
        return value
    pattern = _NEXT_ITEM if frames else _NEXT_ARGUMENT
    if pattern.match(cursor.text, cursor.position) and cursor.position > end:
        return value
    cursor.position = end
    cursor.undo(mark)
    return read_expression(cursor, mark.position, is_key=is_key)


def _add_value(cursor: PythonCursor, frame: _OpenBracket, value: PythonValue | None) -> bool:
    """Add `value` to the open bracket; returns whether the bracket is now closed."""
    if frame.expects_key and value is not None:
        return _add_key(cursor, frame, value)
    if frame.key is not None:
        frame.members[frame.key] = value.value if value is not None else None
        frame.key = None
    elif value is not None:
        frame.items.append(value.value)
    return _is_closed(cursor, frame)


def _add_key(cursor: PythonCursor, frame: _OpenBracket, value: PythonValue) -> bool:
    character = cursor.skip()
    if character not in (":", "=") and not frame.members:
        frame.items.append(value.value)
        return _is_closed(cursor, frame)
    key = value.value if isinstance(value.value, str) else value.range.of(cursor.text)
    if not isinstance(value.value, str):
        cursor.flag(messages.no_text_key(cursor.text, value.range, repr(key)))
    if key in frame.ranges:
        cursor.faults.add(messages.duplicate(value.range, key, frame.ranges[key], "key"))
    frame.key = key
    frame.ranges[key] = value.range
    if character == "=":
        cursor.flag(messages.wrong_member_sign(cursor.text, Range(cursor.position, cursor.position + 1)))
    if character in (":", "="):
        cursor.position += 1
        return False
    if not character:
        cursor.cut(f"the key `{key}`", closable=False)
    else:
        cursor.flag(messages.no_named_value(cursor.text, Range(cursor.position, cursor.position + 1), key))
    frame.members[key], frame.key = None, None
    return _is_closed(cursor, frame)


def _is_closed(cursor: PythonCursor, frame: _OpenBracket) -> bool:
    """Move over what follows an item (a comma, a closing bracket or a fault); returns whether the bracket is closed."""
    end = cursor.position
    character = cursor.skip()
    if character == ",":
        frame.has_comma = True
        cursor.position += 1
        following = cursor.skip()
        if _NEXT_ARGUMENT.match(cursor.text, cursor.position):
            cursor.position = end
            cursor.flag(messages.missing_closer(cursor.text, end, _CLOSERS[frame.opener]))
            return True
        return following == _CLOSERS[frame.opener] and _is_closed(cursor, frame)
    if character == _CLOSERS[frame.opener]:
        cursor.position += 1
        return True
    if not character:
        cursor.cut("a list" if frame.opener == "[" else "an object", _CLOSERS[frame.opener])
        return True
    if character in ")]}":
        cursor.flag(messages.missing_closer(cursor.text, end, _CLOSERS[frame.opener]))
        return True
    if character == ";":
        cursor.flag(messages.wrong_separator(cursor.text, Range(cursor.position, cursor.position + 1)))
        cursor.position += 1
        return False
    cursor.flag(messages.missing_comma(cursor.text, end, cursor.position))
    return False


def _closed(cursor: PythonCursor, frame: _OpenBracket) -> PythonValue:
    """The value of a closed bracket."""
    container_range = cursor.since(frame.mark.position)
    if frame.opener == "[":
        return PythonValue(frame.items, container_range)
    if frame.opener == "{" and not frame.items:
        return PythonValue(frame.members, container_range)
    if frame.opener == "(" and len(frame.items) == 1 and not frame.has_comma:
        return PythonValue(frame.items[0], container_range)
    if not cursor.is_cut:
        edits = (
            Edit(Range(container_range.start, container_range.start + 1), "["),
            Edit(Range(container_range.end - 1, container_range.end), "]"),
        )
        cursor.flag(messages.no_list(cursor.text, container_range, _NAMES[frame.opener], edits))
    return PythonValue(frame.items, container_range)


def _too_deep(cursor: PythonCursor, first: int, outermost: _OpenBracket) -> PythonValue:
    cursor.position = first
    cursor.undo(outermost.mark)
    value = read_expression(cursor, first)
    cursor.undo(outermost.mark)
    cursor.flag(messages.too_deep(cursor.text, value.range, str(MAX_DEPTH)))
    return value
