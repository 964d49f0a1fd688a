"""The one palette of meanings: what each piece of text on a screen means; every face maps it to its own colours."""

from enum import StrEnum
from types import MappingProxyType


class Style(StrEnum):
    """What a run of text means. Colour only repeats it: a word or a glyph always says it too."""

    PLAIN = "plain"
    STRONG = "strong"
    DIM = "dim"
    KEY = "key"
    GUTTER = "gutter"
    CONTROL = "control"
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    HINT = "hint"
    OK = "ok"
    ADDED = "added"
    REMOVED = "removed"
    TEXT = "text"
    REASONING = "reasoning"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    TOOL_DEFINITIONS = "tool_definitions"
    MARKUP = "markup"


def style_of(meaning: StrEnum) -> Style:
    """The style of a kind of span or of a severity: each has one of its own name."""
    return Style(meaning.value)


GLYPHS = MappingProxyType({"error": "✖", "warning": "▲", "info": "·"})
"""What stands before a diagnostic of each severity."""
