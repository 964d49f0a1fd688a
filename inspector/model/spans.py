"""Spans: the typed ranges that a segmenter cuts a text into."""

from enum import StrEnum

import msgspec

from inspector.text import Range


class SpanKind(StrEnum):
    """What a span holds. `markup` is structure of the chat template: headers, end-of-turn tokens, stray markers."""

    TEXT = "text"
    REASONING = "reasoning"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    TOOL_DEFINITIONS = "tool_definitions"
    MARKUP = "markup"


class Span(msgspec.Struct, frozen=True):
    """A typed range of one part's text; the top-level spans of a part tile it exactly.

    `inner` is the range without the markers. `closed` says whether the span ended as its format wants: a span that a
    marker opened needs its closing marker, any other is closed by definition. `label` names the marker or the part
    (`think`, `tool_call`, `goal`), or is empty. `children` lie within `inner`, in order, and need not tile it.
    Made for every span of every stream, hence a msgspec structure.
    """

    kind: SpanKind
    range: Range
    inner: Range
    closed: bool = True
    label: str = ""
    children: tuple["Span", ...] = ()
