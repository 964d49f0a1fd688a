r"""Reads Python literals: strings, numbers, words, and expressions where a literal belongs.

Theory of operation. `read_atom` tries a string, a number and a word in turn. What is none of these is an expression,
read up to the next comma or closing bracket outside its own brackets and strings; nothing is evaluated but arithmetic:

    'a' "b"         strings that follow each other are one: `ab`
    1_000  0xFF     numbers in Python's spellings
    True  null      a literal; JSON's only where the dialect writes them
    2 * 60          an expression whose value is certain: its repair is `120`
    next monday     text whose quotes are missing
    now() + 1       any other expression: kept as its text, and a fault

A string ends at its next unescaped quote if `_FOLLOWS` matches after it. Otherwise the quote is part of the text, as
in `'Men's shoes'`, and the next one that `_CLOSES` follows is the end; or the closing quote is missing, as in
`a='Oslo, b=2`, and the string ends where `_SWALLOWED` or `_MISSING` matches. A quote whose end was not found is not
searched for again, so time is linear.

Source: the Python language reference, section 2.4.1 (string and bytes literals).
"""

import keyword
import math
import re
import unicodedata
from dataclasses import dataclass, field
from decimal import Decimal

from msgspec import Struct

from weaklink.inspector.diagnostics import Edit, Fault
from weaklink.inspector.formats.python import messages
from weaklink.inspector.json_scanner.cursor import PayloadFaults
from weaklink.inspector.json_scanner.words import result_of
from weaklink.inspector.model import Json
from weaklink.inspector.scanning import closing_quote, end_of_repeats, lazy_pattern, repeated
from weaklink.inspector.text import Range, shown

_SPACE_BEGINS = frozenset(" \t\n\r\f\\#")
_SPACE = repeated(r"[ \t\n\r\f]++|\\\r?\n|(?<=[\s,(\[{])#[^\n]*+")

_NUMBER = lazy_pattern(
    r"""
    ([-+]?) [ \t]*
    ( 0[xX][\da-fA-F_]+ | 0[oO][0-7_]+ | 0[bB][01_]+            # another base
    | (?: \d[\d_]*\.?[\d_]* | \.\d[\d_]* ) (?:[eE][-+]?\d+)? )  # 1_000, 1.5, .5, 1e-3
    ([jJ]?)
    (?![\w.])
    """,
    re.VERBOSE,
)
"""A number of Python, with its sign (group 1) and the `j` of an imaginary one (group 3): `-1_000`, `0xFF`, `1e-3j`."""

_WORD = lazy_pattern(r"[^\W\d]\w*")

_LITERALS: dict[str, Json] = {
    "True": True, "False": False, "None": None, "true": True, "false": False, "null": None,
}  # fmt: skip

_NON_FINITE = lazy_pattern(r"[-+]?(?:nan|inf|NaN|Infinity)")
_LEADING_ZERO = lazy_pattern(r"0[\d_]*[1-9][\d_]*")

# Words, dates, times, addresses: text whose quotes are missing.
_UNQUOTED = lazy_pattern(r"[\w#@~/\\.°€$-][\w ,:;@~/\\.°€$%?!&#+'-]*")

_CODE = lazy_pattern(
    r"""
      [^\W\d]\w* (?:\.\w+)+                                     # a.b
    | .* \b(?:if|for|and|or|not|in|lambda|await)\b .*           # x if y
    | .* [*=<>|^] .*                                            # a * b
    | .* \s[+/%&-]\s .*                                         # a - b
    | .* \w[+*]\w .*                                            # a+b
    """,
    re.VERBOSE,
)
"""An expression that is no unquoted text: `a.b`, `x if y`, `a * b`, `a - b`, `a+b`."""

_RUN = {False: lazy_pattern(r"[^'\"()\[\]{},]*+"), True: lazy_pattern(r"[^'\"()\[\]{},:=]*+")}
_MAX_INT_DIGITS = 4300
_MAX_QUOTED_CHARS = 10_000
_STRING_BEGINS = lazy_pattern(r"([A-Za-z]{0,2})('''|\"\"\"|'|\")")
_PREFIXES = frozenset({"", "r", "u", "b", "br", "rb", "f", "fr", "rf"})

