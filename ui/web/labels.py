"""Text from outside in the places where Streamlit reads markdown: labels, captions, messages, tooltips, tab names."""

import re

from ui.views.visible import visible_line

_MARKS = re.compile(r"([!-/:-@\[-`{-~])")
_REREAD = re.compile(r"(?<=[^\s])(?=[:@])|(?<=www)(?=\.)|(?<=[-<>=~])(?=[->=])", re.IGNORECASE)
_JOINER = "\u2060"


def label(text: str, most: int = 80) -> str:
    """Text on one line, of `most` characters at most, in which nothing is markup and nothing cannot be seen.

    A backslash alone is not enough: once the markdown is read, Streamlit looks through its words again for addresses,
    icons (`:material/x:`) and arrows, which an invisible joiner keeps apart.
    """
    shown = visible_line(text[:most]) + ("…" if len(text) > most else "")
    said = _MARKS.sub(r"\\\1", _REREAD.sub(_JOINER, f" {shown}")[1:])
    return said.replace(" ", "\u00a0", 1) if said.startswith(" ") else said
