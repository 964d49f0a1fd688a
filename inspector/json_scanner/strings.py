"""Reads a string in whatever quotes it stands, and finds where it was meant to end."""

import re
from dataclasses import dataclass, replace

from inspector.diagnostics import Edit
from inspector.json_scanner import string_ends as ends
from inspector.json_scanner import wording
from inspector.json_scanner.cursor import Cursor, Truncation, ValueContext
from inspector.json_scanner.escapes import read_content
from inspector.json_scanner.strict import is_strict_content
from inspector.json_scanner.string_ends import Mend, StringExtent
from inspector.scanning import end_of_repeats, repeated
from inspector.text import Range

SMART = "“”„‟″＂‘’‚‛′＇«»"
_OPENING = re.compile(rf'["\'{SMART}]|\\"')
_TRAILING_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_ESCAPED_CONTENT = repeated(r'[^"\\]++|\\[^"\\]|\\\\(?:\\?"|[^"])')
_ONE_LEVEL = re.compile(r'\\(["\\])')
# `"a" + "b"`, `"%s" % x`, `"-" * 20`, `"{}".format(x)`: a string that goes on as a program.
_OPERATOR = re.compile(r"""\s*+(?:\+\s*+["'\w(]|%\s*+[\w(]|\*\s*+\d|\.[a-z]{1,20}\()""")


@dataclass(frozen=True, slots=True)
class StringToken:
    """A string that was read: its value and where it stands, quotes included."""

    value: str
    range: Range


def opens_string(cursor: Cursor) -> bool:
    """Whether a quote of any kind stands at the cursor."""
    return bool(_OPENING.match(cursor.text, cursor.at, cursor.end))


def read_string(cursor: Cursor, place: ValueContext) -> StringToken | None:
    """The string at the cursor, which moves behind it; None, without moving, if the string begins an expression."""
    text, start = cursor.text, cursor.at
    if text[start] == "\\":
        return _read_escaped(cursor)
    extent = ends.find_end(cursor, start, place)
    if place is not ValueContext.KEY and _OPERATOR.match(text, extent.end, cursor.end):
        return None
    cursor.at = extent.end
    if extent.mend is Mend.CUT:
        return _read_cut(cursor, extent, place)
    return _read_whole(cursor, extent)


def _read_whole(cursor: Cursor, extent: StringExtent) -> StringToken:
    text, token = cursor.text, Range(extent.start, extent.end)
    opening = text[extent.content.start - 1]
    content = read_content(text, extent.content.start, extent.content.end, apostrophes=opening == "'")
    closing = Range(extent.content.end, extent.end) if extent.closed else None
    edits = _requoted(text, extent, content.edits)
    quotes = content.edits if opening == '"' else []
    if extent.mend is not Mend.NONE and (quotes or extent.mend is not Mend.ESCAPE):
        cursor.found.add(wording.quote_fault(text, extent, quotes))
    if opening == "'":
        cursor.found.add_single_quoted(token, edits)
    elif opening != '"' or (closing and closing.of(text) in SMART):
        cursor.found.add(wording.smart_quote(text, token, edits))
    for fault in content.faults:
        cursor.found.add(fault)
    return StringToken(content.value, token)


def _requoted(text: str, extent: StringExtent, inner: list[Edit]) -> list[Edit]:
    """The edits that put plain double quotes where other quotes stand."""
    before = extent.content.start - 1
    edits = [Edit(Range(before, before + 1), '"')] if text[before] != '"' else []
    edits += inner
    closing = Range(extent.content.end, extent.content.end + 1)
    if extent.closed and closing.of(text) != '"':
        edits.append(Edit(closing, '"'))
    return edits


def _read_cut(cursor: Cursor, extent: StringExtent, place: ValueContext) -> StringToken:
    text = cursor.text
    if place is ValueContext.KEY:
        token = Range(extent.start, extent.end)
        cursor.cut = Truncation("key", token, [Edit(token, "")])
        return StringToken("", token)
    tail = _TRAILING_ESCAPE.search(text, max(extent.content.start, cursor.end - 6), cursor.end)
    edits = []
    if tail and _backslashes_before(text, tail.start(), extent.content.start) % 2 == 0:
        edits = [Edit(Range(tail.start(), cursor.end), "")]
        extent = replace(extent, content=Range(extent.content.start, tail.start()), end=tail.start())
    cursor.cut = Truncation("string", Range(extent.start, cursor.end), edits, '"')
    inner = replace(extent, mend=Mend.NONE)
    if text[extent.start] == '"' and '"' in extent.content.of(text):
        inner = replace(extent, mend=Mend.ESCAPE)
    return _read_whole(cursor, inner)


def _backslashes_before(text: str, at: int, start: int) -> int:
    first = at
    while first > start and text[first - 1] == "\\":
        first -= 1
    return at - first


def _read_escaped(cursor: Cursor) -> StringToken:
    r"""A string between `\"` and `\"`: the whole JSON was escaped once too often."""
    text, start = cursor.text, cursor.at
    inner = Range(start + 2, end_of_repeats(_ESCAPED_CONTENT, text, start + 2, cursor.end))
    if not text.startswith('\\"', inner.end, cursor.end):
        cursor.at = cursor.end
        cursor.cut = Truncation("escaped", Range(start, cursor.end))
        return StringToken(text[start + 2 : cursor.end], Range(start, cursor.end))
    cursor.at = inner.end + 2
    plain = _ONE_LEVEL.sub(r"\1", inner.of(text))
    edits = [Edit(Range(start, start + 1), "")]
    if plain != inner.of(text):
        edits.append(Edit(inner, plain))
    edits.append(Edit(Range(inner.end, inner.end + 1), ""))
    token = Range(start, cursor.at)
    cursor.found.add_escaped_quotes(token, edits)
    value = read_content(plain, 0, len(plain)).value
    if not is_strict_content(plain):
        cursor.found.add(wording.unclear_escapes(text, token))
    return StringToken(value, token)
