"""Styled lines of the views as HTML of our own making: every text in it is escaped."""

import re
from collections.abc import Iterable

import streamlit as st

from ui.reports.html_text import runs_html
from ui.views.run import Line
from ui.views.visible import visible_line
from ui.web.theme import colour_rules

_RULES = """
.wl { font: 14px/1.6 ui-monospace, "DejaVu Sans Mono", monospace; white-space: pre; overflow-x: auto; }
.stMainBlockContainer { padding: 3.5rem clamp(1rem, 3vw, 4rem) 2rem; }
.stMainBlockContainer h1 { font-size: 1.6rem; padding: 0 0 0.25rem; }
.stMainBlockContainer h3 { font-size: 1.2rem; }
[role="radio"][aria-checked="true"], [role="radio"][aria-checked="true"] * { color: inherit !important; }
.wl .strong { font-weight: 700; }
"""

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


def dress() -> None:
    """Put our rules into the page; once a run."""
    st.html(f"<style>{colour_rules()}{_RULES}</style>")


def put_lines(lines: Iterable[Line]) -> None:
    """Draw lines below each other, in the styles of the palette."""
    drawn = "\n".join(runs_html(line) for line in lines)
    name = "dark" if st.context.theme.type == "dark" else "light"
    st.html(f'<div class="wl {name}">{drawn}</div>')
