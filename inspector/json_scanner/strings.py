r"""Reads strings and keys in any quotes or none: their content, and the escapes that strict JSON requires.

Theory of operation. `string_ends` finds where the string ends, and what is wrong with its quotes. Then the content is
read once, and each stage adds its edits to the repair, so that one string can have several faults:

    'it\'s "C:\dir"'        the text
    it\'s "C:\dir"          its content, between the quotes that `find_end` chose
    it's "C:\dir"           its value: `\'` is an apostrophe, `\d` no escape of JSON, so the backslash is literal
    "it's \"C:\\dir\""      the repair: other quotes become `"`, inner quotes and the backslash are escaped

A key may also have no quotes, or only a closing one (`read_bare_key`). If the whole payload was escaped once too
often, its strings are between `\"` and `\"`, and one level of escapes is removed from the content (`_read_escaped`).
"""

import re
from json import dumps

from msgspec import Struct, field, structs

from weaklink.inspector.diagnostics import Edit, Fault, Fix
from weaklink.inspector.json_scanner import messages
from weaklink.inspector.json_scanner import string_ends as ends
from weaklink.inspector.json_scanner.cursor import JsonCursor, Truncation, ValueContext
from weaklink.inspector.json_scanner.string_ends import QuoteRepair, StringExtent
from weaklink.inspector.json_scanner.values import decoded, is_strict_content
from weaklink.inspector.rules.json_syntax import INVALID_ESCAPE, UNESCAPED_CONTROL_CHARACTER
from weaklink.inspector.scanning import end_of_repeats, repeated
from weaklink.inspector.text import Range, shown

SMART = "“”„‟″＂‘’‚‛′＇«»"
_OPENING = re.compile(rf'["\'{SMART}]|\\"')
_TRAILING_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_ESCAPED_CONTENT = repeated(r'[^"\\]++|\\[^"\\]|\\\\(?:\\?"|[^"])')
_ONE_LEVEL = re.compile(r'\\(["\\])')

# `"a" + "b"`, `"%s" % x`, `"-" * 20`, `"{}".format(x)`: a string that begins an expression.
_OPERATOR = re.compile(r"""\s*+(?:\+\s*+["'\w(]|%\s*+[\w(]|\*\s*+\d|\.[a-z]{1,20}\()""")
_BARE = re.compile(r"([^\s,:=(){}\[\]\"'`/#][^\s,:={}\[\]\"']*+)(?=\s*+[:=])")
_LACKS_OPENING = re.compile(r"([^\s,:(){}\[\]\"'][^,:{}\[\]\"'\n]{0,100})(?:\"|')(?=\s*+:)")
_SPECIAL = re.compile(r'"|[\x00-\x1f]++|\\(?:u[0-9a-fA-F]{4}|[^\x00-\x1f])?')
_NEEDS_LOOK = re.compile(r'["\\\x00-\x1f]')
_SHORT = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_JSON_ESCAPES = frozenset('"\\/bfnrt')

# A drive or a share: `C:\dir`, `\\\\host\share`. At a string's beginning the path may contain spaces.
_PATH = re.compile(r"(?<![A-Za-z\\])[A-Za-z]:(?=\\)|(?<![^\s=,;(\x22\x27])\\\\(?=[\w.$-]+\\)")
_PATH_AT_START = re.compile(r'[^"<>|*?:\x00-\x1f]*+')
_PATH_IN_WORDS = re.compile(r'[^"<>|*?:\s\x00-\x1f]*+')
_READ_OTHERWISE = frozenset("bfnrtu")
_NAMES = {"\n": "line feed", "\r": "carriage return", "\t": "tab"}


class StringToken(Struct, frozen=True):
    """A string that was read: its value, and its range with the quotes."""

    value: str
    range: Range


def opens_string(cursor: JsonCursor) -> bool:
    """Whether a quote of any kind is at the cursor."""
    return bool(_OPENING.match(cursor.text, cursor.position, cursor.end))


