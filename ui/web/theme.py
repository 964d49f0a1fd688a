"""The one palette of meanings for the page: Streamlit's theme, and the variables that our own elements use."""

from collections.abc import Iterator
from typing import Any

from ui.views.colours import DARK, LIGHT, Colours
from ui.views.palette import Style


def theme_options() -> dict[str, Any]:
    """Options of `streamlit.App.run`, by their dotted names; light and dark, as the browser asks."""
    options: dict[str, Any] = {"theme.baseRadius": "small"}
    for name, colours in (("light", LIGHT), ("dark", DARK)):
        options |= {f"theme.{name}.{key}": value for key, value in _theme(colours)}
    return options


def colour_rules() -> str:
    """A class for each meaning, and a variable for each colour, below `.light` and `.dark`."""
    return "\n".join((*_variables(), *(f".{style} {{ color: var(--{style}); }}" for style in _STYLES)))


_BUTTON = "#1769aa"  # Streamlit writes white on it, in both themes: 5.6:1
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
    for name, style in (("red", Style.ERROR), ("orange", Style.WARNING), ("green", Style.OK), ("blue", Style.INFO)):
        yield f"{name}Color", of[style]
