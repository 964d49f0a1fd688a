"""Cuts a text into rows that each belong to one span."""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from inspector.model import Span, SpanKind
from inspector.text import Range
from ui.views.rows import Folding, cut_rows, kept

_LONGEST_GAP = 4096


@dataclass(frozen=True, slots=True)
class SpanRow:
    """One row of the span with this index; `begins` and `ends` the span; `folded` is what was left out before it."""

    index: int
    span: Span
    range: Range
    begins: bool = False
    ends: bool = False
    folded: Range | None = None


@dataclass(frozen=True, slots=True)
class SpanRows:
    """How a text with spans is cut: into rows of `room` cells, folded or whole, some spans being one row each.

    `faults` are the places of its faults, in order; none of them is folded away.
    """

    text: str
    spans: Sequence[Span]
    faults: Sequence[Range]
    room: int
    folding: Folding | None = None
    whole: Collection[int] = ()

    def __iter__(self) -> Iterator[SpanRow]:
        starts = [fault.start for fault in self.faults]
        for index, span in enumerate(self.spans):
            if index in self.whole:
                yield SpanRow(index, span, span.range, begins=True, ends=True)
            elif len(self.spans) == 1 or not self._is_gap(span):
                place = self._without_feed_before(span.range)
                inside = self.faults[bisect_left(starts, place.start) : bisect_left(starts, place.end)]
                yield from self._rows_of(index, span, self._pieces(place, inside))

    def _pieces(self, place: Range, faults: Sequence[Range]) -> list[Range]:
        return kept(self.text, place, faults, self.room, self.folding) if self.folding else [place]

    def _rows_of(self, index: int, span: Span, pieces: Sequence[Range]) -> Iterator[SpanRow]:
        begins, end = True, pieces[0].start
        for piece in pieces:
            folded = Range(end, piece.start) if piece.start > end else None
            for row in cut_rows(self.text, piece, self.room):
                yield SpanRow(index, span, row, begins, row.end >= span.range.end, folded)
                begins, folded = False, None
            end = piece.end

    def _is_gap(self, span: Span) -> bool:
        """Whether a span is only the blank text between two others."""
        place = span.range
        return span.kind is SpanKind.TEXT and len(place) <= _LONGEST_GAP and not place.of(self.text).strip()

    def _without_feed_before(self, place: Range) -> Range:
        """A span's place without the line feed that only ends the row of the span before it."""
        if place.start and self.text.startswith("\n", place.start) and self.text[place.start - 1] != "\n":
            return Range(place.start + 1, place.end)
        return place