def read_string(cursor: JsonCursor, context: ValueContext) -> StringToken | None:
    """Read the string at the cursor and move after it; None, without moving, if the string begins an expression."""
    text, start = cursor.text, cursor.position
    if text[start] == "\\":
        return _read_escaped(cursor)
    extent = ends.find_end(cursor, start, context)
    if context is not ValueContext.KEY and _OPERATOR.match(text, extent.end, cursor.end):
        return None
    cursor.position = extent.end
    if extent.repair is QuoteRepair.CUT:
        return _read_cut(cursor, extent, context)
    return _read_whole(cursor, extent)


def _read_whole(cursor: JsonCursor, extent: StringExtent) -> StringToken:
    text, token = cursor.text, Range(extent.start, extent.end)
    opening = text[extent.content.start - 1]
    content = read_content(text, extent.content.start, extent.content.end, apostrophes=opening == "'")
    closing = Range(extent.content.end, extent.end) if extent.closed else None
    edits = _requoted(text, extent, content.edits)
    quotes = content.edits if opening == '"' else []
    if extent.repair is not QuoteRepair.NONE and (quotes or extent.repair is not QuoteRepair.ESCAPE):
        cursor.faults.add(messages.quote_fault(text, extent, quotes))
    if opening == "'":
        cursor.faults.add_single_quoted(token, edits)
    elif opening != '"' or (closing and closing.of(text) in SMART):
        cursor.faults.add(messages.smart_quote(text, token, edits))
    for fault in content.faults:
        cursor.faults.add(fault)
    return StringToken(content.value, token)


def _requoted(text: str, extent: StringExtent, inner: list[Edit]) -> list[Edit]:
    """The edits that replace other quotes with plain double quotes."""
    before = extent.content.start - 1
    edits = [Edit(Range(before, before + 1), '"')] if text[before] != '"' else []
    edits += inner
    closing = Range(extent.content.end, extent.content.end + 1)
    if extent.closed and closing.of(text) != '"':
        edits.append(Edit(closing, '"'))
    return edits


def _read_cut(cursor: JsonCursor, extent: StringExtent, context: ValueContext) -> StringToken:
    text = cursor.text
    if context is ValueContext.KEY:
        token = Range(extent.start, extent.end)
        cursor.cut = Truncation("key", token, [Edit(token, "")])
        return StringToken("", token)
    tail = _TRAILING_ESCAPE.search(text, max(extent.content.start, cursor.end - 6), cursor.end)
    edits = []
    if tail and _backslashes_before(text, tail.start(), extent.content.start) % 2 == 0:
        edits = [Edit(Range(tail.start(), cursor.end), "")]
        extent = structs.replace(extent, content=Range(extent.content.start, tail.start()), end=tail.start())
    cursor.cut = Truncation("string", Range(extent.start, cursor.end), edits, '"')
    inner = structs.replace(extent, repair=QuoteRepair.NONE)
    if text[extent.start] == '"' and '"' in extent.content.of(text):
        inner = structs.replace(extent, repair=QuoteRepair.ESCAPE)
    return _read_whole(cursor, inner)


def _backslashes_before(text: str, position: int, start: int) -> int:
    first = position
    while first > start and text[first - 1] == "\\":
        first -= 1
    return position - first


def _read_escaped(cursor: JsonCursor) -> StringToken:
    r"""A string between `\"` and `\"`: the whole JSON was escaped once too often."""
    text, start = cursor.text, cursor.position
    inner = Range(start + 2, end_of_repeats(_ESCAPED_CONTENT, text, start + 2, cursor.end))
    if not text.startswith('\\"', inner.end, cursor.end):
        cursor.position = cursor.end
        cursor.cut = Truncation("escaped", Range(start, cursor.end))
        return StringToken(text[start + 2 : cursor.end], Range(start, cursor.end))
    cursor.position = inner.end + 2
    plain = _ONE_LEVEL.sub(r"\1", inner.of(text))
    edits = [Edit(Range(start, start + 1), "")]
    if plain != inner.of(text):
        edits.append(Edit(inner, plain))
    edits.append(Edit(Range(inner.end, inner.end + 1), ""))
    token = Range(start, cursor.position)
    cursor.faults.add_escaped_quotes(token, edits)
    value = read_content(plain, 0, len(plain)).value
    if not is_strict_content(plain):
        cursor.faults.add(messages.unclear_escapes(text, token))
    return StringToken(value, token)


