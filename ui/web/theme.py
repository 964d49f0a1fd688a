"""The palette of meanings for the page: Streamlit's theme, CSS variables, and colours mixed between two others."""

from collections.abc import Iterator
from typing import Any

from ui.views.colours import DARK, LIGHT, Colours
from ui.views.styled_text import Style

COLOUR_NAMES = {
    Style.ERROR: "red",
    Style.WARNING: "orange",
    Style.OK: "green",
    Style.INFO: "blue",
    Style.REASONING: "violet",
}
"""What Streamlit calls the colours of statuses, in its options and its Markdown."""

_BUTTON = "#1769aa"  # Streamlit writes white on it, in both themes: 5.6:1
_BLACK, _WHITE = "#000000", "#ffffff"


def theme_options() -> dict[str, Any]:
    """Options of `streamlit.App.run`, by their dotted names; light and dark, as the browser asks."""
    options: dict[str, Any] = {"theme.baseRadius": "small"}
    for name, colours in (("light", LIGHT), ("dark", DARK)):
        options |= {f"theme.{name}.{key}": value for key, value in _theme(colours)}
    return options


def colour_rules() -> str:
    """A class for each meaning, and a variable for each colour, below `.light` and `.dark`."""
    return "\n".join((*_variables(), *(f".{style} {{ color: var(--{style}); }}" for style in _STYLES)))


_STYLES = tuple(style for style in Style if style not in (Style.PLAIN, Style.STRONG))


def _variables() -> Iterator[str]:
    for name, colours in (("light", LIGHT), ("dark", DARK)):
        said = " ".join(f"--{style}: {colours.of[style]};" for style in _STYLES)
        yield f".{name} {{ --lit: {colours.lit}; --cursor: {colours.cursor}; --edge: {colours.edge}; {said} }}"


def _theme(colours: Colours) -> Iterator[tuple[str, str]]:
    of = colours.of
    yield "primaryColor", _BUTTON
    yield "backgroundColor", colours.background
    yield "secondaryBackgroundColor", colours.surface
    yield "textColor", of[Style.PLAIN]
    yield "borderColor", colours.edge
    yield "linkColor", of[Style.INFO]
    for style, name in COLOUR_NAMES.items():
        yield f"{name}Color", of[style]


def mixed(one: str, other: str, share: float) -> str:
    """The colour (`#rrggbb`) that lies so far from one to the other: 0 is the one, 1 the other."""
    far = min(max(share, 0.0), 1.0)
    return "#" + "".join(f"{round(a + (b - a) * far):02x}" for a, b in zip(_parts(one), _parts(other), strict=True))


def ink_on(ground: str) -> str:
    """Black or white, whichever stands out more from a ground: by 4.5:1 at least, whatever the ground."""
    return max((_BLACK, _WHITE), key=lambda ink: contrast(ink, ground))


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, from 1 to 21, as WCAG 2.2 defines it."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(part / 255) for part in _parts(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def _parts(colour: str) -> tuple[int, int, int]:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return red, green, blue
