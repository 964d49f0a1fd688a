"""A trace and its inspection, looked up by place: what the tree, the stream and the side views share."""

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import overload

from inspector.diagnostics import Diagnostic, Location
from inspector.inspection import Inspection, PartInspection
from inspector.model import Part, Role, Trace
from inspector.rules.rule import Severity
from inspector.text import LineIndex, Range
from ui.views.gist import Gist
from ui.views.step_places import StepPlaces

_SEVERITIES = tuple(Severity)

Order = tuple[int, int, int, int]
"""Where a place stands among all: turn, part, beginning, end; before a turn's parts what lies in none."""


class Ordered(Sequence[Order]):
    """Where things stand, in order; `indices` say which of them each is in the list that they come from."""

    def __init__(self, indices: Sequence[int], order_of: Callable[[int], Order]) -> None:
        self.indices, self._order_of = indices, order_of

    def __len__(self) -> int:
        return len(self.indices)

    @overload
    def __getitem__(self, at: int) -> Order: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Order]: ...
    def __getitem__(self, at: int | slice) -> Order | Sequence[Order]:
        if isinstance(at, slice):
            return [self._order_of(index) for index in self.indices[at]]
        return self._order_of(self.indices[at])


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
    diagnostics: tuple[Diagnostic, ...] = ()
    lines: LineIndex = field(init=False, repr=False, compare=False)

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

    def wrong_in(self, place: Range) -> tuple[Diagnostic, ...]:
        """The diagnostics that begin in a range; at the end of the text too where the range reaches it."""
        first = bisect_left(self.diagnostics, place.start, key=_start)
        end = place.end + 1 if place.end == len(self.text) or not len(place) else place.end
        return self.diagnostics[first : bisect_left(self.diagnostics, end, key=_start)]


@dataclass(frozen=True, eq=False)
class Dissection:
    """A trace and its inspection; its parts in the order of the trace. Equal only to itself."""

    trace: Trace
    inspection: Inspection

    @cached_property
    def parts(self) -> tuple[DissectedPart, ...]:
        """Every part of every turn, in order."""
        found = {(one.turn, one.part): one for one in self.inspection.parts}
        made: list[DissectedPart] = []
        for number, turn in enumerate(self.trace.turns, 1):
            for part in turn.parts:
                read = found.get((number, part.name)) or PartInspection(number, part.name, self.inspection.format, ())
                wrong = tuple(sorted(self._by_part.get((number, part.name), ()), key=_start))
                made.append(DissectedPart(len(made), number, turn.role, part, read, wrong))
        return tuple(made)

    @cached_property
    def steps(self) -> StepPlaces:
        """Which step a call or result belongs to."""
        return StepPlaces(self.inspection.chain)

    @cached_property
    def gist(self) -> Gist:
        """What a verdict says of the whole trace."""
        return Gist(self.trace, self.inspection)

    def parts_of(self, turn: int) -> tuple[DissectedPart, ...]:
        """The parts of a turn, in order."""
        return self.parts[bisect_left(self.parts, turn, key=_turn) : bisect_left(self.parts, turn + 1, key=_turn)]

    def part(self, turn: int, name: str) -> DissectedPart | None:
        """A part by its turn and name, None where the trace has none."""
        return next((part for part in self.parts_of(turn) if part.name == name), None)

    def without_part(self, turn: int) -> list[Diagnostic]:
        """The diagnostics of a turn that lie in no part of it, such as that of an answer that never came."""
        names = {part.name for part in self.trace.turns[turn - 1].parts}
        return [one for one in self._by_turn.get(turn, ()) if one.location.part not in names]

    def wrong_in_turn(self, turn: int) -> list[Diagnostic]:
        """All the diagnostics of a turn."""
        return self._by_turn.get(turn, [])

    def text_of(self, location: Location) -> str:
        """The characters at a place; empty where there is no such part."""
        part = self.part(location.turn, location.part)
        return location.range.of(part.text) if part else ""

    def order_of(self, location: Location) -> Order:
        """Where a place stands among all."""
        part = self.part(location.turn, location.part)
        return location.turn, part.index if part else -1, location.range.start, location.range.end

    @property
    def fault_orders(self) -> Ordered:
        """The diagnostics in the order of their places."""
        return Ordered(self._fault_indices, self._order_of_fault)

    @property
    def step_orders(self) -> Ordered:
        """The steps in the order in which their calls begin."""
        return Ordered(self._step_indices, self._order_of_step)

    @cached_property
    def _fault_indices(self) -> Sequence[int]:
        return _sorted(len(self.inspection.diagnostics), self._order_of_fault)

    @cached_property
    def _step_indices(self) -> Sequence[int]:
        return _sorted(len(self.inspection.chain.steps), self._order_of_step)

    def _order_of_fault(self, index: int) -> Order:
        return self.order_of(self.inspection.diagnostics[index].location)

    def _order_of_step(self, index: int) -> Order:
        return *self.order_of(self.inspection.chain.steps[index].location)[:3], 0

    @cached_property
    def _by_part(self) -> dict[tuple[int, str], list[Diagnostic]]:
        grouped: defaultdict[tuple[int, str], list[Diagnostic]] = defaultdict(list)
        for one in self.inspection.diagnostics:
            grouped[one.location.turn, one.location.part].append(one)
        return grouped

    @cached_property
    def _by_turn(self) -> dict[int, list[Diagnostic]]:
        grouped: defaultdict[int, list[Diagnostic]] = defaultdict(list)
        for one in self.inspection.diagnostics:
            grouped[one.location.turn].append(one)
        return grouped


def _sorted(count: int, order_of: Callable[[int], Order]) -> Sequence[int]:
    """The indices of things in the order of their places; nothing else is kept of those, which may be many."""
    indices = array("Q", range(count))
    if all(before <= later for before, later in pairwise(map(order_of, indices))):
        return indices
    return array("Q", sorted(indices, key=order_of))


def worst_of(diagnostics: tuple[Diagnostic, ...] | list[Diagnostic]) -> Severity | None:
    """The gravest severity among diagnostics; None where there are none."""
    return min((one.rule.severity for one in diagnostics), key=_SEVERITIES.index, default=None)


def _start(diagnostic: Diagnostic) -> int:
    return diagnostic.range.start


def _turn(part: DissectedPart) -> int:
    return part.turn
