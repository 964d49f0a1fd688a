"""Finds where a string ends: at its quote, at the quote that was meant, or where the missing one belongs.

All looks ahead and back are bounded, and none happens once a payload's faults are full, so time stays linear.
"""

import re
from enum import Enum, auto

from msgspec import Struct

from inspector.json_scanner.cursor import JsonCursor, ValueContext
from inspector.scanning import closing_quote, lazy_pattern
from inspector.text import Range

_B = r"\s*+"
_COMMENT = r"//|/\*|\#"
_NAME_AND_COLON = rf"""["'“‘][^"'”’\n]{{0,100}}["'”’]{_B}:|[A-Za-z_$][\w$.-]{{0,63}}["']?{_B}[:=]"""
# What may stand behind a string in each place, if the string ended where its quote says.
_FOLLOWS = {
    ValueContext.KEY: lazy_pattern(rf"{_B}(?:[:=,}}\]]|\Z|{_COMMENT})"),
    ValueContext.MEMBER: lazy_pattern(
        rf"""{_B}(?:[}}\];]|\Z|{_COMMENT}|,{_B}(?:["'“‘}}{{\[\],/\#\\\d]|\Z|{_NAME_AND_COLON}))|\s*+["'][^"'\\\n]{{0,100}}["']{_B}:"""
        rf"|\s+[A-Za-z_$][\w$]{{0,63}}{_B}:"
    ),
    ValueContext.ITEM: lazy_pattern(
        rf"""{_B}(?:[,\]}}:;]|\Z|{_COMMENT}|["'“‘{{\[])|\s++(?:-?\d|true\b|false\b|null\b)"""
    ),
    ValueContext.TUPLE: lazy_pattern(
        rf"""{_B}(?:[,\])}}:;]|\Z|{_COMMENT}|["'“‘{{\[])|\s++(?:-?\d|true\b|false\b|null\b)"""
    ),
    ValueContext.ROOT: lazy_pattern(""),
}
# The same, told apart more strictly: an end found while looking for the quote that was meant.
_CLOSES = {
    ValueContext.KEY: lazy_pattern(rf"{_B}:"),
    ValueContext.MEMBER: lazy_pattern(rf"{_B}(?:[}}\]]{_B}(?:[,}}\]]|\Z)|\Z|,{_B}(?:{_NAME_AND_COLON}|}}|\Z))"),
    ValueContext.ITEM: lazy_pattern(rf"""{_B}(?:\]|\Z|,{_B}(?:["'“\[{{\d\-]|true\b|false\b|null\b|\]|\Z))"""),
}
_CLOSES[ValueContext.TUPLE] = lazy_pattern(rf"""{_B}(?:\)|\Z|,{_B}(?:["'“\[{{\d\-]|\)|\Z))""")
_AS_OPENER = {
    ValueContext.MEMBER: lazy_pattern(rf'"[^"\\\n]{{0,100}}"{_B}:'),
    ValueContext.ITEM: lazy_pattern(rf'"[^"\n]{{0,100}}"{_B}(?:\]|,{_B}["\[{{\d\]])'),
}
_MEMBER_AS_OPENER = lazy_pattern(
    rf"""{_AS_OPENER[ValueContext.MEMBER].pattern}{_B}(?:["'{{\[\d-]|[tT]rue\b|[fF]alse\b|null\b|None\b)"""
)
_OPERATOR = lazy_pattern(r"""\s*+(?:\+\s*+["'\w(]|%\s*+[\w(]|\*\s*+\d|\.[a-z]{1,20}\()""")
_TAIL = lazy_pattern(r'(\\"|[“”])?([\s}\]]*(?:,|\n)\s*)\Z')
_BLANK_TAIL = lazy_pattern(r"(\\\")?(\s+)\Z")
_LAST_TAIL = lazy_pattern(r'(\\"|[“”’])?([\s}\]]*[}\]]\s*)\Z')
_SINGLE_TAIL = lazy_pattern(r"[\s}\]]*(?:,|\n)\s*\Z")
_KEY_AND_COLON = lazy_pattern(rf'["\'“‘]([\w$][\w$ .-]{{0,63}}?){_B}:')
_MOST_QUOTES, _FARTHEST, _LOOK_BACK = 64, 20_000, 200

