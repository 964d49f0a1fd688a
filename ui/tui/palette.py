"""The palette of meanings as Rich styles and Textual themes: in our colours, the terminal's sixteen, or none."""

import os
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from msgspec import Struct
from rich.style import Style as RichStyle
from textual.app import App
from textual.theme import BUILTIN_THEMES, Theme

from weaklink.ui.views.colours import DARK, LIGHT, Colours
from weaklink.ui.views.styled_text import Style

THEMES = ("dark", "light", "ansi")
"""The values of `--theme` besides `auto`; `ansi` leaves all colours to the terminal's own theme."""

_ATTRIBUTES = MappingProxyType(
    {
        Style.STRONG: RichStyle(bold=True),
        Style.CONTROL: RichStyle(underline=True),
        Style.ERROR: RichStyle(bold=True),
        Style.WARNING: RichStyle(bold=True),
        Style.INFO: RichStyle(bold=True),
        Style.REMOVED: RichStyle(strike=True),
    }
)
# Only the sixteen colours, as on the command line: the terminal's theme decides how they look.
_SIXTEEN = MappingProxyType(
    {
        Style.DIM: RichStyle(dim=True),
        Style.KEY: RichStyle(color="cyan"),
        Style.GUTTER: RichStyle(dim=True),
        Style.CONTROL: RichStyle(color="yellow"),
        Style.ERROR: RichStyle(color="red"),
        Style.WARNING: RichStyle(color="yellow"),
        Style.INFO: RichStyle(color="cyan"),
        Style.HINT: RichStyle(color="green"),
        Style.OK: RichStyle(color="green"),
        Style.ADDED: RichStyle(color="green"),
        Style.REMOVED: RichStyle(color="red"),
        Style.REASONING: RichStyle(color="magenta"),
        Style.TOOL_CALL: RichStyle(color="cyan"),
        Style.TOOL_RESULT: RichStyle(color="bright_blue"),
        Style.TOOL_DEFINITIONS: RichStyle(color="bright_blue"),
        Style.MARKUP: RichStyle(color="cyan", dim=True),
    }
)


class Paint(Struct, frozen=True):
    """A style for each meaning, and the styles over the cursor's line and over highlighted characters.

    `asleep` is that of the cursor's line while another widget has the focus.
    """

    of: Mapping[Style, RichStyle]
    cursor: RichStyle
    asleep: RichStyle
    lit: RichStyle


def paint_of(app: App[object]) -> Paint:
    """The styles in the current theme of the application."""
    theme = app.current_theme
    return _paint("ansi" if theme.ansi else "dark" if theme.dark else "light")


def themes() -> tuple[Theme, ...]:
    """The Textual themes of the palette, with the names in `THEMES`."""
    return _theme("dark", DARK), _theme("light", LIGHT), _ansi()


def chosen_theme(name: str) -> str:
    """The theme's name; `auto` is `ansi` if colours are unwanted (NO_COLOR) or few, else depends on COLORFGBG."""
    if name != "auto":
        return name
    if os.environ.get("NO_COLOR") or not _has_many_colours():
        return "ansi"
    background = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    return "light" if background in {"7", "15"} else "dark"


def _has_many_colours() -> bool:
    return "COLORTERM" in os.environ or any(
        word in os.environ.get("TERM", "") for word in ("256color", "direct", "kitty")
    )


@cache
def _paint(name: str) -> Paint:
    bare = RichStyle()
    if name == "ansi":
        every = {style: _SIXTEEN.get(style, bare) + _ATTRIBUTES.get(style, bare) for style in Style}
        return Paint(
            every,
            cursor=RichStyle(reverse=True),
            asleep=RichStyle(underline=True),
            lit=RichStyle(bold=True, underline=True),
        )
    colours = LIGHT if name == "light" else DARK
    every = {style: RichStyle(color=colours.of[style]) + _ATTRIBUTES.get(style, bare) for style in Style}
    return Paint(
        every,
        cursor=RichStyle(bgcolor=colours.cursor, bold=True),
        asleep=RichStyle(bgcolor=colours.asleep),
        lit=RichStyle(bgcolor=colours.lit, bold=True, underline=True),
    )


def _theme(name: str, colours: Colours) -> Theme:
    of = colours.of
    return Theme(
        name=name,
        dark=colours.dark,
        primary=of[Style.KEY],
        secondary=of[Style.TOOL_RESULT],
        accent=of[Style.REASONING],
        warning=of[Style.WARNING],
        error=of[Style.ERROR],
        success=of[Style.OK],
        foreground=of[Style.PLAIN],
        background=colours.background,
        surface=colours.surface,
        panel=colours.cursor,
        variables={
            "edge": colours.edge,
            "dim": of[Style.DIM],
            "border": of[Style.KEY],
            "border-blurred": colours.edge,
            "block-cursor-foreground": of[Style.PLAIN],
            "block-cursor-background": colours.cursor,
            "block-cursor-text-style": "bold",
            "block-cursor-blurred-foreground": of[Style.PLAIN],
            "block-cursor-blurred-background": colours.asleep,
            "scrollbar": colours.edge,
            "scrollbar-background": colours.background,
            "scrollbar-corner-color": colours.background,
            "scrollbar-background-hover": colours.surface,
            "scrollbar-background-active": colours.surface,
            "scrollbar-hover": of[Style.DIM],
            "scrollbar-active": of[Style.KEY],
        },
    )


def _ansi() -> Theme:
    builtin = BUILTIN_THEMES["ansi-dark"]
    variables = builtin.variables | {"edge": "ansi_default", "dim": "ansi_default"}
    return Theme(
        name="ansi",
        ansi=True,
        primary=builtin.primary,
        secondary=builtin.secondary,
        accent=builtin.accent,
        warning=builtin.warning,
        error=builtin.error,
        success=builtin.success,
        foreground=builtin.foreground,
        background=builtin.background,
        surface=builtin.surface,
        panel=builtin.panel,
        boost=builtin.boost,
        variables=variables,
    )
