"""How a stream's pieces reach a parser and its events their reader: one call a piece, where that can be."""

from collections.abc import Callable

from inspector.model import Span
from inspector.segmenter.events import FormatParser, ParseEvent
from inspector.segmenter.machine import Machine


def feeder(parser: FormatParser, take: Callable[[list[ParseEvent]], list[Span]]) -> Callable[[str], list[Span]]:
    """A parser's `feed` followed by `take`; in one call where it can be, since a live stream makes one a delta."""
    if isinstance(parser, Machine):
        return parser.feeding(take)

    def feed(text: str) -> list[Span]:
        return take(parser.feed(text))

    return feed
