"""The outline of a trace: the positions of its turns, parts and blocks, in a few bytes each, without any text.

Theory of operation. The screens look up everything by number: which part is at this row, which row shows this
character. One pass over the trace fills arrays of numbers, in the order of the trace, and all lookups are binary
searches in them:

    turn 1: "Hi"           block 0: heading       block 1: part 0, characters 0 to 2
    turn 2: 9,000 chars    block 2: heading       blocks 3, 4, 5: part 1, from 0, 4,090 and 8,170

    _headings   0, 2              the first block of each turn
    _parts      0, 1, 4           the first piece of each part, and the end
    _starts     0, 0, 4090, 8170  where each piece begins in its part
    _lengths    2, 4090, 4080, 830
    _feeds      0, 80, 82, 17     its line feeds, for the estimate of its rows

A block is a heading or a piece; those before a piece of turn t are t headings, so its block is its number plus t. A
block ends after a line feed, if there is one in its last three quarters, so that blocks are laid out independently.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice, repeat
from operator import add, floordiv
from typing import NamedTuple

from msgspec import Struct

from weaklink.inspector.model import Trace, Turn
from weaklink.ui.views.places import NO_PART
from weaklink.ui.views.trace import model_named

BLOCK_CHARS = 4096
"""The maximum number of characters in a block."""

_HEADING = 2  # estimated rows of a turn's heading


class TextBlock(NamedTuple):
    """A piece of one part's text, or a turn's heading if `part` is None.

    `part` is the part's index in the dissection, `end` the offset after the block's last character, `is_first` whether
    the part begins with it.
    """

    turn: int
    part: int | None
    start: int = 0
    end: int = 0
    is_first: bool = False
    is_last: bool = False


class TextBlocks:
    """The blocks of a trace in order: for each turn its heading, then its parts, split after line feeds if possible.

    Built in one pass over the trace: `begin_turn`, `add` for each text, and `close` at the end. Then there is at least
    one block; a trace without turns has the block of turn 0. Blocks, parts and turns are identified by number; turns
    count from 1.
    """

    def __init__(self) -> None:
        self._headings = array("I")  # by turn
        self._parts = array("I")  # by part, its first piece; pieces are the blocks that are not headings
        self._starts, self._lengths, self._feeds = array("I"), array("H"), array("H")  # by piece
        self._begun = 0

    def __len__(self) -> int:
        return len(self._headings) + len(self._starts)

    def begin_turn(self) -> None:
        """The texts that follow are those of the next turn."""
        self._headings.append(len(self))
        self._begun += 1

    def add(self, text: str) -> None:
        """Add the next text of the turn."""
        self._parts.append(len(self._starts))
        start, length = 0, len(text)
        while start + BLOCK_CHARS < length:
            feed = text.rfind("\n", start + BLOCK_CHARS // 4, start + BLOCK_CHARS)
            end = feed + 1 if feed >= 0 else start + BLOCK_CHARS
            self._piece(text, start, end)
            start = end
        self._piece(text, start, length)

    def close(self) -> None:
        """Finish: there are no further turns."""
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
        """The block of a turn's heading; for a turn after the last one, the number of blocks."""
        return self._headings[max(turn - 1, 0)] if turn <= len(self._headings) else len(self)

    def holding(self, turn: int, part: int, offset: int) -> int:
        """The block that contains a character of a part of that turn; the end of the text is in the last block."""
        first, last = self._parts[part], self._parts[part + 1]
        return bisect_right(self._starts, offset, first, last) - 1 + turn

    def length(self, part: int) -> int:
        """The number of characters of a part."""
        last = self._parts[part + 1] - 1
        return self._starts[last] + self._lengths[last]

    def last_text(self) -> int | None:
        """The last part that is not empty, or None."""
        piece = next((piece for piece in reversed(range(len(self._lengths))) if self._lengths[piece]), None)
        return None if piece is None else bisect_right(self._parts, piece) - 1

    def guessed(self, room: int | None) -> Sequence[int]:
        """The estimated number of rows before each piece, and finally in all: in `room` cells, or unwrapped for None.

        Headings are not counted.
        """
        rows: Iterator[int] = map(max, self._feeds, repeat(1))
        if room is not None:
            rows = map(add, rows, map(floordiv, self._lengths, repeat(2 * room)))
        return array("Q", accumulate(rows, initial=0))

    def guessed_before(self, number: int, guessed: Sequence[int]) -> int:
        """The estimated number of rows before a block, or of all rows if `number` is the number of blocks."""
        headings = bisect_left(self._headings, number)
        return guessed[number - headings] + headings * _HEADING

    def _piece(self, text: str, start: int, end: int) -> None:
        self._starts.append(start)
        self._lengths.append(end - start)
        self._feeds.append(text.count("\n", start, end))


