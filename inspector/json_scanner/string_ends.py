r"""Finds the end of a string: at its quote, at the quote that was meant, or where the missing one belongs.

Theory of operation. A string ends at its next unescaped quote, unless the text after that quote says otherwise: after
a key, for example, a colon must come. What may come depends on where the string is (`ValueContext`), and is a pattern
for each context: `_FOLLOWS` if the string ends at its first quote, the stricter `_CLOSES` for a quote that is only a
guess. `find_end` returns a `StringExtent`, whose `repair` says what is wrong. For a string in double quotes that is
not followed by what it should be, `_double` tries in this order:

    {"a": "one"", "b": 2}         EXTRA_LAST   the closing quote is doubled
    {"a": "one" + x}              NONE         the string begins an expression, which is another reader's fault
    {"a": "one, "b": 2}           CLOSE        the quote after the comma opens the next key (`_missing`)
    {"a: 1, "b": 2}               CLOSE        a key ends before its colon (`_missing_in_key`)
    {"a": ""one", "b": 2}         EXTRA_FIRST  the opening quote is doubled (`_doubled`)
    {"a": "say "hi" now"}         ESCAPE       the quotes within it are not escaped (`_inner`)

If no quote follows at all, `_unterminated` decides whether only the quote is missing (CLOSE: `{"a": "one}`), or the
text ends within the string (CUT: `{"a": "on`). A single or curly quote is also an apostrophe, so it closes its string
only if `_SINGLE_END` or `_CURLY_END` follows. Nothing plausible means: the string ends at its first quote.

Lookahead and lookbehind are bounded, and stop once a payload's list of faults is full, so time stays linear.
"""

import re
from enum import Enum, auto

from msgspec import Struct

from weaklink.inspector.json_scanner.cursor import JsonCursor, ValueContext
from weaklink.inspector.scanning import closing_quote, lazy_pattern
from weaklink.inspector.text import Range

_B = r"\s*+"
_COMMENT = r"//|/\*|\#"
_NAME_AND_COLON = rf"""["'“‘][^"'”’\n]{{0,100}}["'”’]{_B}:|[A-Za-z_$][\w$.-]{{0,63}}["']?{_B}[:=]"""
_NEXT_ITEM = r"\s++(?:-?\d|true\b|false\b|null\b)"  # its comma was forgotten: `"a" 2`
# What may follow a string in each context, if the string ends at its first quote.
_FOLLOWS = {
    ValueContext.KEY: lazy_pattern(rf"{_B}(?:[:=,}}\]]|\Z|{_COMMENT})"),
    ValueContext.MEMBER: lazy_pattern(
        rf"""
          {_B} (?: [}}\];] | \Z | {_COMMENT}
                 | , {_B} (?: ["'“‘}}{{\[\],/\#\\\d] | \Z | {_NAME_AND_COLON} ) )   # the next member
        | \s*+ ["'][^"'\\\n]{{0,100}}["'] {_B} :                # its comma was forgotten: `"a" "b": 2`
        | \s+ [A-Za-z_$][\w$]{{0,63}} {_B} :                    # and so were its quotes: `"a" b: 2`
        """,
        re.VERBOSE,
    ),
    ValueContext.ITEM: lazy_pattern(rf"""{_B}(?:[,\]}}:;]|\Z|{_COMMENT}|["'“‘{{\[])|{_NEXT_ITEM}"""),
    ValueContext.TUPLE: lazy_pattern(rf"""{_B}(?:[,\])}}:;]|\Z|{_COMMENT}|["'“‘{{\[])|{_NEXT_ITEM}"""),
    ValueContext.ROOT: lazy_pattern(""),
}
# The same, but stricter: used to search for the quote that was meant as the end.
_CLOSES = {
    ValueContext.KEY: lazy_pattern(rf"{_B}:"),
    ValueContext.MEMBER: lazy_pattern(
        rf"""
        {_B}
        (?: [}}\]] {_B} (?: [,}}\]] | \Z )                      # the object ends, and what contains it goes on
          | \Z
          | , {_B} (?: {_NAME_AND_COLON} | }} | \Z ) )          # the next member, or a comma too many
        """,
        re.VERBOSE,
    ),
    ValueContext.ITEM: lazy_pattern(rf"""{_B}(?:\]|\Z|,{_B}(?:["'“\[{{\d\-]|true\b|false\b|null\b|\]|\Z))"""),
}
_CLOSES[ValueContext.TUPLE] = lazy_pattern(rf"""{_B}(?:\)|\Z|,{_B}(?:["'“\[{{\d\-]|\)|\Z))""")
# What makes the quote before a colon or comma the opening one of the next string, not the closing one of this.
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
_MAX_QUOTES, _MAX_DISTANCE, _LOOK_BACK = 64, 20_000, 200

