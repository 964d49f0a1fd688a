"""Hostile text made visible: nothing that leaves here moves a cursor, hides a character or turns the writing round."""

import re
import unicodedata

from ui.views.palette import Style
from ui.views.run import Line, Run

LINE_FEED, TAB = "⏎", "→   "
"""What stands for a line feed and a tab where a text is shown on one line."""

_INVISIBLE = ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp")
# Letters and marks that draw nothing, and that Python calls printable: variation selectors, fillers, the grapheme
# joiner (DerivedCoreProperties.txt of Unicode: Default_Ignorable_Code_Point), and the blank Braille pattern.
_UNDRAWN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_SUSPECT = re.compile(r"[^ -~]")


class _Glyphs(dict[int, str]):
    """What stands for each code point, found out when it first comes."""

    def __missing__(self, code_point: int) -> str:
        self[code_point] = glyph = _glyph(chr(code_point))
        return glyph


def visible(text: str) -> str:
    r"""`text` with every character that a reader could not see, or a terminal would obey, as something to read.

    C0 controls become their pictures (`␛`, `␀`), other invisible characters escapes (`\u202e`), also those that join
    emoji or choose their form, and bytes that are not UTF-8 `\xff`. Line feeds and tabs stay.
    """
    return text if _is_visible(text) else text.translate(_IN_TEXT)


def visible_line(text: str) -> str:
    """`text` on one line: like `visible`, with `⏎` for a line feed and four cells for a tab."""
    return text if _is_visible(text) else text.translate(_IN_LINE)


def visible_runs(text: str, style: Style = Style.PLAIN) -> Line:
    """`visible_line` as runs: what stands for something else is styled `control`."""
    if _is_visible(text):
        return (Run(text, style),) if text else ()
    runs: list[Run] = []
    at = 0
    for match in _SUSPECT.finditer(text):
        glyph = _IN_LINE[ord(match[0])]
        if glyph != match[0]:
            runs += (Run(text[at : match.start()], style), Run(glyph, Style.CONTROL))
            at = match.end()
    runs.append(Run(text[at:], style))
    return tuple(run for run in runs if run.text)


def _is_visible(text: str) -> bool:
    return text.isprintable() and (text.isascii() or _UNDRAWN.search(text) is None)


def _glyph(character: str) -> str:
    code_point = ord(character)
    if unicodedata.category(character) not in _INVISIBLE and _UNDRAWN.match(character) is None:
        return character
    if code_point < 0x20:
        return chr(0x2400 + code_point)
    if code_point == 0x7F:
        return "␡"
    if 0xDC80 <= code_point <= 0xDCFF:
        return f"\\x{code_point - 0xDC00:02x}"
    return f"\\u{code_point:04x}" if code_point <= 0xFFFF else f"\\U{code_point:08x}"


_IN_TEXT = _Glyphs({ord("\n"): "\n", ord("\t"): "\t"})
_IN_LINE = _Glyphs({ord("\n"): LINE_FEED, ord("\t"): TAB})
