"""Text from outside in the places where Streamlit reads markdown: titles, labels, captions, tooltips and tab names."""

import re

from ui.views.visible import visible_line

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_JOINER = "\u2060"
_BEGINS_MORE = re.compile(r":(?=\w)|(?<=:)/|(?i:www(?=\.))|@(?=\w)|-(?=[->])|<(?=[-=])|[>~](?==)")


def plain(text: str) -> str:
    r"""`text` on one line, as words and nothing else: no markdown, formula, directive, icon or link begins in it.

    What Streamlit finds after markdown was read (`:smile:`, `:material/x:`, `www.`, arrows) no backslash stops: an
    invisible word joiner stands within it.
    """
    return _PUNCTUATION.sub(r"\\\1", _BEGINS_MORE.sub(lambda found: found[0] + _JOINER, visible_line(text)))
