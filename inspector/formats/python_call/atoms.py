"""Reads one value that is no list and no dict: a string, a number, a word, or an expression where a literal belongs."""

import keyword
import math
import re
from dataclasses import dataclass
from decimal import Decimal

from inspector.formats.python_call import wording as say
from inspector.formats.python_call.cursor import PythonCursor
from inspector.formats.python_call.strings import STRING_BEGINS, read_string, string_end
from inspector.json_scanner.arithmetic import result_of
from inspector.model import Json
from inspector.text import Range

_NUMBER = re.compile(
    r"([-+]?)[ \t]*(0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][-+]?\d+)?)"
    r"([jJ]?)(?![\w.])"
)
_WORD = re.compile(r"[^\W\d]\w*")
_LITERALS: dict[str, Json] = {
    "True": True, "False": False, "None": None, "true": True, "false": False, "null": None,
}  # fmt: skip
_NON_FINITE = re.compile(r"[-+]?(?:nan|inf|NaN|Infinity)")
_LEADING_ZERO = re.compile(r"0[\d_]*[1-9][\d_]*")
# Words, dates, times, addresses: text that only lacks its quotes.
_UNQUOTED = re.compile(r"[\w#@~/\\.°€$-][\w ,:;@~/\\.°€$%?!&#+'-]*")
_CODE = re.compile(
    r"[^\W\d]\w*(?:\.\w+)+|.*\b(?:if|for|and|or|not|in|lambda|await)\b.*|.*[*=<>|^].*|.*\s[+/%&-]\s.*|.*\w[+*]\w.*"
)
_RUN = {False: re.compile(r"[^'\"()\[\]{},]*+"), True: re.compile(r"[^'\"()\[\]{},:=]*+")}
_LONGEST_INT = 4300
_LONGEST_QUOTED = 10_000


@dataclass(slots=True)
class PythonValue:
    """A value and its place."""

    value: Json
    range: Range


def read_atom(cursor: PythonCursor, name: str, *, is_key: bool = False) -> PythonValue | None:
    """The value at the cursor, `name`'s; None where there is none, which is flagged. `is_key`: a dict's key."""
    start, character = cursor.at, cursor.peek()
    if not character:
        cursor.cut(f"the value of `{name}`" if name else "a list of values", closable=not name)
        return None
    if character in ",)]}":
        cursor.flag(say.no_value(Range(start, start + 1), name, character))
        return None
    if STRING_BEGINS.match(cursor.text, start) and (text := read_string(cursor)) is not None:
        return PythonValue(_joined(cursor, text), cursor.since(start))
    number = _NUMBER.match(cursor.text, start)
    if number is not None:
        cursor.at = number.end()
        return PythonValue(_number(cursor, number), cursor.since(start))
    word = _WORD.match(cursor.text, start)
    if word is not None and word[0] in _LITERALS:
        cursor.at = word.end()
        if word[0].islower() and not cursor.takes_json:
            cursor.flag(say.json_literal(cursor.text, Range(*word.span()), repr(_LITERALS[word[0]])))
        return PythonValue(_LITERALS[word[0]], cursor.since(start))
    return read_expression(cursor, start, is_key=is_key)


def read_expression(cursor: PythonCursor, start: int, *, is_key: bool = False) -> PythonValue:
    """From `start`, over the cursor, to the next comma or closing bracket: what nobody can compute, or lacks quotes."""
    text = cursor.text
    _skip_expression(cursor, is_key=is_key)
    end = start + len(text[start : cursor.at].rstrip())
    if end == start:
        cursor.at = end = min(start + 1, len(text))
    place, what = Range(start, end), text[start:end]
    if cursor.at >= len(text) and not cursor.is_cut:
        cursor.cut("an expression" if "(" in what else "a value", closable=False)
    if is_key:
        cursor.flag(say.no_text_key(text, place, repr(what)))
        return PythonValue(what, place)
    if len(what) > _LONGEST_QUOTED:
        cursor.flag(say.expression(text, place, None))
        return PythonValue(what, place)
    result = result_of(what)
    if result is not None:
        cursor.flag(say.arithmetic(text, place, repr(result)))
        return PythonValue(result, place)
    if _NON_FINITE.fullmatch(what):
        cursor.flag(say.non_finite(text, place))
        return PythonValue(None, place)
    is_text = _UNQUOTED.fullmatch(what) and not _CODE.fullmatch(what) and not keyword.iskeyword(what)
    cursor.flag((say.unquoted if is_text else say.expression)(text, place, repr(what)))
    return PythonValue(what, place)


def _joined(cursor: PythonCursor, text: str) -> str:
    """A string with those that follow it at once: Python makes them one."""
    pieces = [text]
    while not cursor.is_cut:
        end = cursor.at
        cursor.skip()
        following = read_string(cursor) if STRING_BEGINS.match(cursor.text, cursor.at) else None
        if following is None:
            cursor.at = end
            break
        pieces.append(following)
    return "".join(pieces)


def _number(cursor: PythonCursor, number: re.Match[str]) -> Json:
    sign, digits = number[1], number[2].replace("_", "")
    place = Range(*number.span())
    if number[3]:
        cursor.flag(say.invalid_number(cursor.text, place, None))
        return number[0]
    if digits[:2].lower() in ("0x", "0o", "0b"):
        return int(sign + digits, 0)
    if any(mark in digits for mark in ".eE"):
        value = float(sign + digits)
        if not math.isfinite(value):
            cursor.flag(say.non_finite(cursor.text, place))
            return None
        return value
    if _LEADING_ZERO.fullmatch(digits):
        cursor.flag(say.invalid_number(cursor.text, place, sign + digits.lstrip("0")))
    return int(sign + digits) if len(digits) <= _LONGEST_INT else Decimal(sign + digits)


def _skip_expression(cursor: PythonCursor, *, is_key: bool) -> None:
    """Go to the next comma or closing bracket that is not within brackets or a string of the expression."""
    text, depth, run = cursor.text, 0, _RUN[is_key]
    while True:
        match = run.match(text, cursor.at)
        cursor.at = match.end() if match is not None else cursor.at
        character = cursor.peek()
        if not character or (not depth and character in ",)]}:="):
            return
        end = string_end(cursor, cursor.at + 1, character) if character in "'\"" else -1
        cursor.at = end if end >= 0 else cursor.at + 1
        depth += (character in "([{") - (character in ")]}")