# A quote closes a single-quoted string only before one of these, so that `Men's` stays whole.
# Two exceptions: a sum of strings, and a next key whose comma was forgotten.
_SINGLE_END = rf"""{_B}[,}}\]:]|{_B}\Z|{_B}\+{_B}["']|\s++["'][^"'\n]{{1,64}}["']{_B}:|{_B};\s"""
_DOUBLES, _SINGLES = "“”„‟″＂«»", "‘’‚‛′＇"
_CURLY_END = rf"""{_B}[,}}\]:]|{_B}\Z"""

# The quotes that may close a string, and the pattern that must follow them.
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
    """Quotes within the string are not escaped."""
    EXTRA_FIRST = auto()
    """The opening quote is doubled."""
    EXTRA_LAST = auto()
    """The closing quote is doubled."""
    CUT = auto()
    """The text ends within the string."""


class StringExtent(Struct, frozen=True):
    """The extent of a string, and of its content; `closed` says that a quote ends it."""

    start: int
    content: Range
    end: int
    repair: QuoteRepair = QuoteRepair.NONE

    @property
    def closed(self) -> bool:
        """Whether a closing quote follows the content."""
        return self.end > self.content.end


def find_end(cursor: JsonCursor, start: int, context: ValueContext) -> StringExtent:
    """The extent of the string that begins with the quote at `start`."""
    quote = cursor.text[start]
    last = _last_quote(cursor, start, context)
    if last < 0:
        return _unterminated(cursor, start, context)
    plain = StringExtent(start, Range(start + 1, last), last + 1)
    if cursor.faults.full or context is ValueContext.ROOT:
        return plain
    if quote == '"':
        return _double(cursor, plain, context)
    if quote == "'" and context is not ValueContext.KEY:
        return _single(cursor, plain)
    return plain


def _last_quote(cursor: JsonCursor, start: int, context: ValueContext) -> int:
    """The position of the quote that closes the string from `start`; -1 if there is none."""
    quote = cursor.text[start]
    if quote == '"':
        return cursor.quotes.find(cursor.text, quote, start + 1, cursor.end)
    if quote == "'":
        closers, ends = _SINGLE_IN_TUPLE if context is ValueContext.TUPLE else _SINGLE
    else:
        closers, ends = _CURLY_DOUBLE if quote in _DOUBLES else _CURLY_SINGLE
    if start < cursor.no_end_from.get(ends, cursor.end):
        for match in closers.finditer(cursor.text, start + 1, cursor.end):
            if match[0][0] != "\\" and ends.match(cursor.text, match.end(), cursor.end):
                return match.start()
        cursor.no_end_from[ends] = start
    return -1


def _double(cursor: JsonCursor, plain: StringExtent, context: ValueContext) -> StringExtent:
    text, end = cursor.text, plain.end
    if text[end : end + 1] == '"' and _closing_pattern(context).match(text, end + 1, cursor.end):
        return StringExtent(plain.start, plain.content, end + 1, QuoteRepair.EXTRA_LAST)
    if _FOLLOWS[context].match(text, end, cursor.end) or _OPERATOR.match(text, end, cursor.end):
        return plain
    if context is ValueContext.KEY:
        return (
            _missing_in_key(cursor, plain.start) or _doubled(cursor, plain, context) or _inner(cursor, plain, context)
        )
    return _missing(cursor, plain, context) or _doubled(cursor, plain, context) or _inner(cursor, plain, context)


