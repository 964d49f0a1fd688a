"""The colours of all styles for dark and light screens; every user interface uses them.

Each has a contrast of at least 4.5:1 to its screen's background, surface and cursor line, as WCAG 2.2 (1.4.3) requires.
The dark backgrounds are nearly grey: a terminal with 256 colours would turn bluer ones into teal.
"""

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from weaklink.ui.views.styled_text import Style


class Colours(Struct, frozen=True):
    """The colours of one screen as `#rrggbb`: the backgrounds, and the text colour of each style.

    `surface` is the background of bars and dialogs, `cursor` that of the selected line, `asleep` that of the selected
    line in a pane without the focus, and `lit` that of characters that another pane selects. `edge` separates panes and
    has no text.
    """

    dark: bool
    background: str
    surface: str
    cursor: str
    asleep: str
    lit: str
    edge: str
    of: Mapping[Style, str]

    @property
    def grounds(self) -> tuple[str, ...]:
        """All backgrounds of text."""
        return self.background, self.surface, self.cursor, self.asleep, self.lit


_OF_STYLES = {  # on a dark and on a light ground
    Style.PLAIN: ("#e3e6ea", "#1c2024"),
    Style.STRONG: ("#ffffff", "#000000"),
    Style.DIM: ("#a3adba", "#525a66"),
    Style.KEY: ("#82d2ff", "#00567a"),
    Style.GUTTER: ("#9fabbd", "#525c6b"),
    Style.CONTROL: ("#ffc777", "#7d4300"),
    Style.ERROR: ("#ff8f8f", "#ab0f1a"),
    Style.WARNING: ("#ffc14d", "#744700"),
    Style.INFO: ("#86caff", "#00548f"),
    Style.HINT: ("#93dd93", "#175c2a"),
    Style.OK: ("#82d993", "#175c2a"),
    Style.ADDED: ("#82d993", "#175c2a"),
    Style.REMOVED: ("#ff8f8f", "#ab0f1a"),
    Style.TEXT: ("#e3e6ea", "#1c2024"),
    Style.REASONING: ("#d3adff", "#6a2a9f"),
    Style.TOOL_CALL: ("#70dcd8", "#005b58"),
    Style.TOOL_RESULT: ("#97bcff", "#1b4a9e"),
    Style.TOOL_DEFINITIONS: ("#b0bed4", "#425066"),
    Style.MARKUP: ("#c9b394", "#634b2d"),
}
DARK = Colours(
    dark=True,
    background="#14161b",
    surface="#1d2027",
    cursor="#373d47",
    asleep="#272b32",
    lit="#463a12",
    edge="#3a4150",
    of=MappingProxyType({style: dark for style, (dark, _) in _OF_STYLES.items()}),
)
LIGHT = Colours(
    dark=False,
    background="#fcfcfa",
    surface="#eff0f3",
    cursor="#cfdcf2",
    asleep="#e6e8ec",
    lit="#ffe9a8",
    edge="#b8bfca",
    of=MappingProxyType({style: light for style, (_, light) in _OF_STYLES.items()}),
)


def contrast(color: str, other: str) -> float:
    """The contrast ratio of two colours, from 1 to 21, as WCAG 2.2 defines it."""
    lighter, darker = sorted((_luminance(color), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(int(colour[start : start + 2], 16) / 255) for start in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