# A quote closes a single-quoted string only before one of these, so that `Men's` stays whole (FAULTS.md, point 7);
# a sum of strings and a next key on whose comma was forgotten are the two exceptions.
_SINGLE_END = rf"""{_B}[,}}\]:]|{_B}\Z|{_B}\+{_B}["']|\s++["'][^"'\n]{{1,64}}["']{_B}:|{_B};\s"""
_DOUBLES, _SINGLES = "“”„‟″＂«»", "‘’‚‛′＇"
_CURLY_END = rf"""{_B}[,}}\]:]|{_B}\Z"""

# What closes a string, and ends it only before one of these: the characters, and with what follows them.
_SINGLE = lazy_pattern(r"\\.|'", re.DOTALL), lazy_pattern(_SINGLE_END)
_SINGLE_IN_TUPLE = _SINGLE[0], lazy_pattern(rf"{_SINGLE_END}|{_B}\)")
_CURLY_DOUBLE = lazy_pattern(rf'\\.|[{_DOUBLES}"]', re.DOTALL), lazy_pattern(_CURLY_END)
_CURLY_SINGLE = lazy_pattern(rf"\\.|[{_SINGLES}']", re.DOTALL), lazy_pattern(_CURLY_END)


class QuoteRepair(Enum):
    """What is wrong with a string's quotes."""

    NONE = auto()
    CLOSE = auto()
    """The closing quote is missing."""
    ESCAPE = auto()
    """Quotes within are not escaped."""
    EXTRA_FIRST = auto()
    """The opening quote stands twice."""
    EXTRA_LAST = auto()
    """The closing quote stands twice."""
    CUT = auto()
    """The text ends within the string."""


class StringExtent(Struct, frozen=True):
    """Where a string lies, and its content; `closed` says that a quote ends it."""

    start: int
    content: Range
    end: int
    mend: QuoteRepair = QuoteRepair.NONE

    @property
    def closed(self) -> bool:
        """Whether a closing quote stands behind the content."""
        return self.end > self.content.end


def find_end(cursor: JsonCursor, start: int, place: ValueContext) -> StringExtent:
    """The extent of the string that begins with the quote at `start`."""
    quote = cursor.text[start]
    last = _last_quote(cursor, start, place)
    if last < 0:
        return _unterminated(cursor, start, place)
    plain = StringExtent(start, Range(start + 1, last), last + 1)
    if cursor.found.full or place is ValueContext.ROOT:
        return plain
    if quote == '"':
        return _double(cursor, plain, place)
    if quote == "'" and place is not ValueContext.KEY:
        return _single(cursor, plain)
    return plain


def _last_quote(cursor: JsonCursor, start: int, place: ValueContext) -> int:
    """Where the quote stands that closes the string from `start`; -1 where none does."""
    quote = cursor.text[start]
    if quote == '"':
        return cursor.quotes.find(cursor.text, quote, start + 1, cursor.end)
    if quote == "'":
        closers, ends = _SINGLE_IN_TUPLE if place is ValueContext.TUPLE else _SINGLE
    else:
        closers, ends = _CURLY_DOUBLE if quote in _DOUBLES else _CURLY_SINGLE
    if start < cursor.endless.get(ends, cursor.end):
        for match in closers.finditer(cursor.text, start + 1, cursor.end):
            if match[0][0] != "\\" and ends.match(cursor.text, match.end(), cursor.end):
                return match.start()
        cursor.endless[ends] = start
    return -1


def _double(cursor: JsonCursor, plain: StringExtent, place: ValueContext) -> StringExtent:
    text, end = cursor.text, plain.end
    if text[end : end + 1] == '"' and _closing(place).match(text, end + 1, cursor.end):
        return StringExtent(plain.start, plain.content, end + 1, QuoteRepair.EXTRA_LAST)
    if _FOLLOWS[place].match(text, end, cursor.end) or _OPERATOR.match(text, end, cursor.end):
        return plain
    if place is ValueContext.KEY:
        return _missing_in_key(cursor, plain.start) or _doubled(cursor, plain, place) or _inner(cursor, plain, place)
    return _missing(cursor, plain, place) or _doubled(cursor, plain, place) or _inner(cursor, plain, place)


def _closing(place: ValueContext) -> re.Pattern[str]:
    return _CLOSES[place]