def _closing_pattern(context: ValueContext) -> re.Pattern[str]:
    return _CLOSES[context]


def _missing_in_key(cursor: JsonCursor, start: int) -> StringExtent | None:
    """The key in `"a: 1, "b": 2`: its closing quote belongs before the first colon."""
    match = _KEY_AND_COLON.match(cursor.text, start, cursor.end)
    if not match:
        return None
    return StringExtent(start, Range(*match.span(1)), match.end(1), QuoteRepair.CLOSE)


def _missing(cursor: JsonCursor, plain: StringExtent, context: ValueContext) -> StringExtent | None:
    """The value in `"one, "b": 2`: what seemed its closing quote opens the next string."""
    opener = plain.end - 1
    pattern = _AS_OPENER.get(context)
    if not pattern or not pattern.match(cursor.text, opener, cursor.end):
        return None
    extent = _ended_before(cursor, plain.start, opener, _TAIL)
    if extent is None and _MEMBER_AS_OPENER.match(cursor.text, opener, cursor.end):
        return _ended_before(cursor, plain.start, opener, _BLANK_TAIL)
    return extent


def _ended_before(cursor: JsonCursor, start: int, stop: int, pattern: re.Pattern[str]) -> StringExtent | None:
    """The string from `start` without a closing quote; `pattern` separates its content from what follows."""
    text = cursor.text
    match = pattern.search(text, max(start + 1, stop - _LOOK_BACK), stop)
    if not match:
        return None
    if match[1]:
        return StringExtent(start, Range(start + 1, match.end(1) - 1), match.end(1), QuoteRepair.NONE)
    end = match.start(2)
    closers = "".join(character for character in match[2] if character in "}]")
    if closers and not cursor.expected_closers().startswith(closers):
        end = match.start(2) + max(match[2].rfind("}"), match[2].rfind("]")) + 1
    return StringExtent(start, Range(start + 1, end), end, QuoteRepair.CLOSE)


def _doubled(cursor: JsonCursor, plain: StringExtent, context: ValueContext) -> StringExtent | None:
    if len(plain.content):
        return None
    last = cursor.quotes.find(cursor.text, '"', plain.end, cursor.end)
    if last < 0 or not _FOLLOWS[context].match(cursor.text, last + 1, cursor.end):
        return None
    return StringExtent(plain.start, Range(plain.end, last), last + 1, QuoteRepair.EXTRA_FIRST)


def _inner(cursor: JsonCursor, plain: StringExtent, context: ValueContext) -> StringExtent:
    """The string whose inner quotes are not escaped; `plain` if no end is plausible."""
    text, position = cursor.text, plain.end
    stop = min(cursor.end, position + _MAX_DISTANCE)
    for _ in range(_MAX_QUOTES):
        last = closing_quote(text, '"', position, stop)
        if last < 0:
            return plain
        position = last + 1
        if _closing_pattern(context).match(text, position, cursor.end):
            return StringExtent(plain.start, Range(plain.content.start, position - 1), position, QuoteRepair.ESCAPE)
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


def _unterminated(cursor: JsonCursor, start: int, context: ValueContext) -> StringExtent:
    """No closing quote up to the end: either only the quote is missing, or the text was cut off."""
    text, end = cursor.text, cursor.end
    cut = StringExtent(start, Range(start + 1, end), end, QuoteRepair.CUT)
    last = _LAST_TAIL.search(text, max(start + 1, end - 2 * _LOOK_BACK), end)
    if not last:
        return cut
    if context is ValueContext.KEY:
        return _missing_in_key(cursor, start) or cut
    closers = "".join(last[2].split())
    if not closers.endswith(cursor.expected_closers()) or not cursor.frames:
        return cut
    extent = _ended_before(cursor, start, end, _LAST_TAIL)
    if extent and extent.repair is QuoteRepair.CLOSE and len(closers) > len(cursor.frames):
        return cut
    return extent or cut
