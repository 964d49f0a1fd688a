"""The outline of a trace: where its turns, parts and blocks begin, and what its parts are called; no text is kept."""

from array import array
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

from inspector.model import Trace
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


def outline_of(trace: Trace) -> Outline:
    """The outline of a trace, made of one walk over its turns."""
    parts, blocks, model = PartNumbers(), Blocks(), trace.model
    for turn in trace.turns:
        model = model or model_named(turn)
        parts.begin_turn()
        blocks.begin_turn()
        for part in turn.parts:
            parts.add(part.name)
            blocks.add(part.text)
    blocks.close()
    return Outline(parts, blocks, model)
