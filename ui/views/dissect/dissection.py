"""A trace and its inspection, looked up by place: what the tree, the stream and the side views share."""

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property

from inspector.diagnostics import Diagnostic, Location
from inspector.inspection import Inspection, PartInspection
from inspector.model import Part, Role, Trace
from inspector.rules.rule import Severity
from inspector.text import LineIndex, Range
from ui.views.step_places import StepPlaces

_SEVERITIES = tuple(Severity)

Order = tuple[int, int, int, int]
"""Where a place stands among all: turn, part, beginning, end; before a turn's parts what lies in none."""

Ordered = tuple[tuple[Order, int], ...]
"""Places in order, each with its index in the list that it comes from."""


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

    @cached_property
    def fault_orders(self) -> Ordered:
        """The diagnostics in the order of their places."""
        found = self.inspection.diagnostics
        return tuple(sorted((self.order_of(one.location), index) for index, one in enumerate(found)))

    @cached_property
    def step_orders(self) -> Ordered:
        """The steps in the order in which their calls begin."""
        begun = ((*self.order_of(step.location)[:3], 0) for step in self.inspection.chain.steps)
        return tuple(sorted((order, index) for index, order in enumerate(begun)))

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


def worst_of(diagnostics: tuple[Diagnostic, ...] | list[Diagnostic]) -> Severity | None:
    """The gravest severity among diagnostics; None where there are none."""
    return min((one.rule.severity for one in diagnostics), key=_SEVERITIES.index, default=None)


def _start(diagnostic: Diagnostic) -> int:
    return diagnostic.range.start


def _turn(part: DissectedPart) -> int:
    return part.turn