_CONTENT = {
    "'": repeated(r"[^'\\\n]++|\\[\s\S]"),
    '"': repeated(r'[^"\\\n]++|\\[\s\S]'),
    "'''": repeated(r"[^'\\]++|\\[\s\S]|'(?!'')"),
    '"""': repeated(r'[^"\\]++|\\[\s\S]|"(?!"")'),
}

_KEYWORD = r"[^\W\d]\w{0,63}\s{0,8}+=(?!=)"
_CALL = r"[^\W\d][\w.]{0,127}+\("

# What may follow a string that ends at its first matching quote; and (`_CLOSES`), more strictly, one whose end had to
# be searched for.
_FOLLOWS = lazy_pattern(rf"\s*+(?:[,)\]}}:;#]|\Z|\s(?:{_KEYWORD})|[rRuUbBfF]{{0,2}}['\"])")

_OPERATES = lazy_pattern(
    r"""
    \s*+
    (?: \+ \s*+ ["'\w(]                     # 'a' + b
      | % \s*+ [\w("']                      # 'a %s' % b
      | \* \s*+ \d                          # 'a' * 3
      | \. [a-z_]{1,30} \(                  # 'a'.join(
      | \[ [\d:]                            # 'a'[0]
      | \s (?:if|or|and|in|not) \s )        # 'a' if b
    """,
    re.VERBOSE,
)

_CLOSES = lazy_pattern(
    rf"""
    \s*+
    (?: \Z
      | [)\]}}] [\s)\]}}]{{0,64}}+ (?: \Z | , | {_CALL} )   # closing brackets, then the end, a comma or a call
      | , \s*+ (?: {_KEYWORD}                               # the next argument or item
                 | ['\"\[{{\d)\]}}-]
                 | (?:True|False|None)\b ) )
    """,
    re.VERBOSE,
)
"""What follows a quote that ends its string: the end, closing brackets before a comma or call, or the next argument."""

_MISSING = lazy_pattern(
    rf"""
      (?= , \s*+ [^\W\d][\w.]{{0,127}}+ \( \s{{0,8}}+ {_KEYWORD} )              # the next call
    | (?= \s{{0,16}}+ , \s*+ {_KEYWORD} )                                       # the next keyword argument
    | (?= \) \s*+ (?: \]? \s*+ \Z | \]? \s*+ ,? \s*+ \[? {_CALL} ) )            # the last bracket of this call
    """,
    re.VERBOSE,
)
"""Where a string whose quote is missing ends: before the next call, the next keyword argument, or the last bracket."""

_ESCAPE = lazy_pattern(
    r"""
    \\ (?: (\n)                             # 1: a line end
         | ([\\'"abfnrtv])                  # 2: one letter
         | ([0-7]{1,3})                     # 3: octal
         | x([0-9a-fA-F]{2})
         | u([0-9a-fA-F]{4})
         | U([0-9a-fA-F]{8})
         | N\{([^}]{1,100})\}               # 7: a character's name
         | ([\s\S]?) )                      # 8: anything else
    """,
    re.VERBOSE,
)
"""A backslash and what it escapes, by kind: a line end, one letter, octal, `x`, `u`, `U`, a name, or any other."""

_SWALLOWED = lazy_pattern(rf",\s*+(?:[^\W\d][\w.]{{0,127}}+\(\s*+)?{_KEYWORD}\s*+\Z")
_LOOK_BACK = 100
_BREAK = lazy_pattern(r"(?<!\\)[\r\n]")
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_CONTROLS = {"\n": "\\n", "\r": "\\r"}


class CursorMark(Struct, frozen=True):
    """A position in the text, and how many faults were found before it."""

    position: int
    breaks: int
    hopeless: int


