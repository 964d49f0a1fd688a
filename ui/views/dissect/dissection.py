"""A trace and its inspection, looked up by position; shared by the tree, the stream and the side views.

Only numbers are kept in memory: the positions of parts, blocks, faults and steps. The objects are created when they are
accessed. Thread-safe.
"""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter

from msgspec import Struct

from weaklink.inspector.chain.grouping import Causes
from weaklink.inspector.chain.steps import Status
from weaklink.inspector.diagnostics import Diagnostic, Location
from weaklink.inspector.inspected import Inspection, PartInspection
from weaklink.inspector.memory import LruCache
from weaklink.inspector.model import Part, Role, Span, Trace
from weaklink.inspector.model.columns import Column
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.text import LineIndex, Range
from weaklink.ui.views.diagnostic import BreakFacts
from weaklink.ui.views.dissect.outline import BLOCK_CHARS, Outline, OutlineWalk, PartNumbers
from weaklink.ui.views.layers import TraceLayers
from weaklink.ui.views.minimap import is_layer_difference
from weaklink.ui.views.places import NO_PART, PositionIndex, PositionKey, StepPlaces

_SEVERITIES = tuple(Severity)
_FEW_SPANS = 256  # below this, scanning all spans is as fast as a search
_CACHED_RANGES = 8  # neighbourhoods whose spans are cached
_LEAST, _ROOM = 1 << 16, 1 << 22  # the cache weight of an empty part, and the cache limit in characters
_CODES: Mapping[Severity, int] = {severity: code for code, severity in enumerate(_SEVERITIES)}


class FaultIndex:
    """The position and severity of each diagnostic, built in one pass; `number` maps a part to its number.

    `graded` has one byte per diagnostic, in the order of the inspection: the index of its severity. If `causes` is
    given, each diagnostic is added to it.
    """

    def __init__(
        self, diagnostics: tuple[Diagnostic, ...], number: Callable[[int, str], int], causes: Causes | None = None
    ) -> None:
        self.diagnostics, self.positions, self.causes = diagnostics, PositionIndex(by_end=True), causes
        self.differing: set[tuple[int, str]] = set()
        codes = bytearray()
        for diagnostic in diagnostics:
            location = diagnostic.location
            self.positions.add(
                location.turn, number(location.turn, location.part), location.range.start, location.range.end
            )
            codes.append(_CODES[diagnostic.rule.severity])
            if is_layer_difference(diagnostic.rule):
                differs = diagnostic.place_in_turn
                self.differing.add((differs.turn, differs.part))
            if causes is not None:
                causes.add(diagnostic)
        self.positions.settle()
        indices = self.positions.indices
        self.graded = bytes(codes)
        self._codes = self.graded if isinstance(indices, range) else bytes(map(codes.__getitem__, indices))

    @property
    def severities(self) -> Mapping[Severity, int]:
        """The number of diagnostics of each severity."""
        return {severity: self._codes.count(code) for severity, code in _CODES.items()}

    def worst(self, positions: range) -> Severity | None:
        """The highest severity at some positions; None if there are none."""
        codes = self._codes
        return next(
            (severity for severity, code in _CODES.items() if codes.find(code, positions.start, positions.stop) >= 0),
            None,
        )

    def severity(self, position: int) -> Severity:
        """The severity of the diagnostic at a position."""
        return _SEVERITIES[self._codes[position]]

    def of_part(self, turn: int, part: int) -> "Faults":
        """The diagnostics of a part, by place; with `NO_PART`, those of the turn that are in none of its parts."""
        return Faults(self, self.positions.of_part(turn, part))

    def of_turn(self, turn: int) -> "Faults":
        """The diagnostics of a turn, by place; first those that are in none of its parts."""
        return Faults(self, self.positions.of_turn(turn))