def _missing_in_key(cursor: JsonCursor, start: int) -> StringExtent | None:
    """The key in `"a: 1, "b": 2`: its closing quote belongs before the first colon."""
    match = _KEY_AND_COLON.match(cursor.text, start, cursor.end)
    if not match:
        return None
    return StringExtent(start, Range(*match.span(1)), match.end(1), QuoteRepair.CLOSE)


def _missing(cursor: JsonCursor, plain: StringExtent, place: ValueContext) -> StringExtent | None:
    """The value in `"one, "b": 2`: what seemed its closing quote opens the next string."""
    opener = plain.end - 1
    pattern = _AS_OPENER.get(place)
    if not pattern or not pattern.match(cursor.text, opener, cursor.end):
        return None
    extent = _ended_before(cursor, plain.start, opener, _TAIL)
    if extent is None and _MEMBER_AS_OPENER.match(cursor.text, opener, cursor.end):
        return _ended_before(cursor, plain.start, opener, _BLANK_TAIL)
    return extent


def _ended_before(cursor: JsonCursor, start: int, stop: int, pattern: re.Pattern[str]) -> StringExtent | None:
    """The string from `start` that lacks its closing quote, where `pattern` tells content from what follows it."""
    text = cursor.text
    match = pattern.search(text, max(start + 1, stop - _LOOK_BACK), stop)
    if not match:
        return None
    if match[1]:
        return StringExtent(start, Range(start + 1, match.end(1) - 1), match.end(1), QuoteRepair.NONE)
    end = match.start(2)
    closers = "".join(character for character in match[2] if character in "}]")
    if closers and not cursor.awaited().startswith(closers):
        end = match.start(2) + max(match[2].rfind("}"), match[2].rfind("]")) + 1
    return StringExtent(start, Range(start + 1, end), end, QuoteRepair.CLOSE)


def _doubled(cursor: JsonCursor, plain: StringExtent, place: ValueContext) -> StringExtent | None:
    if len(plain.content):
        return None
    last = cursor.quotes.find(cursor.text, '"', plain.end, cursor.end)
    if last < 0 or not _FOLLOWS[place].match(cursor.text, last + 1, cursor.end):
        return None
    return StringExtent(plain.start, Range(plain.end, last), last + 1, QuoteRepair.EXTRA_FIRST)


def _inner(cursor: JsonCursor, plain: StringExtent, place: ValueContext) -> StringExtent:
    """The string whose quotes within are not escaped; the string as it seemed if no end is plausible."""
    text, at = cursor.text, plain.end
    stop = min(cursor.end, at + _FARTHEST)
    for _ in range(_MOST_QUOTES):
        last = closing_quote(text, '"', at, stop)
        if last < 0:
            return plain
        at = last + 1
        if _closing(place).match(text, at, cursor.end):
            return StringExtent(plain.start, Range(plain.content.start, at - 1), at, QuoteRepair.ESCAPE)
    return plain


def _single(cursor: JsonCursor, plain: StringExtent) -> StringExtent:
    """In `'one, 'b': 2` the quote before the colon ends the next key, and the one before it began that key."""
    text = cursor.text
    after = text[plain.end : plain.end + 1]
    opener = text.rfind("'", max(plain.content.start, plain.content.end - _LOOK_BACK), plain.content.end)
    if after != ":" or opener < 0:
        return plain
    match = _SINGLE_TAIL.search(text, max(plain.content.start, opener - _LOOK_BACK), opener)
    if not match:
        return plain
    return StringExtent(plain.start, Range(plain.content.start, match.start()), match.start(), QuoteRepair.CLOSE)


def _unterminated(cursor: JsonCursor, start: int, place: ValueContext) -> StringExtent:
    """No closing quote up to the end: either only the quote is missing, or the text was cut."""
    text, end = cursor.text, cursor.end
    cut = StringExtent(start, Range(start + 1, end), end, QuoteRepair.CUT)
    last = _LAST_TAIL.search(text, max(start + 1, end - 2 * _LOOK_BACK), end)
    if not last:
        return cut
    if place is ValueContext.KEY:
        return _missing_in_key(cursor, start) or cut
    closers = "".join(last[2].split())
    if not closers.endswith(cursor.awaited()) or not cursor.frames:
        return cut
    extent = _ended_before(cursor, start, end, _LAST_TAIL)
    if extent and extent.mend is QuoteRepair.CLOSE and len(closers) > len(cursor.frames):
        return cut
    return extent or cut
