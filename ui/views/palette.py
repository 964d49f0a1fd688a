"""The one palette of meanings: what each piece of text on a screen means; every face maps it to its own colours."""

from enum import StrEnum
from types import MappingProxyType

from inspector.model import SpanKind
from inspector.rules.rule import Severity


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


STYLE_OF_KIND = MappingProxyType({kind: Style(kind.value) for kind in SpanKind})
"""Each kind of span has a style of its own name."""

STYLE_OF_SEVERITY = MappingProxyType({severity: Style(severity.value) for severity in Severity})
"""Each severity has a style of its own name."""

GLYPH_OF_SEVERITY = MappingProxyType({Severity.ERROR: "✖", Severity.WARNING: "▲", Severity.INFO: "·"})
"""What stands before a diagnostic where there is no room for its severity's word."""
