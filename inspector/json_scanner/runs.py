"""Finds where a bare word or an expression ends, so that all of it is marked and not only its first characters."""

import re

from inspector.json_scanner.cursor import Cursor, ValueContext

_PLAIN = re.compile(r"""[^,{}\[\]()"'`\n/#;<>]+""")
_PLACEHOLDER = re.compile(r"<[^<>\n\"]{1,80}>")
_PREFIX = re.compile(r"[fFrRbBuU]{1,2}")
_CLOSER = {"(": ")", "[": "]", "{": "}"}
_OPERATORS = frozenset("+-*/%=<>!&|?,")
# A comma in `New York, NY` belongs to the words unless the next member begins behind it.
_MEMBER_BEGINS = re.compile(r"""\s*+(?:["'“‘{}\[\]/#,]|\Z|\\"|[\w$.-]{1,64}["']?\s*+[:=])""")
_PROSE = re.compile(r"[A-Za-z][\w .'-]*")
_LINE_COMMENT = re.compile(r"//|/\*|#\s")
_AFTER_QUOTE = re.compile(r"\s*+(?:[,}\]:]|\Z)")
_LONGEST_PROSE = 200


def run_end(cursor: Cursor, start: int, place: ValueContext) -> int:
    """The end of the run of characters that begins at `start` and is no JSON value.

    Brackets within it are matched by kind and strings skipped; outside of them it ends at a comma, a closing bracket,
    a line end or a comment. White space at its end does not belong to it. It may be empty.
    """
    text, end, at = cursor.text, cursor.end, start
    awaited: list[str] = []
    while at < end:
        plain = _PLAIN.match(text, at, end)
        if plain:
            at = plain.end()
            continue
        step = _step(cursor, start, at, place, awaited)
        if not step:
            break
        at += step
    while at > start and text[at - 1].isspace():
        at -= 1
    return at


def _step(cursor: Cursor, start: int, at: int, place: ValueContext, awaited: list[str]) -> int:
    """How many characters belong to the run from `at`; none where it ends."""
    text, character = cursor.text, cursor.text[at]
    if character in "\"'`":
        return _quote(cursor, start, at, nested=bool(awaited))
    if character in "([{":
        adjacent = at == start or not text[at - 1].isspace() or character == "("
        if not awaited and not adjacent:
            return 0
        awaited.append(_CLOSER[character])
        return 1
    if character in ")]}":
        return _closer(character, place, awaited)
    if awaited:
        return 1
    return _outside(cursor, start, at, place)


def _closer(character: str, place: ValueContext, awaited: list[str]) -> int:
    if awaited:
        return 1 if awaited.pop() == character else 0
    return int(character == ")" and place is not ValueContext.TUPLE)


def _outside(cursor: Cursor, start: int, at: int, place: ValueContext) -> int:
    """A comma, line end, slash, hash, semicolon or angle outside all brackets."""
    text, character = cursor.text, cursor.text[at]
    if character == "<":
        match = _PLACEHOLDER.match(text, at, cursor.end)
        return match.end() - at if match else 1
    if character == ">":
        return 1
    if character == ",":
        prose = place is ValueContext.MEMBER and at - start < _LONGEST_PROSE and _PROSE.fullmatch(text, start, at)
        return int(bool(prose) and not _MEMBER_BEGINS.match(text, at + 1, cursor.end))
    if character == "\n":
        return int(_last_character(text, start, at) in _OPERATORS)
    if character == ";":
        return int(at + 1 < cursor.end and not text[at + 1].isspace())
    spaced = at == start or text[at - 1].isspace()
    return int(not (spaced and _LINE_COMMENT.match(text, at, cursor.end)))


def _last_character(text: str, start: int, at: int) -> str:
    while at > start and text[at - 1].isspace():
        at -= 1
    return text[at - 1] if at > start else ""


def _quote(cursor: Cursor, start: int, at: int, *, nested: bool) -> int:
    """A quote within the run: it opens a string of the expression, is an apostrophe, or ends the run."""
    text = cursor.text
    length = _string_length(cursor, at)
    if nested:
        return length or 1
    last = _last_character(text, start, at)
    if length and (at == start or last in _OPERATORS or _PREFIX.fullmatch(text, start, at)):
        return length
    adjacent = at > start and text[at - 1] == last
    if text[at] == "'" and adjacent and not _AFTER_QUOTE.match(text, at + 1, cursor.end):
        return 1
    return 0


def _string_length(cursor: Cursor, at: int) -> int:
    """The length of the string that begins with the quote at `at`; 0 where its line does not end it."""
    text, quote = cursor.text, cursor.text[at]
    if quote == "`":
        last = text.find(quote, at + 1, cursor.end)
        return last + 1 - at if last >= 0 else 0
    last = cursor.quotes.find(text, quote, at + 1, cursor.end)
    return last + 1 - at if last >= 0 and text.find("\n", at, last) < 0 else 0
