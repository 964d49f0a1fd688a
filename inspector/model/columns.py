"""Columns: long sequences of entries of one type, in a few bytes each, for millions of chunks or many turns.

Code that has the entries packed already, such as the store, creates a column without an object for each entry. An entry
is created on each access: two accesses return equal objects, not the same one. A column is immutable, equal to a tuple
of the same entries, and has the same hash.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain, islice, repeat
from operator import eq, truediv
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

_Entry_co = TypeVar("_Entry_co", covariant=True)
_Number = TypeVar("_Number")
_Packed = TypeVar("_Packed")

_APART = 128  # differences from one stored sum to the next: an access adds up at most so many


class Column(Sequence[_Entry_co]):
    """The base class of all columns. Raises IndexError for an index out of range."""

    __slots__ = ()

    @overload
    def __getitem__(self, index: int) -> _Entry_co: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[_Entry_co, ...]: ...
    def __getitem__(self, index: int | slice) -> _Entry_co | tuple[_Entry_co, ...]:
        if isinstance(index, slice):
            return tuple(self._at(at) for at in range(*index.indices(len(self))))
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(f"no entry {index} in a column of {len(self)}")
        return self._at(at)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Column | tuple):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def _at(self, index: int) -> _Entry_co:
        """The entry at an index from 0, which must be in range."""
        raise NotImplementedError


if TYPE_CHECKING:
    Entries: TypeAlias = tuple[_Entry_co, ...] | Column[_Entry_co]
else:
    Entries = tuple[_Entry_co, ...]  # what msgspec decodes; `plain` writes a column like a tuple
"""A sequence of entries of one type: a tuple, or a column that creates each on access."""


class Numbers(Column[_Number]):
    """The numbers of an array or a range, which must not change any more."""

    __slots__ = ("_values",)

    def __init__(self, values: Sequence[_Number]) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[_Number]:
        return iter(self._values)

    def _at(self, index: int) -> _Number:
        return self._values[index]


class RunningSums(Column[int]):
    """Integers, stored as the difference of each to the one before it, and of the first to `start`."""

    __slots__ = ("_before", "added")

    def __init__(self, added: Sequence[int], start: int = 0) -> None:
        self.added = added
        self._before = [start]

    def __len__(self) -> int:
        return len(self.added)

    def __iter__(self) -> Iterator[int]:
        return islice(accumulate(self.added, initial=self._before[0]), 1, None)

    def _at(self, index: int) -> int:
        kept, before = index // _APART, self._before
        if len(before) <= kept:  # sums are computed as far as needed, and a little further
            last = min(max(kept, len(before) * 9 // 8) * _APART, len(self.added))
            sums = (sum(self.added[at : at + _APART]) for at in range((len(before) - 1) * _APART, last, _APART))
            self._before = before = [*before[:-1], *accumulate(sums, initial=before[-1])]
        return before[kept] + sum(self.added[kept * _APART : index + 1])


class Seconds(Column[float]):
    """Seconds, stored in whole microseconds as the difference of each to the one before, or to `start`."""

    __slots__ = ("_microseconds",)

    def __init__(self, added: Sequence[int], start: int = 0) -> None:
        self._microseconds = RunningSums(added, start)

    def __len__(self) -> int:
        return len(self._microseconds)

    def __iter__(self) -> Iterator[float]:
        return map(truediv, self._microseconds, repeat(1e6))

    def _at(self, index: int) -> float:
        return self._microseconds[index] / 1e6


class Singles(Column[tuple[_Number, ...]]):
    """Tuples of one number each."""

    __slots__ = ("_numbers",)

    def __init__(self, numbers: Sequence[_Number]) -> None:
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[tuple[_Number, ...]]:
        return zip(self._numbers)

    def _at(self, index: int) -> tuple[_Number, ...]:
        return (self._numbers[index],)


class Ragged(Column[tuple[_Number, ...]]):
    """Tuples of numbers, stored as their lengths and all the numbers; raises ValueError if those are more or fewer."""

    __slots__ = ("_ends", "_numbers")

    def __init__(self, lengths: Sequence[int], numbers: Sequence[_Number]) -> None:
        self._ends, self._numbers = RunningSums(lengths), numbers
        if (self._ends[-1] if lengths else 0) != len(numbers):
            raise ValueError(f"{len(numbers)} numbers do not match the lengths of a column of {len(lengths)} tuples")

    def __len__(self) -> int:
        return len(self._ends)

    def __iter__(self) -> Iterator[tuple[_Number, ...]]:
        rest = iter(self._numbers)
        return (tuple(islice(rest, length)) for length in self._ends.added)

    def _at(self, index: int) -> tuple[_Number, ...]:
        return tuple(self._numbers[self._ends[index - 1] if index else 0 : self._ends[index]])


class Sparse(Column[_Entry_co | None]):
    """Entries with gaps, stored as one byte for each (1 for an entry, 0 for None) and the entries without the gaps.

    Raises ValueError if there are more or fewer entries than ones.
    """

    __slots__ = ("_entries", "_numbers", "_there")

    def __init__(self, there: bytes, entries: Sequence[_Entry_co]) -> None:
        if there.count(1) != len(entries):
            raise ValueError(f"{len(entries)} entries for {there.count(1)} places in a column of {len(there)}")
        self._there, self._entries, self._numbers = there, entries, RunningSums(there)

    def __len__(self) -> int:
        return len(self._there)

    def __iter__(self) -> Iterator[_Entry_co | None]:
        entries = iter(self._entries)
        return (next(entries) if is_there else None for is_there in self._there)

    def _at(self, index: int) -> _Entry_co | None:
        return self._entries[self._numbers[index] - 1] if self._there[index] else None


class Windowed(Column[_Entry_co]):
    """Entries that are unpacked one window at a time: `window` returns the one with a number, from 0.

    Each window has `size` entries, the last one the rest of `length`. `window` is called again and again, so it should
    cache its last results; its exceptions pass through the column.
    """

    __slots__ = ("_length", "_size", "_window")

    def __init__(self, length: int, size: int, window: Callable[[int], Sequence[_Entry_co]]) -> None:
        self._length, self._size, self._window = length, size, window

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[_Entry_co]:
        return chain.from_iterable(map(self._window, range(-(-self._length // self._size))))

    def _at(self, index: int) -> _Entry_co:
        return self._window(index // self._size)[index % self._size]


class Ascending(Windowed[int]):
    """Integers that never descend, in windows; `lasts` has the last entry of each window."""

    __slots__ = ("_lasts",)

    def __init__(self, lasts: Sequence[int], length: int, size: int, window: Callable[[int], Sequence[int]]) -> None:
        super().__init__(length, size, window)
        self._lasts = lasts

    def around(self, value: int) -> tuple[int, int]:
        """The start and end of the window with the first entry above a value; both the length if there is none."""
        number = bisect_right(self._lasts, value)
        return min(number * self._size, self._length), min((number + 1) * self._size, self._length)


class Uneven(Column[_Entry_co]):
    """Entries in windows of different lengths: window `number` has those from `starts[number]` up to the next start.

    `starts` is one longer than the number of windows, begins with 0 and ends with the number of entries. `window` is
    called again and again, so it should cache its last results; its exceptions pass through the column.
    """

    __slots__ = ("_starts", "_window")

    def __init__(self, starts: Sequence[int], window: Callable[[int], Sequence[_Entry_co]]) -> None:
        self._starts, self._window = starts, window

    def __len__(self) -> int:
        return self._starts[-1]

    def __iter__(self) -> Iterator[_Entry_co]:
        return self.stretch(0, len(self))

    def stretch(self, start: int, end: int) -> Iterator[_Entry_co]:
        """The entries in `[start, end)`, which must be within the column, in order; requests each window once."""
        number = bisect_right(self._starts, start) - 1
        while start < end:
            first, stop = self._starts[number], min(self._starts[number + 1], end)
            window = self._window(number)
            yield from (
                window if stop - start == len(window) else map(window.__getitem__, range(start - first, stop - first))
            )
            start, number = stop, number + 1

    def _at(self, index: int) -> _Entry_co:
        number = bisect_right(self._starts, index) - 1
        return self._window(number)[index - self._starts[number]]


class ColumnSlice(Column[_Entry_co]):
    """The entries in `[start, end)` of a column, which must be within it."""

    __slots__ = ("_column", "_end", "_start")

    def __init__(self, column: Uneven[_Entry_co], start: int, end: int) -> None:
        self._column, self._start, self._end = column, start, end

    def __len__(self) -> int:
        return self._end - self._start

    def __iter__(self) -> Iterator[_Entry_co]:
        return self._column.stretch(self._start, self._end)

    def _at(self, index: int) -> _Entry_co:
        return self._column[self._start + index]


class LazyColumn(Column[_Entry_co]):
    """Entries that `make` creates from packed values on each access."""

    __slots__ = ("_make", "_packed")

    def __init__(self, packed: Sequence[_Packed], make: Callable[[_Packed], _Entry_co]) -> None:
        self._packed: Sequence[Any] = packed
        self._make: Callable[[Any], _Entry_co] = make

    def __len__(self) -> int:
        return len(self._packed)

    def __iter__(self) -> Iterator[_Entry_co]:
        return map(self._make, self._packed)

    def _at(self, index: int) -> _Entry_co:
        return self._make(self._packed[index])


def first_above(ascending: Entries[int], value: int) -> int:
    """The index of the first entry above a value, for integers that never descend; their number if there is none.

    For a long column it unpacks one window, where a search of the whole column would unpack many.
    """
    low, high = ascending.around(value) if isinstance(ascending, Ascending) else (0, len(ascending))
    return bisect_right(ascending, value, low, high)
