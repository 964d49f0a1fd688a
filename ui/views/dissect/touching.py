"""Which spans share characters with a place, of any number of them."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from inspector.model import Span
from inspector.text import Range


def touching(spans: Sequence[Span], place: Range) -> Iterator[tuple[int, Span]]:
    """The spans, with their indices, that share characters with `place`; `spans` lie in order."""
    first = max(bisect_right(spans, place.start, key=_start) - 1, 0)
    for index in range(first, len(spans)):
        span = spans[index]
        if span.range.start >= place.end:
            return
        if span.range.end > place.start:
            yield index, span


def _start(span: Span) -> int:
    return span.range.start
