"""Text from outside in the places where Streamlit reads markdown: titles, labels, captions, tooltips and tab names."""

import re

from ui.views.visible import visible_line

_MARKS = re.compile(r"([!-/:-@\[-`{-~])")
_REREAD = re.compile(r"(?<=[^\s])(?=[:@])|(?<=www)(?=\.)|(?<=[-<>=~])(?=[->=])", re.IGNORECASE)
_JOINER = "\u2060"


def plain(text: str) -> str:
    """Text for wherever Streamlit reads markdown: titles, captions, messages, labels of buttons, tabs and fields.

    It is shown as it is, on one line, what cannot be seen as a glyph. A backslash alone is not enough: once the
    markdown is read, Streamlit looks through its words again for addresses, icons (`:material/x:`) and arrows, which
    an invisible joiner keeps apart.
    """
    said = _MARKS.sub(r"\\\1", _REREAD.sub(_JOINER, f" {visible_line(text)}")[1:])
    return said.replace(" ", "\u00a0", 1) if said.startswith(" ") else said