@dataclass(slots=True)
class PythonCursor:
    """`position` is that of the next character of `text`, which begins at `base` in the whole text.

    `namespace` is what the dialect puts before a tool's name, and inside `print(...)`; "" if it does not.
    `breaks` counts the faults that make a call invalid, `hopeless` those of them without an honest repair.
    `is_cut` says that the text ended too early: within `within`. `closers` would end what is open, unless `closable` is
    False, because a value is missing.
    """

    text: str
    position: int = 0
    base: int = 0
    namespace: str = ""
    takes_json: bool = True
    """Whether JSON's `true`, `false` and `null` are literals here, as Python's own are."""
    faults: PayloadFaults = field(init=False)
    breaks: int = 0
    hopeless: int = 0
    is_cut: bool = False
    within: str = ""
    closers: str = ""
    closable: bool = True
    unterminated: set[str] = field(default_factory=set)
    """The quotes for which no further end of a string was found in this payload."""
    unclosed: dict[str, tuple[int, int]] = field(default_factory=dict)
    """For each kind of quotes the last section, up to a line end, in which a string was not closed."""

    def __post_init__(self) -> None:
        self.faults = PayloadFaults(self.text)

    def skip(self) -> str:
        """Move over white space and comments; returns the next character, "" at the end."""
        character = self.text[self.position : self.position + 1]
        if character not in _SPACE_BEGINS:
            return character
        self.position = end_of_repeats(_SPACE, self.text, self.position, len(self.text))
        return self.text[self.position : self.position + 1]

    def peek(self) -> str:
        """The next character, "" at the end."""
        return self.text[self.position : self.position + 1]

    def flag(self, fault: Fault, *, readable: bool = False) -> None:
        """Add a fault that makes the call invalid; without a fix also unreadable, unless the fault is `readable`."""
        self.faults.add(fault)
        self.breaks += 1
        self.hopeless += fault.fix is None and not readable

    def mark(self) -> CursorMark:
        """The current position and counts, for `undo`."""
        return CursorMark(self.position, self.breaks, self.hopeless)

    def undo(self, mark: CursorMark) -> None:
        """Drop the faults found since `mark`, because a greater fault covers them; the position does not change."""
        self.faults.forget(mark.position)
        self.breaks, self.hopeless = mark.breaks, mark.hopeless

    def cut(self, within: str, closer: str = "", *, closable: bool = True) -> None:
        """Record that the text ends here, within something that `closer` would end."""
        self.is_cut = True
        self.within = self.within or within
        self.closers += closer
        self.closable = self.closable and closable

    def since(self, start: int) -> Range:
        """The range from `start` to the current position."""
        return Range(start, self.position)


class PythonValue(Struct):
    """A value and its range."""

    value: Json
    range: Range


def read_atom(cursor: PythonCursor, name: str, *, is_key: bool = False) -> PythonValue | None:
    """Read the value of `name` at the cursor; None, with a fault, if there is none. `is_key`: it is a dict's key."""
    start, character = cursor.position, cursor.peek()
    if not character:
        cursor.cut(f"the value of `{name}`" if name else "a list of values", closable=not name)
        return None
    if character in ",)]}":
        row = messages.no_named_value if name else messages.no_value
        cursor.flag(row(cursor.text, Range(start, start + 1), name))
        return None
    if (text := read_string(cursor)) is not None:
        return PythonValue(_joined(cursor, text), cursor.since(start))
    number = _NUMBER.match(cursor.text, start)
    if number is not None:
        cursor.position = number.end()
        return PythonValue(_number(cursor, number), cursor.since(start))
    word = _WORD.match(cursor.text, start)
    if word is not None and word[0] in _LITERALS:
        cursor.position = word.end()
        if word[0].islower() and not cursor.takes_json:
            cursor.flag(messages.json_literal(cursor.text, Range(*word.span()), repr(_LITERALS[word[0]])))
        return PythonValue(_LITERALS[word[0]], cursor.since(start))
    return read_expression(cursor, start, is_key=is_key)


def read_expression(cursor: PythonCursor, start: int, *, is_key: bool = False) -> PythonValue:
    """Read an expression, or unquoted text, from `start`, past the cursor, to the next comma or closing bracket."""
    text = cursor.text
    _skip_expression(cursor, is_key=is_key)
    end = start + len(text[start : cursor.position].rstrip())
    if end == start:
        cursor.position = end = min(start + 1, len(text))
    expression_range, what = Range(start, end), text[start:end]
    if cursor.position >= len(text) and not cursor.is_cut:
        cursor.cut("an expression" if "(" in what else "a value", closable=False)
    if is_key:
        cursor.flag(messages.no_text_key(text, expression_range, repr(what)))
        return PythonValue(what, expression_range)
    if len(what) > _MAX_QUOTED_CHARS:
        cursor.flag(messages.long_expression(text, expression_range))
        return PythonValue(what, expression_range)
    result = result_of(what)
    if result is not None:
        cursor.flag(messages.arithmetic(text, expression_range, repr(result)))
        return PythonValue(result, expression_range)
    if _NON_FINITE.fullmatch(what):
        cursor.flag(messages.non_finite(text, expression_range))
        return PythonValue(None, expression_range)
    is_text = _UNQUOTED.fullmatch(what) and not _CODE.fullmatch(what) and not keyword.iskeyword(what)
    cursor.flag((messages.unquoted if is_text else messages.expression)(text, expression_range, repr(what)))
    return PythonValue(what, expression_range)


