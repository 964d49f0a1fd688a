"""What stands between tokens: white space, and what JSON does not have there: comments and unusual spaces."""

import re

from inspector.json_scanner.bracket_wording import comment, escaped_space, odd_space
from inspector.json_scanner.cursor import Cursor
from inspector.scanning import end_of_repeats, repeated
from inspector.text import Range

_COMMENT = re.compile(r"//[^\n]*+|#[^\n]*+|/\*")
_CLOSERS_AT_END = re.compile(r"[\s}\])]*\Z")
# Everything that Unicode calls a space, the byte order mark and spaces of no width.
_ODD_SPACE = re.compile("[\x0b\x0c\x1c-\x1f\x85\xa0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u2060\u3000\ufeff]++")
_ESCAPED_SPACE = repeated(r"\\[nrt]")
_PLAIN = frozenset("{}[]\",:'")
_LOOK_BACK = 64


def skip_gap(cursor: Cursor, *, before_value: bool) -> None:
    """Move over white space and comments; what JSON does not allow there is a fault.

    Before a value, `#` begins a comment only if white space follows: `#fff` is a word there.
    """
    cursor.skip_blank()
    while cursor.peek() and cursor.peek() not in _PLAIN and _skip_other(cursor, before_value=before_value):
        cursor.skip_blank()


def _skip_other(cursor: Cursor, *, before_value: bool) -> bool:
    character = cursor.peek()
    if character in "/#":
        return _skip_comment(cursor, before_value=before_value)
    start, repeats, say = cursor.at, _ODD_SPACE, odd_space
    if character == "\\":
        repeats, say = _ESCAPED_SPACE, escaped_space
    end = end_of_repeats(repeats, cursor.text, start, cursor.end)
    if end == start or (character == "\\" and end < cursor.end and cursor.text[end] == '"'):
        return False
    cursor.at = end
    cursor.found.add(say(cursor.text, Range(start, end)))
    return True


def _skip_comment(cursor: Cursor, *, before_value: bool) -> bool:
    text, start = cursor.text, cursor.at
    match = _COMMENT.match(text, start, cursor.end)
    if not match or (before_value and text[start] == "#" and not text[start + 1 : start + 2].isspace()):
        return False
    end = match.end()
    if match[0] == "/*":
        closed = text.find("*/", end, cursor.end)
        end = cursor.end if closed < 0 else closed + 2
    elif end == cursor.end:
        end = _without_closers(text, start, end)
    cursor.at = end
    cursor.found.add(comment(text, Range(start, end)))
    return True


def _without_closers(text: str, start: int, end: int) -> int:
    """A comment that ends the payload does not swallow the brackets that close it."""
    match = _CLOSERS_AT_END.search(text, max(start + 1, end - _LOOK_BACK), end)
    return match.start() if match else end