class PartNumbers:
    """Numbers the parts of a trace from 0 over all turns, and finds them by turn and name."""

    def __init__(self) -> None:
        self._firsts, self._name_ids = array("I"), array("I")
        self._names: dict[str, int] = {}
        self._names_by_id: list[str] = []
        self._last: tuple[int, Mapping[str, int]] = (0, {})

    def __len__(self) -> int:
        return len(self._name_ids)

    @property
    def turns(self) -> int:
        """The number of turns."""
        return len(self._firsts)

    def begin_turn(self) -> None:
        """The parts that follow are those of the next turn."""
        self._firsts.append(len(self._name_ids))

    def add(self, name: str) -> None:
        """Add the next part of the turn."""
        known = self._names.setdefault(name, len(self._names_by_id))
        if known == len(self._names_by_id):
            self._names_by_id.append(name)
        self._name_ids.append(known)

    def of_turn(self, turn: int) -> range:
        """The parts of a turn; empty for a turn that does not exist."""
        if not 0 < turn <= len(self._firsts):
            return range(0)
        end = self._firsts[turn] if turn < len(self._firsts) else len(self._name_ids)
        return range(self._firsts[turn - 1], end)

    def before(self, turn: int) -> int:
        """The number of parts in all turns before this one."""
        return self._firsts[turn - 1] if 0 < turn <= len(self._firsts) else len(self._name_ids) if turn > 0 else 0

    def turn_of(self, part: int) -> int:
        """The turn that a part is in."""
        return bisect_right(self._firsts, part)

    def name(self, part: int) -> str:
        """The name of a part."""
        return self._names_by_id[self._name_ids[part]]

    def number(self, turn: int, name: str) -> int:
        """The number of a part by its turn and name: the first of several, `NO_PART` if the turn has none."""
        near, numbers = self._last
        if near != turn:
            numbers = {self.name(part): part for part in reversed(self.of_turn(turn))}
            self._last = turn, numbers
        return numbers.get(name, NO_PART)


class Outline(Struct, frozen=True):
    """The parts and blocks of a trace, the model that it names, and whether it has a recorded request.

    `model` is empty if the trace names none.
    """

    parts: PartNumbers
    blocks: TextBlocks
    model: str
    has_requests: bool = False


class OutlineWalk:
    """Builds the outline of a trace in one pass over its turns, which advances only as far as needed.

    Some traces create a turn on every access, so a pass over the steps reads each turn only once.
    """

    def __init__(self, trace: Trace) -> None:
        self._turns = iter(trace.turns)
        self._parts, self._blocks, self._model = PartNumbers(), TextBlocks(), trace.model
        self._has_requests = False

    def number(self, turn: int, name: str) -> int:
        """The number of a part; see `PartNumbers.number`."""
        for unread in islice(self._turns, max(turn - self._parts.turns, 0)):
            self._add(unread)
        return self._parts.number(turn, name)

    def finished(self) -> Outline:
        """Read the remaining turns and return the outline."""
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