def _joined(cursor: PythonCursor, text: str) -> str:
    """A string joined with those that directly follow it, as in Python."""
    pieces = [text]
    while not cursor.is_cut:
        end = cursor.position
        cursor.skip()
        following = read_string(cursor)
        if following is None:
            cursor.position = end
            break
        pieces.append(following)
    return "".join(pieces)


def _number(cursor: PythonCursor, number: re.Match[str]) -> Json:
    sign, digits = number[1], number[2].replace("_", "")
    number_range = Range(*number.span())
    if number[3]:
        cursor.flag(messages.complex_number(cursor.text, number_range))
        return number[0]
    if digits[:2].lower() in ("0x", "0o", "0b"):
        return int(sign + digits, 0)
    if any(mark in digits for mark in ".eE"):
        value = float(sign + digits)
        if not math.isfinite(value):
            cursor.flag(messages.non_finite(cursor.text, number_range))
            return None
        return value
    if _LEADING_ZERO.fullmatch(digits):
        cursor.flag(messages.leading_zero(cursor.text, number_range, sign + digits.lstrip("0")))
    return int(sign + digits) if len(digits) <= _MAX_INT_DIGITS else Decimal(sign + digits)


def _skip_expression(cursor: PythonCursor, *, is_key: bool) -> None:
    """Move to the next comma or closing bracket that is not within brackets or a string of the expression."""
    text, depth, run = cursor.text, 0, _RUN[is_key]
    while True:
        match = run.match(text, cursor.position)
        cursor.position = match.end() if match is not None else cursor.position
        character = cursor.peek()
        if not character or (not depth and character in ",)]}:="):
            return
        end = string_end(cursor, cursor.position + 1, character) if character in "'\"" else -1
        cursor.position = end if end >= 0 else cursor.position + 1
        depth += (character in "([{") - (character in ")]}")


def string_end(cursor: PythonCursor, first: int, quote: str) -> int:
    """The end, after its closing quotes, of the string whose content begins at `first`; -1 if nothing ends it."""
    text, (start, end) = cursor.text, cursor.unclosed.get(quote, (0, 0))
    if start <= first < end:  # both contents begin after a quote, so the same characters are escaped
        return -1
    last = end_of_repeats(_CONTENT[quote], text, first, len(text))
    if text.startswith(quote, last):
        return last + len(quote)
    cursor.unclosed[quote] = first, last
    return -1


def read_string(cursor: PythonCursor) -> str | None:
    """Read the string literal at the cursor and move after it; None if none begins there.

    A string that begins an expression (`'a' + b`) is read up to its quote.
    """
    begin = _STRING_BEGINS.match(cursor.text, cursor.position)
    if begin is None or begin[1].lower() not in _PREFIXES:
        return None
    start, first, prefix = cursor.position, begin.end(), begin[1].lower()
    last = _end(cursor, first, begin[2])
    value = cursor.text[first:last] if "r" in prefix else decoded(cursor, first, last)
    if "f" in prefix or "b" in prefix:
        computed = messages.bytes_string if "b" in prefix else messages.f_string
        cursor.flag(computed(cursor.text, cursor.since(start), repr(value)))
    return value


