"""Python's string literals: where one ends, also where its quotes went wrong, and the text that it stands for.

Source: the Python language reference, section 2.4.1 (string and bytes literals).
"""

import re
import unicodedata

from inspector.diagnostics import Edit
from inspector.formats.python_call import wording as say
from inspector.formats.python_call.cursor import PythonCursor
from inspector.json_scanner.quoting import shown
from inspector.scanning import closing_quote, end_of_repeats, repeated
from inspector.text import Range

STRING_BEGINS = re.compile(r"([A-Za-z]{0,2})('''|\"\"\"|'|\")")
_PREFIXES = frozenset({"", "r", "u", "b", "br", "rb", "f", "fr", "rf"})
_CONTENT = {
    "'": repeated(r"[^'\\\n]++|\\[\s\S]"),
    '"': repeated(r'[^"\\\n]++|\\[\s\S]'),
    "'''": repeated(r"[^'\\]++|\\[\s\S]|'(?!'')"),
    '"""': repeated(r'[^"\\]++|\\[\s\S]|"(?!"")'),
}
_KEYWORD = r"[^\W\d]\w{0,63}\s{0,8}+=(?!=)"
_CALL = r"[^\W\d][\w.]{0,127}+\("
# What may stand behind a string that ended where its quote says; and, told apart more strictly, behind one whose end
# had to be looked for.
_FOLLOWS = re.compile(rf"\s*+(?:[,)\]}}:;#]|\Z|\s(?:{_KEYWORD})|[rRuUbBfF]{{0,2}}['\"])")
_OPERATES = re.compile(
    r"\s*+(?:\+\s*+[\"'\w(]|%\s*+[\w(\"']|\*\s*+\d|\.[a-z_]{1,30}\(|\[[\d:]|\s(?:if|or|and|in|not)\s)"
)
_CLOSES = re.compile(
    rf"\s*+(?:\Z|[)\]}}][\s)\]}}]{{0,64}}+(?:\Z|,|{_CALL})|,\s*+(?:{_KEYWORD}|['\"\[{{\d)\]}}-]|(?:True|False|None)\b))"
)
_MISSING = re.compile(
    rf"(?=,\s*+[^\W\d][\w.]{{0,127}}+\(\s{{0,8}}+{_KEYWORD})|(?=\s{{0,16}}+,\s*+{_KEYWORD})|(?=\)\s*+(?:\]?\s*+\Z|\]?\s*+,?\s*+\[?{_CALL}))"
)
_ESCAPE = re.compile(
    r"\\(?:(\n)|([\\'\"abfnrtv])|([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|N\{([^}]{1,100})\}|"
    r"([\s\S]?))"
)
_SWALLOWED = re.compile(rf",\s*+(?:[^\W\d][\w.]{{0,127}}+\(\s*+)?{_KEYWORD}\s*+\Z")
_LOOK_BACK = 100
_BREAK = re.compile(r"(?<!\\)[\r\n]")
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_CONTROLS = {"\n": "\\n", "\r": "\\r"}


def string_end(cursor: PythonCursor, first: int, quote: str) -> int:
    """Where the string ends whose content begins at `first`, its closing quotes included; -1 where nothing ends it."""
    text, (start, end) = cursor.text, cursor.unclosed.get(quote, (0, 0))
    if start <= first < end:  # it stands behind a quote, so what is escaped there is escaped for both
        return -1
    last = end_of_repeats(_CONTENT[quote], text, first, len(text))
    if text.startswith(quote, last):
        return last + len(quote)
    cursor.unclosed[quote] = first, last
    return -1


def read_string(cursor: PythonCursor) -> str | None:
    """The string literal at the cursor, which moves behind it; None where none begins.

    A string that a call's text cannot tell from an expression (`'a' + b`) is read up to its quote.
    """
    begin = STRING_BEGINS.match(cursor.text, cursor.at)
    if begin is None or begin[1].lower() not in _PREFIXES:
        return None
    start, quote, prefix = cursor.at, begin[2], begin[1].lower()
    first = begin.end()
    last = _end(cursor, first, quote)
    is_raw = "r" in prefix
    value = cursor.text[first:last] if is_raw else decoded(cursor, first, last)
    if "f" in prefix or "b" in prefix:
        cursor.flag(say.computed_string(cursor.text, cursor.since(start), value, kind=prefix))
    return value


