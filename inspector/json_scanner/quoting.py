"""Pieces of the stream as messages show them: short, in backticks, without a raw control character."""

import re

_LONGEST = 40
# Control characters, line separators, directional overrides and lone surrogates would harm a terminal or a log.
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def shown(text: str, start: int = 0, end: int | None = None) -> str:
    """What lies from `start` to `end` of a text, quoted for a message and cut to 40 characters."""
    stop = len(text) if end is None else end
    piece = text[start : min(stop, start + _LONGEST)]
    if stop - start > _LONGEST:
        piece = piece[:-1] + "…"
    return f"`{_INVISIBLE.sub(_glyph, piece)}`"


def _glyph(match: re.Match[str]) -> str:
    character = match[0]
    return _SHORT.get(character) or f"\\u{ord(character):04x}"


def counted(number: int, one: str, several: str = "") -> str:
    """A number with its noun: `1 string`, `3 strings`."""
    return f"{number} {one if number == 1 else several or one + 's'}"