class Faults(Column[Diagnostic]):
    """Adjacent diagnostics, by place."""

    __slots__ = ("_index", "_positions")

    def __init__(self, index: FaultIndex, positions: range) -> None:
        self._index, self._positions = index, positions

    def __len__(self) -> int:
        return len(self._positions)

    @property
    def worst(self) -> Severity | None:
        """The highest severity among them; None if there are none."""
        return self._index.worst(self._positions)

    def begun(self, start: int, end: int) -> "Faults":
        """The diagnostics of one part that begin in the range from `start` to before `end`."""
        return Faults(self._index, self._index.positions.begun(self._positions, start, end))

    def smallest_at(self, offset: int) -> Diagnostic | None:
        """The smallest diagnostic of one part that contains a character, or None."""
        positions = self._index.positions
        smallest = min(positions.holding(self._positions, offset), key=positions.length, default=None)
        return None if smallest is None else self._index.diagnostics[positions.indices[smallest]]

    def _at(self, index: int) -> Diagnostic:
        return self._index.diagnostics[self._index.positions.indices[self._positions[index]]]


NO_FAULTS = Faults(FaultIndex((), lambda _, __: NO_PART), range(0))
"""No diagnostics."""


class DissectedPart(Struct, frozen=True, dict=True):
    """One part with its inspection; `index` counts the parts of the trace from 0, `turn` the turns from 1.

    `diagnostics` are those in this part, by place.
    """

    index: int
    turn: int
    role: Role
    source: Part
    inspection: PartInspection
    diagnostics: Faults = NO_FAULTS

    @cached_property
    def lines(self) -> LineIndex:
        """The lines of its text."""
        return LineIndex(self.source.text)

    @cached_property
    def _near(self) -> dict[tuple[int, int], tuple[Span, ...]]:
        return {}

    @property
    def name(self) -> str:
        """The part's name within its turn."""
        return self.source.name

    @property
    def text(self) -> str:
        """The exact text."""
        return self.source.text

    def location(self, range_: Range | None = None) -> Location:
        """A place in this part, or the whole part."""
        return Location(self.turn, self.name, range_ if range_ is not None else Range(0, len(self.text)))

    def wrong_in(self, range_: Range) -> Faults:
        """The diagnostics that begin in a range; at the end of the text too if the range reaches it."""
        end = range_.end + 1 if range_.end == len(self.text) or not len(range_) else range_.end
        return self.diagnostics.begun(range_.start, end)

    def spans_near(self, range_: Range) -> Sequence[Span]:
        """The spans that overlap a place, in order, and perhaps some around it, which are cached."""
        if len(self.inspection.spans) <= _FEW_SPANS:
            return self.inspection.spans
        near = range_.start // BLOCK_CHARS, max(range_.end - 1, range_.start) // BLOCK_CHARS + 1
        spans = self._near.get(near)
        if spans is None:
            around = Range(near[0] * BLOCK_CHARS, near[1] * BLOCK_CHARS)
            spans = tuple(span for _, span in touching(self.inspection.spans, around))
            if len(self._near) >= _CACHED_RANGES:
                self._near.clear()
            self._near[near] = spans
        return spans


def touching(spans: Sequence[Span], range_: Range) -> Iterator[tuple[int, Span]]:
    """The spans, with their indices, that overlap `range_`; `spans` are in order."""
    first = max(bisect_right(spans, range_.start, key=attrgetter("range.start")) - 1, 0)
    for index in range(first, len(spans)):
        span = spans[index]
        if span.range.start >= range_.end:
            return
        if span.range.end > range_.start:
            yield index, span


