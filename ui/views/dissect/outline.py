"""The outline of a trace: where its turns, parts and blocks begin, in a few bytes each and without any text."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice, repeat
from operator import add, floordiv
from typing import NamedTuple

from msgspec import Struct

from inspector.model import Trace, Turn
from ui.views.places import NO_PART
from ui.views.trace import model_named

BLOCK = 4096
"""How many characters of one part a block holds at most."""

_HEADING = 2  # rows that a turn's heading is guessed to take


class TextBlock(NamedTuple):
    """A piece of one part's text, or a turn's heading where `part` is None.

    `part` is the part's index in the dissection, `end` what follows the block's last character, `is_first` whether
    the part begins with it.
    """

    turn: int
    part: int | None
    start: int = 0
    end: int = 0
    is_first: bool = False
    is_last: bool = False


class TextBlocks:
    """The blocks of a trace in order: for each turn its heading, then its parts, cut behind line feeds where it can.

    Made of one walk over the trace: `begin_turn` and `add` for each text, `close` at the end. There is at least one
    block then, that of turn 0 for a trace without turns. Blocks, parts and turns are known by number; turns from 1.
    """

    def __init__(self) -> None:
        self._headings = array("I")  # by turn
        self._parts = array("I")  # by part, where it begins among the pieces: the blocks that are no headings
        self._starts, self._lengths, self._feeds = array("I"), array("H"), array("H")  # by piece
        self._begun = 0

    def __len__(self) -> int:
        return len(self._headings) + len(self._starts)

    def begin_turn(self) -> None:
        """The texts that follow are those of the next turn."""
        self._headings.append(len(self))
        self._begun += 1

    def add(self, text: str) -> None:
        """The next text of the turn."""
        self._parts.append(len(self._starts))
        at, length = 0, len(text)
        while at + BLOCK < length:
            feed = text.rfind("\n", at + BLOCK // 4, at + BLOCK)
            end = feed + 1 if feed >= 0 else at + BLOCK
            self._piece(text, at, end)
            at = end
        self._piece(text, at, length)

    def close(self) -> None:
        """There are no further turns."""
        self._parts.append(len(self._starts))
        if not self._begun:
            self._headings.append(0)

    def block(self, number: int) -> TextBlock:
        """The block with a number, from 0."""
        turn = bisect_right(self._headings, number)
        if self._headings[turn - 1] == number:
            return TextBlock(min(turn, self._begun), None)
        piece = number - turn
        part = bisect_right(self._parts, piece) - 1
        start = self._starts[piece]
        first, last = self._parts[part] == piece, self._parts[part + 1] == piece + 1
        return TextBlock(turn, part, start, start + self._lengths[piece], first, last)

    def heading(self, turn: int) -> int:
        """The block of a turn's heading; that behind all blocks for a turn behind all."""
        return self._headings[max(turn - 1, 0)] if turn <= len(self._headings) else len(self)

    def holding(self, turn: int, part: int, offset: int) -> int:
        """The block that holds a character of a part, which is in that turn; the end of the text is in its last."""
        first, last = self._parts[part], self._parts[part + 1]
        return bisect_right(self._starts, offset, first, last) - 1 + turn

    def length(self, part: int) -> int:
        """How many characters a part has."""
        last = self._parts[part + 1] - 1
        return self._starts[last] + self._lengths[last]

    def last_text(self) -> int | None:
        """The last part that is not empty; None where all are."""
        piece = next((at for at in reversed(range(len(self._lengths))) if self._lengths[at]), None)
        return None if piece is None else bisect_right(self._parts, piece) - 1

    def guessed(self, room: int | None) -> Sequence[int]:
        """How many rows there are about before each piece, and last in all: in `room` cells, or uncut without them.

        Headings are not among them.
        """
        rows: Iterator[int] = map(max, self._feeds, repeat(1))
        if room is not None:
            rows = map(add, rows, map(floordiv, self._lengths, repeat(2 * room)))
        return array("Q", accumulate(rows, initial=0))

    def guessed_before(self, number: int, guessed: Sequence[int]) -> int:
        """About how many rows are before a block, or in all where it is the number of blocks."""
        headings = bisect_left(self._headings, number)
        return guessed[number - headings] + headings * _HEADING

    def _piece(self, text: str, start: int, end: int) -> None:
        self._starts.append(start)
        self._lengths.append(end - start)
        self._feeds.append(text.count("\n", start, end))


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
        """How many parts are in the turns before one."""
        return self._firsts[turn - 1] if 0 < turn <= len(self._firsts) else len(self._called) if turn > 0 else 0

    def turn_of(self, part: int) -> int:
        """The turn that a part is in."""
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


class Outline(Struct, frozen=True):
    """The parts and the blocks of a trace, the model that it names, and whether it has a request as it was read.

    `model` is empty where the trace names none.
    """

    parts: PartNumbers
    blocks: TextBlocks
    model: str
    has_requests: bool = False


class OutlineWalk:
    """Makes the outline of a trace in one walk over its turns, which goes as far as somebody asks.

    Turns that are made at every look are best made once: whoever walks over the steps walks over their turns too.
    """

    def __init__(self, trace: Trace) -> None:
        self._turns = iter(trace.turns)
        self._parts, self._blocks, self._model = PartNumbers(), TextBlocks(), trace.model
        self._has_requests = False

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
        return Outline(self._parts, self._blocks, self._model, self._has_requests)

    def _add(self, turn: Turn) -> None:
        self._model = self._model or model_named(turn)
        self._has_requests = self._has_requests or (turn.generation is not None and turn.generation.request is not None)
        self._parts.begin_turn()
        self._blocks.begin_turn()
        for part in turn.parts:
            self._parts.add(part.name)
            self._blocks.add(part.text)
