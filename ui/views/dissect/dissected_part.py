"""One part of a trace with what was found in it, made where somebody looks."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from inspector.diagnostics import Location
from inspector.inspection import PartInspection
from inspector.model import Part, Role, Span
from inspector.text import LineIndex, Range
from ui.views.dissect.blocks import BLOCK
from ui.views.dissect.faults import NO_FAULTS, Faults
from ui.views.dissect.touching import touching

_FEW = 256  # spans, all of which are as quickly looked through as found
_PLACES = 8  # neighbourhoods whose spans are kept


@dataclass(frozen=True, slots=True)
class DissectedPart:
    """One part with what was found in it; `index` counts the parts of the trace from 0, `turn` the turns from 1.

    `diagnostics` are those that lie in this part, by place, `lines` the lines of its text.
    """

    index: int
    turn: int
    role: Role
    source: Part
    found: PartInspection
    diagnostics: Faults = NO_FAULTS
    lines: LineIndex = field(init=False, repr=False, compare=False)
    _near: dict[tuple[int, int], tuple[Span, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lines", LineIndex(self.source.text))

    @property
    def name(self) -> str:
        """The part's name within its turn."""
        return self.source.name

    @property
    def text(self) -> str:
        """The exact text."""
        return self.source.text

    def location(self, place: Range | None = None) -> Location:
        """A place in this part, or the whole part."""
        return Location(self.turn, self.name, place if place is not None else Range(0, len(self.text)))

    def wrong_in(self, place: Range) -> Faults:
        """The diagnostics that begin in a range; at the end of the text too where the range reaches it."""
        end = place.end + 1 if place.end == len(self.text) or not len(place) else place.end
        return self.diagnostics.begun(place.start, end)

    def spans_near(self, place: Range) -> Sequence[Span]:
        """The spans that share characters with a place, in order, with more of those around it: found once for all."""
        if len(self.found.spans) <= _FEW:
            return self.found.spans
        near = place.start // BLOCK, max(place.end - 1, place.start) // BLOCK + 1
        spans = self._near.get(near)
        if spans is None:
            around = Range(near[0] * BLOCK, near[1] * BLOCK)
            spans = tuple(span for _, span in touching(self.found.spans, around))
            if len(self._near) >= _PLACES:
                self._near.clear()
            self._near[near] = spans
        return spans
