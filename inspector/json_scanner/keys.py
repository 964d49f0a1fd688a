"""Reads keys of objects that stand without quotes, or with one of them."""

import re
from json import dumps

from inspector.diagnostics import Edit
from inspector.json_scanner import wording
from inspector.json_scanner.cursor import Cursor
from inspector.json_scanner.strings import StringToken
from inspector.text import Range

_BARE = re.compile(r"([^\s,:=(){}\[\]\"'`/#][^\s,:={}\[\]\"']*+)(?=\s*+[:=])")
_LACKS_OPENING = re.compile(r"([^\s,:(){}\[\]\"'][^,:{}\[\]\"'\n]{0,100})(?:\"|')(?=\s*+:)")


def read_bare_key(cursor: Cursor) -> StringToken | None:
    """The key without an opening quote at the cursor, which moves behind it; None if no colon follows."""
    match = _BARE.match(cursor.text, cursor.at, cursor.end)
    if match:
        place = Range(*match.span(1))
        cursor.at = place.end
        key = match[1]
        cursor.found.add(wording.unquoted_key(cursor.text, place, dumps(key, ensure_ascii=False)))
        return StringToken(key, place)
    match = _LACKS_OPENING.match(cursor.text, cursor.at, cursor.end)
    if not match or "\\" in match[1] or not match[1].isprintable():
        return None
    place = Range(*match.span())
    cursor.at = place.end
    closing = Range(place.end - 1, place.end)
    edits = [Edit(closing, '"')] if closing.of(cursor.text) != '"' else []
    cursor.found.add(wording.missing_opening_quote(cursor.text, place, edits))
    return StringToken(match[1], place)
