"""A trace and its inspection, looked up by place: what the tree, the stream and the side views share.

Of a trace of any width only numbers are kept: where its parts, blocks, faults and steps stand. The things themselves
are made where somebody looks. Several threads may look at once.
"""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from inspector.diagnostics import Location
from inspector.inspection import Inspection, PartInspection
from inspector.model import Trace
from inspector.model.columns import Column
from inspector.model.recent import Recent
from inspector.rules.rule import Severity
from ui.views.dissect.dissected_part import DissectedPart
from ui.views.dissect.faults import FaultIndex, Faults
from ui.views.dissect.outline import Outline, OutlineWalk, PartNumbers
from ui.views.gist import Gist
from ui.views.places import NO_PART, Order
from ui.views.step_places import StepPlaces

_LEAST, _ROOM = 1 << 16, 1 << 22  # what an empty part weighs, and how many characters are kept near


@dataclass(frozen=True, eq=False)
class Dissection:
    """A trace and its inspection; its parts in the order of the trace. Equal only to itself."""

    trace: Trace
    inspection: Inspection

    def prepared(self) -> "Dissection":
        """Itself, after walking over the trace once: what else would happen at the first looks, while a key waits."""
        _ = self._walked, self.faults, self.parts
        self.gist.gather()
        return self

    @property
    def outline(self) -> Outline:
        """Where turns, parts and blocks begin."""
        return self._walked[0]

    @cached_property
    def parts(self) -> "Parts":
        """Every part of every turn, in order."""
        return Parts(self.trace, self.inspection, self.outline.parts, self.faults)

    @cached_property
    def faults(self) -> FaultIndex:
        """Where the diagnostics stand."""
        return FaultIndex(self.inspection.diagnostics, self.outline.parts.number)

    @property
    def steps(self) -> StepPlaces:
        """Which step a call or result belongs to."""
        return self._walked[1]

    @property
    def severities(self) -> Mapping[Severity, int]:
        """How many diagnostics there are of each severity."""
        return self.faults.severities

    @cached_property
    def gist(self) -> Gist:
        """What a verdict says of the whole trace."""
        return Gist(self.trace, self.inspection, self.faults.graded, self.steps.failed)

    def parts_of(self, turn: int) -> tuple[DissectedPart, ...]:
        """The parts of a turn, in order."""
        return tuple(self.parts[index] for index in self.outline.parts.of_turn(turn))

    def part(self, turn: int, name: str) -> DissectedPart | None:
        """A part by its turn and name, None where the trace has none."""
        index = self.outline.parts.number(turn, name)
        return None if index == NO_PART else self.parts[index]

    def without_part(self, turn: int) -> Faults:
        """The diagnostics of a turn that lie in no part of it, such as that of an answer that never came."""
        return self.faults.of_part(turn, NO_PART)

    def wrong_in_turn(self, turn: int) -> Faults:
        """All the diagnostics of a turn."""
        return self.faults.of_turn(turn)

    def wrong_in_part(self, turn: int, name: str) -> Faults:
        """The diagnostics of a part by its turn and name; those that lie in no part where the turn has none such."""
        return self.faults.of_part(turn, self.outline.parts.number(turn, name))

    def text_of(self, location: Location) -> str:
        """The characters at a place; empty where there is no such part."""
        part = self.part(location.turn, location.part)
        return location.range.of(part.text) if part else ""

    def order_of(self, location: Location) -> Order:
        """Where a place stands among all."""
        number = self.outline.parts.number(location.turn, location.part)
        return location.turn, number, location.range.start, location.range.end

    @cached_property
    def _walked(self) -> tuple[Outline, StepPlaces]:
        walk = OutlineWalk(self.trace)
        steps = StepPlaces(self.inspection.chain, walk.number)  # which looks at the turns as it comes to them
        return walk.finished(), steps


class Parts(Column[DissectedPart]):
    """The parts of a trace, each made when somebody looks; the last ones are kept.

    `defining` are those that define tools, by index.
    """

    def __init__(self, trace: Trace, inspection: Inspection, numbers: PartNumbers, faults: FaultIndex) -> None:
        self._count, read, defining = len(numbers), array("i", [NO_PART]) * len(numbers), set[int]()
        for at, one in enumerate(inspection.parts):
            number = numbers.number(one.turn, one.part)
            if number != NO_PART:
                read[number] = at
                defining |= {number} if one.definitions else set()
        self.defining: Sequence[int] = sorted(defining)
        self._near = Recent(_Making(trace, inspection, numbers, faults, read).part, _weight, _ROOM)

    def __len__(self) -> int:
        return self._count

    def _at(self, index: int) -> DissectedPart:
        return self._near(index)


@dataclass(frozen=True, slots=True)
class _Making:
    """Makes parts; `read` says by number of the part which of the inspected ones it is."""

    trace: Trace
    inspection: Inspection
    numbers: PartNumbers
    faults: FaultIndex
    read: Sequence[int]

    def part(self, index: int) -> DissectedPart:
        number = self.numbers.turn_of(index)
        turn = self.trace.turns[number - 1]
        source = turn.parts[index - self.numbers.of_turn(number).start]
        named = self.numbers.number(number, source.name)
        at = self.read[named]
        nothing = PartInspection(number, source.name, self.inspection.format, ())
        found = self.inspection.parts[at] if at != NO_PART else nothing
        return DissectedPart(index, number, turn.role, source, found, self.faults.of_part(number, named))


def _weight(part: DissectedPart) -> int:
    return _LEAST + len(part.text)