def read_bare_key(cursor: JsonCursor) -> StringToken | None:
    """Read the key without an opening quote at the cursor and move after it; None if no colon follows."""
    match = _BARE.match(cursor.text, cursor.position, cursor.end)
    if match:
        key_range = Range(*match.span(1))
        cursor.position = key_range.end
        key = match[1]
        cursor.faults.add(messages.unquoted_key(cursor.text, key_range, dumps(key, ensure_ascii=False)))
        return StringToken(key, key_range)
    match = _LACKS_OPENING.match(cursor.text, cursor.position, cursor.end)
    if not match or "\\" in match[1] or not match[1].isprintable():
        return None
    key_range = Range(*match.span())
    cursor.position = key_range.end
    closing = Range(key_range.end - 1, key_range.end)
    edits = [Edit(closing, '"')] if closing.of(cursor.text) != '"' else []
    cursor.faults.add(messages.missing_opening_quote(cursor.text, key_range, edits))
    return StringToken(match[1], key_range)


class StringContent(Struct):
    """The content of one string: its value, the faults in it, and the edits that its kind of quotes requires."""

    value: str
    faults: list[Fault] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)


def decode_string(raw: str) -> str:
    """The value of a string's raw content (without quotes), read as tolerantly as the scanner reads it."""
    return read_content(raw, 0, len(raw)).value


def read_content(text: str, start: int, end: int, *, apostrophes: bool = False) -> StringContent:
    r"""The content from `start` to `end`. Its value is the one after all repairs and edits.

    `edits` escape raw double quotes; with `apostrophes` (a single-quoted string) they also delete the backslash of
    `\'`, which in any other string is a fault.
    """
    if not _NEEDS_LOOK.search(text, start, end):
        return StringContent(text[start:end])
    content = StringContent("")
    fixed: list[str] = []
    controls: list[Edit] = []
    in_paths = _doubled_in_paths(text, start, end, content)
    position = start
    for match in _SPECIAL.finditer(text, start, end):
        piece = match[0]
        fixed.append(text[position : match.start()])
        position = match.end()
        if match.start() in in_paths:
            fixed.append(in_paths[match.start()] + piece)
        elif piece == '"':
            fixed.append('\\"')
            content.edits.append(Edit(Range(match.start(), match.start()), "\\"))
        elif piece[0] != "\\":
            fixed.append(_escaped(piece))
            controls.append(Edit(match_range(match), fixed[-1]))
        elif len(piece) == 6 or piece[1:] in _JSON_ESCAPES:
            fixed.append(piece)
        else:
            fixed.append(_mended(text, match, content, end, apostrophes=apostrophes))
    fixed.append(text[position:end])
    if controls:
        content.faults.append(_control_characters(text, controls))
    content.value = decoded("".join(fixed))
    return content


def _doubled_in_paths(text: str, start: int, end: int, content: StringContent) -> dict[int, str]:
    r"""The backslashes to insert in Windows paths whose backslashes are not escaped, by the position of each escape.

    `D:\temp\data` is such a path: JSON has no `\d`, so `\t` is no tab either. The fault of each path goes to `content`;
    its repair is a guess.
    """
    doubled: dict[int, str] = {}
    position = start
    while (path := _PATH.search(text, position, end)) is not None:
        extent = _PATH_AT_START if path.start() == start else _PATH_IN_WORDS
        run = extent.match(text, path.end(), end)
        position = run.end() if run is not None else path.end()
        escapes = [
            escape
            for escape in _SPECIAL.finditer(text, path.start(), position)
            if escape[0][0] == "\\" and len(escape[0]) > 1
        ]
        wrong = [escape for escape in escapes if escape[0][1] not in "\\/'" and not _is_json_escape(escape[0])]
        if position == end and escapes and escapes[-1].end() == end and escapes[-1][0] == "\\n":
            escapes.pop()  # a line feed at the end of the whole string
        guessed = [escape for escape in escapes if _is_json_escape(escape[0]) and escape[0][1] in _READ_OTHERWISE]
        is_share = path[0] == "\\\\"
        if not wrong or not (guessed or is_share):
            continue
        before = {escape.start(): "\\" for escape in (*wrong, *guessed)}
        if is_share:
            before[path.start()] = "\\\\"
        doubled |= before
        content.faults.append(_path_fault(text, wrong[0], guessed, before))
    return doubled


