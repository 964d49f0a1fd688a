"""The markers of a part's spans: the delimiters of its format, which the stream pane draws boxed."""

from collections.abc import Iterator, Sequence

from inspector.model import Span, SpanKind
from inspector.text import Range
from inspector.wire.events import WIRE_PREFIX
from ui.views.dissect.dissected_part import DissectedPart
from ui.views.dissect.touching import touching

_UNFINISHED = "\"'="  # what a marker ends with that a name follows, within the same tag
_LONGEST = 200  # a marker is short: longer structure, such as a whole header, is not boxed


def boxes_in(part: DissectedPart, place: Range) -> list[Range]:
    """The markers of a part that touch `place`, in order, without the white space around them."""
    if part.name.startswith(WIRE_PREFIX):
        return []
    return sorted(box for box in _boxes(part.text, part.spans_near(place), place) if box.start < box.end)


def innermost(spans: Sequence[Span], offset: int) -> Span | None:
    """The smallest span that holds the character at `offset`."""
    found: Span | None = None
    while True:
        inside = next((span for _, span in touching(spans, Range(offset, offset + 1))), None)
        if inside is None:
            return found
        found, spans = inside, inside.children


def _boxes(text: str, spans: Sequence[Span], place: Range) -> Iterator[Range]:
    for _, span in touching(spans, place):
        if span.kind is SpanKind.MARKUP:
            yield from _trimmed(text, span.range)
            continue
        yield from _trimmed(text, Range(span.range.start, min(span.inner.start, span.range.end)))
        yield from _boxes(text, span.children, place)
        yield from _trimmed(text, Range(max(span.inner.end, span.range.start), span.range.end))


def _trimmed(text: str, marker: Range) -> Iterator[Range]:
    written = marker.of(text) if len(marker) <= _LONGEST else ""
    if written and written[-1] not in _UNFINISHED:
        start = marker.start + len(written) - len(written.lstrip())
        yield Range(start, start + len(written.strip()))