class Dissection(Struct, frozen=True, eq=False, dict=True, weakref=True):
    """A trace and its inspection; its parts in the order of the trace. Compared by identity."""

    trace: Trace
    inspection: Inspection

    def prepared(self) -> "Dissection":
        """Return itself after a pass over the trace, which would otherwise delay the first key presses."""
        _ = self._walked, self.faults, self.parts, self.layers.sent_versions
        self.gist.gather()
        return self

    @property
    def outline(self) -> Outline:
        """The positions of turns, parts and blocks."""
        return self._walked[0]

    @cached_property
    def parts(self) -> "DissectedParts":
        """Every part of every turn, in order."""
        return DissectedParts(self.trace, self.inspection, self.outline.parts, self.faults)

    @cached_property
    def faults(self) -> FaultIndex:
        """The positions of the diagnostics."""
        causes = Causes() if self.inspection.chain.status is Status.BROKEN else None
        return FaultIndex(self.inspection.diagnostics, self.outline.parts.number, causes)

    @cached_property
    def layers(self) -> TraceLayers:
        """The layers of its steps."""
        return TraceLayers(self.trace, self.inspection, has_requests=self.outline.has_requests)

    @property
    def causes(self) -> Causes | None:
        """The diagnostics grouped by cause; None if each is shown separately because the trace is not broken."""
        return self.faults.causes

    @property
    def steps(self) -> StepPlaces:
        """The steps by the places of their calls and results."""
        return self._walked[1]

    @property
    def severities(self) -> Mapping[Severity, int]:
        """The number of diagnostics of each severity."""
        return self.faults.severities

    @cached_property
    def gist(self) -> BreakFacts:
        """The facts of the break for a verdict on the whole trace."""
        return BreakFacts(self.trace, self.inspection, self.faults.graded, self.steps.failed)

    def parts_of(self, turn: int) -> tuple[DissectedPart, ...]:
        """The parts of a turn, in order."""
        return tuple(self.parts[index] for index in self.outline.parts.of_turn(turn))

    def part(self, turn: int, name: str) -> DissectedPart | None:
        """A part by its turn and name, or None."""
        index = self.outline.parts.number(turn, name)
        return None if index == NO_PART else self.parts[index]

    def without_part(self, turn: int) -> Faults:
        """The diagnostics of a turn that are in no part of it, such as the one for a missing answer."""
        return self.faults.of_part(turn, NO_PART)

    def wrong_in_turn(self, turn: int) -> Faults:
        """All the diagnostics of a turn."""
        return self.faults.of_turn(turn)

    def wrong_in_part(self, turn: int, name: str) -> Faults:
        """The diagnostics of a part by its turn and name; if it does not exist, those that are in no part."""
        return self.faults.of_part(turn, self.outline.parts.number(turn, name))

    def text_of(self, location: Location) -> str:
        """The characters at a place; empty if there is no such part."""
        part = self.part(location.turn, location.part)
        return location.range.of(part.text) if part else ""

    def order_of(self, location: Location) -> PositionKey:
        """The sort key of a place among all places."""
        number = self.outline.parts.number(location.turn, location.part)
        return location.turn, number, location.range.start, location.range.end

    @cached_property
    def _walked(self) -> tuple[Outline, StepPlaces]:
        walk = OutlineWalk(self.trace)
        steps = StepPlaces(self.inspection.chain, walk.number)  # reads each turn when it reaches it
        return walk.finished(), steps


class DissectedParts(Column[DissectedPart]):
    """The parts of a trace, each created on access; the most recent ones are cached.

    `defining` are the indices of the parts that define tools.
    """

    def __init__(self, trace: Trace, inspection: Inspection, numbers: PartNumbers, faults: FaultIndex) -> None:
        self._count, read, defining = len(numbers), array("i", [NO_PART]) * len(numbers), set[int]()
        for index, part in enumerate(inspection.parts):
            number = numbers.number(part.turn, part.part)
            if number != NO_PART:
                read[number] = index
                defining |= {number} if part.definitions else set()
        self.defining: Sequence[int] = sorted(defining)
        self._near = LruCache(_PartFactory(trace, inspection, numbers, faults, read).part, _weight, _ROOM)

    def __len__(self) -> int:
        return self._count

    def _at(self, index: int) -> DissectedPart:
        return self._near(index)


class _PartFactory(Struct, frozen=True):
    """Creates parts; `read` maps the number of a part to the index of its inspection."""

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
        inspected = self.read[named]
        nothing = PartInspection(number, source.name, self.inspection.format, ())
        inspection = self.inspection.parts[inspected] if inspected != NO_PART else nothing
        return DissectedPart(index, number, turn.role, source, inspection, self.faults.of_part(number, named))


def _weight(part: DissectedPart) -> int:
    return _LEAST + len(part.text)
