"""The outline of a trace: where its turns, parts and blocks begin, and what its parts are called; no text is kept."""

from array import array
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from inspector.model import Trace, Turn
from ui.views.dissect.blocks import Blocks
from ui.views.places import NO_PART
from ui.views.trace import model_named


class PartNumbers:
    """The parts of a trace, numbered from 0 over all turns, by turn and name."""

    def __init__(self) -> None:
        self._firsts, self._called = array("I"), array("I")
        self._names: dict[str, int] = {}
        self._words: list[str] = []
        self._last: tuple[int, Mapping[str, int]] = (0, {})

    def __len__(self) -> int:
        return len(self._called)

    @property
    def turns(self) -> int:
        """How many turns there are."""
        return len(self._firsts)

    def begin_turn(self) -> None:
        """The parts that follow are those of the next turn."""
        self._firsts.append(len(self._called))

    def add(self, name: str) -> None:
        """The next part of the turn."""
        known = self._names.setdefault(name, len(self._words))
        if known == len(self._words):
            self._words.append(name)
        self._called.append(known)

    def of_turn(self, turn: int) -> range:
        """The parts of a turn; none of a turn that is not there."""
        if not 0 < turn <= len(self._firsts):
            return range(0)
        behind = self._firsts[turn] if turn < len(self._firsts) else len(self._called)
        return range(self._firsts[turn - 1], behind)

    def before(self, turn: int) -> int:
        """How many parts lie in the turns before one."""
        return self._firsts[turn - 1] if 0 < turn <= len(self._firsts) else len(self._called) if turn > 0 else 0

    def turn_of(self, part: int) -> int:
        """The turn that a part lies in."""
        return bisect_right(self._firsts, part)

    def name(self, part: int) -> str:
        """The name of a part."""
        return self._words[self._called[part]]

    def number(self, turn: int, name: str) -> int:
        """A part by its turn and name: the first of several, `NO_PART` where the turn has none."""
        near, numbers = self._last
        if near != turn:
            numbers = {self.name(part): part for part in reversed(self.of_turn(turn))}
            self._last = turn, numbers
        return numbers.get(name, NO_PART)


@dataclass(frozen=True, slots=True)
class Outline:
    """The parts and the blocks of a trace, and the model that it names; empty where it names none."""

    parts: PartNumbers
    blocks: Blocks
    model: str


class OutlineWalk:
    """Makes the outline of a trace in one walk over its turns, which goes as far as somebody asks.

    Turns that are made at every look are best made once: whoever walks over the steps walks over their turns too.
    """

    def __init__(self, trace: Trace) -> None:
        self._turns = iter(trace.turns)
        self._parts, self._blocks, self._model = PartNumbers(), Blocks(), trace.model

    def number(self, turn: int, name: str) -> int:
        """The number of a part, as `PartNumbers` says it."""
        for one in islice(self._turns, max(turn - self._parts.turns, 0)):
            self._add(one)
        return self._parts.number(turn, name)

    def finished(self) -> Outline:
        """The outline, once the rest is walked over."""
        for turn in self._turns:
            self._add(turn)
        self._blocks.close()
        return Outline(self._parts, self._blocks, self._model)

    def _add(self, turn: Turn) -> None:
        self._model = self._model or model_named(turn)
        self._parts.begin_turn()
        self._blocks.begin_turn()
        for part in turn.parts:
            self._parts.add(part.name)
            self._blocks.add(part.text)
