"""Text from outside as a label: Streamlit reads the labels of its widgets as markdown."""

import re

from ui.views.visible import visible_line

_MARKS = re.compile(r"([\\`*_{}\[\]()#+.!|<>~$:&^=-])")


def label(text: str, most: int = 80) -> str:
    """Text on one line, of `most` characters at most, in which nothing is markup."""
    shown = visible_line(text[:most]) + ("…" if len(text) > most else "")
    return _MARKS.sub(r"\\\1", shown)