def _is_json_escape(escape: str) -> bool:
    return len(escape) == 6 or escape[1:] in _JSON_ESCAPES


def _path_fault(text: str, wrong: re.Match[str], guessed: list[re.Match[str]], before: dict[int, str]) -> Fault:
    also = f", including the one in {shown(text, *guessed[0].span())}, which JSON reads as an escape" if guessed else ""
    message = (
        f"{shown(text, *wrong.span())} is not a JSON escape; this looks like a Windows path, where every backslash is "
        f"literal{also}."
    )
    edits = tuple(Edit(Range(position, position), before[position]) for position in sorted(before))
    return Fault(
        INVALID_ESCAPE, match_range(wrong), message, "Double each backslash of the path.", Fix(edits, safe=False)
    )


def _escaped(characters: str) -> str:
    return "".join(_SHORT.get(character) or f"\\u{ord(character):04x}" for character in characters)


def _mended(text: str, match: re.Match[str], content: StringContent, stop: int, *, apostrophes: bool) -> str:
    """The replacement of a backslash that begins no JSON escape; the repair goes to `content`."""
    start, end = match.span()
    backslash = Range(start, start + 1)
    if match[0] == "\\'" and apostrophes:
        content.edits.append(Edit(backslash, ""))
        return "'"
    what = f"{shown(text, start, end)} is not a JSON escape"
    if match[0] == "\\'":
        message = f"{what}; an apostrophe needs no backslash in a double-quoted string."
        content.faults.append(
            Fault(INVALID_ESCAPE, match_range(match), message, "Delete the backslash.", _edit(backslash, ""))
        )
        return "'"
    if match[0] == "\\" and end == stop:
        message = "The backslash before the closing quote escapes it, so the string seems to continue."
        fix = _edit(Range(start, start), "\\")
        content.faults.append(Fault(INVALID_ESCAPE, backslash, message, "Double the backslash.", fix))
        return "\\\\"
    if match[0] == "\\":
        message = f"A backslash appears before {shown(text, end, end + 1)}, where it escapes nothing in JSON."
        content.faults.append(Fault(INVALID_ESCAPE, backslash, message, "Delete the backslash.", _edit(backslash, "")))
        return ""
    if match[0] == "\\u":
        message = f"{shown(text, start, min(end + 4, stop))} is not a JSON escape; `\\u` expects four hex digits."
    else:
        message = f"{what}; a literal backslash must be doubled."
    fix = _edit(Range(start, start), "\\")
    content.faults.append(Fault(INVALID_ESCAPE, match_range(match), message, "Double the backslash.", fix))
    return "\\" + match[0]


def match_range(match: re.Match[str]) -> Range:
    """The range of a regular expression's match."""
    return Range(*match.span())


def _edit(edit_range: Range, text: str) -> Fix:
    return Fix((Edit(edit_range, text),), safe=True)


def _control_characters(text: str, edits: list[Edit]) -> Fault:
    first = Range(edits[0].range.start, edits[0].range.start + 1)
    name = _NAMES.get(first.of(text), "control character")
    count = sum(len(edit.range) for edit in edits)
    more = f", the first of {count} control characters in this string," if count > 1 else ""
    escape = _escaped(first.of(text))
    return Fault(
        UNESCAPED_CONTROL_CHARACTER,
        first,
        f"A raw {name} appears in a string{more} where JSON expects the escape `{escape}`.",
        f"Write `{escape}`." if count == 1 else "Escape them.",
        Fix(tuple(edits), safe=True),
    )
