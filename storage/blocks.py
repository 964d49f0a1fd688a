"""Blocks of trace ids, for whose traces answers are kept: stretches of 4,096, eight of them, eight of those, ...

What a question comes to over all traces is then that of a few large blocks, of the small ones beside a change, and of
the traces of the one block that changed.
"""

from collections.abc import Iterable

from msgspec import Struct

SMALLEST = 4_096
"""Ids of a block of level 0: its traces are summed up in a tenth of a second."""
FAN = 8
"""Blocks of one level that make one of the next."""
LEVELS = 5
"""Beyond the last level, of 16 million ids, there are as many blocks side by side as it takes."""


class IdRange(Struct, frozen=True):
    """The trace ids in `[start, end)`."""

    start: int
    end: int

    def meets(self, other: "IdRange") -> bool:
        """Whether an id is in both."""
        return self.start < other.end and other.start < self.end

    def holds(self, other: "IdRange") -> bool:
        """Whether all ids of the other are in this one."""
        return self.start <= other.start and other.end <= self.end


class TraceBlock(Struct, frozen=True, order=True):
    """The block with this number among those of its level; both count from 0."""

    level: int
    number: int

    @property
    def ids(self) -> IdRange:
        """The ids in it."""
        size = SMALLEST * FAN**self.level
        return IdRange(self.number * size, (self.number + 1) * size)

    @property
    def above(self) -> "TraceBlock":
        """The block of the next level that holds it."""
        return TraceBlock(self.level + 1, self.number // FAN)

    @property
    def below(self) -> "list[TraceBlock]":
        """The blocks that make it, in their order; none of those of level 0."""
        first = self.number * FAN
        return [TraceBlock(self.level - 1, number) for number in range(first, first + FAN)] if self.level else []


def smallest(id_: int) -> TraceBlock:
    """The block of level 0 that holds an id."""
    return TraceBlock(0, id_ // SMALLEST)


def ids_up_to(id_: int) -> IdRange:
    """The ids from 0 on that whole blocks of the last level hold, up to this id or further."""
    top = smallest(id_)
    while top.level < LEVELS - 1:
        top = top.above
    return IdRange(0, top.ids.end)


def enclosing_blocks(first: int, last: int) -> list[TraceBlock]:
    """The smallest block that holds both ids and all between them; or those of the last level that do."""
    low, high = smallest(first), smallest(last)
    while low != high and low.level < LEVELS - 1:
        low, high = low.above, high.above
    return [TraceBlock(low.level, number) for number in range(low.number, high.number + 1)]


def cover(ids: IdRange, kept: Iterable[TraceBlock]) -> tuple[list[TraceBlock], list[IdRange]]:
    """The fewest of these blocks that hold all ids that any of them holds, and the stretches of ids that none does."""
    taken: list[TraceBlock] = []
    left: list[IdRange] = []
    at = ids.start
    for block in sorted(kept, key=lambda block: (block.ids.start, -block.level)):
        if block.ids.start < at or block.ids.end > ids.end:
            continue  # within one that is taken, or reaching out
        if block.ids.start > at:
            left.append(IdRange(at, block.ids.start))
        taken.append(block)
        at = block.ids.end
    if at < ids.end:
        left.append(IdRange(at, ids.end))
    return taken, left
