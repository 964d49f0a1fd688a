"""What was read from a span, out of the calls or results of its part, however many those are."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Generic, TypeVar

from inspector.model import ToolCall, ToolResult
from inspector.model.columns import Column, Entries

_Found = TypeVar("_Found", bound=ToolCall | ToolResult)

_STEPS = 8  # entries that are looked at one by one before they are searched


class OfSpans(Generic[_Found]):
    """What lies in the order of the spans of a part, by the index of the span; quickest where those come in order."""

    def __init__(self, found: Entries[_Found]) -> None:
        self._found, self._behind = found, 0

    def of(self, span: int) -> Sequence[_Found]:
        """What was read from a span, in order."""
        first = self._first_from(self._behind, span)
        near = range(first, min(first + _STEPS, len(self._found)))
        last = next((at for at in near if self._found[at].span > span), None)
        if last is None:
            last = bisect_right(self._found, span, first, key=_span_of)
        self._behind = last
        return self._found[first:last] if last - first <= _STEPS else _Stretch(self._found, range(first, last))

    def _first_from(self, hint: int, span: int) -> int:
        """The first entry that is not of a span before this one, near a hint if it is there."""
        if not hint or self._found[hint - 1].span < span:
            near = range(hint, min(hint + _STEPS, len(self._found)))
            at = next((at for at in near if self._found[at].span >= span), None)
            if at is not None or near.stop == len(self._found):
                return near.stop if at is None else at
        return bisect_left(self._found, span, key=_span_of)


class _Stretch(Column[_Found]):
    """Some entries in a row."""

    __slots__ = ("_found", "_indices")

    def __init__(self, found: Entries[_Found], indices: range) -> None:
        self._found, self._indices = found, indices

    def __len__(self) -> int:
        return len(self._indices)

    def _at(self, index: int) -> _Found:
        return self._found[self._indices[index]]


def _span_of(found: ToolCall | ToolResult) -> int:
    return found.span