def _end(cursor: PythonCursor, first: int, quote: str) -> int:
    """Where the content that begins at `first` ends; the cursor moves behind the closing quote."""
    text = cursor.text
    strict = string_end(cursor, first, quote)
    if strict >= 0 and (len(quote) == 3 or _FOLLOWS.match(text, strict)):
        cursor.at = strict
        return strict - len(quote)
    if strict >= 0 and _OPERATES.match(text, strict):
        cursor.at = strict
        return strict - 1
    if len(quote) == 1:
        swallowed = _swallowed(text, first, strict - 1) if strict >= 0 else -1
        if swallowed >= 0:
            cursor.at = swallowed
            cursor.flag(say.no_closing_quote(text, Range(first - 1, swallowed), quote))
            return swallowed
        end = _looked_for(cursor, first, quote)
        if end >= 0:
            return end
        missing = None if quote + "?" in cursor.endless else _MISSING.search(text, first)
        if missing is not None and strict < 0:
            cursor.at = missing.start()
            cursor.flag(say.no_closing_quote(text, Range(first - 1, cursor.at), quote))
            return cursor.at
        cursor.endless.add(quote + "?")
    if strict >= 0:
        cursor.at = strict
        return strict - 1
    cursor.at = len(text)
    cursor.cut(f"the string {shown(text, first - len(quote), len(text))}", quote)
    return cursor.at


def _swallowed(text: str, first: int, last: int) -> int:
    """Where a string lacks its quote that ends only before the next argument's value; -1 where it does not."""
    comma = text.rfind(",", max(first, last - _LOOK_BACK), last)
    if comma < 0 or _SWALLOWED.match(text, comma, last) is None:
        return -1
    content = text[max(first, comma - _LOOK_BACK) : comma].rstrip()
    end = max(first, comma - _LOOK_BACK) + len(content)
    return end - 1 if "(" in text[comma:last] and content.endswith(")") else end


def _looked_for(cursor: PythonCursor, first: int, quote: str) -> int:
    """The end of a string that holds raw line feeds or its own quote: where the text goes on as a call does."""
    if quote in cursor.endless:
        return -1
    text, at, inner = cursor.text, first, list[int]()
    while (last := closing_quote(text, quote, at, len(text))) >= 0:
        at = last + 1
        if _CLOSES.match(text, at):
            _flag_content(cursor, first, at - 1, inner)
            cursor.at = at
            return at - 1
        inner.append(at - 1)
    cursor.endless.add(quote)
    return -1


def _flag_content(cursor: PythonCursor, first: int, last: int, inner: list[int]) -> None:
    text = cursor.text
    if inner:
        edits = tuple(Edit(Range(at, at), "\\") for at in inner)
        cursor.flag(say.quotes_within(text, Range(first - 1, last + 1), edits))
    breaks = tuple(Edit(Range(*one.span()), _CONTROLS[one[0]]) for one in _BREAK.finditer(text, first, last))
    if breaks:
        cursor.flag(say.raw_line_feed(breaks))


def decoded(cursor: PythonCursor, first: int, last: int) -> str:
    """The text that the content of a string literal, from `first` to `last`, stands for."""
    text = cursor.text
    if text.find("\\", first, last) < 0:
        return text[first:last]
    content = text[first:last]
    if _is_plain(content):
        return content.encode("latin-1", "backslashreplace").decode("unicode_escape")
    pieces: list[str] = []
    at = first
    while (match := _ESCAPE.search(text, at, last)) is not None:
        pieces += (text[at : match.start()], _escaped(cursor, match))
        at = match.end()
    return "".join([*pieces, text[at:last]])


def _is_plain(content: str) -> bool:
    """Whether all escapes in it are the short and common ones, which Python's own codec decodes without a warning."""
    rest = content.replace("\\\\", "")
    return rest.count("\\") == sum(map(rest.count, ("\\n", "\\'", '\\"', "\\t")))


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
    place = Range(*match.span())
    if other is None or other in ("x", "u", "U", "N"):
        cursor.flag(say.broken_escape(cursor.text, place))
    elif other:
        cursor.remark(say.unknown_escape(cursor.text, place))
    return match[0]