def _end(cursor: PythonCursor, first: int, quote: str) -> int:
    """The end of the content that begins at `first`; the cursor moves after the closing quote."""
    text = cursor.text
    strict = string_end(cursor, first, quote)
    if strict >= 0 and (len(quote) == 3 or _FOLLOWS.match(text, strict)):
        cursor.position = strict
        return strict - len(quote)
    if strict >= 0 and _OPERATES.match(text, strict):
        cursor.position = strict
        return strict - 1
    if len(quote) == 1:
        swallowed = _swallowed(text, first, strict - 1) if strict >= 0 else -1
        if swallowed >= 0:
            cursor.position = swallowed
            cursor.flag(messages.no_closing_quote(text, Range(first - 1, swallowed), quote))
            return swallowed
        end = _search_end(cursor, first, quote)
        if end >= 0:
            return end
        missing = None if quote + "?" in cursor.unterminated else _MISSING.search(text, first)
        if missing is not None and strict < 0:
            cursor.position = missing.start()
            cursor.flag(messages.no_closing_quote(text, Range(first - 1, cursor.position), quote))
            return cursor.position
        cursor.unterminated.add(quote + "?")
    if strict >= 0:
        cursor.position = strict
        return strict - 1
    cursor.position = len(text)
    cursor.cut(f"the string {shown(text, first - len(quote), len(text))}", quote)
    return cursor.position


def _swallowed(text: str, first: int, last: int) -> int:
    """The position of the missing quote of a string that seems to end at the next argument's value; -1 if none."""
    comma = text.rfind(",", max(first, last - _LOOK_BACK), last)
    if comma < 0 or _SWALLOWED.match(text, comma, last) is None:
        return -1
    content = text[max(first, comma - _LOOK_BACK) : comma].rstrip()
    end = max(first, comma - _LOOK_BACK) + len(content)
    return end - 1 if "(" in text[comma:last] and content.endswith(")") else end


def _search_end(cursor: PythonCursor, first: int, quote: str) -> int:
    """The end of a string that contains raw line feeds or its own quote: where the text continues like a call."""
    if quote in cursor.unterminated:
        return -1
    text, position, inner = cursor.text, first, list[int]()
    while (last := closing_quote(text, quote, position, len(text))) >= 0:
        position = last + 1
        if _CLOSES.match(text, position):
            _flag_content(cursor, first, position - 1, inner)
            cursor.position = position
            return position - 1
        inner.append(position - 1)
    cursor.unterminated.add(quote)
    return -1


def _flag_content(cursor: PythonCursor, first: int, last: int, inner: list[int]) -> None:
    text = cursor.text
    if inner:
        edits = tuple(Edit(Range(position, position), "\\") for position in inner)
        cursor.flag(messages.quotes_within(text, Range(first - 1, last + 1), edits))
    breaks = tuple(Edit(Range(*match.span()), _CONTROLS[match[0]]) for match in _BREAK.finditer(text, first, last))
    if breaks:
        cursor.flag(messages.raw_line_feed(breaks))


def decoded(cursor: PythonCursor, first: int, last: int) -> str:
    """The decoded content of a string literal, from `first` to `last`."""
    text = cursor.text
    if text.find("\\", first, last) < 0:
        return text[first:last]
    content = text[first:last]
    rest = content.replace("\\\\", "")
    # Short, common escapes Python's own codec decodes without a warning.
    if rest.count("\\") == sum(map(rest.count, ("\\n", "\\'", '\\"', "\\t"))):
        return content.encode("latin-1", "backslashreplace").decode("unicode_escape")
    pieces: list[str] = []
    position = first
    while (match := _ESCAPE.search(text, position, last)) is not None:
        pieces += (text[position : match.start()], _escaped(cursor, match))
        position = match.end()
    return "".join([*pieces, text[position:last]])


def _escaped(cursor: PythonCursor, match: re.Match[str]) -> str:
    new_line, short, octal, two, four, eight, name, other = match.groups()
    if new_line:
        return ""
    if short:
        return _ESCAPED.get(short, short)
    number = int(octal, 8) if octal else int(two or four or eight or "110000", 16)
    if number < 0x110000:
        return chr(number)
    if name is not None:
        try:
            return unicodedata.lookup(name)
        except KeyError:
            pass
    escape_range = Range(*match.span())
    doubled = (Edit(Range(escape_range.start, escape_range.start), "\\"),)
    if other is None or other in ("x", "u", "U", "N"):
        cursor.flag(messages.broken_escape(cursor.text, escape_range, edits=doubled))
    elif other:
        cursor.faults.add(messages.unknown_escape(cursor.text, escape_range, edits=doubled))
    return match[0]
