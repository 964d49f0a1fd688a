"""Pieces of the stream as messages show them: short, in backticks, without a raw control character."""

from inspector.text import lazy_pattern

_LONGEST = 40
_TICKS = lazy_pattern(r"`+")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def shown(text: str, start: int = 0, end: int | None = None) -> str:
    """What lies from `start` to `end` of a text, quoted for a message and cut to 40 characters."""
    stop = len(text) if end is None else end
    piece = text[start : min(stop, start + _LONGEST)]
    if stop - start > _LONGEST:
        piece = piece[:-1] + "…"
    # Control characters, line separators, directional overrides and lone surrogates would harm a terminal or a log.
    visible = piece if piece.isprintable() else piece.replace("\n", "\\n")
    if not visible.isprintable():
        visible = "".join(map(_glyph, piece))
    if "`" not in visible:
        return f"`{visible}`"
    fence = "`" * (max(len(ticks) for ticks in _TICKS.findall(visible)) + 1)
    return f"{fence} {visible} {fence}"


def _glyph(character: str) -> str:
    if character.isprintable():
        return character
    return _SHORT.get(character) or f"\\u{ord(character):04x}"


def counted(number: int, one: str, several: str = "") -> str:
    """A number with its noun: `1 string`, `3 strings`."""
    return f"{number} {one if number == 1 else several or one + 's'}"
