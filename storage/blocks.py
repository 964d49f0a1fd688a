"""Blocks of trace ids, whose sums are stored (`storage.rollups`): 4,096 ids, eight such blocks, eight of those, ...

The sum over all traces is then the sum of a few large blocks, the small blocks next to a change, and the traces of the
one block that changed.
"""

from collections.abc import Iterable

from msgspec import Struct

SMALLEST = 4_096
"""Ids in a block of level 0; its traces are summed in a tenth of a second."""
FAN = 8
"""Blocks of one level in a block of the next."""
LEVELS = 5
"""Number of levels. The last level has blocks of 16 million ids, as many as needed."""


class IdRange(Struct, frozen=True):
    """The trace ids in `[start, end)`."""

    start: int
    end: int

    def meets(self, other: "IdRange") -> bool:
        """Whether the two ranges overlap."""
        return self.start < other.end and other.start < self.end

    def holds(self, other: "IdRange") -> bool:
        """Whether this range contains the other."""
        return self.start <= other.start and other.end <= self.end


class TraceBlock(Struct, frozen=True, order=True):
    """The block with this number in its level; both are numbered from 0."""

    level: int
    number: int

    @property
    def ids(self) -> IdRange:
        """The ids in it."""
        size = SMALLEST * FAN**self.level
        return IdRange(self.number * size, (self.number + 1) * size)

    @property
    def above(self) -> "TraceBlock":
        """The block of the next level that contains this one."""
        return TraceBlock(self.level + 1, self.number // FAN)

    @property
    def below(self) -> "list[TraceBlock]":
        """The blocks of the level below in this one, in order; empty for level 0."""
        first = self.number * FAN
        return [TraceBlock(self.level - 1, number) for number in range(first, first + FAN)] if self.level else []


def smallest(id_: int) -> TraceBlock:
    """The block of level 0 that contains an id."""
    return TraceBlock(0, id_ // SMALLEST)


def ids_up_to(id_: int) -> IdRange:
    """The ids from 0 to the end of the block of the last level that contains this id."""
    top = smallest(id_)
    while top.level < LEVELS - 1:
        top = top.above
    return IdRange(0, top.ids.end)


def enclosing_blocks(first: int, last: int) -> list[TraceBlock]:
    """The smallest block that contains both ids; else the blocks of the last level from `first` to `last`."""
    low, high = smallest(first), smallest(last)
    while low != high and low.level < LEVELS - 1:
        low, high = low.above, high.above
    return [TraceBlock(low.level, number) for number in range(low.number, high.number + 1)]


def cover(ids: IdRange, kept: Iterable[TraceBlock]) -> tuple[list[TraceBlock], list[IdRange]]:
    """The fewest of these blocks that cover all their ids within `ids`, and the ranges of ids that none covers."""
    chosen: list[TraceBlock] = []
    uncovered: list[IdRange] = []
    at = ids.start
    for block in sorted(kept, key=lambda block: (block.ids.start, -block.level)):
        if block.ids.start < at or block.ids.end > ids.end:
            continue  # inside a chosen block, or not entirely in `ids`
        if block.ids.start > at:
            uncovered.append(IdRange(at, block.ids.start))
        chosen.append(block)
        at = block.ids.end
    if at < ids.end:
        uncovered.append(IdRange(at, ids.end))
    return chosen, uncovered
